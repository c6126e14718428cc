//! Pseudonyms of a whole case.

use std::collections::{BTreeMap, BTreeSet};

use intriage_case::{Case, file, layout};
use intriage_redact::{pseudonyms_in, rename};

use crate::OpenError;

/// Every pseudonym that stands anywhere in a case.
pub fn pseudonyms_of(case: &Case) -> Result<BTreeSet<String>, OpenError> {
    let files = file::contents(case).map_err(not_written)?;
    let of_file = |(name, bytes): &(String, Vec<u8>)| {
        let mut found = pseudonyms_in(&String::from_utf8_lossy(bytes));
        found.extend(pseudonyms_in(name));
        found
    };
    Ok(files.iter().flat_map(of_file).collect())
}

/// The same case with pseudonyms renamed everywhere.
pub fn renamed(case: Case, names: &BTreeMap<String, String>) -> Result<Case, OpenError> {
    if names.is_empty() {
        return Ok(case);
    }
    let mut new = Case::default();
    for (name, bytes) in file::contents(&case).map_err(not_written)? {
        // Every file of a case is text; what is none holds no pseudonym of ours.
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => rename(&text, names).into_owned().into_bytes(),
            Err(raw) => raw.into_bytes(),
        };
        if name == file::MANIFEST {
            file::put_manifest(&bytes, &mut new).map_err(not_written)?;
        } else {
            layout::add(&mut new, &rename(&name, names), bytes);
        }
    }
    for replica in &mut new.replicas {
        replica.case.redacted = new.redacted;
    }
    Ok(new)
}

fn not_written(why: file::CaseFileError) -> OpenError {
    OpenError::NotACase { path: "the case".into(), why }
}

#[cfg(test)]
mod tests {
    use intriage_case::{LogText, Target};

    use super::*;

    #[test]
    fn a_pseudonym_has_its_new_name_in_every_file() {
        let case = Case {
            target: Target { name: "http://host-1:8000".into() },
            logs: vec![LogText { name: "host-1.log".into(), text: "from ip-1 to host-1\n".into() }],
            notes: vec!["host-1 was slow".into()],
            redacted: true,
            ..Case::default()
        };
        assert_eq!(pseudonyms_of(&case).unwrap(), BTreeSet::from(["host-1".to_owned(), "ip-1".to_owned()]));
        let new = renamed(case.clone(), &BTreeMap::from([("host-1".into(), "host-7".into())])).unwrap();
        assert_eq!(
            (new.target.name.as_str(), new.notes[0].as_str()),
            ("http://host-7:8000", "host-7 was slow")
        );
        assert_eq!(
            (new.logs[0].name.as_str(), new.logs[0].text.as_str()),
            ("host-7.log", "from ip-1 to host-7\n")
        );
        let back = renamed(new, &BTreeMap::from([("host-7".into(), "host-1".into())])).unwrap();
        assert_eq!(back, case);
    }
}
