//! Whatever stands in a snapshot of the host, reading it ends in facts, and every share and rate is a number.
#![no_main]

use std::collections::BTreeMap;

use intriage_case::host::is_name;
use intriage_case::{HostSnapshot, Millis};
use intriage_engines::host::{read_host, round_trips};
use libfuzzer_sys::fuzz_target;

// One input is two snapshots: lines `@name` begin a file, a line `@@` begins the second snapshot.
fuzz_target!(|input: &str| {
    let mut snapshots = vec![HostSnapshot { at: Millis(1000), files: BTreeMap::new() }];
    let mut name = String::new();
    for line in input.split_inclusive('\n') {
        match line.strip_prefix('@') {
            Some("@\n") => snapshots.push(HostSnapshot {
                at: Millis(1000 * (snapshots.len() as u64 + 1)),
                files: BTreeMap::new(),
            }),
            Some(file) => file.trim().clone_into(&mut name),
            None if is_name(&name) => {
                if let Some(snapshot) = snapshots.last_mut() {
                    snapshot.files.entry(name.clone()).or_default().push_str(line);
                }
            }
            None => {}
        }
    }
    for found in round_trips(input, &[22, 8000]) {
        assert!(found.least <= found.median && found.median <= found.most);
    }
    let Some(host) = read_host(&snapshots) else { return };
    for process in &host.processes {
        assert!(process.cpu.is_none_or(|c| c.get().is_finite() && c.get() >= 0.0));
        for thread in &process.threads {
            for share in [thread.cpu, thread.run_queue_delay].into_iter().flatten() {
                assert!(share.get().is_finite() && share.get() >= 0.0);
            }
        }
    }
    for (_, spent) in &host.cpu.each {
        assert!((0.0..=1.0).contains(&spent.busy.get()), "{spent:?}");
    }
    for pressure in [host.cpu_pressure, host.memory_pressure, host.io_pressure].into_iter().flatten() {
        assert!(pressure.some.is_none_or(|s| s.get().is_finite() && s.get() >= 0.0));
    }
});
