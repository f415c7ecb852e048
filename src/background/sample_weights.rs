//! Weights of background rows: which are valid, and how they are added up without loss.

use crate::error::{Argument, Error, Result};

/// The weight, in a background that comes in parts, of a row without one: there, weights are whole numbers of 2^-80.
pub(super) const ONE: u128 = 1 << 80;
/// The weights of all rows of such a background together stay below this.
pub(super) const MOST: f64 = (1_u64 << 47) as f64;

/// An error unless there is one weight per row, each is finite and not negative, and their sum is positive.
pub(crate) fn check_weights(weights: Option<&[f64]>, n_rows: usize) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    let invalid = |problem: String| Err(Error::input(Argument::Weights, problem));
    if weights.len() != n_rows {
        return invalid(format!("{} weights were given for {n_rows} background rows", weights.len()));
    }
    if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        let weight = weights[row];
        return invalid(format!("the weight of background row {row} is {weight}; weights are finite and not negative"));
    }
    let total: f64 = weights.iter().sum();
    if total <= 0.0 || !total.is_finite() {
        return invalid(format!("the background weights sum to {total}; they need a positive, finite sum"));
    }
    Ok(())
}

/// Scales weights so that the largest is about one: neither their sums nor their products with small numbers then leave
/// the range of float64. Dividing by a power of two is exact, so no result changes.
pub(crate) fn levelled(mut weights: Vec<f64>) -> Vec<f64> {
    let power = power_of_two(weights.iter().copied().fold(0.0, f64::max));
    for weight in &mut weights {
        *weight /= power;
    }
    weights
}

/// How many bits below the largest weight count: sums over any number of rows fit in 128 bits.
const FRACTION: u32 = 87;

/// Weights as whole numbers of the power of two that is [`FRACTION`] bits below the largest. This is exact for counts, and
/// for all weights that are not very much smaller than the largest.
pub(crate) fn whole_weights(weights: Option<&[f64]>) -> impl Fn(usize) -> u128 + Sync {
    let largest = weights.unwrap_or(&[1.0]).iter().copied().fold(0.0, f64::max);
    let power = power_of_two(largest);
    move |row| weights.map_or(1, |w| (w[row] / power * (1_u128 << FRACTION) as f64) as u128)
}

/// The largest power of two that is not above a finite number.
fn power_of_two(number: f64) -> f64 {
    let bits = number.to_bits();
    let exponent = bits & f64::INFINITY.to_bits();
    f64::from_bits(if exponent == 0 { 1 << bits.max(1).ilog2() } else { exponent })
}

/// Weights as multiples of 2^-80; an error if one of them is no such multiple.
pub(super) fn exact_weights(weights: &[f64]) -> Result<Vec<u128>> {
    let whole = |(row, &weight): (usize, &f64)| {
        let scaled = weight * ONE as f64;
        if weight < MOST && scaled.fract() == 0.0 {
            return Ok(scaled as u128);
        }
        let problem = format!(
            "the weight of background row {row} is {weight:e}; parts of a background are summed exactly, in whole \
             numbers of 2^-80 up to 2^47: multiply all weights by the same power of two, or round them"
        );
        Err(Error::input(Argument::Weights, problem))
    };
    weights.iter().enumerate().map(whole).collect()
}
