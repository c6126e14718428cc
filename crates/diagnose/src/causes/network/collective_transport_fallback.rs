//! GPUs that work together talk over a slower way than the hardware offers.

use intriage_case::{Fact, Ratio, Seconds, Source};
use intriage_engines::Engine;

use super::peers::{SlowWay, custom_off, direct_way, group_spoke, hands_over, linked, slow_way, translated};
use crate::causes::gpus::serves_in_a_group;
use crate::causes::shared::on_cpu;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "collective-transport-fallback",
    class: Class::Network,
    layer: Layer::Network,
    hurts: &[Aspect::Availability, Aspect::Prefill, Aspect::DecodeStep, Aspect::Interference, Aspect::HostGap],
    summary: "NCCL or UCX uses a slower transport than the hardware offers: host memory or TCP where GPUs could talk directly, over NVLink or RDMA.",
    symptoms: &[
        "several GPUs are far slower together than their links allow, often after a new container, driver or network",
        "a start with more than one GPU hangs or fails while NCCL sets itself up",
        "a KV transfer takes seconds",
    ],
    confirmed_by: &[
        "NCCL's log says via SHM or NET/Socket although the cards are joined by NVLink",
        "the environment forbids a transport (NCCL_P2P_DISABLE, NCCL_IB_DISABLE, NCCL_SHM_DISABLE)",
        "nccl-tests reach far less than the links carry",
        "the engine's log says that KV caches move at less than 1 GB/s",
    ],
    refuted_by: &[
        "NCCL's log says that the GPUs talk directly",
        "one GPU serves alone",
        "the model runs on a CPU",
    ],
    look_alikes: &[
        LookAlike { cause: "nvlink-degraded", tell: "there links are down or count errors" },
        LookAlike { cause: "tp-communication-bound", tell: "there is no better transport to use" },
        LookAlike {
            cause: "disagg-pool-imbalance",
            tell: "there the transport is the right one and one pool is too small",
        },
    ],
    probe: Probe {
        name: "nccl-info",
        steps: "In the same container run all_reduce_perf from nccl-tests with NCCL_DEBUG=INFO and read which transport it names.",
        if_so: "It names SHM or NET/Socket, and the bandwidth is far below the link's.",
        if_not: "It names P2P, NVLS or NET/IB.",
    },
    remedies: &[
        Remedy::any(
            "take NCCL_P2P_DISABLE, NCCL_IB_DISABLE and the like out of the environment; IOMMU in passthrough and ACS off; docker --ipc=host or a larger /dev/shm; RDMA devices with IPC_LOCK; the right NCCL_SOCKET_IFNAME",
            "a security review",
        ),
        Remedy::of(
            Engine::Vllm,
            "where P2P is broken and cannot be mended: NCCL_P2P_DISABLE=1 with --disable-custom-all-reduce, so that it serves at all",
            "every exchange goes through host memory",
        ),
        Remedy::of(
            Engine::Vllm,
            "where prefill and decode share a machine without RDMA: \"kv_connector\": \"NixlPushConnector\" in --kv-transfer-config, as NixlConnector reads over TCP there",
            "none where nothing else depends on the direction",
        )
        .since("0.24.0"),
    ],
    effect: "Exchanges take what the links promise.",
    confirm: "NCCL_DEBUG=INFO names P2P or NET/IB, and latency.itl is lower.",
    explains: &["tp-communication-bound", "engine-stalled-not-admitting", "engine-crash-5xx"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let slow = slow_way(e);
    let share = e.account.decode.map_or(Ratio(0.0), |decode| e.account.share_of_life(decode));
    let up = !e.observed.times.is_empty();
    let impact = Impact {
        on: if up { ImpactOn::Tpot } else { ImpactOn::Availability },
        share: if up { share } else { Ratio(1.0) },
        time: e.account.itl.map(Seconds),
        says: if up {
            format!("tokens take {share} of a request's life, and each waits for the exchange")
        } else {
            "the group may not start, or stand still, while its GPUs cannot reach each other".into()
        },
    };
    let mut w = Weighing::new()
        .refuted_by(on_cpu(e))
        .requires(talks(e))
        .requires(is_slow(e, slow.as_ref()))
        .supports(better_exists(e));
    if let Some(fact) = translated(e).filter(|_| slow.is_some()) {
        w = w.supports(Test::Holds(fact));
    }
    if let Some(fact) = custom_off(e).filter(|_| slow.is_some()) {
        w = w.supports(Test::Holds(fact));
    }
    let mut says = String::new();
    if let Some(slow) = slow {
        w = w.advise(slow.change.0, slow.change.1);
        says = format!("GPUs do not talk as they could: {}", slow.says);
    }
    // Without a better way known, a log line shows the way taken and not what it costs.
    if linked(e) != Some(true) {
        w = w.at_most_likely(0.7);
    }
    w.conclude(says, impact)
}

/// Several GPUs talk: stated, or NCCL spoke of it.
fn talks(e: &Evidence<'_>) -> Test {
    match serves_in_a_group(e) {
        Test::Unknown(_) | Test::Fails(_) if hands_over(e) => {
            let source = Source::Derived { from: "log".into() };
            let says = "the log tells of KV caches handed from one engine to another".into();
            Test::Holds(Fact { says, value: None, limit: None, signal: None, source })
        }
        Test::Unknown(_) if group_spoke(e) => {
            let source = Source::Derived { from: "log".into() };
            let says = "the log tells of several GPUs that exchange data".into();
            Test::Holds(Fact { says, value: None, limit: None, signal: None, source })
        }
        stated => stated,
    }
}

fn is_slow(e: &Evidence<'_>, slow: Option<&SlowWay>) -> Test {
    if let Some(slow) = slow {
        return Test::Holds(slow.fact.clone());
    }
    if let Some(event) = direct_way(e) {
        let says = format!("the log says: {}", event.excerpt);
        return Test::Fails(Fact { says, value: None, limit: None, signal: None, source: event.source() });
    }
    Test::Unknown(
        "over which transport the GPUs talk is in no log: start with NCCL_DEBUG=INFO and give --log".into(),
    )
}

/// The cards are joined by a faster way than the one in use.
fn better_exists(e: &Evidence<'_>) -> Test {
    let source = Source::Gpu { tool: e.observed.gpu.source.clone() };
    let fact = |says: &str| Fact {
        says: says.into(),
        value: None,
        limit: None,
        signal: None,
        source: source.clone(),
    };
    match linked(e) {
        Some(true) => Test::Holds(fact("the cards are joined by NVLink")),
        Some(false) => {
            Test::Unknown("no NVLink joins the cards: whether they could talk directly over PCIe takes a test (p2pBandwidthLatencyTest)".into())
        }
        None => Test::Unknown("which links the cards have was not told (--host)".into()),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_case::gpu::ClockReasons;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::{Card, Given};

    const SHM: &str = "node7:812:990 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct\n";
    const PEER: &str = "node7:812:990 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via P2P/CUMEM\n";

    fn two(log: &str) -> Given {
        Given::vllm("0.28.0")
            .on_gpu()
            .flags("--tensor-parallel-size 2")
            .gauge(RequestsRunning, 4.0)
            .observed(LatencyDecode, &[(6.0, 200.0)])
            .log(log)
    }

    fn linked_cards(given: Given) -> Given {
        let card = || Card::h100().nvlinks(18, 18).busy(0.9, 1755.0, ClockReasons(0));
        given.cards(&[card(), card()])
    }

    #[test]
    fn shared_memory_beside_a_whole_nvlink_is_the_cause() {
        let j = linked_cards(two(SHM)).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("through host memory"), "{}", j.says);
    }

    #[test]
    fn without_a_better_way_known_it_is_likely() {
        let j = two(SHM).judge(&CAUSE);
        assert_eq!((j.outcome, j.confidence), (Outcome::Likely, 0.62), "{j:#?}");
    }

    #[test]
    fn direct_talk_one_gpu_and_a_cpu_rule_it_out() {
        assert_eq!(linked_cards(two(PEER)).judge(&CAUSE).outcome, Outcome::RuledOut);
        assert_eq!(two(SHM).flags("--tensor-parallel-size 1").judge(&CAUSE).outcome, Outcome::RuledOut);
        let cpu = Given::vllm("0.28.0").flags("--device cpu --tensor-parallel-size 2");
        let cpu = cpu.gauge(RequestsRunning, 4.0).log(SHM);
        assert_eq!(cpu.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    /// What a server that gets its KV caches from another one writes of their transfers.
    fn handed_over(each_ms: f64, rate: f64) -> Given {
        two(&format!(
            "INFO 08-17 02:47:32 [metrics.py:103] KV Transfer metrics: Num successful transfers=9, Avg xfer time (ms)={each_ms}, P90 xfer time (ms)={each_ms}, Avg post time (ms)=1.0, P90 post time (ms)=2.0, Avg MB per transfer=167.0, Throughput (MB/s)={rate}\n"
        ))
        .flags("--tensor-parallel-size 1")
    }

    #[test]
    fn kv_caches_that_move_at_half_a_gigabyte_a_second_go_over_tcp() {
        let j = handed_over(350.2, 476.8).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("as over TCP, and take 350 ms each"), "{}", j.says);
    }

    #[test]
    fn fast_transfers_and_small_ones_do_not_show_it() {
        assert_ne!(handed_over(38.7, 4319.1).judge(&CAUSE).outcome, Outcome::Likely);
        assert_ne!(handed_over(4.0, 476.8).judge(&CAUSE).outcome, Outcome::Likely);
    }

    #[test]
    fn a_quiet_log_leaves_it_open() {
        let j = two("INFO ready\n").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("NCCL_DEBUG=INFO"), "{:?}", j.missing);
    }

    /// A machine whose kernel says this of the bridge above a GPU and of the worker's environment.
    fn machine(acs: &str, environment: &str) -> Given {
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let stat = "7 (VLLM::Worker_TP0) S 1 7 7 0 -1 0 0 0 0 0 10 5 0 0 20 0 9 0 100 0 0\n";
        let files = vec![
            text("proc/7/cmdline", "VLLM::Worker_TP0"),
            text("proc/7/stat", stat),
            text("proc/7/environ", environment),
            text("sys/bus/pci/devices/0000:17:00.0/class", "0x030200\n"),
            text("pci_path/0000:17:00.0", "0000:16:00.0\n0000:17:00.0\n"),
            text("pci_acs/0000:16:00.0", acs),
        ];
        two("INFO ready\n").kernel(&[files])
    }

    #[test]
    fn the_host_shows_access_control_and_forbidding_switches() {
        let acs = machine("capability 0x005f control 0x001d\n", "").judge(&CAUSE);
        assert_eq!(acs.outcome, Outcome::Likely, "{acs:#?}");
        assert!(acs.says.contains("root complex"), "{}", acs.says);
        let forbidden = machine("none\n", "NCCL_P2P_DISABLE=1\n").judge(&CAUSE);
        assert!(forbidden.says.contains("NCCL_P2P_DISABLE=1"), "{forbidden:#?}");
        assert_eq!(machine("none\n", "").judge(&CAUSE).outcome, Outcome::CannotTell);
    }
}
