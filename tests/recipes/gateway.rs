//! `docs/recipes/gateway.md`, with servers on ports that are free.

use rustix::process::Signal;

use super::page::{Block, blocks, ends, shell};
use crate::serve::client::Server;
use crate::support::World;

/// Where the servers of the page listen.
const HERE: &str = "127.0.0.1:9090";
const ANYWHERE: &str = "0.0.0.0:9090";

fn typed(world: &World, block: &Block) -> usize {
    let lines = block.lines();
    for typed in &lines {
        ends(world, typed);
    }
    lines.len()
}

/// A server by the line of a page.
fn served(world: &World, line: &str) -> Server {
    let line = line.replace(HERE, "127.0.0.1:0").replace(ANYWHERE, "127.0.0.1:0");
    Server::of(shell(world, &format!("exec {line}")))
}

#[test]
fn the_page_does_what_it_says() {
    let world = World::on_sqlite();
    let page = blocks("gateway.md");
    let of = |kind: &str| page.iter().filter(|block| block.kind == kind).collect::<Vec<_>>();
    let (cedar, consoles, scripts) = (of("cedar"), of("console"), of("sh"));
    assert_eq!((cedar.len(), consoles.len(), scripts.len()), (1, 3, 3), "it has other blocks");
    world.write("gateway.cedar", &cedar[0].text);
    let mut lines = typed(&world, consoles[0]);

    let mut server = served(&world, scripts[0].text.trim());
    let curls = scripts[1].text.replace(HERE, &server.at);
    let output = shell(&world, &format!("set -e\n{curls}")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains(r#"{"accepted":true,"actual_replicas":3,"revision":"1""#), "{said}");
    let again = shell(&world, &curls).output().unwrap();
    assert_eq!(again.stdout.len(), output.stdout.len(), "the same is the same: {again:?}");
    lines += typed(&world, consoles[1]);
    // What the policy of the page forbids is refused.
    let mut much = crate::gateway::operation("much", 1, 3, 21);
    server.post("api", &much).refuses(403, "policy_denied");
    much["desired_replicas"] = 20.into();
    server.post("api", &much).is(200);
    assert_eq!(server.stop().code, Some(0));

    let script = scripts[2].text.trim();
    let (makes, serves) = script.rsplit_once('\n').expect("two lines");
    assert!(shell(&world, makes).status().unwrap().success(), "{makes}");
    let mut server = served(&world, serves);
    server.get("/v1/scale/api").refuses(401, "unauthorized");
    server.signal(Signal::TERM);
    assert_eq!(server.ended().code, Some(0));

    let journal = r#"{"schema_version":1,"targets":{"old":2},"revisions":{"old":4},"receipts":[]}"#;
    world.write("scale-authority.json", journal);
    lines += typed(&world, consoles[2]);
    assert_eq!(lines, 7, "the page has other lines");
    let told = world.run("gateway observe old").exits(0).json();
    assert_eq!((&told["replicas"], &told["revision"]), (&2.into(), &"4".into()));
}
