//! Codes are 16 bits wide if a forest has few enough of them, else 32: what is generic over the width, and what is not.

use crate::memory::Zero;

/// Codes in the width that the forest needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Codes {
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// Evaluates an expression for the codes, whichever width they have: `with_codes!(codes, name => expression)`.
macro_rules! with_codes {
    ($codes:expr, $name:ident => $body:expr) => {
        match $codes {
            $crate::engine::codes::Codes::U16($name) => $body,
            $crate::engine::codes::Codes::U32($name) => $body,
        }
    };
}
pub(crate) use with_codes;

/// Evaluates an expression with the type of the codes that these columns need: `of_width!(columns, C => expression)`.
macro_rules! of_width {
    ($columns:expr, $code:ident => $body:expr) => {
        if $columns.fit_u16() {
            type $code = u16;
            $body
        } else {
            type $code = u32;
            $body
        }
    };
}
pub(crate) use of_width;

impl Codes {
    pub(crate) fn len(&self) -> usize {
        with_codes!(self, codes => codes.len())
    }
}

/// An unsigned integer wide enough for the codes of a forest.
pub(crate) trait Code: Zero + Send + Sync + Default + Ord + Into<u32> + 'static {
    /// The code of a missing value: the largest.
    const MISSING: Self;
    fn from_u32(code: u32) -> Self;
    /// The one test of every split.
    fn within(self, lo: Self, span: Self) -> bool;
    /// Codes of this width.
    fn wrap(codes: Vec<Self>) -> Codes;
    /// The codes, if they have this width.
    fn unwrap(codes: &Codes) -> Option<&[Self]>;
}

macro_rules! code {
    ($t:ty, $width:ident) => {
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
            fn wrap(codes: Vec<Self>) -> Codes {
                Codes::$width(codes)
            }
            fn unwrap(codes: &Codes) -> Option<&[Self]> {
                if let Codes::$width(codes) = codes { Some(codes) } else { None }
            }
        }
    };
}
code!(u16, U16);
code!(u32, U32);
