//! How GPUs of one group talk: what NCCL said, what the environment forbids, what stands between them.

use intriage_case::{Bytes, Fact, Source};
use intriage_engines::host::{Acs, DeviceKind};
use intriage_engines::{LogEvent, Meaning, Told};

use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// Switches of the environment that take a transport away.
const FORBIDS: [&str; 3] = ["NCCL_P2P_DISABLE", "NCCL_IB_DISABLE", "NCCL_SHM_DISABLE"];

/// What shows that a slower way than the best is in use.
pub(super) struct SlowWay {
    /// In one sentence.
    pub(super) says: String,
    /// The fact.
    pub(super) fact: Fact,
    /// What to change, and what that costs.
    pub(super) change: (&'static str, &'static str),
}

/// The slow way in use, the surest sign first.
pub(super) fn slow_way(e: &Evidence<'_>) -> Option<SlowWay> {
    forbidden(e)
        .or_else(|| {
            by_log(e, Meaning::SharedMemoryShort, "NCCL could not get the shared memory it needs", SHM)
        })
        .or_else(|| by_log(e, Meaning::TransportSocket, "NCCL talks through plain sockets", SOCKET))
        .or_else(|| by_log(e, Meaning::TransportSharedMemory, "GPUs talk through host memory", PEER))
        .or_else(|| slow_transfer(e))
        .or_else(|| slow_rate(e))
        .or_else(|| redirected(e))
}

/// GPUs talk directly, and no line says otherwise.
pub(super) fn direct_way<'a>(e: &Evidence<'a>) -> Option<&'a LogEvent> {
    e.observed.log.first(Meaning::TransportPeer).filter(|_| slow_way(e).is_none())
}

/// Lines only a group of GPUs makes NCCL write.
pub(super) fn group_spoke(e: &Evidence<'_>) -> bool {
    use Meaning::{SharedMemoryShort, TransportPeer, TransportSharedMemory, TransportSocket};
    [SharedMemoryShort, TransportPeer, TransportSharedMemory, TransportSocket]
        .into_iter()
        .any(|meaning| e.observed.log.first(meaning).is_some())
}

/// Lines of an engine that hands KV caches to another one, however many GPUs each has.
pub(super) fn hands_over(e: &Evidence<'_>) -> bool {
    [Meaning::KvTransferTimed, Meaning::KvTransferRate]
        .into_iter()
        .any(|m| e.observed.log.of_running(m).is_some())
}

const FORBID: (&str, &str) = (
    "take NCCL_P2P_DISABLE, NCCL_IB_DISABLE and NCCL_SHM_DISABLE out of the environment, and NCCL chooses the best way again",
    "where it was a workaround (IOMMU or ACS), that must be mended first",
);
const SHM: (&str, &str) =
    ("docker --ipc=host or --shm-size=10g; Kubernetes: emptyDir medium Memory at /dev/shm", "host memory");
const SOCKET: (&str, &str) = (
    "RDMA devices and IPC_LOCK in the container, NCCL_SOCKET_IFNAME and GID set to the fast interface",
    "privileges",
);
const PEER: (&str, &str) = (
    "IOMMU off or in passthrough (iommu=pt) and ACS off on the bridges above the GPUs",
    "isolation between devices: a security review",
);
const UCX: (&str, &str) =
    ("UCX and NIXL built with RDMA (verbs), RDMA devices and IPC_LOCK in the container", "another image");

fn by_log(
    e: &Evidence<'_>,
    meaning: Meaning,
    says: &str,
    change: (&'static str, &'static str),
) -> Option<SlowWay> {
    let event = e.observed.log.first(meaning)?;
    Some(SlowWay { says: says.to_owned(), fact: logged(event), change })
}

fn logged(event: &LogEvent) -> Fact {
    let says = format!("the log says: {}", event.excerpt);
    Fact { says, value: None, limit: None, signal: None, source: event.source() }
}

fn forbidden(e: &Evidence<'_>) -> Option<SlowWay> {
    let set = e.observed.host.iter().flat_map(|host| &host.processes).find_map(|p| {
        let forbids = |(name, value): &&(String, String)| {
            FORBIDS.contains(&name.as_str()) && !matches!(value.as_str(), "0" | "")
        };
        p.environment.iter().find(forbids).map(|(name, value)| (p.pid, format!("{name}={value}")))
    });
    if let Some((pid, set)) = set {
        let source = Source::Kernel { file: format!("proc/{pid}/environ") };
        let says = format!("process {pid} runs with {set}");
        let fact = Fact { says, value: None, limit: None, signal: None, source };
        return Some(SlowWay {
            says: format!("{set} takes a transport away from NCCL"),
            fact,
            change: FORBID,
        });
    }
    by_log(e, Meaning::TransportForbidden, "the environment takes a transport away from NCCL", FORBID)
}

/// A KV cache takes long to set off: UCX fell back to TCP.
fn slow_transfer(e: &Evidence<'_>) -> Option<SlowWay> {
    let event = e.observed.log.of_running(Meaning::KvTransferTimed)?;
    let milliseconds = event.told(Told::TransferTime)?;
    let slow = milliseconds / 1000.0 > e.limit(Limit::SlowTransfer);
    slow.then(|| SlowWay {
        says: format!("a KV transfer takes {milliseconds:.0} ms to begin, as over TCP"),
        fact: logged(event),
        change: UCX,
    })
}

/// KV caches move at the pace of TCP. Small ones are slow over anything, so each must take long enough to be felt, too.
fn slow_rate(e: &Evidence<'_>) -> Option<SlowWay> {
    let event = e.observed.log.of_running(Meaning::KvTransferRate)?;
    let each = event.told(Told::TransferEach)?;
    // Its megabytes have 1,048,576 bytes.
    let rate = Bytes(f64::from(event.number?) * 1_048_576.0);
    let slow = rate.get() < e.limit(Limit::SlowTransferRate) && each / 1000.0 > e.limit(Limit::SlowTransfer);
    slow.then(|| SlowWay {
        says: format!("KV caches move at {rate} a second, as over TCP, and take {each:.0} ms each"),
        fact: logged(event),
        change: UCX,
    })
}

/// Traffic between GPUs is sent up to the root complex: bridges with ACS on, or an IOMMU that translates.
fn redirected(e: &Evidence<'_>) -> Option<SlowWay> {
    const SAYS: &str = "PCIe access control sends traffic between GPUs through the root complex";
    if let Some(event) = e.observed.log.first(Meaning::AcsRedirects) {
        return Some(SlowWay { says: SAYS.into(), fact: logged(event), change: PEER });
    }
    let gpus = e.observed.host.iter().flat_map(|host| &host.devices).filter(|d| d.kind == DeviceKind::Gpu);
    let bridge = gpus.flat_map(|d| &d.bridges).find(|b| b.acs.is_some_and(Acs::redirects_peers))?;
    let source = Source::Kernel { file: format!("pci_acs/{}", bridge.address) };
    let says = format!("bridge {} above a GPU redirects requests between devices", bridge.address);
    let fact = Fact { says, value: None, limit: None, signal: None, source };
    Some(SlowWay { says: SAYS.into(), fact, change: PEER })
}

/// An IOMMU that translates GPUs' traffic, which breaks or slows direct talk.
pub(super) fn translated(e: &Evidence<'_>) -> Option<Fact> {
    let mut gpus =
        e.observed.host.iter().flat_map(|host| &host.devices).filter(|d| d.kind == DeviceKind::Gpu);
    let device = gpus.find(|d| d.iommu.as_ref().is_some_and(|mode| mode.starts_with("DMA")))?;
    let mode = device.iommu.as_deref().unwrap_or_default();
    Some(Fact {
        says: format!("the IOMMU translates what GPU {} sends ({mode})", device.address),
        value: None,
        limit: None,
        signal: None,
        source: Source::Kernel { file: format!("sys/bus/pci/devices/{}", device.address) },
    })
}

/// Whether the cards reach each other over NVLink; `None` where nobody told.
pub(super) fn linked(e: &Evidence<'_>) -> Option<bool> {
    let paths = &e.observed.gpu.paths;
    let told: Vec<bool> = paths.iter().filter_map(|p| p.nvlink).collect();
    if !told.is_empty() {
        return Some(told.contains(&true));
    }
    let up = e.observed.gpu.cards.iter().flat_map(|c| &c.nvlinks).any(|l| l.active == Some(true));
    up.then_some(true)
}

/// The engine's own exchange is not used.
pub(super) fn custom_off(e: &Evidence<'_>) -> Option<Fact> {
    e.observed.log.first(Meaning::CustomAllReduceOff).map(logged)
}
