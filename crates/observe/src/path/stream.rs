//! One streamed answer, stamped as it arrives.

use http_body_util::BodyExt as _;
use intriage_case::{Seconds, StreamSeen};
use tokio::time::{Instant, timeout};

use super::PathPlan;
use super::arrivals::Arrivals;
use super::line::{Connection, Line};
use super::question::Question;
use super::unpack::Unpack;
use crate::http::chain;

/// Longest beginning of a refusal that is kept, in bytes.
const WORDS: usize = 200;

/// Asks on a connection of its own. Times count from sending, or from `since` where it is given.
pub(super) async fn one(
    line: &Line,
    question: &Question,
    body: Vec<u8>,
    since: Option<Instant>,
    plan: &PathPlan,
) -> StreamSeen {
    let mut connection = match line.open(plan).await {
        Ok((connection, _)) => connection,
        Err(why) => return StreamSeen { error: Some(why), ..StreamSeen::default() },
    };
    // What came before the time ran out stays.
    let mut arrivals = Arrivals::new(question.api());
    let mut head =
        Head { status: None, encoding: None, came: None, since: since.unwrap_or_else(Instant::now) };
    let reading = read(&mut connection, question, body, &mut arrivals, &mut head, plan.bytes);
    let ended = timeout(plan.stream, reading).await;
    let mut seen = arrivals.figures(&connection.reads.sizes());
    seen.status = head.status;
    seen.encoding = head.encoding;
    seen.headers = head.came;
    seen.error = match ended {
        Ok(Ok(())) => seen.error,
        Ok(Err(why)) => Some(why),
        Err(_) => Some(format!("no end within {} s", plan.stream.as_secs_f64())),
    };
    seen
}

/// The head of an answer.
struct Head {
    status: Option<u16>,
    encoding: Option<String>,
    came: Option<Seconds>,
    since: Instant,
}

async fn read(
    connection: &mut Connection<'_>,
    question: &Question,
    body: Vec<u8>,
    arrivals: &mut Arrivals,
    head: &mut Head,
    most_bytes: usize,
) -> Result<(), String> {
    let response = connection.send(question.api().path(), Some(body)).await?;
    head.came = Some(Seconds(head.since.elapsed().as_secs_f64()));
    let status = response.status();
    head.status = Some(status.as_u16());
    let encoding = response.headers().get(http::header::CONTENT_ENCODING);
    head.encoding = encoding.and_then(|v| v.to_str().ok()).map(str::to_ascii_lowercase);
    let mut unpack = Unpack::new(head.encoding.as_deref(), most_bytes)?;
    let (mut body, mut words) = (response.into_body(), Vec::new());
    while let Some(frame) = body.frame().await {
        // The stamp comes before any thought about what it is.
        let (at, read) = (head.since.elapsed(), connection.reads.count());
        let frame = frame.map_err(|e| chain(&e))?;
        let Some(data) = frame.data_ref() else { continue };
        unpack.read(data, |plain| {
            if status.is_success() {
                return arrivals.part(at, read, plain);
            }
            words.extend(plain.iter().take(WORDS.saturating_sub(words.len())));
            Ok(())
        })?;
    }
    if status.is_success() {
        return Ok(());
    }
    Err(format!("HTTP {}: {}", status.as_u16(), String::from_utf8_lossy(&words).trim()))
}
