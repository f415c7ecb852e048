//! How much memory the machine has to spare.

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
