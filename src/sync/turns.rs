//! One caller makes a thing that several need; the others wait for it instead of making it again.

use std::collections::HashMap;
use std::hash::Hash;
use std::process;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::locked;
use crate::error::{Error, Result};

/// How often a waiting caller checks whether it should stop.
const TICK: Duration = Duration::from_millis(20);

/// Turns to make things: each thing has one maker at a time.
#[derive(Debug)]
pub(crate) struct Turns<T> {
    /// What is being made, and in which process: a child that was forked meanwhile has the entry, but not the maker.
    taken: Mutex<HashMap<T, u32>>,
    given_back: Condvar,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { taken: Mutex::default(), given_back: Condvar::new() }
    }
}

/// A turn. Dropping it gives it back, whether the thing was made or not.
#[derive(Debug)]
pub(crate) struct Turn<'a, T: Copy + Eq + Hash> {
    turns: &'a Turns<T>,
    /// None if the caller must not wait, and makes the thing for itself.
    thing: Option<T>,
}

impl<T: Copy + Eq + Hash> Turns<T> {
    /// Waits until nobody else makes the thing; then check whether it exists. Fails once `cancelled` says so.
    pub(crate) fn take(&self, thing: T, cancelled: impl Fn() -> bool) -> Result<Turn<'_, T>> {
        // While it waits for our threads, a worker of a caller's own rayon pool takes up other work of that pool. That
        // work may lead back to here, and would wait for itself; so such callers each make what they need.
        if rayon::current_thread_index().is_some() {
            return Ok(Turn { turns: self, thing: None });
        }
        let here = process::id();
        let mut taken = locked(&self.taken);
        while taken.get(&thing) == Some(&here) {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            taken = self.given_back.wait_timeout(taken, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
        taken.insert(thing, here);
        Ok(Turn { turns: self, thing: Some(thing) })
    }
}

impl<T: Copy + Eq + Hash> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        if let Some(thing) = self.thing {
            locked(&self.turns.taken).remove(&thing);
            self.turns.given_back.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    /// Waits for as long as it takes.
    fn patient() -> bool {
        false
    }

    /// Is already cancelled, so that `take` fails instead of waiting.
    fn impatient() -> bool {
        true
    }

    #[test]
    fn one_at_a_time() {
        let (turns, making, made) = (Turns::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _turn = turns.take('a', patient).expect("nobody cancels");
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
        let _a = turns.take('a', patient).expect("it is free");
        turns.take('b', impatient).expect("it is free too");
    }

    #[test]
    fn a_waiting_caller_may_be_cancelled() {
        let (turns, cancelled) = (Turns::default(), AtomicBool::new(false));
        let _turn = turns.take('a', patient).expect("it is free");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.take('a', || cancelled.load(Ordering::SeqCst)).map(drop));
            cancelled.store(true, Ordering::SeqCst);
            assert_eq!(waiting.join().expect("no panic"), Err(Error::Cancelled));
        });
    }

    #[test]
    fn a_turn_of_another_process_is_void() {
        let turns = Turns::default();
        locked(&turns.taken).insert('a', process::id() + 1);
        turns.take('a', impatient).expect("its maker is not here");
    }

    #[test]
    fn a_maker_that_panics_gives_its_turn_back() {
        let turns = Turns::default();
        let maker = || {
            let _turn = turns.take('a', patient).expect("it is free");
            panic!("while making it");
        };
        thread::scope(|scope| assert!(scope.spawn(maker).join().is_err()));
        turns.take('a', impatient).expect("it is free again");
    }
}
