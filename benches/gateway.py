#!/usr/bin/env python3
"""`scalectl serve`: durable accepted operations a second, beside peers, in turns.

    cargo build --release && cargo build --release --examples
    benches/gateway.py [--clients N]... [--seconds S] [--rounds N]
    benches/gateway.py --growth [--sizes N]...

Each round has three sides at every number of clients: `serve` on a ledger in a file, with a pool;
`pgbench -N` (its own simple update, scale 10, prepared) on a server of its own with the settings that it
comes with; and, for one client, the journal that is written anew for each operation
(`benches/peer.rs`), at 100 and 10,000 receipts, in process. The figures are medians of the rounds,
the ratios medians of the ratios. Clients run on the same machine as what they measure.

With `--growth`: what one operation of one client takes at 10^2 and at 10^5 receipts and services of the
pool, which come from an imported journal.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from postgres import Server

HERE = Path(__file__).resolve().parent
RELEASE = HERE.parent / "target/release"
POOL = str(2**32 - 1)


class Served:
    """A ledger of its own, and a server of it."""

    def __init__(self, home, services=0):
        self.home = Path(home)
        self.home.mkdir()
        self.run("init")
        policy = self.home / "all.cedar"
        policy.write_text('@id("all") permit(principal, action, resource);\n')
        self.run("policy", "put", str(policy), "--reason", "bench")
        if services:
            journal = self.home / "journal.json"
            journal.write_text(json.dumps(journal_of(services)))
            self.run("gateway", "import", str(journal))
            journal.unlink()
        self.process = subprocess.Popen(
            [RELEASE / "scalectl", "serve", "--listen", "127.0.0.1:0", "--pool", POOL],
            env=self.environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            if line.startswith("listening on http://"):
                self.at = line.strip().removeprefix("listening on http://")
                return
        sys.exit("the server does not listen")

    def environment(self):
        return {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    def run(self, *words):
        subprocess.run([RELEASE / "scalectl", *words], env=self.environment(), check=True,
                       stdout=subprocess.DEVNULL)

    def load(self, clients, seconds):
        """Operations a second, their median and their 99th percentile in microseconds."""
        done = subprocess.run([RELEASE / "examples/serve", self.at, str(clients), str(seconds)],
                              check=True, capture_output=True, text=True)
        return [int(number) for number in done.stdout.split()]

    def end(self):
        self.process.terminate()
        if self.process.wait() != 0:
            sys.exit("the server has not ended well")


def journal_of(services):
    names = [f"service-{number}" for number in range(services)]
    receipts = [{
        "request": {
            "schema_version": 1, "operation_id": f"op-{name}", "service": name,
            "expected_revision": "0", "direction": "Up", "current_replicas": 0,
            "desired_replicas": 2, "reason": "load"},
        "response": {
            "accepted": True, "actual_replicas": 2, "revision": "1",
            "message": f"service '{name}' at 2 desired replicas"},
    } for name in names]
    return {"schema_version": 1, "targets": dict.fromkeys(names, 2),
            "revisions": dict.fromkeys(names, 1), "receipts": receipts}


def pgbench(server, clients, seconds):
    done = server.call("pgbench", "--host", server.home, "--port", server.port, "--username=postgres",
                       "-N", "--protocol=prepared", "--no-vacuum", "--client", str(clients),
                       "--jobs", "2", "--time", str(seconds), "postgres")
    line = next(line for line in done.stdout.splitlines() if line.startswith("tps ="))
    return float(line.split()[2])


def journal(home, size):
    done = subprocess.run([RELEASE / "examples/peer", "journal", str(Path(home) / f"{size}.json"),
                           str(size), "30"], check=True, capture_output=True, text=True)
    return 1e9 / int(done.stdout)


def compare(args, directory):
    place = Path(directory) / "server"
    place.mkdir()
    server = Server(place)
    served = Served(Path(directory) / "home")
    try:
        server.call("pgbench", "--host", server.home, "--port", server.port, "--username=postgres",
                    "--initialize", "--scale=10", "--quiet", "postgres")
        for clients in args.clients or [1, 8, 64]:
            ours, theirs, medians, tails, journals = [], [], [], [], {100: [], 10_000: []}
            for turn in range(args.rounds):
                sides = ["ours", "theirs"] if turn % 2 == 0 else ["theirs", "ours"]
                for side in sides:
                    if side == "ours":
                        rate, median, tail = served.load(clients, args.seconds)
                        ours.append(rate)
                        medians.append(median)
                        tails.append(tail)
                    else:
                        server.psql("CHECKPOINT")
                        theirs.append(pgbench(server, clients, args.seconds))
                if clients == 1:
                    for size, found in journals.items():
                        found.append(journal(directory, size))
            middle = statistics.median
            print(f"{clients:>2} clients: {middle(ours):.0f} operations/s, median "
                  f"{middle(medians) / 1000:.1f} ms, p99 {middle(tails) / 1000:.1f} ms; "
                  f"pgbench -N {middle(theirs):.0f}/s; ratio "
                  f"{middle(a / b for a, b in zip(ours, theirs)):.2f}", flush=True)
            for size, found in journals.items():
                if found:
                    print(f"           a journal rewritten, {size} receipts: {middle(found):.0f}/s; "
                          f"ratio {middle(a / b for a, b in zip(ours, found)):.2f}", flush=True)
    finally:
        served.end()
        server.end()


def growth(args, directory):
    sizes = args.sizes or [100, 100_000]
    servers = []
    for size in sizes:
        begun = time.monotonic()
        servers.append(Served(Path(directory) / str(size), size))
        print(f"{size} services and receipts: made in {time.monotonic() - begun:.0f} s", flush=True)
    found = [[] for _ in sizes]
    for turn in range(args.rounds):
        order = list(range(len(sizes)))
        for at in order[turn % len(order):] + order[:turn % len(order)]:
            found[at].append(servers[at].load(1, args.seconds)[1])
    for size, medians in zip(sizes, found):
        ratio = statistics.median(b / a for a, b in zip(found[0], medians))
        print(f"{size} services and receipts: median {statistics.median(medians)} us; "
              f"ratio to the first {ratio:.2f}")
    for server in servers:
        server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, action="append")
    parser.add_argument("--sizes", type=int, action="append")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--growth", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scalectl-bench-") as directory:
        os.chmod(directory, 0o755)
        (growth if args.growth else compare)(args, directory)


if __name__ == "__main__":
    main()
