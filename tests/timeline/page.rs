//! The page: complete in itself, and nothing foreign in it is markup.

use super::{HOSTILE, day};
use crate::support::World;

fn page(world: &World, line: &str) -> String {
    let ran = world.run(&format!("timeline web {line} --html page.html")).exits(0);
    assert!(ran.stdout.contains("page.html"), "{ran:#?}");
    std::fs::read_to_string(world.path("page.html")).unwrap()
}

#[test]
fn it_tells_every_intent_with_who_why_and_under_which_rule() {
    let world = day();
    let page = page(&world, "--on 2026-11-24");
    for part in [
        "night shrink [CHG-88]",
        "5 → 3",
        "<b class=\"name\">sre</b><br>sre@",
        "<b>anything</b> permit",
        "rules.cedar:1",
        "<b>no-zero-in-hours</b> forbid",
        "denied",
        "broken glass",
        "queue is backing up [INC-4711]",
        "NOT REVIEWED",
        "unknown",
        "service:web",
    ] {
        assert!(page.contains(part), "no {part:?} in {page}");
    }
    let heads = world.json("verify").exits(0).at("/heads");
    let of_web = heads.as_array().unwrap().iter().find(|head| head["stream"] == "service:web");
    assert!(page.contains(of_web.unwrap()["hash"].as_str().unwrap()), "the head of the chain");
    // The same to stdout.
    let piped = world.run("timeline web --on 2026-11-24 --html -").exits(0).stdout;
    assert_eq!(piped, page);
}

#[test]
fn it_needs_no_network_and_no_script() {
    let page = page(&day(), "--on 2026-11-24");
    for word in ["<script", "<img", "<link", "<iframe", " src=", "@import", "http://", "https://"] {
        assert!(!page.contains(word), "{word:?} in {page}");
    }
    let urls: Vec<&str> = page.split("url(").skip(1).collect();
    assert!(urls.iter().all(|rest| rest.starts_with('#')), "{urls:?}");
    let targets = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    for target in targets {
        let id = target.strip_prefix('#').expect("a place in the page");
        assert!(page.contains(&format!("id=\"{id}\"")), "{target} leads nowhere");
    }
}

/// All that a stranger may choose is in it: reasons, references, actors, keys of incidents, rules.
#[test]
fn nothing_foreign_becomes_markup() {
    let mut world = World::new();
    world.init_fake();
    let name = "a<b>\"'&";
    let rules = "@id(\"<i>all</i>\") permit(principal, action, resource);\n\
                 @id(\"</td><script>\") forbid(principal, \
                 action == Action::\"scale_to_zero\", resource);";
    world.write("r.cedar", rules);
    world.run("policy put r.cedar --reason r").exits(0);
    world.run(&format!("{} --backoff 0s", crate::support::SERVICE)).exits(0);
    let by = ["--actor", name, "--ref", HOSTILE];
    let run = |words: &[&str]| world.run_args(&[words, &by].concat());
    run(&["scale", "web=2", "--key", "k1", "--reason", HOSTILE]).exits(0);
    run(&["scale", "web=0", "--key", "k2", "--reason", HOSTILE]).exits(12);
    run(&[
        "scale",
        "web=3",
        "--break-glass",
        "--incident",
        "<b>INC</b>",
        "--yes",
        "--current-replicas",
        "2",
        "--key",
        "k3",
        "--reason",
        HOSTILE,
    ])
    .exits(0);
    world.set("CI_JOB_URL", "javascript:alert(1)//\"><script>");
    world.run_args(&["scale", "web=4", "--key", "k4", "--reason", "r", "--actor", name]).exits(0);
    let page = page(&world, "--since 1h");
    for word in
        ["<script", "<img", "<i>", "<b>INC", "a<b>", "href=\"javascript", "\u{202e}", "\u{1b}"]
    {
        assert!(!page.contains(word), "{word:?} in {page}");
    }
    for word in ["&lt;script&gt;document.title", "\\u{202e}", "\\u{1b}[2J\\n", "&lt;i&gt;all"] {
        assert!(page.contains(word), "no {word:?} in {page}");
    }
}
