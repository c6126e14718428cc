//! People in what a machine's own tools print: lists of processes, files, sessions and jobs.

use super::{Finds, Part, Rule, user};

pub(super) const ACCOUNTS: &[Rule] = &[
    Rule {
        name: "listed-user",
        what: "users in lists of processes, files, sessions and jobs",
        finds: Finds::Structure { needles: "", part: Part::Listed },
        source: "ps(1), top(1), ls(1), w(1), who(1), lsof(8), fuser(1), squeue(1)",
        hides: "«annalee»     1234  101  2.3 90000000 800000 ?     Rl   10:01  12:33 vllm serve m --port 8000",
        keeps: "root     1234  101  2.3 90000000 800000 ?     Rl   10:01  12:33 vllm serve m --port 8000",
    },
    Rule {
        name: "id-user",
        what: "users and groups as id prints them",
        finds: user("uid= gid= groups=", r"(?:[ug]id|groups)=[0-9]+\(([A-Za-z][A-Za-z0-9._-]*)\)"),
        source: "id(1)",
        hides: "uid=1001(«annalee») gid=1001(«annalee») groups=1001(«annalee»),27(sudo)",
        keeps: "uid=0(root) gid=0(root), uid=1000, groups=27",
    },
    Rule {
        name: "tilde-home",
        what: "users in a shell's short form of their folder",
        finds: user("␣~ =~ :~ \"~ '~", r#"[ =:"']~([a-z][a-z0-9_-]*)/"#),
        source: "the shell's tilde expansion",
        hides: "cd ~«annalee»/models",
        keeps: "cd ~/models, ~=2.1/x, about ~3/4",
    },
];
