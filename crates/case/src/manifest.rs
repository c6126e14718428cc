//! Files that say how the server is meant to be started: a systemd unit, a compose file, a Kubernetes manifest.
//!
//! In a recording one lies under `manifests/<unix_ms>/<name>`, the time being that of its last change (0 where nobody
//! knows), as it was written apart from what was redacted.

use crate::Millis;

/// Most bytes of one manifest: an umbrella chart rendered into one file is a few hundred kB.
pub const MAX_MANIFEST_BYTES: usize = 1 << 20;

/// Most manifests of one case.
pub const MAX_MANIFESTS: usize = 64;

/// A file that says how the server is meant to be started, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestText {
    /// Its name without folders, such as `vllm.service`.
    pub name: String,
    /// When the file was last changed, where that is known.
    pub changed: Option<Millis>,
    /// Its text.
    pub text: String,
}

/// Whether a name may stand under `manifests/<unix_ms>/`.
pub fn is_manifest_name(name: &str) -> bool {
    crate::host::is_name(name) && !name.contains('/')
}

/// Splits `<unix_ms>/<name>` as it stands under `manifests/`.
pub(crate) fn place(file: &str) -> Option<(Option<Millis>, &str)> {
    let (time, name) = file.split_once('/')?;
    let digits = !time.is_empty() && time.bytes().all(|b| b.is_ascii_digit());
    let at: u64 = time.parse().ok().filter(|_| digits)?;
    is_manifest_name(name).then_some(((at > 0).then_some(Millis(at)), name))
}

/// The name of a manifest's file in a recording.
pub(crate) fn file_name(manifest: &ManifestText) -> String {
    format!("manifests/{}/{}", manifest.changed.map_or(0, |at| at.0), manifest.name)
}

/// Adds a manifest; an error says why it was left out. The same text under the same name is one file; another text is a
/// file of its own, as drop-ins of several folders are, and gets another name where both would lie in one place.
pub(crate) fn add(manifests: &mut Vec<ManifestText>, mut manifest: ManifestText) -> Result<(), &'static str> {
    if manifest.text.len() > MAX_MANIFEST_BYTES {
        return Err("larger than a manifest may be");
    }
    manifests.retain(|known| known.name != manifest.name || known.text != manifest.text);
    if manifests.len() >= MAX_MANIFESTS {
        return Err("one manifest too many");
    }
    let name = manifest.name.clone();
    let mut number = 2;
    while manifests.iter().any(|known| file_name(known) == file_name(&manifest)) {
        // What it is shows at its end.
        manifest.name = match name.rsplit_once('.') {
            Some((stem, end)) => format!("{stem}-{number}.{end}"),
            None => format!("{name}-{number}"),
        };
        number += 1;
    }
    manifests.push(manifest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_lies_under_the_time_of_its_last_change() {
        let given =
            ManifestText { name: "vllm.service".into(), changed: Some(Millis(1700)), text: "x".into() };
        assert_eq!(file_name(&given), "manifests/1700/vllm.service");
        assert_eq!(place("1700/vllm.service"), Some((Some(Millis(1700)), "vllm.service")));
        assert_eq!(place("0/compose.yaml"), Some((None, "compose.yaml")));
        for bad in ["x/vllm.service", "1700", "1/a/b", "1/..", "/vllm.service", "1/"] {
            assert_eq!(place(bad), None, "{bad}");
        }
    }

    #[test]
    fn manifests_have_limits() {
        let of = |name: String, size: usize| ManifestText { name, changed: None, text: "x".repeat(size) };
        let mut all = Vec::new();
        assert!(add(&mut all, of("big".into(), MAX_MANIFEST_BYTES + 1)).is_err());
        for i in 0..MAX_MANIFESTS {
            add(&mut all, of(format!("{i}.yaml"), 1)).unwrap();
        }
        assert!(add(&mut all, of("more.yaml".into(), 1)).is_err());
        assert!(add(&mut all, of("0.yaml".into(), 1)).is_ok());
    }

    #[test]
    fn two_files_of_one_name_stay_two() {
        let of = |changed: u64, text: &str| ManifestText {
            name: "override.conf".into(),
            changed: Some(Millis(changed)),
            text: text.into(),
        };
        let mut all = Vec::new();
        for given in [of(1, "a"), of(2, "b"), of(2, "c"), of(2, "d"), of(3, "a")] {
            add(&mut all, given).unwrap();
        }
        let files: Vec<String> = all.iter().map(file_name).collect();
        assert_eq!(
            files,
            [
                "manifests/2/override.conf",
                "manifests/2/override-2.conf",
                "manifests/2/override-3.conf",
                "manifests/3/override.conf"
            ]
        );
    }
}
