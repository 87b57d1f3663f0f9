"""How far a reader has to walk: the functions, files and switches between files of common calls.

    python benchmarks/flows.py [FLOW ...] [--json FILE]
    python benchmarks/flows.py --list FLOW
    PYTHONPATH=other/checkout/src python benchmarks/flows.py

Each flow is played until it is warm, and then traced once. A table has one row per flow (less is
better): distinct functions of superarm, without comprehensions and lambdas; distinct files; and how
often a call or a return leads to another file. Templates do not count. What other processes do,
such as the workers that play the cells of a study, is not traced. ``--list`` prints the functions
of one flow in the order of their first calls. With another checkout on PYTHONPATH, that one is
traced.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import inspect
import io
import json
import multiprocessing
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

N_ARMS, K = 20, 3
WARM = 50  # rounds before the traced one
_WAIT_S = 0.1  # for what a server does after its answer


@dataclass
class Flow:
    """What was traced: (file, function) with the number of calls, and the files one by one."""

    name: str
    calls: dict[tuple[str, str], int] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Functions, files, switches between files."""
        files = {file for file, _ in self.calls}
        return len(self.calls), len(files), max(0, len(self.path) - 1)


class _Imports(threading.local):
    """How many modules a thread is in the middle of importing."""

    depth = 0


class Tracer:
    """Follows calls and returns within the package while ``flow`` is set; for `sys.setprofile`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.flow: Flow | None = None
        self._imports = _Imports()

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        """One call or return."""
        flow, code = self.flow, frame.f_code
        if event not in ("call", "return"):
            return
        # What a module does while it is imported is not a part of the flow that imports it.
        if code.co_name == "<module>":
            self._imports.depth += 1 if event == "call" else -1
            return
        if flow is None or self._imports.depth or not self._is_own(code):
            return
        if event == "call":
            if not _is_nameless(code):
                called = code.co_filename.removeprefix(self.root), code.co_qualname
                flow.calls[called] = flow.calls.get(called, 0) + 1
            file: str | None = code.co_filename
        else:
            file = self._caller(frame)
        if file is not None and (not flow.path or flow.path[-1] != file):
            flow.path.append(file)

    def _is_own(self, code: CodeType) -> bool:
        # Bodies of classes are not optimized, functions are. Templates are compiled, too.
        file = code.co_filename
        is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
        return is_function and file.startswith(self.root) and file.endswith(".py")

    def _caller(self, frame: FrameType) -> str | None:
        """The file that a return leads to, across the frames of other packages."""
        back = frame.f_back
        while back is not None and not self._is_own(back.f_code):
            back = back.f_back
        return None if back is None else back.f_code.co_filename


def _is_nameless(code: CodeType) -> bool:
    return code.co_name.startswith("<")  # <listcomp>, <genexpr>, <lambda>, ...


def package_root() -> str:
    """The folder of the superarm that is imported."""
    import superarm

    return f"{Path(superarm.__path__[0])}/"


@contextlib.contextmanager
def traced(name: str) -> Iterator[Flow]:
    """Trace what this thread does in the block."""
    flow = Flow(name)
    tracer = Tracer(package_root())
    tracer.flow = flow
    sys.setprofile(tracer)
    try:
        yield flow
    finally:
        sys.setprofile(None)


def _policy(oracle: Any) -> Any:
    import superarm as sa

    reward = sa.NetworkReward.random(N_ARMS, rng=np.random.default_rng(0))
    return sa.Policy(sa.BetaBelief(N_ARMS), oracle, reward, K)


def ask(oracle: str, **settings: Any) -> Flow:
    """``Policy.ask`` with an oracle, the paper's belief and its network reward."""
    import superarm as sa

    policy, rng = _policy(getattr(sa, oracle)(**settings)), np.random.default_rng(1)
    for _ in range(WARM):
        arms = policy.ask(rng=rng)
        policy.tell(arms, rng.integers(0, 2, K).astype(np.float64), rng=rng)
    with traced(f"ask, {oracle}") as flow:
        policy.ask(rng=rng)
    return flow


def session_ask() -> Flow:
    """``Session.ask`` of the policy with `Singletons`."""
    import superarm as sa

    session = sa.Session(_policy(sa.Singletons()), seed=1)
    for _ in range(WARM):
        decision = session.ask()
        session.tell(decision, dict.fromkeys(decision.arms, 1.0))
    with traced("Session.ask") as flow:
        session.ask()
    return flow


def command(name: str, *arguments: str) -> Flow:
    """A command of the command line; what it prints is not shown."""
    from superarm.cli import app

    with contextlib.redirect_stdout(io.StringIO()), traced(name) as flow:
        app([*arguments], standalone_mode=False)
    return flow


def reproduce() -> list[Flow]:
    """``reproduce fig2a``: the run with all that comes before it, and the report from its rows."""
    with tempfile.TemporaryDirectory() as folder:
        made = ["reproduce", "fig2a", "--quick", "--runs", "2", "--out", folder]
        whole = command("reproduce fig2a", *made)
        report = command("reproduce --from", "reproduce", "--from", folder)
    return [whole, report]


def run_table() -> Flow:
    """``run table.csv`` for a table of 200 rounds."""
    cells = np.random.default_rng(0).random((200, N_ARMS)) < np.linspace(0.1, 0.8, N_ARMS)
    names = ",".join(f"arm{arm}" for arm in range(N_ARMS))
    lines = [names, *(",".join(map(str, row)) for row in cells.astype(int).tolist())]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        table.write_text("\n".join(lines) + "\n", encoding="utf-8")
        out = ["--runs", "2", "--out", f"{folder}/out"]
        return command("run table.csv", "run", str(table), "--k", str(K), *out)


def posts() -> list[Flow]:
    """Both requests of a round to a real server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ours, theirs = multiprocessing.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        arguments = (theirs, f"{folder}/bandits.db", port)
        # A process of its own, so that it can be ended; and a daemon, so that it always is.
        server = multiprocessing.get_context("spawn").Process(
            target=_serve, args=arguments, daemon=True
        )
        server.start()
        try:
            with contextlib.closing(_Client(port)) as client:
                return _posts(client, ours)
        finally:
            server.terminate()
            server.join()


def _posts(client: _Client, server: Connection) -> list[Flow]:
    server.recv()  # it starts now
    names = [f"arm{arm}" for arm in range(N_ARMS)]
    settings = {"name": "traced", "arms": names, "k": K, "belief": "beta"}
    bandit = client.post("/v1/bandits", settings)["id"]
    flows: list[Flow] = []
    for place in range(WARM):
        is_last = place == WARM - 1
        for name in ("POST decisions", "POST outcomes"):
            if is_last:
                server.send(name)
                server.recv()
            if name == "POST decisions":
                made = client.post(f"/v1/bandits/{bandit}/decisions", {})
            else:
                told = {"outcomes": dict.fromkeys(made["arms"], 1.0)}
                client.post(f"/v1/decisions/{made['id']}/outcomes", told)
            if is_last:
                time.sleep(_WAIT_S)
                server.send(None)
                flows.append(server.recv())
    return flows


class _Client:
    """Sends each request in one piece, and all on one connection, as programs with a pool do."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if self._socket is None:
            self._socket = self._connected()
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        self._socket.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(content) + content)
        with http.client.HTTPResponse(self._socket, method="POST") as answer:
            answer.begin()
            said = answer.read().decode()
        if answer.status >= 300:
            raise RuntimeError(said)
        return json.loads(said)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _connected(self, attempts: int = 100) -> socket.socket:
        for _ in range(attempts - 1):
            with contextlib.suppress(OSError):  # it is not up yet
                return socket.create_connection(("127.0.0.1", self._port), timeout=10)
            time.sleep(_WAIT_S)
        return socket.create_connection(("127.0.0.1", self._port), timeout=10)


def _serve(client: Connection, database: str, port: int) -> None:
    """The server's process: traces what it does between a name and None from the client."""
    tracer = Tracer(package_root())

    def obey() -> None:
        client.send("starting")
        while True:
            name, before = client.recv(), tracer.flow
            tracer.flow = None if name is None else Flow(name)
            client.send(before)

    threading.Thread(target=obey, daemon=True).start()
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    from superarm.cli import app

    with (
        Path(f"{database}.txt").open("w", encoding="utf-8") as log,  # the server needs a real file
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        app(["serve", "--database", database, "--port", str(port)])


FLOWS: dict[str, Callable[[], Flow | list[Flow]]] = {
    "singletons": lambda: ask("Singletons"),
    "lazy": lambda: ask("LazySingletons"),
    "group": lambda: ask("GroupTesting", delta=0.25),
    "session": session_ask,
    "reproduce": reproduce,
    "run": run_table,
    "post": posts,
}


def trace(names: list[str]) -> list[Flow]:
    """The flows of these names; all if there are none."""
    found: list[Flow] = []
    for name in names or FLOWS:
        made = FLOWS[name]()
        found.extend([made] if isinstance(made, Flow) else made)
    return found


def table(flows: list[Flow]) -> str:
    """One line per flow."""
    head = ["| flow | functions | files | switches |", "| --- | ---: | ---: | ---: |"]
    rows = [f"| {flow.name} | {' | '.join(map(str, flow.counts))} |" for flow in flows]
    return "\n".join([*head, *rows])


def main() -> None:
    """Print the table, or the functions of one flow."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("flows", nargs="*", metavar="FLOW", help=", ".join(FLOWS))
    parser.add_argument("--list", metavar="FLOW", choices=FLOWS, help="print its functions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything here")
    given = parser.parse_args()
    if unknown := [name for name in given.flows if name not in FLOWS]:
        parser.error(f"FLOW must be one of {', '.join(FLOWS)}, got {unknown[0]}")
    flows = trace([given.list] if given.list else given.flows)
    print(table(flows))
    for flow in flows if given.list else []:
        print(f"\n{flow.name}\n")
        for (file, name), n in flow.calls.items():
            print(f"{file:<36} {name}{f' x {n}' if n > 1 else ''}")
    if given.json is not None:
        rows = [
            {"name": flow.name, "counts": flow.counts, "calls": [*map(list, flow.calls)]}
            for flow in flows
        ]
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
