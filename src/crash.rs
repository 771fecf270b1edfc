//! Named crash points: where a test lets the process die. A leaf; empty in a release build.
//!
//! Under the feature `testing`, `SCALECTL_TEST_CRASH=NAME#N` kills the process with SIGKILL at the
//! N-th time (from 1) that it passes the point, after the name was written to the file that
//! `SCALECTL_TEST_CRASH_MARK` names: a test must see that mark, or it has proved nothing. Where
//! `SCALECTL_TEST_CRASH_TRACE` names a file, every point that is passed is a line of it, and N
//! counts these lines: those of this process and of the guards that it starts. Without it, N counts
//! what one process passes. With `SCALECTL_TEST_CRASH_PANIC` it panics there instead.

use std::ffi::OsString;

/// A place where a test lets the process die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// Right before COMMIT of any write.
    BeforeCommit,
    /// Right after COMMIT of any write.
    AfterCommit,
    /// The call's file exists and is locked; `started` is not yet written.
    AfterCallFile,
    /// The guard is spawned.
    AfterSpawn,
    /// The guard has ended and the answer is read; the result is not yet written.
    AfterAnswer,
    /// A ledger or a copy is complete under its hidden name, and has not its own yet.
    BeforeName,
    /// It has its name, which is not yet durable.
    AfterName,
    /// In the guard: before it has named its session.
    GuardBeforeSession,
    /// In the guard: its session is named, the actuator is not yet spawned.
    GuardAfterSession,
    /// In the guard: the actuator is spawned.
    GuardAfterSpawn,
    /// In the guard: the group is empty, `ended` is not yet written.
    GuardBeforeEnded,
    /// In a relocator.
    Relocator(RelocatorPoint),
}

/// A place in an operation of a relocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocatorPoint {
    /// The route is taken away, accepted requests may still run.
    RouteAway,
    /// Sessions are revoked, which nobody says yet.
    Revoked,
    /// The fence is written and not committed.
    InFence,
    /// The rows are fenced, the files are not yet.
    AfterFence,
    /// One more file is copied.
    AfterFile,
    /// The database is exported under a hidden name.
    Exported,
    /// A copy is complete under its hidden name.
    BeforeName,
    /// The copy has its name.
    Named,
    /// A copy was read back, which nothing says yet.
    Read,
    /// The source is closed for ever.
    SourceLeft,
    /// The target lets writes in, and nobody is sent there yet.
    TargetOpen,
    /// The route is replaced.
    Routed,
    /// A copy is renamed away and not removed yet.
    Thrown,
}

impl CrashPoint {
    /// Those of a ledger's life.
    pub const OF_LIFE: [Self; 2] = [Self::BeforeName, Self::AfterName];

    /// Every point of a call; a test walks them all.
    pub const ALL: [Self; 9] = [
        Self::BeforeCommit,
        Self::AfterCommit,
        Self::AfterCallFile,
        Self::AfterSpawn,
        Self::AfterAnswer,
        Self::GuardBeforeSession,
        Self::GuardAfterSession,
        Self::GuardAfterSpawn,
        Self::GuardBeforeEnded,
    ];

    /// The name in `SCALECTL_TEST_CRASH`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeCommit => "before_commit",
            Self::AfterCommit => "after_commit",
            Self::AfterCallFile => "after_call_file",
            Self::AfterSpawn => "after_spawn",
            Self::AfterAnswer => "after_answer",
            Self::BeforeName => "before_name",
            Self::AfterName => "after_name",
            Self::GuardBeforeSession => "guard_before_session",
            Self::GuardAfterSession => "guard_after_session",
            Self::GuardAfterSpawn => "guard_after_spawn",
            Self::GuardBeforeEnded => "guard_before_ended",
            Self::Relocator(point) => point.as_str(),
        }
    }
}

impl RelocatorPoint {
    /// Those of a relocator's operations; a test walks them all.
    pub const ALL: [Self; 13] = [
        Self::RouteAway,
        Self::Revoked,
        Self::InFence,
        Self::AfterFence,
        Self::AfterFile,
        Self::Exported,
        Self::BeforeName,
        Self::Named,
        Self::Read,
        Self::SourceLeft,
        Self::TargetOpen,
        Self::Routed,
        Self::Thrown,
    ];

    /// The name in `SCALECTL_TEST_CRASH`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RouteAway => "relocator_route_away",
            Self::Revoked => "relocator_revoked",
            Self::InFence => "relocator_in_fence",
            Self::AfterFence => "relocator_after_fence",
            Self::AfterFile => "relocator_after_file",
            Self::Exported => "relocator_exported",
            Self::BeforeName => "relocator_before_name",
            Self::Named => "relocator_named",
            Self::Read => "relocator_read",
            Self::SourceLeft => "relocator_source_left",
            Self::TargetOpen => "relocator_target_open",
            Self::Routed => "relocator_routed",
            Self::Thrown => "relocator_thrown",
        }
    }
}

/// What a guard must know to die as well, or to meet the same disk, and nobody else.
#[cfg(feature = "testing")]
pub const VARIABLES: [&str; 5] = [
    "SCALECTL_TEST_CRASH",
    "SCALECTL_TEST_CRASH_MARK",
    "SCALECTL_TEST_CRASH_TRACE",
    "SCALECTL_TEST_DISK",
    "LD_PRELOAD",
];

/// Nothing, in a release build.
#[cfg(not(feature = "testing"))]
pub const VARIABLES: [&str; 0] = [];

/// The orders of a test, for a guard that is about to be spawned.
#[expect(clippy::disallowed_methods, reason = "the test hook reads its own variables")]
pub fn environment() -> impl Iterator<Item = (OsString, OsString)> {
    VARIABLES.into_iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
}

/// The boot that a test says this is, so that a power cut can be followed by another one.
#[cfg(feature = "testing")]
#[expect(clippy::disallowed_methods, reason = "the test hook reads its own variables")]
pub fn boot() -> Option<String> {
    std::env::var("SCALECTL_TEST_BOOT").ok()
}

/// Nothing, in a release build.
#[cfg(not(feature = "testing"))]
pub const fn boot() -> Option<String> {
    None
}

/// Whether a test wants this program to know one schema more than it does.
#[cfg(feature = "testing")]
#[expect(clippy::disallowed_methods, reason = "the test hook reads its own variables")]
pub fn knows_another_schema() -> bool {
    std::env::var_os("SCALECTL_TEST_SCHEMA").is_some()
}

/// Never, in a release build.
#[cfg(not(feature = "testing"))]
pub const fn knows_another_schema() -> bool {
    false
}

/// The machine that a test says this is, so that several hosts can be played on one.
#[cfg(feature = "testing")]
#[expect(clippy::disallowed_methods, reason = "the test hook reads its own variables")]
pub fn machine() -> Option<String> {
    std::env::var("SCALECTL_TEST_HOST").ok()
}

/// Nothing, in a release build.
#[cfg(not(feature = "testing"))]
pub const fn machine() -> Option<String> {
    None
}

/// The name that a test says this host has, so that what shows it is the same everywhere.
#[cfg(feature = "testing")]
#[expect(clippy::disallowed_methods, reason = "the test hook reads its own variables")]
pub fn host_name() -> Option<String> {
    std::env::var("SCALECTL_TEST_HOST_NAME").ok()
}

/// None, in a release build.
#[cfg(not(feature = "testing"))]
pub const fn host_name() -> Option<String> {
    None
}

/// How many milliseconds a statement of a server may take, where a test does not want to wait for
/// long; we wait as much longer for its answer.
#[cfg(feature = "testing")]
#[expect(clippy::disallowed_methods, reason = "the test hook reads its own variables")]
pub fn statement_timeout_ms() -> Option<u64> {
    std::env::var("SCALECTL_TEST_STATEMENT_TIMEOUT_MS").ok()?.parse().ok()
}

/// Nothing, in a release build.
#[cfg(not(feature = "testing"))]
pub const fn statement_timeout_ms() -> Option<u64> {
    None
}

/// Dies here, if a test asked for it.
#[cfg(feature = "testing")]
#[expect(clippy::disallowed_methods, reason = "the test hook reads its own variables")]
pub fn hit(point: CrashPoint) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);

    let traced = std::env::var_os("SCALECTL_TEST_CRASH_TRACE").map(|path| trace(&path, point));
    let Ok(wanted) = std::env::var("SCALECTL_TEST_CRASH") else {
        return;
    };
    let (name, count) = wanted.split_once('#').unwrap_or((&wanted, "1"));
    if name != point.as_str() {
        return;
    }
    let passed = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
    if count.parse() != Ok(traced.unwrap_or(passed)) {
        return;
    }
    if let Ok(mark) = std::env::var("SCALECTL_TEST_CRASH_MARK") {
        std::fs::write(mark, point.as_str()).expect("BUG: the test's mark can be written");
    }
    assert!(
        std::env::var_os("SCALECTL_TEST_CRASH_PANIC").is_none(),
        "BUG: a test asked for it\nin two lines"
    );
    let this = rustix::process::getpid();
    // Or stops here, until somebody continues it.
    let is_stopped = std::env::var_os("SCALECTL_TEST_STOP").is_some();
    let signal =
        if is_stopped { rustix::process::Signal::STOP } else { rustix::process::Signal::KILL };
    rustix::process::kill_process(this, signal).expect("BUG: a process may kill itself");
}

/// Appends the point to the trace and answers how often it is there.
#[cfg(feature = "testing")]
fn trace(path: &std::ffi::OsStr, point: CrashPoint) -> u32 {
    use std::io::Write as _;
    let file = std::fs::File::options().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{}\n", point.as_str()).as_bytes()))
        .expect("BUG: the test's trace can be written");
    let text = std::fs::read_to_string(path).expect("BUG: the test's trace can be read");
    let passed = text.lines().filter(|line| *line == point.as_str()).count();
    u32::try_from(passed).expect("BUG: a test is short")
}

/// Nothing, in a release build.
#[cfg(not(feature = "testing"))]
pub const fn hit(_point: CrashPoint) {}

/// Whether a test asked that this COMMIT reports an error, and whether it is durable all the same:
/// `SCALECTL_TEST_COMMIT_ERROR=kept#N` or `lost#N` means the N-th of this process.
#[cfg(feature = "testing")]
#[expect(clippy::disallowed_methods, reason = "the test hook reads its own variables")]
pub fn commit_error() -> Option<bool> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COMMITS: AtomicU32 = AtomicU32::new(0);

    let wanted = std::env::var("SCALECTL_TEST_COMMIT_ERROR").ok()?;
    let (word, count) = wanted.split_once('#')?;
    let commits = COMMITS.fetch_add(1, Ordering::SeqCst) + 1;
    (count.parse() == Ok(commits)).then_some(word == "kept")
}

/// None, in a release build.
#[cfg(not(feature = "testing"))]
pub const fn commit_error() -> Option<bool> {
    None
}
