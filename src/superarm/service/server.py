"""A server from its settings to its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import uvicorn

from superarm.service import ending, logs
from superarm.service.bandits import loading, parts, retention
from superarm.service.bandits.engine import Engine
from superarm.service.http.app import make_app, make_express
from superarm.service.http.first_bandit import make_first
from superarm.service.http.front_door import FrontDoor
from superarm.service.http.service import Service
from superarm.service.http.team import Channel, Team
from superarm.service.log.store import StoreError
from superarm.service.opening import (
    StartError,
    check_logs,
    is_postgres,
    open_store,
    opened,
    own_rewards,
)
from superarm.service.problems import Problem
from superarm.service.processes import pool as processes
from superarm.service.processes import reading, sampling
from superarm.service.processes.remote import remote_rewards
from superarm.service.settings import Settings

__all__ = [
    "StartError",
    "Worker",
    "check_logs",
    "is_loopback",
    "is_postgres",
    "open_store",
    "opened",
    "own_rewards",
    "serve",
]

_log = logging.getLogger("superarm.service")
_GRACE_S = 20  # running requests, and then checkpoints, may take this long at the end
BACKLOG = 1024
# Collect garbage more rarely than by default. Requests that end leave none, and the collector
# looks in vain at all that are at work.
_GC_THRESHOLDS = 20_000, 20, 20
_SWITCH_S = 0.0005  # a reward that computes in Python gives way to requests after this time


@dataclass(frozen=True)
class Worker:
    """One of several processes of a server: see `superarm.service.workers`.

    Attributes
    ----------
    number
        Its number, from 0 on.
    channels
        The channels to all workers.
    listening
        The socket that all workers accept connections from.
    ready
        Called when the worker accepts connections.
    parent
        A pipe that ends with the parent.
    """

    number: int
    channels: list[Channel]
    listening: socket.socket
    ready: Callable[[], None]
    parent: int


def serve(settings: Settings, worker: Worker | None = None) -> None:
    """Serve until a signal stops it, alone or as a ``worker`` of several processes."""
    own = own_rewards(settings.rewards)
    most = settings.n_processes
    with (
        processes.opened(settings.rewards, most) as evaluating,
        sampling.opened(most) as drawing,
        reading.opened(most) as reader,
    ):
        own = own if evaluating is None else remote_rewards(own, evaluating)
        _serve(settings, worker, own, drawing, reader)


def _serve(
    settings: Settings,
    worker: Worker | None,
    own: parts.Factories,
    drawing: sampling.Sampling | None,
    reader: reading.Reading | None,
) -> None:
    _check_proxies(settings.trusted_proxies)
    with_keys = settings.with_keys
    if with_keys is None:
        with_keys = not is_loopback(settings.host)
    try:
        n_workers = 1 if worker is None else len(worker.channels)
        number = 0 if worker is None else worker.number
        store = open_store(settings.database, number=number, n_workers=n_workers)
    except StoreError as error:
        raise StartError(str(error)) from error
    try:
        team = None if worker is None else Team(worker.number, worker.channels, store)
        # Before the first request: nothing may be appended to a damaged log.
        check_logs(store, team, whole=settings.check_all)
        retention.purge(store, store.to_purge())
        if with_keys and not store.key_rows():
            why = "" if settings.with_keys else f"{settings.host} can be reached by others, so "
            raise StartError(
                f"{why}keys are required, and there are none yet: make one with superarm keys add, "
                f"or say --no-keys"
            )
        engine = Engine(
            store,
            own,
            checkpoint_every=settings.checkpoint_every,
            n_threads=settings.n_threads,
            most_loaded=settings.most_loaded,
            deadline_s=settings.deadline_s,
            sampling=drawing,
        )
        if settings.first is not None and (worker is None or worker.number == 0):
            _make_first(engine, settings.first, settings.limits.arms)
        service = Service(
            engine,
            settings.limits,
            with_keys=with_keys,
            names=_names(settings),
            log_requests=settings.log_requests,
            team=team,
            reading=reader,
        )
        _run(service, settings, worker)
    finally:
        store.close()


def _make_first(engine: Engine, first: dict[str, Any], most_arms: int) -> None:
    try:
        make_first(engine, first, most_arms)
    except (ValueError, Problem, StoreError) as error:
        raise StartError(f"the bandit of the warm start cannot be made: {error}") from error


def _check_proxies(proxies: tuple[str, ...]) -> None:
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError as error:
            raise StartError(
                f"--trusted-proxy must be an address or a network, got {proxy!r}: {error}"
            ) from error


def _names(settings: Settings) -> frozenset[str]:
    # A name of loopback is accepted anyway.
    own = () if is_loopback(settings.host) else (settings.host,)
    return frozenset(name.lower() for name in (*own, *settings.allowed_hosts))


def _run(service: Service, settings: Settings, worker: Worker | None) -> None:
    # First, so that warnings during the start are written in the same format.
    logs.configure()
    _raise_file_limit()
    sys.setswitchinterval(_SWITCH_S)
    try:
        _listen(service, settings, worker)
    finally:
        logs.finish()


def _listen(service: Service, settings: Settings, worker: Worker | None) -> None:
    engine, team = service.engine, service.team
    for bandit, reward in loading.without_reward(engine.store, engine.own):
        if team is None or team.is_own(bandit):
            _log.warning(
                "reward_missing", extra={"fields": {"bandit": bandit.id, "reward": reward}}
            )
    server = _Server(_uvicorn_config(service, settings), team, worker)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Uvicorn raises the signal again when it has stopped, which is not a failure.
        signal.signal(number, lambda *_: None)
    service.closing = lambda: server.should_exit
    if team is not None:
        team.closing = service.closing
    server.run(None if worker is None else [worker.listening])
    if not server.started:
        raise StartError(f"{settings.host}:{settings.port} must be free to listen at")
    _log.info("stopped")


def _raise_file_limit() -> None:
    """Allow as many connections as the operating system lets this process have."""
    if find_spec("resource") is None:  # Windows has no such limit
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _uvicorn_config(service: Service, settings: Settings) -> uvicorn.Config:
    app, proxies = make_app(service), settings.trusted_proxies
    door = FrontDoor(settings.limits, service.team, proxies, make_express(app, proxies))
    return uvicorn.Config(
        app,
        http=door,  # type: ignore[arg-type]
        # A library for web sockets would take connections, which nobody would count any more.
        ws="none",
        host=settings.host,
        port=settings.port,
        # `logs` has configured the loggers. Uvicorn would replace the handlers.
        log_config=None,
        access_log=False,
        # The name of the server would only help somebody who looks for known weaknesses.
        server_header=False,
        # Anybody can send these headers, so only those of known proxies count.
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=_GRACE_S,
        backlog=BACKLOG,
    )


class _Server(uvicorn.Server):
    """Logs the address that it listens at, and takes connections from other workers."""

    def __init__(self, config: uvicorn.Config, team: Team | None, worker: Worker | None) -> None:
        super().__init__(config)
        self._team, self._worker = team, worker

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What exists now stays. Without it, full collections of garbage stop requests for less.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLDS)
        number = {} if self._worker is None else {"worker": self._worker.number}
        for one in [one for listening in self.servers for one in listening.sockets]:
            # Asked from the socket: with port 0 only the socket knows the port.
            host, port = one.getsockname()[:2]
            place = f"[{host}]" if ":" in host else host
            fields = {"host": host, "port": port, "url": f"http://{place}:{port}/", **number}
            _log.info("listening", extra={"fields": fields})
        if self._team is not None and self._worker is not None:
            self._join(self._team, self._worker)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        with ending.at_most(2 * _GRACE_S):
            await super().shutdown(sockets)

    def _join(self, team: Team, worker: Worker) -> None:
        made = {
            "config": self.config,
            "server_state": self.server_state,
            "app_state": self.lifespan.state,
        }
        team.listen(partial(self.config.http.adopt, **made))  # type: ignore[union-attr]
        # A worker without a parent would be started a second time by the next parent.
        loop = asyncio.get_running_loop()
        loop.add_reader(worker.parent, self._end, loop, worker.parent)
        worker.ready()

    def _end(self, loop: asyncio.AbstractEventLoop, parent: int) -> None:
        loop.remove_reader(parent)
        self.should_exit = True


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0")]
    [True, True, True, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        # Other names are not resolved: what they point to may change after the start.
        return host == "localhost"
