//! A model that must come from the hub.

use intriage_case::surroundings::ModelPlace;

use super::Said;
use super::facts::Facts;
use super::places::room_for_downloads;

/// Variables that forbid downloads.
const OFFLINE: &[&str] = &["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"];

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    let Some(model) = facts.around.model.as_ref().filter(|model| model.place == ModelPlace::NotCached) else {
        return Vec::new();
    };
    let name = &model.asked;
    if let Some(variable) = OFFLINE.iter().find(|variable| facts.is_on(variable)) {
        return vec![Said::Wrong(
            "model-hub-unreachable",
            format!("{name} is in no cache here, and {variable} forbids to download it"),
            format!(
                "hf download {name} where the hub can be reached, or give the model's folder, or unset {variable}"
            ),
        )];
    }
    let token =
        if facts.around.hub_token { "" } else { "; no token is set, which a gated model needs (HF_TOKEN)" };
    let room =
        room_for_downloads(facts).map_or(String::new(), |free| format!("; {free} are free in the cache"));
    vec![Said::Unknown(format!(
        "{name} is in no cache here, and its files on the hub are not looked at{token}{room}"
    ))]
}
