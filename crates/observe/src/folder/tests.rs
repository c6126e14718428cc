//! Folders of recordings, good and bad.

use intriage_redact::Redactor;

use super::*;
use crate::save;

fn recording(dir: &Path) {
    fs::create_dir_all(dir.join("metrics")).unwrap();
    fs::write(dir.join("metrics/1000.txt"), "a 1\n").unwrap();
    fs::write(dir.join("truth.json"), "{}").unwrap();
    fs::write(dir.join("server.log"), "ready\n").unwrap();
}

#[test]
fn a_folder_is_a_case_and_saves_as_one() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path());
    let case = open(dir.path()).unwrap();
    assert_eq!((case.scrapes.len(), case.logs.len()), (1, 1));
    let saved = dir.path().join("x.case");
    save(&case, &Redactor::new(), &saved).unwrap();
    assert_eq!(open(&saved).unwrap(), Case { redacted: true, ..case });
    assert_eq!(
        fs::read_dir(dir.path())
            .unwrap()
            .filter(|e| e.as_ref().unwrap().path().to_string_lossy().ends_with(".part"))
            .count(),
        0
    );
}

#[test]
fn a_log_is_a_case_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["vllm.log", "vllm.log.1"] {
        fs::write(dir.path().join(name), "INFO ready\n").unwrap();
        let case = open(&dir.path().join(name)).unwrap();
        assert_eq!((case.target.name.as_str(), case.logs[0].text.as_str()), (name, "INFO ready\n"));
    }
    let known = "INFO:     Application startup complete.\n";
    fs::write(dir.path().join("nohup.out"), known).unwrap();
    assert_eq!(open(&dir.path().join("nohup.out")).unwrap().logs[0].text, known);
    let refused = |name: &str, bytes: &[u8]| {
        fs::write(dir.path().join(name), bytes).unwrap();
        open(&dir.path().join(name)).unwrap_err().to_string()
    };
    assert!(refused("empty.log", b"").contains("empty"));
    let damaged = refused("packed.log.gz", b"\x1f\x8b\x08");
    assert!(damaged.contains("packed.log.gz: its gzip is damaged"), "{damaged}");
    assert_eq!(damaged.matches("packed.log.gz").count(), 1, "{damaged}");
    assert!(refused("torn.log", &[0, 159, 146, 150].repeat(64)).contains("torn.log"));
}

#[test]
fn nonsense_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = |p: &Path| open(p).unwrap_err().to_string();
    assert!(error(&dir.path().join("no")).contains("does not exist"));
    assert!(error(dir.path()).contains("holds no recording"));
    fs::write(dir.path().join("x.txt"), "hello").unwrap();
    assert!(error(&dir.path().join("x.txt")).contains("neither a folder"));
    fs::write(dir.path().join("empty.case"), "").unwrap();
    assert!(error(&dir.path().join("empty.case")).contains("is empty"));
    fs::write(dir.path().join("cut.zip"), b"PK\x03\x04rest").unwrap();
    assert!(error(&dir.path().join("cut.zip")).contains("damaged"));
    recording(&dir.path().join("sub"));
    assert!(error(dir.path()).contains("but holds 1"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_read_costs_that_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    // Reading where no memory is mapped fails, for root as well.
    std::os::unix::fs::symlink("/proc/self/mem", dir.path().join("broken.log")).unwrap();
    assert!(matches!(open(dir.path()).unwrap_err(), OpenError::Io { .. }));
    recording(dir.path());
    let case = open(dir.path()).unwrap();
    assert_eq!((case.scrapes.len(), case.logs.len()), (1, 1));
    assert!(case.notes.len() == 1 && case.notes[0].contains("broken.log"), "{:?}", case.notes);
}

#[test]
fn logs_that_were_rotated_away_are_part_of_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path());
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, b"oldest\n").unwrap();
    fs::write(dir.path().join("server.log.2.gz"), packed.finish().unwrap()).unwrap();
    fs::write(dir.path().join("server.log.1"), "older\n").unwrap();
    fs::write(dir.path().join("server.log.3.zst"), b"\x28\xb5\x2f\xfd\x04\x58\xf1\x00\x00\xff\xfe\xfa")
        .unwrap();
    let found = look_into(dir.path()).unwrap();
    let mut logs: Vec<(&str, &str)> =
        found.case.logs.iter().map(|log| (log.name.as_str(), log.text.as_str())).collect();
    logs.sort_unstable();
    assert_eq!(
        logs,
        [("server.log", "ready\n"), ("server.log.1.log", "older\n"), ("server.log.2.log", "oldest\n")]
    );
    assert!(found.case.notes.iter().any(|note| note.contains("zstd")), "{:?}", found.case.notes);
}

#[test]
fn what_is_no_part_of_a_case_is_told() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path());
    assert_eq!(look_into(dir.path()).unwrap().strays, ["\"truth.json\""]);
}
