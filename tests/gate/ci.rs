//! What a CI system shows beside its log.

use super::{tell, verified};

#[test]
fn a_summary_goes_where_the_step_shows_it() {
    let mut world = verified();
    let ran = world.run("gate web=3 --summary").exits(0);
    assert!(ran.stdout.starts_with("### gate: open (1 of 1)\n\n| service |"), "{ran:#?}");
    assert!(world.json("gate web=3 --summary").exits(0).at("/summary").is_string());
    let file = world.path("summary.md");
    world.set("GITHUB_STEP_SUMMARY", file.to_str().expect("a name"));
    for _ in 0..2 {
        let ran = world.run("gate web=3 --summary").exits(0);
        assert!(ran.stdout.contains("gate: open"), "{ran:#?}");
    }
    let text = std::fs::read_to_string(&file).expect("it was made");
    assert_eq!(text.matches("### gate: open").count(), 2, "it is added to: {text}");
    let own = world.path("own.md");
    world.run_args(&["gate", "web", &format!("--summary={}", own.display())]).exits(0);
    assert!(own.exists());
    // What cannot be written is told, and the verdict stands.
    let ran = world.json("gate web=3 --summary=/nowhere/at/all.md").exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "summary_not_written");
}

#[test]
fn the_ci_system_is_told_in_its_own_way() {
    let mut world = verified();
    tell(&world, "ready", "1");
    world.set("GITHUB_ACTIONS", "true");
    world.run("gate web --ready").exits(19).says("::warning title=gate web::web: 2 replicas not");
    world.run("gate web=9").exits(10).says("::error title=gate web::web: 3 is wished");
    let ran = world.run("gate web").exits(0);
    assert!(!ran.stderr.contains("::"), "{ran:#?}");
    world.unset("GITHUB_ACTIONS").set("GITLAB_CI", "true");
    world.run("gate web=9").exits(10).says("ERROR: gate: web: 3 is wished, and 9 is asked");
}
