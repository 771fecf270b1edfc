//! What a person sees of J9: a laptop dies in the middle of a call, and other hosts find out what
//! became of it, on a ledger of a server.

use super::bind_fake;
use crate::journeys::seen::Seen;
use crate::support::{SERVICE, World};

/// A host that sees a ledger and its target, with such a name.
fn host(ledger: &World, number: u8, name: &str) -> World {
    let mut host = World::on_postgres();
    host.set("SCALECTL_TEST_HOST", format!("{number:032}"));
    host.set("SCALECTL_TEST_HOST_NAME", name);
    host.set("FAKE_ACTUATOR_DIR", ledger.fake_dir().to_str().unwrap());
    host
}

/// A person is a role of the ledger's server, too.
fn be(host: &mut World, ledger: &World, name: &str) {
    host.be(&format!("{name}:1001"));
    host.set("SCALECTL_LEDGER", ledger.address_of(name));
}

/// The instant, on the host and at the target.
fn at(seen: &mut Seen, ledger: &World, instant: &str, who: &str) {
    seen.at(instant, &format!("{who}:1001"));
    be(&mut seen.world, ledger, who);
    std::fs::write(ledger.fake_dir().join("now"), format!("{instant}\n")).unwrap();
}

#[test]
fn j9_a_laptop_dies_and_the_bastion_takes_over() {
    let mut ledger = World::on_postgres();
    ledger.still("2026-11-24T14:00:00Z");
    ledger.init_fake();
    ledger.run(&format!("{} --backoff 0s", SERVICE.replace("--quiet 0s", "--quiet 1s"))).exits(0);
    let mut laptop = host(&ledger, 1, "dev-mbp");
    laptop.still("2026-11-24T14:02:31Z");
    be(&mut laptop, &ledger, "ops");
    bind_fake(&laptop).exits(0);
    ledger.script(&["hang"]);
    laptop.run("intent put web --replicas 5 --key k1 --reason launch").exits(0);
    let mut call = laptop.start("actuate k1 --ttl 60s");
    laptop.until("the effect is there", || !ledger.fake_log("effects").is_empty());
    let processes = laptop.call_file();
    for pid in [i32::try_from(call.id()).unwrap(), processes.guard, processes.group] {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    call.wait().expect("ours");

    let mut seen = Seen::of(host(&ledger, 2, "bastion-1"));
    seen.remarks("dev-mbp started web@1 at 14:02:31Z, and is gone. On bastion-1:");
    at(&mut seen, &ledger, "2026-11-24T14:03:09Z", "ops2");
    seen.looks("status web", 0).ends_as_told("replay web@1");
    seen.remarks("From another host an end is believed 300 s after the deadline of the call.");
    at(&mut seen, &ledger, "2026-11-24T14:09:00Z", "ops2");
    seen.looks("status", 0).ends_as_told("replay web@1 --wait --timeout 20s");
    let fake = crate::support::fake_actuator();
    let bind = format!("actuator bind fake -- /bin/sh {}", fake.display());
    seen.world.run(&bind).exits(0);
    seen.remarks("The command is bound on this host, as the hint says:");
    seen.does("replay web@1 --wait --timeout 20s", 0)
        .looks("status", 0)
        .looks("explain web@1", 0)
        .looks("log web --since 2026-11-24T14:02:00Z", 0);
    assert_eq!(ledger.fake_log("effects").len(), 1, "no second call");
    seen.hold("j9");
}
