//! Facts about the machine the load comes from: they belong to the result.

use std::fs;

/// Names and values, for the record.
pub(crate) fn facts() -> Vec<(String, String)> {
    let line = |path: &str| fs::read_to_string(path).ok().map(|t| t.trim().to_owned());
    let cpu = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let model = text.lines().find(|l| l.starts_with("model name"))?;
        Some(model.split_once(':')?.1.trim().to_owned())
    });
    let status = |name: &str| {
        let text = fs::read_to_string("/proc/self/status").ok()?;
        text.lines().find_map(|l| l.strip_prefix(name)).map(|v| v.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().ok().map(|n| n.to_string());
    [
        ("cpu", cpu),
        ("cores", cores),
        ("cores allowed", status("Cpus_allowed_list:")),
        ("kernel", line("/proc/sys/kernel/osrelease")),
        ("governor", line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("clock source", line("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        ("ports", line("/proc/sys/net/ipv4/ip_local_port_range")),
        ("load before", line("/proc/loadavg")),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}
