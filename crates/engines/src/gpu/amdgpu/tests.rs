use intriage_case::Millis;

use super::*;

fn snapshot(at: u64, files: &[(&str, &str)]) -> HostSnapshot {
    let files = files.iter().map(|(n, t)| (format!("sys/class/drm/{n}"), (*t).to_owned())).collect();
    HostSnapshot { at: Millis(at), files }
}

fn idle_then_busy() -> Vec<HostSnapshot> {
    let first = snapshot(
        1000,
        &[
            ("card0/device/vendor", "0x1a03\n"),
            ("card1/device/vendor", "0x1002\n"),
            ("card1/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:0b:00.0\n"),
            ("card1/device/unique_id", "a1b2c3\n"),
            ("card1/device/mem_info_vram_total", "206141652992\n"),
            ("card1/device/max_link_speed", "32.0 GT/s PCIe\n"),
            ("card1/device/max_link_width", "16\n"),
            ("card1/device/current_link_speed", "2.5 GT/s PCIe\n"),
            ("card1/device/current_link_width", "16\n"),
            ("card1/device/gpu_busy_percent", "0\n"),
            ("card1/device/pp_dpm_sclk", "0: 132Mhz *\n1: 2100Mhz\n"),
            ("card1/device/hwmon/hwmon4/temp1_label", "edge\n"),
            ("card1/device/hwmon/hwmon4/temp1_input", "36000\n"),
            ("card1/device/hwmon/hwmon4/temp2_label", "junction\n"),
            ("card1/device/hwmon/hwmon4/temp2_input", "37000\n"),
            ("card1/device/hwmon/hwmon4/temp2_crit", "100000\n"),
            ("card1/device/hwmon/hwmon4/power1_cap", "750000000\n"),
            ("card1/device/ras/umc_err_count", "ue: 0\nce: 0\n"),
        ],
    );
    let second = snapshot(
        2000,
        &[
            ("card1/device/gpu_busy_percent", "98\n"),
            ("card1/device/current_link_speed", "32.0 GT/s PCIe\n"),
            ("card1/device/pp_dpm_sclk", "0: 132Mhz\n1: 1902Mhz *\n2: 2100Mhz\n"),
            ("card1/device/hwmon/hwmon4/temp2_input", "71000\n"),
            ("card1/device/hwmon/hwmon4/power1_average", "703000000\n"),
            ("card1/device/ras/umc_err_count", "ue: 2\nce: 5\n"),
            ("card1/device/ras/gfx_err_count", "ue: 1\nce: 0\n"),
        ],
    );
    vec![first, second]
}

#[test]
fn a_card_is_found_among_others_and_read_with_its_units() {
    let read = read(&idle_then_busy());
    let ([card], [before]) = (&read.cards[..], &read.before[..]) else { panic!("{read:#?}") };
    assert_eq!((card.vendor, card.pci.as_deref()), (Some(GpuVendor::Amd), Some("0000:0b:00.0")));
    assert_eq!(card.sm_clock.both(), Some((Hertz(1.902e9), Hertz(2.1e9))));
    assert_eq!((card.pcie_generation.both(), before.pcie_generation.both()), (Some((5, 5)), Some((1, 5))));
    // The junction is what holds a card back, not the edge.
    assert_eq!((card.temperature, card.slowdown_at), (Some(Celsius(71.0)), Some(Celsius(100.0))));
    assert_eq!((card.power, card.power_limits.enforced), (Some(Watts(703.0)), Some(Watts(750.0))));
    assert_eq!((before.ecc.volatile_uncorrected, card.ecc.volatile_uncorrected), (Some(0), Some(3)));
    assert_eq!(card.ecc.volatile_corrected, Some(5));
}

#[test]
fn each_snapshot_is_a_sample() {
    let read = read(&idle_then_busy());
    let utils: Vec<_> = read.samples.iter().map(|s| (s.at, s.util)).collect();
    assert_eq!(utils, [(Some(Millis(1000)), Some(Ratio(0.0))), (Some(Millis(2000)), Some(Ratio(0.98)))]);
    // Sensors are named in the first snapshot alone.
    assert_eq!(read.samples[1].temperature, Some(Celsius(71.0)));
}

#[test]
fn a_machine_without_one_has_none() {
    assert!(read(&[snapshot(1, &[("card0/device/vendor", "0x10de\n")])]).cards.is_empty());
    assert!(read(&[]).cards.is_empty());
}

#[test]
fn speeds_are_generations() {
    assert_eq!([2.5, 8.0, 16.0, 32.0, 7.0].map(generation), [Some(1), Some(3), Some(4), Some(5), None]);
}
