//! `W(k, d)` for paths of any length.

use arborshap::Weights;
use proptest::prelude::*;

use crate::support::choices::cases;

proptest! {
    #![proptest_config(cases(300))]

    /// Lemma 2's step, which defines every weight from those of more players: W(k, d) + W(k + 1, d) = W(k, d - 1).
    #[test]
    fn a_dummy_player_changes_nothing(d in 2_usize..2000, share in 0.0..1.0) {
        let k = ((d - 1) as f64 * share) as usize;
        let w = Weights::up_to(d);
        let (two, one) = (w.w(k, d) + w.w(k + 1, d), w.w(k, d - 1));
        prop_assert!((two - one).abs() <= 1e-12 * one + f64::MIN_POSITIVE, "k = {k}, d = {d}: {two:e}, not {one:e}");
    }

    /// Tabulated or not, a weight is the same.
    #[test]
    fn the_table_changes_nothing(d in 1_usize..600, share in 0.0..1.0) {
        let k = (d as f64 * share) as usize;
        let (short, long) = (Weights::up_to(1).w(k, d), Weights::up_to(d).w(k, d));
        prop_assert!(short.to_bits() == long.to_bits(), "k = {k}, d = {d}: {short:e} and {long:e}");
    }
}
