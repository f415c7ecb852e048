//! The Shapley weights `W(k, d)` of Definition 1.

/// The weights of paths with up to this many players are tabulated; longer paths compute them when needed.
const TABLE: usize = 256;

/// $W(k, d) = \frac{k!\,(d-k-1)!}{d!}$ for $0 \le k < d$: the proportion of the $d!$ orderings in which a given
/// set of $k$ players comes first, directly followed by one given other player.
///
/// The product form $\frac{1}{d} \prod_{i=1}^{k} \frac{i}{d-i}$ has no factorial, so it overflows for no `d`; a weight
/// below the smallest double is zero.
#[must_use]
pub(crate) fn shapley_weight(k: usize, d: usize) -> f64 {
    debug_assert!(k < d);
    let mut w = 1.0 / d as f64;
    for i in 1..=k.min(d - 1 - k) {
        w *= i as f64 / (d - i) as f64;
        if w == 0.0 {
            break;
        }
    }
    w
}

/// `W`, computed and stored in advance, as the paper's Algorithms 2 to 4 assume.
#[derive(Debug, Clone)]
pub struct Weights {
    /// Rows of a triangle: `W(0, 1); W(0, 2), W(1, 2); ...`.
    table: Vec<f64>,
    tabulated: usize,
}

impl Weights {
    /// Tabulates the weights for up to `max_d` players on a path.
    #[must_use]
    pub fn up_to(max_d: usize) -> Self {
        let tabulated = max_d.min(TABLE);
        let table = (1..=tabulated).flat_map(|d| (0..d).map(move |k| shapley_weight(k, d))).collect();
        Self { table, tabulated }
    }

    /// `W(k, d)`.
    #[inline]
    #[must_use]
    pub fn w(&self, k: usize, d: usize) -> f64 {
        if d <= self.tabulated { self.table[d * (d - 1) / 2 + k] } else { shapley_weight(k, d) }
    }
}

/// A node of a quadrature rule on $[0, 1]$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QuadratureNode {
    /// Where the integrand is evaluated.
    pub(crate) t: f64,
    /// Its weight.
    pub(crate) weight: f64,
}

/// The Gauss-Legendre rule with `n` nodes on $[0, 1]$, exact for polynomials of degree up to $2n - 1$.
#[must_use]
pub(crate) fn gauss_legendre(n: usize) -> Vec<QuadratureNode> {
    // The roots of the Legendre polynomial of degree n by Newton's method, from their well-known approximation.
    let node = |i: usize| {
        let mut root = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
        loop {
            let (value, slope) = legendre(n, root);
            let step = value / slope;
            root -= step;
            if step.abs() < 1e-16 {
                let slope = legendre(n, root).1;
                // Halved, because the rule for [-1, 1] is brought to [0, 1].
                return QuadratureNode { t: 0.5 - 0.5 * root, weight: 1.0 / ((1.0 - root * root) * slope * slope) };
            }
        }
    };
    (0..n).map(node).collect()
}

/// The Legendre polynomial of degree `n` and its derivative at `x`, by the three-term recurrence.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut p) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (before, p) = (p, ((2.0 * k - 1.0) * x * p - (k - 1.0) * before) / k);
    }
    (p, n as f64 * (x * p - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_factorial_definition() {
        let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
        let weights = Weights::up_to(20);
        for d in 1..=20 {
            for k in 0..d {
                let exact = factorial(k) * factorial(d - k - 1) / factorial(d);
                assert!((weights.w(k, d) / exact - 1.0).abs() < 1e-13, "W({k}, {d})");
            }
        }
    }

    #[test]
    fn is_a_probability_over_orderings_for_any_length() {
        // Summed over all coalitions of the d - 1 other players, W is one: sum_k C(d-1, k) W(k, d) = sum_k 1/d.
        for d in [1, 2, 31, 64, 257, 1000] {
            let weights = Weights::up_to(d);
            let mut total = 0.0;
            let mut log_binomial = 0.0_f64;
            for k in 0..d {
                total += (log_binomial + weights.w(k, d).ln()).exp();
                log_binomial += ((d - 1 - k) as f64 / (k + 1) as f64).ln();
            }
            assert!((total - 1.0).abs() < 1e-9, "d = {d}: {total}");
        }
    }

    #[test]
    fn gauss_legendre_is_exact_for_its_degree() {
        for n in 1..=40 {
            let rule = gauss_legendre(n);
            for degree in 0..2 * n {
                let integral: f64 = rule.iter().map(|node| node.weight * node.t.powi(degree as i32)).sum();
                let exact = 1.0 / (degree + 1) as f64;
                assert!((integral / exact - 1.0).abs() < 1e-12, "{n} nodes, t^{degree}: {integral}");
            }
        }
    }

    #[test]
    fn never_overflows() {
        assert!(shapley_weight(50_000, 100_000).abs() < f64::MIN_POSITIVE);
        assert!((shapley_weight(0, 100_000) - 1e-5).abs() < 1e-18);
        assert!((shapley_weight(99_999, 100_000) - 1e-5).abs() < 1e-18);
    }
}
