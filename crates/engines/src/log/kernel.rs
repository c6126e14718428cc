//! Lines of the kernel, its drivers and its accounting files, and of what stands in front of engines.

use super::signature::{LogKind, Numbered, Signature, Wording};
use crate::Meaning::{self, *};

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Kernel, meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(Xid, "Xid ").numbered(Numbered::Kind).from(
        Wording::Incident("NVIDIA/open-gpu-kernel-modules#1355"),
        "Xid 145 (NVLink RLW)",
        "Xid Errors : none",
    ),
    // Reported without a number, too; with one it is Xid 79.
    row(GpuLost, "GPU has fallen off the bus").with("NVRM").without("Xid").from(
        Wording::Code("NVIDIA/open-gpu-kernel-modules:src/common/sdk/nvidia/inc/nverror.h"),
        "NVRM: GPU 0000:19:00.0: GPU has fallen off the bus.",
        "the card is fine and has not fallen off the bus",
    ),
    row(GpuReset, "GPU reset begin!").with("amdgpu").from(
        Wording::Code("torvalds/linux:drivers/gpu/drm/amd/amdgpu/amdgpu_device.c"),
        "amdgpu 0000:87:00.0: amdgpu: GPU reset begin!",
        "amdgpu 0000:87:00.0: amdgpu: GPU reset(1) succeeded!",
    ),
    row(OomKilled, "oom_kill ").numbered(Numbered::Amount).from(
        Wording::Knowledge("causes.json host-memory-pressure; scenarios.md F45"),
        "memory.events oom_kill 1",
        "memory.events oom_kill 0",
    ),
    row(OomKilled, "Out of memory: Kill").without("CUDA").from(
        Wording::Code("torvalds/linux:mm/oom_kill.c"),
        "Out of memory: Killed process 4242 (VLLM::EngineCor) total-vm:203948572kB, anon-rss:61341236kB",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
    ),
    row(OomKilled, "Memory cgroup out of memory: Kill").from(
        Wording::Code("torvalds/linux:mm/oom_kill.c"),
        "Memory cgroup out of memory: Killed process 1161747 (python) total-vm:45114472kB, anon-rss:16987456kB",
        "Memory cgroup stats for /kubepods/pod-1:",
    ),
    row(CpuThrottled, "nr_throttled ").numbered(Numbered::Amount).from(
        Wording::Incident("ollama/ollama#17916"),
        "nr_periods 4567 / nr_throttled 3115",
        "nr_periods 4567 / nr_throttled 0",
    ),
    row(AcsRedirects, "ReqRedir+").with("ACSCtl").from(
        Wording::Incident("vllm-project/vllm#51513"),
        "ACSCtl: SrcValid+ ReqRedir+ CmpltRedir+",
        "ACSCtl: SrcValid- ReqRedir- CmpltRedir-",
    ),
    row(PcieUncorrected, "PCIe Bus Error: severity=Uncorrect").from(
        Wording::Code("torvalds/linux:drivers/pci/pcie/aer.c"),
        "pcieport 0000:c0:01.1: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)",
        "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
    ),
    // Newer kernels write `Correctable`, older ones `Corrected`; both were seen.
    row(PcieCorrected, "PCIe Bus Error: severity=Correct").from(
        Wording::Code("torvalds/linux:drivers/pci/pcie/aer.c"),
        "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        "pcieport 0000:c0:01.1: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)",
    ),
    row(CpuTooHot, "temperature above threshold, cpu clock throttled").from(
        Wording::Code("torvalds/linux:drivers/thermal/intel/therm_throt.c"),
        "CPU1: Core temperature above threshold, cpu clock throttled (total events = 1)",
        "CPU0: Core temperature/speed normal",
    ),
    row(MachineCheck, "[Hardware Error]: Machine check").from(
        Wording::Code("torvalds/linux:arch/x86/kernel/cpu/mce/core.c"),
        "mce: [Hardware Error]: Machine check events logged",
        "MCE: In-kernel MCE decoding enabled.",
    ),
    row(TaskHung, "blocked for more than ").with("INFO: task").from(
        Wording::Code("torvalds/linux:kernel/hung_task.c"),
        "INFO: task python3:4711 blocked for more than 122 seconds.",
        "hung_task: detection is on",
    ),
    // With `blk_update_request:` before it in older kernels, `end_request:` in yet older ones.
    row(StorageError, "I/O error, dev ").from(
        Wording::Code("torvalds/linux:block/blk-core.c"),
        "I/O error, dev nvme0n1, sector 2048 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
        "nvme nvme0: 32/0/0 default/read/poll queues",
    ),
    Signature::new(LogKind::Router, RouterTimeout, "tokenproducer timeout").from(
        Wording::Incident("llm-d/llm-d-router#1552"),
        "default 30s vllm.mmTimeout resulted in tokenproducer timeout errors at 30 and 35 RPS",
        "vllm render sidecar would not use more than 1 CPU",
    ),
];
