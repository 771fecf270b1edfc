//! What is secret is typed, in many shapes and into every place, and looked for in all that is said.

use crate::support::World;
use crate::support::postgres::Cluster;

/// A word that stands nowhere else.
const SECRET: &str = "geheim";

/// Addresses with the secret in them, as people mistype them. None leads to a server.
const SHAPES: [&str; 25] = [
    "postgres://u:geheim@127.0.0.1:1/d",
    "postgres://u:geheim@127.0.0.1:1/d?nonsense=1",
    "postgres://u:x/geheim@127.0.0.1:1/d",
    "postgres://u:geheim/x@127.0.0.1:1/d",
    "postgres://u:x?geheim@127.0.0.1:1/d",
    "postgres://u:x?geheim=1@127.0.0.1:1/d",
    "postgres://u:x?geheim=1",
    "postgres://u:geheim",
    "postgres://u:geheim/d",
    "postgres://[u:geheim",
    "postgres://u@127.0.0.1:1/d?password=geheim",
    "postgres://u@127.0.0.1:1/d?passwd=geheim",
    "postgres://u@127.0.0.1:1/d?pass%77ord=geheim%2",
    "postgres:/u:geheim@h/d",
    "postgres//u:geheim@h/d",
    "postgres:u:geheim@h/d",
    "postgress://u:geheim@h/d",
    "postgresql+x://u:geheim@h/d",
    "POSTGRES://u:geheim@h/d",
    "mysql://u:ge/geheim@h/d",
    "psql:u:geheim",
    "u:geheim@h/d",
    "host=h user=u password=geheim",
    "user=u password='geheim x' host=h",
    "password=geheim",
];

/// Everything that a world has come to keep, but for what the test has written there itself.
fn kept(world: &World) -> String {
    let mut text = String::new();
    let mut folders = vec![world.path(".local"), world.path(".cache")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
            text.extend([entry.path().to_str().unwrap(), "\n"]);
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    let names = std::fs::read_dir(world.path("")).unwrap().flatten();
    text.extend(names.map(|entry| entry.file_name().to_string_lossy().into_owned() + "\n"));
    text
}

/// Runs a line, which must fail and not say the secret.
#[track_caller]
fn hides(world: &World, what: &str, args: &[&str]) {
    for output in ["table", "json"] {
        let args = [&["-o", output], args].concat();
        let ran = world.run_args(&args);
        assert_ne!(ran.code, Some(0), "{what}: {ran:#?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains(SECRET), "{what}: {said}");
        assert!(!kept(world).contains(SECRET), "{what}: it is kept");
    }
}

#[test]
fn a_secret_is_shown_nowhere_however_it_was_typed() {
    let mut world = World::on_sqlite();
    world.run("init").exits(0);
    for shape in SHAPES {
        hides(&world, shape, &["--ledger", shape, "status"]);
        hides(&world, shape, &[&format!("--ledger={shape}"), "init"]);
        hides(&world, shape, &["--ledger", shape, "stauts"]);
        hides(&world, shape, &["--ledger", shape, "restore", "--from", "x", "--reason", "r"]);
        hides(&world, shape, &["status", "--nope", shape]);
        hides(&world, shape, &[&format!("--legder={shape}"), "status"]);
        hides(&world, shape, &["doctor", "--ledger", shape]);
        hides(&world, shape, &["ledger", "copy", "--to", shape, "--reason", "r"]);
        hides(&world, shape, &["ledger", "copy", "--from", shape, "--to", "y", "--reason", "r"]);
        hides(&world, shape, &["backup", "--to", shape]);
        hides(&world, shape, &["restore", "--from", shape, "--reason", "r"]);
        world.set("SCALECTL_LEDGER", shape);
        hides(&world, shape, &["status"]);
        hides(&world, shape, &["init"]);
        world.unset("SCALECTL_LEDGER");
        world.write(".config/scalectl/config.toml", format!("[ledgers]\nprod = \"{shape}\"\n"));
        hides(&world, shape, &["--ledger", "prod", "status"]);
        for text in [
            format!("[ledgers]\nprod = {shape}\n"),
            format!("[ledgers]\n{shape}\n"),
            format!("ledgers = \"{shape}\"\n"),
            format!("[ledgers]\nprod = [\"{shape}\"]\n"),
            format!("\"{shape}\" = 1\n"),
            format!("[ledgers]\nprod = \"{shape}\n"),
        ] {
            world.write(".config/scalectl/config.toml", &text);
            hides(&world, &text, &["--ledger", "prod", "status"]);
        }
    }
}

#[test]
fn files_and_variables_that_hold_a_secret_are_not_shown() {
    let mut world = World::on_sqlite();
    let address = "postgres://u@127.0.0.1:1/d";
    for line in ["password=geheim", "pasword=geheim", "pass geheim", "geheim = 1", "host geheim=1"]
    {
        let text = format!("[prod]\nhost=127.0.0.1\nport=1\n{line}\n");
        world.write(".pg_service.conf", text);
        hides(&world, line, &["--ledger", "postgres:///?service=prod", "status"]);
    }
    for line in ["127.0.0.1:1:d:u:geheim", "*:*:*:*:geheim", "geheim", "*:geheim"] {
        let file = world.write(".pgpass", format!("{line}\n"));
        for mode in [0o600, 0o644] {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            hides(&world, line, &["--ledger", address, "status"]);
        }
    }
    std::fs::remove_file(world.path(".pgpass")).unwrap();
    for name in ["PGPASSWORD", "PGPORT"] {
        world.set(name, SECRET);
        hides(&world, name, &["--ledger", "postgres://u@127.0.0.1/d?connect_timeout=1", "status"]);
        world.unset(name);
    }
}

/// All that the ledgers of a database have come to keep.
fn rows() -> String {
    Cluster::shared().psql(
        "suite",
        "SELECT format('SELECT CAST(r AS TEXT) FROM %I.%I AS r',
                       relnamespace::regnamespace, relname)
         FROM pg_class WHERE relkind = 'r' AND relnamespace::regnamespace::text ~ '^(world_|aside_)'
         \\gexec",
    )
}

/// What is kept on a server is kept for ever, and others may read it.
#[test]
fn a_secret_is_in_no_row_of_a_server() {
    let mut world = super::with_fake();
    // Whoever comes from this host is trusted: the password is given and not asked for.
    let open = world.schema().address();
    let (before, after) = open.split_once("scalectl@").expect("a user");
    let with = |schema: &str| {
        let (address, _) = after.split_once("?schema=").expect("a schema");
        format!("{before}scalectl:{SECRET}@{address}?schema={schema}")
    };
    let name = world.schema().name().to_owned();
    let aside = format!("aside_{name}");
    world.set("SCALECTL_LEDGER", with(&name)).set("PGPASSWORD", SECRET);
    world.write("all.cedar", "@id(\"other\")\npermit(principal, action, resource);\n");
    world.run("scale web=2 --key k1 --reason r").exits(0);
    world.run("policy put all.cedar --reason r").exits(0);
    world.run(&format!("--ledger {} service put web --max 9", with(&name))).exits(0);
    for shape in SHAPES {
        hides(&world, shape, &["--ledger", shape, "scale", "web=3", "--reason", "r"]);
        hides(&world, shape, &["ledger", "copy", "--to", shape, "--reason", "r"]);
    }
    world.run(&format!("ledger copy --to {} --reason r", with(&aside))).exits(0);
    world.run(&format!("--ledger {} scale web=4 --reason r", with(&aside))).exits(0);
    // What was moved says where it went, and where it came from.
    let refused = world.run("scale web=5 --reason r").exits(21);
    assert!(!format!("{}{}", refused.stdout, refused.stderr).contains(SECRET), "{refused:#?}");
    let kept = rows();
    for place in [&name, &aside] {
        assert!(kept.contains(&format!("schema={place}")), "the place is kept in full: {place}");
    }
    assert!(!kept.contains(SECRET), "it is in a row");
    assert!(!super::secrets::kept(&world).contains(SECRET), "it is on the disk");
    Cluster::shared().psql("suite", &format!("DROP SCHEMA {aside} CASCADE"));
}

/// The right form is named, and a file may still have any name.
#[test]
fn what_resembles_an_address_is_refused_with_the_right_form() {
    let world = World::on_sqlite();
    for shape in ["postgres:/u:p@h", "host=h dbname=d", "u:p@h/d", "postgresql+x://u:p@h"] {
        let ran = world.run_args(&["--ledger", shape, "status"]).exits(2);
        assert!(ran.stderr.contains("postgres://USER@HOST:PORT/DATABASE"), "{ran:#?}");
    }
    world.run_args(&["--ledger", "./u:p@h", "init"]).exits(0);
    assert!(world.path("u:p@h").exists());
}
