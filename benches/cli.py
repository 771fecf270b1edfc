#!/usr/bin/env python3
"""The bars of docs/performance.md: scalectl against its peers, as ratios within one run.

    cargo build --release && cargo build --release --example peer
    benches/cli.py [--binary PATH] [--against PATH]... [--rounds N] [--only PART]...

Without --only it prints every row. Every part runs its variants in rotating order and compares them
round by round, so that a slow moment of the machine falls on both sides. Only ratios within one run
compare. On a busy machine waiting for the disk hides everything else: look at the ratio of the
first deciles then. Needs sqlite3, flock, jq, a C compiler and /bin/true; kubectl is compared where
it is found. Writes only below a temporary directory, and leaves nothing behind.
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
import time
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


# The sizes at which the same commands are compared, in events of the ledger.
GROWTH_EVENTS = [1_000, 100_000, 1_000_000]
RACERS = 64


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

    def shell_copy(self, name="shell.db"):
        """A ledger with the same tables and rows, for a peer to write to."""
        copy = self.home / name
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


def grow(world, events, services=1):
    """Makes the ledger as long by whole lives of real wishes, and answers what it holds then."""
    done = subprocess.run([world.tools["peer"], "grow", world.ledger, str(events), str(services)],
                          env=world.env, capture_output=True, text=True, check=True)
    # What the next command finds is a ledger at rest, and not the log of a mass import.
    world.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return int(done.stdout)


def steps_of(world):
    """The commands whose time must not grow, in the order of a life."""
    put = world.put()
    return [("put", put), ("replay of a key", put), ("show", ["intent", "show", *world.key()]),
            ("actuate", ["actuate", *world.key()]), ("observe", ["observe", *world.key()]),
            ("status", ["status", "web"]), ("log, first page", ["log", "web", "--limit", "20"]),
            ("plan", ["plan", "web=3", "--reason", "bench"])]


def bench_growth(directory, binary, tools, sizes, rounds):
    for shape, services in (("one service", 1), ("1000 services", 1000)):
        worlds = []
        for size in sizes:
            world = World(directory / f"grown-{services}-{size}", binary, tools)
            grow(world, size, min(services, size // 10))
            worlds.append(world)
        shown = ", ".join(str(world.events()) for world in worlds)
        print(f"growth, {shape}: the same commands at {shown} events, against the first")
        times, memory = {}, {}
        for turn in range(rounds):
            order = list(enumerate(worlds))
            for at, world in order[turn % len(order):] + order[:turn % len(order)]:
                for name, command in steps_of(world):
                    nanos, kib = world.timed(world.binary, *command)
                    times.setdefault((name, at), []).append(nanos)
                    memory[name, at] = max(memory.get((name, at), 0), kib)
        names = list(dict.fromkeys(name for name, _ in times))
        for name in names:
            for at, size in list(enumerate(sizes))[1:]:
                ratio_line(f"{name}: {size} / {sizes[0]}", times[name, at], times[name, 0], 1.1)
        print("memory, peak in MiB (bar 16), by size")
        for name in names:
            kib = [memory[name, at] for at in range(len(sizes))]
            met = "met" if max(kib) <= MEMORY_KIB_MAX else "NOT MET"
            print(f"  {name:<18} {' '.join(f'{each / 1024:6.1f}' for each in kib)}  {met}")
        for world in worlds:
            shutil.rmtree(world.home)


def peer(world, *words):
    """The whole numbers that benches/peer.rs prints."""
    done = subprocess.run([world.tools["peer"], *map(str, words)], env=world.env,
                          capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def bench_peers(world, rounds):
    """What the same durable step costs elsewhere. No bars: the peers keep other promises."""
    print("intent put, against what else a person might use (below 1: the put is faster)")
    shell, number = Shell(world), iter(range(1, 1_000_000))
    loop, once = world.shell_copy("loop.db"), world.shell_copy("once.db")
    scripts = {}
    for keys in (10, 1_000, 10_000):
        scripts[keys] = world.home / f"script-{keys}.json"
        state = {"revision": keys, "replicas": 1, "keys": {f"old-{n}": 1 for n in range(keys)}}
        scripts[keys].write_text(json.dumps(state, separators=(",", ":")))

    def put():
        nanos = world.timed(world.binary, *world.put())[0]
        world.scalectl("intent", "withdraw", *world.key())
        return nanos

    variants = {
        "put": put,
        "insert by the sqlite3 shell": shell,
        "the same statements, a process": lambda: world.timed(
            world.tools["peer"], "once", once, next(number))[0],
        "the same statements, in a loop": lambda: peer(
            world, "loop", loop, next(number) * 20, 20, 1)[0],
    }
    for keys, path in scripts.items():
        variants[f"flock + sh + jq, {keys} keys"] = lambda path=path: world.timed(
            HERE / "script.sh", path, f"k{next(number)}", 3)[0]
    for size in (10, 1_000, 10_000):
        variants[f"journal rewritten, {size} receipts"] = lambda size=size: peer(
            world, "journal", world.home / f"journal-{size}.json", size, 3)[0]
    times = rotated(variants, rounds)
    for name in list(variants)[1:]:
        ratio_line(f"put / {name}", times["put"], times[name])
    print("   ", median_ms(times), "ms")


def bench_race(world, rounds):
    """All racers believe in the same revision: one wins, and the others are told."""
    def line(key, revision):
        return [world.binary, "intent", "put", "web", "--replicas", "3", "--key", key, "--reason",
                "bench", "--expect-revision", revision]

    def contest(turn, together):
        revision = str(world.puts)
        keys = [f"race-{turn}-{together}-{n}" for n in range(RACERS)]
        began = time.monotonic_ns()
        running, codes = [], []
        for key in keys:
            running.append(subprocess.Popen(
                line(key, revision), env=world.env, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL))
            if not together:
                codes.append(running.pop().wait())
        codes += [child.wait() for child in running]
        nanos = time.monotonic_ns() - began
        if sorted(codes) != [0] + [10] * (RACERS - 1):
            sys.exit(f"race: one must win and the others must be told, but the exits are {codes}")
        world.puts += 1
        world.scalectl("intent", "withdraw", "--key", keys[codes.index(0)])
        return nanos

    print(f"race: {RACERS} processes put on one revision; together, against one after the other")
    turns = iter(range(2 * rounds))
    times = rotated({"together": lambda: contest(next(turns), True),
                     "serial": lambda: contest(next(turns), False)}, rounds)
    ratio_line("wall of all together / one after the other", times["together"], times["serial"],
               2.0)
    print("   ", median_ms(times), "ms")


def bench_verify(directory, binary, tools, sizes, rounds):
    print("verify, against a loop that reads and hashes the same rows with the same SQLite")
    for size in sizes:
        world = World(directory / f"verify-{size}", binary, tools)
        grow(world, size)
        times, peak = {"verify": [], "events": [], "all": []}, 0
        for _ in range(rounds):
            nanos, kib = world.timed(world.binary, "verify")
            _, events, everything = peer(world, "read", world.ledger)
            for name, value in (("verify", nanos), ("events", events), ("all", everything)):
                times[name].append(value)
            peak = max(peak, kib)
        for name, what in (("all", "every row"), ("events", "the events alone")):
            ratios = sorted(b / v for v, b in zip(times["verify"], times[name]))
            median = statistics.median(ratios)
            bar = "" if name == "events" else "  bar 0.25  " + ("met" if median >= 0.25
                                                                else "NOT MET")
            print(f"  {size} events: speed of verify / of a loop over {what:<17} {median:.2f}  "
                  f"min {ratios[0]:.2f} max {ratios[-1]:.2f}{bar}")
        print(f"    {median_ms(times)} ms; {peak / 1024:.1f} MiB at most; "
              f"{size / statistics.median(times['verify']) * 1e9:.0f} events/s")


def bench_batch(world):
    """The rows of `batch` are printed by a program of their own, where it is built."""
    program = Path(world.tools["peer"]).with_name("batch")
    if not program.exists():
        print("batch: not built (cargo build --release --example batch)")
        return
    sys.stdout.flush()
    subprocess.run([program, world.binary], env=world.env, check=True)


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
        "put", "put20", "actuate", "scale", "peers", "race", "growth", "verify", "batch"])
    options.add_argument("--events", type=int, default=GROWTH_EVENTS[-1],
                         help="of the largest ledger")
    options.add_argument("--peer", default=str(HERE.parent / "target/release/examples/peer"),
                         help="built from benches/peer.rs")
    chosen = options.parse_args()
    if not Path(chosen.peer).exists():
        sys.exit(f"{chosen.peer} is not there: cargo build --release --example peer")
    sizes = [size for size in GROWTH_EVENTS if size < chosen.events] + [chosen.events]
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
        tools["peer"] = chosen.peer
        few = min(chosen.rounds, 15)
        if wants("peers"):
            bench_peers(make("peers")[0], chosen.rounds)
        if wants("race"):
            bench_race(make("race")[0], few)
        if wants("growth"):
            bench_growth(directory, binaries[0], tools, sizes, chosen.rounds)
        if wants("verify"):
            bench_verify(directory, binaries[0], tools, [10_000, 100_000], few)
        if wants("batch"):
            bench_batch(make("batch")[0])


if __name__ == "__main__":
    main()
