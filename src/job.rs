//! A piece of work in progress: its threads, how far it has come, and whether it should stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Shared between the threads that work and the one that waits.
///
/// Work comes in stages, of which each says how many steps it has when it begins; all get the same share of the whole.
#[derive(Debug, Default)]
pub struct Progress {
    cancelled: AtomicBool,
    stages: Mutex<Stages>,
    /// Steps of the stage that is under way.
    done: AtomicU64,
}

#[derive(Debug, Default)]
struct Stages {
    /// As many as were announced; more may come than that.
    announced: usize,
    begun: usize,
    /// Steps of the last that has begun.
    steps: u64,
    /// The largest share told so far: what is done stays done, however much more work turns up.
    told: f64,
}

impl Progress {
    /// Asks the work to stop at its next step.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// The share of the work that is done, from 0 to 1; it never decreases.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let mut stages = self.locked();
        if stages.begun > 0 {
            let here = self.done.load(Ordering::Relaxed) as f64 / stages.steps.max(1) as f64;
            let all = stages.announced.max(stages.begun) as f64;
            stages.told = stages.told.max(((stages.begun - 1) as f64 + here.min(1.0)) / all);
        }
        stages.told
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Announces that so many more stages will come; those that are not announced are not foreseen in the fraction.
    pub(crate) fn stages(&self, n: usize) {
        self.locked().announced += n;
    }

    /// Begins a stage of so many steps.
    pub(crate) fn expect(&self, steps: usize) {
        let mut stages = self.locked();
        stages.begun += 1;
        stages.steps = steps as u64;
        self.done.store(0, Ordering::Relaxed);
    }

    /// Counts a step; an error if the work should stop.
    pub(crate) fn step(&self) -> Result<()> {
        self.done.fetch_add(1, Ordering::Relaxed);
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn locked(&self) -> MutexGuard<'_, Stages> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// More threads than this many for each core only get in each other's way.
const MOST_PER_CORE: usize = 4;

/// The threads of one call. They end with it, so nothing is left behind in a process that forks.
#[derive(Debug)]
pub struct Workers {
    pool: Option<rayon::ThreadPool>,
}

impl Workers {
    /// `threads` workers, or a few for each core where that is less; one means the calling thread itself.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(MOST_PER_CORE * cores);
        // Where the system grants no threads the work is still done, on the calling one.
        let pool = (threads > 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()).flatten();
        Self { pool }
    }

    /// How many there are.
    pub(crate) fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// `f(0), f(1), ...` in order, whoever computes them.
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
