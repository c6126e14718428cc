//! A worker's threads or memory are on another socket than its GPU.

use intriage_case::Ratio;
use intriage_engines::Engine;
use intriage_engines::host::{DeviceKind, Host, NodeOf, Role, ServingProcess};

use super::machine::{kernel, machine};
use crate::causes::decode::card_waits;
use crate::causes::shared::on_cpu;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "numa-misplacement",
    class: Class::Host,
    layer: Layer::Cpu,
    hurts: Aspect::LATENCY,
    summary: "A worker computes or keeps its memory on another socket than its GPU hangs on.",
    symptoms: &[
        "tokens are somewhat slower on machines with two sockets",
        "it changes from one restart to the next",
    ],
    confirmed_by: &[
        "half or more of a worker's memory, or of its running time, is on another node than its GPU",
        "bound to the GPU's node, tokens come more than 5 % faster",
    ],
    refuted_by: &[
        "the machine has one node, or the worker is where its GPU is",
        "the GPU does not wait for the host: then the distance costs nothing",
        "bound to the GPU's node it is no faster",
    ],
    look_alikes: &[
        LookAlike {
            cause: "cpu-starvation-cgroup-throttle",
            tell: "there threads wait for a CPU, near or far",
        },
        LookAlike { cause: "pcie-link-downgrade", tell: "there the GPU's own link is slow" },
    ],
    probe: Probe {
        name: "pin-ab",
        steps: "Start the server once as it is and once under numactl --cpunodebind and --membind with the GPU's node, and compare the gap between tokens idle and under load.",
        if_so: "More than 5 % faster.",
        if_not: "The same: it is harmless here.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "--numa-bind (with --numa-bind-nodes to choose)",
            "CAP_SYS_NICE in containers",
        ),
        Remedy::of(Engine::Sglang, "--numa-node with a node for every rank", "none"),
        Remedy::of(
            Engine::LlamaCpp,
            "--numa numactl under numactl, or --numa isolate",
            "cores of one socket",
        ),
        Remedy::of(Engine::TensorRtLlm, "TLLM_NUMA_BIND=1, or numactl at the launch", "cores of one socket"),
        Remedy::any(
            "numactl --cpunodebind NODE --membind NODE; Kubernetes: the topology manager; kernel.numa_balancing=0",
            "memory of one socket",
        ),
    ],
    effect: "A few percent of a step that waits for the host, up to about 15 %.",
    confirm: "numastat -p shows the worker's memory on the GPU's node, and latency.itl is lower.",
    explains: &[],
    judge,
};

/// A worker away from its GPU.
struct Away {
    pid: u32,
    gpu_node: u32,
    /// Share of its memory elsewhere.
    memory: Option<Ratio>,
    /// Share of its running time elsewhere.
    ran: Option<Ratio>,
}

impl Away {
    fn far(&self) -> Ratio {
        let most = [self.memory, self.ran].into_iter().flatten().map(Ratio::get).fold(0.0, f64::max);
        Ratio(most)
    }
}

fn judge(e: &Evidence<'_>) -> Judgement {
    let found = machine(e).and_then(|host| farthest(e, host));
    let far = found.as_ref().ok().and_then(Option::as_ref).map_or(Ratio(0.0), Away::far);
    let says = found.as_ref().ok().and_then(Option::as_ref).map_or(String::new(), |away| {
        format!("worker {} has {far} of its memory or time on another socket than its GPU", away.pid)
    });
    let most = Ratio(e.limit(Limit::FarCost) * far.get());
    let impact = Impact {
        on: ImpactOn::Tpot,
        share: most,
        time: None,
        says: format!("at most about {most} of a step that waits for the host; only a test tells"),
    };
    let mut w = Weighing::new().refuted_by(on_cpu(e)).requires(is_away(e, found.as_ref()));
    // Where kernels follow each other without a gap, the distance is hidden behind them.
    w = match card_waits(e) {
        Test::Fails(busy) => w.refuted_by(Test::Holds(busy)),
        other => w.supports(other),
    };
    w.at_most_likely(0.5).conclude(says, impact)
}

/// The worker that is farthest from its GPU; `None` where the machine has one node.
fn farthest(e: &Evidence<'_>, host: &Host) -> Result<Option<Away>, String> {
    if host.nodes.is_empty() {
        return Err("the kernel told nothing of NUMA nodes".into());
    }
    if host.nodes.len() == 1 {
        return Ok(None);
    }
    let workers = host
        .processes
        .iter()
        .filter(|p| matches!(p.role(), Some(Role::EngineCore | Role::Worker | Role::Server | Role::Child)));
    let away = workers.filter_map(|p| {
        let gpu_node = node_of_gpu(e, host, p)?;
        let placed = host.placement(p, gpu_node);
        let rest = |share: Option<Ratio>| share.map(|s| Ratio(1.0 - s.get()));
        let (memory, ran) = (rest(placed.memory), rest(placed.ran));
        (memory.is_some() || ran.is_some()).then_some(Away { pid: p.pid, gpu_node, memory, ran })
    });
    away.max_by(|a, b| a.far().get().total_cmp(&b.far().get()))
        .map(Some)
        .ok_or_else(|| "which GPU a worker uses, or where its memory lies, is not known".into())
}

/// The node of the GPU a process uses: by the driver's list of processes, else the one node all GPUs hang on.
fn node_of_gpu(e: &Evidence<'_>, host: &Host, process: &ServingProcess) -> Option<u32> {
    let cards = &e.observed.gpu.cards;
    let runs_on = |pid: u32| {
        let listed = |c: &&intriage_case::gpu::GpuCard| {
            c.processes.as_ref().is_some_and(|all| all.iter().any(|p| p.pid == pid))
        };
        cards.iter().find(listed)
    };
    if let Some(card) = runs_on(process.pid) {
        return card.numa_node;
    }
    let of_cards = cards.iter().filter_map(|c| c.numa_node);
    let of_devices = host.devices.iter().filter(|d| d.kind == DeviceKind::Gpu).filter_map(|d| match d.node {
        Some(NodeOf::Node(node)) => Some(node),
        _ => None,
    });
    let mut nodes: Vec<u32> = of_cards.chain(of_devices).collect();
    nodes.sort_unstable();
    nodes.dedup();
    match nodes[..] {
        [one] => Some(one),
        _ => None,
    }
}

fn is_away(e: &Evidence<'_>, found: Result<&Option<Away>, &String>) -> Test {
    match found {
        Err(why) => Test::Unknown(why.clone()),
        Ok(None) => {
            Test::Fails(kernel("the machine has one NUMA node", Ratio(1.0), "sys/devices/system/node"))
        }
        Ok(Some(away)) => {
            let part = |share: Option<Ratio>, what: &str| {
                share.map_or(String::new(), |s| format!(" {s} of its {what}"))
            };
            let both = [part(away.memory, "memory"), part(away.ran, "running time")];
            let both: Vec<&str> = both.iter().map(String::as_str).filter(|s| !s.is_empty()).collect();
            let says = format!(
                "process {} has{} away from node {}, where its GPU hangs",
                away.pid,
                both.join(" and"),
                away.gpu_node
            );
            let far = away.far();
            Test::when(far.get() >= e.limit(Limit::FarFromGpu), kernel(says, far, "numa_maps"))
        }
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// A worker with so many MB on either node; the GPU hangs on node 0.
    fn worker(near: u32, far: u32, nodes: u32) -> Given {
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let stat = "7 (VLLM::Worker_TP0) S 1 7 7 0 -1 0 0 0 0 0 10 5 0 0 20 0 9 0 100 0 0\n";
        let mut first = vec![
            text("proc/7/cmdline", "VLLM::Worker_TP0"),
            text("proc/7/stat", stat),
            ("numa_pages/7".into(), format!("lines 9 complete\nN0 4 {}\nN1 4 {}\n", near * 256, far * 256)),
            text("sys/bus/pci/devices/0000:17:00.0/class", "0x030200\n"),
            text("sys/bus/pci/devices/0000:17:00.0/numa_node", "0\n"),
        ];
        for node in 0..nodes {
            let name = format!("sys/devices/system/node/node{node}/cpulist");
            first.push((name, format!("{}-{}\n", node * 4, node * 4 + 3)));
        }
        let second = vec![text("proc/7/stat", stat)];
        Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 4.0).kernel(&[first, second])
    }

    #[test]
    fn memory_on_the_other_socket_is_likely_at_most() {
        // 1CatAI/1Cat-vLLM#678: 902 MB near, 18,741 MB far.
        let j = worker(902, 18_741, 2).gpu_busy(40).judge(&CAUSE);
        assert_eq!((j.outcome, j.confidence), (Outcome::Likely, 0.5), "{j:#?}");
        assert!(j.says.contains("95 % of its memory"), "{}", j.says);
    }

    #[test]
    fn a_card_that_never_waits_makes_the_distance_harmless() {
        assert_eq!(worker(902, 18_741, 2).gpu_busy(99).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn near_memory_and_a_single_node_rule_it_out() {
        assert_eq!(worker(18_000, 900, 2).judge(&CAUSE).outcome, Outcome::RuledOut);
        assert_eq!(worker(18_000, 0, 1).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn without_a_look_at_the_machine_nobody_can_tell() {
        let j = Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 4.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("--host"), "{:?}", j.missing);
    }
}
