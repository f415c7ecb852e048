//! What explainers and parts of a background keep of rows: codes or counts.

use crate::container::{Reader, Writer};
use crate::engine::codes::Codes;
use crate::engine::tables::Histogram;
use crate::error::{Error, Result};

pub(super) fn write_codes(out: &mut Writer, codes: &Codes) {
    match codes {
        Codes::U16(codes) => out.numbers("background.codes", codes.iter().copied()),
        Codes::U32(codes) => out.numbers("background.wide_codes", codes.iter().copied()),
    }
}

pub(super) fn read_codes(from: &mut Reader<'_>) -> Result<Codes> {
    if from.has("background.wide_codes") {
        return Ok(Codes::U32(from.numbers("background.wide_codes")?));
    }
    Ok(Codes::U16(from.numbers("background.codes")?))
}

pub(super) fn write_counts(out: &mut Writer, counts: &Histogram) {
    out.number("background.entries", counts.numbers().count() as u64);
    out.packed("background.counts", counts.numbers());
    out.packed("background.total", [counts.total()]);
    out.number("background.weighted", u8::from(counts.is_weighted()));
}

pub(super) fn read_counts(from: &mut Reader<'_>) -> Result<Histogram> {
    let entries = from.count("background.entries")?;
    let numbers = from.packed("background.counts", entries)?;
    let total = from.packed("background.total", 1)?[0];
    Histogram::from_numbers(from.flag("background.weighted")?, numbers, total).map_err(Error::damaged)
}
