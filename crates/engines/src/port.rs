//! Which server is meant: the port of a target, and the one a command line names.

/// The port a server listens on where its command line names none, by product. Source: each product's `--help`.
const USUAL: [(&str, u16); 6] = [
    ("vLLM", 8000),
    ("SGLang", 30000),
    ("TensorRT-LLM", 8000),
    ("llama.cpp", 8080),
    ("LMDeploy", 23333),
    ("Ollama", 11434),
];

/// The port of `http://host:8555/v1`; a folder or a case file has none.
pub(crate) fn port_of(target: &str) -> Option<u16> {
    let (scheme, rest) = target.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    match host.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
        Some((_, port)) => port.parse().ok(),
        None => Some(if scheme == "https" { 443 } else { 80 }),
    }
}

/// The port that the words of a command line name, `--port 8000` or `--port=8000`; of two the last counts.
pub fn port_in<S: AsRef<str>>(words: &[S]) -> Option<u16> {
    let mut named = None;
    for (at, word) in words.iter().enumerate() {
        let value = match word.as_ref() {
            "--port" => words.get(at + 1).map(AsRef::as_ref),
            word => word.strip_prefix("--port="),
        };
        named = value.or(named);
    }
    named?.parse().ok()
}

/// The port a product listens on where nobody names one.
pub(crate) fn usual_port(product: &str) -> Option<u16> {
    USUAL.iter().find(|(name, _)| *name == product).map(|(_, port)| *port)
}

/// Whether a product started with these words listens there.
pub(crate) fn listens_on<S: AsRef<str>>(product: &str, words: &[S], port: u16) -> bool {
    let usual = || usual_port(product);
    let names_one = words.iter().any(|w| w.as_ref() == "--port" || w.as_ref().starts_with("--port="));
    (if names_one { port_in(words) } else { usual() }) == Some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_targets_port_is_the_one_it_names_or_its_schemes() {
        assert_eq!(port_of("http://10.0.0.7:8555/v1"), Some(8555));
        assert_eq!((port_of("https://gateway/v1"), port_of("http://[::1]")), (Some(443), Some(80)));
        assert_eq!((port_of("incident.case"), port_of("http://h:x")), (None, None));
    }

    #[test]
    fn the_last_port_of_a_command_line_counts() {
        assert_eq!(port_in(&["serve", "--port", "1", "--port=2"]), Some(2));
        assert_eq!((port_in(&["--port"]), port_in(&["--port=x"])), (None, None));
        assert!(listens_on("vLLM", &["serve"], 8000) && !listens_on("vLLM", &["--port", "1"], 8000));
        assert!(!listens_on("vLLM", &["--port=x"], 8000), "what cannot be read is not the usual one");
    }
}
