//! Running kubectl: the context and the namespace come first, always.

use crate::actuator::host::Deadline;
use crate::adapters::child::{Ended, RunError, run};
use crate::adapters::command;

/// The program.
pub(super) const KUBECTL: &str = "kubectl";

/// Where kubectl is told to act.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client<'a> {
    pub(super) context: &'a str,
    pub(super) namespace: &'a str,
}

impl Client<'_> {
    /// Runs kubectl: the context and the namespace always come first.
    pub(super) fn run(&self, tail: &[&str], until: Deadline) -> Result<Ended, RunError> {
        let mut line = command(KUBECTL);
        line.args(["--context", self.context, "-n", self.namespace]).args(tail);
        // Its words are read by a machine, so they are not to be translated; and what the settings
        // of a person make of a command is not what was written here.
        line.env("LC_ALL", "C").env("KUBECTL_KUBERC", "false").env("KUBERC", "off");
        run(line, &[], until)
    }
}
