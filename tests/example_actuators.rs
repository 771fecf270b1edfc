//! The actuators in `fixtures/actuators`: the two teaching examples and the scripted fake.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use scalectl::actuator::protocol::{
    ApplyAnswer, ApplyRequest, Base, Exit, FenceRequest, InspectRequest, LookupReply,
    LookupRequest, PartialTarget, Request, read_apply_answer, read_describe, read_fence,
    read_inspect, read_lookup,
};
use scalectl::domain::id::{AttemptNumber, Replicas};
use scalectl::domain::scale::intent::TargetBinding;
use serde_json::Value;
use tempfile::TempDir;

struct Example {
    program: PathBuf,
    dir: TempDir,
}

impl Example {
    fn new(file: &'static str) -> Self {
        let program = repository().join("fixtures/actuators").join(file);
        Self { program, dir: tempfile::tempdir().expect("a directory") }
    }

    fn interpreter(&self) -> &'static str {
        let is_python = self.program.extension().is_some_and(|extension| extension == "py");
        if is_python { "python3" } else { "/bin/sh" }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).expect("ours");
    }

    fn call(&self, request: &Request) -> Output {
        self.call_by(&[self.interpreter()], request)
    }

    /// Started by these words, which come before the program.
    fn call_by(&self, words: &[&str], request: &Request) -> Output {
        #[expect(clippy::disallowed_methods, reason = "the tests are the parent")]
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .arg(&self.program)
            .env_clear()
            .env("PATH", std::env!("PATH"))
            .env("COUNTER_DIR", self.dir.path())
            .env("FAKE_ACTUATOR_DIR", self.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the example starts");
        let mut stdin = child.stdin.take().expect("piped");
        // An actuator need not read what it does not ask for; it may be gone by now.
        match stdin.write_all(request.to_json().as_bytes()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
            Ok(()) | Err(_) => {}
        }
        drop(stdin);
        child.wait_with_output().expect("it ends")
    }

    fn read(&self) -> (TargetBinding, u64) {
        let target = PartialTarget::from(&sample().request.target);
        let target = PartialTarget { cluster_id: None, runtime_id: None, ..target };
        let request = InspectRequest { target };
        let output = self.call(&Request::Inspect(request.clone()));
        let found = read_inspect(&output.stdout, &request.target, Exit::Code(0)).expect("valid");
        (found.target, found.replicas.get())
    }

    /// A call for the target as it is now.
    fn request(&self, key: &str, attempt: u64, desired: u32) -> ApplyRequest {
        let mut apply = sample();
        let (target, _) = self.read();
        let resource_version = Some(target.target_resource_version.clone());
        apply.base = Base { resource_version, ..Base::default() };
        apply.request.execution_key = key.parse().expect("valid");
        apply.request.desired_replicas = Replicas::from(desired);
        apply.request.lease.attempt = AttemptNumber::new(attempt).expect("valid");
        apply.request.target = target;
        apply
    }

    fn apply(&self, apply: &ApplyRequest) -> String {
        let output = self.call(&Request::Apply(Box::new(apply.clone())));
        let (key, target) = (&apply.request.execution_key, &apply.request.target);
        let exit = output.status.code().map_or(Exit::Signal(9), Exit::Code);
        match read_apply_answer(&output.stdout, key, target, exit) {
            ApplyAnswer::Known { result, .. } if result.scaled() => {
                format!("succeeded {}", result.observed_replicas().expect("a count"))
            }
            ApplyAnswer::Known { result, .. } => {
                let ending = if result.is_retryable_failure() { "again" } else { "for good" };
                format!("failed {} {ending}", result.error_code().expect("a code"))
            }
            ApplyAnswer::Unknown { why, .. } => format!("unknown {why}"),
        }
    }

    fn lookup(&self, apply: &ApplyRequest) -> &'static str {
        let (key, target) = (&apply.request.execution_key, &apply.request.target);
        let fence = &apply.request.lease.fence;
        let output = self.call(&Request::Lookup(Box::new(LookupRequest {
            ledger: Some(apply.ledger.clone()),
            execution_key: key.clone(),
            target: target.clone(),
            epoch: fence.lease_epoch,
            token: fence.fence_token,
            attempt: apply.request.lease.attempt,
        })));
        match read_lookup(&output.stdout, key, target, Exit::Code(0)).expect("valid") {
            LookupReply::Applied { .. } => "applied",
            LookupReply::Never => "never",
            LookupReply::Unknown => "unknown",
        }
    }

    fn fence(&self, apply: &ApplyRequest) -> (bool, u64) {
        let fence = &apply.request.lease.fence;
        let target = &apply.request.target;
        let output = self.call(&Request::Fence(Box::new(FenceRequest {
            ledger: None,
            target: target.clone(),
            epoch: fence.lease_epoch,
            token: fence.fence_token,
            attempt: apply.request.lease.attempt,
        })));
        let reply = read_fence(&output.stdout, target, Exit::Code(0)).expect("valid");
        (reply.fenced, reply.reading.expect("a reading").replicas.get())
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sample() -> ApplyRequest {
    let path = repository().join("fixtures/protocol/apply.request.json");
    match Request::read(&fs::read(path).expect("a sample")).expect("valid") {
        Request::Apply(apply) => *apply,
        other => panic!("not an apply: {other:?}"),
    }
}

#[test]
fn the_teaching_examples_are_correct_actuators() {
    for file in ["counter.sh", "counter.py"] {
        let example = Example::new(file);
        let described = read_describe(&example.call(&Request::Describe).stdout, Exit::Code(0));
        assert!(described.expect("valid").capabilities.lookup, "{file}");
        assert_eq!(example.read().1, 0);

        let first = example.request("k1", 1, 3);
        assert_eq!(example.apply(&first), "succeeded 3", "{file}");
        assert_eq!(example.read().1, 3);
        let moved = ApplyRequest { base: first.base.clone(), ..example.request("k2", 1, 9) };
        assert_eq!(example.apply(&moved), "failed precondition_moved again", "{file}");

        assert_eq!(example.apply(&example.request("k3", 1, 1)), "succeeded 1", "{file}");
        // The same key again: the same answer, and no effect.
        assert_eq!(example.apply(&first), "succeeded 3", "{file}");
        assert_eq!(example.read().1, 1);
        let conflict = ApplyRequest { request: first.request.clone(), ..first.clone() };
        let mut conflict = conflict;
        conflict.request.desired_replicas = Replicas::from(8);
        assert_eq!(example.apply(&conflict), "failed key_conflict for good", "{file}");

        assert_eq!(example.lookup(&first), "applied");
        let late = example.request("k4", 1, 7);
        assert_eq!((example.lookup(&late), example.lookup(&late)), ("never", "never"));
        let late = example.request("k4", 1, 7);
        assert_eq!(example.apply(&late), "failed stale_fence for good", "{file}");
        assert_eq!(example.apply(&example.request("k4", 2, 7)), "succeeded 7", "{file}");
        assert_eq!(example.read().1, 7);
    }
}

#[test]
fn the_python_example_fences() {
    let example = Example::new("counter.py");
    assert_eq!(example.fence(&example.request("k1", 2, 3)), (true, 0));
    assert_eq!(example.apply(&example.request("k1", 1, 3)), "failed stale_fence for good");
    assert_eq!(example.apply(&example.request("k1", 2, 3)), "succeeded 3");
}

#[test]
fn the_fake_does_what_its_script_says() {
    let fake = Example::new("fake.sh");
    let rows = [
        ("ok", "succeeded 5", true),
        ("count 4", "succeeded 4", true),
        ("fail retryable busy", "failed busy again", false),
        ("fail terminal quota", "failed quota for good", false),
        ("unknown", "unknown said_unknown", true),
        ("garble", "unknown garbled_result", true),
        ("silent", "unknown no_result", true),
        ("two", "unknown garbled_result", true),
        ("wrong-key", "unknown wrong_key", true),
        ("exit1-ok", "unknown exit_contradicts", true),
        ("die", "unknown died_by_signal", true),
        ("flood", "unknown result_too_long", true),
        ("late 0.01", "succeeded 5", true),
    ];
    fake.write("script", &rows.map(|(line, ..)| line).join("\n"));
    let mut effects = String::new();
    for (number, (line, expected, has_effect)) in rows.into_iter().enumerate() {
        let key = format!("k{number}");
        assert_eq!(fake.apply(&fake.request(&key, 1, 5)), expected, "{line}");
        let log = fs::read_to_string(fake.dir.path().join("effects.log")).unwrap_or_default();
        assert_eq!(log.len() > effects.len(), has_effect, "{line}");
        let count = line.strip_prefix("count ").unwrap_or("5");
        let logged = format!("{key} 1 {count} ");
        assert!(!has_effect || log.lines().last().expect(line).starts_with(&logged), "{log}");
        effects = log;
    }
    assert_eq!(fake.apply(&fake.request("k99", 1, 2)), "succeeded 2", "ok is the default");
}

/// Kills it at each of its openings and writings of files, one after the other, and says how many
/// there were.
fn killed_everywhere(script: &str, request: impl Fn(&Example) -> Request) -> usize {
    let mut kills = 0;
    for call in ["openat", "write"] {
        for number in 1..200 {
            let fake = Example::new("fake.sh");
            fake.write("script", script);
            fake.write("capabilities", "lookup\nfence\n");
            let asked = request(&fake);
            let trace = format!("trace={call}");
            let inject = format!("inject={call}:signal=KILL:when={number}");
            let words = ["strace", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
            let output = fake.call_by(&[&words[..], &["/bin/sh"]].concat(), &asked);
            if output.status.success() {
                break;
            }
            kills += 1;
            let at = format!("{call} {number} of {script:?}");
            let log = fs::read_to_string(fake.dir.path().join("effects.log")).unwrap_or_default();
            let count = log.lines().last().and_then(|line| line.split(' ').nth(2)).unwrap_or("0");
            assert_eq!(fake.read().1.to_string(), count, "{at}: the count is that of the log");
            if let Request::Apply(apply) = &asked {
                let looked = if log.is_empty() { "never" } else { "applied" };
                assert_eq!(fake.lookup(apply), looked, "{at}");
            }
            // It goes on: a promise and an effect under it.
            fake.write("script", "ok\nok\nok\n");
            assert!(fake.fence(&fake.request("k9", 4, 7)).0, "{at}");
            assert_eq!(
                fake.apply(&fake.request("k9", 3, 7)),
                "failed stale_fence for good",
                "{at}"
            );
            assert_eq!(fake.apply(&fake.request("k9", 4, 7)), "succeeded 7", "{at}");
        }
    }
    kills
}

/// A test kills its processes anywhere, and must then be able to trust the target.
#[test]
fn a_kill_anywhere_leaves_a_fake_that_is_whole() {
    let apply = |fake: &Example| Request::Apply(Box::new(fake.request("k1", 1, 5)));
    for script in ["ok", "half 4 retryable"] {
        let kills = killed_everywhere(script, apply);
        assert!(kills > 12, "{kills} kills are too few to have been everywhere");
    }
    let fence = |fake: &Example| {
        let ApplyRequest { request, ledger, .. } = fake.request("k1", 1, 5);
        Request::Fence(Box::new(FenceRequest {
            ledger: Some(ledger),
            target: request.target,
            epoch: request.lease.fence.lease_epoch,
            token: request.lease.fence.fence_token,
            attempt: request.lease.attempt,
        }))
    };
    assert!(killed_everywhere("ok", fence) > 8);
}

#[test]
fn the_fake_honours_what_it_declares() {
    let fake = Example::new("fake.sh");
    let described = read_describe(&fake.call(&Request::Describe).stdout, Exit::Code(0));
    assert_eq!(
        described.expect("valid").capabilities,
        scalectl::domain::scale::service::Capabilities::default()
    );
    fake.write(
        "capabilities",
        "deduplicates_execution_key\nlookup\nfence\nconditional_on_version\n",
    );
    let described = read_describe(&fake.call(&Request::Describe).stdout, Exit::Code(0));
    let capabilities = described.expect("valid").capabilities;
    assert!(capabilities.deduplicates_execution_key && capabilities.lookup && capabilities.fence);

    let first = fake.request("k1", 1, 3);
    assert_eq!(fake.lookup(&first), "never");
    assert_eq!(fake.apply(&first), "failed stale_fence for good");
    let second = fake.request("k1", 2, 3);
    assert_eq!(
        (fake.apply(&second), fake.apply(&second)),
        ("succeeded 3".into(), "succeeded 3".into())
    );
    assert_eq!(fake.lookup(&second), "applied");
    let effects = fs::read_to_string(fake.dir.path().join("effects.log")).expect("one effect");
    assert_eq!(effects.lines().count(), 1);
    let moved = ApplyRequest { base: first.base, ..fake.request("k2", 1, 4) };
    assert_eq!(fake.apply(&moved), "failed precondition_moved again");
    assert_eq!(fake.fence(&fake.request("k3", 2, 4)), (true, 3));
    assert_eq!(fake.apply(&fake.request("k3", 1, 4)), "failed stale_fence for good");
    assert_eq!(fake.apply(&fake.request("k3", 2, 4)), "succeeded 4");
    fake.write("lookup-unknown", "");
    assert_eq!(fake.lookup(&fake.request("k5", 1, 4)), "unknown");
}

/// The code blocks of the page for authors, in one language.
fn blocks_of_the_page(language: &str) -> Vec<String> {
    let page = fs::read_to_string(repository().join("docs/actuator-protocol.md")).expect("a page");
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1);
    blocks.map(|rest| rest.split("```").next().expect("a block").to_owned()).collect()
}

#[test]
fn every_sample_is_on_the_page_and_equal() {
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("valid JSON");
    let shown: Vec<Value> = blocks_of_the_page("json").iter().map(|text| read(text)).collect();
    let mut samples = 0;
    for entry in fs::read_dir(repository().join("fixtures/protocol")).expect("samples") {
        let path = entry.expect("a sample").path();
        let sample = read(&fs::read_to_string(&path).expect("text"));
        assert!(shown.contains(&sample), "{} is not on the page", path.display());
        samples += 1;
    }
    assert_eq!(samples, shown.len(), "the page shows what is no sample");
}

#[test]
fn the_twenty_lines_of_the_page_work() {
    let [text] = blocks_of_the_page("sh").try_into().expect("one block");
    assert!(text.lines().count() <= 25, "short enough to be read");
    let folder = tempfile::tempdir().expect("a directory");
    let script = folder.path().join("files.sh");
    fs::write(&script, text).expect("ours");
    // Run by its interpreter: a file that was just written may still be open for writing in a
    // child of another test, and could then not be executed itself.
    let example = Example { program: script, ..Example::new("") };
    let described = read_describe(&example.call(&Request::Describe).stdout, Exit::Code(0));
    assert!(described.expect("valid").capabilities.inspect);
    assert_eq!(example.apply(&example.request("k1", 1, 4)), "succeeded 4");
    assert_eq!(example.read().1, 4);
    fs::remove_dir_all(example.dir.path()).expect("ours");
    assert_eq!(example.apply(&sample()), "unknown no_result");
}
