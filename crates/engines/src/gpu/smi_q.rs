//! `nvidia-smi -q`: indented `Key : Value` lines under sections.

use intriage_case::Bytes;

use super::GpuReadings;

pub(super) fn read(text: &str, readings: &mut GpuReadings) {
    let mut section = "";
    let mut count = 0;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(" : ") else {
            section = line.trim();
            continue;
        };
        match (section, key.trim(), value.trim()) {
            (_, "Product Name", name) => {
                count += 1;
                readings.name.get_or_insert_with(|| name.to_owned());
            }
            ("FB Memory Usage", "Total", total) => {
                let mib = total.strip_suffix(" MiB").and_then(|n| n.trim().parse::<f64>().ok());
                readings.memory = readings.memory.or(mib.map(|m| Bytes(m * 1_048_576.0)));
            }
            _ => {}
        }
    }
    readings.count = (count > 0).then_some(count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_memory_are_read() {
        let text = "GPU 00000000:00:00.0\n    Product Name                          : NVIDIA H200\n    FB Memory Usage\n        Total                             : 143771 MiB\n        Used                              : 133159 MiB\n    BAR1 Memory Usage\n        Total                             : 262144 MiB\n";
        let mut readings = GpuReadings::default();
        read(text, &mut readings);
        assert_eq!(readings.name.as_deref(), Some("NVIDIA H200"));
        assert_eq!(readings.memory, Some(Bytes(143_771.0 * 1_048_576.0)));
        assert_eq!(readings.count, Some(1));
    }
}
