//! Durable before effect, as the kernel sees it: the write that records `started` is synced before
//! the guard and the actuator are executed, and that of the result before the answer is written.

use std::path::PathBuf;
use std::process::Stdio;

use super::support::postgres::sqlite_only;
use super::support::{SCALECTL, World};

/// One system call of a trace, in the order in which they began.
#[derive(Debug)]
enum Seen {
    LedgerWrite,
    LedgerSync,
    Guard,
    Actuator,
    Answer,
}

/// `strace -y` shows the path of every descriptor, so that a line tells all.
fn seen(line: &str) -> Option<Seen> {
    // Calls are told when they begin. The thread that writes, syncs and spawns is one and the same,
    // and does one after the other, so that what begins later comes after what is over.
    let call = line.split_whitespace().nth(2)?;
    let is_sync = (call.starts_with("fsync(") || call.starts_with("fdatasync("))
        && (line.ends_with("= 0") || line.ends_with("<unfinished ...>"));
    if line.contains("ledger.db-wal>") {
        let is_write = call.starts_with("pwrite64(") || call.starts_with("write(");
        return is_write.then_some(Seen::LedgerWrite).or(is_sync.then_some(Seen::LedgerSync));
    }
    if call.starts_with("execve(") && line.contains("\"guard\"") {
        return Some(Seen::Guard);
    }
    if call.starts_with("execve(\"/bin/sh\"") && line.contains("fake.sh") {
        return Some(Seen::Actuator);
    }
    call.starts_with("write(1<").then_some(Seen::Answer)
}

/// What a trace shows. Of all that write to a stdout of their own only the first process answers.
fn all_seen(text: &str) -> Vec<Seen> {
    let pid_of = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let main = text.lines().next().and_then(pid_of);
    let is_meant = |line: &str, seen: &Seen| !matches!(seen, Seen::Answer) || pid_of(line) == main;
    text.lines().filter_map(|line| seen(line).filter(|seen| is_meant(line, seen))).collect()
}

fn trace(world: &World, line: &str) -> Vec<Seen> {
    let output: PathBuf = world.path("strace");
    let words: Vec<&str> = line.split_whitespace().collect();
    // The command is only made for its environment.
    let command = world.command(&words);
    let mut strace = std::process::Command::new("strace");
    strace
        .args(["-f", "-tt", "-y", "-v", "-s", "200"])
        .args(["-e", "trace=fsync,fdatasync,execve,pwrite64,write"])
        .arg("-o")
        .arg(&output)
        .arg("--")
        .arg(SCALECTL)
        .args(&words)
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(world.path(""))
        .stdin(Stdio::null());
    let ran = match strace.output() {
        Ok(ran) => ran,
        Err(error) => panic!("strace is needed here (apt-get install strace): {error}"),
    };
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let text = std::fs::read_to_string(&output).expect("a trace");
    assert!(!text.contains("unfinished ...") || text.contains("resumed>"), "a cut trace");
    all_seen(&text)
}

/// Whether the ledger was written in this stretch and nothing of it was left unsynced.
fn is_durable(stretch: &[Seen]) -> bool {
    let write = stretch.iter().rposition(|seen| matches!(seen, Seen::LedgerWrite));
    let sync = stretch.iter().rposition(|seen| matches!(seen, Seen::LedgerSync));
    matches!((write, sync), (Some(write), Some(sync)) if write < sync)
}

fn check(line: &str) {
    let world = World::with_fake();
    if line.contains("k1") {
        world.run("intent put web --replicas 3 --expect-revision 0 --key k1 --reason r").exits(0);
    }
    let seen = trace(&world, line);
    let at = |is: fn(&Seen) -> bool| seen.iter().position(is);
    let guard = at(|seen| matches!(seen, Seen::Guard)).expect("a guard");
    let actuator = guard
        + seen[guard..]
            .iter()
            .position(|seen| matches!(seen, Seen::Actuator))
            .expect("an actuator");
    let answer = at(|seen| matches!(seen, Seen::Answer)).expect("an answer");
    assert!(actuator < answer);
    assert!(is_durable(&seen[..guard]), "{line}: started is not durable: {seen:?}");
    let between = &seen[guard..actuator];
    assert!(!between.iter().any(|seen| matches!(seen, Seen::LedgerWrite)), "{line}: {seen:?}");
    assert!(is_durable(&seen[actuator..answer]), "{line}: the result is not durable: {seen:?}");
}

#[test]
fn started_is_synced_before_the_spawn_and_the_result_before_the_answer() {
    sqlite_only!("the server syncs, not this process");
    check("actuate k1");
    check("scale web=2 --reason r");
    // The authorization and its use are a part of what is durable before the call.
    check("scale web=2 --break-glass --incident INC-1 --yes --current-replicas 0 --reason r");
}
