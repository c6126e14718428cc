//! The cluster does not start the container at all.

use intriage_engines::Meaning;

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "pod-not-started",
    class: Class::Startup,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability],
    summary: "Kubernetes does not start the container: no node has what the pod asks for, or its image cannot be fetched.",
    symptoms: &[
        "the pod stays Pending, or waits with ErrImagePull or ImagePullBackOff",
        "\"0/3 nodes are available: 3 Insufficient nvidia.com/gpu\"",
        "the container has no log",
    ],
    confirmed_by: &["an event of the scheduler or of the kubelet says so"],
    refuted_by: &["the server came up after that event, or answers"],
    look_alikes: &[
        LookAlike { cause: "host-oom-kill", tell: "there the container ran and was killed" },
        LookAlike { cause: "gpu-not-visible", tell: "there the container runs and finds no GPU" },
    ],
    probe: Probe {
        name: "pod-events",
        steps: "Read the end of `kubectl describe pod NAME`, and `kubectl describe node NODE` for what is allocated of nvidia.com/gpu, memory and taints.",
        if_so: "The event names the resource, the taint or the image.",
        if_not: "No event is left: delete the pod and read it again.",
    },
    remedies: &[
        Remedy::any(
            "what the event names: fewer nvidia.com/gpu or less memory in resources.limits, a toleration for the GPU nodes' taint, the node selector, or another node",
            "another node costs",
        ),
        Remedy::any(
            "where nodes have GPUs and offer none: the NVIDIA device plugin (kubectl get pods -A | grep nvidia-device-plugin)",
            "none",
        ),
        Remedy::any(
            "for an image: its name and tag, imagePullSecrets of the namespace, and room on the node's disk for an image of 10 to 20 GB",
            "none",
        ),
    ],
    effect: "The container starts.",
    confirm: "the pod is Running, and its container writes a log.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::NotScheduled, Meaning::ImageNotPulled]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the cluster does not start its container")
}
