//! Hosts as the messages name them that say where something ran or could not be reached, and people in them.

use super::{Finds, Part, Rule, host, user};
use crate::hosts::is_url_host;
use crate::trade::is_name_of_its_own;

pub(super) const UNREACHED: &[Rule] = &[
    Rule {
        name: "assigned-node",
        what: "nodes that pods were assigned to",
        finds: host(
            is_named,
            "successfully␣assigned",
            r"Successfully assigned [^ ]+ to ([A-Za-z0-9][A-Za-z0-9.-]*)",
        ),
        source: "Kubernetes' scheduler, its event Scheduled",
        hides: "Successfully assigned default/vllm-0 to «gpunode»",
        keeps: "Successfully assigned the port",
    },
    Rule {
        name: "bracketed-host",
        what: "hosts in brackets before a port",
        finds: host(
            is_named,
            "connect␣to␣[ connected␣to␣[ listen␣on␣[ listening␣on␣[",
            r"(?:[Cc]onnect|[Cc]onnected|[Ll]isten|[Ll]istening) (?:to|on) \[([A-Za-z][A-Za-z0-9.-]*)\]:[0-9]{2,5}",
        ),
        source: "PyTorch's c10d, socket.cpp",
        hides: "The client socket has failed to connect to [«gpunode»]:29500 (errno: 110).",
        keeps: "listening on [::]:29500, connect to [localhost]:29500, connected to [0]: 5",
    },
    Rule {
        name: "unresolved-host",
        what: "hosts whose names are not known",
        finds: host(
            is_named,
            "resolve␣host resolve␣' resolve␣\"",
            r#"(?:resolve host(?:name)?:? |resolve ['"])([A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9])"#,
        ),
        source: "curl's, ssh's and urllib3's messages",
        hides: "Could not resolve hostname «gpunode»: x; Failed to resolve '«gpunode»' ([Errno -2])",
        keeps: "failed to resolve localhost, cannot resolve 'localhost', could not resolve host: localhost",
    },
    Rule {
        name: "connect-host",
        what: "hosts that refused or took a connection",
        finds: host(
            is_named,
            "connect␣to connected␣to",
            r"[Cc]onnect(?:ed)? to (?:host )?([A-Za-z0-9][A-Za-z0-9._-]*) (?:\([^ )]+\) )?port [0-9]",
        ),
        source: "ssh's and curl's messages",
        hides: "ssh: connect to host «gpunode» port 22: Connection refused; Failed to connect to «gpunode» port 8000",
        keeps: "connect to localhost port 8000, connect to the port 8000",
    },
    Rule {
        name: "uname",
        what: "the host in what uname prints",
        finds: host(
            is_named,
            "linux␣",
            r"Linux ([A-Za-z0-9][A-Za-z0-9.-]*) [0-9]+\.[0-9]+\.[0-9][^ ]* #[0-9]",
        ),
        source: "uname(1), -a",
        hides: "Linux «gpunode» 5.15.0-1063-aws #69-Ubuntu SMP x86_64 GNU/Linux",
        keeps: "Linux localhost 5.15.0 #1, Linux kernel 5.15.0 is old",
    },
    Rule {
        name: "quoted-user",
        what: "users before what went wrong for them",
        finds: user("user␣\"", r#"user "([A-Za-z][A-Za-z0-9_.-]*)": "#),
        source: "nginx, ngx_http_auth_basic_module",
        hides: r#"user "«alice»": password mismatch, client"#,
        keeps: r#"user "root": password mismatch, user "a b": x"#,
    },
    Rule {
        name: "logged-in",
        what: "users who are logged in",
        finds: user("logged␣in␣as", r"[Ll]ogged in as:? ([A-Za-z][A-Za-z0-9_-]*[A-Za-z0-9])"),
        source: "wandb's and hub's messages",
        hides: "wandb: Currently logged in as: «alice» (acme)",
        keeps: "you are logged in as root",
    },
    Rule {
        name: "access-user",
        what: "users in access logs",
        finds: Finds::Structure { needles: "", part: Part::AccessLog },
        source: "the common log format: HOST IDENT USER [TIME]",
        hides: "127.0.0.1 - «alice» [16/Nov/2026:07:40:21 +0000] \"GET / HTTP/1.1\" 200 5",
        keeps: "127.0.0.1 - - [16/Nov/2026:07:40:21 +0000] \"GET / HTTP/1.1\" 200 5",
    },
];

/// A host that is no word of a sentence.
fn is_named(name: &str) -> bool {
    is_url_host(name) && is_name_of_its_own(name)
}
