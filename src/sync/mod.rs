//! Locks that outlive a panic, values made once, and turns to make things.

mod turns;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) use turns::Turns;

/// Locks a mutex, even if a thread panicked while holding it: no lock of this crate guards anything half done.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value of the cell, made now if it was not made before.
///
/// This is not `get_or_init`, which makes other threads wait. While our threads make the value, a worker of a caller's
/// own rayon pool takes up other work of that pool; that work may come back here, and would wait for itself.
pub(crate) fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    if cell.get().is_none() {
        // Another thread may have been first; it made the same value.
        let _ = cell.set(make());
    }
    cell.get().expect("just set")
}
