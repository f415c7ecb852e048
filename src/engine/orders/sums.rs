//! Adding what classes get to rows.
//!
//! What classes get is held back leaf after leaf, and then added row after row, so that the sums of a row stay in the
//! nearest cache meanwhile.

use std::ops::Range;

use super::classes::NONE;
use crate::engine::compiled::Leaf;

/// Numbers that are held back at most: what classes get, and the classes of rows.
const MOST_HELD: usize = 1 << 20;

/// The sums of a block of rows.
pub(super) struct Sums<'a> {
    out: &'a mut [f64],
    row_cells: usize,
    n_outputs: usize,
    held: Vec<Held>,
    cells: Vec<u32>,
    values: Vec<f64>,
    of_row: Vec<u32>,
}

/// What one leaf gives.
struct Held {
    cells: Range<usize>,
    /// Where the values of the first class begin, and the class of the first row.
    values: usize,
    of_row: usize,
    first_output: usize,
    leaf_values: Vec<f64>,
}

impl<'a> Sums<'a> {
    pub(super) fn new(out: &'a mut [f64], row_cells: usize, n_outputs: usize) -> Self {
        let (held, cells, values, of_row) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { out, row_cells, n_outputs, held, cells, values, of_row }
    }

    pub(super) fn n_rows(&self) -> usize {
        self.out.len() / self.row_cells
    }

    /// Takes what a leaf gives to each class. `give(class, values)` writes what the rows of a class get from a leaf of value
    /// 1, and returns false if that is nothing.
    pub(super) fn take(
        &mut self,
        leaf: Leaf<'_>,
        cells: &[u32],
        n_classes: usize,
        of_row: &[u32],
        mut give: impl FnMut(usize, &mut [f64]) -> bool,
    ) {
        let too_many = n_classes.saturating_mul(cells.len()) > MOST_HELD;
        if too_many {
            self.add();
        }
        let held = Held {
            cells: self.cells.len()..self.cells.len() + cells.len(),
            values: self.values.len(),
            of_row: self.of_row.len(),
            first_output: leaf.first_output(),
            leaf_values: leaf.values().to_vec(),
        };
        self.cells.extend_from_slice(cells);
        // For a single output, what classes get is already multiplied with the leaf's value.
        let single = if let [value] = leaf.values() { *value } else { 1.0 };
        let mut number = vec![NONE; n_classes];
        for class in 0..n_classes {
            let start = self.values.len();
            self.values.resize(start + cells.len(), 0.0);
            if give(class, &mut self.values[start..]) {
                self.values[start..].iter_mut().for_each(|value| *value *= single);
                number[class] = ((start - held.values) / cells.len().max(1)) as u32;
            } else {
                self.values.truncate(start);
            }
            if too_many {
                // One class at a time: its rows take what it gets right away.
                let only = |&row: &u32| if row as usize == class { number[class] } else { NONE };
                self.of_row.extend(of_row.iter().map(only));
                self.held.push(Held { cells: held.cells.clone(), leaf_values: held.leaf_values.clone(), ..held });
                self.add_all_but_cells();
            }
        }
        if too_many {
            self.cells.clear();
            return;
        }
        let number = |&class: &u32| if class == NONE { NONE } else { number[class as usize] };
        self.of_row.extend(of_row.iter().map(number));
        self.held.push(held);
        if self.values.len().max(self.of_row.len()) > MOST_HELD {
            self.add();
        }
    }

    /// Adds everything that is held back.
    pub(super) fn add(&mut self) {
        self.add_all_but_cells();
        self.cells.clear();
    }

    fn add_all_but_cells(&mut self) {
        let k = self.n_outputs;
        for (r, row) in self.out.chunks_exact_mut(self.row_cells).enumerate() {
            for held in &self.held {
                let class = self.of_row[held.of_row + r];
                if class == NONE {
                    continue;
                }
                let cells = &self.cells[held.cells.clone()];
                let values = &self.values[held.values + class as usize * cells.len()..][..cells.len()];
                if let [_] = held.leaf_values[..] {
                    for (&cell, value) in cells.iter().zip(values) {
                        row[cell as usize * k + held.first_output] += value;
                    }
                    continue;
                }
                for (&cell, value) in cells.iter().zip(values) {
                    let row = &mut row[cell as usize * k + held.first_output..][..held.leaf_values.len()];
                    row.iter_mut().zip(&held.leaf_values).for_each(|(sum, leaf)| *sum += value * leaf);
                }
            }
        }
        self.held.clear();
        self.values.clear();
        self.of_row.clear();
    }
}
