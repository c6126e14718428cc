//! Users in the rows of tables that a machine's own tools print, told by what stands in the columns beside them.

use crate::hits::{Hit, With};
use crate::homes::is_user;
use crate::prefixes::Own;
use crate::pseudonyms::Kind;
use crate::rules::Part;
use crate::scan::rule_name;

/// What a column of a row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// A user, or a group.
    User,
    /// A whole number, perhaps with a sign.
    Number,
    /// A number with or without a point.
    Share,
    /// A number with or without a unit: `90.0g`.
    Size,
    /// A priority: a number, or `rt`.
    Priority,
    /// `?`, `pts/0`, `tty1`.
    Terminal,
    /// `pts/0` or `tty1` alone.
    RealTerminal,
    /// The state of a process or a job, in letters: `Rl+`, `S`, `PD`.
    State,
    /// A time with a colon in it: `12:33`.
    Clock,
    /// What may be done with a file: `-rw-r--r--`.
    Mode,
    /// What a process has open: `mem`, `12u`, `cwd`.
    Open,
    /// How a process uses a file: `F....`.
    Access,
    /// Anything.
    Any,
}
use Column::{
    Access, Any, Clock, Mode, Number, Open, Priority, RealTerminal, Share, Size, State, Terminal, User,
};

/// The rows, by who prints them.
const ROWS: [(&str, &[Column]); 9] = [
    ("ps aux", &[User, Number, Share, Share, Number, Number, Terminal, State, Any, Clock]),
    ("ps -ef", &[User, Number, Number, Number, Any, Terminal, Clock]),
    (
        "ps -elf",
        &[Any, State, User, Number, Number, Number, Any, Number, Any, Number, Any, Any, Terminal, Clock],
    ),
    ("top", &[Number, User, Priority, Number, Size, Size, Size, State, Share, Share, Clock]),
    ("ls -l", &[Mode, Number, User, User, Size, Any, Any, Any]),
    ("w, who", &[User, RealTerminal, Any, Clock]),
    ("lsof", &[Any, Number, User, Open, Any]),
    ("fuser -v", &[User, Number, Access, Any]),
    ("squeue", &[Number, Any, Any, User, State, Clock, Number]),
];

/// Most columns of a row.
const MOST: usize = 14;

/// Accounts that every machine has: they say nothing of the owner. A list cuts long names.
const SYSTEM: [&str; 38] = [
    "daemon",
    "bin",
    "sys",
    "sync",
    "games",
    "man",
    "lp",
    "mail",
    "news",
    "uucp",
    "proxy",
    "www-data",
    "backup",
    "list",
    "irc",
    "gnats",
    "syslog",
    "messagebus",
    "message",
    "dbus",
    "polkitd",
    "sshd",
    "chrony",
    "ntp",
    "rpc",
    "nginx",
    "redis",
    "postgres",
    "mysql",
    "systemd",
    "nvidia-persistenced",
    "nvidia-",
    "nvidia",
    "rtkit",
    "avahi",
    "uuidd",
    "tss",
    "total",
];

/// Adds the users of a row.
pub(crate) fn find(line: &str, own: Own, hits: &mut Vec<Hit>) {
    let text = own.of(line);
    if !may_be_a_row(text) {
        return;
    }
    let mut words = [""; MOST];
    let mut count = 0;
    for (place, word) in words.iter_mut().zip(text.split_ascii_whitespace()) {
        *place = word;
        count += 1;
    }
    let words = &words[..count];
    let fits = |columns: &[Column]| {
        words.len() >= columns.len() && columns.iter().zip(words).all(|(column, word)| column.takes(word))
    };
    let Some((_, columns)) = ROWS.iter().find(|(_, columns)| fits(columns)) else { return };
    let mut at = own.start;
    for (column, word) in columns.iter().zip(words) {
        let start = at + line[at..].find(word).unwrap_or_default();
        at = start + word.len();
        let name = word.trim_end_matches('+');
        let system = name.starts_with("systemd-") || name.starts_with('_') || SYSTEM.contains(&name);
        if *column == User && !system && is_user(name) {
            let (end, with) = (start + name.len(), With::Pseudonym(Kind::User));
            hits.push(Hit { start, end, with, rule: rule_name(Part::Listed) });
        }
    }
}

/// Whether the first or the second word of a text can be those of a row: this is asked of every line.
fn may_be_a_row(text: &str) -> bool {
    let text = text.trim_ascii_start().as_bytes();
    let first = text.iter().take(40).take_while(|byte| **byte > b' ').count();
    let Some(rest) = text.get(first..) else { return false };
    let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
    let second = rest.get(blanks).copied().unwrap_or_default();
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    first > 0
        && first < 40
        && (second.is_ascii_digit()
            || digit(text.first()) && text[..first].iter().all(u8::is_ascii_digit)
            || matches!(rest.get(blanks..), Some([b'p', b't', b's', b'/', ..] | [b't', b't', b'y', ..]))
            || first == 1 && second.is_ascii_uppercase())
}

impl Column {
    fn takes(self, word: &str) -> bool {
        let bytes = word.as_bytes();
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let decimal = |text: &str| text.split(['.', ',']).all(digits);
        match self {
            Any => true,
            User => {
                // A row has names here, and nothing with signs in it.
                (bytes[0].is_ascii_alphanumeric() || bytes[0] == b'_')
                    && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-+".contains(byte))
            }
            Number => digits(word.trim_start_matches('-')),
            Share => decimal(word.trim_end_matches('%')),
            Size => {
                decimal(word.trim_end_matches(['k', 'm', 'g', 't', 'p', 'K', 'M', 'G', 'T', 'P', 'i', 'B']))
            }
            Priority => word == "rt" || digits(word.trim_start_matches('-')),
            Terminal => word == "?" || RealTerminal.takes(word),
            RealTerminal => {
                let number = word.strip_prefix("pts/").or_else(|| word.strip_prefix("tty"));
                number.is_some_and(|number| !number.is_empty() && number.len() < 6)
            }
            State => bytes.len() <= 5 && bytes[0].is_ascii_uppercase() && !digits(word),
            Clock => {
                word.contains(':')
                    && word.bytes().all(|byte| byte.is_ascii_digit() || b":.-,".contains(&byte))
            }
            Mode => {
                bytes.len() >= 10
                    && b"-dlcbsp".contains(&bytes[0])
                    && bytes[1..10].iter().all(|b| b"rwxsStT-".contains(b))
            }
            Open => {
                ["cwd", "rtd", "txt", "mem", "DEL", "err", "mmap"].contains(&word)
                    || digits(word.trim_end_matches(['r', 'w', 'u', 'W', 'R'])) && !digits(word)
            }
            Access => {
                bytes.len() >= 5
                    && bytes.len() <= 6
                    && word.contains("..")
                    && word.bytes().all(|b| b".FfcreRm".contains(&b))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn every_list_of_a_machine_hides_its_users_and_nothing_else() {
        for row in [
            "annalee     1234  101  2.3 90000000 800000 ?     Rl   10:01  12:33 vllm serve m --max-num-seqs 8",
            "annalee+    1234  0.0  0.0 9000 800 pts/3     Ss+   Nov16  0:00 -bash",
            "annalee     1234       1 99 10:01 ?        00:12:33 vllm serve m",
            "0 S annalee     1234       1 99  80   0 - 123456 -      10:01 ?        00:12:33 vllm serve m",
            "   1234 annalee   20   0   90.0g   8.0g   1.0g R 101.0   2.3  12:33.44 python3",
            "   1234 annalee   rt  -5   90000   8000   1000 S   0.0   0.0   0:00.44 python3",
            "-rw-r--r-- 1 annalee annalee 1234 Nov 16 10:00 model-00001-of-00004.safetensors",
            "annalee  pts/0    10:0:S.1         09:00    1.00s  0.03s  0.00s w",
            "annalee  pts/0        2026-11-16 09:00 (:0)",
            "python3   1234 annalee  mem    REG  195,255   123 /dev/nvidia0",
            "python3   1234 annalee  12u    CHR  195,0   0t0 /dev/nvidia0",
            "annalee   1234 F...m python3",
            "             12345       gpu     vllm  annalee  R      10:00      1 (None)",
        ] {
            for prefix in ["", "vllm-1  | ", "(APIServer pid=1) INFO 11-16 07:40:20 [core.py:12] "] {
                let line = [prefix, row].concat();
                let safe = Redactor::new().text(&line).into_owned();
                assert_eq!(safe, line.replace("annalee", "user-1"));
                assert_eq!(Redactor::new().text(&safe), safe);
            }
        }
    }

    #[test]
    fn accounts_every_machine_has_and_other_rows_stay() {
        for line in [
            "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND",
            "www-data    1235  0.0  0.0   1000   500 ?        S    10:01   0:00 nginx: worker process",
            "systemd+    1235  0.0  0.0   1000   500 ?        S    10:01   0:00 /lib/systemd/systemd-resolved",
            "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND",
            "      1 root      20   0  168000  11000   8000 S   0.0   0.0   0:01.00 systemd",
            "drwxr-xr-x 2 root root 4096 Nov 16 08:21 .",
            "total 140",
            "Running 4 of 7 requests, 3 waiting",
            "token 1234 0.5 0.25 8 16 of 32",
            "0 1 2 3 4 5 6 7",
            "    0   N/A  N/A      1234      C   python3     80000MiB",
        ] {
            assert_eq!(Redactor::new().text(line), line);
        }
    }
}
