//! A pooler in transaction mode: every transaction may be on another connection of the server.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{ended, with_fake};
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
        std::fs::write(&users, "\"scalectl\" \"\"\n").unwrap();
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
    let pooler = Pooler::start(&world);
    let schema = world.schema().name().to_owned();
    let address = format!("postgres://scalectl@127.0.0.1:{}/suite?schema={schema}", pooler.port);
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
    let clients: Vec<Vec<Child>> = (0..3)
        .map(|round| {
            let line = |number: i32| {
                format!(
                    "intent put s{number} --replicas {} --expect-revision {round} \
                         --key s{number}-{round} --reason r",
                    round + 1
                )
            };
            let begun: Vec<Child> = (0..8).map(|number| world.start(&line(number))).collect();
            begun
                .into_iter()
                .map(|mut child| {
                    child.wait().unwrap();
                    child
                })
                .collect()
        })
        .collect();
    for child in clients.into_iter().flatten() {
        ended(child, "put").exits(0);
    }
    let used = world.sql(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'scalectl'
         AND datname = 'suite' AND client_addr IS NULL",
    );
    drop(used);
    world.run("verify").exits(0);
    assert_eq!(world.sql("SELECT count(*) FROM execution WHERE service LIKE 's%'"), "24");
    // It did pass through there.
    drop(pooler);
    world.run("status").exits(20);
    drop(with_fake());
}
