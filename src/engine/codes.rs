//! Cells as small integers: all that a forest can see of a value.
//!
//! A forest asks finitely many questions of a feature, so a cell matters only through the interval between two
//! thresholds it falls into. Each cell is looked up once and becomes a *code*; every split of every tree is then
//! the same test, `code - lo <= span` in wrapping arithmetic, whatever rule, precision, missing direction or
//! category set the library has. [`Split::goes_left`] stays the definition.

mod parts;

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::forest::{Forest, Missing, Node, Precision, Rule, Split, Test, Tree, ZERO};
use crate::job::Workers;
use crate::rows::{Cells, Rows};
use crate::simd::{Kernel, count_below, widest};

/// An unsigned integer wide enough for the codes of a forest.
pub(crate) trait Code: Copy + Send + Sync + Default + 'static {
    /// The code of a missing value: the largest.
    const MISSING: Self;
    fn from_u32(code: u32) -> Self;
    /// The one test of every split.
    fn within(self, lo: Self, span: Self) -> bool;
}

macro_rules! code {
    ($t:ty) => {
        impl Code for $t {
            const MISSING: Self = <$t>::MAX;
            #[inline(always)]
            fn from_u32(code: u32) -> Self {
                code as $t
            }
            #[inline(always)]
            fn within(self, lo: Self, span: Self) -> bool {
                self.wrapping_sub(lo) <= span
            }
        }
    };
}
code!(u16);
code!(u32);

/// A test of a column's code: `code - lo <= span`, wrapping. `lo` is stored as a `u32` whose low bits serve
/// narrower codes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeTest {
    pub(crate) column: u32,
    pub(crate) lo: u32,
    pub(crate) span: u32,
}

/// How a cell of one feature becomes a code.
#[derive(Debug)]
enum Coding {
    /// 1 + the number of cuts below the value; cuts in single precision.
    F32 { cuts: Vec<f32>, missing: Missing },
    /// The same in double precision.
    F64 { cuts: Vec<f64>, missing: Missing },
    /// 1 if the split sends the value left, 2 if right (a category set).
    Split(Split),
}

/// One column of codes.
#[derive(Debug)]
struct Column {
    feature: usize,
    coding: Coding,
}

/// What a column of thresholds is told apart by, besides its feature.
type Axis = (Precision, Missing);

/// The columns of codes a forest needs.
#[derive(Debug)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    max_code: usize,
}

/// The splits of one feature on one axis.
struct Thresholds {
    feature: usize,
    axis: Axis,
    /// Each one's cut and number.
    cuts: Vec<(f64, u32)>,
    /// The numbers of those that no value passes.
    never: Vec<u32>,
}

impl Columns {
    /// The columns for a forest, and the code test of each of its nodes, numbered over all trees; leaves have none.
    pub(crate) fn new(forest: &Forest, workers: &Workers) -> (Self, Vec<CodeTest>) {
        let nodes = || forest.trees().iter().flat_map(Tree::nodes);
        let mut tests = vec![CodeTest { column: 0, lo: 0, span: 0 }; nodes().count()];
        let mut thresholds: Vec<Thresholds> = Vec::new();
        let mut of_feature: Vec<Vec<usize>> = vec![Vec::new(); forest.n_features()];
        let mut columns = Vec::new();
        let mut sets: HashMap<SetKey, u32> = HashMap::new();
        for (number, node) in (0..).zip(nodes()) {
            let Node::Split(split) = node else { continue };
            let feature = split.feature as usize;
            let cut = cut(split);
            if matches!(cut, Cut::Set) {
                let column = *sets.entry(SetKey::of(split)).or_insert_with(|| {
                    columns.push(Column { feature, coding: Coding::Split(split.clone()) });
                    columns.len() as u32 - 1
                });
                tests[number as usize] = CodeTest { column, lo: 1, span: 0 };
                continue;
            }
            let axis = (split.precision, split.missing);
            let known = of_feature[feature].iter().copied().find(|&i| thresholds[i].axis == axis);
            let i = known.unwrap_or_else(|| {
                of_feature[feature].push(thresholds.len());
                thresholds.push(Thresholds { feature, axis, cuts: Vec::new(), never: Vec::new() });
                thresholds.len() - 1
            });
            // The test is completed below; until then its span says where a missing value goes.
            tests[number as usize].span = u32::from(split.default_left);
            match cut {
                Cut::At(cut) => thresholds[i].cuts.push((cut, number)),
                Cut::Never | Cut::Set => thresholds[i].never.push(number),
            }
        }
        // Neighbours in a row are neighbours in memory, and are coded one after the other.
        thresholds.sort_by_key(|t| t.feature);
        let mut max_code = 2;
        let ranked = workers.map(thresholds.len(), |i| thresholds[i].rank());
        for (thresholds, (cuts, ranks)) in thresholds.iter().zip(ranked) {
            max_code = max_code.max(cuts.len() + 1);
            for (number, rank) in ranks {
                let test = &mut tests[number as usize];
                *test = threshold_test(columns.len() as u32, rank, test.span == 1);
            }
            let (precision, missing) = thresholds.axis;
            let coding = match precision {
                Precision::Float32 => Coding::F32 { cuts: cuts.iter().map(|&c| c as f32).collect(), missing },
                Precision::Float64 => Coding::F64 { cuts, missing },
            };
            columns.push(Column { feature: thresholds.feature, coding });
        }
        (Self { columns, max_code }, tests)
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether 16 bits hold every code, with room for the tests' own arithmetic.
    pub(crate) fn fit_u16(&self) -> bool {
        self.max_code < usize::from(u16::MAX) - 4
    }

    /// The codes of up to `stride` rows, column after column: `out[column * stride + row]`.
    pub(crate) fn encode<C: Code>(&self, rows: &Rows<'_>, stride: usize, out: &mut [C]) {
        if rows.len() >= LANES / 4 {
            widest(Encode { columns: self, rows, stride, out });
            return;
        }
        for (column, out) in self.columns.iter().zip(out.chunks_exact_mut(stride)) {
            for (r, out) in out[..rows.len()].iter_mut().enumerate() {
                *out = column.coding.code(rows.get(r, column.feature));
            }
        }
    }
}

/// How many rows a block of [`CodedRows`] holds.
pub(crate) const BLOCK: usize = 128;
/// How many rows a set of rows holds: one bit each of a machine word.
pub(crate) const SET: usize = 64;

/// Rows as codes, in blocks of [`BLOCK`] rows, each block column after column.
#[derive(Debug)]
pub(crate) struct CodedRows {
    codes: Codes,
    len: usize,
    n_columns: usize,
}

/// The codes of a block of rows or more, in the width the forest needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Codes {
    U16(Vec<u16>),
    U32(Vec<u32>),
}

impl CodedRows {
    /// Bytes that many rows take.
    pub(crate) fn bytes(columns: &Columns, n_rows: usize) -> usize {
        n_rows.next_multiple_of(BLOCK).saturating_mul(columns.len()).saturating_mul(if columns.fit_u16() {
            2
        } else {
            4
        })
    }

    pub(crate) fn new(columns: &Columns, rows: &Rows<'_>, workers: &Workers) -> Result<Self> {
        let codes = if columns.fit_u16() {
            Codes::U16(blocks(columns, rows, workers)?)
        } else {
            Codes::U32(blocks(columns, rows, workers)?)
        };
        Ok(Self { codes, len: rows.len(), n_columns: columns.len() })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn codes(&self) -> &Codes {
        &self.codes
    }

    /// How many sets of [`SET`] rows there are.
    pub(crate) fn n_sets(&self) -> usize {
        self.len.div_ceil(SET)
    }

    /// The rows of a set: bit r stands for row `set * SET + r`.
    pub(crate) fn members(&self, set: usize) -> u64 {
        u64::MAX >> (SET - (self.len - set * SET).min(SET))
    }

    /// For every test, which rows of a set pass it (and so go left).
    #[inline(always)]
    pub(crate) fn passing(&self, set: usize, tests: impl ExactSizeIterator<Item = CodeTest>, out: &mut Vec<u64>) {
        let size = BLOCK * self.n_columns;
        let (block, first) = (set * SET / BLOCK, set * SET % BLOCK);
        // Plain loops: a closure would not be compiled for the wide instructions.
        out.resize(tests.len(), 0);
        match &self.codes {
            Codes::U16(codes) => {
                for (out, test) in out.iter_mut().zip(tests) {
                    *out = passing(test, &codes[block * size..][..size], first);
                }
            }
            Codes::U32(codes) => {
                for (out, test) in out.iter_mut().zip(tests) {
                    *out = passing(test, &codes[block * size..][..size], first);
                }
            }
        }
    }
}

fn blocks<C: Code>(columns: &Columns, rows: &Rows<'_>, workers: &Workers) -> Result<Vec<C>> {
    let size = BLOCK * columns.len();
    let len = rows.len().div_ceil(BLOCK).saturating_mul(size);
    let bytes = len as u128 * size_of::<C>() as u128;
    let mut codes = Vec::new();
    codes.try_reserve_exact(len).map_err(|_| Error::Memory { what: "the codes of the rows".into(), bytes })?;
    codes.resize(len, C::default());
    // Sixteen blocks are enough for a thread to start on.
    workers.fill(&mut codes, 16 * size, |chunk, codes| {
        for (block, codes) in codes.chunks_exact_mut(size.max(1)).enumerate() {
            let start = (16 * chunk + block) * BLOCK;
            columns.encode(&rows.slice(start, rows.len().min(start + BLOCK)), BLOCK, codes);
        }
        Ok(())
    })?;
    Ok(codes)
}

#[inline(always)]
fn passing<C: Code>(test: CodeTest, block: &[C], first: usize) -> u64 {
    let (lo, span) = (C::from_u32(test.lo), C::from_u32(test.span));
    let column: &[C; SET] =
        block[test.column as usize * BLOCK + first..][..SET].try_into().expect("a set has that many rows");
    let mut bytes = [0_u8; SET];
    for r in 0..SET {
        bytes[r] = u8::from(column[r].within(lo, span));
    }
    bits(&bytes)
}

/// One bit for each byte, which is 0 or 1.
#[inline(always)]
pub(crate) fn bits(bytes: &[u8; SET]) -> u64 {
    // Eight bytes become eight bits by one multiplication.
    let (eights, _) = bytes.as_chunks::<8>();
    let mut mask = 0;
    for (i, &eight) in eights.iter().enumerate() {
        mask |= (u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    mask
}

/// Cells that are looked up together.
const LANES: usize = 64;

/// Codes many rows, [`LANES`] cells of a column at a time.
struct Encode<'a, C> {
    columns: &'a Columns,
    rows: &'a Rows<'a>,
    stride: usize,
    out: &'a mut [C],
}

impl<C: Code> Kernel for Encode<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let width = self.rows.width();
        for (column, out) in self.columns.columns.iter().zip(self.out.chunks_exact_mut(self.stride)) {
            for (i, out) in out[..self.rows.len()].chunks_mut(LANES).enumerate() {
                let first = i * LANES * width + column.feature;
                match (&column.coding, self.rows.cells()) {
                    (Coding::F32 { cuts, missing }, Cells::F32(cells)) => {
                        let mut x = [0.0_f32; LANES];
                        for (r, x) in x[..out.len()].iter_mut().enumerate() {
                            *x = cells[first + r * width];
                        }
                        look_up(cuts, *missing, x, out);
                    }
                    (Coding::F32 { cuts, missing }, Cells::F64(cells)) => {
                        let mut x = [0.0_f32; LANES];
                        for (r, x) in x[..out.len()].iter_mut().enumerate() {
                            *x = cells[first + r * width] as f32;
                        }
                        look_up(cuts, *missing, x, out);
                    }
                    (Coding::F64 { cuts, missing }, _) => {
                        let mut x = [0.0_f64; LANES];
                        for (r, x) in x[..out.len()].iter_mut().enumerate() {
                            *x = self.rows.get(i * LANES + r, column.feature);
                        }
                        look_up(cuts, *missing, x, out);
                    }
                    (Coding::Split(_), _) => {
                        for (r, out) in out.iter_mut().enumerate() {
                            *out = column.coding.code(self.rows.get(i * LANES + r, column.feature));
                        }
                    }
                }
            }
        }
    }
}

/// [`Coding::code`] of the first of these cells, as many as there is room for.
#[inline(always)]
fn look_up<C: Code, T: Number>(cuts: &[T], missing: Missing, mut x: [T; LANES], out: &mut [C]) {
    let mut absent = [false; LANES];
    for r in 0..LANES {
        (x[r], absent[r]) = match missing {
            Missing::Nan => (x[r], x[r].is_nan()),
            Missing::NanIsZero => (if x[r].is_nan() { T::default() } else { x[r] }, false),
            Missing::NanOrZero => (x[r], x[r].is_nan() || x[r].is_zero()),
        };
    }
    let below = count_below(cuts, &x);
    let mut codes = [C::MISSING; LANES];
    for r in 0..LANES {
        codes[r] = if absent[r] { C::MISSING } else { C::from_u32(1 + below[r]) };
    }
    out.copy_from_slice(&codes[..out.len()]);
}

/// A cell in the precision it is compared in.
trait Number: Copy + Default + PartialOrd {
    fn is_nan(self) -> bool;
    /// Whether [`Missing::NanOrZero`] takes it for zero.
    fn is_zero(self) -> bool;
}

macro_rules! number {
    ($t:ty) => {
        impl Number for $t {
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                f64::from(self).abs() <= ZERO
            }
        }
    };
}
number!(f32);
number!(f64);

impl Coding {
    #[inline]
    fn code<C: Code>(&self, x: f64) -> C {
        match self {
            Self::F32 { cuts, missing } => {
                // The comparison is exact: both sides are single-precision numbers.
                missing.present(f64::from(x as f32)).map_or(C::MISSING, |x| above(cuts, x as f32))
            }
            Self::F64 { cuts, missing } => missing.present(x).map_or(C::MISSING, |x| above(cuts, x)),
            Self::Split(split) => C::from_u32(2 - u32::from(split.goes_left(x))),
        }
    }
}

/// 1 + the number of cuts below `x`.
#[inline]
fn above<C: Code, T: PartialOrd + Copy>(cuts: &[T], x: T) -> C {
    C::from_u32(1 + cuts.partition_point(|&c| c < x) as u32)
}

impl Thresholds {
    /// The distinct cuts in order, and each split's number with the rank of its cut from 1 on, 0 for those that no
    /// value passes.
    fn rank(&self) -> (Vec<f64>, Vec<(u32, u32)>) {
        let mut sorted = self.cuts.clone();
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut cuts: Vec<f64> = Vec::new();
        let mut ranks: Vec<(u32, u32)> = self.never.iter().map(|&number| (number, 0)).collect();
        for (cut, number) in sorted {
            // Zeros of either sign are one cut.
            if cuts.last().is_none_or(|&last| last < cut) {
                cuts.push(cut);
            }
            ranks.push((number, cuts.len() as u32));
        }
        (cuts, ranks)
    }
}

/// Values up to the cut of that rank have the codes 1 ..= rank; wrapping, the missing code comes right before code 0,
/// which no cell has.
fn threshold_test(column: u32, rank: u32, missing_left: bool) -> CodeTest {
    match (missing_left, rank) {
        (true, 0) => CodeTest { column, lo: u32::MAX, span: 0 },
        (true, _) => CodeTest { column, lo: u32::MAX, span: rank + 1 },
        (false, 0) => CodeTest { column, lo: 0, span: 0 },
        (false, _) => CodeTest { column, lo: 1, span: rank - 1 },
    }
}

/// A category split's identity: equal splits share a column.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SetKey {
    feature: u32,
    axis: Axis,
    default_left: bool,
    categories: Box<[u32]>,
    inside_left: bool,
    truncate_negative: bool,
}

impl SetKey {
    fn of(split: &Split) -> Self {
        let Test::Member { categories, inside_left, truncate_negative } = &split.test else {
            unreachable!("only category splits have a set")
        };
        Self {
            feature: split.feature,
            axis: (split.precision, split.missing),
            default_left: split.default_left,
            categories: categories.codes().into(),
            inside_left: *inside_left,
            truncate_negative: *truncate_negative,
        }
    }
}

/// The largest value that goes left.
enum Cut {
    At(f64),
    /// No value does.
    Never,
    /// A category split has none.
    Set,
}

fn cut(split: &Split) -> Cut {
    let Test::Threshold { rule, threshold } = split.test else { return Cut::Set };
    let largest = match rule {
        Rule::LessEqual => threshold,
        Rule::Less if threshold == f64::NEG_INFINITY => return Cut::Never,
        Rule::Less => threshold.next_down(),
    };
    Cut::At(match split.precision {
        Precision::Float64 => largest,
        Precision::Float32 => f64::from(round_down(largest)),
    })
}

/// The largest single-precision number that is not above `x`.
fn round_down(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) > x { near.next_down() } else { near }
}
