//! Watching a server with a bar: what `check` and `demo` share.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use intriage_case::Case;
use intriage_observe::{Progress, Watch, asked_to_stop, watch};

use crate::failure::Failure;

/// Watches a server and shows how far it is.
pub(super) fn watching(plan: &Watch) -> Result<Case, Failure> {
    let bar = progress(plan.window);
    let case = watch(plan, |event| match event {
        Progress::Scraped { done, failed, elapsed, .. } => {
            bar.set_position(elapsed.as_millis() as u64);
            let failures = if failed > 0 { format!(", {failed} failed") } else { String::new() };
            bar.set_message(format!("{done} scrapes{failures}"));
        }
        Progress::Interrupted => bar.set_message("stopped; judging what there is"),
    });
    bar.finish_and_clear();
    Ok(case?)
}

/// Waits while others look, or until the user wants it to end; tells whether that was so.
pub(super) fn wait(time: Duration) -> bool {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        std::thread::sleep(time);
        return false;
    };
    runtime.block_on(async {
        tokio::select! {
            () = tokio::time::sleep(time) => false,
            () = asked_to_stop() => true,
        }
    })
}

/// From now on a signal ends the program. Whoever once listened for signals is no longer ended by them, and what comes after
/// a watch may wait for a pipe that never ends.
#[expect(clippy::exit, reason = "a thread that waits for a pipe can be ended in no other way")]
pub(crate) fn end_when_asked() {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(asked_to_stop());
        // As a shell tells of a program that Ctrl-C ended.
        std::process::exit(130);
    });
}

/// A bar on a terminal, one line elsewhere.
fn progress(window: Duration) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        anstream::eprintln!("watching for {} s", window.as_secs_f64());
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(window.as_millis() as u64);
    if let Ok(style) = ProgressStyle::with_template("watching {bar:20} {msg}, {eta} left; Ctrl-C ends early")
    {
        bar.set_style(style);
    }
    bar
}
