//! NVIDIA Dynamo: what ends the start of a worker or of the front end. Read in stored versions of the files of 2025 and 2026.

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const STARTS: &str =
    "2025-05-22T10:11:01.123Z  INFO dynamo_runtime::distributed: Connecting to etcd at http://localhost:2379";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::Dynamo), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(CoordinationUnreachable, ". Check etcd server status").from(
        Wording::Code("ai-dynamo/dynamo:lib/runtime/src/transports/etcd.rs"),
        "Error: Unable to create lease. Check etcd server status at http://localhost:2379",
        STARTS,
    ),
    row(CoordinationUnreachable, "Failed to connect to etcd server").from(
        Wording::Incident("ai-dynamo/dynamo#10798"),
        "Error: Failed to connect to etcd server with config ClientOptions { etcd_url: [\"http://dynamo-etcd:2379\"], etcd_connect_options: None, attach_lease: true }",
        STARTS,
    ),
    row(CoordinationUnreachable, "Failed to connect to NATS: ").from(
        Wording::Code("ai-dynamo/dynamo:lib/runtime/src/transports/nats.rs"),
        "Error: Failed to connect to NATS: IO error: Connection refused (os error 111)",
        STARTS,
    ),
    row(CoordinationUnreachable, "JetStream not available: ").from(
        Wording::Code("ai-dynamo/dynamo:lib/runtime/src/transports/nats.rs"),
        "Error: JetStream not available: timed out: didn't receive response in time",
        STARTS,
    ),
];
