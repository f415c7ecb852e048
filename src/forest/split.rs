//! What a split asks of a row: one type for the rules of every supported library.

/// `x < threshold` or `x <= threshold` sends a row left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// Left iff `x < threshold` (`XGBoost`).
    Less,
    /// Left iff `x <= threshold` (the paper, scikit-learn, `LightGBM`).
    LessEqual,
}

/// The precision a value is rounded to before it is compared.
///
/// The threshold is always an `f64`. A library that compares two single-precision numbers has thresholds that are exact
/// in double precision, so rounding the value is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Precision {
    /// The value is rounded to single precision first.
    Float32,
    /// The value is taken as it is.
    Float64,
}

impl Precision {
    /// The value as the library sees it.
    #[inline]
    #[must_use]
    pub fn round(self, x: f64) -> f64 {
        match self {
            Self::Float32 => f64::from(x as f32),
            Self::Float64 => x,
        }
    }
}

/// Which values count as missing, and so take the default direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Missing {
    /// NaN is missing.
    Nan,
    /// Nothing is missing: NaN counts as zero.
    NanIsZero,
    /// NaN and zero are missing.
    NanOrZero,
}

/// Absolute values up to this one are zero to `LightGBM` (its single-precision `1e-35`).
pub(crate) const ZERO: f64 = 1e-35_f32 as f64;

impl Missing {
    /// The value, or `None` if it is missing.
    #[inline]
    #[must_use]
    pub fn present(self, x: f64) -> Option<f64> {
        match self {
            Self::Nan => (!x.is_nan()).then_some(x),
            Self::NanIsZero => Some(if x.is_nan() { 0.0 } else { x }),
            Self::NanOrZero => (!x.is_nan() && x.abs() > ZERO).then_some(x),
        }
    }
}

/// A sorted set of category codes. Its size depends on how many codes there are, not on how large they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Categories {
    /// Boxed twice, because few splits have a set and a thin pointer makes all splits smaller.
    codes: Box<Box<[u32]>>,
}

impl Categories {
    /// The set of these codes.
    #[must_use]
    pub fn new(codes: &[u32]) -> Self {
        let mut codes = codes.to_vec();
        codes.sort_unstable();
        codes.dedup();
        Self { codes: Box::new(codes.into_boxed_slice()) }
    }

    /// Whether the code is in the set.
    #[must_use]
    pub fn contains(&self, code: u64) -> bool {
        u32::try_from(code).is_ok_and(|code| self.codes.binary_search(&code).is_ok())
    }

    /// The codes in increasing order.
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }
}

/// The question a split asks of a value that is not missing.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Test {
    /// Is the value below a threshold?
    Threshold {
        /// Strictly below, or equal too.
        rule: Rule,
        /// The threshold $\gamma_n$.
        threshold: f64,
    },
    /// Is the value's integer part one of these categories?
    Member {
        /// The set.
        categories: Categories,
        /// Whether members go left and all others right, or the other way round.
        members_left: bool,
        /// Whether a value between -1 and 0 is category 0, as integer truncation makes it, rather than no category.
        negative_fraction_is_zero: bool,
    },
}

/// A split $n$: it sends each row to its left or its right child by one feature $i_n$.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// The feature $i_n$.
    pub feature: u32,
    /// The left child's node number.
    pub left: u32,
    /// The right child's node number.
    pub right: u32,
    /// The question asked.
    pub test: Test,
    /// The precision of the comparison.
    pub precision: Precision,
    /// Which values are missing.
    pub missing: Missing,
    /// Whether a missing value goes left.
    pub default_left: bool,
}

impl Split {
    /// A plain split as in the paper: left iff `x[feature] <= threshold`, NaN goes right.
    #[must_use]
    pub fn at(feature: u32, threshold: f64, left: u32, right: u32) -> Self {
        let test = Test::Threshold { rule: Rule::LessEqual, threshold };
        Self { feature, left, right, test, precision: Precision::Float64, missing: Missing::Nan, default_left: false }
    }

    /// $R_n(x)$: whether a row with this value of the feature goes left. The definition of routing; everything
    /// faster is tested against it.
    #[must_use]
    pub fn goes_left(&self, x: f64) -> bool {
        match self.missing.present(self.precision.round(x)) {
            None => self.default_left,
            Some(x) => self.test.sends_left(x),
        }
    }
}

impl Test {
    fn sends_left(&self, x: f64) -> bool {
        match self {
            Self::Threshold { rule: Rule::Less, threshold } => x < *threshold,
            Self::Threshold { rule: Rule::LessEqual, threshold } => x <= *threshold,
            Self::Member { categories, members_left, negative_fraction_is_zero } => {
                let in_range = x >= 0.0 || (*negative_fraction_is_zero && x > -1.0);
                // `as` truncates towards zero and saturates, so infinities end up outside every set.
                let inside = in_range && categories.contains(x as u64);
                inside == *members_left
            }
        }
    }
}
