//! `-l`: the services of a line by their labels, as `status`, `gate` and `log` take them.

use crate::support::{Ran, SERVICE, World};

/// `web` and `api` are at the front, `api` and `db` belong to a team, and `old` is retired.
fn world() -> World {
    let world = World::with_fake();
    world.run("service put web --label tier=front").exits(0);
    for (name, labels) in [
        ("api", "--label tier=front --label team=shop"),
        ("db", "--label tier=back --label team=shop"),
        ("old", "--label tier=front"),
    ] {
        let put = SERVICE.replace("put web", &format!("put {name}"));
        world.run(&format!("{put} --workload {name} --target-uid fake:{name} {labels}")).exits(0);
    }
    world.run("service retire old --reason gone").exits(0);
    world
}

fn select(world: &World, verb: &str, selector: &str, more: &str) -> Ran {
    let more = more.split_whitespace();
    world.run_args(&[verb, "-l", selector].into_iter().chain(more).collect::<Vec<_>>())
}

#[test]
fn it_takes_the_services_whose_labels_are_so() {
    let world = world();
    for (selector, taken) in [
        ("tier=front", "api web "),
        ("tier=front,team=shop", "api "),
        ("tier in (front,back),team", "api db "),
        ("!team", "web "),
        ("tier!=front", "db "),
        ("tier", "api db web "),
    ] {
        let ran = select(&world, "status", selector, "-o name").exits(0);
        assert_eq!(ran.stdout.replace('\n', " "), taken, "{selector}");
    }
    let both = world.json("status --selector team").exits(0);
    assert_eq!(both.at("/services/1/service"), "db");
    // Of whoever is retired the history is there to see, and nothing else.
    let ran = world.json("log -l tier=front --event service_retired").exits(0);
    assert_eq!(ran.at("/events/0/stream"), "service:old");
    assert_eq!(ran.json()["events"].as_array().unwrap().len(), 1);
    let ran = world.json("log -l team --event service_registered").exits(0);
    let services: Vec<_> = ran.json()["events"].as_array().unwrap().clone();
    assert!(!services.is_empty());
    assert!(services.iter().all(|event| event["stream"] != "service:web"), "{services:#?}");
    let ran = world.json("gate -l tier=front");
    let gated: Vec<_> = ran.json()["services"].as_array().unwrap().clone();
    let gated: Vec<_> = gated.iter().map(|row| row["service"].clone()).collect();
    assert_eq!(gated, ["api", "web"]);
}

/// Nothing is not everything: a gate over no service would be open, a log of none the whole ledger.
#[test]
fn what_takes_nothing_is_refused() {
    let world = world();
    for verb in ["status", "gate", "log"] {
        let ran = world.json(&format!("{verb} -l tier=middle")).exits(24);
        assert_eq!(ran.at("/error/code"), "nothing_selected");
        assert!(ran.at("/error/message").as_str().unwrap().contains("selected by tier=middle"));
        assert_eq!(ran.at("/error/next/0/1"), "service");
    }
}

#[test]
fn what_is_no_selector_and_names_beside_one_are_refused() {
    let world = world();
    for verb in ["status", "gate", "log"] {
        for selector in ["tier=", "tier front", "", "tier=front,"] {
            select(&world, verb, selector, "").exits(2);
        }
        select(&world, verb, "tier", "-l team").exits(2);
        select(&world, verb, "tier", "web").exits(2);
        select(&world, verb, "tier>3", "").exits(2).says("'>' where =, !=, in, notin");
    }
}
