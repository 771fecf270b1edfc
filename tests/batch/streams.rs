//! Who sends the lines and who reads the answers: slow ones, gone ones, signals, two at once.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{accepted, answers, put, puts};
use crate::support::World;

/// No answer takes so long, or it is none.
const PATIENCE: Duration = Duration::from_secs(20);

/// A batch that is under way, and the lines that it answers.
pub(super) struct Talk {
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    pub(super) answers: Receiver<String>,
}

impl Talk {
    pub(super) fn with(world: &World) -> Self {
        let mut command = world.command(&["batch"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, answers }
    }

    pub(super) fn say(&mut self, text: &str) {
        self.stdin.as_mut().expect("open").write_all(text.as_bytes()).expect("it is read");
    }

    #[track_caller]
    pub(super) fn answer(&self) -> Value {
        let line = self.answers.recv_timeout(PATIENCE).expect("an answer in time");
        serde_json::from_str(&line).expect("JSON")
    }

    fn end(mut self) -> (Option<i32>, String) {
        drop(self.stdin.take());
        let output = self.child.wait_with_output().expect("it ends");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    }
}

#[test]
fn a_line_is_answered_while_the_sender_says_nothing_more() {
    let world = World::with_fake();
    let mut talk = Talk::with(&world);
    let began = Instant::now();
    for n in 1..=5 {
        talk.say(&(put(&format!("k{n}"), n) + "\n"));
        let answer = talk.answer();
        assert_eq!((&answer["line"], &answer["exit"]), (&n.into(), &0.into()));
        // It is durable for everybody, and no lock is held while the next line is waited for.
        let show = world.json(&format!("intent show k{n}")).exits(0);
        assert_eq!(show.at("/execution/state"), "accepted");
        world.run("--lock-timeout 0s service bind web").exits(0);
    }
    // Half a line is not one yet.
    talk.say("{\"command\":");
    std::thread::sleep(Duration::from_millis(100));
    assert!(talk.answers.try_recv().is_err());
    talk.say("[]}\n");
    assert_eq!(talk.answer()["error"]["code"], "not_in_batch");
    assert!(began.elapsed() < PATIENCE);
    assert_eq!(talk.end().0, Some(2));
}

#[test]
fn a_signal_ends_it_after_the_group_that_is_begun() {
    for (signal, exit) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let world = World::with_fake();
        let mut talk = Talk::with(&world);
        talk.say(&(put("k1", 1) + "\n"));
        assert_eq!(talk.answer()["exit"], 0);
        let pid = i32::try_from(talk.child.id()).expect("a pid");
        kill_process(Pid::from_raw(pid).expect("a pid"), signal).expect("it is there");
        // The sender is still there; it must not be waited for.
        let began = Instant::now();
        let code = loop {
            if let Some(status) = talk.child.try_wait().expect("ours") {
                break status.code();
            }
            assert!(began.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(code, Some(exit));
        let (_, stderr) = talk.end();
        assert!(stderr.contains("batch: 1 line: 1 × 0 ok"), "{stderr}");
        assert!(stderr.contains("error[interrupted]"), "{stderr}");
        assert_eq!(accepted(&world), ["k1"]);
    }
}

#[test]
fn what_is_recorded_stays_if_the_reader_goes_away_and_no_more_is_read() {
    let world = World::with_fake();
    let file = world.write("lines", puts("k", 264));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let words = ["batch", "--file", file.to_str().expect("UTF-8")];
    let output = world.command(&words).stdout(writer).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let keys = accepted(&world);
    assert!((1..=256).contains(&keys.len()), "{} puts", keys.len());
    world.run("verify").exits(0);
}

#[test]
fn two_batches_take_turns() {
    let world = World::with_fake();
    let run = |prefix: &str| world.run_with("batch", puts(prefix, 60).as_bytes()).exits(0);
    let (one, two) = std::thread::scope(|scope| {
        let two = scope.spawn(|| run("b"));
        (run("a"), two.join().expect("it ends"))
    });
    assert_eq!((answers(&one).len(), answers(&two).len()), (60, 60));
    let keys = accepted(&world);
    assert_eq!(keys.len(), 120);
    for prefix in ["a", "b"] {
        let own: Vec<&String> = keys.iter().filter(|key| key.starts_with(prefix)).collect();
        assert!(own.iter().map(|key| key[1..].parse::<u32>().expect("a number")).is_sorted());
    }
    world.run("verify").exits(0);
}
