//! The bare read loop: about the least a client can do, for others to be compared with.
//!
//! One thread, one epoll, connections that stay, one request that is serialised once, and no JSON: it counts the blank
//! lines that end events and looks for the end of each answer. With `--stats` it reads the clock once after each
//! read(2). It checks nothing else, so it is a yardstick and not a load generator.
//!
//! Usage: `cargo run --release -p intriage-truth --example bare -- 127.0.0.1:8000 --concurrency 64 --requests 10000
//! --tokens 256`; with `--rate` it sends by a schedule, and `--concurrency` is how many connections stand before it begins.
//! One JSON object comes out, times in seconds.
#![allow(clippy::print_stdout)]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::io::{self, ErrorKind, Read as _, Write as _};
    use std::net::TcpStream;
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    use intriage_truth::monotonic;
    use memchr::memmem::Finder;
    use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use serde_json::{Value, json};

    type Outcome<T> = Result<T, Box<dyn Error>>;

    /// How a streamed answer ends: the last chunk of HTTP has no bytes.
    const END: &[u8] = b"\r\n0\r\n\r\n";
    /// Events before the first token: the one that names the role.
    const LEAD: u32 = 1;
    /// Bytes of one read(2).
    const READ: usize = 256 * 1024;
    const TIMER: u64 = u64::MAX;

    pub(super) fn main() -> Outcome<()> {
        let options = Options::read()?;
        // Sleeps end when they should, not up to 50 µs later.
        nix::sys::prctl::set_timerslack(1)?;
        println!("{}", Loop::new(options)?.run()?);
        Ok(())
    }

    /// What is asked on the command line.
    struct Options {
        address: String,
        concurrency: usize,
        /// Requests a second; 0 sends the next one when an answer has ended.
        rate: f64,
        requests: usize,
        tokens: u32,
        words: usize,
        model: String,
        stats: bool,
    }

    impl Options {
        fn read() -> Outcome<Self> {
            let mut args = std::env::args().skip(1);
            let address = args.next().ok_or("usage: bare ADDRESS:PORT [--concurrency N] [--rate R] [--requests N] [--tokens N] [--words N] [--model NAME] [--stats]")?;
            let mut this = Self {
                address,
                concurrency: 1,
                rate: 0.0,
                requests: 100,
                tokens: 128,
                words: 64,
                model: "mock".into(),
                stats: false,
            };
            while let Some(flag) = args.next() {
                if flag == "--stats" {
                    this.stats = true;
                    continue;
                }
                let value = args.next().ok_or_else(|| format!("{flag} wants a value"))?;
                match flag.as_str() {
                    "--concurrency" => this.concurrency = value.parse()?,
                    "--rate" => this.rate = value.parse()?,
                    "--requests" => this.requests = value.parse()?,
                    "--tokens" => this.tokens = value.parse()?,
                    "--words" => this.words = value.parse()?,
                    "--model" => this.model = value,
                    _ => return Err(format!("unknown: {flag}").into()),
                }
            }
            Ok(this)
        }

        fn request(&self) -> Vec<u8> {
            let content = vec!["word"; self.words].join(" ");
            let body = json!({
                "model": self.model,
                "messages": [{"role": "user", "content": content}],
                "max_tokens": self.tokens,
                "stream": true,
                "stream_options": {"include_usage": true},
            })
            .to_string();
            format!(
                "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                self.address,
                body.len()
            )
            .into_bytes()
        }
    }

    /// A connection and how far its answer is.
    struct Connection {
        stream: TcpStream,
        /// The last bytes of the answer so far, for ends that two reads share.
        tail: [u8; END.len()],
        /// Bytes of the answer so far.
        bytes: usize,
        /// Bytes of an answer that says how long it is: only refusals do.
        length: Option<usize>,
        events: u32,
        sent: u64,
        first: u64,
        last: u64,
    }

    impl Connection {
        fn open(address: &str) -> io::Result<Self> {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let tail = [0; END.len()];
            Ok(Self { stream, tail, bytes: 0, length: None, events: 0, sent: 0, first: 0, last: 0 })
        }

        fn send(&mut self, request: &[u8], now: u64) -> io::Result<()> {
            (self.tail, self.bytes, self.length) = ([0; END.len()], 0, None);
            (self.events, self.sent) = (0, now);
            // A request is a few hundred bytes and the socket is empty: it fits.
            self.stream.write_all(request)
        }

        /// Takes in the bytes of one read; says how many events ended and whether the answer did.
        fn take(&mut self, bytes: &[u8], blank: &Finder<'_>) -> (u32, bool) {
            if self.bytes == 0 && !bytes.starts_with(b"HTTP/1.1 200") {
                self.length = Some(refusal_length(bytes));
            }
            let split = self.tail.last() == Some(&b'\n') && bytes.first() == Some(&b'\n');
            let events = blank.find_iter(bytes).count() as u32 + u32::from(split);
            self.bytes += bytes.len();
            if let Some(whole) = bytes.last_chunk() {
                self.tail = *whole;
            } else {
                self.tail.rotate_left(bytes.len());
                let keep = self.tail.len() - bytes.len();
                self.tail.iter_mut().skip(keep).zip(bytes).for_each(|(to, from)| *to = *from);
            }
            self.events += events;
            (events, self.length.map_or(self.tail == END, |length| self.bytes >= length))
        }
    }

    /// Bytes of an answer with a `Content-Length`, its head included.
    fn refusal_length(bytes: &[u8]) -> usize {
        let head = memchr::memmem::find(bytes, b"\r\n\r\n").map_or(0, |at| at + 4);
        let text = String::from_utf8_lossy(bytes.get(..head).unwrap_or_default()).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        head + length.unwrap_or(0_usize)
    }

    /// Times in nanoseconds.
    #[derive(Default)]
    struct Seen {
        ttft: Vec<u64>,
        gaps: Vec<u64>,
        tpot: Vec<u64>,
        late: Vec<u64>,
        ok: usize,
        refused: usize,
        events: u64,
        reads: u64,
        bytes: u64,
    }

    struct Loop {
        options: Options,
        request: Vec<u8>,
        epoll: Epoll,
        timer: TimerFd,
        connections: Vec<Connection>,
        idle: Vec<usize>,
        sent: usize,
        begin: u64,
        seen: Seen,
    }

    impl Loop {
        fn new(options: Options) -> Outcome<Self> {
            let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK)?;
            epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
            let request = options.request();
            let (connections, idle) = (Vec::new(), Vec::new());
            Ok(Self {
                options,
                request,
                epoll,
                timer,
                connections,
                idle,
                sent: 0,
                begin: 0,
                seen: Seen::default(),
            })
        }

        fn run(mut self) -> Outcome<Value> {
            let blank = Finder::new(b"\n\n");
            let mut buffer = vec![0; READ];
            let mut events = vec![EpollEvent::empty(); 1024];
            for _ in 0..self.options.concurrency.min(self.options.requests) {
                let connection = self.connect()?;
                self.idle.push(connection);
            }
            self.begin = monotonic();
            if self.options.rate == 0.0 {
                while let Some(connection) = self.idle.pop() {
                    self.send(connection)?;
                }
            } else {
                self.send_due()?;
            }
            while self.seen.ok + self.seen.refused < self.options.requests {
                let count = self.epoll.wait(&mut events, EpollTimeout::NONE)?;
                for event in events.iter().take(count) {
                    match event.data() {
                        TIMER => self.send_due()?,
                        connection => self.receive(connection as usize, &mut buffer, &blank)?,
                    }
                }
            }
            Ok(self.report())
        }

        fn connect(&mut self) -> Outcome<usize> {
            let connection = Connection::open(&self.options.address)?;
            let index = self.connections.len();
            self.epoll.add(connection.stream.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, index as u64))?;
            self.connections.push(connection);
            Ok(index)
        }

        fn send(&mut self, index: usize) -> Outcome<()> {
            let now = if self.options.stats { monotonic() } else { 0 };
            self.sent += 1;
            let connection = self.connections.get_mut(index).ok_or("no such connection")?;
            Ok(connection.send(&self.request, now)?)
        }

        /// When the next request is due, in nanoseconds of the clock.
        fn due(&self) -> u64 {
            self.begin + (self.sent as f64 / self.options.rate * 1e9) as u64
        }

        /// Sends what is due and sets the timer for the next.
        fn send_due(&mut self) -> Outcome<()> {
            while self.sent < self.options.requests {
                let (now, due) = (monotonic(), self.due());
                if due > now {
                    let at = TimeSpec::from_duration(Duration::from_nanos(due));
                    self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
                    return Ok(());
                }
                self.seen.late.push(now - due);
                let connection = match self.idle.pop() {
                    Some(connection) => connection,
                    None => self.connect()?,
                };
                self.send(connection)?;
            }
            // Nothing more is due: the timer that fired would stay readable.
            Ok(self.timer.unset()?)
        }

        fn receive(&mut self, index: usize, buffer: &mut [u8], blank: &Finder<'_>) -> Outcome<()> {
            let connection = self.connections.get_mut(index).ok_or("no such connection")?;
            let read = match connection.stream.read(buffer) {
                Ok(0) => return Err("the server closed a connection".into()),
                Ok(read) => read,
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Ok(());
                }
                Err(why) => return Err(why.into()),
            };
            let now = if self.options.stats { monotonic() } else { 0 };
            let before = connection.events.saturating_sub(LEAD);
            let (events, ended) = connection.take(buffer.get(..read).unwrap_or_default(), blank);
            let seen = &mut self.seen;
            seen.reads += 1;
            seen.bytes += read as u64;
            seen.events += u64::from(events);
            let tokens = connection.events.saturating_sub(LEAD).min(self.options.tokens);
            if self.options.stats && tokens > before {
                let mut fresh = tokens - before;
                if before == 0 {
                    seen.ttft.push(now - connection.sent);
                    connection.first = now;
                    fresh -= 1;
                } else {
                    seen.gaps.push(now - connection.last);
                    fresh -= 1;
                }
                // Tokens that one read brought have no time between them.
                seen.gaps.extend((0..fresh).map(|_| 0));
                connection.last = now;
            }
            if !ended {
                return Ok(());
            }
            if connection.length.is_some() {
                seen.refused += 1;
            } else {
                seen.ok += 1;
                if self.options.stats && tokens > 1 {
                    seen.tpot.push((connection.last - connection.first) / u64::from(tokens - 1));
                }
            }
            if self.options.rate == 0.0 && self.sent < self.options.requests {
                return self.send(index);
            }
            self.idle.push(index);
            Ok(())
        }

        fn report(mut self) -> Value {
            let wall = (monotonic() - self.begin) as f64 / 1e9;
            let seen = &mut self.seen;
            let tokens = seen.ok as f64 * f64::from(self.options.tokens);
            json!({
                "requests": {"ok": seen.ok, "failed": seen.refused},
                "wall": wall,
                "requests_per_second": seen.ok as f64 / wall,
                "output_tokens_per_second": tokens / wall,
                "ttft": quantiles(&mut seen.ttft),
                "itl": quantiles(&mut seen.gaps),
                "tpot": quantiles(&mut seen.tpot),
                "lateness": quantiles(&mut seen.late),
                "events": seen.events,
                "reads": seen.reads,
                "bytes": seen.bytes,
                "connections": self.connections.len(),
            })
        }
    }

    /// Median and 99th percentile in seconds, by the nearest rank.
    fn quantiles(nanos: &mut [u64]) -> Value {
        nanos.sort_unstable();
        let at = |q: f64| {
            let rank = (q * nanos.len() as f64).ceil() as usize;
            nanos.get(rank.saturating_sub(1)).map(|n| *n as f64 / 1e9)
        };
        json!({"p50": at(0.5), "p99": at(0.99), "count": nanos.len()})
    }
}
