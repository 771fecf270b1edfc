//! `policy lint`: what of a policy is most likely not meant, and who could do something under the
//! one that holds.

use super::error::OpError;
use super::session::Session;
use crate::domain::scale::policy::PolicyAction;
use crate::policy::lint::{Finding, lint, that_may_permit};
use crate::policy::{CheckedPolicy, PolicySource, check};

/// Checks a policy, wherever it would be put.
pub fn policy_lint(sources: &[PolicySource]) -> Result<(CheckedPolicy, Vec<Finding>), OpError> {
    let policy = check(sources)?;
    let findings = lint(&policy)?;
    Ok((policy, findings))
}

impl Session {
    /// Says what of a policy is most likely not meant.
    pub(super) fn note_findings(&mut self, policy: &CheckedPolicy) -> Result<(), OpError> {
        for finding in lint(policy)? {
            self.notice(finding.code, finding.text);
        }
        Ok(())
    }

    /// The rules of the policy that holds which could permit an action; none where none is set.
    pub fn that_may_permit(
        &mut self,
        action: PolicyAction,
    ) -> Result<Option<Vec<String>>, OpError> {
        let policy = self.stored_policy()?;
        Ok(policy.map(|policy| that_may_permit(&policy, action)).transpose()?)
    }
}
