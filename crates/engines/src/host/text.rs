//! The few shapes kernel texts have: `key value` lines, lists of numbers such as `0-3,8`, two-line tables.

/// The number after `key` in lines such as `pgmajfault 12`, `MemTotal:  1024 kB` or `throttled_usec 5`.
pub(super) fn number(text: &str, key: &str) -> Option<f64> {
    value(text, key)?.split_whitespace().next()?.parse::<u64>().ok().map(|n| n as f64)
}

/// What stands after `key` on its line, with or without a colon between.
pub(super) fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix(key)?;
        let rest = rest.trim_start_matches([' ', '\t']).strip_prefix(':').or_else(|| {
            // Without a colon the key must end here: `nr_huge` is not `nr_hugepages`.
            rest.starts_with([' ', '\t']).then_some(rest)
        })?;
        Some(rest.trim())
    })
}

/// The numbers in a list such as `0-3,8,10-11`; `None` where it is not one. An empty list is a list.
///
/// More than 64k numbers are taken for damage: no machine has as many CPUs or nodes.
pub(super) fn list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last < first || last - first > 65_536 || numbers.len() > 65_536 {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// A cell of the tables in `proc/net/snmp` and `proc/net/netstat`: a line of names, then a line of values.
pub(super) fn table_cell(text: &str, table: &str, column: &str) -> Option<f64> {
    let mut lines =
        text.lines().filter_map(|line| line.split_once(':')).filter(|(name, _)| *name == table).map(|l| l.1);
    let at = lines.next()?.split_whitespace().position(|name| name == column)?;
    // Some of them are signed: an unset limit is -1.
    lines.next()?.split_whitespace().nth(at)?.parse::<i64>().ok().map(|n| n as f64)
}

/// A file that holds one number.
pub(super) fn single(text: &str) -> Option<f64> {
    text.trim().parse::<u64>().ok().map(|n| n as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_whole_words() {
        let text = "nr_hugepages 4\nMemTotal:       2048 kB\nse.nr_migrations    :      36\n";
        assert_eq!(number(text, "nr_huge"), None);
        assert_eq!(number(text, "nr_hugepages"), Some(4.0));
        assert_eq!(number(text, "MemTotal"), Some(2048.0));
        assert_eq!(number(text, "se.nr_migrations"), Some(36.0));
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(list("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(list("\n"), Some(vec![]));
        assert_eq!(list("3-1"), None);
        assert_eq!(list("0-4294967295"), None);
    }

    #[test]
    fn tables_are_read_by_column() {
        let text = "Tcp: RtoMin MaxConn RetransSegs\nTcp: 200 -1 7\nUdp: X\nUdp: 1\n";
        assert_eq!(table_cell(text, "Tcp", "RetransSegs"), Some(7.0));
        assert_eq!(table_cell(text, "Tcp", "MaxConn"), Some(-1.0));
        assert_eq!(table_cell(text, "Tcp", "X"), None);
        assert_eq!(table_cell("Tcp: A B\nTcp: 1\n", "Tcp", "B"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~\n\t]{0,200}", key in "[a-zA-Z_:]{0,8}") {
            let _ = (number(&text, &key), list(&text), table_cell(&text, &key, &key), single(&text));
        }
    }
}
