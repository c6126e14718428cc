//! A start in words: how it ended, where its time went, and why its longest part may take so long.

use std::fmt::Write as _;

use intriage_case::{PhaseTime, StartPhase, StartRun};

/// What makes a phase long, what shortens it, and the cause whose page says more.
struct Slow {
    phase: StartPhase,
    why: &'static str,
    cause: Option<&'static str>,
}

const SLOW: &[Slow] = &[
    Slow {
        phase: StartPhase::Launch,
        why: "Python reads the engine's packages: slow from a network disk or a cold page cache, and on a busy or small processor",
        cause: None,
    },
    Slow {
        phase: StartPhase::Download,
        why: "the weights come from the hub; a cache that outlives the container (HF_HOME on a volume) makes it once",
        cause: None,
    },
    Slow {
        phase: StartPhase::LoadWeights,
        why: "weights are read at the speed of where they lie; local NVMe or a warm page cache is faster",
        cause: Some("slow-model-storage"),
    },
    Slow {
        phase: StartPhase::ProfileMemory,
        why: "a trial run with the largest batch; fewer batched tokens make it shorter",
        cause: None,
    },
    Slow {
        phase: StartPhase::Compile,
        why: "kernels are compiled at a first start and kept (VLLM_CACHE_ROOT on a volume); --enforce-eager leaves it out",
        cause: Some("cold-start-warmup"),
    },
    Slow {
        phase: StartPhase::CaptureGraphs,
        why: "a graph is captured for each batch size; fewer sizes or --enforce-eager make it shorter",
        cause: Some("cold-start-warmup"),
    },
    Slow {
        phase: StartPhase::WarmUp,
        why: "kernels are tuned and compiled before the first request, and kept in the caches of their libraries",
        cause: Some("cold-start-warmup"),
    },
];

/// The start as sentences.
pub(crate) fn start_lines(start: &StartRun) -> Vec<String> {
    let mut lines = vec![start.end.says(start.took)];
    let parts = start.phases.iter().filter(|part| part.phase != StartPhase::Serving);
    let parts: Vec<String> = parts.map(|part| format!("{} {}", part.phase.name(), part.took)).collect();
    if !start.end.came_up()
        && let Some(last) = start.phases.last()
    {
        let _ = write!(lines[0], ", in the phase {:?}", last.phase.name());
    }
    lines.push(parts.join(", "));
    if start.end.came_up() {
        lines.extend(start.longest().and_then(|part| longest(part, start)));
    }
    lines
}

fn longest(part: &PhaseTime, start: &StartRun) -> Option<String> {
    let row = SLOW.iter().find(|row| row.phase == part.phase)?;
    let page = row.cause.map_or(String::new(), |cause| format!(" (intriage explain {cause})"));
    Some(format!("longest: {}, {} of {}: {}{page}", part.phase.name(), part.took, start.took, row.why))
}

#[cfg(test)]
mod tests {
    use intriage_case::{Millis, Seconds, StartEnd};

    use super::*;

    fn run(end: StartEnd) -> StartRun {
        let part = |phase, took| PhaseTime { phase, began: Seconds(0.0), took: Seconds(took) };
        let phases = vec![part(StartPhase::Launch, 8.0), part(StartPhase::Compile, 26.0)];
        StartRun { at: Millis(1), end, took: Seconds(34.0), phases }
    }

    #[test]
    fn a_start_that_came_up_tells_its_longest_part_and_why() {
        let lines = start_lines(&run(StartEnd::Ready));
        assert!(lines[0].starts_with("the server came up after 34"), "{lines:?}");
        assert!(lines[1].contains("launch 8") && lines[1].contains("compile 26"), "{lines:?}");
        assert!(
            lines[2].starts_with("longest: compile") && lines[2].contains("cold-start-warmup"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_start_that_failed_tells_how_far_it_came() {
        let lines = start_lines(&run(StartEnd::Exited { code: 1 }));
        assert!(
            lines[0].contains("exit status 1") && lines[0].ends_with("in the phase \"compile\""),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn every_page_that_is_named_is_there() {
        for cause in SLOW.iter().filter_map(|row| row.cause) {
            assert!(intriage_diagnose::find(cause).is_some(), "{cause}");
        }
    }
}
