//! What is seen to happen: settings read off the metrics of a window.

use intriage_case::{Signal, Source};

use super::{Said, Setting, SettingValue};
use crate::observed::{Observed, TrackData};

/// What the window shows of a setting, where it shows it exactly.
pub(super) fn seen(observed: &Observed, setting: Setting) -> Option<Said> {
    match setting {
        Setting::MaxSequences => slots(observed),
        Setting::PrefixCaching => prefix_caching(observed),
        Setting::Speculation => speculation(observed),
        _ => None,
    }
}

/// The batch was full while others waited: it stood at one number, which is the cap or less.
fn slots(observed: &Observed) -> Option<Said> {
    let instance = observed.instances().into_iter().next()?;
    let running = observed.series(Signal::RequestsRunning, Some(&instance), None)?;
    let waiting = observed.series(Signal::RequestsWaiting, Some(&instance), None)?;
    let full: Vec<f64> = (0..observed.times.len())
        .filter(|i| waiting.at(*i).is_some_and(|w| w >= 1.0))
        .filter_map(|i| running.at(i))
        .collect();
    let top = full.iter().copied().fold(0.0, f64::max);
    let at_top = full.iter().filter(|r| **r == top).count();
    // Two thirds: gauges are set at the end of a step, and a request that ends leaves its place empty until the next.
    let flat = top >= 1.0 && full.len() >= 3 && 3 * at_top >= 2 * full.len();
    flat.then(|| Said {
        value: SettingValue::Number(top),
        from: Source::Derived { from: format!("{top:.0} ran at once, and no more, while others waited") },
    })
}

/// The pool cannot hold back an ordinary request below this share of it in use.
const ROOM: f64 = 0.85;

/// Whether the KV pool is known to have had room whenever requests waited.
pub(super) fn pool_had_room(observed: &Observed) -> bool {
    let of = |signal| {
        let instance = observed.instances().into_iter().next()?;
        observed.series(signal, Some(&instance), None)
    };
    let (Some(waiting), Some(usage)) = (of(Signal::RequestsWaiting), of(Signal::KvUsage)) else {
        return false;
    };
    let mut queued =
        (0..observed.times.len()).filter(|i| waiting.at(*i).is_some_and(|w| w >= 1.0)).peekable();
    queued.peek().is_some() && queued.all(|i| usage.at(i).is_some_and(|used| used < ROOM))
}

/// Every prompt token is looked up where prefixes are reused, and none where they are not.
fn prefix_caching(observed: &Observed) -> Option<Said> {
    let grown = |signal| Some(observed.series(signal, None, None)?.counter()?.delta);
    let (asked, prompt) = (grown(Signal::KvPrefixQueries)?, grown(Signal::TokensPrompt)?);
    if prompt < 1.0 {
        return None;
    }
    let says = if asked > 0.0 { "prompts are looked up" } else { "no prompt was looked up" };
    let metric = observed.metric(Signal::KvPrefixQueries).unwrap_or_default();
    Some(Said {
        value: SettingValue::Switch(asked > 0.0),
        from: Source::Derived { from: format!("{metric}: {says}") },
    })
}

/// Drafts are counted where there are drafts.
fn speculation(observed: &Observed) -> Option<Said> {
    let track = observed.tracks(Signal::SpecDraftTokens).next()?;
    let TrackData::Values(series) = &track.data else { return None };
    let drafted = series.counter().is_some_and(|c| c.delta > 0.0);
    drafted.then(|| Said {
        value: SettingValue::Switch(true),
        from: Source::Metric { name: track.metric.to_owned() },
    })
}
