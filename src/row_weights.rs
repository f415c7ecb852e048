//! Weights of background rows: which are taken, and how they are added up without loss.

use crate::error::{Error, Result};

pub(crate) fn check_weights(weights: Option<&[f64]>, n_rows: usize) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    if weights.len() != n_rows {
        return Err(Error::Input(format!("{} weights were given for {n_rows} background rows", weights.len())));
    }
    if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        let weight = weights[row];
        return Err(Error::Input(format!(
            "the weight of background row {row} is {weight}; weights are finite and not negative"
        )));
    }
    let total: f64 = weights.iter().sum();
    if total <= 0.0 || !total.is_finite() {
        return Err(Error::Input(format!("the background weights sum to {total}; they need a positive, finite sum")));
    }
    Ok(())
}

/// Weights so that the largest is about one: neither their sums nor their products with small numbers leave the range of
/// float64. Powers of two divide exactly, so no result changes.
pub(crate) fn levelled(mut weights: Vec<f64>) -> Vec<f64> {
    let power = power_of_two(weights.iter().copied().fold(0.0, f64::max));
    for weight in &mut weights {
        *weight /= power;
    }
    weights
}

/// Bits below the largest weight that count: sums of so many rows as there can be stay within 128.
const FRACTION: u32 = 87;

/// Weights as whole numbers, of the power of two that is [`FRACTION`] bits below the largest: exact for all weights that
/// are not very much smaller than that one, and for counts.
pub(crate) fn whole_weights(weights: Option<&[f64]>) -> impl Fn(usize) -> u128 + Sync {
    let largest = weights.unwrap_or(&[1.0]).iter().copied().fold(0.0, f64::max);
    let power = power_of_two(largest);
    move |row| weights.map_or(1, |w| (w[row] / power * (1_u128 << FRACTION) as f64) as u128)
}

/// The power of two at or below a finite number.
fn power_of_two(number: f64) -> f64 {
    let bits = number.to_bits();
    let exponent = bits & f64::INFINITY.to_bits();
    f64::from_bits(if exponent == 0 { 1 << bits.max(1).ilog2() } else { exponent })
}
