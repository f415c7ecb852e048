//! How much memory is available, and allocations that may fail.

use std::alloc::{Layout, alloc_zeroed};

use crate::error::{Error, Result};

/// Assumed if the system does not say.
const GUESS: usize = 4 << 30;

/// Bytes that can be used without pushing anything else out of memory: what the system calls available, but no more than
/// what is left of the process's control group and of its address space (`ulimit -v`).
pub(crate) fn available() -> usize {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
    });
    let number = |name: &str| {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{name}"))
            .ok()
            .and_then(|text| text.trim().parse::<usize>().ok())
    };
    let group = number("memory.max").map(|max| max.saturating_sub(number("memory.current").unwrap_or(0)));
    machine.unwrap_or(GUESS).min(group.unwrap_or(usize::MAX)).min(address_space().unwrap_or(usize::MAX))
}

/// What the process may still add to its address space; none if that is not limited.
fn address_space() -> Option<usize> {
    let field = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).ok()?;
        text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse::<usize>().ok()
    };
    let most = field("/proc/self/limits", "Max address space")?;
    Some(most.saturating_sub(field("/proc/self/status", "VmSize:")?.saturating_mul(1024)))
}

/// A number type whose zero is all zero bits. Only the types below are.
pub(crate) trait Zero: Copy {}
impl Zero for f64 {}
impl Zero for u16 {}
impl Zero for u32 {}
impl Zero for u64 {}
impl Zero for u128 {}

/// `vec![0; len]`, but an [`Error::Memory`] instead of an abort if there is no such memory.
///
/// The system hands out large memory as zeros, so nothing is written here. The threads that fill the memory are the
/// first to touch it, each its own share; for a result of gigabytes, the first touch takes a third of the whole time.
#[expect(unsafe_code, reason = "only the allocator itself can be asked for zeros and say no")]
#[expect(clippy::same_length_and_capacity, reason = "it was allocated for exactly that many")]
pub(crate) fn zeroed<T: Zero>(what: &str, len: usize) -> Result<Vec<T>> {
    let refused = || Error::Memory { what: what.to_owned(), bytes: len as u128 * size_of::<T>() as u128 };
    let layout = Layout::array::<T>(len).map_err(|_| refused())?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout has a size.
    let start = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if start.is_null() {
        return Err(refused());
    }
    // SAFETY: just allocated by the global allocator for `len` of `T`, all of them zero, which is a value of every `Zero`.
    Ok(unsafe { Vec::from_raw_parts(start, len, len) })
}

/// [`zeroed`] for an array of this shape.
pub(crate) fn zeros(what: &str, shape: &[usize]) -> Result<Vec<f64>> {
    let bytes = shape.iter().try_fold(8_u128, |a, &b| a.checked_mul(b as u128)).unwrap_or(u128::MAX);
    let len = usize::try_from(bytes / 8).map_err(|_| Error::Memory { what: what.to_owned(), bytes })?;
    zeroed(what, len)
}
