//! Results of `sglang.benchmark.serving`: one JSON document a run and line.

use serde::Deserialize;

use super::json::{File, NumberOrWord};
use super::request::{api, arrival, count, header, unknown_arrival};
use super::vllm::{documents, requests, sums};
use super::{Chunks, Detail, ImportError, Imported, ImportedRun};
use crate::definitions::Tool;

#[derive(Deserialize)]
struct Plan {
    backend: Option<String>,
    request_rate: Option<NumberOrWord>,
    max_concurrency: Option<f64>,
}

const TIMES: [(&str, &str); 4] =
    [("ttft", "TTFT"), ("tpot", "TPOT"), ("itl", "ITL"), ("e2e_latency", "E2E Latency")];

pub(super) fn read(file: &File<'_>) -> Result<Imported, ImportError> {
    let mut runs = Vec::new();
    for (place, document) in documents::<Plan>(file).enumerate() {
        let (plan, numbers, arrays) = document?;
        let mut header = header(Tool::Sglang, None);
        header.api = api(&plan.backend.unwrap_or_default());
        let most = count(plan.max_concurrency);
        let all = numbers.0.get("completed").copied();
        header.declared.arrival = match &plan.request_rate {
            Some(rate) if rate.word().is_some() => unknown_arrival(),
            rate => arrival(rate.as_ref().and_then(NumberOrWord::number), "poisson", most, count(all)),
        };
        let requests = requests(file, &format!("run {}", place + 1), &arrays)?;
        let mut notes = Vec::new();
        if !requests.is_empty() {
            notes.push(
                "sglang.benchmark.serving does not tell when a request was sent: all count from 0, rates and duration are its own".to_owned(),
            );
        }
        runs.push(ImportedRun {
            header,
            detail: Detail {
                chunks: if requests.is_empty() { Chunks::None } else { Chunks::Every },
                starts: arrays.start_times.is_some(),
            },
            requests,
            said: sums(&numbers.0, &TIMES),
            notes,
        });
    }
    Ok(Imported { tool: Tool::Sglang, version: None, runs })
}
