//! Parts of a background as bytes.

use super::Notes;
use super::kept::{read_codes, read_counts, write_codes, write_counts};
use crate::background::{Background, DistinctRows, Kept};
use crate::container::{Reader, Writer};
use crate::error::{Error, Result};

/// What the bytes say they hold.
const HOLDS: &str = "a background";

impl Background {
    /// The background as bytes, with notes; to be sent to wherever it is merged.
    #[must_use]
    pub fn to_bytes(&self, notes: &Notes) -> Vec<u8> {
        let mut out = Writer::new(HOLDS);
        out.number("fingerprint", self.fingerprint());
        out.number("rows", self.len() as u64);
        match self.kept() {
            Kept::Counts(counts) => write_counts(&mut out, counts),
            Kept::Rows(rows) => {
                write_codes(&mut out, rows.codes());
                out.number("background.kept_rows", rows.len() as u64);
                out.packed("background.row_weights", rows.whole_weights().iter().copied());
            }
        }
        notes.write(&mut out);
        out.finish()
    }

    /// The background that these bytes were made from, and its notes.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, Notes)> {
        let mut from = Reader::new(bytes, HOLDS)?;
        let (fingerprint, len) = (from.number("fingerprint")?, from.number("rows")?);
        let kept = if from.has("background.counts") {
            Kept::Counts(read_counts(&mut from)?)
        } else {
            let codes = read_codes(&mut from)?;
            let n = from.count("background.kept_rows")?;
            let weights = from.packed("background.row_weights", n)?;
            Kept::Rows(DistinctRows::new(codes, weights).map_err(Error::damaged)?)
        };
        let notes = Notes::read(&mut from)?;
        from.finish()?;
        Ok((Self::new(fingerprint, len, kept)?, notes))
    }
}
