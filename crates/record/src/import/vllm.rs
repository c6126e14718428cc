//! Results of `vllm bench serve`: one JSON document, or several with `--append-result`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::json::{File, NumberOrWord, Numbers};
use super::request::{
    api, arrival, blank, chunk, count, earliest, failed, header, instant, printed, sent_at, time,
};
use super::{Chunks, Detail, ImportError, Imported, ImportedRun, Printed};
use crate::definitions::Tool;
use crate::event::{ChunkKind, Finished};

#[derive(Deserialize)]
struct Plan {
    endpoint_type: Option<String>,
    backend: Option<String>,
    model_id: Option<String>,
    num_prompts: Option<f64>,
    request_rate: Option<NumberOrWord>,
    burstiness: Option<f64>,
    max_concurrency: Option<f64>,
}

/// One place a request, with `--save-detailed`; SGLang has the same.
#[derive(Deserialize, Default)]
pub(super) struct Arrays {
    pub ttfts: Option<Vec<f64>>,
    pub itls: Option<Vec<Vec<f64>>>,
    pub start_times: Option<Vec<f64>>,
    pub queue_times: Option<Vec<f64>>,
    pub input_lens: Option<Vec<f64>>,
    pub output_lens: Option<Vec<f64>>,
    pub cached_tokens: Option<Vec<f64>>,
    pub errors: Option<Vec<Option<String>>>,
}

/// The sums with one value, as keys and names.
const SINGLE: [(&str, &str, &str); 8] = [
    ("completed", "Successful requests", "requests"),
    ("failed", "Failed requests", "requests"),
    ("duration", "Benchmark duration (s)", "s"),
    ("total_output_tokens", "Total generated tokens", "tokens"),
    ("request_throughput", "Request throughput (req/s)", "req/s"),
    ("output_throughput", "Output token throughput (tok/s)", "tok/s"),
    ("request_goodput", "Request goodput (req/s)", "req/s"),
    ("slo_attainment", "SLO attainment (%)", "ratio"),
];

const TIMES: [(&str, &str); 4] = [("ttft", "TTFT"), ("tpot", "TPOT"), ("itl", "ITL"), ("e2el", "E2EL")];

pub(super) fn read(file: &File<'_>) -> Result<Imported, ImportError> {
    let mut runs = Vec::new();
    for (place, document) in documents::<Plan>(file).enumerate() {
        let (plan, numbers, arrays) = document?;
        let run = format!("run {}", place + 1);
        let mut header = header(Tool::Vllm, None);
        header.model = plan.model_id.unwrap_or_default();
        header.api = api(&plan.backend.or(plan.endpoint_type).unwrap_or_default());
        header.declared.arrival = arrival(
            plan.request_rate.as_ref().and_then(NumberOrWord::number),
            if plan.burstiness.unwrap_or(1.0) == 1.0 { "poisson" } else { "gamma" },
            count(plan.max_concurrency),
            count(plan.num_prompts),
        );
        let requests = requests(file, &run, &arrays)?;
        runs.push(ImportedRun {
            header,
            detail: Detail {
                chunks: if requests.is_empty() { Chunks::None } else { Chunks::Every },
                starts: arrays.start_times.is_some(),
            },
            said: sums(&numbers.0, &TIMES),
            notes: notes(&requests),
            requests,
        });
    }
    Ok(Imported { tool: Tool::Vllm, version: None, runs })
}

/// It keeps when chunks came, not what was in them: more chunks than tokens tell of some without text.
fn notes(requests: &[Finished]) -> Vec<String> {
    let more = |r: &&Finished| r.request.completion_tokens.is_some_and(|n| r.chunks.len() > n as usize);
    let all = requests.iter().filter(|r| !r.chunks.is_empty()).count();
    match requests.iter().filter(more).count() {
        _ if all == 0 => Vec::new(),
        0 => vec![
            "vllm bench serve keeps when chunks came, not what was in them: the first may be the role alone"
                .to_owned(),
        ],
        n => vec![format!(
            "{n} of {all} answers have more chunks than tokens: the first is likely the role alone, and the first token came later than it seems"
        )],
    }
}

/// Each document three times over, so that nothing need be kept that is not wanted: plan, sums, requests.
pub(super) fn documents<P: serde::de::DeserializeOwned>(
    file: &File<'_>,
) -> impl Iterator<Item = Result<(P, Numbers, Arrays), ImportError>> {
    let (plans, numbers) = (file.documents::<P>(), file.documents::<Numbers>());
    plans
        .zip(numbers)
        .zip(file.documents::<Arrays>())
        .map(|((plan, numbers), arrays)| Ok((plan?, numbers?, arrays?)))
}

/// The printed sums under keys like `mean_ttft_ms` and `p99_itl_ms`.
pub(super) fn sums(numbers: &BTreeMap<String, f64>, times: &[(&str, &str)]) -> Vec<Printed> {
    let mut said = Vec::new();
    for (key, name, unit) in SINGLE {
        said.extend(numbers.get(key).map(|value| printed(name, "", *value, unit)));
    }
    for (word, name) in times {
        let tail = format!("_{word}_ms");
        for (key, value) in numbers {
            let Some(statistic) = key.strip_suffix(&tail) else { continue };
            let statistic = if statistic == "median" { "p50" } else { statistic };
            said.push(printed(name, statistic, *value, "ms"));
        }
    }
    said
}

/// One request for each place of the arrays.
pub(super) fn requests(file: &File<'_>, run: &str, arrays: &Arrays) -> Result<Vec<Finished>, ImportError> {
    let (Some(ttfts), Some(itls)) = (&arrays.ttfts, &arrays.itls) else { return Ok(Vec::new()) };
    let lengths = [
        ("itls", Some(itls.len())),
        ("start_times", arrays.start_times.as_ref().map(Vec::len)),
        ("queue_times", arrays.queue_times.as_ref().map(Vec::len)),
        ("input_lens", arrays.input_lens.as_ref().map(Vec::len)),
        ("output_lens", arrays.output_lens.as_ref().map(Vec::len)),
        ("errors", arrays.errors.as_ref().map(Vec::len)),
    ];
    if let Some((name, Some(n))) = lengths.iter().find(|(_, n)| n.is_some_and(|n| n != ttfts.len())) {
        return Err(file.value(run, format!("{name} has {n} places, ttfts {}", ttfts.len())));
    }
    let at = |list: &Option<Vec<f64>>, place: usize| list.as_ref().and_then(|l| l.get(place).copied());
    let due = |place: usize| {
        Some(at(&arrays.start_times, place)? - at(&arrays.queue_times, place).unwrap_or(0.0).max(0.0))
    };
    let zero = earliest((0..ttfts.len()).filter_map(due));
    let mut all = Vec::with_capacity(ttfts.len());
    for (place, (ttft, gaps)) in ttfts.iter().zip(itls).enumerate() {
        let called = |what: &str| format!("{run}, request {}, {what}", place + 1);
        let mut finished = blank(place as u64);
        if let Some(start) = at(&arrays.start_times, place) {
            sent_at(&mut finished, instant(file, called("start_times"), start, zero)?);
            let due = due(place).unwrap_or(start);
            finished.request.planned = instant(file, called("queue_times"), due, zero)?;
        }
        let mut now = finished.request.sent;
        if *ttft != 0.0 {
            now = now + time(file, called("ttfts"), *ttft)?;
            finished.chunks.push(chunk(now, ChunkKind::Content));
            for gap in gaps {
                now = now + time(file, called("itls"), *gap)?;
                finished.chunks.push(chunk(now, ChunkKind::Content));
            }
        }
        finished.request.ended = now;
        finished.request.prompt_tokens = count(at(&arrays.input_lens, place));
        finished.request.cached_tokens = count(at(&arrays.cached_tokens, place));
        let error = arrays.errors.as_ref().and_then(|l| l.get(place)?.as_deref()).unwrap_or_default();
        if !error.is_empty() {
            failed(&mut finished, error);
        } else if finished.chunks.is_empty() {
            failed(&mut finished, "Never received a valid chunk");
        } else {
            finished.request.status = 200;
            finished.request.completion_tokens = count(at(&arrays.output_lens, place));
        }
        all.push(finished);
    }
    Ok(all)
}
