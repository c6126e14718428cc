//! Standstills that show in the scrapes the server left unanswered: an engine that answers them itself does not answer while
//! it stands still.

use intriage_case::Requests;

use super::events::{Event, EventKind, later, requests, when};
use super::intervals::Interval;
use super::median;
use super::pace::Pace;
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// The standstills inside intervals that are far longer than the usual one, or in which looks failed. Requests were in the
/// server, and neither the steps counted in it nor the prompts computed by it take that long.
pub(super) fn unanswered(e: &Evidence<'_>, all: &[Interval], pace: Pace) -> Vec<Event> {
    let Some(usual) = median(all.iter().map(|i| i.seconds).collect()) else { return Vec::new() };
    (0..all.len()).filter_map(|at| within(e, &all[at], all.get(at + 1), usual, pace)).collect()
}

fn within(e: &Evidence<'_>, i: &Interval, next: Option<&Interval>, usual: f64, pace: Pace) -> Option<Event> {
    let looks = e.observed.failed.iter().filter(|(at, _)| i.start < *at && *at < i.end).count();
    if i.restarted || (looks == 0 && i.seconds < usual * e.limit(Limit::ScrapeHole)) {
        return None;
    }
    let ends = (i.held_before().unwrap_or(0.0), i.held().unwrap_or(0.0));
    // Where nobody asked, an engine that was empty at either end may have been idle.
    let held = if looks == 0 { ends.0.min(ends.1) } else { ends.0.max(ends.1) };
    let working = i.steps? / pace.steps?;
    // Prompts are booked when all of them is read: those of the next interval were begun in this one.
    let read: f64 = [Some(i), next].into_iter().flatten().filter_map(|i| i.computed).sum();
    let still = i.seconds - usual - working - read * pace.prompt.unwrap_or(0.0);
    if held < 1.0 || still < e.limit(Limit::Standstill) {
        return None;
    }
    let start = e.observed.failed.iter().map(|(at, _)| *at).find(|at| i.start < *at && *at < i.end);
    let start = start.unwrap_or(later(i.end, -still)).min(later(i.end, -still)).max(i.start);
    let asked = match looks {
        0 => "no scrape came".to_owned(),
        1 => "1 look was not answered".to_owned(),
        n => format!("{n} looks were not answered"),
    };
    let says = format!(
        "{} hardly a step was made with {} in the server, and {asked}",
        when(start, later(start, still), false),
        requests(held)
    );
    Some(Event::new(EventKind::Standstill, start, later(start, still), says).size(Requests(held)))
}

#[cfg(test)]
mod tests {
    use intriage_case::{Case, Millis, Scrape, ScrapeOutcome};

    use crate::timeline::EventKind;
    use crate::timeline::tests::timeline_of;

    /// A llama.cpp that makes 20 steps a second, seen once a second; from 10 s to 18 s it answers nothing and makes `steps`.
    fn stopped(steps: u64, prompt_tokens: u64) -> Case {
        let scrape = |second: u64| {
            let at = Millis(1_700_000_000_000 + second * 1000);
            if (10..18).contains(&second) {
                return Scrape { at, outcome: ScrapeOutcome::Failed("timed out".into()) };
            }
            let (made, read) = if second < 18 {
                (20 * second, 40 * second)
            } else {
                (20 * (second - 9) + steps, 40 * (second - 8) + prompt_tokens)
            };
            let page = format!(
                "llamacpp:requests_processing 2\nllamacpp:requests_deferred 0\nllamacpp:n_decode_total {made}\nllamacpp:prompt_tokens_total {read}\nllamacpp:tokens_predicted_total {made}\n"
            );
            Scrape { at, outcome: ScrapeOutcome::Body(page.into_bytes()) }
        };
        Case { scrapes: (0..30).map(scrape).collect(), ..Case::default() }
    }

    fn told(case: &Case) -> Vec<String> {
        let timeline = timeline_of(case);
        timeline.of_kind(EventKind::Standstill).map(|event| event.says.clone()).collect()
    }

    #[test]
    fn looks_left_unanswered_with_hardly_a_step_made_are_a_standstill() {
        let says = told(&stopped(4, 0));
        assert_eq!(says.len(), 1, "{says:?}");
        assert!(says[0].contains("with 2 requests in the server, and 8 looks were not answered"), "{says:?}");
    }

    #[test]
    fn an_engine_that_worked_on_or_read_a_long_prompt_did_not_stand_still() {
        assert!(told(&stopped(150, 0)).is_empty(), "only the answers were lost");
        assert!(told(&stopped(4, 400)).is_empty(), "reading that prompt takes so long");
    }
}
