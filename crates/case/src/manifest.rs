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

/// Adds a manifest; an error says why it was left out. A name that comes twice is one file, and the last one counts.
pub(crate) fn add(manifests: &mut Vec<ManifestText>, manifest: ManifestText) -> Result<(), &'static str> {
    if manifest.text.len() > MAX_MANIFEST_BYTES {
        return Err("larger than a manifest may be");
    }
    manifests.retain(|known| known.name != manifest.name);
    if manifests.len() >= MAX_MANIFESTS {
        return Err("one manifest too many");
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
        assert!(add(&mut all, of("0.yaml".into(), 2)).is_ok());
    }
}
