use std::collections::BTreeSet;

use super::*;
use crate::exposition::parse;

fn page(text: &str) -> Page {
    read(Millis(1000), &parse(text.as_bytes()))
}

/// A page with the labels of an exporter 4.x: two cards, the second one broken.
const TWO: &str = r#"# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-b",pci_bus_id="00000000:3B:00.0",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="n7",DCGM_FI_DRIVER_VERSION="580.65"} 345
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a",pci_bus_id="00000000:19:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="n7",DCGM_FI_DRIVER_VERSION="580.65"} 1980
DCGM_FI_DEV_GPU_UTIL{gpu="0"} 97
DCGM_FI_DEV_GPU_UTIL{gpu="1"} 0
DCGM_FI_DEV_FB_USED{gpu="0"} 71000
DCGM_FI_DEV_FB_FREE{gpu="0"} 9000
DCGM_FI_DEV_FB_RESERVED{gpu="0"} 559
DCGM_FI_DEV_XID_ERRORS{gpu="0",err_code="0",err_msg="No Error"} 0
DCGM_FI_DEV_XID_ERRORS{gpu="1",err_code="79",err_msg="GPU has fallen off the bus"} 79
DCGM_FI_DEV_ROW_REMAP_FAILURE{gpu="1"} 1
DCGM_FI_DEV_MEMORY_TEMP{gpu="1"} 9223372036854775794
DCGM_FI_DEV_POWER_USAGE{gpu="1"} 140737488355328
DCGM_FI_DEV_POWER_USAGE{gpu="0"} 613.5
"#;

#[test]
fn cards_stand_in_order_with_their_units() {
    let page = page(TWO);
    assert_eq!(page.driver.as_deref(), Some("580.65"));
    let [a, b] = &page.cards[..] else { panic!("{page:#?}") };
    assert_eq!((a.index, a.name.as_deref()), (0, Some("NVIDIA H100 80GB HBM3")));
    assert_eq!((a.uuid.as_deref(), a.sm_clock.now), (Some("GPU-a"), Some(Hertz(1.98e9))));
    assert_eq!((a.util, a.power), (Some(Ratio(0.97)), Some(Watts(613.5))));
    assert_eq!(a.memory, Some(Bytes((71_000.0 + 9_000.0 + 559.0) * 1_048_576.0)));
    assert_eq!((a.last_xid, b.last_xid, b.ecc.remap_failed), (Some(0), Some(79), Some(true)));
    assert_eq!((page.samples[0].at, page.samples[0].util), (Some(Millis(1000)), Some(Ratio(0.97))));
}

#[test]
fn what_dcgm_could_not_tell_is_absent_and_not_enormous() {
    let page = page(TWO);
    assert_eq!((page.cards[1].memory_temperature, page.cards[1].power), (None, None));
}

#[test]
fn the_names_since_4_6_mean_the_same() {
    let old = "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 76\nDCGM_FI_DEV_XID_ERRORS{gpu=\"0\"} 48\n";
    let new = "DCGM_FI_DEV_BOARD_POWER_WATTS{gpu=\"0\"} 76\nDCGM_FI_DEV_XID_ERROR{gpu=\"0\"} 48\n";
    assert_eq!(page(old).cards, page(new).cards);
}

#[test]
fn a_slice_does_not_speak_for_its_card() {
    let text = "DCGM_FI_DEV_FB_USED{gpu=\"0\",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"7\"} 9\n";
    let card = &page(text).cards[0];
    assert_eq!((card.mig, card.memory_used), (Some(true), None));
}

#[test]
fn a_page_of_something_else_has_no_cards() {
    let other = parse(b"vllm:num_requests_running 3\nDCGM_EXP_XID_ERRORS_COUNT{gpu=\"0\"} 1\n");
    assert!(!is_dcgm(&other) && read(Millis(1), &other).cards.is_empty());
}

#[test]
fn every_row_has_a_source_and_no_name_stands_twice() {
    let mut names = BTreeSet::new();
    for row in table::ROWS {
        assert!(!row.source.is_empty() && row.scale > 0.0, "{:?}", row.means);
        for name in row.names.iter().collect::<BTreeSet<_>>() {
            assert!(names.insert(*name), "{name} stands twice");
        }
    }
}
