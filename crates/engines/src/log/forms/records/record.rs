//! One record of a log collector: which of its fields is the message, which the time, which the writer.

use std::collections::HashMap;

use intriage_case::Millis;
use serde_json::Value;
use serde_json::value::RawValue;

use super::time;

/// Fields that hold the message, the first that is there: Fluent Bit and Docker, most loggers, logcli and Grafana, the
/// journal, Google Cloud, Azure, OpenTelemetry.
const MESSAGES: &[&str] = &[
    "log",
    "message",
    "msg",
    "line",
    "MESSAGE",
    "textPayload",
    "LogEntry",
    "LogMessage",
    "body",
    "@message",
];
/// Fields that hold the time.
const TIMES: &[&str] =
    &["time", "@timestamp", "timestamp", "date", "ts", "TimeGenerated", "__REALTIME_TIMESTAMP", "tsNs"];
/// Where the writer's name stands: pod and container.
const WRITERS: &[(&str, &str)] = &[
    ("/kubernetes/pod_name", "/kubernetes/container_name"),
    ("/kubernetes/pod/name", "/kubernetes/container/name"),
    ("/resource/labels/pod_name", "/resource/labels/container_name"),
    ("/labels/pod", "/labels/container"),
    ("/fields/pod", "/fields/container"),
    ("/PodName", "/ContainerName"),
    ("/logStreamName", ""),
    ("/container_name", ""),
];
/// Lists of records inside an answer: CloudWatch, Elasticsearch, Loki's query and push, Google Cloud.
const LISTS: &[&str] = &["events", "hits", "data", "result", "streams", "entries", "results"];
/// Depth of lists inside lists.
const DEEPEST: usize = 6;

/// What a record says.
pub(super) struct Record {
    message: String,
    time: Option<Millis>,
    /// Whose it is; empty where it does not say.
    pub(super) writer: String,
    is_error_stream: bool,
    /// Whether it goes on in the next one.
    goes_on: bool,
}

impl Record {
    /// A line that is no record.
    pub(super) fn text(line: &str) -> Self {
        let message = line.to_owned();
        Self { message, time: None, writer: String::new(), is_error_stream: false, goes_on: false }
    }

    /// Its lines as a node writes them.
    pub(super) fn lines(&self) -> Vec<String> {
        let time = self.time.and_then(time::written);
        let stream = if self.is_error_stream { "stderr" } else { "stdout" };
        let mark = if self.goes_on { "P" } else { "F" };
        let message = self.message.trim_end_matches(['\n', '\r']);
        let line = |line: &str| match &time {
            Some(time) => format!("{time} {stream} {mark} {line}"),
            None => line.to_owned(),
        };
        message.split('\n').map(line).collect()
    }

    fn of(record: &Value) -> Option<Self> {
        let fields = record.as_object()?;
        let message = MESSAGES.iter().find_map(|name| match fields.get(*name)? {
            Value::String(text) => Some(text.clone()),
            Value::Object(inner) => inner.get("message")?.as_str().map(str::to_owned),
            _ => None,
        });
        // TGI writes its message among other fields.
        let message = message.or_else(|| Some(record.pointer("/fields/message")?.as_str()?.to_owned()))?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let goes_on = text("logtag") == "P" || text("_p") == "P" || text("partial_message") == "true";
        Some(Self {
            message: with_level(&message, text("level"), text("levelname"), text("target")),
            time: TIMES.iter().find_map(|name| time::of_field(fields.get(*name)?)),
            writer: writer(record),
            is_error_stream: text("stream") == "stderr",
            goes_on,
        })
    }
}

/// `WARNING message`, `INFO text_generation_launcher: message`: what a logger would have put in front.
fn with_level(message: &str, level: &str, levelname: &str, target: &str) -> String {
    let level = if level.is_empty() { levelname } else { level }.to_uppercase();
    match (level.is_empty() || message.contains(&level), target.is_empty()) {
        (true, true) => message.to_owned(),
        (true, false) => format!("{target}: {message}"),
        (false, true) => format!("{level} {message}"),
        (false, false) => format!("{level} {target}: {message}"),
    }
}

fn writer(record: &Value) -> String {
    let text = |path: &str| record.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
    let named = |(pod, container): &(&str, &str)| match (text(pod), text(container)) {
        (Some(pod), Some(container)) => Some(format!("{pod}/{container}")),
        (Some(one), None) | (None, Some(one)) => Some(one.trim_start_matches('/').to_owned()),
        (None, None) => None,
    };
    WRITERS.iter().find_map(named).unwrap_or_default()
}

/// Calls `found` for each record of a value, with the place where it stands.
pub(super) fn entries(value: &RawValue, found: &mut impl FnMut(Record, *const u8)) {
    expand(value, 0, found);
}

fn expand(value: &RawValue, depth: usize, found: &mut impl FnMut(Record, *const u8)) {
    let text = value.get();
    if depth > DEEPEST {
        return;
    }
    if text.starts_with('[') {
        if let Some(record) = of_pairs(text) {
            found(record, text.as_ptr());
        } else if let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(text) {
            for one in list {
                expand(one, depth + 1, found);
            }
        }
        return;
    }
    // The message may be far longer than the names of the fields around it: a record is the usual case.
    let whole: Option<Value> = text.starts_with('{').then(|| serde_json::from_str(text).ok()).flatten();
    let Some(whole) = whole else { return };
    let source = whole.get("_source").unwrap_or(&whole);
    if let Some(record) = Record::of(source) {
        return found(record, text.as_ptr());
    }
    let Ok(fields) = serde_json::from_str::<HashMap<String, &RawValue>>(text) else { return };
    if let Some(values) = fields.get("values") {
        return of_loki(&whole, values, found);
    }
    for list in LISTS.iter().filter_map(|name| fields.get(*name)) {
        expand(list, depth + 1, found);
    }
}

/// Loki: the labels once, and a list of times and lines.
fn of_loki(whole: &Value, values: &RawValue, found: &mut impl FnMut(Record, *const u8)) {
    let labels = whole.get("stream").or_else(|| whole.get("metric"));
    let writer = labels.map(|labels| writer(&serde_json::json!({ "labels": labels }))).unwrap_or_default();
    let Ok(pairs) = serde_json::from_str::<Vec<&RawValue>>(values.get()) else { return };
    for pair in pairs {
        let Ok(Value::Array(parts)) = serde_json::from_str(pair.get()) else { continue };
        let Some(message) = parts.get(1).and_then(Value::as_str) else { continue };
        let time = parts.first().and_then(time::of_field);
        let record = Record { time, writer: writer.clone(), ..Record::text(message) };
        found(record, pair.get().as_ptr());
    }
}

/// CloudWatch Insights: each record is a list of names and values.
fn of_pairs(text: &str) -> Option<Record> {
    #[derive(serde::Deserialize)]
    struct Pair {
        field: String,
        value: String,
    }
    let rest = text.strip_prefix('[')?.trim_start().strip_prefix('{')?;
    rest.trim_start().starts_with("\"field\"").then_some(())?;
    let pairs: Vec<Pair> = serde_json::from_str(text).ok()?;
    let fields = pairs.into_iter().map(|pair| (pair.field, Value::String(pair.value)));
    Record::of(&Value::Object(fields.collect()))
}
