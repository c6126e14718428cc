//! What stands on other lines than its name, or goes over several.

use super::{Finds, Part, Rule};

pub(super) const SEVERAL_LINES: &[Rule] = &[
    Rule {
        name: "secret-data",
        what: "whatever a Kubernetes Secret holds",
        finds: Finds::Structure { needles: r#"secret" secret\"#, part: Part::SecretData },
        source: "Kubernetes' reference, Secret v1: data and stringData",
        hides: r#"applied {"kind":"Secret","data":{"tls":"«bGV0bWVpbg==»"}}"#,
        keeps: r#"applied {"kind":"ConfigMap","data":{"a":"bGV0bWVpbg=="}}, a "Secret" of "data""#,
    },
    Rule {
        name: "value-below",
        what: "secrets and prompts on the lines below their name",
        finds: Finds::Structure { needles: "", part: Part::Below },
        source: "docker inspect, kubectl describe, JSON and YAML as they are printed",
        hides: "Args:\n  --api-key\n  «letmein»\n  --port\n  8000",
        keeps: "Args:\n  --max-num-seqs\n  8\nsecret:\n  secretName: hub",
    },
    Rule {
        name: "cut-value",
        what: "the rest of a value that a container's runtime cut",
        finds: Finds::Structure { needles: "", part: Part::Cut },
        source: "Kubernetes' CRI log format, tag P; docker's json-file driver cuts at 16 KiB",
        hides: "2026-11-16T07:40:21.1Z stderr P prompt: '«who is»\n2026-11-16T07:40:21.1Z stderr F «it now»', n=7",
        keeps: "2026-11-16T07:40:21.1Z stderr P ready and\n2026-11-16T07:40:21.1Z stderr F waiting', n=7",
    },
];
