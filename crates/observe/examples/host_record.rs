//! Records this machine into a folder in the layout of a recording, and prints what that cost and who was seen.
//!
//! Usage: `cargo run --example host_record -- FOLDER SNAPSHOTS [INTERVAL_MS] [ROOT]`; FOLDER `-` keeps nothing.

#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use intriage_case::HostSnapshot;
use intriage_engines::host::read_host;
use intriage_observe::host::{Collector, Root};
use nix::sys::resource::{UsageWho, getrusage};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let usage = || io::Error::other("usage: host_record FOLDER SNAPSHOTS [INTERVAL_MS] [ROOT]");
    let folder = arguments.first().ok_or_else(usage)?;
    let count: u32 = arguments.get(1).and_then(|n| n.parse().ok()).ok_or_else(usage)?;
    let interval = Duration::from_millis(arguments.get(2).and_then(|n| n.parse().ok()).unwrap_or(1000));
    let root = arguments.get(3).map_or_else(Root::live, Root::at);

    let mut collector = Collector::new(root).map_err(io::Error::other)?;
    let before = cpu_time()?;
    let full = collector.snapshot_full();
    println!("processes {:?}", collector.processes());
    println!("full: {}, CPU {:?}", size(&full), cpu_time()?.saturating_sub(before));
    write(folder, &full)?;
    let mut snapshots = vec![full];

    let (started, mut spent) = (Instant::now(), Duration::ZERO);
    for _ in 1..count {
        thread::sleep(interval);
        let before = cpu_time()?;
        let snapshot = collector.snapshot_counters();
        let took = cpu_time()?.saturating_sub(before);
        spent += took;
        println!("counters: {}, CPU {took:?}", size(&snapshot));
        write(folder, &snapshot)?;
        snapshots.push(snapshot);
    }
    for process in read_host(&snapshots).map(|host| host.processes).unwrap_or_default() {
        let (role, cpu) = (process.role(), process.cpu);
        println!("{}: {role:?}, CPU {cpu:?}, {} threads watched", process.pid, process.threads.len());
        for thread in process.threads.iter().take(3) {
            println!("  {}: CPU {:?}, waited {:?}", thread.name, thread.cpu, thread.run_queue_delay);
        }
    }
    if count > 1 {
        let share = spent.as_secs_f64() / started.elapsed().as_secs_f64();
        println!("counters: mean CPU {:?}, {:.2} % of one core", spent / (count - 1), share * 100.0);
    }
    Ok(())
}

/// CPU time of this process, user and kernel.
fn cpu_time() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let time = |t: nix::sys::time::TimeVal| {
        Duration::new(t.tv_sec().unsigned_abs(), t.tv_usec().unsigned_abs() as u32 * 1000)
    };
    Ok(time(usage.user_time()) + time(usage.system_time()))
}

fn size(snapshot: &HostSnapshot) -> String {
    let bytes: usize = snapshot.files.values().map(String::len).sum();
    format!("{} files, {bytes} bytes", snapshot.files.len())
}

fn write(folder: &str, snapshot: &HostSnapshot) -> io::Result<()> {
    if folder == "-" {
        return Ok(());
    }
    let base = Path::new(folder).join("host").join(snapshot.at.0.to_string());
    for (name, text) in &snapshot.files {
        let path = base.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&base))?;
        fs::write(path, text)?;
    }
    Ok(())
}
