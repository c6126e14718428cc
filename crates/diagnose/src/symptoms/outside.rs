//! What lies between the server's first token and its user: the way, the delivery, the client.

use intriage_case::{Ratio, Seconds};

use super::first_token::harm;
use super::{Aspect, Symptom, Yardstick};
use crate::evidence::Evidence;
use crate::thresholds::Limit;

const UNSEEN: &str = "add --via URL or --client FILE";

/// Network, delivery and client; figures are left open where no doubt about them is known.
pub(super) fn parts(e: &Evidence<'_>) -> Vec<Symptom> {
    let client = Symptom::unseen(Aspect::Client, UNSEEN);
    let Ok(clients) = &e.clients else {
        return vec![
            Symptom::unseen(Aspect::Network, UNSEEN),
            Symptom::unseen(Aspect::Delivery, UNSEEN),
            client,
        ];
    };
    let (later, all) = (clients.later(), clients.ttft);
    let way = if clients.held_back(e.limit(Limit::Compressed)) { 0.0 } else { clients.headers.min(later) };
    let least = clients.gap_that_matters(e);
    let of = |aspect, value: f64| {
        let share = Ratio::of(value, all).unwrap_or(Ratio(0.0));
        let hurts = value >= least && share.get() >= e.limit(Limit::SegmentShare);
        let says = format!("clients see the first token {} later than the server gives it", Seconds(later));
        Symptom::new(aspect, harm(hurts && !e.wants_throughput()), Yardstick::Share, says)
            .costs(share)
            .against(Seconds(value), Seconds(least))
    };
    vec![of(Aspect::Network, way), of(Aspect::Delivery, later - way), client]
}
