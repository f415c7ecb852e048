//! Explainers and backgrounds as bytes: written once, read anywhere, checked as if a stranger had written them.
//!
//! The bytes hold the arrays of the flat format, and the background as codes or counts. Whatever can be computed from
//! these is computed again on reading, by the same code that computed it the first time. So a forest that was read is as
//! valid as any other, and its values are the same to the last bit.
//!
//! | file | what |
//! |---|---|
//! | `explainer` | explainers as bytes, and as files |
//! | `background` | parts of a background as bytes |
//! | `kept` | the codes and counts that both hold |

mod background;
mod explainer;
mod kept;

use std::collections::BTreeMap;

use crate::container::{Reader, Writer};
use crate::error::Result;

/// Texts and numbers that are saved beside an explainer or a background, such as the names of features.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Notes {
    /// Lists of texts, by name.
    pub texts: BTreeMap<String, Vec<String>>,
    /// Lists of numbers, by name.
    pub numbers: BTreeMap<String, Vec<f64>>,
}

/// The prefix of the name of every list of texts.
const TEXTS: &str = "texts.";
/// The prefix of the name of every list of numbers.
const NUMBERS: &str = "numbers.";

impl Notes {
    fn write(&self, out: &mut Writer) {
        for (name, texts) in &self.texts {
            out.texts(&format!("{TEXTS}{name}"), texts.iter().map(String::as_str));
        }
        for (name, numbers) in &self.numbers {
            out.numbers(&format!("{NUMBERS}{name}"), numbers.iter().copied());
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut notes = Self::default();
        for name in from.named(TEXTS) {
            notes.texts.insert(name[TEXTS.len()..].to_owned(), from.texts(name)?);
        }
        for name in from.named(NUMBERS) {
            notes.numbers.insert(name[NUMBERS.len()..].to_owned(), from.numbers(name)?);
        }
        Ok(notes)
    }
}
