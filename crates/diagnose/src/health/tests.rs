//! An idle card raises no alarm whoever tells of it, and a broken one does.

use intriage_case::{Case, HostSnapshot, Millis, Scrape, ScrapeOutcome};

use super::*;

fn judged(case: &Case) -> Health {
    health(case, &Thresholds::default())
}

/// The checks that say more than "good" or "not told".
fn alarms(case: &Case) -> Vec<(&'static str, String)> {
    let all = judged(case).checks.into_iter();
    all.filter(|c| c.part.starts_with("GPU") && c.state > State::Unknown).map(|c| (c.name, c.says)).collect()
}

fn h200(state: &str) -> String {
    let path = format!("{}/../engines/tests/h200/{state}/smi_q.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn smi(state: &str, sample: &str) -> Case {
    let mut case = Case::default();
    (case.gpu.smi_q_before, case.gpu.smi_q) = (Some(h200(state)), Some(h200(state)));
    let header = "index, utilization.gpu [%], power.draw [W], clocks.current.sm [MHz], clocks_event_reasons.active, pcie.link.gen.current, pcie.link.width.current\n";
    case.gpu.smi_csv = Some(format!("{header}{}", sample.repeat(6)));
    case
}

fn dcgm(lines: &str) -> Case {
    let page =
        lines.replace("{}", r#"{gpu="0",UUID="GPU-a",modelName="NVIDIA H100 80GB HBM3",Hostname="n"}"#);
    let mut case = Case::default();
    case.gpu.dcgm = (1..6)
        .map(|at| Scrape { at: Millis(at * 1000), outcome: ScrapeOutcome::Body(page.clone().into_bytes()) })
        .collect();
    case
}

fn amdgpu(busy: u32, clock: u32, link: &str, power: u32, errors: u32) -> Case {
    let device = "sys/class/drm/card1/device";
    let files = [
        ("vendor", "0x1002".to_owned()),
        ("product_name", "AMD Instinct MI300X OAM".to_owned()),
        ("gpu_busy_percent", busy.to_string()),
        ("mem_info_vram_total", "206141652992".to_owned()),
        ("mem_info_vram_used", "297766912".to_owned()),
        ("pp_dpm_sclk", format!("0: {clock}Mhz *\n1: 2100Mhz\n")),
        ("current_link_speed", format!("{link} GT/s PCIe")),
        ("max_link_speed", "32.0 GT/s PCIe".to_owned()),
        ("current_link_width", "16".to_owned()),
        ("max_link_width", "16".to_owned()),
        ("hwmon/hwmon4/temp2_label", "junction".to_owned()),
        ("hwmon/hwmon4/temp2_input", "41000".to_owned()),
        ("hwmon/hwmon4/temp2_crit", "100000".to_owned()),
        ("hwmon/hwmon4/power1_average", format!("{power}000000")),
        ("hwmon/hwmon4/power1_cap", "750000000".to_owned()),
        ("ras/umc_err_count", format!("ue: {errors}\nce: 0\n")),
    ];
    let files: std::collections::BTreeMap<_, _> =
        files.into_iter().map(|(name, text)| (format!("{device}/{name}"), text)).collect();
    let at = |at| HostSnapshot { at: Millis(at), files: files.clone() };
    Case { host: (1..6).map(|i| at(i * 1000)).collect(), ..Case::default() }
}

const AMD_SMI_IDLE: &str = r#"[{"gpu": 0, "usage": {"gfx_activity": {"value": 1, "unit": "%"}},
  "power": {"socket_power": {"value": 6, "unit": "W"}, "throttle_status": "UNTHROTTLED"},
  "clock": {"gfx_0": {"clk": {"value": 800, "unit": "MHz"}, "max_clk": {"value": 2750, "unit": "MHz"}}},
  "temperature": {"edge": {"value": 36, "unit": "C"}, "hotspot": {"value": 37, "unit": "C"}},
  "pcie": {"width": 8, "speed": {"value": 16, "unit": "GT/s"}, "replay_count": "N/A"},
  "ecc": {"total_correctable_count": 0, "total_uncorrectable_count": 0},
  "mem_usage": {"total_vram": {"value": 8176, "unit": "MB"}, "used_vram": {"value": 202, "unit": "MB"}}}]"#;

#[test]
fn an_idle_card_raises_no_alarm_whoever_tells_of_it() {
    let mut amd_smi = Case::default();
    amd_smi.gpu.amd_metric = Some(AMD_SMI_IDLE.into());
    amd_smi.gpu.amd_static = Some(
        r#"[{"gpu": 0, "asic": {"market_name": "Navi 23 [Radeon RX 6600]"}, "bus": {"max_pcie_width": 16,
        "max_pcie_speed": {"value": 16, "unit": "GT/s"}}, "limit": {"socket_power": {"value": 100, "unit": "W"}}}]"#
            .into(),
    );
    for (source, case) in [
        ("nvidia-smi", smi("idle", "0, 0, 76.1, 345, 0x0000000000000001, 1, 16\n")),
        (
            "an exporter's default counters",
            dcgm(
                "DCGM_FI_DEV_GPU_UTIL{} 0\nDCGM_FI_DEV_SM_CLOCK{} 345\nDCGM_FI_DEV_POWER_USAGE{} 70\nDCGM_FI_DEV_XID_ERRORS{} 0\nDCGM_FI_DEV_ROW_REMAP_FAILURE{} 0\nDCGM_FI_DEV_GPU_TEMP{} 31\n",
            ),
        ),
        (
            "an exporter's other counters",
            dcgm(
                "DCGM_FI_DEV_GPU_UTIL{} 0\nDCGM_FI_DEV_SM_CLOCK{} 345\nDCGM_FI_DEV_MAX_SM_CLOCK{} 1980\nDCGM_FI_DEV_CLOCK_THROTTLE_REASONS{} 1\nDCGM_FI_DEV_PCIE_LINK_GEN{} 1\nDCGM_FI_DEV_PCIE_MAX_LINK_GEN{} 5\nDCGM_FI_DEV_PCIE_LINK_WIDTH{} 16\nDCGM_FI_DEV_PCIE_MAX_LINK_WIDTH{} 16\nDCGM_FI_DEV_ECC_DBE_VOL_TOTAL{} 0\n",
            ),
        ),
        ("amdgpu", amdgpu(1, 132, "2.5", 138, 0)),
        ("amd-smi", amd_smi),
    ] {
        assert!(judged(&case).gpus.is_some(), "{source} tells of a card");
        assert_eq!(alarms(&case), [], "{source}");
    }
}

#[test]
fn a_busy_card_at_its_power_limit_is_as_it_should_be() {
    assert_eq!(alarms(&smi("busy", "0, 100, 690.0, 1485, 0x0000000000000004, 5, 16\n")), []);
    assert_eq!(alarms(&amdgpu(98, 1340, "32.0", 745, 0)), [], "no reason is given, and the power tells");
}

#[test]
fn what_is_broken_is_told_of_any_vendors_card() {
    let names = |case: &Case| alarms(case).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    // Slow under load with power to spare, on a link that stayed at generation 3, with errors.
    assert_eq!(names(&amdgpu(98, 900, "8.0", 300, 2)), ["clocks", "pcie", "errors"]);
    assert_eq!(
        names(&dcgm("DCGM_FI_DEV_XID_ERRORS{} 79\nDCGM_FI_DEV_ROW_REMAP_FAILURE{} 1\n")),
        ["errors", "xid"]
    );
    let told = judged(&dcgm("DCGM_FI_DEV_XID_ERRORS{} 79\n"));
    assert!(told.checks.iter().any(|c| c.state == State::Bad && c.says.contains("fell off the bus")));
}

#[test]
fn an_amd_card_is_not_asked_for_nvlinks() {
    let told = judged(&amdgpu(0, 132, "2.5", 138, 0));
    assert!(told.checks.iter().all(|c| c.name != "nvlink" && c.name != "modes"), "{told:#?}");
    let remedies: Vec<_> = told.checks.iter().filter_map(|c| c.remedy.as_deref()).collect();
    assert!(remedies.iter().all(|r| !r.contains("nvidia-smi")), "{remedies:?}");
}

#[test]
fn a_quiet_network_and_one_nobody_looked_at_are_told_apart() {
    let look = |at: u64, segments: Option<u32>| {
        let counters = segments.map(|n| {
            (
                "proc/net/snmp".to_owned(),
                format!("Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 {n} {}\n", n / 100),
            )
        });
        let uptime = ("proc/uptime".to_owned(), "100.0 50.0\n".to_owned());
        HostSnapshot { at: Millis(at), files: counters.into_iter().chain([uptime]).collect() }
    };
    let network = |first, last| {
        let case = Case { host: vec![look(1000, first), look(11_000, last)], ..Case::default() };
        let check = judged(&case).checks.into_iter().find(|c| c.name == "network").unwrap();
        (check.state, check.says, check.remedy.unwrap_or_default())
    };
    assert_eq!(network(Some(1000), Some(2000)).1, "1 % of TCP segments sent again");
    let (state, says, remedy) = network(Some(1000), Some(1000));
    assert_eq!((state, says.as_str()), (State::Unknown, "no TCP segment was sent while it was looked at"));
    assert!(remedy.contains("under load"), "{remedy}");
    for (first, last) in [(None, None), (None, Some(1000))] {
        let (state, says, remedy) = network(first, last);
        assert!(state == State::Unknown && says.contains("/proc/net/snmp"), "{says}");
        assert!(remedy.contains("--window"), "{remedy}");
    }
}

#[test]
fn a_busy_card_on_a_slow_link_and_one_that_wants_a_reset_are_told_after_one_look() {
    let looked = |changes: &[(&str, &str, &str)]| {
        let mut text = h200("idle");
        for (key, before, after) in changes {
            let is_it =
                |line: &&str| line.split_once(" : ").is_some_and(|(k, v)| k.trim() == *key && v == *before);
            let line = text.lines().find(is_it).expect("the line is there").to_owned();
            text = text.replacen(&line, &line.replace(&format!(" : {before}"), &format!(" : {after}")), 1);
        }
        let mut case = Case::default();
        case.gpu.smi_q = Some(text);
        alarms(&case)
    };
    assert_eq!(looked(&[]), []);
    let slow = looked(&[("Current", "5", "1"), ("GPU", "0 %", "98 %")]);
    assert!(
        slow.iter().any(|(name, says)| *name == "pcie" && says.contains("generation 1 of 5")),
        "{slow:?}"
    );
    assert_eq!(looked(&[("Current", "5", "1")]), [], "an idle link saves power");
    let reset = looked(&[("GPU Recovery Action", "None", "Reset"), ("Pending", "No", "Yes")]);
    assert!(reset.len() == 1 && reset[0].1.ends_with("Reset"), "{reset:?}");
    let worn = looked(&[("SRAM Threshold Exceeded", "No", "Yes")]);
    assert!(worn.len() == 1 && worn[0].1.contains("chip's own memory"), "{worn:?}");
}
