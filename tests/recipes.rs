//! The recipes, as they are typed. Every block of every page of `docs/recipes/` is run by a test
//! that is named here, or is said not to be, with the reason.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approvals;
mod backup;
mod cron;
mod gateway;
pub(crate) mod page;
mod shell;

use std::collections::BTreeMap;

use page::{blocks, root};

use crate::fleet_rules;

/// Who runs the blocks of one kind of one page.
enum By {
    /// This test runs each of them.
    Test(&'static str),
    /// Nobody, for this reason.
    Nobody(&'static str),
}

use By::{Nobody, Test};

const APPROVALS: By = Test("recipes::approvals::the_page_does_what_it_says");
const CRON: By = Test("recipes::cron::the_crontab_does_what_it_says");
const GATEWAY: By = Test("recipes::gateway::the_page_does_what_it_says");
const GITHUB: By =
    Test("kubectl::pipelines::a_workflow_of_github_waits_for_a_colleague_and_deploys");
const GITLAB: By =
    Test("kubectl::pipelines::a_pipeline_of_gitlab_waits_for_a_colleague_and_deploys");
const ON_CALL: By = Test("people::recipe::the_recipe_of_whoever_is_on_call_does_what_it_says");
const ROLES: By =
    Test("postgres::roles::the_roles_of_the_recipe_can_do_what_they_are_for_and_nothing_else");
const SHELL: By = Test("recipes::shell::the_page_does_what_it_says");
const TOLD: By = Test("notify::the_command_of_the_recipe_is_told_as_written");
const TICKS: By = Test("ticks::recipe::the_recipe_works_as_typed");

/// Page, kind, how many, by whom.
const BLOCKS: [(&str, &str, usize, By); 29] = [
    ("approvals.md", "console", 5, APPROVALS),
    ("backup.md", "console", 5, Test("recipes::backup::the_lines_of_the_page_do_what_it_says")),
    (
        "backup.md",
        "sql",
        1,
        Test("postgres::moves::a_backup_is_restored_to_a_server_as_the_recipe_says"),
    ),
    ("cron.md", "console", 1, CRON),
    ("cron.md", "crontab", 1, CRON),
    ("cron.md", "sh", 1, CRON),
    ("gateway.md", "cedar", 1, GATEWAY),
    ("gateway.md", "console", 3, GATEWAY),
    ("gateway.md", "sh", 3, GATEWAY),
    ("github-actions.md", "cedar", 1, GITHUB),
    ("github-actions.md", "console", 2, GITHUB),
    ("github-actions.md", "sql", 1, GITHUB),
    ("github-actions.md", "yaml", 1, GITHUB),
    ("gitlab.md", "yaml", 1, GITLAB),
    (
        "kubernetes.md",
        "console",
        3,
        Test("kubectl::journeys::every_line_of_the_recipe_works_as_written"),
    ),
    ("kubernetes.md", "yaml", 1, Nobody("a Role needs a cluster that asks for rights")),
    ("on-call.md", "cedar", 1, ON_CALL),
    ("on-call.md", "console", 5, ON_CALL),
    ("on-call.md", "sh", 1, TOLD),
    ("on-call.md", "toml", 1, TOLD),
    (
        "postgres.md",
        "console",
        2,
        Nobody("a host of that name is not there: postgres::roles does the same"),
    ),
    ("postgres.md", "sql", 2, ROLES),
    ("postgres.md", "toml", 1, Nobody("postgres::secrets reads such a file")),
    ("shell.md", "console", 2, SHELL),
    ("shell.md", "sh", 2, SHELL),
    ("swarm.md", "console", 3, Test("docker::journeys::every_line_of_the_recipe_works_as_written")),
    ("ticks.md", "crontab", 1, TICKS),
    (
        "ticks.md",
        "ini",
        1,
        Test("ticks::recipe::the_unit_forgives_what_the_next_tick_does_by_itself"),
    ),
    ("ticks.md", "sh", 3, TICKS),
];

#[test]
fn every_block_of_every_recipe_is_run_by_a_test() {
    let mut there: BTreeMap<(String, String), usize> = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("docs/recipes")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // The list of the pages.
        if name == "index.md" {
            continue;
        }
        for block in blocks(&name) {
            *there.entry((name.clone(), block.kind)).or_default() += 1;
        }
    }
    let tests = fleet_rules::tests();
    let mut wrong = Vec::new();
    for (page, kind, count, by) in &BLOCKS {
        let found = there.remove(&((*page).to_owned(), (*kind).to_owned())).unwrap_or_default();
        if found != *count {
            wrong.push(format!("{page} has {found} blocks of {kind}, not {count}"));
        }
        match by {
            Nobody(why) => {
                if why.len() < 20 {
                    wrong.push(format!("{page}, {kind}: no reason"));
                }
            }
            Test(name) => {
                let file = fleet_rules::file_of(name);
                let text = file.and_then(|file| std::fs::read_to_string(file).ok());
                if !tests.contains(*name) {
                    wrong.push(format!("{page}, {kind}: {name} is no test"));
                } else if !text.is_some_and(|text| text.contains(page)) {
                    wrong.push(format!("{page}, {kind}: {name} does not read the page"));
                }
            }
        }
    }
    wrong.extend(there.keys().map(|(page, kind)| format!("{page}: nobody runs {kind}")));
    assert!(wrong.is_empty(), "{wrong:#?}");
}
