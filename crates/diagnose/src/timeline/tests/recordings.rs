//! Recordings of real servers, with what is known to have happened to each.

use super::{fixtures, recording, says, timeline_of};
use crate::timeline::Event;
use crate::timeline::EventKind::{self, *};

/// The recordings that are scored, by whether they are healthy.
fn recordings(healthy: bool) -> Vec<String> {
    let of = |set: &'static str| {
        let entries = std::fs::read_dir(fixtures().join(set)).unwrap();
        entries.map(move |entry| format!("{set}/{}", entry.unwrap().file_name().to_string_lossy()))
    };
    let is_healthy = |name: &String| {
        let truth = std::fs::read_to_string(fixtures().join(name).join("truth.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&truth).unwrap()["status"] == "healthy"
    };
    ["recordings", "lab", "h200"]
        .into_iter()
        .flat_map(of)
        .filter(|name| is_healthy(name) == healthy)
        .collect()
}

fn told(name: &str, kind: EventKind) -> Vec<String> {
    says(&timeline_of(&recording(name)), kind)
}

#[test]
fn in_healthy_recordings_nothing_stops_slows_or_comes_at_once() {
    let healthy = recordings(true);
    assert!(healthy.len() >= 10, "{healthy:?}");
    for name in healthy {
        let timeline = timeline_of(&recording(&name));
        let bad = |event: &&Event| {
            matches!(
                event.kind,
                Standstill | SlowTokens | SlowFirstTokens | Burst | NoAnswer | Restart | WarmUp
            )
        };
        assert_eq!(timeline.events.iter().find(bad), None, "{name}");
    }
}

#[test]
fn long_steps_of_slow_engines_are_no_standstill() {
    // Prompts of 900 tokens take 7 s each on these two cores, and all who decode wait for them.
    for name in
        ["lab/prefixoff", "lab/kvadmission", "lab/kvsmall18", "lab/healthy6", "recordings/vllm-cpu-prefixoff"]
    {
        assert_eq!(told(name, Standstill), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn only_servers_that_were_stopped_stand_still() {
    let all = [recordings(true), recordings(false)].concat();
    let mut stopped: Vec<String> =
        all.into_iter().filter(|name| !told(name, Standstill).is_empty()).collect();
    stopped.sort();
    assert_eq!(stopped, ["lab/frozen", "lab/paused"]);
}

#[test]
fn an_engine_that_was_stopped_by_hand_stands_still() {
    // Each 20 s into a window of a minute.
    assert_eq!(
        told("lab/frozen", Standstill),
        ["from 06:29:21 to the end of the window (39 s) no token was produced while 2 requests were running"]
    );
    assert_eq!(
        told("lab/paused", Standstill),
        [
            "from 06:27:30 to the end of the window (39 s) no token was produced and nothing runs or waits: the engine was paused (server.log line 145)"
        ]
    );
    assert_eq!(told("lab/paused", LoadEnd), Vec::<String>::new(), "a paused engine does not tell");
}

#[test]
fn a_server_that_is_gone_does_not_answer() {
    for name in ["lab/killed", "h200/vllm-h200-killed"] {
        let gone = told(name, NoAnswer);
        assert!(gone.len() == 1 && gone[0].contains("9 looks failed"), "{gone:?}");
    }
}

#[test]
fn kernels_compiled_for_the_first_request_are_a_warm_up() {
    let slow = told("recordings/vllm-cpu-toolong", WarmUp);
    assert!(
        slow.len() == 1 && slow[0].contains("first token came after 19.4 s, later on 3.28 s"),
        "{slow:?}"
    );
    // Here the requests behind it wait for the KV cache: only the prompts themselves tell.
    let slow = told("recordings/vllm016-cpu-kvsmall", WarmUp);
    assert!(slow.len() == 1 && slow[0].contains("the prompt took 18.0 s, later on 1.97 s"), "{slow:?}");
}

#[test]
fn a_client_that_stops_sending_leaves_a_drain_and_a_queue_has_its_peak() {
    let drain = told("recordings/vllm-h200-prefixoff", Drain);
    assert!(drain.len() == 1 && drain[0].contains("the 203 requests it had"), "{drain:?}");
    let queue = told("recordings/vllm-h200-kvsmall", Queue);
    assert!(queue.len() == 1, "{queue:?}");
    assert!(
        queue[0].contains("up to 292 requests") && queue[0].contains("277 requests still wait"),
        "{queue:?}"
    );
}

#[test]
fn a_clock_at_its_power_limit_is_told_with_the_power() {
    let slow = told("h200/vllm-h200-longprompt9k", Throttle);
    assert!(slow.len() == 1 && slow[0].contains("1440 MHz of 1980 MHz, 73 %"), "{slow:?}");
    assert!(slow[0].contains("and drew 692 W of 700 W"), "{slow:?}");
}
