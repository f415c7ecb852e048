//! How much memory the machine has to spare.

/// Where the system does not say.
const GUESS: usize = 4 << 30;

/// Bytes that can be used without pushing anything else out: what the system calls available, and no more than what
/// the control group this process runs in has left.
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
    machine.unwrap_or(GUESS).min(group.unwrap_or(usize::MAX))
}
