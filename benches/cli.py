#!/usr/bin/env python3
"""The bars of docs/performance.md: scalectl against the sqlite3 shell and /bin/true, as ratios.

    benches/cli.py [--binary PATH] [--against PATH]... [--rounds N] [--only PART]...

Every part runs its variants in rotating order and compares them round by round, so that a slow
moment of the machine falls on both sides. Only ratios within one run compare. On a busy machine
waiting for the disk hides everything else: look at the ratio of the first deciles then. Needs
sqlite3, a C compiler and /bin/true; kubectl is compared where it is found. Writes only below a
temporary directory, and leaves nothing behind.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MEMORY_KIB_MAX = 16 * 1024
# An event of a put is about so long; the shell inserts one as long.
BODY_BYTES = 1900
# 20 rules: the three of the starter policy, and these.
EXTRA_RULE = """
@id("extra-{n}")
forbid (principal, action in [Action::"scale_up", Action::"scale_down", Action::"scale_to_zero"],
  resource is Service)
when {{
  resource.hasTag("tier") && resource.getTag("tier") == "frozen-{n}" && context.desired > {n}
}};
"""


class World:
    """A private home with a ledger, a do-nothing actuator and one service."""

    def __init__(self, directory, binary, tools, rules=3):
        self.home = Path(directory)
        self.home.mkdir(parents=True)
        self.binary, self.tools = str(binary), tools
        self.env = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
        self.puts = 0
        self.ledger = self.home / ".local/state/scalectl/ledger.db"
        policy = self.home / "policy.cedar"
        self.scalectl("init", "--starter-policy", "local")
        text = self.scalectl("policy", "template", "local").stdout
        user = json.loads(self.scalectl("policy", "show", "-o", "json").stdout)
        user = find_user(json.dumps(user)) or "root"
        text = text.replace("OS_USER", user).replace('adapter == "local"', 'adapter == "nothing"')
        policy.write_text(text + "".join(EXTRA_RULE.format(n=n) for n in range(rules - 3)))
        self.scalectl("policy", "put", str(policy), "--reason", "bench")
        self.scalectl("actuator", "put", "nothing", "--", tools["nothing"])
        self.scalectl(
            "service", "put", "web", "--actuator", "nothing", "--writer", "ops", "--min", "0",
            "--max", "10", "--cluster", "bench", "--runtime", "none", "--target-uid", "uid-1",
            "--target-version", "1", "--drain", "none", "--cooldown", "none")

    def scalectl(self, *args):
        done = subprocess.run([self.binary, *args], env=self.env, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(args)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def timed(self, *command):
        """Nanoseconds and peak KiB of one run that must succeed."""
        done = subprocess.run(
            [self.tools["timed"], *map(str, command)], env=self.env, capture_output=True, text=True)
        nanos, code, kib = (int(word) for word in done.stdout.split())
        if code != 0:
            sys.exit(f"{command}: exit {code}")
        return nanos, kib

    def put(self):
        self.puts += 1
        return ["intent", "put", "web", "--replicas", str(1 + self.puts % 9), "--key",
                f"k{self.puts}", "--reason", "bench", "--expect-revision", "latest"]

    def scale(self):
        self.puts += 1
        return ["scale", f"web={1 + self.puts % 9}", "--key", f"k{self.puts}", "--reason", "bench"]

    def key(self):
        return ["--key", f"k{self.puts}"]

    def events(self):
        return int(self.sql("SELECT count(*) FROM event"))

    def sql(self, text):
        return subprocess.run(["sqlite3", str(self.ledger), text], capture_output=True, text=True,
                              check=True).stdout.strip()

    def shell_copy(self):
        """A ledger with the same tables and rows, into which the shell inserts events."""
        copy = self.home / "shell.db"
        subprocess.run(["sqlite3", str(self.ledger), f"VACUUM INTO '{copy}'"], check=True)
        subprocess.run(["sqlite3", str(copy), "PRAGMA journal_mode = WAL"], check=True,
                       capture_output=True)
        return copy


def find_user(text):
    marker = 'context.os_user == \\\\\\"'
    at = text.find(marker)
    if at < 0:
        return None
    return text[at + len(marker):].split("\\", 1)[0]


def insert(copy, number):
    body = "x" * BODY_BYTES
    return ["sqlite3", copy, "PRAGMA synchronous = FULL; INSERT INTO event (stream, sequence, "
            "command_id, at, kind, execution_key, body, hash) VALUES "
            f"('bench', {number}, 'c{number}', 1, 'k', 'k{number}', '{body}', zeroblob(32));"]


def rotated(variants, rounds):
    """Runs every variant once a round, in rotating order; answers the nanoseconds by name."""
    names, times = list(variants), {name: [] for name in variants}
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            times[name].append(variants[name]())
    return times


def ratio_line(what, above, below, bar=None):
    ratios = sorted(a / b for a, b in zip(above, below))
    of_medians = statistics.median(above) / statistics.median(below)
    median = statistics.median(ratios)
    verdict = "" if bar is None else f"  bar {bar:.2f}  " + ("met" if median <= bar else "NOT MET")
    decile = lambda values: sorted(values)[len(values) // 10]
    of_deciles = decile(above) / decile(below)
    print(f"  {what:<58} {median:5.2f}  min {ratios[0]:.2f} max {ratios[-1]:.2f}  "
          f"of medians {of_medians:.2f}  of 1st deciles {of_deciles:.2f}{verdict}")


def median_ms(times):
    return {name: round(statistics.median(values) / 1e6, 2) for name, values in times.items()}


class Shell:
    def __init__(self, world):
        self.world, self.copy, self.number = world, world.shell_copy(), 0

    def __call__(self):
        self.number += 1
        return self.world.timed(*insert(self.copy, self.number))[0]


def bench_put(worlds, rounds, rules, bar):
    print(f"intent put, {rules} rules, against one insert by the shell")
    shell = Shell(worlds[0])
    variants = {"shell": shell}
    for index, world in enumerate(worlds):
        def wished(world=world):
            nanos = world.timed(world.binary, *world.put())[0]
            # Otherwise the next put would also have to supersede this one.
            world.scalectl("intent", "withdraw", *world.key())
            return nanos
        variants[f"put{index}"] = wished
    times = rotated(variants, rounds)
    for index, world in enumerate(worlds):
        ratio_line(f"put / insert  [{label(world)}]", times[f"put{index}"], times["shell"], bar)
    print("   ", median_ms(times), "ms")


def bench_actuate(worlds, rounds):
    print("actuate, against two inserts and two spawns of /bin/true")
    shell = Shell(worlds[0])
    true = lambda: worlds[0].timed("/bin/true")[0]
    variants = {"insert": shell, "insert again": shell, "true": true, "true again": true}
    for index, world in enumerate(worlds):
        def carried(world=world):
            world.scalectl(*world.put())
            nanos = world.timed(world.binary, "actuate", *world.key())[0]
            world.scalectl("observe", *world.key())
            return nanos
        variants[f"actuate{index}"] = carried
    times = rotated(variants, rounds)
    below = [sum(row) for row in zip(*(times[n] for n in list(variants)[:4]))]
    for index, world in enumerate(worlds):
        ratio_line(f"actuate / (2 inserts + 2 true)  [{label(world)}]", times[f"actuate{index}"],
                   below, 1.0)
    print("   ", median_ms(times), "ms")


def bench_scale(worlds, rounds):
    world = worlds[0]
    before = int(world.sql("SELECT count(DISTINCT command_id) FROM event"))
    world.scalectl(*world.scale())
    commits = int(world.sql("SELECT count(DISTINCT command_id) FROM event")) - before
    spawns = 2
    print(f"scale, against {commits} inserts (its commits) and {spawns} spawns (guard, actuator)")
    shell = Shell(world)
    variants = {"insert": shell, "true": lambda: world.timed("/bin/true")[0]}
    if shutil.which("kubectl"):
        variants["kubectl"] = lambda: world.timed("kubectl", "version", "--client")[0]
    for index, each in enumerate(worlds):
        variants[f"scale{index}"] = lambda each=each: each.timed(each.binary, *each.scale())[0]
    times = rotated(variants, rounds)
    below = [commits * i + spawns * t for i, t in zip(times["insert"], times["true"])]
    for index, each in enumerate(worlds):
        above = times[f"scale{index}"]
        ratio_line(f"scale / ({commits} inserts + {spawns} true)  [{label(each)}]", above, below,
                   1.5)
        if "kubectl" in times:
            ratio_line(f"scale / kubectl version --client  [{label(each)}]", above,
                       times["kubectl"], 1.0)
    print("   ", median_ms(times), "ms")


def grow(world, events):
    """Makes the ledger as long by puts that the commands themselves have made, repeated."""
    world.scalectl(*world.put())
    world.scalectl("actuate", *world.key())
    world.scalectl("observe", *world.key())
    now = world.events()
    missing = max(0, events - now)
    if missing == 0:
        return
    # Events of a stream that no command reads, and finished executions of another service.
    world.sql(f"""
        BEGIN;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {missing})
        INSERT INTO event (stream, sequence, command_id, at, kind, execution_key, body, hash)
        SELECT 'service:other', i, 'cmd-' || i, e.at, e.kind, 'other-' || i, e.body, randomblob(32)
        FROM n, (SELECT * FROM event WHERE execution_key IS NOT NULL
                 ORDER BY position DESC LIMIT 1) e;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {missing} / 5)
        INSERT INTO execution (position, execution_key, service, intent_id, intent_revision,
                               dry_run, live, unfinished, state, version, document)
        SELECT x.position + i, 'other-' || i, 'other', 'other-' || i, i,
               0, 1, 0, x.state, 1, x.document
        FROM n, (SELECT * FROM execution ORDER BY position DESC LIMIT 1) x;
        COMMIT;""")


def bench_growth(small, large, rounds):
    print(f"growth: the same commands at {small.events()} and at {large.events()} events")
    steps = {"put": [], "actuate": [], "observe": [], "show": []}
    memory = {name: [0, 0] for name in steps}

    def walk(world, index):
        taken = {}
        for name, command in (("put", world.put()), ("actuate", ["actuate", *world.key()]),
                              ("observe", ["observe", *world.key()]),
                              ("show", ["intent", "show", *world.key()])):
            taken[name], kib = world.timed(world.binary, *command)
            memory[name][index] = max(memory[name][index], kib)
        return taken

    for turn in range(rounds):
        order = [(small, 0), (large, 1)]
        got = {index: walk(world, index) for world, index in (order if turn % 2 else order[::-1])}
        for name, pairs in steps.items():
            pairs.append((got[0][name], got[1][name]))
    for name, pairs in steps.items():
        ratio_line(f"{name}: large / small", [b for _, b in pairs], [a for a, _ in pairs], 1.1)
    print(f"memory, peak in MiB (bar 16): small and large ledger")
    for name, kib in memory.items():
        met = "met" if max(kib) <= MEMORY_KIB_MAX else "NOT MET"
        print(f"  {name:<10} {kib[0] / 1024:6.1f} {kib[1] / 1024:6.1f}  {met}")


def bare_loop(ledger):
    """Reads and hashes the rows that verify reads, and judges nothing."""
    import hashlib
    import sqlite3
    last = b""
    for row in sqlite3.connect(f"file:{ledger}?mode=ro", uri=True).execute(
            "SELECT stream, sequence, command_id, body, hash FROM event "
            "ORDER BY stream, sequence"):
        hasher = hashlib.sha256(last)
        hasher.update(row[0].encode())
        hasher.update(row[2].encode())
        hasher.update(row[3].encode())
        last = hasher.digest()


def bench_verify(world, rounds, puts):
    for _ in range(puts):
        world.scalectl(*world.put())
    print(f"verify, {world.events()} events, against a loop that reads and hashes the same rows")
    start = lambda: world.timed(sys.executable, __file__, "--bare", os.devnull)[0]
    times = rotated({
        "verify": lambda: world.timed(world.binary, "verify")[0],
        "bare": lambda: world.timed(sys.executable, __file__, "--bare", world.ledger)[0] - start(),
    }, rounds)
    ratios = sorted(b / v for v, b in zip(times["verify"], times["bare"]))
    median = statistics.median(ratios)
    print(f"  speed of verify / of the loop  {median:.2f}  min {ratios[0]:.2f} max "
          f"{ratios[-1]:.2f}  bar 0.25  " + ("met" if median >= 0.25 else "NOT MET"))
    print("   ", median_ms(times), "ms")


def label(world):
    return Path(world.binary).name if len(sys.argv) == 1 else world.binary


def build_tools(directory):
    tools = {}
    for name in ("nothing", "timed"):
        tools[name] = str(directory / name)
        source = str(HERE / f"{name}.c")
        subprocess.run(["cc", "-O2", "-static", "-o", tools[name], source], check=True)
    return tools


def machine():
    models = (line.split(":")[1] for line in open("/proc/cpuinfo") if "model name" in line)
    cpu = next(models, "?").strip()
    version = subprocess.run(["sqlite3", "--version"], capture_output=True, text=True)
    sqlite = version.stdout.split()[0]
    return (f"{os.cpu_count()} x {cpu}, Linux {platform.release()}, sqlite3 shell {sqlite}, load "
            f"{os.getloadavg()[0]:.2f}")


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--binary", default=str(HERE.parent / "target/release/scalectl"))
    options.add_argument("--against", action="append", default=[],
                         help="another binary, interleaved")
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--only", action="append", choices=[
        "put", "put20", "actuate", "scale", "growth", "verify"])
    options.add_argument("--verify-puts", type=int, default=5000)
    options.add_argument("--bare", help=argparse.SUPPRESS)
    options.add_argument("--events", type=int, default=100_000, help="of the large ledger")
    chosen = options.parse_args()
    if chosen.bare:
        return None if chosen.bare == os.devnull else bare_loop(chosen.bare)
    wants = lambda part: chosen.only is None or part in chosen.only
    binaries = [chosen.binary, *chosen.against]
    print(f"{machine()}\n{chosen.rounds} rounds; the median of the ratios of all rounds")
    with tempfile.TemporaryDirectory(prefix="scalectl-bench-") as directory:
        directory = Path(directory)
        tools = build_tools(directory)
        make = lambda name, rules=3: [World(directory / f"{name}{i}", binary, tools, rules)
                                      for i, binary in enumerate(binaries)]
        if wants("put"):
            bench_put(make("put"), chosen.rounds, 3, 0.9)
        if wants("put20"):
            bench_put(make("put20-", 20), chosen.rounds, 20, 1.3)
        if wants("actuate"):
            bench_actuate(make("actuate"), chosen.rounds)
        if wants("scale"):
            bench_scale(make("scale"), chosen.rounds)
        if wants("growth"):
            small, large = (World(directory / n, binaries[0], tools) for n in ("small", "large"))
            grow(small, 1_000)
            grow(large, chosen.events)
            bench_growth(small, large, chosen.rounds)
        if wants("verify"):
            world = World(directory / "verify", binaries[0], tools)
            bench_verify(world, min(chosen.rounds, 15), chosen.verify_puts)


if __name__ == "__main__":
    main()
