//! Arrays that are kept from pass to pass: fresh memory would cost more than what is done with it.

use std::sync::Mutex;

use crate::sync::locked;

/// Things that nobody uses at present.
#[derive(Debug, Default)]
pub(super) struct Pool<T>(Mutex<Vec<T>>);

impl<T: Default> Pool<T> {
    pub(super) fn take(&self) -> T {
        locked(&self.0).pop().unwrap_or_default()
    }

    pub(super) fn give(&self, thing: T) {
        locked(&self.0).push(thing);
    }

    pub(super) fn with<R>(&self, use_it: impl FnOnce(&mut T) -> R) -> R {
        let mut thing = self.take();
        let result = use_it(&mut thing);
        self.give(thing);
        result
    }
}
