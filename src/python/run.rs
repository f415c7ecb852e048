//! Long work off the interpreter: the lock released, Ctrl-C heard, panics caught, progress told.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use pyo3::prelude::*;

use super::errors;
use crate::error::Result;
use crate::job::Progress;

/// How often a waiting caller looks for signals and tells its progress.
const TICK: Duration = Duration::from_millis(50);

/// Runs `work` with the interpreter free for others.
///
/// Short work runs right here. Long work runs on a thread of its own, while the calling thread (the only one that may
/// see Ctrl-C) waits for signals and calls `told` with the fraction done; either may end it with an exception.
pub(super) fn run<T: Send>(
    py: Python<'_>,
    long: bool,
    told: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let progress = Progress::default();
    let guarded = || catch_unwind(AssertUnwindSafe(|| work(&progress)));
    let (outcome, raised) = if long || told.is_some() {
        let told = told.map(|t| t.clone().unbind());
        py.detach(|| wait(guarded, &progress, told.as_ref()))
    } else {
        (py.detach(guarded), None)
    };
    if let Some(raised) = raised {
        return Err(raised);
    }
    match outcome {
        Ok(result) => result.map_err(|e| errors::exception(py, &e)),
        Err(panic) => Err(errors::internal(py, &*panic)),
    }
}

/// What a quick method computes; a panic in it is no more let through than one in long work.
pub(super) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> Result<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|e| errors::exception(py, &e)),
        Err(panic) => Err(errors::internal(py, &*panic)),
    }
}

/// Waits for the work, cancelling it when a signal or the callback raises; gives what was raised.
fn wait<T: Send>(work: impl FnOnce() -> T + Send, progress: &Progress, told: Option<&Py<PyAny>>) -> (T, Option<PyErr>) {
    let (sender, finished) = mpsc::channel::<()>();
    // Whoever takes the work does it: where the system grants no thread, the one that would have waited.
    let work = Mutex::new(Some((work, sender)));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).take().map(|(work, _sender)| work());
    std::thread::scope(|scope| {
        let Ok(worker) = std::thread::Builder::new().spawn_scoped(scope, take) else {
            return (take().expect("nobody else took it"), None);
        };
        let mut raised = None;
        while let Err(mpsc::RecvTimeoutError::Timeout) = finished.recv_timeout(TICK) {
            if raised.is_some() {
                continue;
            }
            raised = Python::attach(|py| {
                py.check_signals()?;
                told.map_or(Ok(()), |told| told.call1(py, (progress.fraction(),)).map(drop))
            })
            .err();
            if raised.is_some() {
                progress.cancel();
            }
        }
        let outcome = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (outcome.expect("nobody else took it"), raised)
    })
}
