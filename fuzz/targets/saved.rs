//! Any bytes as a saved explainer or background, with a checksum that fits: refused, or of use.
#![no_main]

use arborshap::{Background, Engine, Explainer, Index, Job, Notes, Rows};
use libfuzzer_sys::fuzz_target;

/// CRC-64/XZ, bit by bit.
fn crc64(bytes: &[u8]) -> u64 {
    let mut crc = u64::MAX;
    for &byte in bytes {
        crc ^= u64::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xC96C_5795_D787_0F42 } else { crc >> 1 };
        }
    }
    !crc
}

/// The bytes with the head and the checksum that they should have, or nothing else would ever be looked at.
fn sealed(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if bytes.len() < 32 {
        return bytes;
    }
    let (length, end) = (bytes.len() as u64, bytes.len() - 8);
    bytes[..8].copy_from_slice(b"ARBORSHP");
    bytes[8..12].copy_from_slice(&1_u32.to_le_bytes());
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    let checksum = crc64(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fuzz_target!(|data: &[u8]| {
    let bytes = sealed(data);
    let job = Job::new(1);
    if let Ok((explainer, notes)) = Explainer::from_bytes(&bytes, &job) {
        // Only rows of the right width are explained, and few features are enough to go wrong.
        for d in 0..12 {
            let cells: Vec<f64> = (0..2 * d).map(|i| i as f64 / 3.0 - 1.0).collect();
            let rows = Rows::new(&cells[..], 2, d).expect("two rows");
            let values = explainer.explain(&rows, Index::Shapley, Engine::Auto, &job);
            if let Ok(values) = values {
                assert_eq!(values.len(), 2 * explainer.n_players() * explainer.n_outputs());
            }
        }
        let written = explainer.to_bytes(&notes);
        let (again, _) = Explainer::from_bytes(&written, &job).expect("what was just written");
        assert_eq!(again.to_bytes(&notes), written);
    }
    if let Ok((background, _)) = Background::from_bytes(&bytes) {
        let twice = background.clone().merge(background);
        if let Ok(twice) = twice {
            Background::from_bytes(&twice.to_bytes(&Notes::default())).expect("what was just written");
        }
    }
});
