use super::*;

fn plan(script: &str) -> StartPlan {
    StartPlan {
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        limit: Duration::from_mins(1),
        still: Duration::from_mins(1),
        grace: Duration::from_secs(5),
        port: None,
        keep: 1 << 20,
        copy: Copy::Nowhere,
    }
}

fn run(plan: &StartPlan) -> StartedServer {
    start(plan, &AtomicBool::new(false), |_| {}).unwrap()
}

const READY: &str =
    "echo 'Starting to load model m...'; sleep 0.3; echo 'Application startup complete.'; sleep 600";

#[test]
fn a_server_that_comes_up_has_its_phases_and_is_ended_again() {
    let mut phases = Vec::new();
    let mut server = start(&plan(READY), &AtomicBool::new(false), |progress| {
        if let StartProgress::Phase(phase, _) = progress {
            phases.push(phase);
        }
    })
    .unwrap();
    assert_eq!(server.run().end, StartEnd::Ready);
    assert_eq!(phases, [StartPhase::Launch, StartPhase::LoadWeights, StartPhase::Serving]);
    let load = server.run().phases.iter().find(|part| part.phase == StartPhase::LoadWeights).unwrap();
    assert!(load.took.get() >= 0.2, "{load:?}");
    server.end();
    assert!(matches!(server.child.try_wait(), Ok(Some(_))));
}

#[test]
fn the_end_of_the_process_is_evidence() {
    let server = run(&plan("echo 'OSError: [Errno 98] Address already in use' >&2; exit 3"));
    assert_eq!(server.run().end, StartEnd::Exited { code: 3 });
    let case = server.case();
    assert!(case.logs[0].text.contains("Errno 98"));
    assert!(case.command_line.as_deref().unwrap().starts_with("/bin/sh -c 'echo "));
    let server = run(&plan("echo loading; kill -9 $$"));
    assert_eq!(server.run().end, StartEnd::Killed { signal: 9 });
    assert_eq!(server.case().logs[0].text, "loading\nKilled\n");
}

#[test]
fn a_start_is_limited_in_time() {
    let mut plan = plan("sleep 600");
    plan.limit = Duration::from_millis(300);
    assert_eq!(run(&plan).run().end, StartEnd::TimedOut);
    plan.command = vec!["yes".into()];
    assert_eq!(run(&plan).run().end, StartEnd::TimedOut, "it never stops writing");
    plan.command = vec!["sleep".into(), "600".into()];
    plan.limit = Duration::from_mins(1);
    plan.still = Duration::from_secs(1);
    assert!(matches!(run(&plan).run().end, StartEnd::StoodStill { .. }));
}

#[test]
fn a_hand_stops_it() {
    let server = start(&plan("sleep 600"), &AtomicBool::new(true), |_| {}).unwrap();
    assert_eq!(server.run().end, StartEnd::Interrupted);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let mut plan = plan("");
    plan.command = vec!["no-such-program-of-ours".into()];
    let error = start(&plan, &AtomicBool::new(false), |_| {}).err().unwrap().to_string();
    assert!(error.contains("no-such-program-of-ours") && error.contains("no such program"), "{error}");
}

#[test]
fn a_foreign_server_on_the_port_is_not_taken_for_this_one() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = ServerPort::new(None, listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 256]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        }
    });
    let mut plan = plan("sleep 4; exit 1");
    plan.port = Some(port);
    assert_eq!(run(&plan).run().end, StartEnd::Exited { code: 1 });
}

#[test]
fn words_are_quoted_as_a_shell_takes_them() {
    let words = ["vllm", "serve", "a b", "{\"x\":1}", "it's", ""].map(str::to_owned);
    assert_eq!(shell_line(&words), "vllm serve 'a b' '{\"x\":1}' 'it'\\''s' ''");
}
