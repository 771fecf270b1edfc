//! Every place where a text comes in or is taken apart, and the target that holds it.
//!
//! A new place is a row, a place that is gone is none: the source itself is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::targets::ALL;

/// How bytes come in, and by what they are taken apart.
const WAYS: [&str; 24] = [
    "fs::read(",
    "read_to_string(",
    "read_to_end(",
    "read_settings(",
    "read_settings_text(",
    "rustix::io::read(",
    "read_line(",
    "io::copy(",
    "read_given(",
    "from_pem",
    "pem_file_iter(",
    "pem_slice_iter(",
    "load_native_certs(",
    "serde_json::from_str",
    "serde_json::from_slice",
    "Deserializer::from_str",
    "Deserializer::from_slice",
    "toml::from_str",
    "parse_strict(",
    "read_document",
    "FromStr for",
    "httparse::Response::new(",
    "parse_chunk_size(",
    ".lines()",
];

/// A file, a way, how often, and the targets of it; or `none:` and why there is no target.
type Row = (&'static str, &'static str, usize, &'static str);

const READERS: &[Row] = &[
    ("actuator/bindings.rs", ".lines()", 1, "actuators_toml"),
    ("actuator/bindings.rs", "read_settings(", 1, "actuators_toml"),
    ("actuator/bindings.rs", "toml::from_str", 1, "actuators_toml"),
    ("actuator/calls/lines.rs", "read_to_end(", 1, "call_file"),
    ("actuator/host.rs", "read_to_string(", 2, "machine_id"),
    ("actuator/locks.rs", ".lines()", 1, "proc_locks"),
    ("actuator/locks.rs", "fs::read(", 1, "none: the name of a process is only shown, escaped"),
    ("actuator/locks.rs", "read_to_string(", 1, "proc_locks"),
    ("actuator/notify.rs", "read_settings_text(", 1, "config_toml"),
    ("actuator/notify.rs", "toml::from_str", 1, "config_toml"),
    ("actuator/procfs.rs", "fs::read(", 2, "proc_stat"),
    ("actuator/protocol.rs", "parse_strict(", 1, "actuator_request"),
    ("actuator/protocol/reading.rs", "parse_strict(", 1, "answer_apply"),
    ("actuator/signals.rs", "fs::read(", 1, "proc_status"),
    (
        "actuator/signals.rs",
        "rustix::io::read(",
        1,
        "none: bytes of our own pipe, which are only counted",
    ),
    (
        "adapters/child.rs",
        "io::copy(",
        1,
        "none: what is past the bound is only counted, and forgotten",
    ),
    ("adapters/child.rs", "read_to_end(", 1, "kubectl_object, kubectl_autoscalers"),
    ("adapters/docker/discover.rs", "serde_json::from_slice", 2, "docker_facts"),
    ("adapters/docker/discover.rs", "serde_json::from_str", 1, "docker_facts"),
    ("adapters/docker/http.rs", "httparse::Response::new(", 1, "docker_answer"),
    ("adapters/docker/http.rs", "parse_chunk_size(", 1, "docker_answer"),
    ("adapters/docker/members.rs", "serde_json::from_str", 1, "docker_service"),
    ("adapters/docker/read.rs", "serde_json::from_slice", 3, "docker_facts"),
    ("adapters/docker/service.rs", "FromStr for", 1, "docker_applied"),
    ("adapters/docker/service.rs", "serde_json::from_slice", 1, "docker_service"),
    ("adapters/exec/mod.rs", "parse_strict(", 1, "exec_output"),
    ("adapters/exec/mod.rs", "read_to_end(", 1, "exec_output"),
    ("adapters/exec/template.rs", "FromStr for", 1, "exec_template"),
    ("adapters/kubectl/autoscaler.rs", "read_document", 1, "kubectl_autoscalers"),
    (
        "adapters/kubectl/client.rs",
        "read_document",
        1,
        "kubectl_object, kubectl_autoscalers, kubectl_list",
    ),
    ("adapters/kubectl/discover.rs", "read_document", 1, "kubectl_list"),
    ("adapters/kubectl/read.rs", "read_document", 1, "kubectl_object"),
    ("adapters/local/process.rs", "fs::read(", 1, "proc_stat"),
    ("adapters/local/process.rs", "read_to_string(", 1, "none: the boot id is only compared"),
    ("adapters/local/slot.rs", "read_to_end(", 1, "local_slot"),
    ("adapters/local/slot.rs", "serde_json::from_slice", 1, "local_slot"),
    ("adapters/local/state.rs", "fs::read(", 1, "local_state"),
    (
        "adapters/local/state.rs",
        "read_to_string(",
        1,
        "none: a name is believed only where its digest is that of the folder",
    ),
    ("adapters/local/state.rs", "serde_json::from_slice", 1, "local_state"),
    ("adapters/mark.rs", "FromStr for", 1, "kubectl_fence"),
    ("adapters/mod.rs", "read_to_end(", 1, "actuator_request"),
    (
        "adapters/relocator/contents.rs",
        "read_to_end(",
        1,
        "none: bytes that are copied or digested, and not read",
    ),
    (
        "adapters/relocator/copying.rs",
        "serde_json::from_slice",
        1,
        "none: our own records, and nonsense there is an answer (tests/relocator)",
    ),
    (
        "adapters/relocator/files.rs",
        "read_to_end(",
        1,
        "none: our own records, and nonsense there is an answer (tests/relocator)",
    ),
    (
        "adapters/relocator/files.rs",
        "serde_json::from_slice",
        1,
        "none: our own records, and nonsense there is an answer (tests/relocator)",
    ),
    (
        "adapters/relocator/manifest.rs",
        "serde_json::from_slice",
        1,
        "none: our own records, and nonsense there is an answer (tests/relocator)",
    ),
    ("adapters/relocator/mod.rs", "read_to_end(", 1, "relocator_request"),
    (
        "adapters/relocator/recovery.rs",
        "fs::read(",
        1,
        "none: our own records, and nonsense there is an answer (tests/relocator)",
    ),
    (
        "adapters/relocator/tree.rs",
        "read_to_end(",
        1,
        "none: bytes that are copied or digested, and not read",
    ),
    ("cli/attempt.rs", ".lines()", 1, "shown"),
    ("cli/batch/document.rs", "parse_strict(", 1, "batch_lines"),
    ("cli/batch/input.rs", "rustix::io::read(", 1, "batch_lines"),
    ("cli/chosen.rs", "read_settings_text(", 1, "config_toml"),
    ("cli/completions.rs", ".lines()", 1, "none: a script that clap makes of our own words"),
    ("cli/config.rs", "toml::from_str", 1, "config_toml"),
    ("cli/output/screen.rs", ".lines()", 1, "none: an answer of our own, as the lines of a screen"),
    ("cli/output/narrow.rs", ".lines()", 1, "none: an answer of our own, made of escaped words"),
    ("cli/timeline.rs", ".lines()", 1, "none: a table of our own, made of cells that are escaped"),
    (
        "ops/notify.rs",
        ".lines()",
        1,
        "none: what a command wrote, of which one line is shown, quoted",
    ),
    ("cli/fault.rs", ".lines()", 1, "shown"),
    ("cli/gateway.rs", "read_given(", 1, "gateway_operation, gateway_journal"),
    ("cli/gate/summary.rs", ".lines()", 1, "none: a text of our own, escaped line by line"),
    ("cli/ledger/signers.rs", ".lines()", 2, "none: a list of the ledger's own, printed"),
    ("cli/man.rs", ".lines()", 1, "none: lines of our own help"),
    ("cli/passwd.rs", "fs::read(", 2, "passwd, group"),
    (
        "cli/policy.rs",
        ".lines()",
        2,
        "none: the lines of a policy are printed, each of them escaped",
    ),
    ("cli/problem.rs", ".lines()", 4, "none: texts of our own"),
    ("cli/service/put.rs", ".lines()", 1, "none: texts of our own"),
    ("cli/record.rs", "read_document", 1, "intent_record"),
    ("cli/record.rs", "read_given(", 1, "intent_record, registration_document"),
    (
        "cli/scale/glass.rs",
        "read_line(",
        1,
        "none: what a person types at a terminal is compared with a name, and no more",
    ),
    ("cli/serve/token.rs", "read_settings(", 1, "none: a secret is only compared with another"),
    (
        "cli/unwell.rs",
        ".lines()",
        1,
        "none: the first line for people is cut short, and shown escaped",
    ),
    (
        "cli/problem/placement.rs",
        ".lines()",
        1,
        "none: what a relocator wrote is only shown, escaped",
    ),
    ("cli/verify.rs", "read_document", 1, "strict_json"),
    ("crash.rs", ".lines()", 1, "none: what a test wrote, with the feature testing only"),
    ("crash.rs", "read_to_string(", 1, "none: what a test wrote, with the feature testing only"),
    ("domain/canonical.rs", "Deserializer::from_str", 1, "strict_json"),
    ("domain/canonical.rs", "parse_strict(", 2, "strict_json"),
    ("domain/canonical.rs", "read_document", 2, "strict_json"),
    ("domain/digest.rs", "FromStr for", 1, "texts"),
    ("domain/gateway/wire.rs", "Deserializer::from_slice", 1, "gateway_operation"),
    ("domain/id.rs", "FromStr for", 1, "texts"),
    (
        "domain/scale/decide/redelivery.rs",
        "serde_json::from_str",
        1,
        "none: a wish that was typed, written by ourselves a line before",
    ),
    ("domain/measure.rs", "FromStr for", 1, "texts"),
    ("domain/placement/capacity.rs", "FromStr for", 1, "texts"),
    ("domain/placement/environment.rs", "FromStr for", 1, "texts"),
    (
        "domain/canonical/sorted.rs",
        "serde_json::from_slice",
        1,
        "none: a key that was just written, for the order of members",
    ),
    ("domain/placement/protocol.rs", "FromStr for", 1, "relocator_request"),
    ("domain/placement/protocol.rs", "parse_strict(", 1, "relocator_request"),
    ("domain/placement/protocol/answer.rs", "parse_strict(", 1, "relocator_answer"),
    ("domain/placement/request.rs", "FromStr for", 1, "texts"),
    ("domain/scale/consent.rs", "FromStr for", 1, "texts"),
    ("domain/scale/scaling/signal.rs", "FromStr for", 1, "texts"),
    ("domain/selector.rs", "FromStr for", 1, "selector"),
    ("domain/time.rs", "FromStr for", 2, "texts"),
    ("files.rs", "read_given(", 1, "none: the bounded reader itself; its callers have rows"),
    ("files.rs", "read_settings(", 2, "none: the bounded reader itself; its callers have rows"),
    (
        "files.rs",
        "read_settings_text(",
        1,
        "none: the bounded reader itself; its callers have rows",
    ),
    ("files.rs", "rustix::io::read(", 1, "none: the bounded reader itself; its callers have rows"),
    ("files.rs", "read_to_end(", 1, "none: the bounded reader itself; its callers have rows"),
    ("ledger/columns.rs", "serde_json::from_str", 1, "fold"),
    ("ledger/postgres/address/files.rs", ".lines()", 2, "service_file, password_file"),
    ("ledger/postgres/address/files.rs", "read_settings_text(", 2, "service_file, password_file"),
    ("ledger/postgres/address/tls.rs", "from_pem", 1, "certificates"),
    (
        "ledger/postgres/address/tls.rs",
        "load_native_certs(",
        1,
        "none: the system's own certificates, read by their own library",
    ),
    ("ledger/postgres/address/tls.rs", "pem_slice_iter(", 1, "certificates"),
    ("ledger/postgres/address/tls.rs", "read_settings(", 1, "certificates"),
    ("ledger/sqlite/place.rs", "fs::read(", 1, "mountinfo"),
    ("ledger/stream.rs", "FromStr for", 1, "texts"),
    ("ledger/verify/fold.rs", "serde_json::from_str", 1, "events"),
    ("ledger/verify/parse.rs", "serde_json::from_str", 2, "events"),
    ("ledger/verify/projections.rs", "serde_json::from_str", 3, "fold"),
    ("ops/actuator_check/probe.rs", "parse_strict(", 1, "answer_describe"),
    ("ops/actuator_check/probe.rs", "serde_json::from_str", 1, "none: a request of our own"),
    ("ops/actuator_put.rs", ".lines()", 1, "shown"),
    ("ops/capacity_put.rs", "FromStr for", 1, "texts"),
    ("ops/gateway_import.rs", "read_document", 1, "gateway_journal"),
    ("ops/health.rs", "read_document", 1, "health_document"),
    ("ops/health.rs", "read_given(", 1, "health_document, signals_document"),
    ("ops/ledger_signers.rs", ".lines()", 1, "allowed_signers"),
    ("ops/quickstart.rs", ".lines()", 2, "none: what this very binary printed"),
    ("ops/quickstart.rs", "serde_json::from_slice", 1, "none: what this very binary printed"),
    ("ops/relocating.rs", ".lines()", 1, "none: what a relocator wrote is only shown, escaped"),
    ("ops/session.rs", "serde_json::from_str", 1, "stored_policy"),
    ("ops/service_put/document.rs", "parse_strict(", 1, "registration_document"),
    ("ops/signals/document.rs", "read_document", 1, "signals_document"),
    ("ops/signals/prometheus.rs", "FromStr for", 1, "prometheus_address"),
    ("ops/signals/prometheus.rs", "read_document", 1, "prometheus_answer"),
    (
        "ops/signals/provider.rs",
        ".lines()",
        1,
        "none: the first line for people is cut short, and shown escaped",
    ),
    (
        "ops/ssh_keygen.rs",
        ".lines()",
        2,
        "none: names that ssh-keygen printed go back to it, and its exit is believed; its words \
         are shown",
    ),
    ("ops/stderr.rs", "fs::read(", 1, "shown"),
    (
        "ops/wait.rs",
        "read_given(",
        2,
        "none: the bounded reader until a signal comes; its callers have rows",
    ),
    ("policy/code.rs", "serde_json::from_str", 1, "stored_policy"),
    ("policy/engine.rs", "serde_json::from_str", 2, "stored_policy"),
];

/// Targets whose readers are called with a document that another one has read, or with words of a
/// command line.
const PARTS: [&str; 8] = [
    "answer_describe",
    "answer_discover",
    "answer_evidence",
    "answer_fence",
    "answer_inspect",
    "answer_lookup",
    "policy",
    "server_address",
];

/// The lines of a file that are built into the product: no comments, no imports, no tests.
fn product(text: &str) -> String {
    let (before, _) = text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((text, ""));
    let is_code = |line: &&str| !line.starts_with("//") && !line.starts_with("use ");
    before.lines().map(str::trim_start).filter(is_code).collect::<Vec<_>>().join("\n")
}

fn counted(text: &str) -> BTreeMap<&'static str, usize> {
    let code = product(text);
    let count = |way: &'static str| (way, code.matches(way).count());
    WAYS.into_iter().map(count).filter(|(_, count)| *count > 0).collect()
}

/// What the source says, by its file and the way.
fn found() -> BTreeMap<(String, &'static str), usize> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut open) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the source") {
            let path: PathBuf = entry.expect("an entry").path();
            let name = path.strip_prefix(&root).expect("below it").to_str().expect("UTF-8");
            if path.is_dir() && !name.ends_with("tests") {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !name.ends_with("tests.rs")
            {
                let text = std::fs::read_to_string(&path).expect("a text");
                let ways = counted(&text).into_iter();
                found.extend(ways.map(|(way, count)| ((name.to_owned(), way), count)));
            }
        }
    }
    found
}

/// What does not agree between the source and the table.
fn differences(found: &BTreeMap<(String, &'static str), usize>, rows: &[Row]) -> Vec<String> {
    let told: BTreeMap<(String, &str), usize> =
        rows.iter().map(|(file, way, count, _)| (((*file).to_owned(), *way), *count)).collect();
    let mut wrong = Vec::new();
    for (place @ (file, way), count) in found {
        let told = told.get(place).copied().unwrap_or(0);
        if told != *count {
            wrong.push(format!("src/{file} has {count} of {way}, the table {told}: is it fuzzed?"));
        }
    }
    for (file, way) in told.keys().filter(|place| !found.contains_key(*place)) {
        wrong.push(format!("src/{file} has no {way} any more: take the row off"));
    }
    wrong
}

#[test]
fn every_reader_of_a_text_has_a_target_or_a_reason() {
    let mut wrong = differences(&found(), READERS);
    let known: BTreeSet<&str> = ALL.into_iter().map(|(name, _)| name).collect();
    let mut held = BTreeSet::new();
    for &(file, way, _, by) in READERS {
        if let Some(why) = by.strip_prefix("none:") {
            if why.split_whitespace().count() < 4 {
                wrong.push(format!("{file}, {way}: no target, and nobody says why"));
            }
            continue;
        }
        for name in by.split(", ") {
            held.insert(name);
            if !known.contains(name) {
                wrong.push(format!("{file}, {way}: there is no target {name}"));
            }
        }
    }
    let idle = known.difference(&held).filter(|name| !PARTS.contains(name));
    wrong.extend(idle.map(|name| format!("{name} is the target of no place in the source")));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A new reader, one that is gone and one more in a known place are each seen.
#[test]
fn a_reader_without_a_row_is_seen() {
    let new = "use x::read_document;\n// read_document is not called\nlet a = read_document(b);\n\
               #[cfg(test)]\nmod tests {\n read_document(c) }";
    assert_eq!(counted(new), BTreeMap::from([("read_document", 1)]));
    let mut source = found();
    assert_eq!(differences(&source, READERS), Vec::<String>::new());
    *source.get_mut(&("files.rs".to_owned(), "read_to_end(")).expect("a place") += 1;
    source.remove(&("cli/config.rs".to_owned(), "toml::from_str"));
    source.insert(("cli/new.rs".to_owned(), "read_document"), 1);
    let wrong = differences(&source, READERS).join("\n");
    for told in ["files.rs has 2 of", "cli/config.rs has no", "cli/new.rs has 1 of"] {
        assert!(wrong.contains(told), "{told}: {wrong}");
    }
}
