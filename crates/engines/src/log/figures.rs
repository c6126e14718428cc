//! Figures in the lines of engines and PyTorch, and the words they stand behind.

use super::line::leading_number;
use super::readings::LogEvent;
use super::signature::Wording;
use crate::VersionRange;

/// What a figure in a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// Tokens of context that would have fitted.
    ContextThatFits,
    /// Bytes that were asked for and not there.
    MemoryAsked,
    /// Bytes that were gone on the device before anything was loaded.
    MemoryGone,
    /// Bytes the largest other process on the device holds, where the line tells which is the writer's own.
    MemoryOfAnother,
    /// Requests that were thrown back.
    Retracted,
    /// Milliseconds until a KV transfer begins, or is over.
    TransferTime,
    /// Milliseconds a KV transfer takes on average.
    TransferEach,
}

/// Words in a line, and the figure that stands by them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// What it is.
    pub told: Told,
    /// The words.
    pub by: &'static str,
    /// How it is read.
    pub how: FigureIs,
    /// The releases it was seen in.
    pub range: VersionRange,
    /// Where the wording was found.
    pub source: Wording,
    /// A line that has it.
    pub example: &'static str,
    /// What it is there, in the unit of [`Told`].
    pub reads: f64,
    /// A similar line that has it not.
    pub not: &'static str,
}

/// How a figure is read, and the factor to its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FigureIs {
    /// The number directly behind the words.
    Behind(f64),
    /// A size with its unit directly behind the words: `3.91 GiB`.
    SizeBehind,
    /// What `(free/all GiB)` behind the words leaves.
    Missing,
    /// The largest `Process N has SIZE memory in use`, in a line that has the words for the writer's own.
    LargestProcess,
}

const GIB: f64 = 1_073_741_824.0;
const MIB: f64 = 1_048_576.0;
const LINES: Wording = Wording::Knowledge("engines.md 1.7, startup OOM");
const OOM: Wording = Wording::Code("pytorch/pytorch:c10/cuda/CUDACachingAllocator.cpp");

const fn row(told: Told, by: &'static str, how: FigureIs, source: Wording) -> Figure {
    Figure { told, by, how, range: VersionRange::ALL, source, example: "", reads: 0.0, not: "" }
}

impl Figure {
    const fn reads(mut self, example: &'static str, reads: f64, not: &'static str) -> Self {
        (self.example, self.reads, self.not) = (example, reads, not);
        self
    }

    const fn until(mut self, until: &'static str) -> Self {
        self.range.until = until;
        self
    }

    const fn since(mut self, since: &'static str) -> Self {
        self.range.since = since;
        self
    }

    /// The figure in a line.
    pub fn of(&self, line: &str) -> Option<f64> {
        let (_, behind) = line.split_once(self.by)?;
        match self.how {
            FigureIs::Behind(factor) => Some(leading_number(behind)? * factor),
            FigureIs::SizeBehind => size(behind),
            FigureIs::Missing => {
                let (free, rest) = behind.split_once('(')?.1.split_once('/')?;
                let (all, _) = rest.split_once(" GiB")?;
                Some((all.trim().parse::<f64>().ok()? - free.trim().parse::<f64>().ok()?) * GIB)
            }
            FigureIs::LargestProcess => {
                let named = line.split("Process ").skip(1).filter_map(|part| {
                    let (number, held) = part.split_once(" has ")?;
                    number.parse::<u32>().ok()?;
                    size(held)
                });
                named.reduce(f64::max)
            }
        }
    }
}

/// `66.40 GiB` in bytes.
fn size(text: &str) -> Option<f64> {
    let (number, rest) = text.trim_start().split_once(' ')?;
    let factor = if rest.starts_with("GiB") {
        GIB
    } else if rest.starts_with("MiB") {
        MIB
    } else {
        return None;
    };
    Some(number.parse::<f64>().ok().filter(|n| n.is_finite())? * factor)
}

impl LogEvent {
    /// A figure its line tells, in the unit of [`Told`].
    pub fn told(&self, what: Told) -> Option<f64> {
        FIGURES.iter().filter(|figure| figure.told == what).find_map(|figure| figure.of(&self.message))
    }
}

/// Every figure, by what it is. Of two rows that read one line the first counts.
pub fn figures() -> &'static [Figure] {
    FIGURES
}

static FIGURES: &[Figure] = &[
    row(Told::ContextThatFits, "estimated maximum model length is ", FigureIs::Behind(1.0), LINES)
        .since("0.7.0")
        .reads(
            "Based on the available memory, the estimated maximum model length is 37904. Try increasing",
            37904.0,
            "Using max model len 8192",
        ),
    row(
        Told::ContextThatFits,
        "can be stored in KV cache (",
        FigureIs::Behind(1.0),
        Wording::Code("vllm-project/vllm:vllm/worker/worker.py"),
    )
    .until("0.10.2")
    .reads(
        "is larger than the maximum number of tokens that can be stored in KV cache (28528). Try increasing",
        28528.0,
        "GPU KV cache size: 931,104 tokens",
    ),
    row(Told::MemoryAsked, "Tried to allocate ", FigureIs::SizeBehind, OOM).reads(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        2.0 * GIB,
        "Tried to allocate a port",
    ),
    row(Told::MemoryGone, "Free memory on device", FigureIs::Missing, LINES).reads(
        "ValueError: Free memory on device cuda:0 (70.5/79.0 GiB) on startup is less than desired GPU memory utilization (0.92, 72.8 GiB).",
        8.5 * GIB,
        "Free memory on device is not known",
    ),
    // Other processes stand before its own or behind it, as the driver lists them. In a container it does not know which
    // one is its own, and all are named alike.
    row(Told::MemoryOfAnother, "this process has ", FigureIs::LargestProcess, OOM).reads(
        "of which 471.00 MiB is free. Including non-PyTorch memory, this process has 16.00 GiB memory in use. Process 19239 has 14.50 GiB memory in use. Of the allocated memory",
        14.5 * GIB,
        "Process 7 has 78.90 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch",
    ),
    row(
        Told::Retracted,
        "#retracted_reqs:",
        FigureIs::Behind(1.0),
        Wording::Code("sgl-project/sglang:python/sglang/srt/managers/scheduler.py"),
    )
    .reads(
        "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.41 -> 0.62",
        3.0,
        "Decode batch, #running-req: 2, #queue-req: 0",
    ),
    row(
        Told::TransferTime,
        "Time to init xfer:",
        FigureIs::Behind(1.0),
        Wording::Incident("ai-dynamo/dynamo#1314"),
    )
    .reads("Time to init xfer: 1800.3 ms", 1800.3, "Time to init engine: 5 s"),
    row(
        Told::TransferTime,
        "Total time for write:",
        FigureIs::Behind(1.0),
        Wording::Incident("ai-dynamo/dynamo#1314"),
    )
    .reads("Total time for write: 1803.43 ms", 1803.43, "total time =    1507.86 ms"),
    row(
        Told::TransferEach,
        "Avg xfer time (ms)=",
        FigureIs::Behind(1.0),
        Wording::Code("vllm-project/vllm:vllm/distributed/kv_transfer/kv_connector/v1/nixl/stats.py"),
    )
    .since("0.11.1")
    .reads("Num successful transfers=64, Avg xfer time (ms)=38.7, P90", 38.7, "P90 xfer time (ms)=61.2"),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_row_reads_its_example_and_not_the_line_that_looks_like_it() {
        for figure in figures() {
            let read = figure.of(figure.example);
            assert!(
                read.is_some_and(|n| (n - figure.reads).abs() < 1e-6 * figure.reads),
                "{figure:?}: {read:?}"
            );
            assert!(!figure.not.is_empty() && figure.of(figure.not).is_none(), "{figure:?}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_survived(row in 0..FIGURES.len(), before in "\\PC{0,40}", behind in "[ -~]{0,60}") {
            let figure = &FIGURES[row];
            let _ = figure.of(&format!("{before}{}{behind}", figure.by));
        }
    }
}
