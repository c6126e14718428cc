//! Lines of Kubernetes about a pod, as `kubectl describe pod`, `kubectl get events` and a pod's manifest show them.

use super::signature::{LogKind, Signature, Wording};
use crate::Meaning::{self, *};

const DESCRIBE: Wording =
    Wording::Code("kubernetes/kubernetes:staging/src/k8s.io/kubectl/pkg/describe/describe.go");
const STATUS: Wording = Wording::Code("kubernetes/kubernetes:staging/src/k8s.io/api/core/v1/types.go");
const RESTART: Wording =
    Wording::Code("kubernetes/kubernetes:pkg/kubelet/kuberuntime/kuberuntime_manager.go");
const PROBER: Wording = Wording::Code("kubernetes/kubernetes:pkg/kubelet/prober/prober.go");
const EVICTION: Wording = Wording::Code("kubernetes/kubernetes:pkg/kubelet/eviction/helpers.go");
const OOM: Wording = Wording::Code("kubernetes/kubernetes:pkg/kubelet/oom/oom_watcher_linux.go");
const SCHEDULER: Wording = Wording::Code("kubernetes/kubernetes:pkg/scheduler/framework/types.go");
const IMAGES: Wording = Wording::Code("kubernetes/kubernetes:pkg/kubelet/images/types.go");

const NOT_READY: &str = "  Warning  Unhealthy  3m (x4 over 5m)  kubelet  Readiness probe failed: HTTP probe failed with statuscode: 503";
const PULLED: &str = "  Normal   Pulled     5m    kubelet  Container image \"vllm/vllm-openai:v0.9.1\" already present on machine";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Launcher, meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(HostKilled, "OOMKilled").without("false").from(
        DESCRIBE,
        "      Reason:       OOMKilled",
        "            \"OOMKilled\": false,",
    ),
    row(HostKilled, "System OOM encountered, victim process").from(
        OOM,
        "  Warning  SystemOOM  2m  kubelet  System OOM encountered, victim process: python3, pid: 811",
        PULLED,
    ),
    row(HostKilled, "The node was low on resource: memory").from(
        EVICTION,
        "  Warning  Evicted  2m  kubelet  The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi.",
        "  Warning  Evicted  2m  kubelet  The node was low on resource: pids.",
    ),
    row(DiskFull, "The node was low on resource: ephemeral-storage").from(
        EVICTION,
        "  Warning  Evicted  2m  kubelet  The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 9Gi.",
        "  Warning  Evicted  2m  kubelet  The node was low on resource: pids.",
    ),
    // Signal 9 has several senders: the kernel, and a kubelet whose patience with a probe has ended.
    row(ExitedKilled, "Exit Code:    137").from(DESCRIBE, "      Exit Code:    137", "      Exit Code:    0"),
    row(ExitedKilled, "exitCode: 137").from(STATUS, "        exitCode: 137", "        exitCode: 0"),
    row(ExitedKilled, "exitCode\": 137").from(
        STATUS,
        "            \"exitCode\": 137,",
        "            \"exitCode\": 0,",
    ),
    row(CppException, "Exit Code:    139").from(DESCRIBE, "      Exit Code:    139", "      Exit Code:    0"),
    row(CppException, "Exit Code:    134").from(DESCRIBE, "      Exit Code:    134", "      Exit Code:    0"),
    row(ProbeKilled, "probe, will be restarted").from(
        RESTART,
        "  Normal   Killing    2m    kubelet  Container vllm failed liveness probe, will be restarted",
        NOT_READY,
    ),
    row(ProbeFailed, "Liveness probe failed: ").from(
        PROBER,
        "  Warning  Unhealthy  3m (x4 over 5m)  kubelet  Liveness probe failed: Get \"http://10.1.2.3:8000/health\": dial tcp 10.1.2.3:8000: connect: connection refused",
        NOT_READY,
    ),
    row(ProbeFailed, "Startup probe failed: ").from(
        PROBER,
        "  Warning  Unhealthy  3m (x30 over 5m)  kubelet  Startup probe failed: HTTP probe failed with statuscode: 503",
        NOT_READY,
    ),
    row(NotScheduled, " nodes are available: ").with("0/").from(
        SCHEDULER,
        "  Warning  FailedScheduling  2m  default-scheduler  0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available.",
        "  Normal   Scheduled  2m  default-scheduler  Successfully assigned default/vllm-0 to node1",
    ),
    row(ImageNotPulled, "ErrImagePull").from(IMAGES, "  Warning  Failed  2m  kubelet  Error: ErrImagePull", PULLED),
    row(ImageNotPulled, "ImagePullBackOff").from(
        IMAGES,
        "  Warning  Failed  2m  kubelet  Error: ImagePullBackOff",
        PULLED,
    ),
];
