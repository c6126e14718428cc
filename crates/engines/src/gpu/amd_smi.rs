//! `amd-smi static --json` and `amd-smi metric --json`.
//!
//! The shape changed from release to release: a list of GPUs (ROCm 6), later one under `gpu_data` (ROCm 7); a value as a
//! bare number, a number with its unit, or `"N/A"`; some releases print warnings before the JSON. Keys seen: a recording
//! of ROCm 6.4 on a Radeon RX 6600 (static, metric), the ROCm device-metrics exporter's test notes (`gpu_data`).

use intriage_case::gpu::{ClockReasons, GpuCard, GpuVendor, NowAndMost};
use intriage_case::{Bytes, Celsius, Hertz, Ratio, Watts};
use serde_json::Value;

use super::amdgpu::generation;

/// What one text tells: cards in order of their number, and the driver's version.
pub(super) fn read(text: &str) -> (Vec<GpuCard>, Option<String>) {
    let Some(json) = json(text) else { return (Vec::new(), None) };
    let list = match &json {
        Value::Array(list) => list,
        Value::Object(object) => match object.get("gpu_data") {
            Some(Value::Array(list)) => list,
            _ => std::slice::from_ref(&json),
        },
        _ => return (Vec::new(), None),
    };
    let mut cards: Vec<GpuCard> = list.iter().filter_map(card).collect();
    cards.sort_by_key(|card| card.index);
    cards.dedup_by_key(|card| card.index);
    let driver = list.iter().find_map(|gpu| word(gpu.pointer("/driver/version")));
    (cards, driver)
}

/// Whether a text is amd-smi's: JSON, with a GPU in it.
pub(super) fn is_amd_smi(text: &str) -> bool {
    !read(text).0.is_empty()
}

/// Warnings stand before the JSON, not in it.
fn json(text: &str) -> Option<Value> {
    let starts = [text.find("\n{"), text.find("\n["), text.find(['{', '[']).filter(|at| *at == 0)];
    let start = starts.into_iter().flatten().min()?;
    serde_json::Deserializer::from_str(&text[start..]).into_iter().next()?.ok()
}

fn card(gpu: &Value) -> Option<GpuCard> {
    let index = gpu.get("gpu").and_then(number)? as u32;
    let at = |path: &str| gpu.pointer(path);
    let read = |paths: &[&str]| paths.iter().find_map(|path| at(path).and_then(number));
    let clock = |domain: &str| NowAndMost {
        now: read(&[&format!("/clock/{domain}/clk")]).map(megahertz),
        most: read(&[&format!("/clock/{domain}/max_clk")]).map(megahertz),
    };
    let mut card = GpuCard {
        index,
        vendor: Some(GpuVendor::Amd),
        name: ["/asic/market_name", "/board/product_name"].iter().find_map(|path| word(at(path))),
        uuid: ["/asic/asic_serial", "/uuid"].iter().find_map(|path| word(at(path))),
        pci: ["/bus/bdf", "/bdf"].iter().find_map(|path| word(at(path))),
        numa_node: read(&["/numa/node"]).map(|n| n as u32),
        memory: read(&["/mem_usage/total_vram", "/vram/size"]).map(mebibytes),
        memory_used: read(&["/mem_usage/used_vram"]).map(mebibytes),
        util: read(&["/usage/gfx_activity"]).map(|percent| Ratio(percent / 100.0)),
        sm_clock: clock("gfx_0"),
        memory_clock: clock("mem_0"),
        reasons: at("/power/throttle_status").and_then(throttled),
        power: read(&["/power/socket_power", "/power/current_socket_power", "/power/average_socket_power"])
            .map(Watts),
        // The hottest spot is what the card is held back for; the edge is cooler.
        temperature: read(&["/temperature/hotspot", "/temperature/edge"]).map(Celsius),
        memory_temperature: read(&["/temperature/mem"]).map(Celsius),
        slowdown_at: read(&["/limit/slowdown_hotspot_temperature", "/limit/slowdown_edge_temperature"])
            .map(Celsius),
        memory_slowdown_at: read(&["/limit/slowdown_vram_temperature"]).map(Celsius),
        pcie_generation: NowAndMost {
            now: read(&["/pcie/speed"]).and_then(generation),
            most: read(&["/bus/max_pcie_speed"]).and_then(generation),
        },
        pcie_width: NowAndMost {
            now: read(&["/pcie/width"]).map(|n| n as u32),
            most: read(&["/bus/max_pcie_width"]).map(|n| n as u32),
        },
        pcie_replays: read(&["/pcie/replay_count"]).map(|n| n as u64),
        ..GpuCard::default()
    };
    // `socket_power` among the limits is the one in force, `max_power` the most that can be set.
    card.power_limits.enforced = read(&["/limit/socket_power", "/limit/power_cap"]).map(Watts);
    card.power_limits.most = read(&["/limit/max_power", "/limit/max_power_limit"]).map(Watts);
    card.power_limits.least = read(&["/limit/min_power", "/limit/min_power_limit"]).map(Watts);
    card.ecc.volatile_corrected = read(&["/ecc/total_correctable_count"]).map(|n| n as u64);
    card.ecc.volatile_uncorrected = read(&["/ecc/total_uncorrectable_count"]).map(|n| n as u64);
    Some(card)
}

/// A bare number, or one with its unit beside it; `"N/A"` is none.
fn number(value: &Value) -> Option<f64> {
    let value = value.get("value").unwrap_or(value);
    let number = value.as_f64().or_else(|| value.as_str()?.split_whitespace().next()?.parse().ok());
    // Sensors that are not there have the end of their type in some releases: 65535, 2^32 - 1.
    number.filter(|n| n.is_finite() && *n >= 0.0 && ![65_535.0, 4_294_967_295.0].contains(n) && *n < 1e18)
}

fn word(value: Option<&Value>) -> Option<String> {
    value?.as_str().map(str::trim).filter(|word| !matches!(*word, "" | "N/A")).map(str::to_owned)
}

/// That nothing holds the clocks is told; that something does is told without what, which is no reason.
fn throttled(value: &Value) -> Option<ClockReasons> {
    match value.as_str()? {
        "UNTHROTTLED" => Some(ClockReasons(0)),
        _ => None,
    }
}

fn megahertz(mhz: f64) -> Hertz {
    Hertz(mhz * 1e6)
}

/// `MB` is what it prints and 2^20 bytes what it means.
fn mebibytes(megabytes: f64) -> Bytes {
    Bytes(megabytes * 1_048_576.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As ROCm 6 prints it, with a warning before.
    const METRIC: &str = r#"WARNING: User is missing the following required groups: render.
[{"gpu": 1, "usage": {"gfx_activity": {"value": 96, "unit": "%"}, "umc_activity": "N/A"},
  "power": {"socket_power": {"value": 742, "unit": "W"}, "throttle_status": "THROTTLED"},
  "clock": {"gfx_0": {"clk": {"value": 1340, "unit": "MHz"}, "max_clk": {"value": 2100, "unit": "MHz"}},
            "gfx_1": {"clk": "N/A", "max_clk": "N/A"}},
  "temperature": {"edge": "N/A", "hotspot": {"value": 81, "unit": "C"}, "mem": {"value": 65535, "unit": "C"}},
  "pcie": {"width": 16, "speed": {"value": 32, "unit": "GT/s"}, "replay_count": 3},
  "ecc": {"total_correctable_count": 4, "total_uncorrectable_count": 1},
  "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 170000, "unit": "MB"}}},
 {"gpu": 0, "power": {"throttle_status": "UNTHROTTLED"}}]"#;

    #[test]
    fn a_metric_is_read_past_a_warning_and_in_order() {
        let (cards, driver) = read(METRIC);
        assert_eq!((cards.len(), cards[0].index, driver), (2, 0, None));
        let busy = &cards[1];
        assert_eq!((busy.vendor, busy.util), (Some(GpuVendor::Amd), Some(Ratio(0.96))));
        assert_eq!(busy.sm_clock.both(), Some((Hertz(1.34e9), Hertz(2.1e9))));
        assert_eq!((busy.temperature, busy.memory_temperature), (Some(Celsius(81.0)), None));
        assert_eq!((busy.pcie_generation.now, busy.pcie_width.now), (Some(5), Some(16)));
        assert_eq!((busy.ecc.volatile_uncorrected, busy.pcie_replays), (Some(1), Some(3)));
        assert_eq!(busy.memory, Some(Bytes(196_592.0 * 1_048_576.0)));
    }

    #[test]
    fn what_stands_is_read_from_either_shape() {
        let gpu = r#"{"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X", "asic_serial": "0x1234"},
          "bus": {"bdf": "0000:0b:00.0", "max_pcie_width": 16, "max_pcie_speed": {"value": 32, "unit": "GT/s"}},
          "limit": {"max_power": {"value": 750, "unit": "W"}, "socket_power": {"value": 750, "unit": "W"},
                    "slowdown_hotspot_temperature": {"value": 100, "unit": "C"}},
          "driver": {"name": "amdgpu", "version": "6.12.12"}, "numa": {"node": 1, "affinity": -1},
          "vram": {"size": {"value": 196592, "unit": "MB"}}}"#;
        let (listed, driver) = read(&format!("[{gpu}]"));
        let (wrapped, _) = read(&format!("{{\"gpu_data\": [{gpu}]}}"));
        assert_eq!((&listed, driver.as_deref()), (&wrapped, Some("6.12.12")));
        let card = &listed[0];
        assert_eq!((card.name.as_deref(), card.numa_node), (Some("AMD Instinct MI300X"), Some(1)));
        assert_eq!(
            (card.power_limits.enforced, card.slowdown_at),
            (Some(Watts(750.0)), Some(Celsius(100.0)))
        );
        assert_eq!(card.pcie_generation, NowAndMost { now: None, most: Some(5) });
    }

    #[test]
    fn other_json_is_not_taken_for_a_card() {
        for text in ["", "[]", "{}", "[1,2]", "{\"gpu_data\": 7}", "{\"gpu\": \"N/A\"}", "[{\"gpu\":", "null"]
        {
            assert!(!is_amd_smi(text), "{text}");
        }
    }
}
