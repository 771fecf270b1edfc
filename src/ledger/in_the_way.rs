//! Who or what is in the way of a wait, as far as a server tells it.
//!
//! Owns the name that a session gives itself on a server, in both directions. What a session calls
//! itself is a claim; its role is what the server knows.

use std::fmt;

/// How long the name of a session may be; PostgreSQL cuts what is longer (`NAMEDATALEN`).
const NAME_BYTES_MAX: usize = 63;

/// What is in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InTheWay {
    /// A session that has what is waited for.
    Holder(Box<ServerHolder>),
    /// What was written is there, and no standby has said that it has it.
    Standby,
    /// Nobody: the server is at work on it.
    Nobody,
    /// The server does not answer.
    Silence,
    /// The server does not tell.
    Unknown,
}

/// Who has the ledger, or a part of it, to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHolder {
    /// What its session calls itself; empty where it says nothing.
    pub application: String,
    /// The process of the server that works for it; 0 for a prepared transaction.
    pub backend: i64,
    /// Its role on the server.
    pub role: String,
    /// What it is at, where the server shows it to us.
    pub at: String,
}

/// What a session of ours says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnSession<'a> {
    /// The words of the subcommand.
    pub verb: &'a str,
    /// The name that it acts under.
    pub actor: &'a str,
    /// Its host.
    pub host: &'a str,
    /// Its process on that host.
    pub pid: u32,
}

impl<'a> OwnSession<'a> {
    /// The name of the session on a server: `scalectl PID@HOST ACTOR: VERB` in at most 63 printable
    /// ASCII characters. What is cut ends with `~`, what cannot be shown is `?`.
    pub fn name(&self) -> String {
        let (host, actor) = (plain(self.host).replace(' ', "?"), plain(self.actor));
        let verb = plain(self.verb);
        let fixed = format!("scalectl {}@ : {verb}", self.pid).len();
        let room = NAME_BYTES_MAX.saturating_sub(fixed);
        let for_host = room.saturating_sub(actor.len()).max(room / 2);
        let host = cut(&host, for_host);
        let actor = cut(&actor, room.saturating_sub(host.len()));
        format!("scalectl {}@{host} {actor}: {verb}", self.pid)
    }

    /// What such a name says.
    pub fn of(name: &'a str) -> Option<Self> {
        let (pid, rest) = name.strip_prefix("scalectl ")?.split_once('@')?;
        let (host, rest) = rest.split_once(' ')?;
        let (actor, verb) = rest.rsplit_once(": ")?;
        Some(Self { verb, actor, host, pid: pid.parse().ok()? })
    }
}

/// Printable ASCII, one `?` for each other character.
fn plain(text: &str) -> String {
    let shown = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
    text.chars().map(shown).collect()
}

fn cut(ascii: &str, bytes_max: usize) -> String {
    if ascii.len() <= bytes_max {
        return ascii.to_owned();
    }
    format!("{}~", &ascii[..bytes_max.saturating_sub(1)])
}

impl ServerHolder {
    /// What its session says of itself, where it is one of ours.
    pub fn own(&self) -> Option<OwnSession<'_>> {
        OwnSession::of(&self.application)
    }
}

impl fmt::Display for ServerHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { application, backend, role, at } = self;
        if let Some(OwnSession { verb, actor, host, pid }) = self.own() {
            write!(f, "scalectl {verb} of {actor} on {host} (pid {pid}")?;
        } else if *backend == 0 {
            return f.write_str("a prepared transaction (see pg_prepared_xacts)");
        } else {
            let name = if application.is_empty() { "a session" } else { application };
            write!(f, "{name} (process {backend} of the server")?;
        }
        if !role.is_empty() {
            write!(f, ", role {role}")?;
        }
        if !at.is_empty() {
            write!(f, ", {at}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(verb: &'static str, actor: &'static str, host: &'static str) -> OwnSession<'static> {
        OwnSession { verb, actor, host, pid: 4_194_304 }
    }

    #[test]
    fn the_name_of_a_session_says_who_it_is_and_fits() {
        let long = "ip-10-0-12-34.eu-central-1.compute.internal";
        let pipeline = "deploy-pipeline-of-the-shop@example.com";
        for (session, name) in [
            (session("scale", "ops", "bastion"), "scalectl 4194304@bastion ops: scale"),
            (
                session("intent put", "J\u{f6}rg: x", "h 1"),
                "scalectl 4194304@h?1 J?rg: x: intent put",
            ),
            (session("scale", "a\nb\u{1b}[m", "h"), "scalectl 4194304@h a?b?[m: scale"),
            (session("", "", ""), "scalectl 4194304@ : "),
            (
                session("intent put", "ops", long),
                "scalectl 4194304@ip-10-0-12-34.eu-central-1.co~ ops: intent put",
            ),
            (
                session("intent put", pipeline, long),
                "scalectl 4194304@ip-10-0-12-34.e~ deploy-pipeline-~: intent put",
            ),
        ] {
            assert_eq!(session.name(), name);
            assert!(name.len() <= NAME_BYTES_MAX, "{name}");
            let told = OwnSession::of(name).map(|told| (told.verb, told.pid));
            assert_eq!(told, Some((session.verb, session.pid)), "{name}");
        }
    }

    #[test]
    fn other_names_are_nobody_of_ours() {
        for name in [
            "",
            "psql",
            "scalectl",
            "scalectl 1",
            "scalectl x@h a: b",
            "scalectl 1@h",
            "scalectl 1@h a",
        ] {
            assert_eq!(OwnSession::of(name), None, "{name}");
        }
    }

    #[test]
    fn a_holder_is_told_by_what_is_known_of_it() {
        let held = |application: &str, backend, role: &str, at: &str| {
            let (application, role, at) = (application.into(), role.into(), at.into());
            ServerHolder { application, backend, role, at }.to_string()
        };
        let ours = "scalectl 812@bastion ops: intent put";
        let rows = [
            (
                held(ours, 7, "anna", ""),
                "scalectl intent put of ops on bastion (pid 812, role anna)",
            ),
            (
                held("psql", 7, "postgres", "idle in its transaction"),
                "psql (process 7 of the server, role postgres, idle in its transaction)",
            ),
            (held("", 7, "", ""), "a session (process 7 of the server)"),
            (held("", 0, "", ""), "a prepared transaction (see pg_prepared_xacts)"),
        ];
        for (told, text) in rows {
            assert_eq!(told, text);
        }
    }
}
