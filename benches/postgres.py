#!/usr/bin/env python3
"""Puts on PostgreSQL beside pgbench with an equivalent hand-written transaction, as ratios.

    cargo build --release && cargo build --release --example server
    benches/postgres.py [--clients N]... [--seconds S] [--rounds N]

Makes a server of its own in a temporary directory, with the settings that it comes with
(`synchronous_commit = on`, `fsync = on`), and in it two schemas with the same ledger. In one of them
`benches/server.rs` puts by the library; in the other pgbench runs the statements of such a put one
after the other, with texts of the same length: the settings, the locks, the clock, the reads, the
event inserts, the projections, COMMIT. The two take turns. Each client has a connection and a
service of its own. Both protocols of pgbench are shown: `extended` sends each statement as we do;
`prepared` has every statement prepared once, which we do not, because a pooler in transaction mode
would lose it. Needs PostgreSQL with pgbench; root becomes `postgres` for the server.

With `--barrier` it measures instead what a stored answer costs where a standby has to have it
(docs/decisions/0045): one client, puts and replays, with a synchronous standby and without, in turns.
"""

import argparse
import os
import pwd
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# As the JSON of a put: an event, the head of the service, an execution; a policy, an actuator.
LENGTHS = {"event": 1900, "head": 2000, "execution": 2700}
POLICY = '@id("all")\npermit(principal, action, resource);\n'

READ_EXECUTION = """SELECT position, execution_key, service, intent_id, intent_revision, dry_run, live,
 unfinished, state, version, document FROM execution"""
INSERT_EVENT = """INSERT INTO event (stream, sequence, command_id, at, kind, execution_key, body, hash)
 VALUES (E'service\\x3aweb-' || :client_id, CAST(:sequence AS BIGINT) + {number}, 'cmd-' || :unique, :now,
 '{kind}', :key, :event, CAST(:hash AS BYTEA))"""

# The statements of `ledger/`, in the order of a put that supersedes the one before.
TRANSACTION = f"""\\set unique random(1, 1000000000000000)
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('search_path', 'theirs, pg_temp', true),
 set_config('lock_timeout', '5000', true), set_config('statement_timeout', '30000', true),
 set_config('idle_in_transaction_session_timeout', '30000', true),
 set_config('synchronous_commit',
  CASE WHEN current_setting('synchronous_commit') IN ('on', 'remote_apply')
  THEN current_setting('synchronous_commit') ELSE 'on' END, true), CAST(pg_backend_pid() AS BIGINT);
SELECT CASE WHEN l LIKE 'x%' THEN CAST(pg_advisory_xact_lock(CAST(substr(l, 2) AS BIGINT)) AS TEXT)
 ELSE CAST(pg_advisory_xact_lock_shared(CAST(substr(l, 2) AS BIGINT)) AS TEXT) END
 FROM unnest(string_to_array('s7001 s7002 x' || (8000 + CAST(:client_id AS BIGINT)) || ' x' ||
  (1000000 + CAST(:unique AS BIGINT)), ' ')) AS l;
SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) AS now \\gset
SELECT ledger_id, incarnation, (SELECT CASE WHEN kind = 'ledger_sealed' THEN body END FROM event
 WHERE stream = 'registry' ORDER BY sequence DESC LIMIT 1) FROM ledger WHERE singleton = 1;
SELECT version, head FROM service WHERE name = 'web-' || :client_id;
{READ_EXECUTION} WHERE service = 'web-' || :client_id AND unfinished = 1 AND live = 1
 ORDER BY intent_revision DESC, position DESC;
{READ_EXECUTION} WHERE execution_key = 'bench-' || :unique;
SELECT execution_key FROM execution WHERE intent_id = 'bench-' || :unique AND intent_revision = 1
 AND dry_run = 0;
SELECT version, body FROM document WHERE kind = 'actuator' AND name = 'nothing';
SELECT version, body FROM document WHERE kind = 'policy' AND name = 'current';
SELECT sequence, hash FROM event WHERE stream = E'service\\x3aweb-' || :client_id
 ORDER BY sequence DESC LIMIT 1 \\gset
@EVENTS@
UPDATE service SET version = CAST(:sequence AS BIGINT) + @COUNT@, head = :head
 WHERE name = 'web-' || :client_id AND version = :sequence;
UPDATE execution SET live = 1, unfinished = 0, state = 'superseded',
 version = CAST(:sequence AS BIGINT) + @COUNT@, document = :execution
 WHERE service = 'web-' || :client_id AND unfinished = 1;
INSERT INTO execution (position, execution_key, service, intent_id, intent_revision, dry_run, live,
 unfinished, state, version, document)
 VALUES ((SELECT position FROM event WHERE stream = E'service\\x3aweb-' || :client_id
 AND sequence = CAST(:sequence AS BIGINT) + 1), 'bench-' || :unique, 'web-' || :client_id,
 'bench-' || :unique, :sequence, 0, 1, 1, 'accepted', CAST(:sequence AS BIGINT) + @COUNT@, :execution)
 ON CONFLICT DO NOTHING;
COMMIT;
"""


def programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))
    if found:
        return found[-1].parent
    path = shutil.which("pgbench")
    return Path(path).resolve().parent if path else sys.exit("pgbench is missing")


class Server:
    """A server of its own; it ends with this."""

    def __init__(self, directory):
        self.bin, self.home, self.port = programs(), Path(directory), "54399"
        self.user = {}
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            self.user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(directory, user.pw_uid, user.pw_gid)
        self.data = self.home / "data"
        self.call("initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8",
                  "--locale=C.UTF-8", "--pgdata", self.data)
        with open(self.data / "postgresql.auto.conf", "a", encoding="utf-8") as conf:
            conf.write(f"listen_addresses = ''\nport = {self.port}\n"
                       f"unix_socket_directories = '{self.home}'\n")
        self.process = subprocess.Popen(
            [self.bin / "postgres", "-D", self.data], cwd="/", stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, **self.user)
        for _ in range(200):
            if self.psql("SELECT 1", check=False).returncode == 0:
                return
            time.sleep(0.1)
        sys.exit("the server does not answer")

    def call(self, program, *args):
        done = subprocess.run([self.bin / program, *args], cwd="/", capture_output=True, text=True,
                              **self.user)
        if done.returncode != 0:
            sys.exit(f"{program}: {done.stderr}")
        return done

    def psql(self, sql, check=True):
        done = subprocess.run(
            [self.bin / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres",
             "-h", self.home, "-p", self.port, "-d", "postgres", "-c", sql],
            capture_output=True, text=True)
        if check and done.returncode != 0:
            sys.exit(f"{sql}: {done.stderr}")
        return done

    def address(self, schema):
        host = str(self.home).replace("/", "%2F")
        return f"postgres://postgres@{host}:{self.port}/postgres?schema={schema}"

    def end(self):
        self.process.terminate()
        self.process.wait()


def make_ledger(server, binary, schema, services, home):
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "SCALECTL_LEDGER": server.address(schema)}

    def run(*words):
        done = subprocess.run([binary, *words], env=env, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: {done.stdout}{done.stderr}")

    (home / "all.cedar").write_text(POLICY)
    (home / "nothing.sh").write_text(
        'read -r _; echo \'{"protocol":"scalectl.actuator/1","name":"nothing","version":"1"}\'\n')
    run("init")
    run("policy", "put", str(home / "all.cedar"), "--reason", "bench")
    run("actuator", "put", "nothing", "--", "/bin/sh", str(home / "nothing.sh"))
    for number in range(services):
        run("service", "put", f"web-{number}", "--actuator", "nothing", "--writer", "ops", "--min",
            "0", "--max", "10", "--cluster", "bench", "--runtime", "none", "--workload",
            f"web-{number}", "--target-uid", f"uid-{number}", "--target-version", "1", "--drain",
            "none", "--cooldown", "none")


def ours(server, clients, seconds, *more):
    """Puts a second, and the median of one in milliseconds."""
    driver = HERE.parent / "target/release/examples/server"
    done = subprocess.run([driver, server.address("ours"), str(clients), str(seconds), *more],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"server: {done.stderr}")
    count, micros, median = (int(word) for word in done.stdout.split())
    return count / micros * 1e6, median / 1000


def theirs(server, script, protocol, clients, seconds):
    words = {"hash": "\\x" + "00" * 32, "key": "bench-key"}
    words |= {name: "x" * length for name, length in LENGTHS.items()}
    define = [word for name, text in words.items() for word in ("-D", f"{name}={text}")]
    threads = str(min(clients, os.cpu_count() or 1))
    done = subprocess.run(
        [server.bin / "pgbench", "-n", "-M", protocol, "-c", str(clients), "-j", threads, "-T",
         str(seconds), "-f", script, *define, "-U", "postgres", "-h", server.home, "-p",
         server.port, "postgres"],
        capture_output=True, text=True)
    rate = [line for line in done.stdout.splitlines() if line.startswith("tps = ")]
    failed = [line for line in done.stdout.splitlines()
              if "failed" in line and not line.endswith(" 0 (0.000%)")]
    if done.returncode != 0 or not rate or failed or "error" in done.stderr:
        sys.exit(f"pgbench: {done.stdout}{done.stderr}")
    return float(rate[0].split()[2])


def events_of_a_put(server):
    """The kinds of the events of the newest put of the first service, the oldest first."""
    return server.psql(
        "SELECT kind FROM ours.event WHERE stream = 'service:web-0' AND command_id = (SELECT "
        "command_id FROM ours.event WHERE stream = 'service:web-0' ORDER BY sequence DESC LIMIT 1) "
        "ORDER BY sequence").stdout.split()


def check_lengths(server):
    """What pgbench writes must be as long as what is written by us, or it is no peer."""
    found = server.psql(
        "SELECT (SELECT avg(length(body))::int FROM ours.event WHERE stream = 'service:web-0' AND "
        "sequence > 1), (SELECT avg(length(head))::int FROM ours.service), (SELECT "
        "avg(length(document))::int FROM ours.execution)").stdout.strip().split("|")
    for name, length in zip(LENGTHS, map(int, found)):
        LENGTHS[name] = length
    print("bytes:", ", ".join(f"{name} {length}" for name, length in LENGTHS.items()))


def check_peer(server, count):
    """pgbench must have changed every row that it says to change."""
    found = server.psql(
        "SELECT (SELECT count(*) FROM theirs.event WHERE command_id LIKE 'cmd-%' AND "
        "execution_key = 'bench-key'), (SELECT count(*) FROM theirs.execution), (SELECT count(*) "
        "FROM theirs.execution WHERE unfinished = 1), (SELECT count(*) FROM theirs.service AS s WHERE "
        "version = (SELECT max(sequence) FROM theirs.event WHERE stream LIKE '%' || s.name))")
    events, executions, unfinished, services = map(int, found.stdout.strip().split("|"))
    if events != executions * count or not 0 < unfinished <= services:
        sys.exit(f"pgbench is no peer: {events} events, {executions} executions, "
                 f"{unfinished} unfinished, {services} services")


def barrier(server, args):
    """Puts and replays by one client, with a standby that has to have them and without one."""
    standby = server.home / "standby"
    server.call("pg_basebackup", "-R", "-X", "stream", "-c", "fast", "-U", "postgres", "-h",
                server.home, "-p", server.port, "-D", standby)
    with open(standby / "postgresql.auto.conf", "a", encoding="utf-8") as conf:
        conf.write("port = 54398\n")
    process = subprocess.Popen([server.bin / "postgres", "-D", standby], cwd="/",
                               stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **server.user)
    try:
        found = {}
        for turn in range(args.rounds):
            names = ["", "*"]
            for name in names[turn % 2:] + names[:turn % 2]:
                server.psql(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
                server.psql("SELECT pg_reload_conf()")
                wanted = "sync" if name else "async"
                for _ in range(100):
                    state = server.psql("SELECT sync_state FROM pg_stat_replication").stdout.strip()
                    if state == wanted:
                        break
                    time.sleep(0.1)
                else:
                    sys.exit(f"the standby is {state!r}, not {wanted}")
                for what in ([], ["replay"]):
                    rate, _ = ours(server, 1, args.seconds, *what)
                    found.setdefault((name, "".join(what) or "put"), []).append(rate)
        for what in ("put", "replay"):
            alone, held = found["", what], found["*", what]
            ratio = statistics.median(a / b for a, b in zip(alone, held))
            print(f"{what}: {statistics.median(alone):.0f}/s alone, {statistics.median(held):.0f}/s "
                  f"with a synchronous standby; time {ratio:.2f} x")
        shares = [b / a for a, b in zip(found["*", "put"], found["*", "replay"])]
        print(f"with the standby: {statistics.median(shares):.2f} replays in the time of a put")
    finally:
        process.terminate()
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=HERE.parent / "target/release/scalectl")
    parser.add_argument("--clients", type=int, action="append")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--barrier", action="store_true")
    args = parser.parse_args()
    sizes = args.clients or [1, 8, 32]
    with tempfile.TemporaryDirectory(prefix="scalectl-bench-") as directory:
        os.chmod(directory, 0o755)
        place = Path(directory) / "server"
        place.mkdir()
        server = Server(place)
        try:
            home = Path(directory)
            for schema in ("ours", "theirs"):
                make_ledger(server, args.binary, schema, max(sizes), home)
            ours(server, max(sizes), 1)
            if args.barrier:
                barrier(server, args)
                return
            check_lengths(server)
            kinds = events_of_a_put(server)
            print("events of a put:", ", ".join(kinds))
            events = ";\n".join(
                INSERT_EVENT.format(number=at + 1, kind=kind) for at, kind in enumerate(kinds)) + ";"
            script = home / "put.sql"
            script.write_text(
                TRANSACTION.replace("@EVENTS@", events).replace("@COUNT@", str(len(kinds))))
            compare(server, script, sizes, args)
            check_peer(server, len(kinds))
        finally:
            server.end()


def compare(server, script, sizes, args):
    alone = None
    for clients in sizes:
        rates = {"ours": [], "extended": [], "prepared": []}
        medians = []
        for turn in range(args.rounds):
            names = list(rates)
            for name in names[turn % 3:] + names[:turn % 3]:
                server.psql("CHECKPOINT")
                if name == "ours":
                    rate, median = ours(server, clients, args.seconds)
                    medians.append(median)
                else:
                    rate = theirs(server, script, name, clients, args.seconds)
                rates[name].append(rate)
        middle = {name: statistics.median(found) for name, found in rates.items()}
        ratios = {name: statistics.median(a / b for a, b in zip(rates["ours"], rates[name]))
                  for name in ("extended", "prepared")}
        alone = alone or middle["ours"]
        print(f"{clients:>2} clients: {middle['ours']:.0f} puts/s (median "
              f"{statistics.median(medians):.1f} ms, {middle['ours'] / alone:.1f} x the first row); "
              f"pgbench extended {middle['extended']:.0f}, prepared {middle['prepared']:.0f}; "
              f"ratio {ratios['extended']:.2f} (at least 0.6), {ratios['prepared']:.2f}")


if __name__ == "__main__":
    main()
