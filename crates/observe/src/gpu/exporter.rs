//! A DCGM exporter, asked by its URL.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use intriage_case::{Scrape, ScrapeOutcome};
use intriage_engines::{GpuText, recognise_gpu_text};

use crate::clock;
use crate::http::{Access, Answer, Client, Limits};
use crate::url::Address;

/// Time between two pages. Exporters look at their cards every 30 s unless told otherwise: more would show the same.
const EVERY: Duration = Duration::from_secs(1);

/// About 100 lines a card; machines have sixteen at most.
const LIMITS: Limits = Limits { bytes: 8 << 20, time: Duration::from_secs(5) };

/// Most pages kept: an hour.
const MOST_PAGES: usize = 3600;

/// Scrapes an exporter from now until [`DcgmWatch::stop`].
pub struct DcgmWatch {
    stop: Sender<()>,
    thread: JoinHandle<Result<Vec<Scrape>, String>>,
}

impl DcgmWatch {
    /// Begins. Nobody's credentials are sent: those of the server are not for its neighbour.
    pub fn start(address: &Address) -> Self {
        let mut address = address.clone();
        if !address.path.ends_with("metrics") {
            address.path = format!("{}/metrics", address.path.trim_end_matches('/'));
        }
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let path = address.path.clone();
            let client = Client::new(address, Access::default()).map_err(|e| e.to_string())?;
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|e| e.to_string())?;
            let (mut pages, mut due) = (Vec::new(), Instant::now());
            loop {
                let outcome = match runtime.block_on(client.get(&path, LIMITS)) {
                    Ok(Answer { status: 200, body, .. }) => ScrapeOutcome::Body(body),
                    Ok(answer) => ScrapeOutcome::Failed(format!("HTTP {}", answer.status)),
                    Err(error) => ScrapeOutcome::Failed(error.to_string()),
                };
                if pages.len() < MOST_PAGES {
                    let at = clock::after(pages.last().map(|page: &Scrape| page.at));
                    pages.push(Scrape { at, outcome });
                }
                due += EVERY;
                if stopped.recv_timeout(due.saturating_duration_since(Instant::now()))
                    != Err(RecvTimeoutError::Timeout)
                {
                    return Ok(pages);
                }
            }
        });
        Self { stop, thread }
    }

    /// Ends; an error says why there is no page of DCGM among those that came.
    pub fn stop(self) -> Result<Vec<Scrape>, String> {
        // The thread may have ended by itself: then its own error tells.
        let _ = self.stop.send(());
        let pages = self.thread.join().map_err(|_| "the thread that scrapes died".to_owned())??;
        let is_dcgm = |bytes: &[u8]| {
            std::str::from_utf8(bytes).is_ok_and(|text| recognise_gpu_text(text) == Some(GpuText::Dcgm))
        };
        if pages.iter().filter_map(Scrape::body).any(is_dcgm) {
            return Ok(pages);
        }
        Err(pages
            .iter()
            .find_map(|page| match &page.outcome {
                ScrapeOutcome::Failed(why) => Some(why.clone()),
                ScrapeOutcome::Body(_) => None,
            })
            .unwrap_or_else(|| "the page has no series of DCGM (DCGM_FI_DEV_…)".into()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use intriage_case::Case;
    use intriage_engines::read;

    use super::*;

    /// Answers every connection with the same page until the test ends.
    fn exporter(status: &str, page: &'static str) -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", page.len());
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(mut connection) = connection else { return };
                let _ = connection.read(&mut [0; 2048]);
                let _ = connection.write_all(format!("{head}{page}").as_bytes());
            }
        });
        format!("http://127.0.0.1:{port}").parse().unwrap()
    }

    #[test]
    fn pages_of_an_exporter_are_kept_and_read() {
        let page = "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",modelName=\"NVIDIA L4\"} 0\nDCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 210\n";
        let pages = DcgmWatch::start(&exporter("200 OK", page)).stop().unwrap();
        assert!(!pages.is_empty());
        let mut case = Case::default();
        case.gpu.dcgm = pages;
        assert_eq!(read(&case).gpu.name.as_deref(), Some("NVIDIA L4"));
    }

    #[test]
    fn what_is_no_exporter_says_so() {
        let other = DcgmWatch::start(&exporter("200 OK", "up 1\n")).stop().unwrap_err();
        assert!(other.contains("DCGM_FI_DEV"), "{other}");
        let missing = DcgmWatch::start(&exporter("404 Not Found", "")).stop().unwrap_err();
        assert_eq!(missing, "HTTP 404");
    }
}
