//! A real Prometheus, started here on loopback, that scrapes a tiny exporter of this test.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{SCALED, says};
use crate::support::{SERVICE, World};

/// Metrics over HTTP: `queue_depth`, and two series of `queue_part`.
fn exporter(depth: Arc<AtomicU64>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0_u8; 4096];
            let _ = stream.read(&mut request);
            let depth = depth.load(Ordering::SeqCst);
            let body = format!(
                "# TYPE queue_depth gauge\nqueue_depth {depth}\nqueue_part{{of=\"a\"}} 1\n\
                 queue_part{{of=\"b\"}} 2\nqueue_odd NaN\n"
            );
            let length = body.len();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n";
            let answer =
                format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

/// The server, ended with the test.
struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server in a folder; none where there is none on this machine, which is said out loud,
/// and is a failure where `SCALECTL_TEST_ALL_SHELLS` asks for all tools.
fn server(world: &World, exporter: u16) -> Option<Server> {
    let program = ["/usr/bin/prometheus", "/usr/local/bin/prometheus"];
    let Some(program) = program.into_iter().find(|program| Path::new(program).exists()) else {
        let asked = std::env::var_os("SCALECTL_TEST_ALL_SHELLS").is_some();
        assert!(!asked, "prometheus is not installed, and SCALECTL_TEST_ALL_SHELLS asks for it");
        // The harness hides what a passing test prints by macro; a skip must be seen.
        let _ = writeln!(std::io::stderr(), "SKIPPED: prometheus is not installed");
        return None;
    };
    let config = world.write(
        "prometheus.yml",
        format!(
            "global: {{scrape_interval: 2s}}\nscrape_configs:\n  - job_name: test\n    \
             static_configs: [{{targets: ['127.0.0.1:{exporter}']}}]\n"
        ),
    );
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let child = Command::new(program)
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", world.path("tsdb").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    Some(Server { child, url: format!("http://127.0.0.1:{port}") })
}

#[test]
fn a_real_prometheus_is_asked_and_its_scrapes_are_used_once() {
    let mut world = World::new();
    world.init_fake();
    std::fs::write(world.fake_dir().join("count"), "3\n").expect("a file");
    world.run(&format!("{SERVICE} --backoff 0s {SCALED}")).exits(0);
    let depth = Arc::new(AtomicU64::new(31));
    let Some(server) = server(&world, exporter(Arc::clone(&depth))) else { return };
    let url = &server.url;
    let tick = |world: &World, query: &str, flags: &str| {
        let query = format!("web={query}");
        let words = ["-o", "json", "autoscale", "--prometheus", url, "--query", &query];
        let flags: Vec<&str> = flags.split_whitespace().collect();
        let ran = world.run_args(&[&words[..], &flags].concat());
        (says(&ran.at("/evaluations/0")), ran.code)
    };

    // Until it listens and has scraped, nobody says anything.
    let mut first = (String::new(), None);
    for _ in 0..120 {
        first = tick(&world, "queue_depth", "--dry-run");
        if first.1 == Some(0) && !first.0.contains("no series") {
            break;
        }
        std::thread::sleep(Duration::from_millis(250));
    }
    assert_eq!(first.0, "skipped: within the deadband");

    // What is no single finite number is no data.
    for (query, why) in [
        ("queue_part", "2 series"),
        ("queue_odd", "not finite"),
        ("nothing_of_that_name", "finds no series"),
        ("queue_depth[1m]", "a matrix, not an instant vector"),
        ("7", "a scalar, not an instant vector"),
        ("sum(", "it refuses the query"),
    ] {
        let (said, code) = tick(&world, query, "--dry-run");
        assert!(said.contains(why), "{query}: {said}");
        assert_eq!(code, Some(if why == "finds no series" { 0 } else { 25 }), "{query}");
    }

    // A scrape is one sample, however often it is asked for.
    let mut consumed = 0;
    for _ in 0..12 {
        let (said, code) = tick(&world, "queue_depth", "");
        assert_eq!(code, Some(0), "{said}");
        consumed += usize::from(said == "skipped: no data: consumed");
    }
    assert!(consumed > 0, "the same scrape was used again and again");

    // The label says it once for all, and the count follows.
    depth.store(55, Ordering::SeqCst);
    world.run("service put web --label prometheus-query=sum(queue_depth)").exits(0);
    let mut said = String::new();
    world.until("the queue has grown", || {
        let ran = world.run(&format!("-o json autoscale --prometheus {url}"));
        said = says(&ran.at("/evaluations/0"));
        said.starts_with("intent_accepted")
    });
    assert_eq!(said, "intent_accepted 3 → 6");
    world.run("reconcile").exits(0);
    world.run("reconcile").exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);

    // A server that is gone says nothing.
    let url = server.url.clone();
    drop(server);
    world.run(&format!("autoscale --prometheus {url}")).exits(25);
    world.unset("nothing");
}
