//! What clients see beyond what the server says.

use intriage_case::{Fact, Quantity, Ratio, Seconds, Source};

use crate::clients::Clients;
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::weighing::Test;

/// A fact of the client's record.
pub(in crate::causes) fn seen(says: String, value: impl Into<Quantity>) -> Fact {
    Fact { says, value: Some(value.into()), limit: None, signal: None, source: Source::Client }
}

/// A fact of a probe.
pub(super) fn probed(url: &str, says: String, value: impl Into<Quantity>) -> Fact {
    let source = Source::Probe { url: url.to_owned() };
    Fact { says, value: Some(value.into()), limit: None, signal: None, source }
}

/// What is missing to see the way: clients that wrote down what they saw, or a hop to probe.
pub(super) fn unseen(e: &Evidence<'_>, no_clients: &str) -> String {
    match &e.paths {
        Err(_) if e.observed.client.is_empty() && e.observed.paths.is_empty() => {
            "neither a client's record of the requests (--client FILE) nor a hop to probe (--via URL) was given".into()
        }
        Err(no_paths) if !e.observed.paths.is_empty() => format!("{no_paths}; {no_clients}"),
        _ => no_clients.to_owned(),
    }
}

/// Clients get their first token much later than the server gives it.
pub(in crate::causes) fn clients_are_later(e: &Evidence<'_>, clients: &Result<Clients, String>) -> Test {
    let clients = match clients {
        Ok(clients) => clients,
        Err(why) => return Test::Unknown(unseen(e, why)),
    };
    let later = clients.later();
    let says = format!(
        "clients see the first token after {}, the server gives it after {}",
        Seconds(clients.ttft),
        Seconds(clients.server_ttft)
    );
    Test::when(later >= clients.gap_that_matters(e), seen(says, Seconds(later)))
}

/// The pieces of an answer come closer together than its tokens are made: they were held back.
pub(in crate::causes) fn pieces_come_together(e: &Evidence<'_>, clients: &Result<Clients, String>) -> Test {
    let Ok(seen_by @ Clients { gap: Some(gap), server_gap: Some(made), .. }) = clients else {
        return Test::Unknown("the client's record has no times of the pieces of an answer".into());
    };
    let says = format!(
        "half of the pieces reach the client within {} of the one before, but a token takes {}",
        Seconds(*gap),
        Seconds(*made)
    );
    Test::when(seen_by.held_back(e.limit(Limit::Compressed)), seen(says, Seconds(*gap)))
}

/// What a probe found a way to cost a request that takes `whole` on it.
pub(super) fn probe_impact(url: &str, time: f64, whole: f64) -> Impact {
    let share = Ratio::of(time, whole).unwrap_or(Ratio(0.0));
    let share = Ratio(share.get().clamp(0.0, 1.0));
    Impact {
        on: ImpactOn::Ttft,
        share,
        time: Some(Seconds(time)),
        says: format!("{} on the way through {url}, {share} of a short answer's time", Seconds(time)),
    }
}

/// What the way costs a request.
pub(in crate::causes) fn way_impact(clients: &Result<Clients, String>, time: f64) -> Impact {
    let share = clients.as_ref().ok().and_then(|c| Ratio::of(time, c.e2e)).unwrap_or(Ratio(0.0));
    let share = Ratio(share.get().clamp(0.0, 1.0));
    Impact {
        on: ImpactOn::Ttft,
        share,
        time: Some(Seconds(time)),
        says: format!(
            "{} between server and client per request, {share} of what the client waits",
            Seconds(time)
        ),
    }
}
