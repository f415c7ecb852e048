//! Sums over the rectangles that a point lies in, for many rectangles and points.
//!
//! A line sweeps over the positions of the first player. A rectangle is added to the line where it begins and taken
//! away where it ends, and a point is read off when the line is there. There are many more rectangles than points, so
//! changing the line is cheap, two additions, and reading it takes a sum over blocks.

use crate::engine::compiled::Leaf;

/// Positions of the line that are also summed together.
const BLOCK: usize = 64;

/// Rectangles over the positions of two players, with one number per output.
#[derive(Default)]
pub(super) struct Rectangles {
    /// Where each begins and ends, along the first and the second player.
    sides: Vec<[u32; 4]>,
    /// `(rectangles, outputs)`.
    values: Vec<f64>,
}

impl Rectangles {
    pub(super) fn push(
        &mut self,
        first: (u32, u32),
        second: (u32, u32),
        leaf: Leaf<'_>,
        weight: f64,
        n_outputs: usize,
    ) {
        let start = self.values.len();
        self.sides.push([first.0, first.1, second.0, second.1]);
        self.values.resize(start + n_outputs, 0.0);
        leaf.add(weight, &mut self.values[start..], 0, n_outputs);
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.sides.extend_from_slice(&other.sides);
        self.values.extend_from_slice(&other.values);
    }

    /// Adds to `out`, `(points, outputs)`, the sum over the rectangles around each point. `order` are the points by their
    /// first position; `at` and `across` are their positions, which are at most `most`.
    pub(super) fn add_to(&self, points: &Points<'_>, most: [u32; 2], out: &mut [f64]) {
        if self.sides.is_empty() {
            return;
        }
        let n_outputs = self.values.len() / self.sides.len();
        let (starts, changes) = self.changes(most[0] as usize);
        for output in 0..n_outputs {
            let mut line = Line::new(most[1] as usize + 2);
            let mut done = 0;
            for &point in points.order {
                let here = points.first[point as usize] as usize;
                for &change in &changes[done..starts[here + 1]] {
                    let rectangle = (change >> 1) as usize;
                    let value = self.values[rectangle * n_outputs + output];
                    let value = if change & 1 == 0 { value } else { -value };
                    let [_, _, from, to] = self.sides[rectangle];
                    line.add(from as usize, value);
                    line.add(to as usize, -value);
                }
                done = done.max(starts[here + 1]);
                out[point as usize * n_outputs + output] += line.read(points.second[point as usize] as usize);
            }
        }
    }

    /// Where the changes at each position start, and the changes, position after position: `2 r` if rectangle r begins
    /// there, and `2 r + 1` if it ends.
    fn changes(&self, most: usize) -> (Vec<usize>, Vec<u32>) {
        let mut starts = vec![0; most + 4];
        for &[from, to, ..] in &self.sides {
            starts[from as usize + 1] += 1;
            starts[to as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut changes = vec![0; 2 * self.sides.len()];
        for (rectangle, &[from, to, ..]) in (0..).zip(&self.sides) {
            for (position, change) in [(from, 2 * rectangle), (to, 2 * rectangle + 1)] {
                changes[next[position as usize]] = change;
                next[position as usize] += 1;
            }
        }
        (starts, changes)
    }
}

/// Points, and their order along the first player.
pub(super) struct Points<'a> {
    pub(super) first: &'a [u32],
    pub(super) second: &'a [u32],
    pub(super) order: &'a [u32],
}

/// Sums from the left end of a line, of numbers that change.
struct Line {
    numbers: Vec<f64>,
    blocks: Vec<f64>,
}

impl Line {
    fn new(len: usize) -> Self {
        Self { numbers: vec![0.0; len + 1], blocks: vec![0.0; len / BLOCK + 1] }
    }

    fn add(&mut self, at: usize, value: f64) {
        self.numbers[at] += value;
        self.blocks[at / BLOCK] += value;
    }

    /// The sum of all numbers up to here.
    fn read(&self, at: usize) -> f64 {
        let block = at / BLOCK;
        self.blocks[..block].iter().sum::<f64>() + self.numbers[block * BLOCK..=at].iter().sum::<f64>()
    }
}
