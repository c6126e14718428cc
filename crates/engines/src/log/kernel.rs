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
    row(OomKilled, "oom_kill ").numbered(Numbered::Amount).from(
        Wording::Knowledge("causes.json host-memory-pressure; scenarios.md F45"),
        "memory.events oom_kill 1",
        "memory.events oom_kill 0",
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
    Signature::new(LogKind::Router, RouterTimeout, "tokenproducer timeout").from(
        Wording::Incident("llm-d/llm-d-router#1552"),
        "default 30s vllm.mmTimeout resulted in tokenproducer timeout errors at 30 and 35 RPS",
        "vllm render sidecar would not use more than 1 CPU",
    ),
];
