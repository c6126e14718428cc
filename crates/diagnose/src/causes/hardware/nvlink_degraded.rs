//! NVLinks are down or repeat themselves.

use intriage_case::{Quantity, Ratio, Seconds, Unit};

use super::cards::{no_cards, read};
use crate::causes::gpus::serves_alone;
use crate::causes::shared::on_cpu;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "nvlink-degraded",
    class: Class::Hardware,
    layer: Layer::Network,
    hurts: Aspect::OF_THE_CARD,
    summary: "NVLinks between GPUs that work together are down or repeat packets, or the fabric manager is not well.",
    symptoms: &[
        "tokens are slow on one machine that shares a model over several GPUs",
        "NCCL chooses a slower way",
        "Xid 74 in the kernel log",
    ],
    confirmed_by: &[
        "some links of a card are down while others are up",
        "replay, recovery or checksum counters grow in the window",
    ],
    refuted_by: &[
        "all links are up and their counters stand still",
        "one GPU serves alone",
        "the model runs on a CPU",
    ],
    look_alikes: &[
        LookAlike {
            cause: "collective-transport-fallback",
            tell: "there the links are well and NCCL does not use them",
        },
        LookAlike { cause: "tp-communication-bound", tell: "there are no NVLinks, or they are whole" },
        LookAlike { cause: "pcie-link-downgrade", tell: "there it is PCIe" },
    ],
    probe: Probe {
        name: "busbw",
        steps: "Run nccl-tests all_reduce on this machine and on a healthy sibling.",
        if_so: "Lower here.",
        if_not: "The same.",
    },
    remedies: &[
        Remedy::any("restart the fabric manager, reset the GPUs", "everything on this machine stops"),
        Remedy::any("drain, reseat, have it replaced", "capacity"),
    ],
    effect: "The links carry what they should, and collectives take their usual time.",
    confirm: "Every link is up and its error counters stand still under load.",
    explains: &["tp-communication-bound"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let share = e.account.decode.map_or(Ratio(0.0), |decode| e.account.share_of_life(decode));
    let impact = Impact {
        on: ImpactOn::Tpot,
        share,
        time: e.account.itl.map(Seconds),
        says: format!("tokens take {share} of a request's life, and each waits for the links"),
    };
    let links = links(e);
    let says = match &links {
        Test::Holds(fact) => fact.says.clone(),
        _ => String::new(),
    };
    Weighing::new()
        .refuted_by(on_cpu(e))
        .refuted_by(serves_alone(e))
        .requires(links)
        .at_most_likely(0.75)
        .conclude(says, impact)
}

fn links(e: &Evidence<'_>) -> Test {
    let gpu = &e.observed.gpu;
    if gpu.cards.is_empty() {
        return Test::Unknown(no_cards(e).into());
    }
    if gpu.cards.iter().all(|c| c.nvlinks.is_empty()) {
        return Test::Unknown("no card told of its NVLinks (nvidia-smi -q does not; `--host` does)".into());
    }
    for card in &gpu.cards {
        let up = card.nvlinks.iter().filter(|l| l.active == Some(true)).count();
        if up > 0 && up < card.nvlinks.len() {
            let says = format!("GPU {} has {up} of {} NVLinks up", card.index, card.nvlinks.len());
            return Test::Holds(read(e, says, Quantity::new(up as f64, Unit::Count)));
        }
        if let Some(errors) = gpu.nvlink_errors(card).filter(|n| *n > 0) {
            let says =
                format!("the NVLinks of GPU {} repeated or lost {errors} packets in the window", card.index);
            return Test::Holds(read(e, says, Quantity::new(errors as f64, Unit::Events)));
        }
    }
    Test::Fails(read(e, "all NVLinks are up and their counters stand still", Ratio(1.0)))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_case::gpu::ClockReasons;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::{Card, Given};

    fn four(links_up: usize) -> Given {
        let card = |up| Card::h100().nvlinks(18, up).busy(0.99, 1755.0, ClockReasons(0));
        Given::vllm("0.28.0")
            .on_gpu()
            .flags("--tensor-parallel-size 4")
            .gauge(RequestsRunning, 8.0)
            .observed(LatencyItl, &[(0.058, 20_000.0)])
            .observed(LatencyDecode, &[(8.0, 200.0)])
            .cards(&[card(18), card(18), card(links_up), card(18)])
    }

    #[test]
    fn a_card_with_links_down_is_likely_the_brake() {
        let j = four(12).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("GPU 2 has 12 of 18"), "{}", j.says);
    }

    #[test]
    fn whole_links_rule_it_out_and_one_gpu_does_not_talk() {
        assert_eq!(four(18).judge(&CAUSE).outcome, Outcome::RuledOut);
        assert_eq!(four(12).flags("--tensor-parallel-size 1").judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
