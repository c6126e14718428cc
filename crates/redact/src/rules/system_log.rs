//! What the system's own log says of machines and people: syslog, sshd, sudo, cron, logind.

use super::{Finds, Part, Rule, user};

pub(super) const SYSTEM_LOG: &[Rule] = &[
    Rule {
        name: "log-host",
        what: "hosts before the lines of a system log",
        finds: Finds::Structure { needles: "", part: Part::LogHost },
        source: "RFC 3164, RFC 5424; journalctl's short, short-iso and short-precise",
        hides: "Nov 16 07:40:20 «gpunode» kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
        keeps: "Nov 16 07:40:20 localhost sshd[7]: ready",
    },
    Rule {
        name: "login-user",
        what: "users who logged in",
        finds: user(
            "accepted failed",
            r"(?:Accepted|Failed) [a-z/-]+ for (?:invalid user )?([A-Za-z_][A-Za-z0-9_.-]*) from (?:[0-9a-fA-F:.]+|ip-[0-9]+|UNKNOWN) ",
        ),
        source: "sshd's auth.c",
        hides: "sshd[7]: Accepted publickey for «alice» from 127.0.0.1 port 51408 ssh2",
        keeps: "Failed password for root from 127.0.0.1 port 22, Failed to get device properties for GPU from driver",
    },
    Rule {
        name: "invalid-user",
        what: "users who do not exist",
        finds: user(
            "invalid",
            r"[Ii]nvalid user ([A-Za-z_][A-Za-z0-9_.-]*) from (?:[0-9a-fA-F:.]+|ip-[0-9]+|UNKNOWN) ",
        ),
        source: "sshd's auth.c",
        hides: "sshd[7]: Invalid user «bob» from 127.0.0.1 port 51408",
        keeps: "Invalid user input from client",
    },
    Rule {
        name: "session-user",
        what: "users whose session began or ended",
        finds: user(
            "session",
            r"[Ss]ession (?:opened for user|closed for user|[a-z]*[0-9]+ of [Uu]ser) ([A-Za-z_][A-Za-z0-9_.-]*[A-Za-z0-9_-]|[A-Za-z_])",
        ),
        source: "pam_unix(8); systemd-logind",
        hides: "pam_unix(sshd:session): session opened for user «alice»(uid=1001) by (uid=0)",
        keeps: "session opened for user root(uid=0) by (uid=0), session 7 of 12",
    },
    Rule {
        name: "session-by",
        what: "users who became another",
        finds: user("by", r"by ([A-Za-z_][A-Za-z0-9_.-]*)\(uid="),
        source: "pam_unix(8)",
        hides: "pam_unix(sudo:session): session opened for user root(uid=0) by «alice»(uid=1001)",
        keeps: "session opened by (uid=0), killed by signal(9)",
    },
    Rule {
        name: "sudo-user",
        what: "users of sudo",
        finds: user("sudo", r"sudo(?:\[[0-9]+\])?:[ ]+([A-Za-z_][A-Za-z0-9_.-]*) : "),
        source: "sudoers(5), the format of its log",
        hides: "sudo[7]:   «alice» : TTY=pts/0 ; PWD=/srv ; USER=root ; COMMAND=/usr/bin/nvidia-smi",
        keeps: "sudo: a password is required",
    },
    Rule {
        name: "cron-user",
        what: "users whose jobs ran",
        finds: user("cron", r"(?i-u:cron)(?:\[[0-9]+\])?: \(([A-Za-z_][A-Za-z0-9_.-]*)\) CMD"),
        source: "cron(8)",
        hides: "CRON[7]: («alice») CMD (/srv/clean.sh)",
        keeps: "CRON[7]: (root) CMD (/srv/clean.sh)",
    },
];
