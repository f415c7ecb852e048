//! Every index of every engine equals its definition.

use arborshap::Index;
use proptest::prelude::*;

use crate::support::choices::{cases, choices};
use crate::support::engines::{ENGINES, WALKS, assert_close, explain, pairs};
use crate::support::forests::LARGEST_VALUE;
use crate::support::inputs::Case;
use crate::support::oracle::{Game, assert_definition};

/// The order of magnitude of the values of a case.
const SCALE: f64 = 5.0 * LARGEST_VALUE;

fn games(case: &Case) -> Vec<Game> {
    let (x, z) = (case.x.rows(), case.z.rows());
    (0..x.len()).map(|row| Game::new(&case.forest, &case.players, &x, row, &z, case.weights.as_deref())).collect()
}

fn every_index_equals_its_definition(case: &Case) {
    assert_definition(&case.explainer(), &case.x, &games(case), SCALE);
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn of_a_few_rows(mut c in choices()) {
        every_index_equals_its_definition(&Case::small(&mut c));
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// Background rows are taken 64 at a time: sizes around that.
    #[test]
    fn of_many_background_rows(mut c in choices()) {
        let m = c.of(&[63, 64, 65, 128, 130]);
        every_index_equals_its_definition(&Case::sized(&mut c, 2, m));
    }

    /// So are the rows that are explained.
    #[test]
    fn of_many_rows(mut c in choices()) {
        let n = c.of(&[63, 64, 65, 130]);
        every_index_equals_its_definition(&Case::sized(&mut c, n, 3));
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn of_every_pair(mut c in choices()) {
        let case = Case::small(&mut c);
        let mut want = Vec::new();
        for row in 0..case.x.len {
            for z in 0..case.z.len {
                let z = case.z.row(z);
                want.extend(Game::new(&case.forest, &case.players, &case.x.rows(), row, &z.rows(), None)
                    .index(Index::Shapley));
            }
        }
        for walk in WALKS {
            assert_close(&pairs(walk, &case.explainer(), &case.x, None, 1), &want, SCALE, &format!("{walk:?} walk"));
        }
    }

    /// Pairs against other rows than the background the explainer was made with.
    #[test]
    fn of_pairs_with_other_rows(mut c in choices()) {
        let case = Case::small(&mut c);
        let (other, explainer) = (case.x.clone(), case.explainer());
        let against_other = Case { z: other, weights: None, ..case };
        for walk in WALKS {
            let want = pairs(walk, &against_other.explainer(), &against_other.x, None, 1);
            let got = pairs(walk, &explainer, &against_other.x, Some(&against_other.z), 1);
            assert_close(&got, &want, SCALE, &format!("{walk:?} walk"));
        }
    }
}

proptest! {
    #![proptest_config(cases(100))]

    /// The walk that carries many background rows gives each of them what its own walk would.
    #[test]
    fn shared_walk_equals_single_walk(mut c in choices()) {
        let m = c.of(&[1, 63, 64, 65, 150]);
        let case = Case { weights: None, ..Case::sized(&mut c, 9, m) };
        let explainer = case.explainer();
        let [shared, single] = WALKS.map(|walk| pairs(walk, &explainer, &case.x, None, 1));
        assert_close(&shared, &single, SCALE, "shared and single walk");

        let cells = explainer.n_players() * explainer.n_outputs();
        let mean = |row: &[f64], cell: usize| row.chunks_exact(cells).map(|phi| phi[cell]).sum::<f64>() / m as f64;
        let want: Vec<f64> = single.chunks_exact(m * cells)
            .flat_map(|row| (0..cells).map(|cell| mean(row, cell)).collect::<Vec<_>>())
            .collect();
        for engine in ENGINES {
            let got = explain(engine, &explainer, &case.x, Index::Shapley, 1);
            assert_close(&got, &want, SCALE, &format!("{engine:?} and the mean over all pairs"));
        }
    }
}
