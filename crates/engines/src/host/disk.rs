//! Disks, and which of them holds the model.

use intriage_case::{Bytes, PerSecond, Ratio};

use super::process::ServingProcess;
use super::text;
use super::window::Window;

/// A disk or a partition over the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// Its name, such as `nvme0n1p2`.
    pub name: String,
    /// Its number, such as `259:2`.
    pub number: String,
    /// Read from it.
    pub read: Option<PerSecond<Bytes>>,
    /// Written to it.
    pub written: Option<PerSecond<Bytes>>,
    /// Share of the time it had something to do.
    pub busy: Option<Ratio>,
}

/// The file system that holds the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStorage {
    /// The model's path, from the command line or the cache the environment names.
    pub path: String,
    /// Where the file system is mounted.
    pub mount_point: String,
    /// Its type, such as `ext4`, `nfs4` or `overlay`.
    pub file_system: String,
    /// Its source, such as `/dev/nvme0n1p2` or `server:/export`.
    pub source: String,
    /// The disk's number, as in [`Disk::number`]; file systems on the network have one that is no disk's.
    pub number: String,
}

pub(super) fn read(window: Window<'_>) -> Vec<Disk> {
    let last = window.last("proc/diskstats").unwrap_or_default();
    last.lines().filter_map(|line| one(window, line)).collect()
}

fn one(window: Window<'_>, line: &str) -> Option<Disk> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [major, minor, name, ..] = words[..] else { return None };
    let grown = |column: usize| {
        window.increase("proc/diskstats", |text| {
            let line = text.lines().find(|l| l.split_whitespace().nth(2) == Some(name))?;
            line.split_whitespace().nth(column).and_then(text::single)
        })
    };
    // A sector is 512 bytes here whatever the disk's own is.
    let bytes = |column| grown(column).map(|i| PerSecond(Bytes(i.rate() * 512.0)));
    Some(Disk {
        name: name.to_owned(),
        number: format!("{major}:{minor}"),
        read: bytes(5),
        written: bytes(9),
        busy: grown(12).and_then(|i| i.share(1e3)),
    })
}

/// The file system that holds a process's model; `None` where the path is not known or not absolute.
pub(super) fn model_storage(window: Window<'_>, process: &ServingProcess) -> Option<ModelStorage> {
    let mounts = window.last(&format!("proc/{}/mountinfo", process.pid))?;
    let path = model_path(process)?;
    let mount = mounts.lines().filter_map(mount).filter(|m| is_below(&path, &m.mount_point));
    // The longest mount point is the nearest, and of two the later one covers the earlier.
    let nearest = mount.max_by_key(|m| m.mount_point.len())?;
    Some(ModelStorage { path, ..nearest })
}

/// `36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root`
fn mount(line: &str) -> Option<ModelStorage> {
    let (place, kind) = line.split_once(" - ")?;
    let place: Vec<&str> = place.split_whitespace().collect();
    let mut kind = kind.split_whitespace();
    Some(ModelStorage {
        path: String::new(),
        number: (*place.get(2)?).to_owned(),
        mount_point: place.get(4)?.replace("\\040", " "),
        file_system: kind.next()?.to_owned(),
        source: kind.next().unwrap_or_default().to_owned(),
    })
}

fn is_below(path: &str, mount_point: &str) -> bool {
    let rest = path.strip_prefix(mount_point.trim_end_matches('/'));
    rest.is_some_and(|r| r.is_empty() || r.starts_with('/'))
}

/// Flags that name a model's path, and variables that name the cache it is otherwise loaded from.
const MODEL_FLAGS: &[&str] =
    &["--model", "--model-path", "--model-id", "-m", "--model_repository", "--model-repository"];
const CACHES: &[(&str, &str)] = &[("HF_HUB_CACHE", ""), ("HF_HOME", "/hub"), ("OLLAMA_MODELS", "")];

fn model_path(process: &ServingProcess) -> Option<String> {
    let words = shlex::split(process.command_line.as_deref()?)?;
    let flagged = words.iter().enumerate().find_map(|(i, word)| {
        let (flag, value) = word.split_once('=').map_or((word.as_str(), None), |(f, v)| (f, Some(v)));
        let value = value.or_else(|| words.get(i + 1).map(String::as_str));
        value.filter(|_| MODEL_FLAGS.contains(&flag))
    });
    // `vllm serve /models/x`
    let positional = || {
        let at = words.iter().position(|w| w == "serve")?;
        words.get(at + 1).map(String::as_str)
    };
    let absolute = |path: &&str| path.starts_with('/');
    let given = flagged.filter(absolute).or_else(|| positional().filter(absolute)).map(str::to_owned);
    given.or_else(|| {
        CACHES.iter().find_map(|(name, below)| {
            let (_, value) = process.environment.iter().find(|(n, v)| n == name && v.starts_with('/'))?;
            Some(format!("{value}{below}"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::process;
    use super::super::testing::host;
    use super::*;

    #[test]
    fn a_disk_reads_sectors_of_512_bytes() {
        let at = |sectors: u32, ticks: u32| {
            format!(" 259       0 nvme0n1 10 0 {sectors} 9 5 0 40 3 0 {ticks} 12 0 0 0 0\n")
        };
        let (a, b) = (at(0, 0), at(2048, 500));
        let host = host(&[(0, &[("proc/diskstats", &a)]), (1000, &[("proc/diskstats", &b)])]);
        let disks = read(Window::new(&host));
        assert_eq!((disks[0].number.as_str(), disks[0].read), ("259:0", Some(PerSecond(Bytes(1_048_576.0)))));
        assert_eq!((disks[0].written, disks[0].busy), (Some(PerSecond(Bytes(0.0))), Some(Ratio(0.5))));
    }

    #[test]
    fn the_models_disk_is_found_by_number_or_by_name() {
        let stat = "7 (x) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 3 0 5 0 0\n";
        let disks = " 259 1 nvme0n1p1 10 0 0 9 5 0 40 3 0 0 12\n";
        let on = |mount: &str| {
            let snapshots = host(&[(
                0,
                &[
                    ("proc/7/stat", stat),
                    ("proc/7/cmdline", "vllm\0serve\0/models/x\0"),
                    ("proc/7/mountinfo", mount),
                    ("proc/diskstats", disks),
                ],
            )]);
            super::super::read_host(&snapshots).unwrap().model_disk().map(|disk| disk.name.clone())
        };
        let found = Some("nvme0n1p1".to_owned());
        assert_eq!(on("2 1 259:1 / /models rw - ext4 /dev/nvme0n1p1\n"), found);
        assert_eq!(on("2 1 0:31 / /models rw - btrfs /dev/nvme0n1p1\n"), found);
        assert_eq!(on("2 1 0:51 / /models rw - nfs4 srv:/m\n"), None);
    }

    const MOUNTS: &str = "1 0 0:30 / / rw - overlay overlay\n2 1 259:1 / /models rw - ext4 /dev/nvme0n1p1\n3 1 0:51 / /models/nfs rw - nfs4 srv:/m\n";

    fn storage(command_line: &str, environ: &str) -> Option<ModelStorage> {
        let stat = "7 (x) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 3 0 5 0 0\n";
        let command_line = command_line.replace(' ', "\0");
        let host = host(&[(
            0,
            &[
                ("proc/7/stat", stat),
                ("proc/7/cmdline", &command_line),
                ("proc/7/mountinfo", MOUNTS),
                ("proc/7/environ", environ),
            ],
        )]);
        let window = Window::new(&host);
        model_storage(window, &process::read(window)[0])
    }

    #[test]
    fn the_nearest_mount_holds_the_model() {
        let found = storage("vllm serve /models/nfs/llama --port 1", "").unwrap();
        assert_eq!((found.file_system.as_str(), found.source.as_str()), ("nfs4", "srv:/m"));
        let found = storage("llama-server -m /models/x.gguf", "").unwrap();
        assert_eq!((found.number.as_str(), found.mount_point.as_str()), ("259:1", "/models"));
        assert_eq!(storage("llama-server --model=/modelsx", "").unwrap().mount_point, "/");
        assert_eq!(storage("vllm serve org/name", "HF_HOME=/models/hf\n").unwrap().path, "/models/hf/hub");
        assert_eq!(storage("vllm serve org/name", ""), None);
    }
}
