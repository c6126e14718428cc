//! Runs one after the other: the boundary of a search, the knee of a sweep.

use intriage_case::{Objective, Seconds};
use intriage_record::{Status, Summary};

use super::add;
use crate::style::{BAD, GOOD, HEAD, QUIET, UNSURE, styled};

/// One load that was tried.
#[derive(Debug, Clone, Copy)]
pub struct ProbeRow<'a> {
    /// Requests a second, or in flight.
    pub load: f64,
    /// It holds the objectives; absent where the client's own trouble hides it.
    pub held: Option<bool>,
    /// With 95 % confidence.
    pub sure: bool,
    /// Its figures.
    pub summary: &'a Summary,
}

/// What a search found.
#[derive(Debug, Clone, Copy, Default)]
pub struct BoundaryFacts<'a> {
    /// The highest rate that holds, in requests a second.
    pub rate: Option<f64>,
    /// It lies between these with 95 % confidence.
    pub interval: (Option<f64>, Option<f64>),
    /// The objective that stops it.
    pub binding: Option<Objective>,
    /// What was wrong with the client where it ended.
    pub client: Option<&'a str>,
    /// Why the load was not the declared one.
    pub doubts: &'a [String],
}

/// The highest rate that holds, with all that was tried.
pub fn boundary_text(found: &BoundaryFacts<'_>, rows: &[ProbeRow<'_>]) -> String {
    let BoundaryFacts { rate, interval, binding, client, doubts } = *found;
    let number = |n: Option<f64>| n.map_or_else(|| "?".to_owned(), |n| format!("{n:.2}"));
    let mut out = match rate {
        Some(rate) => {
            let open = match (interval.1, client) {
                (None, None) => ", nothing tried was too much",
                _ => "",
            };
            let range = format!("95 % between {} and {}{open}", number(interval.0), number(interval.1));
            format!("{} {range}\n", styled(HEAD, format!("{rate:.2} requests a second hold the objectives:")))
        }
        None if rows.iter().any(|r| r.load == 0.0) => {
            format!("{}\n", styled(BAD, "Not even one request at a time holds the objectives."))
        }
        None => format!("{}\n", styled(BAD, "No rate tried holds the objectives.")),
    };
    if let Some(binding) = binding {
        add(&mut out, &format!("What binds: {binding}\n"));
    }
    if rate.is_some() && interval.0.is_none() {
        out.push_str("No probe had requests enough to be sure of that: a longer --duration gives more.\n");
    }
    for doubt in doubts {
        add(
            &mut out,
            &format!("{}\n", styled(UNSURE, format!("This is another load than declared: {doubt}."))),
        );
    }
    add_client(&mut out, client);
    out.push('\n');
    out.push_str(&table("asked/s", rows, true));
    out
}

/// The knee, with all points.
pub fn sweep_text(
    knee: Option<f64>,
    most: Option<f64>,
    still_growing: bool,
    client: Option<&str>,
    rows: &[ProbeRow<'_>],
) -> String {
    let mut out = match (knee, most) {
        (Some(knee), Some(most)) => format!(
            "{}\n",
            styled(
                HEAD,
                format!(
                    "{knee:.0} requests in flight reach nine tenths of the most throughput, {most:.0} tokens a second"
                )
            )
        ),
        _ => "No point had any throughput.\n".to_owned(),
    };
    if still_growing {
        out.push_str(
            "Throughput still grew at the last point: give a larger --max-concurrency to see its end.\n",
        );
    }
    add_client(&mut out, client);
    out.push('\n');
    out.push_str(&table("in flight", rows, false));
    out
}

/// A limit that is the client's is no statement about the server.
fn add_client(out: &mut String, client: Option<&str>) {
    if let Some(why) = client {
        let words = format!("This client is the limit here, the server may well do more: {why}.");
        add(out, &format!("{}\n", styled(UNSURE, words)));
    }
}

fn table(load: &str, rows: &[ProbeRow<'_>], judged: bool) -> String {
    let head = format!(
        "  {load:>10}{:>12}{:>12}{:>12}{:>12}{:>12}{:>10}{:>9}",
        "done/s", "tokens/s", "TTFT p50", "TTFT p99", "TPOT p50", "failed", "valid"
    );
    let mut out = format!("{}\n", styled(QUIET, head));
    let time = |t: Option<Seconds>| t.map_or_else(|| "–".to_owned(), |t| t.to_string());
    for row in rows {
        let all = &row.summary.all;
        let rate = |r: Option<f64>| r.map_or_else(|| "–".to_owned(), |r| format!("{r:.1}"));
        let verdict = match (judged, row.held, row.sure) {
            (false, ..) => String::new(),
            (true, None, _) => styled(UNSURE, "  cannot be told"),
            (true, Some(true), true) => styled(GOOD, "  holds"),
            (true, Some(true), false) => styled(UNSURE, "  holds, within the error"),
            (true, Some(false), false) => styled(UNSURE, "  does not hold, within the error"),
            (true, Some(false), true) => styled(BAD, "  does not hold"),
        };
        let valid = if row.summary.certificate.status == Status::Valid { "yes" } else { "no" };
        add(
            &mut out,
            &format!(
                "  {:>10.2}{:>12}{:>12}{:>12}{:>12}{:>12}{:>10}{valid:>9}{verdict}\n",
                row.load,
                rate(all.throughput.requests_per_second),
                rate(all.throughput.output_tokens_per_second),
                time(all.planned.ttft.p50),
                time(all.planned.ttft.p99),
                time(all.tpot.p50),
                all.requests.failed,
            ),
        );
    }
    out
}
