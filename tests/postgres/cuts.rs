//! The connection is cut at the boundary of a message, wherever that is in a scenario: every answer
//! is true, and the same line again, or the one that the answer names, ends it well.

use std::time::{Duration, Instant};

use super::proxy::{Fault, Plan, Proxy, Seen, Side};
use super::{bind_fake, with_fake};
use crate::crash::in_parallel;
use crate::support::postgres::Cluster;
use crate::support::{Ran, World};

/// How many cuts each step of the scenario takes besides those around its COMMITs.
const CUTS_OF_A_STEP: usize = 8;

/// Whether the newest wish has come to a success: `k2` is what `scale` makes, `k1` what a replay
/// finds.
const SUCCEEDED: &str = "SELECT state IN ('succeeded', 'observed', 'verified') FROM execution
    ORDER BY execution_key DESC LIMIT 1";

const PUT: &str = "intent put web --replicas 3 --key k1 --reason r";

/// The steps: what makes the world before, and the line.
fn steps() -> Vec<(World, &'static str)> {
    let bare = World::on_postgres();
    let made = World::on_postgres();
    made.init_fake();
    let put = with_fake();
    put.run(PUT).exits(0);
    let pending = put.copy();
    pending.script(&["unknown"]);
    pending.run("actuate k1").exits(16);
    let succeeded = put.copy();
    succeeded.run("actuate k1").exits(0);
    vec![
        (bare, "init"),
        (made, crate::support::SERVICE),
        (with_fake(), PUT),
        (with_fake(), "scale web=4 --key k2 --reason r --timeout 20s"),
        (put, "actuate k1"),
        (succeeded, "observe k1"),
        (pending, "replay k1"),
    ]
}

/// Runs a line in a copy of a world, through a proxy.
fn through(world: &World, line: &str, plan: Option<Plan>) -> (World, Proxy, Ran) {
    let mut copy = world.copy();
    let proxy = Proxy::start(&Cluster::shared().socket(), plan);
    let direct = copy.schema().address();
    copy.set("SCALECTL_LEDGER", proxy.address(copy.schema().name()));
    copy.set("SCALECTL_TEST_STATEMENT_TIMEOUT_MS", "1000");
    let ran = copy.json(&format!("--lock-timeout 1s {line}"));
    copy.unset("SCALECTL_TEST_STATEMENT_TIMEOUT_MS");
    copy.set("SCALECTL_LEDGER", direct);
    (copy, proxy, ran)
}

pub(super) fn events(world: &World) -> usize {
    let name = world.schema().name();
    let sql = format!(
        "SELECT to_regclass('{name}.event') IS NOT NULL AS is_there \\gset
         \\if :is_there
         SELECT count(*) FROM event;
         \\else
         SELECT 0;
         \\endif"
    );
    world.sql(&sql).parse().unwrap()
}

/// What is untrue in an answer; nothing if all is as it says.
pub(super) fn untrue(before: usize, whole: usize, world: &World, ran: &Ran) -> Option<String> {
    let (there, effects) = (events(world), world.fake_log("effects").len());
    let (recorded, applied) = (ran.at("/recorded"), ran.at("/applied"));
    let is_true = match (recorded.as_str(), ran.code) {
        (Some("no"), _) => there == before,
        (Some("yes"), Some(0)) => there == whole,
        (Some("yes"), _) => there > before,
        (Some("unknown"), Some(16)) => true,
        _ => false,
    };
    // 19 is only said by who was to see it through, or has found it out: the success is recorded,
    // and what would have confirmed it, or shown the confirmation, was cut.
    let said = if ran.line.contains(" replay ") { "no" } else { "yes" };
    let is_not_yet = ran.code == Some(19)
        && [" scale ", " replay "].iter().any(|verb| ran.line.contains(verb))
        && (recorded.as_str(), applied.as_str()) == (Some("yes"), Some(said))
        && world.sql(SUCCEEDED) == "t";
    let known = is_not_yet || [0, 10, 11, 16, 20, 21].map(Some).contains(&ran.code);
    // These look at a call that was made before.
    let looks_back = ["observe", "replay"].iter().any(|word| ran.line.contains(word));
    let is_done = match applied.as_str() {
        Some("no") => effects == usize::from(looks_back),
        Some("yes") => effects == 1,
        _ => true,
    };
    if is_true && known && is_done {
        return None;
    }
    Some(format!("{before} to {there} of {whole} events, {effects} effects: {ran:#?}"))
}

/// The same line, and whatever ends it, bring it to where it would have been.
fn converges(world: &World, line: &str) -> Option<String> {
    if line == "init" {
        let again = world.run("init");
        let is_there = again.code == Some(0) || again.code == Some(10);
        return (!is_there).then(|| format!("{again:#?}"));
    }
    let mut ran = world.run(line);
    for _ in 0..3 {
        if ran.code == Some(0) {
            break;
        }
        world.run("replay --all");
        ran = world.run(line);
    }
    let sound = world.run("verify");
    let effects = world.fake_log("effects").len();
    if ran.code == Some(0) && sound.code == Some(0) && effects <= 1 {
        return None;
    }
    Some(format!("it did not converge, {effects} effects: {ran:#?} {sound:#?}"))
}

/// Which messages between COMMITs are cut, where a run says it: `all`, or `K/N` for the K-th of N
/// shares, counted from 0; a whole sweep is made of runs that each end.
fn share() -> Option<(usize, usize)> {
    let word = std::env::var("SCALECTL_TEST_CUTS").ok()?;
    if word == "all" {
        return Some((0, 1));
    }
    let (which, of) = word.split_once('/').expect("SCALECTL_TEST_CUTS is all, or K/N");
    let number = |text: &str| text.parse::<usize>().expect("SCALECTL_TEST_CUTS has numbers");
    let (which, of) = (number(which), number(of));
    assert!(which < of, "SCALECTL_TEST_CUTS={word}: the shares are counted from 0");
    Some((which, of))
}

/// The cuts of a step: around each COMMIT, and the rest evenly; all of them where the step is the
/// put, or a share of all where a run asks for it.
pub(super) fn plans(seen: &[Seen], line: &str) -> Vec<Plan> {
    let share = share().or((line == PUT).then_some((0, 1)));
    let mut plans = Vec::new();
    for side in [Side::Client, Side::Server] {
        let of_side: Vec<&Seen> = seen.iter().filter(|seen| seen.side == side).collect();
        let usual = (0, (of_side.len() * 2 / CUTS_OF_A_STEP).max(1));
        let (which, stride) = share.unwrap_or(usual);
        for (number, seen) in of_side.iter().enumerate() {
            if seen.is_commit {
                for comes_back in [true, false] {
                    plans.push(Plan { side, number, fault: Fault::Before, comes_back });
                    // Once the client has its answer, the next message is another boundary.
                    if side == Side::Client {
                        plans.push(Plan { side, number, fault: Fault::After, comes_back });
                    }
                }
            } else if number % stride == which {
                plans.push(Plan { side, number, fault: Fault::Before, comes_back: true });
            }
        }
    }
    plans
}

/// What came of one cut.
pub(super) struct Cut {
    pub(super) has_struck: bool,
    pub(super) is_unknown: bool,
    pub(super) code: Option<i32>,
    pub(super) wrong: Vec<String>,
}

/// How many cuts there were, how many were made, and what came of those.
pub(super) struct Cuts {
    pub(super) count: usize,
    pub(super) struck: usize,
    pub(super) resolved: usize,
    pub(super) unknown: usize,
}

impl Cuts {
    /// Counts them; not one may be wrong.
    #[track_caller]
    pub(super) fn of(cuts: &[Cut]) -> Self {
        let wrong: Vec<&str> = cuts.iter().flat_map(|c| &c.wrong).map(String::as_str).collect();
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cuts.len(), wrong.join("\n"));
        let count = |is: fn(&Cut) -> bool| cuts.iter().filter(|cut| is(cut)).count();
        Self {
            count: cuts.len(),
            struck: count(|cut| cut.has_struck),
            resolved: count(|cut| cut.has_struck && cut.code == Some(0)),
            unknown: count(|cut| cut.is_unknown),
        }
    }
}

#[test]
fn whatever_is_cut_the_answer_is_true_and_the_step_ends_well() {
    let mut all = Vec::new();
    for (world, line) in steps() {
        let before = events(&world);
        let (copy, proxy, ran) = through(&world, line, None);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let whole = events(&copy);
        assert!(whole > before, "{line} writes");
        let plans = plans(&proxy.seen(), line);
        assert!(plans.iter().any(|plan| !plan.comes_back), "{line}: no COMMIT was seen");
        let world = std::sync::Arc::new(world);
        all.extend(plans.into_iter().map(|plan| (world.clone(), line, before, whole, plan)));
    }
    let cuts = in_parallel(all, |(world, line, before, whole, plan)| {
        let (copy, proxy, ran) = through(&world, line, Some(plan));
        let (has_struck, code) = (proxy.has_struck(), ran.code);
        let is_unknown = code == Some(16) && ran.stdout.contains("commit_unknown");
        let wrong = untrue(before, whole, &copy, &ran).into_iter().chain(converges(&copy, line));
        let wrong = wrong.map(|why| format!("{line}, {plan:?}: {why}")).collect();
        Cut { has_struck, is_unknown, code, wrong }
    });
    let Cuts { count, struck, resolved, unknown } = Cuts::of(&cuts);
    // What a reconnection shifts may leave a number unused, and no more than that.
    assert!(struck * 10 >= count * 9, "only {struck} of {count} cuts were made");
    assert!(resolved >= 10, "a lost answer is looked into");
    assert!(unknown >= 5, "what cannot be looked into is unknown");
}

#[test]
fn a_lost_commit_is_looked_into_where_the_server_can_be_reached() {
    let world = with_fake();
    let client = first_commit(&world, PUT, Side::Client);
    let server = first_commit(&world, PUT, Side::Server);
    for (side, number, fault, comes_back, code, word, is_there) in [
        (Side::Client, client, Fault::Before, true, 20, "not_committed", false),
        (Side::Server, server, Fault::Before, true, 0, "", true),
        (Side::Client, client, Fault::Before, false, 16, "commit_unknown", false),
        (Side::Server, server, Fault::Before, false, 16, "commit_unknown", true),
    ] {
        let plan = Plan { side, number, fault, comes_back };
        let (copy, proxy, ran) = through(&world, PUT, Some(plan));
        assert!(proxy.has_struck(), "{plan:?}");
        assert_eq!(ran.code, Some(code), "{plan:?}: {ran:#?}");
        if code != 0 {
            assert_eq!(ran.at("/error/code"), word, "{plan:?}");
        }
        let found = copy.sql("SELECT count(*) FROM execution WHERE execution_key = 'k1'");
        assert_eq!(found, if is_there { "1" } else { "0" }, "{plan:?}");
        if code == 16 {
            let command = ran.at("/error/facts/command");
            let log = copy.json(&format!("log --command {}", command.as_str().unwrap())).exits(0);
            let is_told = !log.at("/events").as_array().unwrap().is_empty();
            assert_eq!(is_told, is_there, "{plan:?}");
        }
    }
}

#[test]
fn a_network_that_goes_silent_ends_in_bounded_time() {
    let world = with_fake();
    let commit = first_commit(&world, PUT, Side::Client);
    for (side, number, code) in [
        // The greeting, a question in the middle, and COMMIT.
        (Side::Server, 0, 20),
        (Side::Client, commit / 2, 20),
        (Side::Client, commit, 16),
    ] {
        let plan = Plan { side, number, fault: Fault::Silence, comes_back: false };
        let began = Instant::now();
        let (copy, proxy, ran) = through(&world, PUT, Some(plan));
        let took = began.elapsed();
        assert!(proxy.has_struck(), "{plan:?}");
        assert_eq!(ran.code, Some(code), "{plan:?}: {ran:#?}");
        // Twice the lock timeout and 1 s more; connecting once or twice; a rollback.
        assert!(took < Duration::from_secs(10), "{plan:?}: {took:?}");
        drop(proxy);
        copy.run(PUT).exits(0);
        copy.run("verify").exits(0);
    }
    bind_fake(&world).exits(0);
}

/// The number of the first COMMIT of a line among the messages of a side.
fn first_commit(world: &World, line: &str, side: Side) -> usize {
    let (_, proxy, ran) = through(world, line, None);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let seen = proxy.seen();
    let mut of_side = seen.iter().filter(|seen| seen.side == side);
    of_side.position(|seen| seen.is_commit).expect("a COMMIT")
}

/// The tables are made in the same transaction as the first event: a lost answer leaves a whole
/// ledger or none, and the answer says which, or that nobody knows.
#[test]
fn a_lost_commit_of_init_is_looked_into_as_well() {
    let world = World::on_postgres();
    let [client, server] =
        [Side::Client, Side::Server].map(|side| first_commit(&world, "init", side));
    for (side, number, comes_back, code, word, is_there) in [
        (Side::Client, client, true, 20, "not_committed", false),
        (Side::Server, server, true, 0, "", true),
        (Side::Client, client, false, 16, "commit_unknown", false),
        (Side::Server, server, false, 16, "commit_unknown", true),
    ] {
        let plan = Plan { side, number, fault: Fault::Before, comes_back };
        let (copy, proxy, ran) = through(&world, "init", Some(plan));
        assert!(proxy.has_struck(), "{plan:?}");
        assert_eq!(ran.code, Some(code), "{plan:?}: {ran:#?}");
        if code != 0 {
            assert_eq!(ran.at("/error/code"), word, "{plan:?}: {ran:#?}");
        }
        assert_eq!(events(&copy), usize::from(is_there), "{plan:?}");
        copy.run("init").exits(if is_there { 10 } else { 0 });
        copy.run("verify").exits(0);
        assert_eq!(events(&copy), 1, "{plan:?}: one ledger was made, once");
    }
}

/// Nothing is spawned before the server has answered the COMMIT of `started`.
#[test]
fn no_call_is_made_before_its_commit_is_answered() {
    let mut world = with_fake();
    world.run(PUT).exits(0);
    let trace = |world: &World| std::fs::read_to_string(world.path("trace")).unwrap_or_default();
    world.set("SCALECTL_TEST_CRASH_TRACE", "trace");
    let commit = first_commit(&world, "actuate k1", Side::Server);
    let plan =
        Plan { side: Side::Server, number: commit, fault: Fault::Silence, comes_back: false };
    let (copy, proxy, ran) = through(&world, "actuate k1", Some(plan));
    assert!(proxy.has_struck());
    assert_eq!(ran.code, Some(16), "{ran:#?}");
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("unknown".into(), "no".into()));
    let (passed, whole) = (trace(&copy), trace(&through(&world, "actuate k1", None).0));
    assert!(whole.contains("after_spawn"), "a call would be seen: {whole}");
    assert!(passed.contains("before_commit") && !passed.contains("spawn"), "{passed}");
    assert!(copy.fake_log("effects").is_empty());
    // It is there all the same: whoever looks finds a call that was never made.
    drop(proxy);
    assert_eq!(copy.sql("SELECT state FROM execution"), "started");
    copy.run("replay k1");
    copy.run("actuate k1").exits(0);
    assert_eq!(copy.fake_log("effects").len(), 1);
}
