//! `docs/recipes/backup.md`: its lines in their order, with folders and servers that are there. The
//! SQL between two of them is that of a server whose tables are still there, and has its own test.

use super::page::{blocks, ends};
use crate::support::World;
use crate::support::postgres::Cluster;

/// The folder and the addresses of the page.
const FOLDER: &str = "/backup/";
const OWNER: &str = "postgres://owner@db.example/scalectl";
const ANNA: &str = "postgres://anna@db.example/scalectl";

#[test]
fn the_lines_of_the_page_do_what_it_says() {
    let server = Cluster::start(&[]);
    for name in ["restored", "moved"] {
        let options = "ENCODING 'UTF8' TEMPLATE template0";
        server.psql("postgres", &format!("CREATE DATABASE {name} {options}"));
    }
    let mut world = World::on_sqlite();
    world.init_fake();
    world.run(&format!("{} --backoff 0s", crate::support::SERVICE)).exits(0);
    world.run("scale web=2 --reason before --key before --timeout 20s").exits(0);
    let folder = format!("{}/", world.path("backup").display());
    std::fs::create_dir(&folder).unwrap();
    let address = |name: &str| server.address("postgres", name);
    let (mut consoles, mut lines) = (0, 0);
    for block in blocks("backup.md").into_iter().filter(|block| block.kind == "console") {
        consoles += 1;
        let place = if consoles < 5 { "restored" } else { "moved" };
        for mut typed in block.lines() {
            assert_eq!(typed.who, "", "{typed:?}");
            typed.line = typed.line.replace(FOLDER, &folder);
            typed.line = typed.line.replace(OWNER, &address(place)).replace(ANNA, &address(place));
            ends(&world, &typed);
            lines += 1;
        }
        match consoles {
            // What comes after the backup is lost by the restore.
            1 => drop(world.run("scale web=3 --reason lost --key lost --timeout 20s").exits(0)),
            2 => {
                world.run("intent show before").exits(0);
                world.run("intent show lost").exits(24);
            }
            4 => {
                world.run(&format!("--ledger {} intent show before", address(place))).exits(0);
                world.run("--ledger back.db service put web --max 7").exits(21);
            }
            _ => {}
        }
    }
    assert_eq!((consoles, lines), (5, 6), "the page has other lines");
    // The old place takes no writes any more, the new one goes on.
    world.run("service put web --max 7").exits(21).says("ledger_sealed");
    world.set("SCALECTL_LEDGER", address("moved"));
    world.run("service put web --max 7").exits(0);
    world.run("verify").exits(0);
}
