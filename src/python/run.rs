//! Work without the interpreter: its lock is released, Ctrl-C is noticed, panics are caught, progress is reported.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use pyo3::prelude::*;

use super::errors;
use crate::error::Result;
use crate::job::Job;
use crate::sync::locked;

/// How often a waiting caller checks for signals and reports progress.
const TICK: Duration = Duration::from_millis(50);

/// How much work a call is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Effort {
    /// It runs where it is called, on one thread.
    Short,
    /// It runs on up to this many threads, while the calling thread, the only one that may see Ctrl-C, waits.
    Long(usize),
}

/// Runs `work` with the interpreter free for others.
///
/// While long work runs, and whenever there is a callback, the calling thread watches for signals and calls `report` with
/// the fraction that is done; either may end the work with an exception.
pub(super) fn run<T: Send>(
    py: Python<'_>,
    effort: Effort,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Job) -> Result<T> + Send,
) -> PyResult<T> {
    let (threads, watched) = match effort {
        Effort::Short => (1, report.is_some()),
        Effort::Long(threads) => (threads, true),
    };
    let report = report.map(|report| report.clone().unbind());
    let (outcome, raised) = py.detach(|| {
        let job = Job::new(threads);
        let guarded = || catch_unwind(AssertUnwindSafe(|| work(&job)));
        if watched { wait(guarded, &job, report.as_ref()) } else { (guarded(), None) }
    });
    match (raised, outcome) {
        (Some(raised), _) => Err(raised),
        (None, outcome) => surfaced(py, outcome),
    }
}

/// Runs a quick method where it is called; a panic in it becomes an exception too.
pub(super) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> Result<T>) -> PyResult<T> {
    surfaced(py, catch_unwind(AssertUnwindSafe(work)))
}

/// The outcome of work for Python.
fn surfaced<T>(py: Python<'_>, outcome: std::thread::Result<Result<T>>) -> PyResult<T> {
    match outcome {
        Ok(result) => result.map_err(|e| errors::exception(py, &e)),
        Err(panic) => Err(errors::internal(py, &*panic)),
    }
}

/// Waits for the work and cancels it when a signal or the callback raises; returns what was raised.
fn wait<T: Send>(work: impl FnOnce() -> T + Send, job: &Job, report: Option<&Py<PyAny>>) -> (T, Option<PyErr>) {
    let (sender, finished) = mpsc::channel::<()>();
    // If the system grants no thread, the calling thread takes the work.
    let work = Mutex::new(Some((work, sender)));
    let take = || locked(&work).take().map(|(work, _sender)| work());
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
                report.map_or(Ok(()), |report| report.call1(py, (job.fraction(),)).map(drop))
            })
            .err();
            if raised.is_some() {
                job.cancel();
            }
        }
        let outcome = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (outcome.expect("nobody else took it"), raised)
    })
}
