//! What a copy consists of, and whether anything that it needs is missing: before any effect.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::database::{self, OWN};
use super::fault::Done;
use super::files::read_json;
use super::place::{DATABASE, Root, existing};
use super::tree::{self, APPLICATION, ARTIFACTS, CREDENTIALS, SUBJECTS, WORKSPACE};
use super::tree::{Tree, WORKSPACE_STATE};
use crate::actuator::host::Deadline;
use crate::domain::id::EnvironmentName;
use crate::domain::placement::protocol::{CopyPlace, Inventory, Refusal, WorkspaceState};

/// The provider whose credentials this relocator can look for: files below `credentials/`.
const LOCAL: &str = "local";

/// `credentials.json`: where credentials are, and never what they are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Credentials {
    references: Vec<Credential>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Credential {
    name: String,
    provider: String,
    reference: String,
}

/// `subjects.json`: who somebody elsewhere is in the data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subjects {
    subjects: Vec<Subject>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    external: String,
    internal: String,
}

/// `workspace.json`.
#[derive(Deserialize)]
struct Workspace {
    state: WorkspaceWord,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum WorkspaceWord {
    Stopped,
    Running,
}

/// What was found: the answer, and the names that a transfer takes along.
pub(super) struct Found {
    pub(super) inventory: Inventory,
    pub(super) tree: Tree,
}

/// Whether somebody works in the workspace of a copy.
pub(super) fn workspace_of(copy: &Path) -> Done<WorkspaceState> {
    let state: Option<Workspace> = read_json(&copy.join(WORKSPACE_STATE))?;
    match (state, copy.join(WORKSPACE).is_dir()) {
        (Some(Workspace { state: WorkspaceWord::Running }), _) => Ok(WorkspaceState::Running),
        (Some(Workspace { state: WorkspaceWord::Stopped }), true) => Ok(WorkspaceState::Stopped),
        (Some(Workspace { state: WorkspaceWord::Stopped }) | None, false) => {
            Ok(WorkspaceState::None)
        }
        // Whether somebody works in it cannot be told.
        (None, true) => {
            Err(Refusal::MissingDependency { missing: vec![WORKSPACE_STATE.to_owned()] }.into())
        }
    }
}

/// Looks at a whole copy. A missing dependency or a running workspace stops here.
pub(super) fn take(
    root: &Root,
    environment: &EnvironmentName,
    source: &CopyPlace,
    until: Deadline,
) -> Done<Found> {
    let copy = root.copy(environment, source);
    existing(&copy, source)?;
    let is_folder = |name: &&str| copy.join(name).is_dir();
    let is_file = |name: &&str| copy.join(name).is_file();
    let folders = [APPLICATION, ARTIFACTS].into_iter().filter(|name| !is_folder(name));
    let files = [DATABASE, CREDENTIALS, SUBJECTS].into_iter().filter(|name| !is_file(name));
    let mut missing: Vec<String> = folders.chain(files).map(str::to_owned).collect();
    let credentials: Option<Credentials> = read_json(&copy.join(CREDENTIALS))?;
    let references = credentials.map_or_else(Vec::new, |it| it.references);
    missing.extend(missing_credentials(root, &references));
    if !missing.is_empty() {
        return Err(Refusal::MissingDependency { missing }.into());
    }
    database::hold_one_name(&copy.join(DATABASE))?;
    let workspace = workspace_of(&copy)?;
    if workspace == WorkspaceState::Running {
        return Err(Refusal::WorkspaceRunning.into());
    }
    let subjects: Option<Subjects> = read_json(&copy.join(SUBJECTS))?;
    let subjects = subjects.map_or_else(Vec::new, |it| it.subjects);
    check_subjects(&subjects)?;
    let tree = tree::walk(&copy)?;
    let (database_bytes, facts) = database::survey(&copy.join(DATABASE), until)?;
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let inventory = Inventory {
        source: source.clone(),
        bytes: tree.bytes().saturating_add(database_bytes),
        files: tree.files() + 1,
        database_bytes,
        tables: count(facts.tables.iter().filter(|table| table.name != OWN).count()),
        rules: facts.rules,
        credentials: count(references.len()),
        subjects: count(subjects.len()),
        workspace,
        left_out: tree.left_out.clone(),
    };
    Ok(Found { inventory, tree })
}

/// The references that lead to nothing. Of other providers nobody here can tell.
fn missing_credentials(root: &Root, references: &[Credential]) -> Vec<String> {
    let folder = root.credentials();
    let is_missing = |it: &&Credential| {
        let is_name = !it.reference.contains('/') && !it.reference.starts_with('.');
        it.provider == LOCAL && !(is_name && fs::metadata(folder.join(&it.reference)).is_ok())
    };
    let missing = references.iter().filter(is_missing);
    missing.map(|it| format!("credential {}: {} {}", it.name, it.provider, it.reference)).collect()
}

/// One subject elsewhere is one subject here.
fn check_subjects(subjects: &[Subject]) -> Done<()> {
    let mut seen = BTreeSet::new();
    for subject in subjects {
        if subject.internal.is_empty() || !seen.insert(subject.external.as_str()) {
            let problem = format!("subject {:?} is mapped twice, or to nothing", subject.external);
            return Err(Refusal::Unusable { file: SUBJECTS.to_owned(), problem }.into());
        }
    }
    Ok(())
}
