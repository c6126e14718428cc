//! Which tool printed a text that somebody saved.

use super::{amd_smi, dcgm, dmon};
use crate::exposition;

/// What a saved text of a GPU tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuText {
    /// `nvidia-smi -q`.
    SmiQ,
    /// `nvidia-smi dmon`.
    Dmon,
    /// `nvidia-smi --query-gpu=… --format=csv`.
    SmiCsv,
    /// `amd-smi static --json`: what stands.
    AmdStatic,
    /// `amd-smi metric --json`: what moves.
    AmdMetric,
    /// A page of a DCGM exporter.
    Dcgm,
}

impl GpuText {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::SmiQ => "nvidia-smi -q",
            Self::Dmon => "nvidia-smi dmon",
            Self::SmiCsv => "nvidia-smi --query-gpu",
            Self::AmdStatic => "amd-smi static --json",
            Self::AmdMetric => "amd-smi metric --json",
            Self::Dcgm => "a DCGM exporter's page",
        }
    }
}

/// The tool that printed a text; `None` where it is no such text.
pub fn recognise_gpu_text(text: &str) -> Option<GpuText> {
    if amd_smi::is_amd_smi(text) {
        // The two differ in their sections; where both are in one, it moves.
        let moves = ["\"usage\"", "\"mem_usage\"", "\"ecc\""].iter().any(|section| text.contains(section));
        return Some(if moves { GpuText::AmdMetric } else { GpuText::AmdStatic });
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MOST_LINES);
    if text.contains("NVSMI LOG") || lines.clone().any(|line| is_key(line, "Product Name")) {
        return Some(GpuText::SmiQ);
    }
    if lines.clone().any(|line| line.strip_prefix('#').is_some_and(dmon::is_header)) {
        return Some(GpuText::Dmon);
    }
    if lines.any(|line| line.split(',').any(|cell| cell.trim() == "index")) {
        return Some(GpuText::SmiCsv);
    }
    dcgm::is_dcgm(&exposition::parse(text.as_bytes())).then_some(GpuText::Dcgm)
}

/// Headers stand near the beginning.
const MOST_LINES: usize = 200;

fn is_key(line: &str, key: &str) -> bool {
    line.split_once(" : ").is_some_and(|(name, _)| name.trim() == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_is_known_by_what_it_prints() {
        let recorded = |state: &str| {
            let path = format!("{}/tests/h200/{state}/smi_q.txt", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).unwrap()
        };
        for (text, kind) in [
            (recorded("idle").as_str(), Some(GpuText::SmiQ)),
            ("# gpu    pwr  gtemp\n# Idx      W      C\n    0    116     32\n", Some(GpuText::Dmon)),
            ("#Date       Time        gpu    pwr\n#YYYYMMDD   HH:MM:SS    Idx      W\n", Some(GpuText::Dmon)),
            ("timestamp, index, power.draw [W]\n2026/11/16 01:00:00.000, 0, 76.1\n", Some(GpuText::SmiCsv)),
            ("[{\"gpu\": 0, \"asic\": {}}]", Some(GpuText::AmdStatic)),
            ("{\"gpu_data\": [{\"gpu\": 0, \"usage\": {}}]}", Some(GpuText::AmdMetric)),
            ("# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 3\n", Some(GpuText::Dcgm)),
            ("INFO 01-02 vLLM engine started\n", None),
            ("", None),
        ] {
            assert_eq!(recognise_gpu_text(text), kind, "{text}");
        }
    }
}
