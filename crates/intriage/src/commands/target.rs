//! What is judged: a recording, or a server while it is watched, with the machine beside it.

use std::path::Path;
use std::time::Duration;

use intriage_case::Case;
use intriage_observe::{Address, Limits, OpenError, PathPlan, Watch, open, open_stdin};
use intriage_redact::Redactor;

use super::access::access;
use super::collecting::{Collecting, Model};
use super::keeping::redactor;
use super::machine::Looking;
use super::watching::{end_when_asked, watching};
use super::ways::{self, Probing};
use crate::cli::{AccessArgs, GpuArgs};
use crate::failure::Failure;

/// A target and how to look at it: what `check` and `config` share.
pub(super) struct Subject<'a> {
    /// A URL, a folder of recordings, a saved case, a log, or `-` for one on standard input.
    pub(super) target: &'a str,
    /// Time between scrapes.
    pub(super) interval: Duration,
    /// How long to watch.
    pub(super) window: Duration,
    /// Most bytes and time of one scrape.
    pub(super) limits: Limits,
    /// Whether this machine is looked at, too.
    pub(super) host: bool,
    /// GPUs that are not this machine's, or were asked before.
    pub(super) gpu: &'a GpuArgs,
    /// How to get in.
    pub(super) access: &'a AccessArgs,
    /// Hops in front of the server, from it outwards.
    pub(super) via: &'a [String],
    /// The model the probes ask for.
    pub(super) model: Option<&'a String>,
    /// The replica of a merged case.
    pub(super) replica: Option<&'a str>,
}

impl Subject<'_> {
    /// The evidence, and what hides its secrets. The model's files are read beside the window where they are wanted.
    pub(super) fn look(&self, files: Option<Collecting<Model>>) -> Result<(Case, Redactor), Failure> {
        let path = Path::new(self.target);
        let (mut case, redactor) = if self.target == "-" {
            (self.recorded(open_stdin())?, redactor(None, None))
        } else if !Address::looks_like_one(self.target) || path.exists() {
            (self.recorded(open(path))?, redactor(None, None))
        } else {
            self.live()?
        };
        if let Some(files) = files {
            files.finish(&mut case);
        }
        Ok((case, redactor))
    }

    fn recorded(&self, opened: Result<Case, OpenError>) -> Result<Case, Failure> {
        let now = [
            (self.host, "--host looks at this machine now: it goes with a URL"),
            (!self.via.is_empty(), "--via probes a live server: give its URL, not a recording"),
            (self.gpu.dcgm.is_some(), "--dcgm asks an exporter now: it goes with a URL"),
        ];
        if let Some((_, why)) = now.iter().find(|(asked, _)| *asked) {
            return Err(Failure::Usage((*why).into()));
        }
        let opened = opened.map_err(|why| match why {
            OpenError::Missing(path) => Failure::File {
                path: path.display().to_string(),
                why: "does not exist: give a URL, a folder of recordings, a case file or a log".into(),
            },
            why => why.into(),
        });
        let mut case = chosen(opened?, self.replica)?;
        Looking::start(false, self.gpu, None)?.stop(&mut case);
        Ok(case)
    }

    fn live(&self) -> Result<(Case, Redactor), Failure> {
        let address: Address = self.target.parse().map_err(|e| Failure::Usage(format!("{e}")))?;
        let hops = ways::hops(self.via)?;
        if self.window < self.interval {
            return Err(Failure::Usage(
                "--window is shorter than --interval: at least two scrapes are needed".into(),
            ));
        }
        let access = access(self.access)?;
        let redactor = redactor(Some(&access), Some(&address));
        let plan = Watch {
            address,
            access,
            interval: self.interval,
            window: self.window,
            limits: self.limits,
            until: None,
            budget: None,
        };
        let way = PathPlan { model: self.model.cloned(), ..PathPlan::default() };
        let probing = Probing::start(&plan.address, hops, &plan.access, way);
        let looking = Looking::start(self.host, self.gpu, None)?;
        let mut case = watching(&plan)?;
        looking.stop(&mut case);
        if let Some(probing) = probing {
            probing.finish(&mut case)?;
        }
        end_when_asked();
        Ok((case, redactor))
    }
}

/// The case itself, or the replica asked for; that there are others is said.
fn chosen(mut case: Case, replica: Option<&str>) -> Result<Case, Failure> {
    let names: Vec<String> = case.replicas.iter().map(|r| r.name.clone()).collect();
    let Some(wanted) = replica else {
        if !names.is_empty() {
            case.notes.push(format!(
                "other replicas are in the case; judge one with --replica: {}",
                names.join(", ")
            ));
        }
        return Ok(case);
    };
    let found = case.replicas.into_iter().find(|r| r.name == wanted);
    found.map(|r| r.case).ok_or_else(|| {
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Failure::Usage(format!("--replica {wanted}: the case has no such replica; it has {known}"))
    })
}
