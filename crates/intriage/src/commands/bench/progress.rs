//! What a person sees while a run goes, and how it is ended early.

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use intriage_load::{Handle, Progress, Spec};

use crate::commands::watching::end_when_asked;

/// Ends the run on Ctrl-C or TERM; a second one ends the program.
pub(super) fn end_on_interrupt(handle: &Handle) {
    let stop = Arc::clone(&handle.stop);
    let wait = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(intriage_observe::asked_to_stop());
        stop.store(true, Ordering::Relaxed);
        end_when_asked();
    };
    // Without this thread, Ctrl-C kills the run; its record is readable all the same.
    let _ = thread::Builder::new().name("interrupt".to_owned()).spawn(wait);
}

/// Rates are shown over so long.
const RATES_OVER: Duration = Duration::from_secs(5);

/// A line that lives while a run goes.
pub(super) struct Shown {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Shown {
    /// Takes the line away.
    pub(super) fn end(mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It only draws.
            let _ = thread.join();
        }
    }
}

/// Shows how it goes: rate, answers, failures, first tokens. Where there is no terminal, one line now and then.
pub(super) fn show(handle: &Handle, spec: &Spec) -> Shown {
    let over = Arc::new(AtomicBool::new(false));
    let (handle, ended) = (handle.clone(), Arc::clone(&over));
    let total = spec.sessions;
    let terminal = std::io::stderr().is_terminal();
    let every = if terminal { Duration::from_millis(250) } else { Duration::from_secs(10) };
    let body = move || {
        let bar = if terminal { bar(total) } else { ProgressBar::hidden() };
        let start = Instant::now();
        let mut looks = VecDeque::from([(start, 0, 0)]);
        loop {
            thread::park_timeout(every);
            if ended.load(Ordering::Relaxed) {
                bar.finish_and_clear();
                return;
            }
            let now = Instant::now();
            if looks.back().is_some_and(|(last, ..)| now.duration_since(*last) < every) {
                continue;
            }
            let progress = handle.progress.lock().unwrap_or_else(PoisonError::into_inner).clone();
            while looks.len() > 1
                && looks.front().is_some_and(|(at, ..)| now.duration_since(*at) > RATES_OVER)
            {
                looks.pop_front();
            }
            let line = line(&progress, now, &looks, start);
            looks.push_back((now, progress.ended, progress.tokens));
            if terminal {
                bar.set_position(progress.ended);
                bar.set_message(line);
            } else {
                anstream::eprintln!("{line}");
            }
        }
    };
    let thread = thread::Builder::new().name("progress".to_owned()).spawn(body).ok();
    Shown { over, thread }
}

/// How it goes, in a line; rates are those of the last seconds.
fn line(progress: &Progress, now: Instant, looks: &VecDeque<(Instant, u64, u64)>, start: Instant) -> String {
    let (since, ended, tokens) = looks.front().copied().unwrap_or((start, 0, 0));
    let seconds = now.duration_since(since).as_secs_f64().max(1e-3);
    let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
    let firsts = progress.first_tokens();
    let firsts = firsts.map_or(String::new(), |(p50, p99)| format!(", TTFT {p50} (p99 {p99})"));
    let failed = if progress.failed > 0 { format!(", {} failed", progress.failed) } else { String::new() };
    format!(
        "{:.0} s: {} ended{failed}, {:.1} req/s, {:.0} tokens/s{firsts}",
        now.duration_since(start).as_secs_f64(),
        progress.ended,
        rate(progress.ended, ended),
        rate(progress.tokens, tokens)
    )
}

fn bar(total: Option<u64>) -> ProgressBar {
    let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
    // Cut to the terminal's width, so that the line stays one line.
    let template = if total.is_some() { "{bar:16} {wide_msg}" } else { "{spinner} {wide_msg}" };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
