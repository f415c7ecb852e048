//! From values to codes: one by one for a few rows, [`LANES`] at a time for more.

use super::{Code, Coding, Columns};
use crate::forest::{Missing, ZERO};
use crate::rows::{Cells, Rows};
use crate::simd::{Kernel, count_below, widest};

impl Columns {
    /// The codes of up to `stride` rows, column after column: `out[column * stride + row]`.
    pub(crate) fn encode<C: Code>(&self, rows: &Rows<'_>, stride: usize, out: &mut [C]) {
        if rows.len() >= LANES / 4 {
            widest(Encode { columns: self, rows, stride, out });
            return;
        }
        for (column, out) in self.columns.iter().zip(out.chunks_exact_mut(stride)) {
            for (r, out) in out[..rows.len()].iter_mut().enumerate() {
                *out = column.coding.code(rows.cell(r, column.feature));
            }
        }
    }
}

/// Values that are looked up together.
const LANES: usize = 64;

/// Codes many rows, [`LANES`] values of a column at a time.
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
                            *x = self.rows.cell(i * LANES + r, column.feature);
                        }
                        look_up(cuts, *missing, x, out);
                    }
                    (Coding::Split(_), _) => {
                        for (r, out) in out.iter_mut().enumerate() {
                            *out = column.coding.code(self.rows.cell(i * LANES + r, column.feature));
                        }
                    }
                }
            }
        }
    }
}

/// [`Coding::code`] of the first `out.len()` of these values.
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

/// A value in the precision of the comparison.
trait Number: Copy + Default + PartialOrd {
    fn is_nan(self) -> bool;
    /// Whether [`Missing::NanOrZero`] counts it as zero.
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
