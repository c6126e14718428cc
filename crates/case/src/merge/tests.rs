//! Cases of one deployment become one case, and servers stay apart.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{HostSnapshot, LogText, Millis, Scrape, ScrapeOutcome, Target, layout};

fn scraped(target: &str, times: &[u64], started: u64) -> Case {
    let page = format!("process_start_time_seconds {started}\nvllm:num_requests_running 1\n");
    let scrape =
        |at: &u64| Scrape { at: Millis(*at), outcome: ScrapeOutcome::Body(page.clone().into_bytes()) };
    Case {
        target: Target { name: target.into() },
        scrapes: times.iter().map(scrape).collect(),
        ..Case::default()
    }
}

fn on_machine(mut case: Case, at: u64, booted: u64) -> Case {
    let files = BTreeMap::from([
        ("proc/stat".into(), format!("cpu 1\nbtime {booted}\n")),
        ("proc/meminfo".into(), "MemTotal: 64 kB\n".into()),
    ]);
    case.host.push(HostSnapshot { at: Millis(at), files });
    case
}

fn merged(parts: Vec<(&str, Case)>) -> Merged {
    merge(parts.into_iter().map(|(name, case)| (name.to_owned(), case)).collect())
}

#[test]
fn two_times_of_one_server_are_one_window() {
    let both = merged(vec![
        ("late", scraped("http://a", &[50, 60], 7)),
        ("early", scraped("http://a", &[10, 20], 7)),
    ]);
    assert_eq!(both.case.scrapes.iter().map(|s| s.at.0).collect::<Vec<_>>(), [10, 20, 50, 60]);
    assert_eq!((both.case.replicas.len(), both.unmerged.len()), (0, 0));
}

#[test]
fn metrics_of_two_replicas_are_kept_apart() {
    let both = merged(vec![
        ("one.case", scraped("http://a", &[10], 7)),
        ("two.case", scraped("http://b", &[10], 8)),
    ]);
    assert_eq!(both.case.scrapes.len(), 1);
    assert_eq!(both.case.replicas[0].name, "two.case");
    assert_eq!(both.case.replicas[0].case.target.name, "http://b");
    assert!(both.unmerged[0].contains("kept apart"), "{:?}", both.unmerged);
}

#[test]
fn two_machines_that_are_both_called_localhost_stay_apart() {
    let local = "http://127.0.0.1:8000";
    let both = merged(vec![("a", scraped(local, &[10, 30], 7)), ("b", scraped(local, &[20, 40], 8))]);
    assert_eq!(both.case.replicas.len(), 1);
    let hosts = merged(vec![
        ("a", on_machine(scraped(local, &[10], 7), 10, 1000)),
        ("b", on_machine(scraped(local, &[90], 7), 90, 5000)),
    ]);
    assert_eq!(hosts.case.replicas.len(), 1);
    assert!(hosts.unmerged[0].contains("another machine"));
}

#[test]
fn a_look_at_the_machine_completes_a_look_at_the_server() {
    let machine =
        on_machine(Case { target: Target { name: "this machine".into() }, ..Case::default() }, 5, 1000);
    let both = merged(vec![("host", machine), ("url", scraped("http://a", &[10], 7))]);
    assert_eq!(both.case.target.name, "http://a");
    assert_eq!((both.case.host.len(), both.case.scrapes.len(), both.case.replicas.len()), (1, 1, 0));
}

/// What is collected of a server that does not answer: its address, and its log.
fn dead(target: &str, log: &str) -> Case {
    Case {
        target: Target { name: target.into() },
        logs: vec![LogText { name: "server.log".into(), text: log.into() }],
        ..Case::default()
    }
}

#[test]
fn a_dead_replica_is_kept_apart_from_one_that_answers() {
    for order in [[0, 1], [1, 0]] {
        let both =
            [("alive", scraped("http://a", &[10, 20], 7)), ("dead", dead("http://b", "out of memory\n"))];
        let both = merged(order.map(|i| both[i].clone()).to_vec());
        assert_eq!((both.case.target.name.as_str(), both.case.logs.len()), ("http://a", 0));
        assert_eq!(both.case.replicas[0].name, "dead");
        assert_eq!(both.case.replicas[0].case.target.name, "http://b");
        let fates = [Fate::First, Fate::Replica("dead".into())];
        assert_eq!(both.fates, order.map(|i| fates[i].clone()));
        assert!(both.unmerged[0].starts_with("dead is kept apart: "), "{:?}", both.unmerged);
    }
}

#[test]
fn two_dead_replicas_are_two_and_one_dead_server_seen_twice_is_one() {
    let two = merged(vec![("a", dead("http://a", "one\n")), ("b", dead("http://b", "two\n"))]);
    assert_eq!(two.case.replicas.len(), 1);
    let one = merged(vec![("a", dead("http://a", "one\n")), ("b", dead("http://a", "two\n"))]);
    assert_eq!((one.case.replicas.len(), one.case.logs.len()), (0, 2));
    assert_eq!(one.fates, [Fate::First, Fate::JoinedTo(0)]);
    // Every machine has a server of its own at this address.
    let local = "http://127.0.0.1:8000";
    let each = merged(vec![("a", dead(local, "one\n")), ("b", dead(local, "two\n"))]);
    assert_eq!(each.case.replicas.len(), 1, "{:?}", each.unmerged);
}

#[test]
fn logs_that_nothing_shows_to_be_one_servers_are_kept_apart() {
    let this = Target::THIS_MACHINE;
    let other = merged(vec![("a", dead(this, "version 0.11.0\n")), ("b", dead(this, "version 0.9.0\n"))]);
    assert_eq!(other.case.replicas[0].case.logs[0].text, "version 0.9.0\n");
    assert!(other.unmerged[0].contains("nothing shows"), "{:?}", other.unmerged);
    let later = merged(vec![("a", dead(this, "one\n")), ("b", dead(this, "one\ntwo\n"))]);
    assert_eq!((later.case.replicas.len(), later.case.logs.len()), (0, 1));
    let here = merged(vec![
        ("a", on_machine(dead(this, "one\n"), 5, 1000)),
        ("b", on_machine(dead(this, "two\n"), 9, 1000)),
    ]);
    assert_eq!((here.case.replicas.len(), here.case.logs.len()), (0, 2));
}

#[test]
fn a_machine_that_could_be_either_servers_belongs_to_neither() {
    let machine = on_machine(Case { target: Target::this_machine(), ..Case::default() }, 5, 1000);
    let (a, b) = (scraped("http://a", &[10], 7), scraped("http://b", &[10], 8));
    let all = merged(vec![("host", machine.clone()), ("a", a.clone()), ("b", b.clone())]);
    assert_eq!((all.case.replicas.len(), all.case.host.len()), (2, 0));
    assert_eq!(all.fates[0], Fate::Replica("host".into()));
    // Where one of them was seen on it, it is that one's.
    let all = merged(vec![("host", machine), ("a", a), ("b", on_machine(b, 12, 1000))]);
    assert_eq!((all.case.target.name.as_str(), all.case.replicas[0].case.host.len()), ("http://a", 2));
    assert_eq!(all.fates, [Fate::JoinedTo(2), Fate::First, Fate::Replica("b".into())]);
}

#[test]
fn a_log_taken_again_is_one_log_and_another_log_is_another() {
    let with_log = |at: u64, text: &str| {
        let mut case = scraped("http://a", &[at], 7);
        case.logs.push(LogText { name: "server.log".into(), text: text.into() });
        case
    };
    let both = merged(vec![
        ("a", with_log(1, "one\n")),
        ("b", with_log(2, "one\ntwo\n")),
        ("c", with_log(3, "other\n")),
    ]);
    let logs: Vec<(&str, &str)> = both.case.logs.iter().map(|l| (l.name.as_str(), l.text.as_str())).collect();
    assert_eq!(logs, [("server.log", "one\ntwo\n"), ("server-2.log", "other\n")]);
}

#[test]
fn what_differs_is_said_and_the_later_one_kept() {
    let (mut a, mut b) = (scraped("http://a", &[1], 7), scraped("http://a", &[2], 7));
    a.command_line = Some("vllm serve m".into());
    b.command_line = Some("vllm serve m --max-num-seqs 4".into());
    a.endpoints.insert("/version".into(), "1".into());
    b.endpoints.insert("/version".into(), "2".into());
    let both = merged(vec![("a", a), ("b", b)]);
    assert_eq!(both.case.command_line.as_deref(), Some("vllm serve m --max-num-seqs 4"));
    assert_eq!(both.case.endpoints["/version"], "2");
    assert_eq!(both.unmerged.len(), 2, "{:?}", both.unmerged);
}

proptest! {
    /// Whatever is merged, every scrape is somewhere, and merging what was merged changes nothing more.
    #[test]
    fn nothing_is_lost(parts in prop::collection::vec((0u64..3, 0u64..50, 1usize..4), 1..6)) {
        let cases: Vec<(String, Case)> = parts
            .iter()
            .enumerate()
            .map(|(i, (server, start, count))| {
                let times: Vec<u64> = (0..*count as u64).map(|n| start * 10 + n).collect();
                (format!("part{i}"), scraped(&format!("http://{server}"), &times, 100 + server))
            })
            .collect();
        let count = |case: &Case| layout::files(case).iter().filter(|(name, _)| name.contains("metrics/")).count();
        let mut wanted: Vec<(u64, u64)> = Vec::new();
        for (server, start, n) in &parts {
            wanted.extend((0..*n as u64).map(|i| (*server, start * 10 + i)));
        }
        wanted.sort_unstable();
        wanted.dedup();
        let once = merge(cases);
        prop_assert_eq!(count(&once.case), wanted.len());
        let twice = merge(vec![("again".into(), once.case.clone())]);
        prop_assert_eq!(count(&twice.case), wanted.len());
    }
}

#[test]
fn no_file_of_either_case_is_lost() {
    let names = [
        "metrics/10.txt",
        "endpoints/v1__models.json",
        "server.log",
        "cmdline.txt",
        "dmon.txt",
        "smi_q.txt",
        "smi_q_before.txt",
        "smi.csv",
        "amd_static.json",
        "amd_metric.json",
        "amd_metric_before.json",
        "dcgm/10.txt",
        "gpu.json",
        "manifests/5/vllm.service",
        "host/10/proc/stat",
        "model/config.json",
        "path.json",
        "client.jsonl",
    ];
    let content = |name: &str| match name {
        "gpu.json" => r#"{"source":"NVML 13","cards":[]}"#,
        "path.json" => r#"[{"url":"http://x","route":"via","resolved":{"a":1,"aaaa":0,"took":0.25}}]"#,
        "client.jsonl" => "{\"sent\":5,\"ok\":true}\n",
        "model/config.json" => "{}",
        _ => "process_start_time_seconds 7\n",
    };
    for name in names {
        let mut with = scraped("http://a", &[50], 7);
        assert!(layout::add(&mut with, name, content(name).into()), "{name}");
        for parts in [
            vec![("with", with.clone()), ("bare", scraped("http://a", &[70], 7))],
            vec![("bare", scraped("http://a", &[1], 7)), ("with", with)],
        ] {
            let files = layout::files(&merged(parts).case);
            assert!(files.iter().any(|(kept, _)| kept == name), "{name} is not among the files");
        }
    }
}
