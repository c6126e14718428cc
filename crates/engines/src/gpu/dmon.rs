//! `nvidia-smi dmon`: a header of column names, then a line per GPU and second; with `-o DT` a date and a time before it.

use intriage_case::gpu::GpuSample;
use intriage_case::{Bytes, Celsius, Hertz, Ratio, Watts};

pub(super) fn read(text: &str) -> Vec<GpuSample> {
    let mut columns: Vec<&str> = Vec::new();
    let mut samples = Vec::new();
    for line in text.lines() {
        if let Some(header) = line.trim_start().strip_prefix('#') {
            // The second header line holds units; it has `Idx` instead.
            if is_header(header) {
                columns = header.split_whitespace().collect();
            }
            continue;
        }
        let cells: Vec<&str> = line.split_whitespace().collect();
        if cells.len() < 2 || cells.len() > columns.len() {
            continue;
        }
        let number = |name: &str| -> Option<f64> {
            let at = columns.iter().position(|c| *c == name)?;
            cells.get(at)?.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)
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

/// Whether what stands behind a `#` are names of columns: `gpu` first, or behind a date and a time.
pub(super) fn is_header(line: &str) -> bool {
    line.split_whitespace().take(3).any(|name| name == "gpu")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_and_a_time_may_stand_before_the_card() {
        let text = "#Date       Time        gpu    pwr  gtemp     sm  tviol\n#YYYYMMDD   HH:MM:SS    Idx      W      C      %   bool\n 20261115   02:30:10      1    310     92     98      1\n";
        let samples = read(text);
        assert_eq!(samples.len(), 1);
        assert_eq!((samples[0].index, samples[0].util), (1, Some(Ratio(0.98))));
        assert_eq!(
            (samples[0].temperature, samples[0].thermal_held),
            (Some(Celsius(92.0)), Some(Ratio(1.0)))
        );
    }

    #[test]
    fn a_negative_number_is_no_reading() {
        let samples =
            read("# gpu    pwr  gtemp     sm\n# Idx      W      C      %\n    0    116    -5     36\n");
        assert_eq!((samples[0].temperature, samples[0].util), (None, Some(Ratio(0.36))));
    }

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
