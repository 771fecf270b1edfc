//! Where a key stands decides the exit code: every state is produced, every command is run on a
//! copy of it, and both the code and the effect on the target are held against the one table.

mod left;

use std::path::Path;
use std::process::Child;

use scalectl::cli::exit::Exit;
use scalectl::cli::exit::standing::{COMMANDS, ROWS};

use crate::support::{Ran, World};

const BEGIN: &str = "2026-01-05T10:00:00Z";
const LATER: &str = "2026-01-05T10:02:00Z";
const PUT: &str = "intent put web --replicas 3 --key k1 --reason r --expect-revision 0";
const PUT_DRY: &str =
    "intent put web --replicas 3 --key k1 --reason r --expect-revision 0 --dry-run";
const SCALE: &str = "scale web=3 --key k1 --reason r --expect-revision 0 --no-wait";
const NEWER: &str = "intent put web --replicas 5 --key k2 --reason r --queue";

/// A state that was produced, and the call that keeps it so.
struct Stage {
    world: World,
    call: Option<Child>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(call) = &mut self.call {
            drop(call.kill());
            drop(call.wait());
            self.world.await_no_children();
        }
    }
}

/// A world with a service whose failures wait a minute, and a key in it.
fn stage(settings: &str, capabilities: &str, script: &[&str], lines: &[&str]) -> Stage {
    let mut world = World::new();
    world.still(BEGIN);
    world.init_fake_that(&capabilities.lines().collect::<Vec<_>>());
    world.run(&format!("{SERVICE} {settings}")).exits(0);
    if !script.is_empty() {
        world.script(script);
    }
    for line in lines {
        let ran = world.run(line);
        assert!(ran.code.is_some_and(|code| [0, 16, 17, 18, 19, 23].contains(&code)), "{ran:#?}");
    }
    Stage { world, call: None }
}

const SERVICE: &str = "service put web --actuator fake --writer ops --max 10 --quiet 0s \
                       --backoff 1m --drain none --target-match replicas --cluster fake \
                       --runtime sh --target-uid fake:web --target-version 1";
const ALL: &str = "inspect\nlookup\nfence\n";

/// The actuator's call is under way when this returns.
fn with_call(mut stage: Stage, log: &str) -> Stage {
    stage.call = Some(stage.world.start("actuate k1"));
    stage.world.until("the call begins", || !stage.world.fake_log(log).is_empty());
    stage
}

fn with_dead_call(stage: Stage) -> Stage {
    // It has had its effect, so that whoever asks is told so.
    let mut stage = with_call(stage, "effects");
    let mut call = stage.call.take().expect("a call");
    call.kill().expect("the command is killed");
    call.wait().expect("the command is reaped");
    stage.world.await_no_children();
    stage
}

fn produced(state: &str) -> Stage {
    let plain = |lines: &[&str]| stage("", ALL, &[], lines);
    match state {
        "accepted" => plain(&[PUT]),
        "accepted, behind another" => {
            let mut stage = stage("", "", &["unknown"], &[]);
            stage.world.run(&PUT.replace("k1", "k0").replace("=3", "=4")).exits(0);
            stage.world.run("actuate k0").exits(16);
            stage.world.run(&QUEUED_PUT.join(" ")).exits(0);
            stage.world.still(BEGIN);
            stage
        }
        "started, call alive" => with_call(stage("", ALL, &["late 3600"], &[PUT]), "calls"),
        "started, call dead" => with_dead_call(stage("", ALL, &["hang"], &[PUT])),
        "recovery_pending, nobody can tell" => stage("", "", &["unknown"], &[PUT, "actuate k1"]),
        "recovery_pending, halt" => {
            stage("--on-unknown halt", ALL, &["unknown"], &[PUT, "actuate k1"])
        }
        "failed, before retry_at" => stage("", ALL, &["fail retryable x"], &[PUT, "actuate k1"]),
        "failed, after retry_at" => {
            let mut stage = produced("failed, before retry_at");
            stage.world.still(LATER);
            stage
        }
        "succeeded" => plain(&[PUT, "actuate k1"]),
        "observed" => stage("--readings 3", ALL, &[], &[PUT, "actuate k1", "observe k1"]),
        "verified, converged" => plain(&[PUT, "actuate k1", "observe k1"]),
        "verified, converged, a newer intent holds" => {
            plain(&[PUT, "actuate k1", "observe k1", NEWER, "actuate k2", "observe k2"])
        }
        "verified, converged, the target differs now" => {
            let stage = produced("verified, converged");
            std::fs::write(stage.world.fake_dir().join("count"), "9\n").expect("a count");
            stage
        }
        "verified, failed: terminal" => stage("", ALL, &["fail terminal x"], &[PUT, "actuate k1"]),
        "failed, target changed" => {
            let mut stage = stage("", ALL, &["half 9 retryable"], &[PUT, "actuate k1"]);
            stage.world.still(LATER);
            stage
        }
        "verified, failed: terminal, target changed" => {
            stage("", ALL, &["half 9 terminal"], &[PUT, "actuate k1"])
        }
        "verified, failed: exhausted" => {
            stage("--max-attempts 1", ALL, &["fail retryable x"], &[PUT, "actuate k1"])
        }
        "verified, failed: mismatch" => stage("", ALL, &["count 9"], &[PUT, "actuate k1"]),
        "verified, failed: abandoned" => {
            let abandon = "intent abandon k1 --reason r";
            stage("", ALL, &["fail retryable x"], &[PUT, "actuate k1", abandon])
        }
        "verified, simulated, as put" => plain(&[PUT_DRY, "actuate k1"]),
        "verified, simulated by actuate --simulate" => plain(&[PUT, "actuate k1 --simulate"]),
        "withdrawn" => plain(&[PUT, "intent withdraw k1"]),
        "superseded, never started" => plain(&[PUT, NEWER]),
        "superseded, unconfirmed" => plain(&[PUT, "actuate k1", NEWER]),
        other => panic!("nothing produces {other}"),
    }
}

const QUEUED_PUT: [&str; 2] =
    ["intent put web --replicas 3 --key k1 --reason r", "--expect-revision 1 --queue"];

fn line(command: &str, state: &str) -> String {
    let is_queued = state == "accepted, behind another";
    match command {
        "intent put" if state == "verified, simulated, as put" => PUT_DRY.to_owned(),
        "intent put" if is_queued => QUEUED_PUT.join(" "),
        "intent put" => PUT.to_owned(),
        "scale" => SCALE.to_owned(),
        "settle --not-applied" => "settle k1 --not-applied --reason r".to_owned(),
        "intent abandon" => "intent abandon k1 --reason r".to_owned(),
        other => format!("{other} k1"),
    }
}

/// What the exit table says of the target, held against the actuator's own log.
fn check_target(ran: &Ran, effects: usize, ever: usize) -> Result<(), String> {
    let applied = ran.at("/applied");
    let is_said = match applied.as_str() {
        Some("no") => effects == 0,
        Some("yes") => effects > 0,
        // What is half done of a key is said by every step on it.
        Some("partial") => ever > 0,
        Some("unknown") => true,
        _ => false,
    };
    let exit = Exit::ALL.into_iter().find(|exit| Some(i32::from(exit.code())) == ran.code);
    let target = exit.map_or("", Exit::target);
    let is_promised = match target {
        "untouched" | "unchanged" | "untouched by you" | "untouched, recorded" => effects == 0,
        _ => true,
    };
    if is_said && is_promised {
        return Ok(());
    }
    Err(format!("applied {applied}, exit {target:?}, and {effects} effects in its log"))
}

#[test]
fn every_state_answers_every_command_as_the_table_says() {
    let rows = std::sync::Mutex::new(ROWS.into_iter());
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let row = rows.lock().expect("no test panics here").next();
                    let Some((state, exits)) = row else { break };
                    let found = row_of(state, exits);
                    wrong.lock().expect("no test panics here").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no test panics here");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is not as the row says.
fn row_of(state: &str, exits: [u8; 9]) -> Vec<String> {
    let stage = produced(state);
    let mut wrong = Vec::new();
    for (command, exit) in COMMANDS.into_iter().zip(exits) {
        // A live call cannot be copied, and nobody but its own command may change anything.
        let copy = if stage.call.is_some() { None } else { Some(stage.world.copy()) };
        let world = copy.as_ref().unwrap_or(&stage.world);
        let before = world.fake_log("effects").len();
        let ran = world.json(&line(command, state));
        let ever = world.fake_log("effects").len();
        let effects = ever - before;
        if ran.code != Some(i32::from(exit)) {
            let code = ran.json()["error"]["code"].clone();
            wrong.push(format!("{state} × {command}: {:?} {code}, not {exit}", ran.code));
        }
        if let Err(why) = check_target(&ran, effects, ever) {
            wrong.push(format!("{state} × {command}: {why}"));
        }
    }
    wrong
}

/// Whatever the actuator does, the answer tells the truth about the target.
#[test]
fn the_target_column_is_true_of_every_kind_of_answer() {
    let words = [
        ("ok", 0),
        ("blind", 0),
        ("count 9", 23),
        ("half 9 retryable", 18),
        ("half 9 terminal", 23),
        ("half 3 terminal", 23),
        ("rollback", 0),
        ("fail retryable x", 18),
        ("fail terminal x", 17),
        ("unknown", 16),
        ("garble", 16),
        ("silent", 16),
        ("two", 16),
        ("wrong-key", 16),
        ("exit1-ok", 16),
        ("die", 16),
        ("flood", 16),
    ];
    let mut wrong = Vec::new();
    for verb in ["actuate k1", SCALE] {
        let stage = stage("", ALL, &[], &[PUT]);
        for (word, exit) in words {
            let world = stage.world.copy();
            world.script(&[word]);
            let ran = world.json(verb);
            let effects = world.fake_log("effects").len();
            // What was applied and cannot be read is not yet confirmed.
            let exit = if word == "blind" && verb == SCALE { 19 } else { exit };
            if ran.code != Some(exit) {
                wrong.push(format!("{verb}, {word}: {:?}, not {exit}", ran.code));
            }
            if let Err(why) = check_target(&ran, effects, effects) {
                wrong.push(format!("{verb}, {word}: {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A copy of a world is a world: nothing in it points back.
#[test]
fn a_copied_world_goes_its_own_way() {
    let stage = produced("accepted");
    let copy = stage.world.copy();
    copy.run("actuate k1").exits(0);
    assert_eq!(copy.fake_log("effects").len(), 1);
    assert!(stage.world.fake_log("effects").is_empty());
    assert!(copy.is_on_postgres() || Path::exists(&copy.ledger()));
    stage.world.run("actuate k1").exits(0);
}
