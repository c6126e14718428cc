//! The first scrape: where the metrics are, or why there are none.

use intriage_engines::exposition::{Looks, looks_like_exposition, parse};

use super::{LiveError, Watch};
use crate::http::Client;
use crate::url::{Address, told};

/// Where engines keep their metrics, tried in turn when the URL names no path.
const METRIC_PATHS: [&str; 3] = ["/metrics", "/prometheus/metrics", "/v1/metrics"];

/// Finds the metrics and brings the first scrape.
pub(super) async fn first_scrape(watch: &Watch, client: &Client) -> Result<(String, Vec<u8>), LiveError> {
    let given = &watch.address.path;
    let named = given.ends_with("metrics");
    let paths: Vec<String> = if named {
        vec![given.clone()]
    } else {
        METRIC_PATHS.iter().map(|p| format!("{given}{p}")).collect()
    };
    let mut tried = Vec::new();
    for path in paths {
        let answer = client.get(&path, watch.limits).await?;
        let url = format!("{}{path}", Address { path: String::new(), ..watch.address.clone() });
        match answer.status {
            200 => {}
            status @ (401 | 403) => return Err(LiveError::Unauthorized { url, status }),
            status @ 300..=399 => {
                let to = told(&answer.location.unwrap_or_default());
                tried.push(format!("{path} answers {status} to {to}"));
                continue;
            }
            status => {
                tried.push(format!("{path} answers {status}"));
                continue;
            }
        }
        let what = match looks_like_exposition(&answer.body) {
            Looks::Exposition => return Ok((path, answer.body)),
            Looks::Html => "a web page",
            Looks::Json => "JSON",
            Looks::Empty => "nothing",
            Looks::Other => "something else",
        };
        // TensorRT-LLM keeps JSON under /metrics and Prometheus elsewhere: look on.
        tried.push(format!("{path} answers with {what}"));
        if named || what != "JSON" {
            return Err(LiveError::NotMetrics { url, what });
        }
    }
    let address = Address { path: String::new(), ..watch.address.clone() }.to_string();
    Err(LiveError::NoMetrics { address, tried: tried.join(", ") })
}

/// Metrics that no engine known here has.
pub(super) fn unknown_engine(watch: &Watch, path: &str, body: &[u8]) -> LiveError {
    let parsed = parse(body);
    let mut names: Vec<&str> = parsed.samples.iter().map(|s| s.name).collect();
    names.dedup();
    names.truncate(3);
    let url = format!("{}{path}", Address { path: String::new(), ..watch.address.clone() });
    LiveError::UnknownEngine { url, first: names.join(", ") }
}
