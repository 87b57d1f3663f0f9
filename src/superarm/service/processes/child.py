"""The processes that evaluate the operator's rewards, draw samples, and read long bodies.

    python -m superarm.service.processes.child SOCKET MODULE NICENESS

The first process imports the module once and evaluates nothing. For each socket that it gets, it
forks a child that answers requests on this socket. A fork takes milliseconds and shares memory, so
a large model that the module loads is in memory once. A child ends when its socket closes, and
the first process ends when the server does.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pickle
import select
import signal
import socket
import sys
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from superarm.core import Pools
from superarm.core.declarations import SameDeclarations

DECLARED = (
    *("n_arms", "lipschitz", "upper", "monotone", "zero_is_absent", "additive"),
    *("concave", "diminishing", "noisy", "repeats"),
)
_MOST_REWARDS = 8  # rewards that a child keeps, of bandits that it has worked for


class Made(NamedTuple):
    """Which reward: its name in the module, and what it is made with. ``params`` are sorted."""

    name: str
    n_arms: int
    params: str


class Wanted(NamedTuple):
    """A request to a child: what it is to do with a reward. ``values`` depend on ``verb``.

    ``made`` is None if it needs no reward of the module.
    """

    made: Made | None
    params: dict[str, Any]
    verb: str
    values: tuple[Any, ...] = ()


def declared(reward: Any) -> dict[str, Any]:
    """What a reward says of itself, and the name of its class."""
    same = SameDeclarations(reward)  # has the defaults of what the reward does not declare
    found = {name: getattr(same, name) for name in DECLARED}
    return {**found, "class": type(reward).__name__, "module": type(reward).__module__}


def batch(reward: Any, members: Any, offsets: Any, means: Any) -> Any:
    """The values of many sets. For few members, only their means were sent."""
    theta = means
    if len(means) != reward.n_arms:
        theta = np.zeros(reward.n_arms)
        theta[members] = means
    return np.asarray(reward.batch(Pools(members, offsets, reward.n_arms), theta), np.float64)


class _Unpickler(pickle.Unpickler):
    """Reads what the server sent, with a reward of this process in its place."""

    def __init__(self, source: io.BytesIO, reward: Any) -> None:
        super().__init__(source)
        self._reward = reward

    def persistent_load(self, pid: Any) -> Any:
        return self._reward


def sample(reward: Any, sent: bytes) -> Any:
    """Sampled sets of a policy: members, offsets, evaluations, and the generator's last state."""
    # Imported here: evaluations do not need it.
    from superarm.offpolicy import propensities

    policy, n_samples, options = _Unpickler(io.BytesIO(sent), reward).load()
    found = propensities(policy, n_samples, **options)
    state = options["rng"].bit_generator.state
    return found.sets.members, found.sets.offsets, found.evaluations, state


def call(reward: Any, function: Callable[..., Any], *args: Any) -> bytes:
    """What a function of the service returns, in pieces."""
    # Imported here: this module is imported by that one.
    from superarm.service.processes.reading import dumps

    return dumps(function(*args))


_VERBS: dict[str, Any] = {
    "declare": declared,
    "value": lambda reward, arms, means: float(reward(arms, means)),
    "batch": batch,
    "sample": sample,
    "call": call,
}


def answer(connection: Connection, module: Any) -> None:
    """Answer requests until the server closes the connection."""
    rewards: OrderedDict[Made, Any] = OrderedDict()
    connection.send(os.getpid())
    while True:
        wanted: Wanted = connection.recv()
        try:
            made = wanted.made
            if made is not None and made not in rewards:
                rewards[made] = getattr(module, made.name)(made.n_arms, **wanted.params)
                if len(rewards) > _MOST_REWARDS:
                    rewards.popitem(last=False)
            reward = None if made is None else rewards[made]
            said: Any = True, _VERBS[wanted.verb](reward, *wanted.values)
        except Exception as error:
            said = False, (error, traceback.format_exc())
        try:
            connection.send(said)
        except (TypeError, ValueError, AttributeError):  # an exception that cannot be pickled
            connection.send((False, (RuntimeError(repr(said[1][0])), said[1][1])))


def main(door: socket.socket, module: str, niceness: int) -> None:
    """Fork a child for each socket that comes through the door."""
    os.nice(niceness)
    found = importlib.import_module(module)
    # Ctrl-C reaches the whole group of processes, and the server stops these in its own time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that end are not waited for
    while True:
        _, fds, _, _ = socket.recv_fds(door, 1, 1)
        if not fds:
            return
        if os.fork() == 0:
            door.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a reward may start processes, too
            threading.Thread(target=_end_with_server, args=fds, daemon=True).start()
            with contextlib.suppress(EOFError, OSError):
                answer(Connection(fds[0]), found)
            os._exit(0)
        os.close(fds[0])


def _end_with_server(fd: int) -> None:
    """End this process when the server closes the connection, whatever the reward is doing."""
    poller = select.poll()
    poller.register(fd, 0)  # a hang-up is always reported
    poller.poll()
    os._exit(1)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], int(sys.argv[3]))
