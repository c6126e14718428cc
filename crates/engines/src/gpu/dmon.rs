//! `nvidia-smi dmon`: a header of column names, then a line per GPU and second.

use intriage_case::gpu::GpuSample;
use intriage_case::{Bytes, Celsius, Hertz, Ratio, Watts};

pub(super) fn read(text: &str) -> Vec<GpuSample> {
    let mut columns: Vec<&str> = Vec::new();
    let mut samples = Vec::new();
    for line in text.lines() {
        if let Some(header) = line.trim_start().strip_prefix('#') {
            // The second header line holds units; it begins with `Idx`.
            let names: Vec<&str> = header.split_whitespace().collect();
            if names.first() == Some(&"gpu") {
                columns = names;
            }
            continue;
        }
        let cells: Vec<&str> = line.split_whitespace().collect();
        if cells.len() < 2 || cells.len() > columns.len() {
            continue;
        }
        let number = |name: &str| -> Option<f64> {
            let at = columns.iter().position(|c| *c == name)?;
            cells.get(at)?.parse().ok()
        };
        let Some(index) = number("gpu") else { continue };
        let share = |name| number(name).map(|percent| Ratio(percent / 100.0));
        let megahertz = |name| number(name).map(|mhz| Hertz(mhz * 1e6));
        samples.push(GpuSample {
            index: index as u32,
            util: share("sm"),
            memory_util: share("mem"),
            power: number("pwr").map(Watts),
            sm_clock: megahertz("pclk"),
            memory_clock: megahertz("mclk"),
            temperature: number("gtemp").map(Celsius),
            memory_temperature: number("mtemp").map(Celsius),
            memory_used: number("fb").map(|mib| Bytes(mib * 1_048_576.0)),
            power_held: share("pviol"),
            // A flag: heat did, or did not, hold the clocks down in this second.
            thermal_held: number("tviol").map(Ratio),
            ..GpuSample::default()
        });
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let text = "# gpu    pwr  gtemp     sm    mem   pclk\n# Idx      W      C      %      %    MHz\n    0    116     32     36     23   1980\n    1      -     32      -     23   1980\n";
        let samples = read(text);
        assert_eq!(samples.len(), 2);
        assert_eq!(
            (samples[0].util, samples[0].power, samples[0].sm_clock),
            (Some(Ratio(0.36)), Some(Watts(116.0)), Some(Hertz(1.98e9)))
        );
        assert_eq!((samples[1].index, samples[1].util), (1, None));
    }

    #[test]
    fn text_without_a_header_gives_nothing() {
        assert!(read("0 1 2 3\nFailed to initialize NVML").is_empty());
    }
}
