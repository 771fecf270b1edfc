//! PostgreSQL for tests: clusters of their own, and a schema per world.
//!
//! A cluster is made by `initdb` in a temporary directory, as the user `postgres` where the tests
//! run as root, and is gone with the process that made it, however that ends: its keeper, a shell,
//! reads a pipe that nobody else holds, stops the server when the pipe is closed, and removes the
//! directory.

mod schema;

use std::io::Write as _;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub(crate) use schema::{HeldLocks, OwnSchema};

/// How a line without any choice says why it is about the default ledger.
pub(super) const CHOSEN_BY_DEFAULT: &str =
    "chosen by the default (no --ledger, no SCALECTL_LEDGER)";

/// Whether the worlds of this run have their ledgers on PostgreSQL.
pub(crate) fn is_the_engine() -> bool {
    match std::env::var("SCALECTL_TEST_ENGINE").as_deref() {
        Ok("postgres") => true,
        Err(_) | Ok("" | "sqlite") => false,
        Ok(other) => panic!("SCALECTL_TEST_ENGINE is {other:?}: sqlite or postgres"),
    }
}

/// Leaves a test that is about SQLite's own file when the ledgers are on PostgreSQL, with one line
/// that says so.
macro_rules! sqlite_only {
    ($why:literal) => {
        if $crate::support::postgres::is_the_engine() {
            let thread = std::thread::current();
            let test = thread.name().unwrap_or("a test");
            eprintln!("NOT ON POSTGRESQL: {test}: {}", $why);
            return;
        }
    };
}
pub(crate) use sqlite_only;

/// Where the programs of the newest installed server are.
fn programs() -> &'static Path {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let numbered = versions.filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        });
        let mut found: Vec<_> = numbered.filter(|(_, bin)| bin.join("initdb").exists()).collect();
        found.sort();
        found.pop().map(|(_, bin)| bin).or_else(|| {
            let path = std::env::var_os("PATH")?;
            std::env::split_paths(&path).find(|bin| bin.join("initdb").exists())
        })
    });
    found.as_deref().expect("PostgreSQL is missing: apt-get install postgresql")
}

/// Whom a server may run as: not root.
pub(crate) fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::getuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2).map(|field| field.parse().ok());
        Some((fields.next()??, fields.next()??))
    };
    Some(ids("postgres").or_else(|| ids("nobody")).expect("postgres or nobody is a user"))
}

/// Gives a file to whom servers run as, and to nobody else.
pub(crate) fn give(path: &Path) {
    if let Some((uid, gid)) = unprivileged() {
        chown(path, Some(uid), Some(gid)).unwrap();
    }
}

/// The children of a process.
fn processes_of(parent: i32) -> Vec<i32> {
    let is_child =
        |pid: &i32| super::stat_of(*pid).is_some_and(|fields| fields[1] == parent.to_string());
    super::pids().into_iter().filter(is_child).collect()
}

/// A server of its own.
pub(crate) struct Cluster {
    root: PathBuf,
    port: u16,
    keeper: Option<Child>,
    /// A library that the server is to load.
    preload: Option<PathBuf>,
}

impl Cluster {
    /// The cluster that the worlds of this process share, with the database `suite`.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| {
            let cluster = Self::start(&[]);
            cluster.psql(
                "postgres",
                "CREATE ROLE scalectl LOGIN;
                 CREATE DATABASE suite OWNER scalectl TEMPLATE template0 ENCODING 'UTF8'
                     LOCALE_PROVIDER icu ICU_LOCALE 'en-US'",
            );
            cluster
        })
    }

    /// A new cluster, with lines of `postgresql.conf`. The superuser is `postgres`; who comes by
    /// the socket or from this host is trusted.
    pub(crate) fn start(settings: &[&str]) -> Self {
        Self::made(Self::prepare(), settings)
    }

    /// The same, with a library between the server and the system, which is built where it is told.
    pub(crate) fn start_with(settings: &[&str], build: impl FnOnce(&Path)) -> Self {
        let mut cluster = Self::prepare();
        let library = cluster.root.join("preload.so");
        build(&library);
        give(&library);
        cluster.preload = Some(library);
        Self::made(cluster, settings)
    }

    fn made(cluster: Self, settings: &[&str]) -> Self {
        cluster.made_by("initdb", |command| {
            command.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8"]);
            command.args(["--locale=C.UTF-8", "--pgdata"]).arg(cluster.data());
        });
        cluster.up(settings)
    }

    /// A standby of another cluster, called `standby`.
    pub(crate) fn standby_of(primary: &Self, settings: &[&str]) -> Self {
        let cluster = Self::prepare();
        cluster.made_by("pg_basebackup", |command| {
            let source = format!(
                "host={} port={} user=postgres application_name=standby",
                primary.root.display(),
                primary.port
            );
            command.args(["--no-sync", "--checkpoint=fast", "--write-recovery-conf"]);
            command.args(["--dbname", &source, "--pgdata"]).arg(cluster.data());
        });
        cluster.up(settings)
    }

    /// A directory and a port; the port is free for now.
    fn prepare() -> Self {
        let root = tempfile::Builder::new().prefix("scalectl-pg-").tempdir().unwrap().keep();
        give(&root);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        Self { root, port, keeper: None, preload: None }
    }

    /// A program that runs as whom the server runs as.
    fn program(name: &Path) -> Command {
        let mut command = Command::new(name);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").current_dir("/");
        if let Some((uid, gid)) = unprivileged() {
            command.uid(uid).gid(gid);
        }
        command
    }

    fn made_by(&self, program: &str, arguments: impl FnOnce(&mut Command)) {
        let mut command = Self::program(&programs().join(program));
        arguments(&mut command);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{program}: {output:#?} in {}", self.root.display());
    }

    /// Starts the server, and waits until it answers.
    fn up(mut self, settings: &[&str]) -> Self {
        let mut lines = format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{}'\n\
             max_connections = 200\nautovacuum = off\nwal_keep_size = '64MB'\n\
             shared_buffers = '64MB'\n",
            self.port,
            self.root.display(),
        );
        lines.extend(settings.iter().map(|line| format!("{line}\n")));
        let file = self.data().join("postgresql.auto.conf");
        let mut file = std::fs::File::options().append(true).open(file).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
        self.restart();
        self
    }

    /// Starts the server on the data that are there, and waits until it answers.
    pub(crate) fn restart(&mut self) {
        assert!(self.keeper.is_none(), "it is running");
        // Whatever becomes of this process, the pipe is closed.
        let script = r#"
            "$1/postgres" -D "$2/data" >>"$2/log" 2>&1 &
            server=$!
            echo $server >"$2/pid"
            read -r word
            kill -QUIT $server 2>/dev/null
            wait $server
            [ "$word" = keep ] || rm -rf "$2"
        "#;
        let mut keeper = Self::program(Path::new("/bin/sh"));
        keeper.args(["-c", script, "keeper"]).arg(programs()).arg(&self.root);
        keeper.envs(self.preload.iter().map(|library| ("LD_PRELOAD", library)));
        // A Ctrl-C is for the tests; their end ends the server.
        keeper.process_group(0).stdin(Stdio::piped());
        self.keeper = Some(keeper.spawn().unwrap());
        let begun = Instant::now();
        while self.try_psql("postgres", "postgres", "SELECT 1").is_err() {
            let log = || std::fs::read_to_string(self.root.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_mins(1), "no server: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Where everything of it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.root
    }

    /// A folder that the server can read.
    pub(crate) fn folder_for(&self, what: &str) -> PathBuf {
        let folder = self.root.join(what);
        std::fs::create_dir_all(&folder).unwrap();
        give(&folder);
        folder
    }

    /// Where its data are.
    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Where its socket is.
    pub(crate) fn socket(&self) -> PathBuf {
        self.root.join(format!(".s.PGSQL.{}", self.port))
    }

    /// The directory of the socket, as an address has it.
    pub(crate) fn host(&self) -> String {
        self.root.to_str().unwrap().replace('/', "%2F")
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address of a database, by the socket.
    pub(crate) fn address(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@{}:{}/{database}", self.host(), self.port)
    }

    /// Runs SQL as the superuser and answers its rows, with `|` between columns.
    #[track_caller]
    pub(crate) fn psql(&self, database: &str, sql: &str) -> String {
        self.try_psql("postgres", database, sql)
            .unwrap_or_else(|problem| panic!("{sql}: {problem}"))
    }

    /// Runs SQL as somebody; the problem is what psql says.
    pub(crate) fn try_psql(&self, user: &str, database: &str, sql: &str) -> Result<String, String> {
        let mut child = self.psql_command(user, database).spawn().unwrap();
        // Whoever could not connect is gone before it has read; its words say so.
        let _ = child.stdin.take().unwrap().write_all(sql.as_bytes());
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout).unwrap().trim_end().to_owned());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// A psql that reads SQL from a pipe.
    pub(crate) fn psql_command(&self, user: &str, database: &str) -> Command {
        let mut command = Command::new(programs().join("psql"));
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/nonexistent");
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"]);
        command.args(["-U", user, "-d", database, "-p", &self.port.to_string(), "-h"]);
        command.arg(&self.root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The process of the server.
    pub(crate) fn pid(&self) -> rustix::process::Pid {
        let text = std::fs::read_to_string(self.root.join("pid")).unwrap();
        rustix::process::Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }

    /// Kills the server and all of its processes, as a power cut would, and keeps what is on disk.
    pub(crate) fn kill(&mut self) {
        let server = self.pid();
        let children = processes_of(server.as_raw_nonzero().get());
        for pid in std::iter::once(server.as_raw_nonzero().get()).chain(children) {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        self.end(b"keep\n");
    }

    /// Makes a standby the primary.
    pub(crate) fn promote(&self) {
        self.psql("postgres", "SELECT pg_promote()");
    }

    /// Appends lines to `pg_hba.conf`'s beginning and has the server read all files again.
    pub(crate) fn admits(&self, lines: &str) {
        let file = self.data().join("pg_hba.conf");
        let rest = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{lines}\n{rest}")).unwrap();
        self.psql("postgres", "SELECT pg_reload_conf()");
    }

    fn end(&mut self, word: &[u8]) {
        let Some(mut keeper) = self.keeper.take() else { return };
        let mut pipe = keeper.stdin.take().unwrap();
        let _ = pipe.write_all(word);
        drop(pipe);
        let _ = keeper.wait();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end(b"\n");
        let _ = std::fs::remove_dir_all(&self.root);
    }
}
