//! A whole move, in order and out of order.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::world::{ENVIRONMENT, MOVE, PROTOCOL, World, contents, source, target};

#[test]
fn it_says_what_it_can_do_and_refuses_what_is_no_request() {
    let world = World::new();
    let receipt = world.done(&json!({"protocol": PROTOCOL, "op": "describe"}));
    assert_eq!(receipt["name"], "local");
    assert_eq!(receipt["ops"].as_array().map(Vec::len), Some(12));
    for request in [
        json!({"protocol": "scalectl.relocator/2", "op": "describe"}),
        json!({"protocol": PROTOCOL, "op": "explode"}),
        json!({"protocol": PROTOCOL, "op": "fence"}),
        json!([]),
        json!("x".repeat(2 << 20)),
    ] {
        assert_eq!(world.refused(&request), "bad_request");
    }
    let mut patient = World::request("verify", 1);
    patient["deadline_ms"] = json!(9_007_199_254_740_991_u64);
    assert_eq!(world.refused(&patient), "not_there");
    patient["op"] = json!("inventory");
    patient["source"] = source();
    world.done(&patient);
    let mut elsewhere = World::request("inventory", 1);
    elsewhere["source"]["cell"] = json!("nowhere");
    assert_eq!(world.refused(&elsewhere), "not_there");
}

#[test]
fn a_move_takes_everything_along_and_each_step_again_answers_by_its_receipt() {
    let world = World::new();
    world.write("sessions/shop/open/s1", "");
    world.write("sessions/shop/open/s2", "");
    world.insert(&source(), 1).expect("open");
    let before = contents(&world.copy(&source()));
    let inventory = world.op("inventory", 5);
    assert_eq!(inventory["tables"], 3);
    assert_eq!(inventory["rules"], 3);
    assert_eq!((&inventory["credentials"], &inventory["subjects"]), (&json!(2), &json!(1)));
    assert_eq!(inventory["workspace"], "stopped");
    assert_eq!(inventory["left_out"], json!(["workspace/node_modules"]));
    for op in &MOVE[1..6] {
        let first = world.op(op, 5);
        let mut again = world.op(op, 5);
        if *op == "verify" {
            assert_eq!(first["rows"], 3, "those of the application");
            again["verified_at"] = first["verified_at"].clone();
        }
        assert_eq!(again, first, "{op}");
    }
    assert!(!world.path("sessions/shop/open/s1").exists(), "sessions are revoked");
    let route = world.route();
    assert_eq!((&route["cell"], &route["epoch"]), (&json!("b"), &json!(2)));
    let after = contents(&world.copy(&target()));
    for (name, bytes) in &before {
        let is_taken = !name.contains("node_modules") && !name.starts_with("database.sqlite");
        if is_taken {
            assert_eq!(after.get(name), Some(bytes), "{name}");
        } else {
            assert!(!name.contains("node_modules") || !after.contains_key(name), "{name}");
        }
    }
    assert_eq!(world.numbers(&target()), [1]);
    world.insert(&target(), 2).expect("the target is open");
    let rule = world.insert(&target(), -1).expect_err("a rule");
    assert!(rule.contains("a rule of the application"), "{rule}");
    assert!(world.insert(&source(), 3).expect_err("closed").contains("fenced"));
    let first = world.op("retire", 5);
    assert_eq!(first["workspace"], "kept");
    assert_eq!(world.op("retire", 5), first);
    let left = contents(&world.copy(&source()));
    assert!(left.contains_key("workspace/src/main.c"), "its edits are retired by name only");
    assert!(!left.keys().any(|name| name.starts_with("application") || name.contains("modules")));
    let mut whole = World::request("retire", 5);
    whole["workspace"] = json!(true);
    assert_eq!(world.done(&whole)["workspace"], "none");
    assert_eq!(world.done(&whole)["workspace"], "none");
    assert!(!world.copy(&source()).exists());
    assert!(!world.path("cells/a/shop/.trash-1-op1").exists());
}

#[test]
fn a_way_back_is_another_move_of_what_is_there_now() {
    let world = World::new();
    for op in MOVE {
        world.op(op, 5);
    }
    world.insert(&target(), 7).expect("written at the target");
    let back = json!({"cell": "a", "generation": "3-op3"});
    for op in MOVE {
        let mut request = World::request(op, 6);
        request["operation"] = json!("op3");
        request["epoch"] = json!(2);
        if op != "verify" {
            request["source"] = target();
        }
        if request.get("target").is_some() {
            request["target"] = back.clone();
        }
        world.done(&request);
    }
    assert_eq!(world.numbers(&back), [7]);
    world.insert(&back, 8).expect("open");
    assert_eq!(world.route()["epoch"], 3);
}

#[test]
fn before_the_commit_everything_can_be_taken_back() {
    let world = World::new();
    let route = world.route();
    for op in ["drain", "fence", "transfer", "verify"] {
        world.op(op, 5);
    }
    assert_eq!(world.refused_op("undrain", 5), "unusable", "unfence comes first");
    for op in ["discard", "unfence", "undrain", "discard", "unfence", "undrain"] {
        world.op(op, 5);
    }
    assert!(!world.copy(&target()).exists());
    assert_eq!(world.route(), route);
    world.insert(&source(), 1).expect("open again");
    assert_eq!(world.refused_op("route", 5), "not_there");
    // And the move can be made after all.
    for op in MOVE {
        world.op(op, 6);
    }
    assert_eq!(world.numbers(&target()), [1]);
}

#[test]
fn after_the_commit_there_is_only_forward() {
    let world = World::new();
    for op in &MOVE[..6] {
        world.op(op, 5);
    }
    for token in [5, 9] {
        for op in ["drain", "unfence", "undrain", "discard"] {
            assert_eq!(world.refused_op(op, token), "committed", "{op} of token {token}");
        }
    }
    assert!(world.insert(&source(), 1).is_err());
    world.insert(&target(), 1).expect("open");
    // A newer lease fences first, and finds a source that is left for good.
    world.op("fence", 10);
    assert_eq!(world.refused_op("unfence", 10), "committed");
    world.op("retire", 10);
}

#[test]
fn a_step_out_of_order_is_refused() {
    let world = World::new();
    assert_eq!(world.refused_op("transfer", 5), "not_fenced");
    assert_eq!(world.refused_op("route", 5), "not_there");
    world.op("fence", 5);
    world.op("transfer", 5);
    assert_eq!(world.refused_op("route", 5), "other_generation", "it is not drained");
    world.op("drain", 5);
    assert_eq!(world.refused_op("route", 5), "not_there", "it is not verified");
    assert_eq!(world.refused_op("retire", 5), "other_generation");
    let mut far = World::request("transfer", 5);
    far["target"]["generation"] = json!("4-op2");
    assert_eq!(world.refused(&far), "bad_request");
    let mut other = World::request("transfer", 5);
    other["source"]["generation"] = json!("0-op0");
    fs::create_dir(world.copy(&other["source"])).expect("made");
    assert_eq!(world.refused(&other), "other_generation", "of another source");
}

#[test]
fn accepted_requests_end_before_sessions_are_revoked() {
    let world = World::new();
    world.write("sessions/shop/open/s1", "");
    let accepted = fs::File::create(world.path("sessions/shop/accepted.lock")).expect("made");
    rustix::fs::flock(&accepted, rustix::fs::FlockOperation::LockShared).expect("accepted");
    let mut short = World::request("drain", 5);
    short["deadline_ms"] = json!(400);
    let answer = world.call(&short);
    assert_eq!(answer["error"]["code"], "timed_out");
    assert_eq!(
        (&answer["error"]["applied"], &answer["error"]["retryable"]),
        (&json!("yes"), &json!(true))
    );
    assert_eq!(world.route()["unavailable"], "relocating", "nothing new is accepted");
    assert!(world.path("sessions/shop/open/s1").exists(), "a request still runs");
    drop(accepted);
    assert_eq!(world.op("drain", 5)["sessions_revoked"], 1);
}

/// A live writer, a move, and three looks from outside: the route, and both databases.
#[test]
fn no_acknowledged_row_is_lost_and_none_is_written_behind_the_fence() {
    let megabytes = std::env::var("SCALECTL_TEST_MOVE_MB").ok();
    let megabytes = megabytes.map_or(24, |text| text.parse().expect("a number"));
    let world = World::new();
    fill(&world.copy(&source()).join("artifacts/large"), megabytes);
    let (log, stop) = (world.path("log"), world.path("stop"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/relocator/writer.py");
    let mut writer = Command::new("python3")
        .arg(script)
        .arg(world.dir.path())
        .arg(ENVIRONMENT)
        .args([&log, &stop])
        .stderr(Stdio::inherit())
        .spawn()
        .expect("python3 runs");
    let lines = || fs::read_to_string(&log).unwrap_or_default();
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let is_there = (0..2000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            is_so()
        });
        assert!(is_there, "{what}");
    };
    until("rows at the source", &|| lines().lines().count() > 20);
    for op in &MOVE[..6] {
        world.op(op, 5);
        let fenced = ["fence", "transfer", "verify"].contains(op);
        let may_write = |place: &Value| {
            world.copy(place).exists() && world.insert(place, 1_000_000_000).is_ok()
        };
        if fenced {
            assert!(!may_write(&source()) && !may_write(&target()), "nobody owns it after {op}");
        }
    }
    until("rows at the target", &|| lines().contains("b 2-op2"));
    fs::write(&stop, "").expect("told to stop");
    assert!(writer.wait().expect("it ends").success());
    let lines = lines();
    assert!(!lines.contains("failed"), "{lines}");
    let number = |line: &str| line.rsplit(' ').next().expect("a word").parse().expect("a number");
    let acknowledged: Vec<i64> =
        lines.lines().filter(|line| !line.starts_with("refused")).map(number).collect();
    let at_source: Vec<i64> =
        lines.lines().filter(|line| line.starts_with("a ")).map(number).collect();
    assert_eq!(world.numbers(&source()), at_source, "each row of the source was acknowledged");
    assert_eq!(world.numbers(&target()), acknowledged, "no acknowledged row is lost");
    world.op("retire", 5);
}

fn fill(path: &Path, megabytes: usize) {
    use std::io::Write as _;
    let mut file = fs::File::create(path).expect("made");
    for number in 0..megabytes {
        let byte = |at: usize| u8::try_from((at * 31 + number * 7) % 256).expect("a byte");
        let piece: Vec<u8> = (0..1 << 20).map(byte).collect();
        file.write_all(&piece).expect("written");
    }
}
