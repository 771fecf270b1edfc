//! `docs/recipes/approvals.md`, by two persons.

use std::os::unix::fs::PermissionsExt as _;

use super::page::{blocks, ends, shell};
use crate::support::{SERVICE, World, fake_actuator};

/// Where the page has its ledger, and whose it is there.
const PLACE: (&str, &str) = ("/srv/scalectl/", "--group sre");

/// The actuator and the service, as another page says: `batch` at 8.
fn register(world: &World) {
    let fake = fake_actuator();
    let put = ["actuator", "put", "fake", "--timeout", "5s", "--", "/bin/sh"];
    std::fs::create_dir_all(world.fake_dir()).unwrap();
    std::fs::write(world.fake_dir().join("capabilities"), "inspect\nlookup\n").unwrap();
    std::fs::write(world.fake_dir().join("count"), "8\n").unwrap();
    world.run_args(&[&put[..], &[fake.to_str().unwrap()]].concat()).exits(0);
    world.run(&format!("{} --backoff 0s", SERVICE.replace("web", "batch"))).exits(0);
}

#[test]
fn the_page_does_what_it_says() {
    let mut world = World::on_sqlite();
    // A place that a group can reach, and the group of whoever runs the tests.
    let place = tempfile::Builder::new().prefix("scalectl-recipe-").tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let folder = format!("{}/", place.path().join("srv").display());
    let group = format!("--group {}", rustix::process::getgid().as_raw());
    world.set("SCALECTL_LEDGER", format!("{folder}ledger.db"));
    let (mut lines, mut consoles) = (0, 0);
    for block in blocks("approvals.md") {
        assert_eq!(block.kind, "console", "nobody runs {}", block.kind);
        for mut typed in block.lines() {
            typed.line = typed.line.replace(PLACE.0, &folder).replace(PLACE.1, &group);
            match typed.who.as_str() {
                "lead" => world.be("lead:1002"),
                "dev" => world.be("dev:1001"),
                other => panic!("who is {other}?"),
            }
            ends(&world, &typed);
            lines += 1;
        }
        consoles += 1;
        if consoles == 1 {
            register(&world);
        }
    }
    assert_eq!((lines, consoles), (22, 5), "the page has other lines");
    let mode = place.path().join("srv/ledger.db").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o660);
    // Eight, and two once: nothing that was refused or late was called.
    assert_eq!(world.fake_log("effects").len(), 1);
    assert_eq!(std::fs::read_to_string(world.fake_dir().join("count")).unwrap().trim(), "2");
    // Whoever was refused is told by whom, and why.
    let told = shell(&world, "scalectl explain night-2/batch").output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("by lead: not while the sale lasts"), "{told}");
}
