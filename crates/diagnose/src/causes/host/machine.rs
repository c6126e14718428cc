//! What the causes of this class look at.

use intriage_case::{Fact, Quantity, Ratio, Seconds, Source};
use intriage_engines::host::Host;

use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;

/// What shows the machine.
const NO_HOST: &str = "the serving machine was not looked at: run `intriage check … --host` on it";

/// The machine over the window, or why it is not known.
pub(super) fn machine<'a>(e: &Evidence<'a>) -> Result<&'a Host, String> {
    let host = e.observed.host.as_ref().ok_or(NO_HOST)?;
    if host.window.is_none() {
        return Err("the machine was looked at once: shares of time need two looks".into());
    }
    if host.processes.is_empty() {
        return Err("no serving process was found on the machine that was looked at".into());
    }
    Ok(host)
}

/// A fact of the kernel's.
pub(super) fn kernel(says: impl Into<String>, value: impl Into<Quantity>, file: &str) -> Fact {
    Fact {
        says: says.into(),
        value: Some(value.into()),
        limit: None,
        signal: None,
        source: Source::Kernel { file: file.to_owned() },
    }
}

/// What standing still for a share of the time costs a request.
pub(super) fn stopped_impact(e: &Evidence<'_>, share: Ratio) -> Impact {
    let share = Ratio(share.get().clamp(0.0, 1.0));
    let time = e.account.life().map(|life| Seconds(life.get() * share.get()));
    let each = time.map_or(String::new(), |t| format!(", {t} of each request"));
    Impact {
        on: ImpactOn::E2e,
        share,
        time,
        says: format!("the server stands still {share} of the time{each}"),
    }
}
