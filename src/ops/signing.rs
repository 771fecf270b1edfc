//! What a person signs is verified before it is decided, and decided as what was signed.
//!
//! The child is run outside of every transaction. Inside, the content is made anew from what the
//! transaction sees and held against what was signed, and so is the list of allowed signers.

use std::path::Path;

use super::error::OpError;
use super::session::Session;
use super::ssh_keygen::{self, Said};
use super::transition::{Deciding, Transition, decide_in};
use crate::domain::digest::Digest;
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::registry::{AllowedSigners, RefusalBody, RefusalEvent};
use crate::domain::scale::command::{AuthorityCommand, Command};
use crate::domain::scale::provenance::{Provenance, Signer};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::signed::Signing;
use crate::ledger::{Reach, ReadTxn};

/// A signature that was found good; none where nobody signed.
#[derive(Default)]
pub(super) struct Sealed {
    signed: Option<(Signer, String, Digest)>,
}

impl Sealed {
    /// Who acts, with the key that was seen.
    pub(super) fn by(&self, by: &Provenance) -> Provenance {
        let signed_by = self.signed.as_ref().map(|(signer, ..)| signer.clone());
        Provenance { signed_by, ..by.clone() }
    }

    /// What the decision must know of it.
    pub(super) fn signing(&self, read: &ReadTxn<'_>) -> Result<Signing, OpError> {
        let list = read.allowed_signers()?;
        let signed = self.signed.as_ref().map(|(_, content, list)| (content.clone(), *list));
        Ok(Signing {
            signed,
            is_required: list.as_ref().is_some_and(|list| list.is_required),
            list: list.as_ref().map(AllowedSigners::digest),
        })
    }
}

/// Signs the content of an act with a key, and finds the signature good.
pub(super) fn sign(
    session: &mut Session,
    service: &ServiceName,
    key: &Path,
    content: &str,
    subject: &str,
) -> Result<Sealed, OpError> {
    let list = session.ledger.read()?.allowed_signers()?;
    let refused = |why: String| Rejection::SignatureRefused { subject: subject.to_owned(), why };
    let Some(list) = list else {
        let why = "this ledger has no allowed signers (ledger signers put)".to_owned();
        return Err(session.refuse(service, refused(why)));
    };
    let armour = match ssh_keygen::sign(&session.place, key, content)? {
        Said::Good(armour) => armour,
        Said::Bad(why) => {
            return Err(OpError::Usage {
                code: "not_signed",
                message: format!("{} does not sign: {why}", key.display()),
                hint: Some(
                    "name a private key without a passphrase, or a public one whose private half \
                     the agent has (ssh-add)"
                        .to_owned(),
                ),
            });
        }
    };
    let now = session.now();
    match ssh_keygen::verify(&session.place, &list.text, &armour, content, now)? {
        Said::Good(signed) => {
            let signer = Signer {
                principal: signed.principal,
                fingerprint: signed.fingerprint,
                signature: armour,
            };
            Ok(Sealed { signed: Some((signer, content.to_owned(), list.digest())) })
        }
        Said::Bad(why) => Err(session.refuse(service, refused(why))),
    }
}

impl Session {
    /// One transition of an act that may be signed.
    pub(super) fn sealed(
        &mut self,
        sealed: &Sealed,
        service: &ServiceName,
        keys: &[ExecutionKey],
        command: impl FnOnce(Signing) -> AuthorityCommand,
    ) -> Result<Transition, OpError> {
        self.load_policy()?;
        self.decided(Reach::service(service), keys, |txn, by, policy, now| {
            let by = sealed.by(by);
            decide_in(txn, &mut Deciding { by: &by, policy, now }, service, keys, |_, txn| {
                Ok(Command::Authority(Box::new(command(sealed.signing(txn)?))))
            })
        })
    }

    /// A refusal that is kept, of what never came to a transaction.
    fn refuse(&mut self, service: &ServiceName, rejection: Rejection) -> OpError {
        let body = RefusalBody::Refused {
            service: Some(service.clone()),
            execution_key: None,
            code: rejection.code().to_owned(),
            message: rejection.to_string(),
            fingerprint: rejection.to_string(),
            answer: None,
        };
        let kept = RefusalEvent { at: self.now(), by: self.by.clone(), body };
        self.keep_refusals(&[Box::new(kept)]);
        rejection.into()
    }
}
