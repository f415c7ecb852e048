//! The threads of a call, how far it has come, and whether it should stop.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::sync::locked;

/// The threads that do the work of a call, how far the work has come, and whether it should stop.
///
/// One thread passes the job to a call of this crate. Another may watch it meanwhile, with
/// [`fraction`](Self::fraction), and [`cancel`](Self::cancel) it. A job can serve several calls, one after another, but
/// once cancelled, it stays cancelled; make a new one for the next call.
///
/// ```
/// let job = arborshap::Job::new(2);
/// job.cancel(); // every call with this job now fails with `Error::Cancelled`
/// ```
#[derive(Debug)]
pub struct Job {
    pub(crate) workers: Workers,
    pub(crate) progress: Progress,
}

impl Job {
    /// A job for up to `threads` threads, but at most four per core. If `threads` is 0 or 1, the calling thread does
    /// the work itself.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self { workers: Workers::new(threads), progress: Progress::default() }
    }

    /// Asks the work to stop at its next step. There is no way back: later calls with this job fail as well, so that
    /// a call that begins just after the request does not escape it.
    pub fn cancel(&self) {
        self.progress.cancel();
    }

    /// The share of the work that is done, from 0 to 1; it never decreases.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        self.progress.fraction()
    }
}

impl Default for Job {
    /// A job with one thread per core.
    fn default() -> Self {
        Self::new(cores())
    }
}

/// How far the work has come: shared between the threads that work and the one that waits.
///
/// Work comes in stages. Each stage says how many steps it has when it begins, and every stage counts for the same
/// share of the whole.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    cancelled: AtomicBool,
    stages: Mutex<Stages>,
    /// Steps done in the present stage.
    done: AtomicU64,
}

#[derive(Debug, Default)]
struct Stages {
    /// Stages announced so far; more may follow.
    announced: usize,
    begun: usize,
    /// Steps of the stage that began last.
    steps: u64,
    /// The largest fraction reported so far: the fraction never decreases, however much more work turns up.
    reported: f64,
}

impl Progress {
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    fn fraction(&self) -> f64 {
        let mut stages = locked(&self.stages);
        if stages.begun > 0 {
            let here = self.done.load(Ordering::Relaxed) as f64 / stages.steps.max(1) as f64;
            let all = stages.announced.max(stages.begun) as f64;
            stages.reported = stages.reported.max(((stages.begun - 1) as f64 + here.min(1.0)) / all);
        }
        stages.reported
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Announces `n` more stages, so that the fraction foresees them.
    pub(crate) fn announce(&self, n: usize) {
        locked(&self.stages).announced += n;
    }

    /// Begins a stage of that many steps.
    pub(crate) fn begin(&self, steps: usize) {
        let mut stages = locked(&self.stages);
        stages.begun += 1;
        stages.steps = steps as u64;
        self.done.store(0, Ordering::Relaxed);
    }

    /// Counts a step; an error if the work should stop.
    pub(crate) fn step(&self) -> Result<()> {
        self.done.fetch_add(1, Ordering::Relaxed);
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// With more threads per core than this, threads only get in each other's way.
const MOST_PER_CORE: usize = 4;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The threads of one job. They end with it, so nothing is left behind in a process that forks.
#[derive(Debug)]
pub(crate) struct Workers {
    pool: Option<rayon::ThreadPool>,
}

impl Workers {
    pub(crate) fn new(threads: usize) -> Self {
        if threads <= 1 {
            // To count the cores takes the system longer than a row may take.
            return Self { pool: None };
        }
        let threads = threads.min(MOST_PER_CORE * cores());
        // If the system grants no threads, the calling thread does the work.
        Self { pool: rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok() }
    }

    pub(crate) fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// `f(0), f(1), ...` in order, whichever thread computes them.
    pub(crate) fn map<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        match &self.pool {
            Some(pool) if n > 1 => pool.install(|| (0..n).into_par_iter().map(f).collect()),
            _ => (0..n).map(f).collect(),
        }
    }

    /// Runs `f(i, chunk)` on consecutive chunks of `out`.
    pub(crate) fn fill<T: Send>(
        &self,
        out: &mut [T],
        chunk: usize,
        f: impl Fn(usize, &mut [T]) -> Result<()> + Sync + Send,
    ) -> Result<()> {
        let chunk = chunk.max(1);
        match &self.pool {
            Some(pool) if out.len() > chunk => {
                pool.install(|| out.par_chunks_mut(chunk).enumerate().try_for_each(|(i, chunk)| f(i, chunk)))
            }
            _ => out.chunks_mut(chunk).enumerate().try_for_each(|(i, chunk)| f(i, chunk)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fraction after each step of a new stage.
    fn fractions(progress: &Progress, steps: usize) -> Vec<f64> {
        progress.begin(steps);
        (0..steps)
            .map(|_| {
                progress.step().expect("nobody cancels");
                progress.fraction()
            })
            .collect()
    }

    #[test]
    fn stages_share_the_whole() {
        let progress = Progress::default();
        assert!(progress.fraction().abs() < f64::EPSILON);
        progress.announce(2);
        assert_eq!(fractions(&progress, 2), [0.25, 0.5]);
        assert_eq!(fractions(&progress, 4), [0.625, 0.75, 0.875, 1.0]);
    }

    #[test]
    fn work_that_was_not_foreseen_takes_nothing_back() {
        let progress = Progress::default();
        assert_eq!(fractions(&progress, 2), [0.5, 1.0]);
        progress.announce(3);
        assert_eq!(fractions(&progress, 2), [1.0, 1.0]);
        assert!(progress.fraction() <= 1.0);
    }
}
