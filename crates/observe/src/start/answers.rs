//! Whether a server answers on its port already.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Most time for one question.
const TIME: Duration = Duration::from_millis(500);

/// Where a server will answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPort {
    /// The host it listens on, as a client reaches it.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl ServerPort {
    /// The port of a server that was told to listen there; one that listens everywhere is reached at this machine's own
    /// address.
    pub fn new(host: Option<&str>, port: u16) -> Self {
        let host = match host {
            None | Some("0.0.0.0" | "") => "127.0.0.1",
            Some("::") => "::1",
            Some(host) => host,
        };
        Self { host: host.to_owned(), port }
    }

    /// Whether `/health` is answered with 200.
    pub fn answers(&self) -> bool {
        self.ask().is_some_and(|line| line.starts_with(b"HTTP/1.") && line.windows(5).any(|w| w == b" 200 "))
    }

    /// Whether anybody listens there.
    pub fn is_taken(&self) -> bool {
        self.connect().is_some()
    }

    fn connect(&self) -> Option<TcpStream> {
        let addresses = (self.host.as_str(), self.port).to_socket_addrs().ok()?;
        addresses.take(4).find_map(|address| TcpStream::connect_timeout(&address, TIME).ok())
    }

    fn ask(&self) -> Option<Vec<u8>> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(TIME)).ok()?;
        stream.set_write_timeout(Some(TIME)).ok()?;
        stream.write_all(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut line = [0; 64];
        let read = stream.read(&mut line).ok()?;
        Some(line[..read].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn one_who_listens_and_does_not_answer_is_no_server_yet() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = ServerPort::new(Some("0.0.0.0"), listener.local_addr().unwrap().port());
        assert!(place.is_taken() && !place.answers());
        drop(listener);
        assert!(!place.is_taken());
    }

    #[test]
    fn two_hundred_on_health_is_a_server() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = ServerPort::new(None, listener.local_addr().unwrap().port());
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 256];
            let _ = stream.read(&mut asked).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        });
        assert!(place.answers());
        serving.join().unwrap();
    }
}
