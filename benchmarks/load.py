"""The throughput of the service as ratios: against the framework, the library, and with workers.

    python benchmarks/load.py [--rounds N] [--seconds S] [--postgres URL] [--events N]
                              [--old FILE.db] [--no-workers] [--share S] [--clients-in N]
                              [--out FILE.json]
    python benchmarks/load.py --from FILE.json [FILE.json ...]

5 of 5,000 arms, 64 clients with one request at a time, everything durable. Ratios are of figures
from the same round, and the table has their medians over the rounds:

- single requests against a bare Starlette application with answers of the same size;
- bulk requests of 100 against the library's own ``ask`` and ``tell``;
- two workers against one, with two bandits; with ``--share`` also with that share of a core each,
  so that the cores of the machine are not the limit (Linux, root);
- the default belief against `BetaBelief`, which all other bandits have;
- the 99th percentile of the latency against the median, also while a page watches a bandit with
  many events, another bandit has a million arms, and a third has a reward that sleeps.

The bandit with many events is made once, in about a minute of processor time per million, and kept
in the file of ``--old`` if that is given. ``--rounds 0`` measures only what is beside it.

Clients and servers share the cores of the machine. So the ratios of processor time per request are
shown as well: those of a machine with cores to spare. On such a machine ``--clients-in 4`` spreads
the clients over four processes, so that no server waits for a client that waits for its own core.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# One BLAS thread per process, as in deploy/: before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import psycopg
from rich.console import Console
from rich.table import Table

import superarm as sa
from load_beside import beside, copy_old, make_old
from load_costs import costs
from load_shares import limited, workers_of
from server_process import Server
from superarm.client import Client
from superarm.service import server as service

M, K, CLIENTS, BULK = 5_000, 5, 64, 100
WIDE = 1_000_000
HERE = Path(__file__).parent
TARGETS = {
    "single / bare": 0.40,
    "bulk / library": 0.60,
    "two workers / one": 1.8,
    "two workers / one, limited": 1.8,
    "p99 / median": 5.0,
    "p99 / median, busy": 5.0,
}
AT_MOST = {name for name in TARGETS if name.startswith("p99")}
KINDS = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
ON_THE_PAGE = {
    "single / bare": "rate of single requests, × bare Starlette",
    "default belief / beta": "the same with the default belief, × `beta`",
    "bulk / library": f"rate of requests for {BULK} at once, × library",
    "two workers / one": "rate of two workers with two bandits, × one worker",
    "two workers / one, limited": "the same with half a core for each worker",
    "p99 / median": "99th percentile of the latency, × median",
    "p99 / median, busy": "the same beside slow and large bandits",
}


class Bare(Server):
    """The bare application, with the methods of a server."""

    def __init__(self, log: Path) -> None:
        super().__init__("", log)
        self._arguments = [str(HERE / "load_bare.py"), str(self.port)]


def library(seconds: float) -> dict[str, float]:
    """Decisions and outcomes of a bare session, per second and in processor time."""
    names = [str(number) for number in range(M)]
    policy = sa.Policy(sa.BetaBelief(M), sa.TopK(), sa.LinearReward(M), K)
    session, rng = sa.Session(policy, names, seed=1), random.Random(0)
    n_done, start, cpu = 0, time.perf_counter(), time.process_time()
    while (took := time.perf_counter() - start) < seconds:
        decision = session.ask()
        session.tell(decision, {arm: float(rng.random() < 0.3) for arm in decision.arms})
        n_done += 2
    return {"per_s": n_done / took, "cpu_ms": 1e3 * (time.process_time() - cpu) / n_done}


def load(
    server: Server, bandits: list[str], options: Any, database: str = "", **more: Any
) -> dict[str, float]:
    """What clients measured, and what the server and the database used per request."""
    given = {"seconds": options.seconds, "clients": CLIENTS, "bulk": 0, **more}
    before = costs(server, database)
    found = clients(server.port, bandits, given, options.clients_in)
    used, n_all = costs(server, database) - before, sum(one["n_all"] for one in found)
    each = sorted(took for one in found for took in one["ask_s"] + one["tell_s"])
    return {
        "per_s": sum(one["n_timed"] / one["seconds"] for one in found),
        "p50_ms": 1e3 * each[len(each) // 2],
        "p99_ms": 1e3 * each[len(each) * 99 // 100],
        "cpu_ms": 1e3 * used.server_s / n_all,
        "http_cpu_ms": 1e3 * used.http_s / n_all,
        "database_cpu_ms": 1e3 * used.database_s / n_all,
        "bytes": used.n_bytes / n_all,
        "clients_cpu_ms": 1e3 * sum(one["clients_cpu_s"] for one in found) / n_all,
    }


def clients(
    port: int, bandits: list[str], given: dict[str, Any], n_processes: int
) -> list[dict[str, Any]]:
    """What each process of clients measured. The clients are spread evenly over the processes."""
    n_clients, started = given["clients"], []
    bounds = [n_clients * n // n_processes for n in range(n_processes + 1)]
    for first, end in itertools.pairwise(sorted(set(bounds))):
        arguments = [str(port), ",".join(bandits)]
        for name, value in {**given, "clients": end - first, "first": first}.items():
            arguments += [f"--{name}", str(value)]
        program = [sys.executable, str(HERE / "load_clients.py"), *arguments]
        started.append(subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    # All of them end at the same time, and print only then.
    ended = [process.communicate() for process in started]
    for process, (_, error) in zip(started, ended, strict=True):
        if process.returncode:
            raise RuntimeError(f"the clients failed: {error.decode()[-2000:]}")
    return [json.loads(said) for said, _ in ended]


@contextlib.contextmanager
def started(folder: Path, database: str, *options: str) -> Iterator[tuple[Server, list[str]]]:
    """A server with three bandits: two with `BetaBelief`, one with the default belief."""
    server = Server(database, folder / f"{time.time_ns()}.log", "--quiet", *options)
    with server, Client(server.url, timeout_s=120) as client:
        name = f"bench {time.time_ns()}"
        made = [client.create(f"{name} {n}", M, K, belief="beta", seed=n) for n in range(2)]
        made.append(client.create(f"{name} default", M, K, seed=2))
        yield server, [one.id for one in made]


def rounds(folder: Path, databases: tuple[str, str], options: Any) -> list[dict[str, Any]]:
    """Everything that is compared, one after the other, several times."""
    seconds, found = options.seconds, []
    with contextlib.ExitStack() as stack:
        bare = stack.enter_context(Bare(folder / "bare.log"))
        one, bandits = stack.enter_context(started(folder, databases[0]))
        if options.workers:
            two, others = stack.enter_context(started(folder, databases[1], "--workers", "2"))
        for _ in range(options.rounds):
            row: dict[str, Any] = {"library": library(seconds / 2)}
            row["bare"] = load(bare, ["aaaaaaaaaa"], options)
            row["single"] = load(one, bandits[:1], options, databases[0])
            row["bulk"] = load(one, bandits[:1], options, databases[0], clients=2, bulk=BULK)
            if options.workers:
                row["one worker"] = load(one, bandits[:2], options, databases[0])
                row["two workers"] = load(two, others[:2], options, databases[1])
            if options.workers and options.share:
                pids = [pid for server in (one, two) for pid in workers_of(server.process.pid)]
                with limited(pids, options.share):
                    row["one limited"] = load(one, bandits[:2], options, databases[0])
                    row["two limited"] = load(two, others[:2], options, databases[1])
            row["default"] = load(one, bandits[2:], options, databases[0])
            more = {"clients": 2, "bulk": BULK}
            row["default, bulk"] = load(one, bandits[2:], options, databases[0], **more)
            found.append(row)
    return found


def busy(folder: Path, database: str, options: Any) -> dict[str, Any]:
    """One bandit at full load while others have slow work."""
    # Before the server starts, which is then the only one that uses the database.
    kept = options.old or folder.parent / f"old-{options.events}.db"
    if not kept.exists():
        with service.opened(str(kept), "serve") as store:
            make_old(store, options.events)
    with service.opened(str(kept), "read") as source, service.opened(database, "serve") as store:
        old = copy_old(source, store)
    if database.startswith("postgresql"):
        with psycopg.connect(database, autocommit=True) as connection:
            # The pages of the copy are written before anything is measured. There is no VACUUM or
            # ANALYZE, because the service must be fast before the first of them, too.
            connection.execute("CHECKPOINT")
    path = f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    os.environ["PYTHONPATH"] = path
    with (
        started(folder, database, "--rewards", "load_rewards") as (server, bandits),
        Client(server.url, timeout_s=120) as client,
    ):
        wide = client.create("wide", WIDE, K, belief="beta", seed=1).id
        sleeping = client.create("sleeping", 20, 2, reward="sleeping", belief="beta", seed=1).id
        with beside(server.url, old, wide, sleeping) as counts:
            found = load(server, bandits[:1], options, seconds=3 * options.seconds)
    return {**found, "events": options.events, "beside": counts}


def ratios(found: dict[str, Any]) -> dict[str, float]:
    """Medians over the rounds."""

    def median(upper: str, lower: str, name: str = "per_s", below: str | None = None) -> float:
        each = [row[upper][name] / row[lower][below or name] for row in found["rounds"]]
        return statistics.median(each)

    made = {}
    if found["rounds"]:
        made = {
            "single / bare": median("single", "bare"),
            "single / bare, by processor time": median("bare", "single", "cpu_ms"),
            "bulk / library": median("bulk", "library"),
            "bulk / library, by processor time": median("library", "bulk", "cpu_ms"),
            "p99 / median": median("single", "single", "p99_ms", "p50_ms"),
            "default belief / beta": median("default", "single"),
        }
    if found["rounds"] and "two workers" in found["rounds"][0]:
        made["two workers / one"] = median("two workers", "one worker")
        made["two workers / one, by processor time"] = 2 * median(
            "one worker", "two workers", "cpu_ms"
        )
    if found["rounds"] and "two limited" in found["rounds"][0]:
        made["two workers / one, limited"] = median("two limited", "one limited")
    if "busy" in found:
        made["p99 / median, busy"] = found["busy"]["p99_ms"] / found["busy"]["p50_ms"]
    return made


def measure(options: argparse.Namespace, folder: Path, kind: str) -> dict[str, Any]:
    databases = str(folder / "one.db"), str(folder / "two")
    if kind == "postgresql":
        databases = options.postgres, options.postgres
    found: dict[str, Any] = {"rounds": rounds(folder, databases, options)}
    if options.events:
        own = options.postgres if kind == "postgresql" else str(folder / "busy.db")
        found["busy"] = busy(folder, own, options)
    return {**found, "ratios": ratios(found), "processor_ms": processor_ms(found["rounds"])}


def rows(found: dict[str, Any]) -> list[list[str]]:
    """The ratios, for people: target, then one column per database."""
    kinds = [kind for kind in KINDS if kind in found]
    made = [["ratio", "target", *kinds]]
    for name in found[kinds[0]]["ratios"]:
        target = TARGETS.get(name)
        sign = "at most" if name in AT_MOST else "at least"
        said = "" if target is None else f"{sign} {target:g}"
        made.append([name, said, *(f"{found[kind]['ratios'][name]:.2f}" for kind in kinds)])
    for name, parts in found[kinds[0]]["processor_ms"].items():
        each = [found[kind]["processor_ms"][name] for kind in kinds]
        said = [", ".join(f"{one[part]:.2f} {part}" for part in parts) for one in each]
        made.append([f"{name}: processor ms per request", "", *said])
    return made


def markdown(*every: dict[str, Any]) -> str:
    """The ratios of rates and of latencies of one or more files, as a table for a page."""
    columns = [(found, kind) for found in every for kind in KINDS if kind in found]
    heads = [f"{KINDS[kind]}, {found['cores']} cores" for found, kind in columns]
    lines = [f"| at {every[0]['clients']} clients | {' | '.join(heads)} |"]
    lines.append("|---|" + "---:|" * len(columns))
    for name, said in ON_THE_PAGE.items():
        each = [found[kind]["ratios"].get(name) for found, kind in columns]
        if any(each):
            cells = ["" if ratio is None else f"{ratio:.2f}" for ratio in each]
            lines.append(f"| {said} | {' | '.join(cells)} |")
    return "\n".join(lines)


def processor_ms(rounds: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Where the time goes: medians over the rounds."""

    def median(name: str, part: str = "cpu_ms") -> float:
        return statistics.median(row[name][part] for row in rounds)

    if not rounds:
        return {}
    made = {"bare": {"in all": median("bare")}}
    for name in ("single", "bulk"):
        whole, http = median(name), median(name, "http_cpu_ms")
        made[name] = {
            "in all": whole,
            "HTTP": http,
            "bandits and log": whole - http,
        }
    for name in ("one worker", "two workers"):
        if name in rounds[0]:
            made[name] = {"in all": median(name)}
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--postgres", help="postgresql://...; measured as well as SQLite")
    parser.add_argument(
        "--events", type=int, default=1_000_000, help="of the watched bandit; 0 for no busy server"
    )
    parser.add_argument(
        "--old", type=Path, help="where the watched bandit is, or will be; for several runs"
    )
    parser.add_argument(
        "--share", type=float, default=0.0, help="of a core for each worker; 0 for no limit"
    )
    parser.add_argument(
        "--clients-in", type=int, default=1, metavar="N", help="processes for the clients"
    )
    parser.add_argument("--no-workers", dest="workers", action="store_false")
    parser.add_argument("--folder", help="where files go, for the disk that they are to be on")
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--from",
        dest="given",
        type=Path,
        nargs="+",
        help="measure nothing; show these files as Markdown",
    )
    options = parser.parse_args()
    if options.given:
        print(markdown(*(json.loads(file.read_text()) for file in options.given)))
        return
    found: dict[str, Any] = {"m": M, "k": K, "clients": CLIENTS, "cores": os.cpu_count()}
    found["clients_in"] = options.clients_in
    kinds = KINDS if options.postgres else ("sqlite",)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for kind in kinds:
            path = Path(folder, kind)
            path.mkdir()
            found[kind] = measure(options, path, kind)
            if options.out:
                options.out.write_text(json.dumps(found, indent=1) + "\n")
    head, *body = rows(found)
    table = Table(*head)
    for row in body:
        table.add_row(*row)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
