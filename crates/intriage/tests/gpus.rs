//! GPUs that NVML does not show: tools on the path, saved texts, exporters.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::{code, intriage, json, root, stderr, stdout};

fn h200(state: &str) -> PathBuf {
    root().join("crates/engines/tests/h200").join(state).join("smi_q.txt")
}

/// A tool before all others on the path.
fn with_tool(folder: &Path, name: &str, script: &str, args: &[&str]) -> Output {
    let tool = folder.join(name);
    std::fs::write(&tool, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(args)
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .unwrap()
}

fn has_nvml() -> bool {
    intriage_observe::gpu::survey().is_ok()
}

#[test]
fn nvidia_smi_speaks_where_its_library_cannot_be_had() {
    if has_nvml() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "case \"$1\" in -q) cat {} ;; *) echo 'index, utilization.gpu [%], clocks.current.sm [MHz]'; while :; do echo '0, 0, 345'; sleep 0.2; done ;; esac",
        h200("idle").display()
    );
    let output = with_tool(
        folder.path(),
        "nvidia-smi",
        &script,
        &["host", "--window", "1s", "--format", "json", "--save", "m.case"],
    );
    let health = json(&output);
    assert_eq!(health["gpus"]["source"], "nvidia-smi -q", "{}", stderr(&output));
    assert_eq!(health["gpus"]["cards"][0]["name"], "NVIDIA H200");
    let checks = health["checks"].as_array().unwrap();
    let alarms: Vec<_> = checks
        .iter()
        .filter(|c| c["part"].as_str().unwrap().starts_with("GPU"))
        .filter(|c| c["state"] == "bad" || c["state"] == "attention")
        .collect();
    assert!(alarms.is_empty(), "an idle card: {alarms:?}");
    let case = intriage_observe::open(&folder.path().join("m.case"))
        .unwrap_or_else(|why| panic!("{why}: {}", stderr(&output)));
    assert!(case.gpu.smi_q.is_some() && case.gpu.smi_q_before.is_some() && case.gpu.smi_csv.is_some());
}

#[test]
fn a_tool_that_hangs_does_not_hold_the_rest_up() {
    if has_nvml() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = with_tool(
        folder.path(),
        "nvidia-smi",
        "sleep 600",
        &["host", "--window", "100ms", "--format", "json"],
    );
    let missing = json(&output)["missing"].to_string();
    assert!(missing.contains("nvidia-smi: it did not end within"), "{missing}");
}

#[test]
fn what_a_tool_said_elsewhere_can_be_given() {
    let file = h200("busy");
    let output =
        intriage(&["host", "--window", "100ms", "--format", "json", "--gpu-file", file.to_str().unwrap()]);
    assert_eq!(json(&output)["gpus"]["source"], "nvidia-smi -q", "{}", stderr(&output));
    let log = root().join("README.md");
    let refused = intriage(&["host", "--gpu-file", log.to_str().unwrap()]);
    assert_eq!(code(&refused), 4, "{}", stderr(&refused));
    assert!(stderr(&refused).contains("no output known here"), "{}", stderr(&refused));
}

#[test]
fn an_exporter_is_asked_by_its_url_and_never_for_the_servers_token() {
    let page = "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node-7.corp.example\"} 79\n";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let (asked, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut buffer = [0; 4096];
            let read = connection.read(&mut buffer).unwrap_or(0);
            let _ = asked.send(String::from_utf8_lossy(&buffer[..read]).into_owned());
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", page.len());
            let _ = connection.write_all(format!("{head}{page}").as_bytes());
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let save = folder.path().join("gpus.case");
    let args = [
        "collect",
        "--dcgm",
        &url,
        "--window",
        "200ms",
        "--header",
        "Authorization: Bearer sesame-open-12345",
        "--save",
    ];
    let output = intriage(&[&args[..], &[save.to_str().unwrap()]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("dcgm"), "{}", stdout(&output));
    let request = requests.recv().unwrap();
    assert!(request.starts_with("GET /metrics ") && !request.contains("sesame"), "{request}");
    let case = intriage_observe::open(&save).unwrap();
    let kept = String::from_utf8_lossy(case.gpu.dcgm[0].body().unwrap()).into_owned();
    assert!(kept.contains("} 79") && !kept.contains("corp.example"), "{kept}");
}
