//! The children of a call: who may die, what is left then, and what each bad answer comes to.

mod answers;
mod bystanders;
mod deaths;
mod interrupts;
mod pressure;
mod recovery;
mod terminal;

use rustix::process::{Pid, Signal, kill_process};

use super::support::{World, fake_actuator};

const PUT: &str = "intent put web --replicas 3 --expect-revision 0 --key k1 --reason r";

/// A world whose fake runs a few words of shell before each `apply`.
fn world_with(prelude: &str, capabilities: &[&str], timeout: &str) -> World {
    let world = World::new();
    world.init_fake_that(capabilities);
    let script = format!(
        "read -r request\ncase $request in *'\"op\":\"apply\"'*)\n{prelude}\n;; esac\n\
         printf '%s\\n' \"$request\" | /bin/sh {}\n",
        fake_actuator().display()
    );
    let path = world.path("wrapped.sh");
    std::fs::write(&path, script).expect("ours");
    let path = path.to_str().expect("UTF-8");
    world
        .run_args(&["actuator", "put", "wrapped", "--timeout", timeout, "--", "/bin/sh", path])
        .exits(0);
    let blind = "--cluster fake --runtime sh --target-uid fake:web --target-version 1";
    let named = if capabilities.contains(&"inspect") { "" } else { blind };
    let line = "service put web --actuator wrapped --writer ops --max 10 --quiet 0s --backoff 0s \
                --drain none";
    world.run(&format!("{line} {named}")).exits(0);
    world
}

const ALL_SEEING: &[&str] = &["inspect", "lookup", "fence"];

/// Ends a process that the test has started, if it is still there.
fn kill(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).expect("a pid"), signal);
}
