//! What the values of leaves have in common, which saves work.

/// The values of the first so many leaves are tried; values are common if at least one leaf in so many has them.
const CANDIDATES: usize = 8;
const COMMON: usize = 16;
/// How far numbers may be apart that are the same but for rounding.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// The last output follows from the others if no number is more than so many times as large.
const SIMILAR: f64 = 16.0;

/// The values that many leaves have, if there are such: forests that tell classes apart have many leaves of one class alone.
/// They are looked for among the first leaves, and must not be so large that small leaves would lose digits.
pub(crate) fn common_values<'a>(all: &(impl ExactSizeIterator<Item = &'a [f64]> + Clone)) -> Option<&'a [f64]> {
    let count = |values: &[f64]| all.clone().filter(|other| *other == values).count();
    let candidates = all.clone().take(CANDIDATES);
    let (most, values) = candidates.map(|values| (count(values), values)).max_by_key(|found| found.0)?;
    let keeps_digits = |leaf: &[f64]| {
        leaf.iter().zip(values).all(|(leaf, value)| ((leaf - value) + value - leaf).abs() <= ROUNDING * leaf.abs())
    };
    (most > 1 && most * COMMON >= all.len() && all.clone().all(keeps_digits)).then_some(values)
}

/// Whether the values of every leaf have the same sum, up to rounding, and the last output is about as large as the others:
/// only then does it follow from them without a loss of digits.
pub(crate) fn sums_are_equal<'a>(all: &(impl Iterator<Item = &'a [f64]> + Clone)) -> bool {
    let range = |values: &mut dyn Iterator<Item = f64>| {
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        most - least
    };
    let Some(width) = all.clone().next().map(<[f64]>::len) else { return false };
    let largest = all.clone().flatten().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    width > 1
        && range(&mut all.clone().map(|values| values.iter().sum())) <= ROUNDING * largest
        && SIMILAR * range(&mut all.clone().map(|values| values[width - 1])) >= largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_leaves_are_of_one_class() {
        let values = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.25, 0.75];
        let leaves = values.chunks_exact(2);
        assert_eq!(common_values(&leaves), Some(&[1.0, 0.0][..]));
        assert!(sums_are_equal(&leaves));
    }

    #[test]
    fn numbers_have_nothing_in_common() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(common_values(&values.chunks_exact(1)), None);
        assert!(!sums_are_equal(&values.chunks_exact(1)));
        assert!(!sums_are_equal(&values.chunks_exact(2)));
    }
}
