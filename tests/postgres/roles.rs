//! The roles of `docs/recipes/postgres.md`, made as they are written there.

use super::bind_fake;
use crate::support::postgres::Cluster;
use crate::support::{SERVICE, World};

/// The SQL of the recipe: what the administrator types, and what the owner does.
pub(crate) fn recipe() -> [String; 2] {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recipes/postgres.md");
    let page = std::fs::read_to_string(path).expect("a page");
    let blocks = page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next());
    let blocks: Vec<String> = blocks.map(str::to_owned).collect();
    blocks.try_into().expect("two blocks of SQL")
}

fn as_role(server: &Cluster, role: &str) -> World {
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", server.address(role, "scalectl"));
    world
}

#[test]
fn the_roles_of_the_recipe_can_do_what_they_are_for_and_nothing_else() {
    let server = Cluster::start(&[]);
    let [administrator, owners] = recipe();
    for statement in administrator.split(";\n").filter(|text| !text.trim().is_empty()) {
        server.psql("postgres", statement);
    }
    server.psql(
        "postgres",
        "CREATE ROLE anna LOGIN IN ROLE scalectl_writer;
         CREATE ROLE rita LOGIN IN ROLE scalectl_reader;
         CREATE ROLE otto LOGIN;",
    );
    let writer = as_role(&server, "anna");
    let early = writer.json("init").exits(21);
    assert_eq!(early.at("/error/code"), "ledger_not_permitted", "{early:#?}");
    let owner = as_role(&server, "scalectl_owner");
    owner.run("init").exits(0);
    // Whoever may not look into the schema is not told that nothing is there.
    for line in ["status", "init", "service put web --max 7", "verify"] {
        let ran = writer.json(line).exits(21);
        assert_eq!(ran.at("/error/code"), "ledger_not_permitted", "{ran:#?}");
        ran.says("GRANT USAGE ON SCHEMA scalectl TO \"anna\"");
    }
    server.try_psql("scalectl_owner", "scalectl", &owners).expect("the recipe works");

    operates(&writer);
    lacks(&server, &writer);
    looks(&server);
    let stranger = as_role(&server, "otto");
    let ran = stranger.json("status").exits(21);
    assert_eq!(ran.at("/error/code"), "ledger_not_permitted", "{ran:#?}");
    never_changes(&server);
    writer.run("verify").exits(0);
}

/// Everything that an operator does.
fn operates(writer: &World) {
    let policy = writer.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    let policy = policy.to_str().unwrap();
    writer.run_args(&["policy", "put", policy, "--reason", "r"]).exits(0);
    std::fs::create_dir_all(writer.fake_dir()).unwrap();
    std::fs::write(writer.fake_dir().join("capabilities"), "inspect\nlookup\nfence\n").unwrap();
    bind_fake(writer).exits(0);
    writer.run(&format!("{SERVICE} --backoff 0s")).exits(0);
    writer.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    writer.run("lease acquire k1 --ttl 60s").exits(0);
    writer.run("actuate k1").exits(0);
    writer.run("observe k1").exits(0);
    writer.run("scale web=4 --reason r --timeout 20s").exits(0);
    writer.run_with("batch", b"").exits(0);
    writer.run("replay --all").exits(0);
    // A refusal that is kept.
    writer.run("service put web --cooldown 1h").exits(0);
    writer.run("intent put web --replicas 5 --reason r").exits(14);
    // What an environment may be placed into.
    writer.run("capacity location put eu").exits(0);
    writer.run("verify").exits(0);
}

/// A right that was not given is named.
fn lacks(server: &Cluster, writer: &World) {
    let rights = || {
        let told = writer.run("doctor").stdout;
        let found =
            told.lines().find(|line| line.trim_start().starts_with("rights ")).expect("a check");
        found.to_owned()
    };
    assert!(!rights().contains("lacks"), "{}", rights());
    server.psql("scalectl", "REVOKE INSERT ON scalectl.placement FROM scalectl_writer");
    assert!(rights().contains("may append, but lacks INSERT on placement"), "{}", rights());
    server.psql("scalectl", "GRANT INSERT ON scalectl.placement TO scalectl_writer");
}

/// Who looks sees everything and writes nothing.
fn looks(server: &Cluster) {
    let reader = as_role(server, "rita");
    for line in
        ["status", "log", "explain web", "verify", "intent show k1", "plan web=4", "gate web"]
    {
        let ran = reader.run(line);
        assert!(ran.code != Some(21) && ran.code != Some(20), "{line}: {ran:#?}");
    }
    let events = "SELECT count(*) FROM scalectl.event";
    let before = server.psql("scalectl", events);
    for line in [
        "intent put web --replicas 5 --override-cooldown --reason r",
        "service put web --max 20",
        "intent withdraw k1 --reason r",
    ] {
        let ran = reader.json(line);
        assert_ne!(ran.at("/recorded"), "yes", "{ran:#?}");
        if ran.code == Some(21) {
            assert_eq!(ran.at("/error/code"), "ledger_not_permitted", "{ran:#?}");
        } else {
            assert_eq!(line, "intent withdraw k1 --reason r", "{ran:#?}");
        }
    }
    assert_eq!(server.psql("scalectl", events), before);
}

/// Events stay as they are, for everybody.
fn never_changes(server: &Cluster) {
    for role in ["anna", "rita", "scalectl_owner", "postgres"] {
        for sql in [
            "UPDATE scalectl.event SET at = 0",
            "DELETE FROM scalectl.event",
            "TRUNCATE scalectl.event",
        ] {
            let done = server.try_psql(role, "scalectl", sql);
            let why = done.expect_err(&format!("{role} did {sql}"));
            assert!(why.contains("permission denied") || why.contains("never changed"), "{why}");
        }
    }
    for sql in ["ALTER TABLE scalectl.event DISABLE TRIGGER ALL", "DROP TABLE scalectl.event"] {
        assert!(server.try_psql("anna", "scalectl", sql).is_err(), "{sql}");
    }
}
