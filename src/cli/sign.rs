//! The key that an answer is signed with.

use std::path::PathBuf;

use clap::Args;

use super::app::App;

/// What signs an answer, where anything does.
#[derive(Debug, Clone, Args)]
pub(super) struct SignArgs {
    /// Sign it with this SSH key, by ssh-keygen: a private one, or a public one that the agent has
    /// [env: SCALECTL_SIGN_WITH]
    #[arg(long, value_name = "KEYFILE")]
    sign_with: Option<PathBuf>,
}

impl SignArgs {
    /// Whether this very line names a key.
    pub(super) const fn is_named(&self) -> bool {
        self.sign_with.is_some()
    }

    /// The file of the key: the flag, else the environment.
    pub(super) fn key(&self, app: &App) -> Option<PathBuf> {
        let named = self.sign_with.clone();
        named.or_else(|| app.environment.get("SCALECTL_SIGN_WITH").map(PathBuf::from))
    }
}
