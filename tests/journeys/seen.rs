//! What a person sees on the way: each journey with its lines, in a pipe, at a terminal of 80 and
//! of 120 columns, and under `NO_COLOR`, in `fixtures/journeys/`.
//!
//! A line that changes something is typed once, in a pipe. A line that only looks is typed in each
//! way, and what differs from the pipe is kept beside it.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use regex::Regex;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::people::two_persons;
use crate::support::{Ran, SCALECTL, SERVICE, World};
use crate::surface::hold_committed;
use crate::timeline::day;

/// What a line shows on a screen of so many columns, and how it ends.
fn on_screen(world: &World, args: &[&str], columns: u16) -> (String, Option<i32>) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = File::options().read(true).write(true).open(name).unwrap();
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&slave, size).unwrap();
    let mut command = world.command(args);
    command.stdout(Stdio::from(slave.try_clone().unwrap())).stderr(Stdio::from(slave));
    let mut child = command.spawn().unwrap();
    // The command holds the other end: without that the screen would never come to its end.
    drop(command);
    let mut screen = Vec::new();
    let mut piece = [0; 4096];
    let mut master = File::from(master);
    while let Ok(count @ 1..) = master.read(&mut piece) {
        screen.extend_from_slice(&piece[..count]);
    }
    let shown = String::from_utf8(screen).unwrap().replace("\r\n", "\n");
    (shown, child.wait().unwrap().code())
}

/// A transcript under way.
pub(crate) struct Seen {
    pub(crate) world: World,
    text: String,
    is_live: bool,
}

impl Seen {
    pub(crate) fn of(world: World) -> Self {
        Self { world, text: String::new(), is_live: false }
    }

    /// On clocks that go on: instants and spans are words, and columns are not aligned by them.
    fn live(world: World) -> Self {
        Self { is_live: true, ..Self::of(world) }
    }

    /// A text without what differs from run to run.
    fn told(&self, text: &str) -> String {
        let home = self.world.path("").to_string_lossy().trim_end_matches('/').to_owned();
        let mut text = text.replace(&home, "~").replace(SCALECTL, "scalectl");
        for (pattern, to) in [
            (r"\b(led|cmd|web|worker|search)-[0-9a-f]{32}\b", "$1-…"),
            (r"\blocal:[0-9a-f]{32}\b", "local:…"),
            (r"\b[0-9a-f]{64}\b", "…"),
            (r"pid \d+", "pid …"),
            (r"postgres://[^\s,]+", "postgres://…"),
        ] {
            text = Regex::new(pattern).unwrap().replace_all(&text, to).into_owned();
        }
        let live = [
            (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>"),
            (r"\b(\d+m)?\d+(\.\d+)?m?s\b", "<span>"),
            (r"(\S)   +", "$1  "),
        ];
        for (pattern, to) in live.into_iter().filter(|_| self.is_live) {
            text = Regex::new(pattern).unwrap().replace_all(&text, to).into_owned();
        }
        text
    }

    /// A line that changes something.
    pub(crate) fn does(&mut self, line: &str, code: i32) -> &mut Self {
        let ran = self.runs(line).exits(code);
        self.shows(line, &ran)
    }

    /// The same; the transcript alone says how it ends.
    pub(crate) fn ends_as_told(&mut self, line: &str) -> &mut Self {
        let ran = self.runs(line);
        self.shows(line, &ran)
    }

    fn runs(&self, line: &str) -> Ran {
        let words = words(line);
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        self.world.run_args(&args)
    }

    fn shows(&mut self, line: &str, ran: &Ran) -> &mut Self {
        let (stderr, stdout) = (self.told(&ran.stderr), self.told(&ran.stdout));
        let marked: Vec<String> = stderr.lines().map(|line| ["! ", line, "\n"].concat()).collect();
        let end = ran.code.map_or_else(|| "by a signal".to_owned(), |code| code.to_string());
        let parts = ["$ scalectl ", line, "\n", &marked.concat(), &stdout, "[exit ", &end, "]\n\n"];
        self.text.extend(parts);
        self
    }

    /// A line of another program, and what it printed.
    pub(crate) fn typed(&mut self, line: &str, printed: &str) -> &mut Self {
        let printed = self.told(printed);
        self.text.extend(["$ ", line, "\n", &printed, "[exit 0]\n\n"]);
        self
    }

    /// A line of the one who tells it.
    pub(crate) fn remarks(&mut self, text: &str) -> &mut Self {
        self.text.extend(["# ", text, "\n\n"]);
        self
    }

    /// A line that only looks.
    pub(crate) fn looks(&mut self, line: &str, code: i32) -> &mut Self {
        self.looks_after(line, code, None)
    }

    /// The same, where another line makes it as it was before each look.
    fn looks_after(&mut self, line: &str, code: i32, before: Option<&str>) -> &mut Self {
        self.does(line, code);
        let words = words(line);
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let colours = Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
        let made_ready =
            |world: &World| before.into_iter().for_each(|it| drop(world.run(it).exits(0)));
        made_ready(&self.world);
        let piped = self.world.run_args(&args);
        assert!(!colours.is_match(&piped.stdout) && !colours.is_match(&piped.stderr), "{piped:#?}");
        self.world.set("TERM", "xterm");
        let mut shown_before = String::new();
        for columns in [120, 80] {
            made_ready(&self.world);
            let (coloured, ended) = on_screen(&self.world, &args, columns);
            assert_eq!(ended, Some(code), "{coloured}");
            self.world.set("NO_COLOR", "1");
            made_ready(&self.world);
            let (plain, _) = on_screen(&self.world, &args, columns);
            self.world.unset("NO_COLOR");
            assert!(!colours.is_match(&plain), "NO_COLOR has colour: {plain:?}");
            // A colour only repeats what a word says.
            let bare = colours.replace_all(&coloured, "").into_owned();
            assert_eq!(self.told(&bare), self.told(&plain), "{line}");
            let shown = self.told(&plain);
            let in_pipe = self.told(&(piped.stdout.clone() + &piped.stderr));
            let is_told = |text: &str| {
                let mut lines: Vec<&str> = text.lines().collect();
                lines.sort_unstable();
                let mut others: Vec<&str> = shown.lines().collect();
                others.sort_unstable();
                lines == others
            };
            if !is_told(&in_pipe) && shown != shown_before {
                self.text.extend([&format!("at {columns} columns:\n"), &shown, "\n"]);
            }
            shown_before = shown;
        }
        self.world.set("TERM", "dumb");
        self
    }

    pub(crate) fn at(&mut self, instant: &str, who: &str) -> &mut Self {
        self.world.still(instant);
        self.world.be(who);
        self
    }

    pub(crate) fn hold(&self, name: &str) {
        hold_committed(&format!("fixtures/journeys/{name}.txt"), &self.text);
    }
}

/// The words of a line; what stands between quotes is one.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('"').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// A world on a file, because the address of a server is another one in every run.
fn world() -> World {
    let mut world = World::on_sqlite();
    world.set("SCALECTL_TEST_HOST_NAME", "bastion-1");
    world.still("2026-11-24T10:00:00Z");
    world.be("sre:1001");
    world.init_fake();
    world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
    world
}

#[test]
fn j1_the_first_five_minutes() {
    let mut world = World::on_sqlite();
    world.be("sre:1001");
    world.set("SCALECTL_TEST_HOST_NAME", "laptop");
    world.set("SCALECTL_LEDGER", "postgres://nobody@127.0.0.1:9/prod");
    let mut seen = Seen::live(world);
    seen.looks_after("quickstart", 0, Some("quickstart --remove"));
    // The way on, as its last lines say it.
    let ledger = seen.world.path("scalectl-quickstart/ledger.db");
    seen.world.set("SCALECTL_LEDGER", ledger.to_str().unwrap());
    seen.looks("status", 0)
        .looks("explain web", 0)
        .does("scale web=2 --reason less --key less", 0)
        .looks("log web --event intent_accepted", 0)
        .does("quickstart --remove", 0);
    seen.hold("j1");
}

#[test]
fn j2_and_j3_a_step_of_a_script_and_the_same_again() {
    let mut seen = Seen::of(world());
    seen.does("scale web=5 --key release-418-web-up --reason \"release 418\"", 0)
        .does("scale web=5 --key release-418-web-up --reason \"release 418\"", 0)
        .does("scale web=5 --key release-418-web-up --reason \"release 419\"", 10)
        .does("scale web=0 --key mig-42-down --reason \"migration 42\"", 0)
        .at("2026-11-24T10:05:40Z", "oncall:1004")
        .does("scale web=3 --reason \"bring web back\" --key back", 0)
        .at("2026-11-24T10:20:00Z", "sre:1001")
        .does("scale web=0 --key mig-42-down --reason \"migration 42\"", 23)
        .looks("explain mig-42-down", 0)
        .looks("status", 0);
    seen.hold("j2-j3");
}

#[test]
fn j4_a_gate_before_a_deploy() {
    let mut seen = Seen::of(world());
    seen.does("scale web=5 --key k1 --reason launch", 0).looks("gate web=5 --ready --reviewed", 0);
    std::fs::write(seen.world.fake_dir().join("ready"), "3\n").unwrap();
    seen.at("2026-11-24T10:10:00Z", "sre:1001");
    seen.looks("gate web=5 --ready", 19).looks("gate web=4", 10).looks("status web", 0);
    seen.hold("j4");
}

#[test]
fn j5_a_shrink_with_a_colleague() {
    let mut seen = Seen::of(two_persons({
        let mut world = World::on_sqlite();
        world.set("SCALECTL_TEST_HOST_NAME", "bastion-1");
        world.still("2026-11-24T14:00:00Z");
        world
    }));
    seen.at("2026-11-24T14:02:00Z", "ci:1001")
        .does("scale web=2 --key night --reason \"nightly shrink\"", 13)
        .looks("status", 0)
        .at("2026-11-24T14:10:00Z", "ops2:1002")
        .looks("approval show night", 0)
        .looks("approval list", 0)
        .does("approval grant night --reason \"quiet night\"", 0)
        .at("2026-11-24T14:12:00Z", "ci:1001")
        .does("scale web=2 --key night --reason \"nightly shrink\"", 0)
        .looks("explain night", 0);
    seen.hold("j5");
}

#[test]
fn j6_broken_glass_at_three() {
    let mut seen = Seen::of(world());
    seen.does("scale web=5 --key day --reason day", 0);
    let rules = "@id(\"ops-up-to-6\") permit(principal, action, resource);\n@id(\"not-above-6\") \
                 forbid(principal, action == Action::\"scale_up\", resource) when { \
                 context.desired > 6 };";
    seen.world.write("night.cedar", rules);
    seen.does("policy put night.cedar --reason night", 0)
        .at("2026-11-24T03:00:00Z", "oncall:1004")
        .at("2026-11-25T03:00:00Z", "oncall:1004")
        .does("scale web=8 --reason \"queue is backing up\"", 12)
        .does("scale web=20 --break-glass --incident INC-4711 --reason \"queue is backing up\"", 2)
        .does("scale web=8 --break-glass --incident INC-4711 --reason \"queue is backing up\"", 2)
        .does(
            "scale web=8 --break-glass --incident INC-4711 --reason \"queue is backing up\" --yes \
             --current-replicas 5 --key INC-4711/web",
            0,
        )
        .looks("status", 0)
        .looks("break-glass list --check", 26)
        .looks("log --break-glass", 0);
    seen.hold("j6");
}

#[test]
fn j7_nobody_knows_what_became_of_it() {
    let mut seen = Seen::of(world());
    seen.does("scale web=6 --key up --reason load", 0);
    seen.world.script(&["ok", "unknown"]);
    seen.does("intent put web --replicas 2 --key shrink-7 --reason \"after batch\"", 0)
        .does("actuate shrink-7", 16)
        .at("2026-11-24T10:12:00Z", "sre:1001")
        .looks("status", 0)
        .looks("explain shrink-7", 0)
        .does("scale web=4 --reason more --key other", 11)
        .does("replay shrink-7 --wait --timeout 20s", 0)
        .looks("status", 0);
    seen.hold("j7");
}

#[test]
fn j10_who_scaled_what_and_why() {
    let mut seen = Seen::of(day());
    seen.looks("log web --on 2026-11-24", 0)
        .looks("log web --on 2026-11-24 --event intent_accepted,refused --zone Europe/Berlin", 0)
        .looks("log web --on 2026-11-24 --actor sre --ref CHG-88", 0)
        .looks("log --outcome unknown", 0)
        .looks("log web --since 2026-11-24T16:00:00Z --until 2026-11-24T18:00:00Z --no-refused", 0)
        .looks("timeline web --on 2026-11-24", 0);
    seen.hold("j10");
}
