//! What the tools of an idle H200 print raises no alarm, neither of the machine nor of a server on it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use intriage_case::{Case, layout};
use intriage_diagnose::{State, Status, Thresholds, diagnose, health};

#[test]
fn an_idle_card_is_no_fault_in_any_form_its_tools_print() {
    for (file, name) in [
        ("query.csv", "smi.csv"),
        ("query_old.csv", "smi.csv"),
        ("dmon_d.txt", "dmon.txt"),
        ("dmon_dt.txt", "dmon.txt"),
        ("dmon_t.txt", "dmon.txt"),
        ("q.txt", "smi_q.txt"),
    ] {
        let path = format!("{}/../engines/tests/h200/tools/{file}", env!("CARGO_MANIFEST_DIR"));
        let mut case = Case::default();
        assert!(layout::add(&mut case, name, std::fs::read(path).unwrap()));
        let thresholds = Thresholds::default();
        let alarms: Vec<String> = health(&case, &thresholds)
            .checks
            .into_iter()
            .filter(|check| matches!(check.state, State::Bad | State::Attention))
            .map(|check| check.says)
            .collect();
        assert_eq!(alarms, Vec::<String>::new(), "{file}");
        let diagnosis = diagnose(&case, &thresholds);
        assert!(diagnosis.verdict.status != Status::Finding, "{file}: {:#?}", diagnosis.findings);
    }
}
