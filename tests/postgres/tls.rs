//! Certificates and passwords.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::World;
use crate::support::postgres::{Cluster, give};

/// Makes a certificate authority, and a certificate of it for a name, in a folder.
pub(crate) fn certificates(folder: &Path) {
    let script = r#"
        set -e
        for ca in right wrong; do
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
                -subj "/CN=$ca CA" -keyout $ca.key -out $ca.crt
        done
        for name in IP:127.0.0.1 DNS:db.example; do
            file=${name#*:}
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
                -subj "/CN=server" -keyout $file.key -out $file.csr
            printf 'subjectAltName=%s\n' "$name" >ext
            openssl x509 -req -in $file.csr -CA right.crt -CAkey right.key -CAcreateserial \
                -days 30 -extfile ext -out $file.crt
        done
    "#;
    let made = Command::new("/bin/sh").args(["-c", script]).current_dir(folder).output();
    let made = made.expect("a shell");
    assert!(made.status.success(), "openssl is needed: {made:#?}");
}

fn at(address: &str) -> World {
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", address);
    world
}

#[test]
fn only_the_right_certificate_for_the_right_name_is_spoken_to() {
    let server = Cluster::start(&[]);
    let folder = server.folder_for("certificates");
    certificates(&folder);
    let place = |name: &str| {
        give(&folder.join(format!("{name}.key")));
        server.psql(
            "postgres",
            &format!(
                "ALTER SYSTEM SET ssl_cert_file = '{0}/{name}.crt';
                 ALTER SYSTEM SET ssl_key_file = '{0}/{name}.key';
                 ALTER SYSTEM SET ssl = on",
                folder.display()
            ),
        );
        server.psql("postgres", "SELECT pg_reload_conf()");
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert_eq!(server.psql("postgres", "SHOW ssl"), "on");
    };
    server.admits("hostnossl all all all reject");
    let address =
        |more: &str| format!("postgres://postgres@127.0.0.1:{}/postgres?{more}", server.port());
    let with = |ca: &str| {
        at(&address(&format!("sslmode=verify-full&sslrootcert={}/{ca}.crt", folder.display())))
    };
    place("127.0.0.1");
    let right = with("right");
    right.run("init").exits(0);
    right.run("status").exits(0);
    // Whoever gives a wait up asks for its end by the same means.
    let held = "SELECT pg_advisory_xact_lock(('x' || substr(encode(sha256('scalectl scalectl \
                policy'), 'hex'), 1, 16))::bit(64)::bigint); SELECT pg_sleep(8);";
    let mut holder = server.psql_command("postgres", "postgres").spawn().unwrap();
    let mut orders = holder.stdin.take().unwrap();
    std::io::Write::write_all(&mut orders, format!("BEGIN; {held}").as_bytes()).unwrap();
    drop(orders);
    let count = |granted: &str| {
        let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND";
        server.psql("postgres", &format!("{sql} {granted}")) == "1"
    };
    right.until("the lock is held", || count("granted"));
    right.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    let put = right.start("--lock-timeout 60s policy put all.cedar --reason r");
    right.until("it waits", || count("NOT granted"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    let pid = rustix::process::Pid::from_raw(i32::try_from(put.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    super::ended(put, "policy put").exits(143);
    assert!(!count("NOT granted"), "the server was not told");
    holder.kill().unwrap();
    holder.wait().unwrap();
    let used = server.psql("postgres", "SELECT count(*) >= 0 FROM pg_stat_ssl WHERE ssl");
    assert_eq!(used, "t");
    for sslmode in ["require", "verify-ca"] {
        let wrong = folder.join("wrong.crt");
        let world = at(&address(&format!("sslmode={sslmode}&sslrootcert={}", wrong.display())));
        let ran = world.json("status").exits(21);
        assert_eq!(ran.at("/error/code"), "ledger_not_permitted", "{sslmode}: {ran:#?}");
    }
    let ran = with("wrong").json("status").exits(21).says("certificate");
    assert_eq!(ran.at("/error/code"), "ledger_not_permitted");
    // Without TLS the server speaks to nobody, and says so.
    let ran = at(&address("sslmode=disable")).json("status").exits(21);
    assert_eq!(ran.at("/error/code"), "ledger_not_permitted", "{ran:#?}");
    // The right authority, and a certificate of another server.
    place("db.example");
    let ran = with("right").json("status").exits(21).says("certificate");
    assert_eq!(ran.at("/error/code"), "ledger_not_permitted");
    assert!(ran.stderr.contains("127.0.0.1"), "it says which name: {ran:#?}");
}

/// A server that has no TLS does not get it by waiting.
#[test]
fn a_server_without_tls_is_not_told_to_be_away() {
    let server = Cluster::start(&[]);
    let address = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    let ran = at(&format!("{address}?sslmode=require")).json("status").exits(21);
    assert_eq!(ran.at("/error/code"), "ledger_not_permitted", "{ran:#?}");
}

#[test]
fn a_password_comes_from_its_file_and_is_never_shown() {
    let server = Cluster::start(&[]);
    server.psql("postgres", "CREATE ROLE anna LOGIN SUPERUSER PASSWORD 'hunter2'");
    server.admits("host all anna 127.0.0.1/32 scram-sha-256");
    let plain = format!("postgres://anna@127.0.0.1:{}/postgres", server.port());
    let quiet = |ran: crate::support::Ran| {
        assert!(!ran.stdout.contains("hunter2") && !ran.stderr.contains("hunter2"), "{ran:#?}");
        assert!(!ran.stdout.contains("hunter3") && !ran.stderr.contains("hunter3"), "{ran:#?}");
        ran
    };
    let mut world = at(&plain);
    let ran = quiet(world.json("init").exits(21));
    assert_eq!(ran.at("/error/code"), "ledger_not_permitted", "{ran:#?}");
    let line = |password: &str| format!("127.0.0.1:{}:*:anna:{password}\n", server.port());
    let file = world.write(".pgpass", line("hunter3"));
    let mode = |mode: u32| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o600);
    let ran = quiet(world.json("init").exits(21));
    assert_eq!(ran.at("/error/code"), "ledger_not_permitted", "{ran:#?}");
    std::fs::write(&file, line("hunter2")).unwrap();
    quiet(world.json("init").exits(0));
    quiet(world.json("status").exits(0));
    quiet(world.run("status").exits(0));
    // Others may read it: then it is not used.
    mode(0o644);
    let ran = world.json("status");
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    world.set("PGPASSWORD", "hunter2");
    quiet(world.json("status").exits(0));
    world.set("PGPASSWORD", "hunter3");
    quiet(world.json("status").exits(21));
    world.unset("PGPASSWORD");
    world.set("SCALECTL_LEDGER", plain.replace("anna@", "anna:hunter2@"));
    quiet(world.json("status").exits(0));
    quiet(world.run("verify").exits(0));
    world.set("SCALECTL_LEDGER", plain.replace("anna@", "anna:hunter3@"));
    quiet(world.json("status").exits(21));
    quiet(world.run("init").exits(21));
}
