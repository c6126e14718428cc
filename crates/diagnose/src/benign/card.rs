//! Benign conditions of the GPU: saving power when idle, at its limit when busy.

use intriage_case::gpu::{ClockReasons, GpuCard};
use intriage_case::{Hertz, Ratio, Watts};
use intriage_engines::Setting;

use super::Benign;
use crate::evidence::Evidence;
use crate::thresholds::Limit;

pub(super) static ALL: &[Benign] = &[
    Benign {
        id: "benign-idle-gpu-clocks",
        looks_like: "The SM clock is a fraction of what the card can do.",
        explanation: "A GPU without work lowers its clocks to save power and raises them within milliseconds. Clocks count only while kernels run.",
        needs: None,
        unless: &["gpu-thermal-throttle", "gpu-power-or-capability-limit"],
        holds: idle_clocks,
    },
    Benign {
        id: "benign-idle-pcie-gen",
        looks_like: "The PCIe link runs at a lower generation than it could.",
        explanation: "An idle GPU lowers the speed of its link and keeps its lanes; under load the speed comes back. Fewer lanes than possible, or a slow link under load, are another matter.",
        needs: None,
        unless: &["pcie-link-downgrade"],
        holds: idle_pcie,
    },
    Benign {
        id: "benign-power-cap-bit",
        looks_like: "nvidia-smi says that a power cap holds the clocks down.",
        explanation: "At full load a card runs up to its power limit and trims its clocks to stay there; smaller cards do so all the time. \
                      It matters only if somebody lowered the limit, or if heat is the reason.",
        needs: None,
        unless: &["gpu-power-or-capability-limit", "gpu-thermal-throttle"],
        holds: power_cap,
    },
    Benign {
        id: "benign-gpu-util-100-idle",
        looks_like: "nvidia-smi shows 100 % without any traffic.",
        explanation: "With tensor parallelism a waiting GPU spins in a communication kernel, and the figure only says that some kernel ran. Power near idle tells that no work is done.",
        needs: None,
        unless: &["engine-stalled-not-admitting", "decode-bandwidth-roofline", "vram-co-tenant-or-orphan"],
        holds: util_without_work,
    },
];

/// The first card that is idle and passes `shows`.
fn idle_card<'a>(e: &'a Evidence<'_>, shows: impl Fn(&GpuCard) -> bool) -> Option<&'a GpuCard> {
    e.observed.gpu.cards.iter().find(|c| c.util == Some(Ratio(0.0)) && shows(c))
}

/// Heat, or the hardware's own protection, holds the clocks down.
fn is_slowed_down(card: &GpuCard) -> Option<bool> {
    const PROTECTED: ClockReasons =
        ClockReasons::THERMAL.with(ClockReasons::HARDWARE_SLOWDOWN).with(ClockReasons::POWER_BRAKE);
    card.reasons.map(|reasons| reasons.any_of(PROTECTED))
}

fn idle_clocks(e: &Evidence<'_>) -> Option<String> {
    let low = |(now, most): (Hertz, Hertz)| now.get() < e.limit(Limit::ClockDrop) * most.get();
    let card = idle_card(e, |c| is_slowed_down(c) != Some(true) && c.sm_clock.both().is_some_and(low))?;
    let (now, most) = card.sm_clock.both()?;
    Some(format!(
        "the SM clock is {:.0} of {:.0} MHz because the card has nothing to do",
        now.get() / 1e6,
        most.get() / 1e6
    ))
}

fn idle_pcie(e: &Evidence<'_>) -> Option<String> {
    let card = idle_card(e, |c| {
        let slower = c.pcie_generation.both().is_some_and(|(now, most)| now < most);
        slower && c.pcie_width.both().is_some_and(|(now, most)| now == most)
    })?;
    let ((now, most), (lanes, _)) = (card.pcie_generation.both()?, card.pcie_width.both()?);
    Some(format!(
        "the PCIe link is at generation {now} of {most} with all {lanes} lanes because the card has nothing to do"
    ))
}

fn power_cap(e: &Evidence<'_>) -> Option<String> {
    let capped = |c: &&GpuCard| c.reasons.is_some_and(|r| r.any_of(ClockReasons::POWER_CAP));
    let card = e.observed.gpu.cards.iter().find(capped)?;
    let (limit, default) = (card.power_limits.enforced?, card.power_limits.default?);
    let normal = limit >= default && is_slowed_down(card) == Some(false);
    normal.then(|| format!("the power cap is active at the card's own limit of {limit} and heat is not the reason: normal at full load"))
}

fn util_without_work(e: &Evidence<'_>) -> Option<String> {
    if e.observed.times.len() < 2 || !e.busy().is_empty() || e.setting(Setting::TensorParallel)? < 2.0 {
        return None;
    }
    let busy = e.observed.gpu.busy_share()?;
    let powers: Vec<f64> = e.observed.gpu.samples.iter().filter_map(|s| s.power).map(Watts::get).collect();
    let power = Ratio::of(powers.iter().sum(), powers.len() as f64)?.get();
    let limit = e.observed.gpu.cards.iter().find_map(|c| c.power_limits.enforced)?.get();
    (busy.get() >= e.limit(Limit::Sustained) && power <= e.limit(Limit::IdlePower) * limit)
        .then(|| format!("the GPUs show {busy} without a request, at {power:.0} of {limit:.0} W: a communication kernel waits"))
}

#[cfg(test)]
mod tests {
    use intriage_case::{Case, Signal};

    use crate::benign::tests::said;
    use crate::testing::Given;

    /// A card as `nvidia-smi -q` prints it.
    fn card(lines: &str) -> Case {
        let mut case = Given::vllm("0.28.0").gauge(Signal::RequestsRunning, 0.0).case();
        case.gpu.smi_q = Some(format!("    Product Name    : NVIDIA H200\n{lines}"));
        case
    }

    #[test]
    fn an_idle_card_saves_power() {
        let clocks = |util: u32, bit: &str| {
            card(&format!(
                "    Clocks Event Reasons\n        HW Slowdown    : {bit}\n    Utilization\n        GPU    : {util} %\n    Clocks\n        SM    : 345 MHz\n    Max Clocks\n        SM    : 1980 MHz\n"
            ))
        };
        let id = "benign-idle-gpu-clocks";
        assert!(said(&clocks(0, "Not Active"), id).unwrap().contains("345 of 1980 MHz"));
        assert_eq!(said(&clocks(90, "Not Active"), id), None);
        assert_eq!(said(&clocks(0, "Active"), id), None);
    }

    #[test]
    fn an_idle_link_slows_down_but_keeps_its_lanes() {
        let link = |now: u32, lanes: u32, util: u32| {
            card(&format!(
                "    PCIe Generation\n        Max    : 5\n        Current    : {now}\n    Link Width\n        Max    : 16x\n        Current    : {lanes}x\n    Utilization\n        GPU    : {util} %\n"
            ))
        };
        let id = "benign-idle-pcie-gen";
        assert!(said(&link(1, 16, 0), id).unwrap().contains("generation 1 of 5"));
        assert_eq!(said(&link(1, 8, 0), id), None);
        assert_eq!(said(&link(1, 16, 90), id), None);
        assert_eq!(said(&link(5, 16, 0), id), None);
    }

    #[test]
    fn a_power_cap_at_the_card_s_own_limit_is_full_load() {
        // Scenario H09: an L4 at its 72 W.
        let capped = |limit: u32, heat: &str| {
            card(&format!(
                "    Clocks Event Reasons\n        SW Power Cap    : Active\n        SW Thermal Slowdown    : {heat}\n    GPU Power Readings\n        Current Power Limit    : {limit}.00 W\n        Default Power Limit    : 72.00 W\n"
            ))
        };
        let id = "benign-power-cap-bit";
        assert!(said(&capped(72, "Not Active"), id).unwrap().contains("72 W"));
        assert_eq!(said(&capped(50, "Not Active"), id), None);
        assert_eq!(said(&capped(72, "Active"), id), None);
    }

    #[test]
    fn full_utilisation_without_requests_is_a_waiting_kernel() {
        // Scenario H07: two GPUs at 100 % and 115 W, nobody asks anything.
        let spinning = |running: f64, watts: u32| {
            let mut case = Given::vllm("0.28.0")
                .flags("--tensor-parallel-size 2")
                .gauge(Signal::RequestsRunning, running)
                .gauge(Signal::RequestsWaiting, 0.0)
                .case();
            case.gpu.smi_q = Some("    Product Name    : NVIDIA H100\n    GPU Power Readings\n        Current Power Limit    : 700.00 W\n".into());
            case.gpu.dmon = Some(format!(
                "# gpu    pwr     sm\n# Idx      W      %\n{}",
                format!("    0    {watts}    100\n").repeat(10)
            ));
            case
        };
        let id = "benign-gpu-util-100-idle";
        assert!(said(&spinning(0.0, 115), id).unwrap().contains("115 of 700 W"));
        assert_eq!(said(&spinning(4.0, 115), id), None);
        assert_eq!(said(&spinning(0.0, 500), id), None);
    }
}
