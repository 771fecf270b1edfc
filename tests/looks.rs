//! Lines that look at what is there now, or again and again: `status --live`, `status --watch` and
//! `log --follow`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdout};

use rustix::process::Signal;

use crate::support::postgres::sqlite_only;
use crate::support::terminal::Terminal;
use crate::support::{SERVICE, World, send};

/// A line that goes on, with what it prints.
struct Looking {
    child: Child,
    printed: BufReader<ChildStdout>,
}

impl Looking {
    fn start(world: &World, line: &str) -> Self {
        let mut child = world.start(line);
        let printed = BufReader::new(child.stdout.take().unwrap());
        Self { child, printed }
    }

    /// Reads on until a line has a text.
    #[track_caller]
    fn until(&mut self, text: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let count = self.printed.read_line(&mut line).unwrap();
            all.push_str(&line);
            if count == 0 {
                let mut said = String::new();
                self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                panic!("it ended without {text:?}: {all}{said}");
            }
            if line.contains(text) {
                return all;
            }
        }
    }

    /// Nobody reads any more: it ends soon, and well.
    fn left_alone(mut self) {
        drop(self.printed);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }

    /// Ctrl-C ends it, as it does any line that only looks.
    fn interrupted(mut self) {
        send(&self.child, Signal::INT);
        assert_eq!(self.child.wait().unwrap().signal(), Some(Signal::INT.as_raw()));
    }

    /// It ends by itself: the exit, and what it said.
    fn ends(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

/// `web` at 5.
fn at_five() -> World {
    let world = World::with_fake();
    world.run("scale web=5 --key k1 --reason r").exits(0);
    world
}

fn scale(world: &World, count: u64) {
    world.run(&format!("scale web={count} --key to-{count} --reason r")).exits(0);
}

#[test]
fn live_reads_what_is_there_now_and_records_nothing() {
    let world = at_five();
    std::fs::write(world.fake_dir().join("count"), "7\n").unwrap();
    let before = world.events();
    let read = |line: &str| world.json(line).exits(0).at("/services/0/reading/replicas");
    assert_eq!((read("status"), read("status --live")), (5.into(), 7.into()));
    let ran = world.run("status --live web").exits(0);
    assert!(ran.stdout.contains("7 !"), "the drift is told: {ran:#?}");
    assert_eq!(read("status"), 5, "and not kept");
    // Who cannot be read is as it was read last, and that is said.
    std::fs::write(world.fake_dir().join("on-inspect"), "exit 1\n").unwrap();
    let ran = world.json("status --live").exits(0);
    assert_eq!(ran.at("/services/0/reading/replicas"), 5, "{ran:#?}");
    assert!(ran.stderr.contains("warning: ") && ran.stderr.contains("web"), "{ran:#?}");
    assert_eq!(world.events(), before);
}

/// Each target waits until another one is read as well: one after the other would never come to it.
#[test]
fn live_reads_several_targets_at_once() {
    let world = at_five();
    let put = SERVICE.replace("put web", "put api");
    world.run(&format!("{put} --workload api")).exits(0);
    std::fs::write(world.fake_dir().join("count"), "7\n").unwrap();
    let meets = "echo x >>begun; met=0; tries=0; while [ $met -lt 2 ]; do met=0; while read -r \
                 x; do met=$((met + 1)); done <begun; tries=$((tries + 1)); [ $tries -lt 400 ] || \
                 exit 1; sleep 0.01; done\n";
    std::fs::write(world.fake_dir().join("on-inspect"), meets).unwrap();
    let ran = world.json("status --live").exits(0);
    for at in 0..2 {
        assert_eq!(ran.at(&format!("/services/{at}/reading/replicas")), 7, "{ran:#?}");
    }
}

#[test]
fn watch_repaints_in_the_same_place_and_leaves_the_screen_as_it_was() {
    let mut world = at_five();
    world.set("TERM", "xterm");
    let line = "status --watch --every 100ms";
    let mut terminal = Terminal::of_size(&world, None, line, (24, 80));
    let mut shown = terminal.await_text("-        5     5    5/5");
    scale(&world, 7);
    shown += &terminal.await_text("-        7     7    7/7");
    terminal.press(3);
    shown += &terminal.rest();
    assert_eq!(terminal.code(), None, "ended by the signal, as any line that only looks");
    assert_eq!(shown.matches("\u{1b}[2J").count(), 1, "cleared once: {shown:?}");
    assert!(shown.matches("\u{1b}[H").count() >= 2, "then painted over: {shown:?}");
    // No cursor is hidden, no other screen shown, no colour left: the prompt comes below.
    assert!(!shown.contains("\u{1b}[?"), "{shown:?}");
    assert!(shown.trim_end_matches("^C").ends_with("\u{1b}[J"), "{shown:?}");
}

#[test]
fn watch_shows_as_much_as_a_small_screen_has_room_for() {
    let mut world = at_five();
    for number in 0..6 {
        let put = SERVICE.replace("put web", &format!("put more-{number}"));
        world.run(&format!("{put} --workload more-{number}")).exits(0);
    }
    world.set("TERM", "xterm");
    let terminal = Terminal::of_size(&world, None, "status --watch --every 100ms", (8, 40));
    let shown = terminal.await_text("more lines");
    let first = shown.split("\u{1b}[J").next().unwrap();
    let lines: Vec<&str> = first.split("\u{1b}[K\r\n").collect();
    assert!(lines.len() <= 8, "{lines:#?}");
    for line in lines {
        let line = line.replace("\u{1b}[2J\u{1b}[H", "");
        assert!(line.chars().count() <= 40, "{line:?}");
    }
    // Where the cursor cannot be moved, one stands below the other.
    world.set("TERM", "dumb");
    let terminal = Terminal::of_size(&world, None, "status --watch --every 100ms", (24, 120));
    let mut shown = terminal.await_text("SERVICE");
    shown += &terminal.await_text("SERVICE");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn watch_in_a_pipe_is_a_line_for_each_look() {
    let world = at_five();
    let line = "-o ndjson status --watch --every 100ms";
    let mut looking = Looking::start(&world, line);
    looking.until("\"desired_replicas\":5");
    scale(&world, 7);
    let last = looking.until("\"replicas\":7,\"ready_replicas\":7");
    let last: serde_json::Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!(last["services"][0]["desired_replicas"], 7, "a whole document is a line: {last}");
    looking.left_alone();
    let mut looking = Looking::start(&world, line);
    looking.until("\"desired_replicas\":7");
    looking.interrupted();
}

#[test]
fn follow_shows_what_comes_and_nothing_else() {
    let world = at_five();
    let line = "-o ndjson log web --follow --event intent_accepted";
    let mut looking = Looking::start(&world, line);
    looking.until("\"execution_key\":\"k1\"");
    world.run("policy put all.cedar --reason again").exits(0);
    scale(&world, 7);
    let more = looking.until("\"execution_key\":\"to-7\"");
    assert_eq!(more.lines().count(), 1, "only what is asked for: {more}");
    looking.interrupted();
    // A reader that goes away ends it, although nothing comes any more.
    let mut looking = Looking::start(&world, "log --follow");
    looking.until("intent_accepted");
    looking.left_alone();
}

#[test]
fn a_long_look_goes_on_in_the_ledger_that_was_restored() {
    sqlite_only!("a restore into a file");
    let world = at_five();
    world.run("backup --to b.db").exits(0);
    let mut followed = Looking::start(&world, "log --follow");
    let mut watched = Looking::start(&world, "-o ndjson status --watch --every 100ms");
    scale(&world, 7);
    followed.until("\"r\"");
    followed.until("observation_recorded");
    watched.until("\"desired_replicas\":7");
    world.run("restore --from b.db --reason lost --replace").exits(0);
    followed.until("ledger_restored");
    watched.until("\"desired_replicas\":5");
    world.write("more.cedar", "@id(\"more\") permit(principal, action, resource);");
    world.run("policy put more.cedar --reason after").exits(0);
    followed.until("policy_set");
    watched.left_alone();
    send(&followed.child, Signal::INT);
    let mut said = String::new();
    followed.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("another history by now, incarnation 2"), "{said}");
    followed.child.wait().unwrap();
}

#[test]
fn a_long_look_ends_with_the_word_for_what_became_of_its_ledger() {
    sqlite_only!("a file that is damaged");
    for (damage, word) in
        [("", "ledger_missing"), ("no ledger at all, but a text\n", "ledger_foreign")]
    {
        let world = at_five();
        let mut looking = Looking::start(&world, "log --follow");
        looking.until("observation_recorded");
        for ending in ["", "-wal", "-shm"] {
            let _there_or_not =
                std::fs::remove_file(format!("{}{ending}", world.ledger().display()));
        }
        if !damage.is_empty() {
            std::fs::write(world.ledger(), damage.repeat(300)).unwrap();
        }
        let (code, said) = looking.ends();
        assert_eq!(code, Some(21), "{said}");
        assert!(said.contains(&format!("error[{word}")), "{said}");
    }
}
