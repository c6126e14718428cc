//! The state of a machine: part by part, what was looked at and what to do.

use intriage_diagnose::{Check, Health, State};

use crate::style::{BAD, GOOD, HEAD, QUIET, UNSURE, styled};
use crate::wrap::{WIDTH, hang_within};

/// Columns of the state and the name of a check.
const NAME: usize = 10;

/// The state of a machine as text with ANSI styles, in a page of at most `columns` (100 where nothing is known).
pub fn health_text(health: &Health, columns: Option<usize>) -> String {
    let width = columns.unwrap_or(WIDTH).clamp(60, WIDTH);
    let mut out = String::new();
    let mut part = "";
    for check in &health.checks {
        if check.part != part {
            if !part.is_empty() {
                out.push('\n');
            }
            out.push_str(&styled(HEAD, &check.part));
            out.push('\n');
            part = &check.part;
        }
        out.push_str(&line(check, width));
    }
    if let Some(gpus) = &health.gpus {
        let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
        let said = format!("driver {}, CUDA {}, read by {}", or(&gpus.driver), or(&gpus.cuda), gpus.source);
        out.push('\n');
        out.push_str(&styled(QUIET, said));
        out.push('\n');
    }
    for missing in &health.missing {
        out.push_str(&hang_within(width, "not seen: ", missing));
    }
    if !health.checks.is_empty() {
        out.push('\n');
        out.push_str(&answer(health));
        out.push('\n');
    }
    out
}

/// The state of a machine as JSON, one value, a newline at the end.
pub fn health_json(health: &Health) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(health)?;
    text.push('\n');
    Ok(text)
}

/// The JSON Schema of the state of a machine, generated from its types.
pub fn health_schema() -> Result<String, serde_json::Error> {
    let mut schema = schemars::schema_for!(Health);
    schema.insert("$id".into(), "https://intriage.dev/schemas/health-1.schema.json".into());
    let mut text = serde_json::to_string_pretty(&schema)?;
    text.push('\n');
    Ok(text)
}

fn line(check: &Check, width: usize) -> String {
    let (style, word) = match check.state {
        State::Good => (GOOD, "ok"),
        State::Unknown => (UNSURE, "?"),
        State::Attention => (UNSURE, "look"),
        State::Bad => (BAD, "bad"),
    };
    let name = format!("  {word:<5}{:<NAME$}", check.name);
    // Styles have no width: the line is laid out without them.
    let says = hang_within(width, &name, &check.says).replacen(word, &styled(style, word), 1);
    let indent = " ".repeat(name.chars().count());
    let remedy =
        check.remedy.as_deref().map_or(String::new(), |r| hang_within(width, &format!("{indent}→ "), r));
    says + &remedy
}

fn answer(health: &Health) -> String {
    let count = |state| health.checks.iter().filter(|c| c.state == state).count();
    let (bad, look) = (count(State::Bad), count(State::Attention));
    match (bad, look) {
        (0, 0) => styled(GOOD, "Nothing is wrong with what could be seen."),
        (0, look) => styled(UNSURE, format!("{look} worth a look, nothing broken.")),
        (bad, _) => styled(BAD, format!("{bad} broken or held back.")),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::gpu::{ClockReasons, EccErrors, GpuCard, GpuSample, GpuSurvey, NowAndMost, NvLink};
    use intriage_case::{Bytes, Case, Celsius, GpuEvidence, Hertz, Millis, Ratio, Watts};
    use intriage_diagnose::{Thresholds, health};

    use super::*;

    #[test]
    fn the_published_schema_is_the_one_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/health-1.schema.json");
        let generated = health_schema().unwrap();
        if std::env::var_os("INTRIAGE_BLESS").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            published == generated,
            "schemas/health-1.schema.json is stale: run the tests with INTRIAGE_BLESS=1"
        );
    }

    fn told(survey: GpuSurvey) -> String {
        let case =
            Case { gpu: GpuEvidence { survey: Some(survey), ..GpuEvidence::default() }, ..Case::default() };
        anstream::adapter::strip_str(&health_text(&health(&case, &Thresholds::default()), None)).to_string()
    }

    fn recorded(smi_q: &str) -> String {
        let case = Case {
            gpu: GpuEvidence { smi_q: Some(smi_q.into()), ..GpuEvidence::default() },
            ..Case::default()
        };
        anstream::adapter::strip_str(&health_text(&health(&case, &Thresholds::default()), None)).to_string()
    }

    #[test]
    fn a_healthy_h200_raises_no_alarm() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/recordings/vllm-h200-healthy/smi_q.txt");
        insta::assert_snapshot!(recorded(&std::fs::read_to_string(path).unwrap()));
    }

    /// Founding case 1: a card whose link came up at Gen3 x8 instead of Gen5 x16, hot and with a broken row.
    fn broken() -> GpuSurvey {
        let card = GpuCard {
            name: Some("NVIDIA H100 80GB HBM3".into()),
            util: Some(Ratio(0.8)),
            sm_clock: NowAndMost { now: Some(Hertz(1.2e9)), most: Some(Hertz(1.98e9)) },
            temperature: Some(Celsius(86.0)),
            slowdown_at: Some(Celsius(87.0)),
            pcie_generation: NowAndMost { now: Some(3), most: Some(5) },
            pcie_width: NowAndMost { now: Some(8), most: Some(16) },
            pcie_replays: Some(912),
            memory: Some(Bytes(85.9e9)),
            memory_used: Some(Bytes(7.0e10)),
            ecc: EccErrors { volatile_uncorrected: Some(2), ..EccErrors::default() },
            nvlinks: (0..18)
                .map(|link| NvLink { link, active: Some(link != 4), ..NvLink::default() })
                .collect(),
            mig: Some(false),
            compute_mode: Some("Default".into()),
            persistence: Some(true),
            power_limits: intriage_case::gpu::PowerLimits {
                enforced: Some(Watts(500.0)),
                default: Some(Watts(700.0)),
                ..Default::default()
            },
            ..GpuCard::default()
        };
        let sample = |at| GpuSample {
            at: Some(Millis(at)),
            util: Some(Ratio(0.8)),
            sm_clock: Some(Hertz(1.2e9)),
            power: Some(Watts(310.0)),
            temperature: Some(Celsius(86.0)),
            reasons: Some(ClockReasons::HARDWARE_THERMAL),
            pcie_generation: Some(3),
            pcie_width: Some(8),
            ..GpuSample::default()
        };
        GpuSurvey {
            source: "NVML 13.580.65".into(),
            driver: Some("580.65".into()),
            cuda: Some("13.0".into()),
            cards: vec![card],
            samples: (0..30).map(|i| sample(i * 100)).collect(),
            ..GpuSurvey::default()
        }
    }

    #[test]
    fn what_is_broken_is_named_with_what_to_do() {
        insta::assert_snapshot!(told(broken()));
    }
}
