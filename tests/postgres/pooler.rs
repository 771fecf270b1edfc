//! A pooler in transaction mode: every transaction may be on another connection of the server.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::ended;
use crate::support::World;
use crate::support::postgres::{Cluster, unprivileged};

/// A pgbouncer with two connections to the shared server. It ends with this.
struct Pooler {
    child: Child,
    port: u16,
}

impl Pooler {
    fn start(world: &World) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let server = Cluster::shared();
        let folder = server.folder_for("pooler");
        let users = folder.join("users");
        std::fs::write(&users, "\"pooled\" \"\"\n").unwrap();
        let settings = format!(
            "[databases]\nsuite = host={} port={} dbname=suite\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = 2\nmax_client_conn = 100\n",
            server.folder().display(),
            server.port(),
            users.display(),
        );
        let file = folder.join("pgbouncer.ini");
        std::fs::write(&file, settings).unwrap();
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"];
        let program = program.iter().find(|path| std::path::Path::new(path).exists());
        let program = program.expect("pgbouncer is missing: apt-get install pgbouncer");
        let mut command = Command::new(program);
        command.arg(&file).env_clear().stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(std::fs::File::create(world.path("pooler.log")).unwrap());
        if let Some((uid, gid)) = unprivileged() {
            use std::os::unix::process::CommandExt as _;
            command.uid(uid).gid(gid);
        }
        let pooler = Self { child: command.spawn().unwrap(), port };
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || std::fs::read_to_string(world.path("pooler.log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(10), "no pooler: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        pooler
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_whole_life_and_eight_clients_pass_through_two_pooled_connections() {
    let mut world = World::on_postgres();
    // A role of its own, so that its connections can be counted.
    world.sql("CREATE ROLE pooled LOGIN; GRANT CREATE ON DATABASE suite TO pooled");
    let pooler = Pooler::start(&world);
    let schema = world.schema().name().to_owned();
    let address = format!("postgres://pooled@127.0.0.1:{}/suite?schema={schema}", pooler.port);
    world.set("SCALECTL_LEDGER", address);
    world.init_fake();
    world.run(&format!("{} --backoff 0s", crate::support::SERVICE)).exits(0);
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    world.run("actuate k1").exits(0);
    world.run("observe k1").exits(0);
    world.run("scale web=5 --reason r --timeout 20s").exits(0);
    world.run("replay --all").exits(0);
    for number in 0..8 {
        let line = crate::support::SERVICE.replace("web", &format!("s{number}"));
        world.run(&format!("{line} --backoff 0s")).exits(0);
    }
    for round in 0..3 {
        let line = |number: i32| {
            format!(
                "intent put s{number} --replicas {} --expect-revision {round} \
                 --key s{number}-{round} --reason r",
                round + 1
            )
        };
        let begun: Vec<Child> = (0..8).map(|number| world.start(&line(number))).collect();
        for child in begun {
            ended(child, "put").exits(0);
        }
    }
    // A pooled connection stays: what is open now is all that there ever was.
    let used = world.sql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'pooled'");
    assert!(["1", "2"].contains(&used.as_str()), "{used} connections for eight clients");
    world.run("verify").exits(0);
    // Who gives a wait up is heard through the pooler, too.
    let held = world.schema().hold(&["service:web"]);
    let line = "-o json --lock-timeout 60s intent put web --replicas 9 --reason r";
    let waiting = world.start(line);
    world.until("it waits", || world.schema().waiting_for("service:web") == 1);
    std::thread::sleep(Duration::from_millis(300));
    let pid = rustix::process::Pid::from_raw(i32::try_from(waiting.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let began = Instant::now();
    ended(waiting, line).exits(143);
    world.until("it has left the queue", || world.schema().waiting_for("service:web") == 0);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    drop(held);
    assert_eq!(world.sql("SELECT count(*) FROM execution WHERE service LIKE 's%'"), "24");
    // It did pass through there.
    drop(pooler);
    world.run("status").exits(20);
}
