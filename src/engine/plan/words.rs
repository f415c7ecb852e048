//! Times, sizes and numbers in the words of a plan's reason.

use std::fmt::{Display, Formatter, Result};

/// An estimated time in nanoseconds, shown as people say it: `9 ms`, `1.5 s`, `4 min`.
pub(super) struct Time(pub f64);

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let units = [(3600e9, 5400e9, "h"), (60e9, 90e9, "min"), (1e9, 1e9, "s"), (1e6, 1e6, "ms")];
        match units.iter().find(|(_, least, _)| self.0 >= *least) {
            Some((size, _, unit)) if self.0 / size >= 9.95 => write!(f, "{:.0} {unit}", self.0 / size),
            Some((size, _, unit)) => write!(f, "{:.1} {unit}", self.0 / size),
            None => f.write_str("less than 1 ms"),
        }
    }
}

/// A number of bytes, shown in MiB or GiB.
pub(super) struct Bytes(pub f64);

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mebibytes = self.0 / f64::from(1 << 20);
        if mebibytes < 1024.0 { write!(f, "{mebibytes:.0} MiB") } else { write!(f, "{:.1} GiB", mebibytes / 1024.0) }
    }
}

/// How many there are of something: `1 row`, `2 rows`.
pub(super) struct Count(pub usize, pub &'static str);

impl Display for Count {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self(n, thing) = self;
        write!(f, "{n} {thing}{}", if *n == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Count, Time};

    #[test]
    fn one_thing_is_said_in_the_singular() {
        assert_eq!([0, 1, 2].map(|n| Count(n, "row").to_string()), ["0 rows", "1 row", "2 rows"]);
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        let said = [0.0, 2e5, 9.01e6, 1.52e9, 59e9, 100e9, 7200e9].map(|time| Time(time).to_string());
        assert_eq!(said, ["less than 1 ms", "less than 1 ms", "9.0 ms", "1.5 s", "59 s", "1.7 min", "2.0 h"]);
        assert_eq!([2e7, 5e9].map(|size| Bytes(size).to_string()), ["19 MiB", "4.7 GiB"]);
    }
}
