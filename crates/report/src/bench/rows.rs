//! One row for every request, for spreadsheets.

use intriage_case::Nanos;
use intriage_record::{Figures, Finished};

/// Columns, in order.
const NAMES: &str = "id,class,stage,session,turn,warmup,outcome,status,planned,sent,late,connect,ttfb,first_chunk,first_reasoning,first_content,ttft,tpot,e2e,ended,chunks,input,prompt_tokens,cached_tokens,output,completion_tokens,connection,nth,answer_id,error\n";

/// The names of the columns; times are in seconds.
pub const fn bench_row_names() -> &'static str {
    NAMES
}

/// A request as a row.
pub fn bench_row(finished: &Finished) -> String {
    let (r, f) = (&finished.request, Figures::of(finished));
    let time = |t: Nanos| format!("{:.9}", t.seconds().0);
    let maybe = |t: Option<Nanos>| t.map(time).unwrap_or_default();
    let number = |n: Option<u32>| n.map(|n| n.to_string()).unwrap_or_default();
    let outcome =
        serde_json::to_value(r.outcome).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
    let cells = [
        r.id.to_string(),
        r.class.to_string(),
        r.stage.to_string(),
        r.session.to_string(),
        r.turn.to_string(),
        u8::from(r.warmup).to_string(),
        outcome,
        r.status.to_string(),
        time(r.planned),
        time(r.sent),
        time(f.late),
        maybe(f.connect),
        maybe(f.ttfb),
        maybe(f.first_chunk),
        maybe(f.first_reasoning),
        maybe(f.first_content),
        maybe(f.ttft),
        maybe(f.tpot()),
        maybe(f.e2e),
        time(f.ended),
        f.chunks.to_string(),
        number(r.input),
        number(r.prompt_tokens),
        number(r.cached_tokens),
        r.output.to_string(),
        number(r.completion_tokens),
        r.connection.to_string(),
        r.nth.to_string(),
        quoted(&r.answer_id),
        quoted(&r.error),
    ];
    cells.join(",") + "\n"
}

/// Text from outside: quoted, and never a formula.
fn quoted(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let guard = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use intriage_record::Request;

    #[test]
    fn a_row_has_as_many_cells_as_there_are_names() {
        let mut request = Request::planned(7, Nanos(1_500_000_000));
        request.error = "=cmd|'x'!A1, \"quoted\"".to_owned();
        let row = bench_row(&Finished { request, chunks: Vec::new() });
        assert!(row.starts_with("7,0,0,7,0,0,never_sent,0,1.500000000,"), "{row}");
        assert!(row.ends_with("\"'=cmd|'x'!A1, \"\"quoted\"\"\"\n"), "{row}");
        // The comma of the error stands between quotes.
        assert_eq!(row.matches(',').count() - 1, NAMES.matches(',').count());
    }
}
