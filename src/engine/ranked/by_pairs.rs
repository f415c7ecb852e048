//! What the tests of this engine compare with: pair by pair, from the rule of an index.

use super::layout::Site;
use super::table::Values;
use crate::index::Index;
use crate::weights::Weights;

/// Numbers that are the same in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 20
    }

    /// An index at a split: few or many other players that are failed, and a class that the split can have.
    pub(super) fn index(&mut self, site: &Site) -> u128 {
        let wide = |random: &mut Self| (0..3).fold(0, |wide, _| wide << 43 | u128::from(random.next()));
        let failed = match self.next() % 3 {
            0 => wide(self) & wide(self) & wide(self),
            1 => wide(self) & wide(self),
            _ => wide(self),
        };
        let class = self.next() as usize % site.classes();
        (failed & ((1 << site.others) - 1)) | [0, 1, 2][class] << site.others
    }
}

/// What a row gets, pair by pair and leaf by leaf, from the rule of the index.
pub(super) fn by_pairs(site: &Site, x: u128, z: &[u128], weights: &[f64], values: Values, index: Index) -> Vec<f64> {
    let players = site.others as usize + 1;
    let w = Weights::up_to(players);
    // The players that a row fails at a leaf, as positions.
    let fails = |index: u128, side: u128, position: usize| match position.cmp(&(site.own as usize)) {
        std::cmp::Ordering::Less => index >> position & 1 == 1,
        std::cmp::Ordering::Equal => index >> site.others != side,
        std::cmp::Ordering::Greater => index >> (position - 1) & 1 == 1,
    };
    let mut gains = vec![0.0; players];
    for (side, value) in [(0, values[0]), (1, values[1])] {
        let s: Vec<bool> = (0..players).map(|p| fails(x, side, p)).collect();
        for (&z, weight) in z.iter().zip(weights) {
            let f: Vec<bool> = (0..players).map(|p| fails(z, side, p)).collect();
            if s.iter().zip(&f).any(|(&s, &f)| s && f) {
                continue;
            }
            let size = |set: &[bool]| set.iter().filter(|&&fails| fails).count();
            let single = index.singles(&w, size(&f), size(&f) + size(&s));
            for p in 0..players {
                let given = if f[p] { single.in_x } else { 0.0 } + if s[p] { single.in_z } else { 0.0 };
                gains[p] += weight * value * given;
            }
        }
    }
    gains
}
