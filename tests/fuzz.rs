//! Every reader of texts that another program wrote, given texts that are almost right.
//!
//! The bounded driver: the same seed makes the same cases. `SCALECTL_FUZZ_CASES=N` asks for more
//! of each target, `SCALECTL_FUZZ_SEED=N` for others. The coverage-guided driver is in `fuzz/`.

mod corpus;
mod damage;
mod ledgers;
pub(crate) mod mutate;
mod readers;
mod seeds;
#[expect(unreachable_pub, reason = "the coverage-guided driver includes it as a module of its own")]
mod targets;

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use mutate::{Random, mutated};
use targets::{ALL, Target, named};

const SEED: u64 = 20_261_129;
/// Of each target, unless told otherwise; fewer where one case takes milliseconds.
const CASES: usize = 1500;
const SLOW: [(&str, usize); 12] = [
    ("policy", 60),
    ("stored_policy", 100),
    ("actuators_toml", 300),
    ("local_state", 300),
    ("fold", 300),
    ("local_slot", 300),
    ("server_address", 600),
    ("service_file", 600),
    ("password_file", 600),
    ("certificates", 300),
    ("batch_lines", 600),
    ("shown", 600),
];

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

fn cases_of(target: &str) -> usize {
    let asked = number("SCALECTL_FUZZ_CASES").map(|cases| usize::try_from(cases).expect("fewer"));
    let usual = SLOW.iter().find(|(name, _)| *name == target).map_or(CASES, |(_, cases)| *cases);
    asked.unwrap_or(usual)
}

/// Whether the target takes it; what it says where a property does not hold.
fn run(target: Target, data: &[u8]) -> Result<bool, String> {
    catch_unwind(|| target(data)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("a panic without words").to_owned()
    })
}

/// The shortest part of a failing text that still fails.
fn shrunk(target: Target, mut data: Vec<u8>) -> Vec<u8> {
    let mut length = data.len() / 2;
    let mut tries = 400;
    while length > 0 && tries > 0 {
        let mut at = 0;
        while at < data.len() && tries > 0 {
            let end = (at + length).min(data.len());
            let shorter = [&data[..at], &data[end..]].concat();
            tries -= 1;
            if run(target, &shorter).is_err() {
                data = shorter;
            } else {
                at = end;
            }
        }
        length /= 2;
    }
    data
}

fn hold(name: &str, target: Target) -> Result<(), String> {
    let seed = number("SCALECTL_FUZZ_SEED").unwrap_or(SEED);
    let corpus = corpus::of(name);
    assert!(!corpus.is_empty(), "{name} begins with nothing");
    let mut random = Random::new(seed, name);
    let cases = cases_of(name);
    let (mut taken, mut refused) = (0, 0);
    let known = corpus.iter().cloned().chain(corpus::nuisances());
    let made = std::iter::repeat_with(|| mutated(&mut random, &corpus)).take(cases);
    for data in known.chain(made) {
        match run(target, &data) {
            Ok(true) => taken += 1,
            Ok(false) => refused += 1,
            Err(problem) => {
                let least = shrunk(target, data);
                let least = least.escape_ascii();
                return Err(format!("{name}, SCALECTL_FUZZ_SEED={seed}: {problem}\nby {least}"));
            }
        }
    }
    #[expect(clippy::print_stdout, reason = "a run says its seed")]
    {
        println!("{name}: {taken} taken, {refused} refused, seed {seed}");
    }
    // The mutations must reach behind the first door, and must not all pass it.
    if taken * 100 < cases || refused * 50 < cases {
        return Err(format!("{name}: {taken} taken and {refused} refused show too little"));
    }
    Ok(())
}

/// One test for each group of targets, so that they run beside each other.
fn hold_all(names: impl Fn(&str) -> bool) {
    let mine = ALL.into_iter().filter(|(name, _)| names(name));
    let wrong: Vec<String> = mine.filter_map(|(name, target)| hold(name, target).err()).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn documents_and_requests_keep_their_properties() {
    hold_all(|name| ["strict_json", "intent_record", "actuator_request"].contains(&name));
}

#[test]
fn answers_of_actuators_keep_their_properties() {
    hold_all(|name| name.starts_with("answer_"));
}

#[test]
fn what_a_ledger_keeps_as_text_keeps_its_properties() {
    hold_all(|name| ["events", "fold", "policy", "stored_policy"].contains(&name));
}

#[test]
fn files_of_this_host_and_short_texts_keep_their_properties() {
    let names = [
        "texts",
        "selector",
        "allowed_signers",
        "actuators_toml",
        "call_file",
        "local_state",
        "local_slot",
        "config_toml",
    ];
    hold_all(|name| names.contains(&name));
}

#[test]
fn what_the_kernel_and_the_system_tell_keeps_its_properties() {
    let names =
        ["proc_stat", "proc_locks", "passwd", "group", "mountinfo", "proc_status", "machine_id"];
    hold_all(|name| names.contains(&name));
}

#[test]
fn addresses_and_the_files_that_they_name_keep_their_properties() {
    hold_all(|name| {
        ["server_address", "service_file", "password_file", "certificates"].contains(&name)
    });
}

#[test]
fn streams_and_command_lines_keep_their_properties() {
    hold_all(|name| ["batch_lines", "exec_output", "exec_template", "shown"].contains(&name));
}

#[test]
fn what_a_tick_is_told_keeps_its_properties() {
    let names = [
        "registration_document",
        "signals_document",
        "health_document",
        "prometheus_answer",
        "prometheus_address",
    ];
    hold_all(|name| names.contains(&name));
}

#[test]
fn what_a_cluster_says_keeps_its_properties() {
    let names = ["kubectl_object", "kubectl_list", "kubectl_autoscalers", "kubectl_fence"];
    hold_all(|name| names.contains(&name));
}

#[test]
fn the_documents_of_a_gateway_keep_their_properties() {
    hold_all(|name| ["gateway_operation", "gateway_journal"].contains(&name));
}

#[test]
fn what_a_relocator_is_asked_and_says_keeps_its_properties() {
    hold_all(|name| ["relocator_request", "relocator_answer"].contains(&name));
}

#[test]
fn what_an_engine_of_docker_says_keeps_its_properties() {
    let names = ["docker_answer", "docker_service", "docker_facts", "docker_applied"];
    hold_all(|name| names.contains(&name));
}

#[test]
fn every_target_is_held_by_a_test_and_has_a_coverage_guided_run() {
    let source = include_str!("fuzz.rs");
    for (name, target) in ALL {
        let is_held = name.starts_with("answer_")
            || source.contains(&format!("\"{name}\","))
            || source.contains(&format!("\"{name}\"]"));
        assert!(is_held, "no test holds {name}");
        // The coverage-guided driver finds it by its name.
        assert!(std::ptr::fn_addr_eq(named(name), target), "another target is called {name}");
    }
    let driver = include_str!("../fuzz/target.rs");
    assert!(driver.contains("targets::named(&name)"), "the driver takes a target by its name");
}

/// A property that does not hold is told with the seed and the shortest text.
#[test]
fn a_broken_property_is_told_and_shrunk() {
    fn broken(data: &[u8]) -> bool {
        assert!(!data.windows(2).any(|pair| pair == b"20"), "it says 20");
        data.len().is_multiple_of(2)
    }
    let told = hold("texts", broken).expect_err("an instant says 20");
    assert!(told.contains(&format!("SCALECTL_FUZZ_SEED={SEED}: it says 20\nby 20")), "{told}");
    assert_eq!(shrunk(broken, b"in 2026 or so".to_vec()), b"20");
}

fn seeds_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(name)
}

/// Writes what the coverage-guided run begins with.
#[test]
#[ignore = "writes fuzz/seeds"]
fn seeds_are_written_for_the_coverage_guided_run() {
    for (name, _) in ALL {
        let folder = seeds_of(name);
        let _there_or_not = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("made");
        for (index, row) in corpus::of(name).iter().enumerate() {
            std::fs::write(folder.join(format!("{index:03}")), row).expect("written");
        }
    }
}

/// A target without seeds would begin with nothing, and one with others than these with what
/// nobody holds.
#[test]
fn the_coverage_guided_run_begins_with_what_is_held_here() {
    let mut other = Vec::new();
    for (name, _) in ALL {
        let entries = std::fs::read_dir(seeds_of(name)).into_iter().flatten();
        let files = entries.map(|entry| std::fs::read(entry.expect("an entry").path()));
        let mut found: Vec<Vec<u8>> = files.map(|file| file.expect("a seed")).collect();
        found.sort();
        if found.is_empty() || found != corpus::of(name) {
            other.push(name);
        }
    }
    let folders = std::fs::read_dir(seeds_of("")).expect("the seeds");
    let folders = folders.map(|entry| entry.expect("an entry").file_name());
    let gone = folders.filter(|it| !ALL.iter().any(|(name, _)| *it == **name)).count();
    let writer = "fuzz::seeds_are_written_for_the_coverage_guided_run";
    assert!(other.is_empty() && gone == 0, "{other:?}, {gone} of no target: run {writer}");
}
