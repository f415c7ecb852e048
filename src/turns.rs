//! One makes what all want; the others wait for it instead of making the same again.

use std::collections::HashMap;
use std::hash::Hash;
use std::process;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::job::Progress;

/// How often someone who waits looks whether it should stop.
const TICK: Duration = Duration::from_millis(20);

/// Turns to make things, one maker a thing at a time.
#[derive(Debug)]
pub(crate) struct Turns<T> {
    /// What is being made, and in which process: a child that was forked meanwhile has the note, but not the maker.
    taken: Mutex<HashMap<T, u32>>,
    given_back: Condvar,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { taken: Mutex::default(), given_back: Condvar::new() }
    }
}

/// A turn, given back when it is dropped, whether the thing was made or not.
#[derive(Debug)]
pub(crate) struct Turn<'a, T: Copy + Eq + Hash> {
    of: &'a Turns<T>,
    /// None where it was not worth waiting for.
    thing: Option<T>,
}

impl<T: Copy + Eq + Hash> Turns<T> {
    /// Waits until nobody else makes the thing; look then whether it is there.
    pub(crate) fn take(&self, thing: T, progress: &Progress) -> Result<Turn<'_, T>> {
        // A worker of somebody's own rayon pool does other work of that pool while it waits for our threads. That work
        // may lead back to here, and would wait for itself; so such callers each make what they need.
        if rayon::current_thread_index().is_some() {
            return Ok(Turn { of: self, thing: None });
        }
        let here = process::id();
        let mut taken = self.locked();
        while taken.get(&thing) == Some(&here) {
            if progress.is_cancelled() {
                return Err(Error::Cancelled);
            }
            taken = self.given_back.wait_timeout(taken, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
        taken.insert(thing, here);
        Ok(Turn { of: self, thing: Some(thing) })
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<T, u32>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Copy + Eq + Hash> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        if let Some(thing) = self.thing {
            self.of.locked().remove(&thing);
            self.of.given_back.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    /// Of who would rather give up than wait.
    fn impatient() -> Progress {
        let progress = Progress::default();
        progress.cancel();
        progress
    }

    #[test]
    fn one_at_a_time() {
        let (turns, making, made) = (Turns::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _turn = turns.take('a', &Progress::default()).expect("nobody cancels");
                    assert_eq!(making.fetch_add(1, Ordering::SeqCst), 0, "two have the same turn");
                    thread::sleep(Duration::from_millis(2));
                    making.fetch_sub(1, Ordering::SeqCst);
                    made.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(made.into_inner(), 8);
    }

    #[test]
    fn other_things_are_not_waited_for() {
        let turns = Turns::default();
        let _a = turns.take('a', &Progress::default()).expect("it is free");
        turns.take('b', &impatient()).expect("it is free too");
    }

    #[test]
    fn who_waits_may_be_cancelled() {
        let (turns, progress) = (Turns::default(), Progress::default());
        let _turn = turns.take('a', &Progress::default()).expect("it is free");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.take('a', &progress).map(drop));
            progress.cancel();
            assert_eq!(waiting.join().expect("no panic"), Err(Error::Cancelled));
        });
    }

    #[test]
    fn a_turn_of_another_process_is_void() {
        let turns = Turns::default();
        turns.locked().insert('a', process::id() + 1);
        turns.take('a', &impatient()).expect("its maker is not here");
    }

    /// A panic of the maker leaves the turn to the next.
    #[test]
    fn who_fails_gives_the_turn_back() {
        let turns = Turns::default();
        let maker = || {
            let _turn = turns.take('a', &Progress::default()).expect("it is free");
            panic!("while making it");
        };
        thread::scope(|scope| assert!(scope.spawn(maker).join().is_err()));
        turns.take('a', &impatient()).expect("it is free again");
    }
}
