//! Recorded runs and other tools' results: shown, joined, imported.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use intriage_case::Objective;
use intriage_load::Observer;
use intriage_record::definitions::{AsTool, Said, Tool};
use intriage_record::file::{self, RunFile, Writer};
use intriage_record::{ClientFacts, Declared, Finished, Header, Merger, Summary, Tally, import};

use super::args::{BenchFormat, FilesArgs, MergeArgs};
use super::print;
use crate::failure::{Failure, Outcome};

/// Other tools' sayings, added up beside ours.
pub(super) struct Sayings(Vec<Arc<Mutex<AsTool>>>);

impl Sayings {
    pub(super) fn new(tools: &[String], api: &str, objectives: &[Objective]) -> Result<Self, Failure> {
        let each = |name: &String| {
            let tool: Tool = name.parse().map_err(|e| Failure::Usage(format!("{e}")))?;
            Ok(Arc::new(Mutex::new(AsTool::new(tool, api, objectives))))
        };
        tools.iter().map(each).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn observers(&self) -> Vec<Observer> {
        let each = |tool: &Arc<Mutex<AsTool>>| {
            let tool = Arc::clone(tool);
            Box::new(move |finished: &Finished| {
                tool.lock().unwrap_or_else(PoisonError::into_inner).add(finished);
            }) as Observer
        };
        self.0.iter().map(each).collect()
    }

    fn add(&self, finished: &Finished) {
        for tool in &self.0 {
            tool.lock().unwrap_or_else(PoisonError::into_inner).add(finished);
        }
    }

    pub(super) fn said(&self, summary: &Summary) -> Vec<Said> {
        self.0.iter().map(|t| t.lock().unwrap_or_else(PoisonError::into_inner).finish(&summary.all)).collect()
    }
}

/// Rows of `--format csv`, printed as requests end.
pub(super) fn rows(wanted: bool) -> Option<Observer> {
    wanted.then(|| {
        let mut out = BufWriter::new(std::io::stdout());
        let _ = out.write_all(intriage_report::bench_row_names().as_bytes());
        Box::new(move |finished: &Finished| {
            // A reader that has gone has seen enough.
            let _ = out.write_all(intriage_report::bench_row(finished).as_bytes());
        }) as Observer
    })
}

/// Adds up requests of a file and keeps them where asked.
struct Reader {
    tally: Tally,
    sayings: Sayings,
    rows: Option<Observer>,
    writer: Option<Writer<BufWriter<File>>>,
    failed: Option<std::io::Error>,
}

impl Reader {
    fn new(
        declared: Declared,
        sayings: Sayings,
        format: BenchFormat,
        record: Option<&Path>,
        header: &Header,
    ) -> Result<Self, Failure> {
        let bad = |path: &Path, e: std::io::Error| Failure::File {
            path: path.display().to_string(),
            why: e.to_string(),
        };
        let writer = match record {
            Some(path) => {
                let file = super::create(path)?;
                Some(Writer::new(BufWriter::new(file), header).map_err(|e| bad(path, e))?)
            }
            None => None,
        };
        Ok(Self {
            tally: Tally::new(declared),
            sayings,
            rows: rows(format == BenchFormat::Csv),
            writer,
            failed: None,
        })
    }

    fn add(&mut self, finished: &Finished) {
        self.tally.add(finished);
        self.sayings.add(finished);
        if let Some(rows) = &mut self.rows {
            rows(finished);
        }
        if let Some(writer) = &mut self.writer {
            let written = writer
                .chunks(finished.request.id, &finished.chunks)
                .and_then(|()| writer.request(&finished.request));
            if let Err(why) = written {
                self.failed.get_or_insert(why);
            }
        }
    }

    fn end(
        mut self,
        header: &Header,
        client: Option<&ClientFacts>,
        format: BenchFormat,
    ) -> Result<Outcome, Failure> {
        if let Some(mut writer) = self.writer.take() {
            let ended =
                if let Some(client) = client { writer.finish(client).map(|_| ()) } else { writer.flush() };
            if let Some(why) = self.failed.or(ended.err()) {
                return Err(Failure::Load(format!("the record cannot be written: {why}")));
            }
        }
        let summary = Summary::of(header, &self.tally, client);
        if format != BenchFormat::Csv {
            print::bench(&summary, &self.sayings.said(&summary), None, format)?;
        }
        Ok(Outcome::Fine)
    }
}

fn opened(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path)
        .map_err(|e| Failure::File { path: path.display().to_string(), why: e.to_string() })?;
    Ok(BufReader::with_capacity(1 << 20, file))
}

fn scan(path: &Path, each: impl FnMut(&Header, Finished)) -> Result<RunFile, Failure> {
    file::read(opened(path)?, each)
        .map_err(|e| Failure::File { path: path.display().to_string(), why: e.to_string() })
}

/// The header alone: the file is read to its end only where it must be.
fn header_of(path: &Path) -> Result<Header, Failure> {
    file::read_header(opened(path)?)
        .map_err(|e| Failure::File { path: path.display().to_string(), why: e.to_string() })
}

pub(super) fn show(args: &FilesArgs) -> Result<Outcome, Failure> {
    let header = header_of(&args.file)?;
    let sayings = Sayings::new(&args.definitions, &header.api, &header.declared.objectives)?;
    let mut reader =
        Reader::new(header.declared.clone(), sayings, args.format, args.record.as_deref(), &header)?;
    let run = scan(&args.file, |_, finished| reader.add(&finished))?;
    if run.client.is_none() {
        let chunks: usize = run.in_flight.iter().map(|(_, chunks)| chunks.len()).sum();
        anstream::eprintln!(
            "note: the run was killed: its record ends {}, {} requests with {chunks} chunks had not ended",
            if run.cut { "inside a block" } else { "without the client's account" },
            run.in_flight.len()
        );
    }
    reader.end(&run.header, run.client.as_ref(), args.format)
}

pub(super) fn merge(args: &MergeArgs) -> Result<Outcome, Failure> {
    let headers = args.files.iter().map(|path| header_of(path)).collect::<Result<Vec<_>, _>>()?;
    let mut merger = Merger::new(&headers).map_err(|e| Failure::Usage(e.to_string()))?;
    let header = merger.header.clone();
    let sayings = Sayings::new(&[], &header.api, &[])?;
    let mut reader =
        Reader::new(header.declared.clone(), sayings, args.format, args.record.as_deref(), &header)?;
    for (place, path) in args.files.iter().enumerate() {
        let run = scan(path, |_, finished| reader.add(&merger.adopt(place, finished)))?;
        match run.client {
            Some(client) => merger.client(&client),
            None => anstream::eprintln!(
                "note: {}: the run was killed; what it wrote before is counted",
                path.display()
            ),
        }
    }
    let client = merger.client.take();
    reader.end(&header, client.as_ref(), args.format)
}

pub(super) fn import(args: &FilesArgs) -> Result<Outcome, Failure> {
    let name = args.file.display().to_string();
    let imported = import::import(&name, opened(&args.file)?).map_err(|e| {
        // Its words begin with the file's name, as ours do.
        let words = e.to_string();
        let why = words.strip_prefix(&format!("{name}: ")).unwrap_or(&words).to_owned();
        Failure::File { path: name.clone(), why }
    })?;
    if args.record.is_some() && imported.runs.len() != 1 {
        return Err(Failure::Usage(format!(
            "--record keeps one run, and this file holds {}",
            imported.runs.len()
        )));
    }
    for run in &imported.runs {
        for note in &run.notes {
            anstream::eprintln!("note: {note}");
        }
        if args.format == BenchFormat::Text {
            print::text(&intriage_report::import_text(imported.tool, run))?;
        }
        if run.requests.is_empty() {
            anstream::eprintln!(
                "note: the file has no requests one by one, so no figure of ours can be computed"
            );
            continue;
        }
        let sayings = Sayings::new(&args.definitions, &run.header.api, &run.header.declared.objectives)?;
        let mut reader = Reader::new(
            run.header.declared.clone(),
            sayings,
            args.format,
            args.record.as_deref(),
            &run.header,
        )?;
        run.requests.iter().for_each(|finished| reader.add(finished));
        reader.end(&run.header, None, args.format)?;
    }
    Ok(Outcome::Fine)
}
