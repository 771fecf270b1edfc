//! The same with the bundled `local` actuator: real processes, none started twice, none lost.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use scalectl::crash::CrashPoint;

use super::{Death, die, in_parallel, passed, told};
use crate::support::{World, processes};

const UP: &str = "scale web=4 --reason r";
const DOWN: &str = "scale web=1 --reason r";

/// A world whose replicas can be told from all others.
struct Local {
    world: World,
    marker: String,
}

impl Local {
    fn new() -> Self {
        static WORLDS: AtomicU32 = AtomicU32::new(0);
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let marker = format!("31{number:03}.{:07}", std::process::id());
        Self { world: World::with_local_running(&format!("sleep {marker}")), marker }
    }

    /// The processes that are replicas, whatever anybody has recorded.
    fn replicas(&self) -> Vec<i32> {
        processes(|line| line == ["sleep", &self.marker])
    }

    /// Does what the table of exit codes says until the count is reached, then looks for itself.
    fn converge(&self, line: &str, count: usize) {
        for _ in 0..200 {
            let ran = self.world.run(line);
            match ran.code {
                Some(0) => break,
                Some(16) => drop(self.world.run("replay --all")),
                Some(11 | 18 | 19) => {}
                _ => panic!("{ran:#?}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.world.run("replay --all").exits(0);
        assert_eq!(self.replicas().len(), count, "{:#?}", self.world.run("log"));
        let bound = self.world.json("service bind web").exits(0);
        assert_eq!(bound.at("/service/binding/replicas"), count, "local miscounts");
        let heads = self.world.run("verify").exits(0).stdout;
        self.world.run("replay --all").exits(0);
        assert_eq!(self.world.run("verify").exits(0).stdout, heads);
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        for pid in self.replicas() {
            let _ = kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL);
        }
    }
}

/// Where both lines may die: at the same points, which a rehearsal tells.
fn deaths() -> Vec<Death> {
    let mut local = Local::new();
    let trace = local.world.path("trace").to_str().expect("UTF-8").to_owned();
    local.world.set("SCALECTL_TEST_CRASH_TRACE", trace);
    local.world.run(UP).exits(0);
    let passed = passed(&local.world);
    let times = |point| passed.iter().filter(|at| **at == point).count();
    let of = |point| (1..=times(point)).map(move |nth| Death { line: 0, point, nth });
    CrashPoint::ALL.into_iter().flat_map(of).collect()
}

#[test]
fn every_point_of_local_loses_and_doubles_nothing() {
    let failed: Vec<String> = in_parallel(deaths(), |death| {
        told(&format!("{} #{}", death.point.as_str(), death.nth), || {
            let mut local = Local::new();
            // Each line dies at every point; the second one in a world that has recovered from it.
            die(&mut local.world, UP, death);
            local.converge(UP, 4);
            std::fs::remove_file(local.world.path("mark")).expect("marked");
            let _ = std::fs::remove_file(local.world.path("trace"));
            die(&mut local.world, DOWN, death);
            local.converge(DOWN, 1);
        })
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(failed.is_empty(), "{} cases failed:\n{}", failed.len(), failed.join("\n"));
}

/// What is killed when the first replicas are there and the answer is not.
#[derive(Debug, Clone, Copy)]
enum Victims {
    Parent,
    ParentAndAdapter,
    All,
}

#[test]
fn a_half_done_change_of_local_is_finished_by_the_next_attempt() {
    let cases = [Victims::Parent, Victims::ParentAndAdapter, Victims::All];
    in_parallel(cases.to_vec(), |victims| {
        let local = Local::new();
        let mut parent = local.world.start("scale web=10 --reason r --timeout 30s");
        local.world.until("a replica is there", || !local.replicas().is_empty());
        let call = local.world.call_file();
        let kill = |pid: i32| {
            let _ = kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL);
        };
        if matches!(victims, Victims::All) {
            kill(call.guard);
        }
        if !matches!(victims, Victims::Parent) {
            kill(call.group);
        }
        parent.kill().expect("it is ours");
        parent.wait().expect("it is ours");
        local.world.run("verify").exits(0);
        local.world.run("replay --all");
        local.converge("scale web=10 --reason r", 10);
        local.converge("scale web=0 --reason r", 0);
    });
}
