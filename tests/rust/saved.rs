//! Explainers saved and loaded: the same to the last bit, or an error.

use arborshap::forest::Tree;
use arborshap::{Background, Engine, Error, Explainer, Forest, Index, Intake, Job, Notes};
use proptest::prelude::*;

use crate::support::choices::{Choices, cases, choices};
use crate::support::engines::{ENGINES, INDICES, WALKS, assert_close, assert_same, explain, pairs};
use crate::support::forests::some_parts;
use crate::support::inputs::{Case, Matrix, matrix};

fn loaded(bytes: &[u8]) -> arborshap::Result<(Explainer, Notes)> {
    Explainer::from_bytes(bytes, &Job::new(2))
}

/// Fails unless the explainer and what is loaded from its bytes give the same bits in every way there is.
#[track_caller]
fn assert_same_after_loading(explainer: &Explainer, x: &Matrix) {
    let notes = Notes {
        texts: [("names".into(), vec!["a".into(), String::new(), "\u{e9}".into()])].into(),
        numbers: [("sizes".into(), vec![1.5, -0.0, f64::INFINITY]), ("none".into(), vec![])].into(),
    };
    let bytes = explainer.to_bytes(&notes);
    let (again, found) = loaded(&bytes).expect("just saved");
    assert_eq!(found, notes);
    assert_eq!(again.to_bytes(&notes), bytes, "saved again");
    assert_same(again.expected_value(), explainer.expected_value(), "expected value");
    assert_eq!(
        (again.n_players(), again.n_outputs(), again.n_background()),
        (explainer.n_players(), explainer.n_outputs(), explainer.n_background())
    );
    for index in INDICES {
        for engine in ENGINES {
            let (was, is) = (explain(engine, explainer, x, index, 1), explain(engine, &again, x, index, 2));
            assert_same(&is, &was, &format!("{index:?} by {engine:?}"));
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn loading_gives_the_same_bits(mut c in choices()) {
        let case = Case::small(&mut c);
        let explainer = case.explainer();
        assert_same_after_loading(&explainer, &case.x);
        let (again, _) = loaded(&explainer.to_bytes(&Notes::default())).expect("just saved");
        for walk in WALKS {
            assert_same(&pairs(walk, &again, &case.x, None, 1), &pairs(walk, &explainer, &case.x, None, 1), "pairs");
        }
    }

    #[test]
    fn loading_gives_the_same_bits_without_a_background(mut c in choices()) {
        let trees: Vec<Tree> = some_parts(&mut c, 4, 2)
            .into_iter()
            .map(|parts| {
                let cover = parts.nodes.iter().map(|_| c.below(9) as f64).collect();
                parts.tree().with_cover(cover)
            })
            .collect();
        let forest = Forest::new(trees, 4, vec![0.5, -1.0]).expect("valid trees");
        let explainer = Explainer::builder(&forest).build(&Job::new(1)).expect("has cover");
        assert_same_after_loading(&explainer, &matrix(&mut c, &forest, 3, false));
    }

    /// A change that comes with the right checksum must get past every other check, or be a valid file itself.
    #[test]
    fn hostile_bytes_never_panic(mut c in choices()) {
        let case = Case::small(&mut c);
        let mut bytes = case.explainer().to_bytes(&Notes::default());
        for _ in 0..20 {
            let at = 8 + (c.below(1 << 16) * 31 + c.below(1 << 16)) % (bytes.len() - 16);
            bytes[at] = c.of(&[0, 1, 2, 0x7F, 0x80, 0xFF]);
            seal(&mut bytes);
            if let Ok((mut explainer, _)) = loaded(&bytes) {
                explainer.set_memory_limit(1 << 20);
                let result = explainer.explain(&case.x.rows(), Index::Shapley, Engine::Auto, &Job::new(1));
                let refused = matches!(
                    result,
                    Err(Error::Input { .. }
                        | Error::Columns { .. }
                        | Error::OnlyCounts
                        | Error::Memory { .. })
                );
                prop_assert!(result.is_ok() || refused);
            }
        }
    }
}

/// The checksum bit by bit, as the catalogue defines it, of all but the last eight bytes, written into these.
fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 8;
    let mut r = !0_u64;
    for byte in &bytes[..end] {
        r ^= u64::from(*byte);
        for _ in 0..8 {
            r = (r >> 1) ^ if r & 1 == 1 { 0xC96C_5795_D787_0F42 } else { 0 };
        }
    }
    bytes[end..].copy_from_slice(&(!r).to_le_bytes());
}

/// The first case of this size whose forest has something to ask, of rows that have something to answer.
pub(crate) fn sized(n: usize, m: usize) -> Case {
    let mut all = (0..).map(|seed| Case::sized(&mut Choices::fixed(seed, 4000 + 20 * m), n, m));
    all.find(|case| case.forest.n_nodes() > 20 && case.forest.n_features() > 2).expect("endless")
}

/// A few rows, all kinds of splits.
fn small() -> Case {
    sized(2, 5)
}

#[test]
fn every_byte_counts() {
    let bytes = small().explainer().to_bytes(&Notes::default());
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xFF] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            assert!(matches!(loaded(&changed), Err(Error::Saved { .. })), "byte {at} changed by {change}");
        }
        assert!(matches!(loaded(&bytes[..at]), Err(Error::Saved { .. })), "cut off after {at} bytes");
    }
    let mut sealed = bytes.clone();
    seal(&mut sealed);
    assert_eq!(sealed, bytes, "the checksum is the one that is documented");
}

#[track_caller]
fn refused(bytes: &[u8], message: &str) {
    let error = loaded(bytes).expect_err("bad bytes");
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn what_is_refused_is_named() {
    let case = small();
    let bytes = case.explainer().to_bytes(&Notes::default());
    let changed = |at: usize, to: &[u8]| {
        let mut changed = bytes.clone();
        changed[at..at + to.len()].copy_from_slice(to);
        seal(&mut changed);
        changed
    };
    refused(b"", "not a saved explainer or background");
    refused(b"{\"learner\": {}}", "not a saved explainer or background");
    refused(&bytes[..bytes.len() / 2], "bytes where");
    refused(&[&bytes[..], b"x"].concat(), "bytes where");
    refused(&bytes[..20], "cut off after 20 bytes");
    refused(&changed(8, &2_u32.to_le_bytes()), "version 2 of the format, and this arborshap reads version 1");
    refused(&changed(12, &u32::MAX.to_le_bytes()), "is cut off");
    refused(&changed(12, &1_u32.to_le_bytes()), "bytes follow its arrays");
    let intake = Intake::new(&case.forest, &case.players, &Job::new(1)).expect("a valid game");
    refused(&intake.empty().expect("no rows").to_bytes(&Notes::default()), "it holds a background, not an explainer");
    // An array that promises more than there is, and one that is called something else.
    let left = 1 + bytes.windows(5).position(|w| w == b"\x04left").expect("an array `left`");
    refused(&changed(left + 5, &u64::MAX.to_le_bytes()), "is cut off");
    refused(&changed(left, b"lefs"), "no array `left`");
    refused(&changed(left + 4, &[6]), "array `left` is of kind 6, not 4");
    let holds = |at: &str| bytes.windows(at.len()).position(|w| w == at.as_bytes()).expect("an array") + at.len() + 9;
    refused(&changed(holds("n_features"), &99_u64.to_le_bytes()), "`players` has");
    refused(&changed(holds("background.rows"), &99_u64.to_le_bytes()), "do not fit together");
    refused(&changed(holds("layout"), &[1; 8]), "lays out codes in another way");
    refused(&changed(holds("expected_value"), &f64::NAN.to_le_bytes()), "expected value");
    refused(&changed(holds("rent"), &(-1.0_f64).to_le_bytes()), "rent");
    refused(&changed(holds("\x07players"), &[9; 4]), "is mapped to player");
}

/// Which way is taken depends on what earlier calls paid for; that is saved too.
#[test]
fn what_earlier_calls_paid_for_is_not_forgotten() {
    let case = sized(3, 200);
    let explainer = case.explainer();
    for index in INDICES {
        explain(Engine::Pattern, &explainer, &case.x, index, 1);
    }
    assert_same_after_loading(&explainer, &case.x);
    let (again, _) = loaded(&explainer.to_bytes(&Notes::default())).expect("just saved");
    let plan = again.plan(1, Index::Taylor, Engine::Auto);
    assert_eq!(plan.by_pairs + plan.by_walk, 0, "{}", plan.reason);
}

/// An explainer with little memory.
fn limited(case: &Case, bytes: usize) -> Explainer {
    let z = case.z.rows();
    let mut builder = Explainer::builder(&case.forest).players(&case.players).background(&z).memory_limit(bytes);
    if let Some(weights) = &case.weights {
        builder = builder.weights(weights);
    }
    builder.build(&Job::new(2)).expect("a valid case")
}

/// A background that was counted and not kept.
#[test]
fn counts_alone() {
    let mut case = sized(3, 20_000);
    for weights in [None, Some((0..20_000).map(|i| f64::from(i % 7) / 3.0).collect::<Vec<f64>>())] {
        case.weights = weights;
        let job = Job::new(2);
        let explainer = limited(&case, 1 << 20);
        assert!(explainer.plan(1, Index::Shapley, Engine::Auto).reason.contains("counts"));
        let notes = Notes::default();
        let (again, _) = loaded(&explainer.to_bytes(&notes)).expect("just saved");
        assert_eq!(again.to_bytes(&notes), explainer.to_bytes(&notes));
        for index in INDICES {
            for engine in [Engine::Auto, Engine::Pattern] {
                let (was, is) =
                    (explain(engine, &explainer, &case.x, index, 1), explain(engine, &again, &case.x, index, 1));
                assert_same(&is, &was, &format!("{index:?} by {engine:?}"));
            }
        }
        let sparse = again.explain(&case.x.rows(), Index::Shapley, Engine::Sparse, &job);
        assert_eq!(sparse.expect_err("rows are gone"), Error::OnlyCounts);
    }
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("arborshap-test-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder); // of a process that had this number and ended early
    std::fs::create_dir_all(&folder).expect("a folder");
    let (case, path) = (small(), folder.join("explainer"));
    let (explainer, notes, job) = (case.explainer(), Notes::default(), Job::new(1));
    explainer.save(&path, &notes).expect("saved");
    let (again, _) = Explainer::load(&path, &job).expect("loaded");
    assert_eq!(again.to_bytes(&notes), explainer.to_bytes(&notes));
    let nowhere = explainer.save(folder.join("no/such/folder"), &notes).expect_err("no such folder");
    assert!(nowhere.to_string().contains("no/such/folder"), "{nowhere}");
    std::fs::create_dir(folder.join("taken")).expect("a folder");
    assert!(explainer.save(folder.join("taken"), &notes).is_err(), "a folder cannot be replaced by a file");
    let left: Vec<_> =
        std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left.len(), 2, "nothing half-written is left: {left:?}");
    let missing = Explainer::load(folder.join("none"), &job).expect_err("no such file");
    assert!(missing.to_string().contains("none"), "{missing}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_background_is_not_an_explainer() {
    let bytes = small().explainer().to_bytes(&Notes::default());
    let error = Background::from_bytes(&bytes).expect_err("an explainer");
    assert!(error.to_string().contains("it holds an explainer, not a background"), "{error}");
}

/// Files of this version of the format, with rows and their expected values.
///
/// If this fails because codes or patterns are laid out in another way, the files of users would change their meaning.
/// Then raise the version of the format in `src/container/mod.rs`, keep the reader of the old version and these files,
/// and write files of the new version under other names with `ARBORSHAP_GOLDEN=write`.
#[test]
fn files_of_this_version_keep_their_meaning() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rust/golden");
    let job = Job::new(1);
    let mut weighted = sized(4, 60);
    weighted.weights = Some((0..60).map(|i| f64::from(i % 5) + 0.5).collect());
    for (name, case, limit) in [("rows", weighted, 1 << 30), ("counts", sized(4, 20_000), 1 << 20)] {
        let path = folder.join(name);
        if std::env::var("ARBORSHAP_GOLDEN").is_ok_and(|what| what == "write") {
            let explainer = limited(&case, limit);
            let x = case.x.rows();
            let cells = (0..x.len()).flat_map(|row| (0..x.width()).map(move |column| x.get(row, column)));
            let mut notes = Notes::default();
            notes.numbers.insert("rows".into(), cells.collect());
            for (i, index) in INDICES.into_iter().enumerate() {
                notes
                    .numbers
                    .insert(format!("values {i}"), explain(Engine::Auto, &case.explainer(), &case.x, index, 1));
            }
            explainer.save(&path, &notes).expect("written");
        }
        let (explainer, notes) = Explainer::load(&path, &job).expect("a file of this version");
        let x = Matrix::new(notes.numbers["rows"].clone(), notes.numbers["rows"].len() / 4);
        for (i, index) in INDICES.into_iter().enumerate() {
            let want = &notes.numbers[&format!("values {i}")];
            assert!(want.iter().any(|&value| value != 0.0));
            for engine in ENGINES {
                if let Ok(got) = explainer.explain(&x.rows(), index, engine, &job) {
                    assert_close(&got, want, 10.0, &format!("{name}, {index:?} by {engine:?}"));
                } else {
                    let by_rows = matches!(engine, Engine::Counts | Engine::Sparse | Engine::Traversal);
                    assert!(name == "counts" && by_rows, "{engine:?}");
                }
            }
        }
    }
}
