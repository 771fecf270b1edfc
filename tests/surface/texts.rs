//! Every text of an error is read before it is committed: what a line comes to that is wrong in
//! itself is in `fixtures/texts/lines.txt`, refusals in `rejections.txt`, failures in `faults.txt`
//! and `problems.txt`, and the rest in the transcripts of `fixtures/scenarios/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

use super::{hold_committed, in_repository};
use crate::support::{Ran, World};

/// Lines that are wrong. Each is typed in a world where `web` is verified at 5 under the key `k1`.
const LINES: &str = r"
--actor= status
--output yaml status
--ledger nowhere.db status
--ledger prodd status
--ledger postgres:u:secret@db/x status
stattus
status --livee
status --watch
status --watch -o json
help nowhere
log --follow -o json
log --event nothing
log --event intent_acepted
log --outcome good
log --since noon
log --on 2026-13-01
log --on today --since 3h
log --zone Mars
timeline web --html nowhere/page.html
timeline web --html - -o name
timeline web --width 10
timeline nowhere
explain nokey
scale web=3.5 --reason r
scale web --reason r
scale web=5
scale web=5 --reason r --key a@b@c
scale web=5 --reason r --timeout 60
scale web=5 --undo --reason r
scale web=5 web=6 --reason r
plan web=5 api=5
scale web=5 --reason r --break-glass a@b --current-replicas 1
scale web=7 --reason r --break-glass --incident INC-1
gate we!b
gate web web
gate web=x
gate web=9007199254740993
service put web --cooldown 60
service put web --label nope
service put web --readings 0
service put web --replicas many
service put web --max 3 --min 5
service put web --backoff 2h
service put web --on-unknown retry_same_key
service put web --signal queue --signal-target none
service mode web sideways --reason r
settle k1 --applied
approval show web@1
policy test web=1 --action fly
policy template nope
policy put nowhere.cedar --reason r
policy put bad.cedar --reason r
autoscale --prometheus nowhere --query a=b
autoscale --prometheus http://127.0.0.1:9 --query ab
autoscale --signals - --health -
autoscale --signals nowhere.json --health nowhere.json
metrics --textfile nowhere/scalectl.prom
actuator bind fake -- ./nowhere
actuator bind fake --
verify --since empty.json
verify --since other.json
verify --since nowhere.json
backup --to postgres://u:secret@db/x
restore --from nowhere.db
restore --from empty.json --ledger postgres://a@127.0.0.1:9/x --reason r
autoscale --signals empty.json --budget -1
actuator run exec --apply { --inspect {
init
init --group nosuchgroup
break-glass show bg-1
break-glass authorize web=5 --reason r
hold set web --until yesterday --reason r
hold set web --for 1h --reason r
override set web=5 --until 2h
lease show web@9
attempt show web@9
intent show web@x
intent put nowhere.json
intent put empty.json
intent put garbled.json
intent put --file other.json
intent put --file nowhere.json
intent withdraw k1
schema nowhere
completions tcsh
man nowhere
capacity policy put std --offer small
capacity policy put std --location a@b
capacity cell put a1 --allocatable cpu=1,memory=1GiB
placement plan shop --expect-revision 1 --policy-revision 1
placement show nowhere
operation show op-1
serve --listen nowhere
serve --listen 203.0.113.7:1
serve --listen 203.0.113.7:1 --token-file token
service put web --signal=
service put web --readings two
service put web --environment a@b
";

/// A text without what differs from run to run.
fn told(world: &World, text: &str) -> String {
    let home = world.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let text = text.replace(&home, "~");
    let minted = Regex::new(r"\b(led|cmd)-[0-9a-f]{32}\b").expect("a pattern");
    let text = minted.replace_all(&text, "$1-…");
    let digest = Regex::new(r"\b[0-9a-f]{64}\b").expect("a pattern");
    let pid = Regex::new(r"pid \d+").expect("a pattern");
    let text = digest.replace_all(&text, "…").into_owned();
    pid.replace_all(&text, "pid …").into_owned()
}

#[test]
fn every_wrong_line_has_its_reviewed_text() {
    // The name of the ledger is a part of many.
    let mut world = World::on_sqlite();
    world.still("2026-01-05T10:00:00Z");
    world.be("alice:1001");
    world.init_fake();
    world.run(&format!("{} --backoff 0s", crate::support::SERVICE)).exits(0);
    world.run("scale web=5 --key k1 --reason r").exits(0);
    world.write("empty.json", "[]");
    world.write("other.json", "{\"a\":1}");
    world.write("garbled.json", "{\"a\": 1, \"a\": 2}");
    world.write("token", "0123456789abcdef0123456789abcdef\n");
    let only_mine = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(world.path("token"), only_mine).expect("ours");
    world.write("bad.cedar", "permit(principal, action, resource)");
    world.write(".config/scalectl/config.toml", "[ledgers]\nprod = \"prod.db\"\n");
    let mut page = String::new();
    for line in LINES.lines().filter(|line| !line.is_empty()) {
        let ran = world.run(line);
        assert_ne!(ran.code, Some(0), "{line} is not wrong");
        assert!(!ran.stderr.contains("secret"), "{ran:#?}");
        let code = ran.code.map_or_else(|| "-".to_owned(), |code| code.to_string());
        page.extend(["# ", line, "\n", &told(&world, &ran.stderr), "[exit ", &code, "]\n\n"]);
    }
    for (line, ran) in [
        ("actuator put other -- sh", in_no_folder(&world, "actuator put other -- sh")),
        ("quickstart --dir here", in_no_folder(&world, "quickstart --dir here")),
        ("batch", world.run_with("batch", b"nonsense\n")),
    ] {
        let code = ran.code.map_or_else(|| "-".to_owned(), |code| code.to_string());
        page.extend(["# ", line, "\n", &told(&world, &ran.stderr), "[exit ", &code, "]\n\n"]);
    }
    hold_committed("fixtures/texts/lines.txt", &page);
}

/// A line of a shell whose working directory somebody has removed.
fn in_no_folder(world: &World, line: &str) -> Ran {
    let words: Vec<&str> = line.split(' ').collect();
    let own = world.command(&words);
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$@\"", "sh"]);
    shell.arg(own.get_program()).args(own.get_args()).current_dir(world.path("")).env_clear();
    shell.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.output().expect("a shell");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    Ran { line: line.to_owned(), code: output.status.code(), stdout, stderr }
}

/// Words of errors whose text is in none of the files: the test that reads it.
const ELSEWHERE: &[(&str, &str)] = &[
    ("address_in_use", "serve::wire::a_port_that_somebody_has_is_told_with_the_line_to_try_again"),
    ("answer_not_written", "surface::streams::a_full_stdout_is_said_and_the_work_is_done"),
    (
        "attention",
        "ticks::reconcile::rule_5_2_what_was_lost_is_found_out_about_and_never_called_in_that_pass",
    ),
    ("cannot_discover", "discover::who_cannot_list_is_not_asked_and_the_way_on_is_told"),
    (
        "config_invalid",
        "edges::answers::a_misspelt_name_of_a_ledger_is_answered_with_the_right_one",
    ),
    ("config_unreadable", "edges::files::settings_that_are_no_file_are_refused_at_once"),
    ("document_too_long", "batch::every_line_is_answered_in_order_as_its_single_command_would"),
    (
        "failed_partly_applied",
        "outcomes::a_failure_that_changed_the_target_says_so_again_and_needs_a_person",
    ),
    ("group_not_member", "people::group::a_place_that_the_group_cannot_share_is_refused"),
    ("group_on_server", "people::group::a_group_that_is_not_there_is_refused"),
    ("invalid_environment", "edges::files::a_variable_of_ours_that_is_no_text_is_refused"),
    (
        "invalid_evidence",
        "docker::order::where_it_may_act_is_checked_when_it_starts_and_no_variable_leads_elsewhere",
    ),
    (
        "invalid_place",
        "docker::order::where_it_may_act_is_checked_when_it_starts_and_no_variable_leads_elsewhere",
    ),
    ("nothing_selected", "selection::what_takes_nothing_is_refused"),
    ("nothing_to_undo", "undo::an_undo_refuses_what_it_cannot_stand_on"),
    ("one_service_only", "undo::what_is_about_one_service_is_not_said_of_several"),
    ("undo_in_the_way", "undo::an_undo_refuses_what_it_cannot_stand_on"),
    (
        "invalid_reference",
        "bad_input::lines::a_wrong_line_is_refused_with_a_word_and_nothing_written",
    ),
    ("journal_corrupt", "gateway::journals::a_journal_that_does_not_fit_is_refused_as_a_whole"),
    ("no_home", "bad_input::ledgers::without_a_home_there_is_no_default_ledger"),
    (
        "not_confirmed",
        concat!(
            "standing::left::a_success_that_was_found_out_is_not_yet_confirmed_where_nothing_can_",
            "be_read"
        ),
    ),
    ("not_in_batch", "batch::every_line_is_answered_in_order_as_its_single_command_would"),
    ("not_repeatable", "batch::every_line_is_answered_in_order_as_its_single_command_would"),
    ("other_actuator", "actuator::binding::a_command_of_another_actuator_is_not_bound"),
    ("other_relocator", "placement::program::a_command_of_another_relocator_is_not_bound"),
    ("restored_since", "life::since::a_restore_is_told_from_damage"),
    ("signals_unreadable", "ticks::told::signals_that_cannot_be_read_lead_to_what_is_to_be_mended"),
    ("timeout_out_of_range", "actuator::binding::what_does_not_describe_itself_is_not_registered"),
];

/// Words of errors to which no test comes, and why. None is added without a reason.
const UNSEEN: &[(&str, &str)] = &[
    ("ledger_poisoned", "told as commit_unknown, of the write that failed before"),
    ("not_done", "what no other text says of an ended key: every phase has its own"),
];

/// Every text below a folder with that ending.
fn texts(folder: &str, ending: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![in_repository(folder)];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == ending) {
                let text = std::fs::read_to_string(&path).expect("a text");
                found.insert(path.to_string_lossy().into_owned(), text);
            }
        }
    }
    found
}

/// The words of all errors that the program has, by how they are made.
fn words_of_errors() -> BTreeSet<String> {
    let made = Regex::new(
        r#"(?:Problem::(?:usage|new|ledger)|Fault::usage|OpError::usage)\(\s*"([a-z_0-9]+)""#,
    )
    .expect("a pattern");
    let words_of = Regex::new("\"([a-z_0-9]+)\"").expect("a pattern");
    let mut words = BTreeSet::new();
    for (file, text) in texts("src", "rs") {
        let is_test =
            file.ends_with("tests.rs") || Path::new(&file).ends_with("cli/output_tests.rs");
        let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        if !is_test {
            words.extend(made.captures_iter(text).map(|found| found[1].to_owned()));
        }
        if file.ends_with("scale/rejection.rs") || file.ends_with("ledger/error.rs") {
            let arms = text.split("pub const fn code(").nth(1).expect("the words");
            let arms = arms.split("\n    }").next().expect("their end");
            words.extend(words_of.captures_iter(arms).map(|found| found[1].to_owned()));
        }
    }
    words
}

#[test]
fn no_error_is_without_a_reviewed_text() {
    let shown = Regex::new(r"error\[([a-z_0-9]+)\]").expect("a pattern");
    let mut told = BTreeSet::new();
    for folder in ["fixtures/texts", "fixtures/scenarios"] {
        for text in texts(folder, "txt").into_values() {
            told.extend(shown.captures_iter(&text).map(|found| found[1].to_owned()));
        }
    }
    let words = words_of_errors();
    assert!(words.len() > 180, "{words:?}");
    let others = ELSEWHERE.iter().chain(UNSEEN);
    let elsewhere: BTreeSet<String> = others.map(|(word, _)| (*word).to_owned()).collect();
    let missing: Vec<&String> =
        words.iter().filter(|word| !told.contains(*word) && !elsewhere.contains(*word)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "add a line, a row or a scenario for each");
    let tests = crate::fleet_rules::tests();
    for (word, _) in ELSEWHERE.iter().chain(UNSEEN) {
        assert!(words.contains(*word), "there is no error {word} any more");
        assert!(!told.contains(*word), "{word} has a text by now: take its row away");
    }
    for (word, test) in ELSEWHERE {
        assert!(tests.contains(*test), "{word} names {test}, which is no test");
    }
}

/// `error[code]: what`, facts, `applied`, `hint:` and lines to paste: the form of every text.
#[test]
fn every_text_has_the_form() {
    let head = Regex::new(r"^(?:! )?error\[[a-z_0-9]+\]: \S").expect("a pattern");
    let period = Regex::new(r"@\d+\.(?:\s|$)").expect("a pattern");
    let mut wrong = Vec::new();
    for (file, text) in texts("fixtures/texts", "txt") {
        if file.ends_with("timeline.txt") {
            continue;
        }
        for block in text.split("\n\n").filter(|block| block.contains("error[")) {
            let lines: Vec<&str> =
                block.lines().skip_while(|line| !line.starts_with("error[")).collect();
            let first = lines.first().copied().unwrap_or_default();
            let mut check = |is_right: bool, what: &str| {
                if !is_right {
                    wrong.push(format!("{what}: {first}"));
                }
            };
            check(head.is_match(first), "no head");
            check(!first.ends_with('.') || first.ends_with("..."), "a period at the end");
            check(!period.is_match(block), "a period after an id");
            let applied = lines.iter().filter(|line| line.trim_start().starts_with("applied "));
            check(applied.count() == 1, "applied is not said once");
            let hints = lines.iter().filter(|line| line.starts_with("hint: ")).count();
            check(hints <= 1, "two hints");
            check(!block.contains('\t'), "a tab");
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
