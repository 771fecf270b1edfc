//! A session: the ledger, the clock, who asks and where; what every operation needs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;

use super::clock::Clock;
use super::error::OpError;
use super::ids::mint;
use super::lock_wait::LockWait;
use super::notify::Notifier;
use super::policy_cache::PolicyCache;
use super::tally::Tally;
use super::transition::placed_in;
use crate::domain::id::{CommandId, ExecutionKey, HostKey, ServiceName};
use crate::domain::scale::command::Context;
use crate::domain::scale::event::{Event, EventBody};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::lease::Holder;
use crate::domain::scale::policy::{Counted, PolicyAnswer, PolicyQuery};
use crate::domain::scale::provenance::Provenance;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::RegisteredActuator;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::life::Standing;
use crate::ledger::{Ledger, LedgerError, LedgerIdentity, ReadTxn, Sought};
use crate::policy::CheckedPolicy;

/// From so much on it is said that the clock of this host is not the ledger's.
const HOST_SKEW_NOTED: DurationMs = DurationMs::from_secs(5);

/// Where this process runs, and where it keeps what is not in the ledger.
#[derive(Debug, Clone)]
pub struct Place {
    /// This very binary.
    pub own_exe: PathBuf,
    /// `$XDG_STATE_HOME/scalectl`.
    pub state_dir: PathBuf,
    /// `$XDG_CONFIG_HOME/scalectl`.
    pub config_dir: PathBuf,
    /// The host, its boot and its process namespace.
    pub host_key: HostKey,
    /// The host's name.
    pub host: String,
    /// This process.
    pub pid: u32,
    /// The environment that actuators may be given parts of.
    pub environment: BTreeMap<OsString, OsString>,
}

impl Place {
    /// Where call files are.
    pub fn calls_dir(&self) -> PathBuf {
        self.state_dir.join("calls")
    }

    /// Where the host's commands of actuators are.
    pub fn bindings_file(&self) -> PathBuf {
        self.config_dir.join("actuators.toml")
    }

    /// Where the host's commands of relocators are.
    pub fn relocators_file(&self) -> PathBuf {
        self.config_dir.join("relocators.toml")
    }

    /// This process as the holder of a lease.
    pub fn holder(&self) -> Holder {
        Holder { host: self.host.clone(), host_key: self.host_key.clone(), pid: self.pid }
    }
}

/// Something that a person should know although the command has done its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The word for machines.
    pub code: &'static str,
    /// The text.
    pub text: String,
}

/// What a session works with.
pub struct Session {
    /// The ledger. Who stands outside asks it through `look` and the verbs.
    pub(super) ledger: Ledger,
    /// The clock.
    pub clock: Clock,
    /// Who asks.
    pub by: Provenance,
    /// Where.
    pub place: Place,
    /// What to say beside the answer.
    pub notices: Vec<Notice>,
    pub(super) tally: Tally,
    pub(super) policy: PolicyCache,
    pub(super) lock_wait: Rc<LockWait>,
    pub(super) notifier: Notifier,
}

impl Session {
    /// A session on an open ledger.
    pub fn new(ledger: Ledger, mut clock: Clock, by: Provenance, place: Place) -> Self {
        let by = Provenance { db_role: ledger.role(), ..by };
        let of_host = clock.now();
        let skew = clock.read(ledger.now()).apart(of_host);
        let mut session = Self {
            ledger,
            clock,
            by,
            place,
            notices: Vec::new(),
            tally: Tally::default(),
            policy: PolicyCache::EMPTY,
            lock_wait: Rc::default(),
            notifier: Notifier::default(),
        };
        if skew > HOST_SKEW_NOTED {
            let text =
                format!("the clock of this host and the clock of the ledger are {skew} apart");
            session.notice("host_clock_skew", text);
        }
        session
    }

    /// Which ledger it is, and where.
    pub fn identity(&self) -> &LedgerIdentity {
        self.ledger.identity()
    }

    /// Whether a write of it may or may not be durable, so that nothing more is written.
    pub fn is_poisoned(&self) -> bool {
        self.ledger.is_poisoned()
    }

    /// Says something beside the answer.
    pub fn notice(&mut self, code: &'static str, text: impl Into<String>) {
        self.notices.push(Notice { code, text: text.into() });
    }

    /// Says, beside what is read here, that it is not the place that takes writes: what goes on
    /// elsewhere is not seen from here.
    pub fn tell_standing(&mut self) -> Result<(), OpError> {
        let (standing, _) = self.ledger.read()?.standing()?;
        match standing {
            Standing::Open => {}
            Standing::Sealed { to } => self.notice(
                "ledger_sealed",
                format!("this ledger has moved and goes on at {to}: what is shown ends there"),
            ),
            Standing::Backup => self.notice(
                "ledger_is_backup",
                "this is a backup: what is shown is as it was when that was made",
            ),
        }
        Ok(())
    }

    /// Refuses what would be refused at the first write, before anything is asked.
    pub fn refuse_unwritable(&mut self) -> Result<(), OpError> {
        if self.is_backup_unless_sealed()? {
            return Err(LedgerError::IsBackup { path: self.ledger.identity().path.clone() }.into());
        }
        let checked = self.ledger.read()?.check_may_write();
        match checked {
            // Whoever may only read may well ask what would be.
            Err(error @ LedgerError::NotPermitted { .. }) => {
                self.notice("may_not_write", format!("the line itself would be refused: {error}"));
                Ok(())
            }
            checked => Ok(checked?),
        }
    }

    /// Refuses what is asked of a ledger that goes on elsewhere.
    pub(super) fn refuse_sealed(&mut self) -> Result<(), OpError> {
        self.is_backup_unless_sealed().map(drop)
    }

    /// Whether this is a backup; one that goes on elsewhere is an error.
    fn is_backup_unless_sealed(&mut self) -> Result<bool, OpError> {
        let (standing, _) = self.ledger.read()?.standing()?;
        match standing {
            Standing::Open => Ok(false),
            Standing::Backup => Ok(true),
            Standing::Sealed { to } => {
                let path = self.ledger.identity().path.clone();
                Err(LedgerError::Sealed { path, to }.into())
            }
        }
    }

    /// Whether a wish is recorded under a key now.
    pub(super) fn knows(&mut self, key: &ExecutionKey) -> Result<bool, OpError> {
        Ok(self.ledger.read()?.find_execution(key)?.is_some())
    }

    /// Now, on this host's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A fresh id for one run of a writing command.
    pub fn command_id() -> Result<CommandId, OpError> {
        mint("cmd-")
    }

    /// The execution of a key, and its service's state with it.
    pub fn load(&mut self, key: &ExecutionKey) -> Result<(ServiceState, Execution), OpError> {
        let sought = Sought::Keys(std::slice::from_ref(key));
        let found = self.sought(sought, |session| session.find(key))?;
        found.ok_or_else(|| Rejection::NoSuchKey { key: key.to_string() }.into())
    }

    /// The same, if it is there now.
    pub(crate) fn find(
        &mut self,
        key: &ExecutionKey,
    ) -> Result<Option<(ServiceState, Execution)>, OpError> {
        let read = self.ledger.read()?;
        let Some(execution) = read.find_execution(key)? else { return Ok(None) };
        let state = read.service_state(&execution.intent.service, std::slice::from_ref(key))?;
        drop(read);
        self.note_left(execution.left());
        Ok(Some((state, execution)))
    }

    /// The state of a registered service.
    pub fn load_service(&mut self, service: &ServiceName) -> Result<ServiceState, OpError> {
        let state = self.ledger.read()?.service_state(service, &[])?;
        if state.head.registration.is_none() {
            return Err(Rejection::NoSuchService { service: service.clone() }.into());
        }
        Ok(state)
    }

    /// The actuator that a service is registered with.
    pub fn actuator_of(
        &mut self,
        state: &ServiceState,
    ) -> Result<Option<RegisteredActuator>, OpError> {
        let read = self.ledger.read()?;
        actuator_in(&read, state)
    }

    /// Answers policy questions about `state` without a transaction: for plans and explanations.
    /// `own` is the key that is asked about.
    pub fn with_context<T>(
        &mut self,
        state: &ServiceState,
        own: Option<&ExecutionKey>,
        use_it: impl FnOnce(&Context<'_>) -> T,
    ) -> Result<T, OpError> {
        self.load_policy()?;
        let actuator = self.actuator_of(state)?;
        let ledger_id = self.ledger.identity().ledger_id.clone();
        let (counted, now) = (self.policy.counted(), self.now());
        let service = state.head.registration.as_ref().map(|it| it.service.clone());
        let recent = match service.filter(|_| counted != Counted::Nothing) {
            Some(service) => Some(self.ledger.read()?.recent_changes(&service, own, counted, now)?),
            None => None,
        };
        let placed = placed_in(&self.ledger.read()?, &state.head)?;
        Ok(use_it(&Context {
            by: &self.by,
            ledger_id: &ledger_id,
            actuator: actuator.as_ref(),
            policy: self.policy.gate(),
            recent,
            placed,
        }))
    }

    /// The policy, for questions about the ledger itself.
    pub fn ask_policy(&mut self, query: &PolicyQuery) -> Result<PolicyAnswer, OpError> {
        self.load_policy()?;
        Ok(self.policy.gate().answer(query))
    }

    /// The policy that holds, with its text; none where none is set.
    pub fn stored_policy(&mut self) -> Result<Option<CheckedPolicy>, OpError> {
        let Some(stored) = self.ledger.read()?.policy()? else {
            return Ok(None);
        };
        serde_json::from_str(&stored.document).map(Some).map_err(|error| OpError::Internal {
            what: format!("the stored policy {} cannot be read: {error}", stored.digest),
        })
    }

    /// Forgets the loaded policy, after it was replaced.
    pub fn forget_policy(&mut self) {
        self.policy = PolicyCache::EMPTY;
    }

    /// Parses the policy before the write lock is taken: it costs more than the write itself.
    pub(super) fn load_policy(&mut self) -> Result<(), OpError> {
        if self.policy.is_empty() {
            let read = self.ledger.read()?;
            self.policy.refresh(&read)?;
        }
        Ok(())
    }
}

pub(super) fn actuator_in(
    read: &ReadTxn<'_>,
    state: &ServiceState,
) -> Result<Option<RegisteredActuator>, OpError> {
    let name = state.head.registration.as_ref().and_then(|r| r.actuator.as_ref());
    name.map_or(Ok(None), |name| Ok(read.actuator(name)?))
}

/// Whether any of the events is of a kind.
pub fn recorded(events: &[Event], is: impl Fn(&EventBody) -> bool) -> bool {
    events.iter().any(|event| is(&event.body))
}
