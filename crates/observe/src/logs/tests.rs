//! A log is taken whole, or its two ends with a word on the rest, and nothing that hangs holds anybody up.

use std::fs;
use std::io::Write as _;

use intriage_engines::{LeftOut, LogReadings};
use proptest::prelude::*;

use super::*;

fn limits(bytes: usize, milliseconds: u64) -> LogLimits {
    LogLimits { bytes, time: Some(Duration::from_millis(milliseconds)), since: Duration::from_hours(1) }
}

const LONG: u64 = 60_000;

fn pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

#[test]
fn arguments_name_files_standard_input_and_units() {
    let source = |text: &str| LogSource::from_argument(Path::new(text));
    assert_eq!(source("-").unwrap(), LogSource::Stdin);
    assert_eq!(source("journal:vllm@8.service").unwrap(), LogSource::Journal("vllm@8.service".into()));
    assert_eq!(source("a/b.log").unwrap(), LogSource::File("a/b.log".into()));
    for bad in ["journal:", "journal:-rf", "journal:a b", "journal:../x"] {
        assert!(matches!(source(bad), Err(LogError::NotAUnit(_))), "{bad}");
    }
}

#[test]
fn a_short_log_is_whole_and_a_long_one_keeps_its_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.log");
    let lines: Vec<String> = (0..1000).map(|n| format!("line {n}\n")).collect();
    let text = lines.concat();
    fs::write(&path, &text).unwrap();
    let whole = LogSource::File(path.clone()).take(&limits(1 << 20, LONG)).unwrap();
    assert_eq!((whole.log.name.as_str(), whole.cut), ("server.log", None));
    assert_eq!(whole.log.text, text);
    let cut = LogSource::File(path).take(&limits(800, LONG)).unwrap();
    assert!(cut.log.text.starts_with("line 0\n") && cut.log.text.ends_with("line 999\n"));
    assert!(cut.log.text.len() < 900 && cut.cut.unwrap().contains("whole lines"));
}

#[test]
fn of_a_file_that_is_too_long_to_be_read_in_time_the_middle_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.log");
    let text = (0..1000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
    fs::write(&path, &text).unwrap();
    let ends = Ends::new(800);
    ends.file(&path, 2000).unwrap();
    let (kept, left_out) = ends.finish();
    let kept = String::from_utf8(kept).unwrap();
    assert!(kept.starts_with("line 0\n") && kept.ends_with("line 999\n"), "{kept}");
    assert!(kept.contains("[intriage left the middle of this log out]\n"), "{kept}");
    assert!(left_out.lines == 0 && left_out.bytes as usize > text.len() - 800);
}

#[test]
fn a_log_is_called_after_its_file_and_a_hosts_last_label_is_no_ending() {
    for (path, name) in [
        ("a/server.log", "server.log"),
        ("gpu1.acme.com", "gpu1.acme.com.log"),
        ("x.txt", "x.log"),
        (".log", ".log.log"),
        ("vllm", "vllm.log"),
        ("vllm.log.1", "vllm.log.1.log"),
        ("vllm.log.2.gz", "vllm.log.2.log"),
        ("vllm.log.gz", "vllm.log"),
        (".gz", ".gz.log"),
    ] {
        assert_eq!(LogSource::File(path.into()).file_name(), name);
    }
}

#[test]
fn names_of_a_rotation_are_known() {
    for name in [
        "vllm.log.2026-11-14",
        "0.log.20261115-024312",
        "0.log.20261115-024312.gz",
        "x.log.1",
        "x.log.12.gz",
        "x.log-20261115",
        "x.log-20261115.gz",
        "x.log.gz",
        "x.log.1.zst",
    ] {
        assert!(is_rotated(name), "{name}");
    }
    for name in ["x.log", "x.txt.1", ".log.1", "a/x.log.1", "x.log.old", "x.logs.1", "x.gz", "x.log."] {
        assert!(!is_rotated(name), "{name}");
    }
}

fn gzipped(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn a_packed_log_is_read_like_a_plain_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vllm.log.2.gz");
    let text: String = (0..1000).map(|n| ["line ", &n.to_string(), "\n"].concat()).collect();
    fs::write(&path, gzipped(&text)).unwrap();
    let whole = LogSource::File(path.clone()).take(&limits(1 << 20, LONG)).unwrap();
    assert_eq!((whole.log.text, whole.cut), (text.clone(), None));
    // The limit is one of what is kept, not of the packed file, whichever of the two is the longer one.
    for most in [800, 3000] {
        let cut = LogSource::File(path.clone()).take(&limits(most, LONG)).unwrap();
        assert!(cut.log.text.starts_with("line 0\n") && cut.log.text.ends_with("line 999\n"), "{most}");
        assert!(cut.cut.unwrap().contains("middle"));
    }
}

#[test]
fn a_packed_log_that_is_damaged_gives_the_whole_lines_before_the_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vllm.log.1.gz");
    let text: String = (0..5000).map(|n| ["token=secret", &n.to_string(), "\n"].concat()).collect();
    let packed = gzipped(&text);
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let taken = LogSource::File(path.clone()).take(&limits(1 << 20, LONG)).unwrap();
    assert!(taken.log.text.ends_with('\n') && text.starts_with(&taken.log.text));
    assert!(taken.cut.unwrap().contains("cut or damaged"));
    fs::write(&path, &packed[..6]).unwrap();
    let error = LogSource::File(path).take(&limits(1 << 20, LONG)).unwrap_err().to_string();
    assert!(error.contains("vllm.log.1.gz: its gzip is damaged from the start"), "{error}");
}

#[test]
fn a_log_in_utf_16_is_text_with_its_mark_and_refused_without() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u16.log");
    let wide: Vec<u8> = "password=hunter2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&path, [b"\xff\xfe", &wide[..]].concat()).unwrap();
    let taken = LogSource::File(path.clone()).take(&limits(1 << 20, LONG)).unwrap();
    assert_eq!(taken.log.text, "password=hunter2\n");
    fs::write(&path, &wide).unwrap();
    let error = LogSource::File(path).take(&limits(1 << 20, LONG)).unwrap_err().to_string();
    assert!(error.contains("u16.log: it reads like UTF-16"), "{error}");
}

#[test]
fn a_pipe_that_nobody_writes_into_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    pipe(&path);
    let error = LogSource::File(path).take(&limits(1 << 20, 50)).unwrap_err().to_string();
    assert!(error.contains("nothing came within 0.05 s"), "{error}");
}

#[test]
fn a_pipe_that_never_ends_gives_what_it_had() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    pipe(&path);
    // Open for both ways, so that neither end waits for the other and the pipe never ends.
    let mut held = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    held.write_all(b"INFO ready\n").unwrap();
    let taken = LogSource::File(path).take(&limits(1 << 20, 3000)).unwrap();
    assert_eq!(taken.log.text, "INFO ready\n");
    assert!(taken.cut.unwrap().contains("had not ended"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = LogSource::File("/no/such.log".into()).take(&limits(10, LONG)).unwrap_err().to_string();
    assert!(error.starts_with("/no/such.log: "), "{error}");
}

#[test]
fn a_line_that_was_cut_is_not_kept_since_its_secret_lost_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.log");
    let line = "INFO Authorization: Bearer letmein-canary-of-many-words\n";
    fs::write(&path, line.repeat(400)).unwrap();
    // Every place a cut can fall in a line, at either end.
    for most in 2000..2000 + 4 * line.len() {
        let taken = LogSource::File(path.clone()).take(&limits(most, LONG)).unwrap();
        for kept in taken.log.text.lines() {
            assert!(kept == line.trim_end() || kept.starts_with("[intriage left"), "{kept}");
        }
        assert!(taken.cut.unwrap().contains("whole lines"));
    }
}

/// Gives its pieces one by one, however much is asked for.
struct Pieces(std::vec::IntoIter<Vec<u8>>, Vec<u8>);

impl Pieces {
    fn of(pieces: Vec<Vec<u8>>) -> Self {
        Self(pieces.into_iter(), Vec::new())
    }
}

impl std::io::Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.1.is_empty() {
            let Some(piece) = self.0.next() else { return Ok(0) };
            self.1 = piece;
        }
        let n = self.1.len().min(into.len());
        into[..n].copy_from_slice(&self.1[..n]);
        self.1.drain(..n);
        Ok(n)
    }
}

/// The same line again and again, up to so many bytes: longer than anything that could be held.
struct Endless {
    line: &'static [u8],
    at: usize,
    left: usize,
}

impl std::io::Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = into.len().min(self.left);
        for byte in &mut into[..n] {
            *byte = self.line[self.at];
            self.at = (self.at + 1) % self.line.len();
        }
        self.left -= n;
        Ok(n)
    }
}

#[test]
fn a_log_of_any_length_is_kept_within_its_limit_and_counted_whole() {
    for (line, most) in [
        (&b"INFO:     10.0.0.1:59600 - \"POST /v1/completions HTTP/1.1\" 200 OK\n"[..], 1 << 20),
        (b"Aborted request cmpl-1.\n", 1 << 20),
        (b"nothing that is known\n", 1 << 20),
        (b"a line that never ends ", 1 << 20),
    ] {
        let length = 300_000_000 / line.len() * line.len();
        let ends = Ends::new(most);
        ends.stream(Endless { line, at: 0, left: length }).unwrap();
        let (kept, left_out) = ends.finish();
        assert!(kept.len() < most * 3 / 2, "{} bytes are kept", kept.len());
        assert!(left_out.bytes as usize > length - most * 2);
        let text = String::from_utf8(kept).unwrap();
        let readings = LogReadings::of(&LogText { name: "server.log".into(), text });
        let lines = (length / line.len()) as u64;
        match line[0] {
            b'I' => assert_eq!(readings.answers.get(&200), Some(&lines)),
            b'A' => {
                let event = &readings.events[0];
                assert_eq!(
                    (event.line, u64::from(event.last_line), u64::from(event.count)),
                    (1, lines, lines)
                );
            }
            _ => assert!(readings.events.is_empty()),
        }
    }
}

/// The answers that a log tells of, by status.
fn answers(text: &[u8]) -> std::collections::BTreeMap<u16, u64> {
    let text = String::from_utf8_lossy(text).into_owned();
    LogReadings::of(&LogText { name: "server.log".into(), text }).answers
}

proptest! {
    /// However a text is cut into reads, packed or not, it is whole, or whole lines are kept and every answer is counted.
    #[test]
    fn a_log_that_comes_in_pieces_is_counted_whole(
        lines in prop::collection::vec(
            prop_oneof![
                5 => Just("INFO:     10.0.0.1:5 - \"POST /v1/x HTTP/1.1\" 200 OK"),
                1 => Just("INFO:     10.0.0.1:5 - \"POST /v1/x HTTP/1.1\" 503 Service Unavailable"),
                3 => Just("größer 你好"),
                1 => Just("é EngineDeadError"),
                1 => Just("Aborted request ü."),
            ],
            0..200,
        ),
        cuts in prop::collection::vec(1usize..90, 1..30),
        most in 64usize..8000,
        returns: bool,
        packed: bool,
    ) {
        let end = if returns { "\r\n" } else { "\n" };
        let text: String = lines.iter().flat_map(|line| [*line, end]).collect();
        let all = if packed { gzipped(&text) } else { text.clone().into_bytes() };
        let (mut pieces, mut rest) = (Vec::new(), &all[..]);
        for cut in cuts.iter().cycle() {
            let (piece, next) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece.to_vec());
            rest = next;
            if rest.is_empty() {
                break;
            }
        }
        let ends = Ends::new(most);
        ends.stream(Pieces::of(pieces)).unwrap();
        let (kept, left_out) = ends.finish();
        if text.len() <= most {
            prop_assert_eq!((&kept[..], left_out), (text.as_bytes(), LeftOut::default()));
        } else if most > 4000 {
            // Events need room for their lines, which a few kilobytes are not; a count needs none.
            prop_assert_eq!(answers(&kept), answers(text.as_bytes()));
        }
        // No line is cut.
        for line in String::from_utf8_lossy(&kept).lines() {
            let stands = lines.contains(&line) || line.starts_with("[intriage left out ");
            prop_assert!(stands, "{}", line);
        }
    }

    /// Any bytes in any pieces are survived.
    #[test]
    fn any_stream_is_survived(pieces in prop::collection::vec(prop::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')], 0..40), 0..30), most in 0usize..200) {
        let all: Vec<u8> = pieces.concat();
        let ends = Ends::new(most);
        if ends.stream(Pieces::of(pieces)).is_ok() && !all.starts_with(&[0x1f, 0x8b]) {
            let (kept, left_out) = ends.finish();
            prop_assert!(kept.len() as u64 + left_out.bytes >= all.len() as u64);
            if all.len() <= most {
                prop_assert_eq!(kept, all);
            }
        }
    }
}
