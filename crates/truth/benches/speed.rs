//! How fast a flood is, against a client that only counts bytes.
//!
//! Usage: `cargo bench -p intriage-truth --bench speed -- [SECONDS]`. One line a case, columns in [`COLUMNS`]. The rates
//! by CPU time are what the server's thread could do with a core of its own.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    use intriage_truth::{Config, Truth};

    const COLUMNS: &str = "case\tconnections\trequests\twall_s\trequests_per_s\ttokens_per_s\trequests_per_cpu_s\ttokens_per_cpu_s";

    /// Name, further keys, tokens of an answer.
    const CASES: [(&str, &str, u32); 4] = [
        ("whole", "", 256),
        ("one-token", "", 1),
        ("write-a-token", "flood_batch=1", 256),
        ("long", "", 4096),
    ];

    pub(super) fn main() {
        // Without `--bench` this is a test run: enough to see that it works.
        let bench = std::env::args().any(|arg| arg == "--bench");
        let asked = std::env::args().skip(1).find_map(|arg| arg.parse().ok());
        let time = Duration::from_secs_f64(asked.unwrap_or(if bench { 5.0 } else { 0.05 }));
        println!("{COLUMNS}");
        for (name, keys, tokens) in CASES {
            measure(name, keys, tokens, time);
        }
    }

    fn measure(name: &str, keys: &str, tokens: u32, time: Duration) {
        let config = Config::default().with(&format!("mode=flood,{keys}")).unwrap();
        let server = Truth::start(config, "127.0.0.1:0".parse().unwrap()).unwrap();
        let body = format!(
            r#"{{"model":"truth","messages":[{{"role":"user","content":"some words"}}],"max_tokens":{tokens},"stream":true}}"#
        );
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut clients: Vec<TcpStream> =
            (0..64).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        let mut buffer = vec![0; 1 << 20];
        // Answers to the same request are equally long.
        clients[0].write_all(request.as_bytes()).unwrap();
        let mut length = 0;
        while !buffer[..length].ends_with(b"\r\n0\r\n\r\n") {
            length += clients[0].read(&mut buffer[length..]).unwrap();
        }
        for client in &mut clients {
            client.set_nodelay(true).unwrap();
            client.write_all(request.as_bytes()).unwrap();
        }
        let (begin, cpu) = (Instant::now(), server_cpu());
        let mut requests = 0_u32;
        while begin.elapsed() < time {
            for client in &mut clients {
                let mut left = length;
                while left > 0 {
                    left -= client.read(&mut buffer[..left]).unwrap();
                }
                client.write_all(request.as_bytes()).unwrap();
                requests += 1;
            }
        }
        let wall = begin.elapsed().as_secs_f64();
        let cpu = server_cpu() - cpu;
        let requests = f64::from(requests);
        let all = requests * f64::from(tokens);
        println!(
            "{name}\t{}\t{requests}\t{wall:.2}\t{:.0}\t{:.0}\t{:.0}\t{:.0}",
            clients.len(),
            requests / wall,
            all / wall,
            requests / cpu,
            all / cpu
        );
    }

    /// CPU time of the server's thread, in seconds.
    fn server_cpu() -> f64 {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten().map(|task| task.path());
        let mut cpu = 0.0;
        for task in tasks {
            let name = std::fs::read_to_string(task.join("comm")).unwrap_or_default();
            if name.trim() == "truth" {
                let times = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
                cpu += times.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9;
            }
        }
        cpu
    }
}
