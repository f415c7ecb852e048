//! How much memory the machine has to spare, and memory that may be refused.

use std::alloc::{Layout, alloc_zeroed};

use crate::error::{Error, Result};

/// Where the system does not say.
const GUESS: usize = 4 << 30;

/// Bytes that can be used without pushing anything else out: what the system calls available, and no more than what
/// the control group this process runs in, or the limit of its own address space (`ulimit -v`), has left.
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

/// What the process may still add to its address space, where that is limited.
fn address_space() -> Option<usize> {
    let field = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).ok()?;
        text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse::<usize>().ok()
    };
    let most = field("/proc/self/limits", "Max address space")?;
    Some(most.saturating_sub(field("/proc/self/status", "VmSize:")?.saturating_mul(1024)))
}

/// A number whose zero is all zero bits. Only the types below are.
pub(crate) trait Zero: Copy {}
impl Zero for f64 {}
impl Zero for u16 {}
impl Zero for u32 {}
impl Zero for u64 {}
impl Zero for u128 {}

/// `vec![0; len]`, refused with [`Error::Memory`] where it cannot be had instead of aborting.
///
/// Large memory comes from the system as zeros and is not written here: the threads that fill it touch it first, each
/// its own part, which for a result of gigabytes is a third of the whole time.
#[expect(unsafe_code, reason = "only the allocator itself can be asked for zeros and say no")]
#[expect(clippy::same_length_and_capacity, reason = "it was allocated for just so many")]
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

/// [`zeroed`] for an array of that shape.
pub(crate) fn zeros(what: &str, shape: &[usize]) -> Result<Vec<f64>> {
    let bytes = shape.iter().try_fold(8_u128, |a, &b| a.checked_mul(b as u128)).unwrap_or(u128::MAX);
    let len = usize::try_from(bytes / 8).map_err(|_| Error::Memory { what: what.to_owned(), bytes })?;
    zeroed(what, len)
}
