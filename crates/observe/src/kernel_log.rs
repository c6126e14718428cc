//! The kernel's own log: from its device, else from the journal, else from `dmesg`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use intriage_case::LogText;
use intriage_engines::kernel_record;
use rustix::fs::OFlags;

use crate::command;

/// Most bytes kept, the newest: some weeks of a quiet machine.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// Most time for each way of reading it.
const TIME: Duration = Duration::from_secs(3);

/// The longest record the kernel hands out; a shorter buffer is refused.
const RECORD_BYTES: usize = 8192;

/// What reading it as root would add, for those who may not.
const WOULD_ADD: &str =
    "root would add what the kernel said of GPUs (Xid), killed processes, PCIe and storage errors";

/// The programs that print it, in the order they are tried.
const PROGRAMS: [(&str, &[&str]); 2] = [
    (
        "journalctl",
        &["-k", "-b", "--no-pager", "-q", "-o", "short-monotonic", "--no-hostname", "-n", "20000"],
    ),
    ("dmesg", &[]),
];

/// The newest part of the kernel's log since it started, as `kernel.log`; an error says why not, and what would help.
pub(crate) fn read() -> Result<LogText, String> {
    let mut reasons = Vec::new();
    match device(Path::new("/dev/kmsg")) {
        Ok(text) if !text.is_empty() => return Ok(log(text)),
        Ok(_) => reasons.push("/dev/kmsg is empty".to_owned()),
        Err(error) => reasons.push(format!("/dev/kmsg: {error}")),
    }
    for (program, args) in PROGRAMS {
        let Some(path) = command::find(program) else {
            reasons.push(format!("{program}: not found"));
            continue;
        };
        match command::run(&path, args, TIME, 4 * MOST_BYTES) {
            Ok(said) if said.well && !said.text.trim().is_empty() => return Ok(log(said.text)),
            Ok(said) if said.well => reasons.push(format!("{program}: nothing this user may see")),
            Ok(said) => reasons.push(format!("{program}: {}", said.why)),
            Err(error) => reasons.push(format!("{program}: {error}")),
        }
    }
    Err(format!("{}; {WOULD_ADD}", reasons.join(", ")))
}

fn log(text: String) -> LogText {
    LogText { name: LogText::KERNEL.into(), text: without_parameters(&newest(text)) }
}

/// The kernel repeats the parameters it was started with, which may hold secrets; those that matter are among the files
/// of the host. The line stays, for its number.
fn without_parameters(text: &str) -> String {
    const MARK: &str = "ommand line";
    let keep = |line: &str| match line.find(MARK) {
        Some(at) => format!("{} [left out]\n", &line[..at + MARK.len()]),
        None => format!("{line}\n"),
    };
    text.lines().map(keep).collect()
}

/// The end of it, from the start of a line.
fn newest(mut text: String) -> String {
    if text.len() > MOST_BYTES {
        let cut = text.ceil_char_boundary(text.len() - MOST_BYTES);
        let line = text[cut..].find('\n').map_or(text.len(), |at| cut + at + 1);
        text.drain(..line);
    }
    text
}

/// Every read is one record; without waiting, the last one is followed by "would block".
fn device(path: &Path) -> std::io::Result<String> {
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let mut device = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let (mut buffer, mut text, end) = (vec![0; RECORD_BYTES], String::new(), Instant::now() + TIME);
    while Instant::now() < end {
        match device.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                if let Some(line) = kernel_record(&String::from_utf8_lossy(&buffer[..read])) {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
            // Records that were overwritten before they were read, and ones too long.
            Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::InvalidInput) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if text.is_empty() => return Err(e),
            Err(_) => break,
        }
        if text.len() > 8 * MOST_BYTES {
            text = newest(text);
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_stay_whole() {
        let line = format!("{}\n", "x".repeat(99));
        let text = newest(line.repeat(20_000));
        assert!(text.len() <= MOST_BYTES && text.len() > MOST_BYTES - 200);
        assert!(text.lines().all(|l| l.len() == 99));
        assert_eq!(newest("short\n".into()), "short\n");
    }

    #[test]
    fn the_kernels_parameters_are_left_out() {
        let text = "[    0.000000] Kernel command line: quiet rootpw=hush -- --token hush\n[    0.1] Unknown kernel command line parameters \"key=hush\", will be passed to user space.\n[    1.0] ready\n";
        let log = log(text.into());
        assert!(!log.text.contains("hush") && log.text.contains("ready"), "{}", log.text);
        assert_eq!(log.text.lines().count(), 3);
    }

    #[test]
    fn a_record_a_read_is_a_line_each() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kmsg");
        // A plain file gives all records in one read: the first is read, as the device would give it.
        std::fs::write(&file, "3,1,2000000,-;pcieport 0000:00:01.0: AER: Corrected error received\n")
            .unwrap();
        assert_eq!(
            device(&file).unwrap(),
            "[    2.000000] pcieport 0000:00:01.0: AER: Corrected error received\n"
        );
    }

    #[test]
    fn this_machine_has_a_log_or_a_reason() {
        match read() {
            Ok(log) => assert!(log.name == "kernel.log" && !log.text.is_empty()),
            Err(why) => assert!(why.contains("/dev/kmsg") && why.contains("root would add"), "{why}"),
        }
    }
}
