//! Where a server is and how it is reached: `postgres://…`, a service file, the `PG*` variables.
//!
//! The same names as in PostgreSQL's own client library, and the same order: the address, then the
//! service, then the environment (postgresql.org/docs: *Connection Strings*, *Environment
//! Variables*, *The Connection Service File*, *The Password File*). Stricter in one thing: where
//! TLS is used, the certificate and its name are always checked.

mod files;
#[cfg(test)]
mod tests;
mod tls;
mod url;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long connecting to one host may take, unless the address says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The schema of a ledger unless the address names another one.
const SCHEMA_DEFAULT: &str = "scalectl";

/// Where a server's socket is unless something says otherwise: the first that is there.
const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The words that an address, a service or the environment may say, and the variables of the
/// latter. `schema` is ours.
const WORDS: [(&str, Option<&str>); 17] = [
    ("host", Some("PGHOST")),
    ("hostaddr", Some("PGHOSTADDR")),
    ("port", Some("PGPORT")),
    ("user", Some("PGUSER")),
    ("password", Some("PGPASSWORD")),
    ("passfile", Some("PGPASSFILE")),
    ("dbname", Some("PGDATABASE")),
    ("service", Some("PGSERVICE")),
    ("sslmode", Some("PGSSLMODE")),
    ("sslrootcert", Some("PGSSLROOTCERT")),
    ("sslcert", Some("PGSSLCERT")),
    ("sslkey", Some("PGSSLKEY")),
    ("channel_binding", Some("PGCHANNELBINDING")),
    ("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    ("target_session_attrs", Some("PGTARGETSESSIONATTRS")),
    ("application_name", Some("PGAPPNAME")),
    ("schema", None),
];

/// What has been said, by its word.
type Said = BTreeMap<&'static str, String>;

/// What an address may need of the process; nothing in here reads it by itself.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The environment.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// Who connects unless another name is said.
    pub os_user: &'a str,
    /// What the server is told that we are, unless another name is said.
    pub application: &'a str,
}

impl<'a> Surroundings<'a> {
    fn variable(&self, name: &str) -> Option<&'a str> {
        let value = self.environment.get(OsStr::new(name))?.to_str()?;
        Some(value).filter(|value| !value.is_empty())
    }

    fn home(&self) -> Option<PathBuf> {
        self.environment.get(OsStr::new("HOME")).map(PathBuf::from)
    }
}

/// A server, a database on it and the ledger's schema there.
#[derive(Clone)]
pub struct ServerAddress {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    schema: String,
    shown: String,
    connect_timeout: Duration,
    is_in_clear: bool,
}

/// An address that leads nowhere; the text says which word is wrong, and never a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressError(String);

fn wrong(text: impl Into<String>) -> AddressError {
    AddressError(text.into())
}

/// The word as it is kept, or none for one that nobody knows.
fn known(word: &str) -> Option<&'static str> {
    WORDS.iter().map(|(known, _)| *known).find(|known| *known == word)
}

impl ServerAddress {
    /// Reads `postgres://[USER[:PASSWORD]@][HOST[:PORT],…]/[DATABASE][?WORD=VALUE&…]` and whatever
    /// it leaves open from the service and the environment.
    pub fn parse(text: &str, around: &Surroundings<'_>) -> Result<Self, AddressError> {
        let mut said = url::parse(text)?;
        let service = said.get("service").map(String::as_str).or(around.variable("PGSERVICE"));
        if let Some(service) = service {
            for (word, value) in files::service(service, around)? {
                said.entry(word).or_insert(value);
            }
        }
        for (word, variable) in WORDS {
            if let Some(value) = variable.and_then(|variable| around.variable(variable)) {
                said.entry(word).or_insert_with(|| value.to_owned());
            }
        }
        Self::build(&said, around)
    }

    fn build(said: &Said, around: &Surroundings<'_>) -> Result<Self, AddressError> {
        let word = |name: &str| said.get(name).map(String::as_str);
        let mut config = Config::new();
        let user = word("user").unwrap_or(around.os_user);
        let database = word("dbname").unwrap_or(user);
        config.user(user).dbname(database);
        config.application_name(word("application_name").unwrap_or(around.application));
        set_hosts(&mut config, word("host"), word("hostaddr"), word("port"))?;
        if let Some(password) = word("password") {
            config.password(password);
        } else if let Some(password) = files::password(&config, word("passfile"), around)? {
            config.password(password);
        }
        // With several hosts, the one that takes writes is ours.
        config.target_session_attrs(match word("target_session_attrs") {
            None | Some("read-write" | "primary") => TargetSessionAttrs::ReadWrite,
            Some("any") => TargetSessionAttrs::Any,
            Some(other) => {
                return Err(wrong(format!(
                    "target_session_attrs is {other:?}: read-write, primary or any"
                )));
            }
        });
        let connect_timeout = seconds(word("connect_timeout"))?.unwrap_or(CONNECT_TIMEOUT);
        config.connect_timeout(connect_timeout);
        // A dead peer is noticed in half a minute, whatever the system's defaults.
        config.keepalives_idle(Duration::from_secs(10));
        config.keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
        config.tcp_user_timeout(Duration::from_secs(30));
        config.channel_binding(match word("channel_binding") {
            None | Some("prefer") => ChannelBinding::Prefer,
            Some("require") => ChannelBinding::Require,
            Some("disable") => ChannelBinding::Disable,
            Some(other) => return Err(wrong(format!("channel_binding is {other:?}"))),
        });
        // An address of its own is where the connection goes, whatever the host is called.
        let is_local = config.get_hosts().iter().all(is_local)
            && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let tls = tls::of(word("sslmode"), is_local, word)?;
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        let schema = schema_name(word("schema").unwrap_or(SCHEMA_DEFAULT))?;
        let hosts = u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX);
        Ok(Self {
            shown: shown(&config, user, database, &schema),
            is_in_clear: tls.is_none() && !is_local,
            connect_timeout: connect_timeout.saturating_mul(hosts) + Duration::from_secs(1),
            config,
            tls,
            schema,
        })
    }

    /// The address without a password and without what is as always.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Where the ledger is, in full and without who asks: it leads there whatever the environment,
    /// a service or a settings file says later.
    pub fn place(&self) -> String {
        let ports = self.config.get_ports();
        let host = |(index, host): (usize, &Host)| {
            format!("{}:{}", host_name(host), ports.get(index).or(ports.first()).unwrap_or(&5432))
        };
        let hosts: Vec<String> = self.config.get_hosts().iter().enumerate().map(host).collect();
        let addresses: Vec<String> =
            self.config.get_hostaddrs().iter().map(ToString::to_string).collect();
        let addresses = match addresses.as_slice() {
            [] => String::new(),
            some => format!("&hostaddr={}", some.join(",")),
        };
        let database = self.config.get_dbname().unwrap_or_default();
        format!("postgres://{}/{database}?schema={}{addresses}", hosts.join(","), self.schema)
    }

    /// Whether what is said crosses a network without TLS, because the address asks for that.
    pub const fn is_in_clear(&self) -> bool {
        self.is_in_clear
    }

    /// Whether TLS is used, with a certificate that is checked.
    pub const fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether a password was found for it.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// The schema that the ledger is in: lower-case letters, digits and `_`.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The one text that is put together: the name has only letters that need no quoting.
    pub(super) fn create_schema(&self) -> String {
        format!("CREATE SCHEMA \"{}\"", self.schema)
    }

    pub(super) const fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn tls(&self) -> Option<MakeRustlsConnect> {
        self.tls.clone()
    }

    /// For all hosts together.
    pub(super) const fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerAddress").field(&self.shown).finish()
    }
}

impl PartialEq for ServerAddress {
    fn eq(&self, other: &Self) -> bool {
        self.shown == other.shown
    }
}

impl Eq for ServerAddress {}

fn seconds(text: Option<&str>) -> Result<Option<Duration>, AddressError> {
    let Some(text) = text else { return Ok(None) };
    match text.parse::<u32>() {
        // As in PostgreSQL's own library, 0 would be for ever; every wait of ours has an end.
        Ok(seconds @ 1..=3600) => Ok(Some(Duration::from_secs(u64::from(seconds)))),
        _ => Err(wrong(format!("connect_timeout is {text:?}: 1 to 3600 seconds"))),
    }
}

fn set_hosts(
    config: &mut Config,
    hosts: Option<&str>,
    addresses: Option<&str>,
    ports: Option<&str>,
) -> Result<(), AddressError> {
    match (hosts, addresses) {
        (Some(hosts), _) => hosts.split(',').for_each(|host| {
            config.host(if host.is_empty() { "localhost" } else { host });
        }),
        (None, Some(addresses)) => addresses.split(',').for_each(|address| {
            config.host(address);
        }),
        (None, None) => {
            let is_there = |directory: &&&str| Path::new(directory).is_dir();
            let found = SOCKET_DIRECTORIES.iter().find(is_there).unwrap_or(&"localhost");
            config.host(*found);
        }
    }
    for address in addresses.into_iter().flat_map(|addresses| addresses.split(',')) {
        let address = address.parse().map_err(|_| wrong(format!("hostaddr is {address:?}")))?;
        config.hostaddr(address);
    }
    for port in ports.into_iter().flat_map(|ports| ports.split(',')) {
        let number = if port.is_empty() { Ok(5432) } else { port.parse() };
        match number {
            Ok(number @ 1..) => config.port(number),
            // Without an @ it may be a password.
            _ if port.bytes().any(|byte| !byte.is_ascii_digit()) => {
                return Err(wrong("the port is no number: after HOST: comes 1 to 65535"));
            }
            _ => return Err(wrong(format!("the port is {port:?}: 1 to 65535"))),
        };
    }
    let (hosts, ports) = (config.get_hosts().len(), config.get_ports().len());
    if ports > 1 && ports != hosts {
        return Err(wrong(format!("{ports} ports for {hosts} hosts")));
    }
    let addresses = config.get_hostaddrs().len();
    if addresses > 0 && addresses != hosts {
        return Err(wrong(format!("{addresses} addresses in hostaddr for {hosts} hosts")));
    }
    Ok(())
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
    }
}

fn schema_name(text: &str) -> Result<String, AddressError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_name = text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_plain);
    if is_name && text.len() <= 63 && !text.starts_with("pg_") && text != "public" {
        return Ok(text.to_owned());
    }
    Err(wrong(format!(
        "the schema is {text:?}: up to 63 lower-case letters, digits and _, of the ledger alone"
    )))
}

/// A host as an address has it.
fn host_name(host: &Host) -> String {
    match host {
        Host::Tcp(name) if name.contains(':') => format!("[{name}]"),
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string().replace('/', "%2F"),
    }
}

fn shown(config: &Config, user: &str, database: &str, schema: &str) -> String {
    let ports = config.get_ports();
    let host = |(index, host): (usize, &Host)| {
        let name = host_name(host);
        match ports.get(index).or(ports.first()) {
            Some(port) if *port != 5432 => format!("{name}:{port}"),
            _ => name,
        }
    };
    let hosts: Vec<String> = config.get_hosts().iter().enumerate().map(host).collect();
    let mut query = Vec::new();
    let addresses: Vec<String> = config.get_hostaddrs().iter().map(IpAddr::to_string).collect();
    let is_told =
        |(host, address): (&Host, &String)| matches!(host, Host::Tcp(name) if name == address);
    if !config.get_hosts().iter().zip(&addresses).all(is_told) {
        query.push(format!("hostaddr={}", addresses.join(",")));
    }
    if schema != SCHEMA_DEFAULT {
        query.push(format!("schema={schema}"));
    }
    let mark = if query.is_empty() { "" } else { "?" };
    format!("postgres://{user}@{}/{database}{mark}{}", hosts.join(","), query.join("&"))
}
