"""A server from its settings to its end, and the databases that it opens."""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import uvicorn

from superarm.service import logs
from superarm.service.bandits import loading, parts
from superarm.service.bandits.engine import Engine
from superarm.service.http.app import make_app
from superarm.service.http.front_door import FrontDoor
from superarm.service.http.service import Service
from superarm.service.log import chain
from superarm.service.log.events import DamagedLogError
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.log.store import Store, StoreError
from superarm.service.processes import pool as processes
from superarm.service.processes.remote import remote_rewards
from superarm.service.settings import Settings
from superarm.version import how_to_install

_log = logging.getLogger("superarm.service")
_GRACE_S = 20  # running requests may take this long after the server is told to stop
_BACKLOG = 1024
_SWITCH_S = 0.0005  # a reward that computes in Python gives way to requests after this time


class StartError(Exception):
    """The server cannot start. Nothing was changed."""


def serve(settings: Settings) -> None:
    """Serve until a signal stops it."""
    own = own_rewards(settings.rewards)
    with processes.opened(settings.rewards, settings.n_processes) as evaluating:
        _serve(settings, own if evaluating is None else remote_rewards(own, evaluating))


def _serve(settings: Settings, own: parts.Factories) -> None:
    _check_proxies(settings.trusted_proxies)
    with_keys = settings.with_keys
    if with_keys is None:
        with_keys = not is_loopback(settings.host)
    try:
        store = open_store(settings.database)
    except StoreError as error:
        raise StartError(str(error)) from error
    try:
        # Before the first request: nothing may be appended to a damaged log.
        check_logs(store, whole=settings.check_all)
        if with_keys and not store.key_rows():
            raise StartError(
                f"{settings.host} can be reached by others, so keys are required, and there are "
                f"none yet: make one with superarm keys add, or say --no-keys"
            )
        engine = Engine(
            store,
            own,
            checkpoint_every=settings.checkpoint_every,
            n_threads=settings.n_threads,
            most_loaded=settings.most_loaded,
            deadline_s=settings.deadline_s,
        )
        service = Service(
            engine,
            settings.limits,
            with_keys=with_keys,
            names=_names(settings),
            log_requests=settings.log_requests,
        )
        _run(service, settings)
    finally:
        store.close()


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


def _run(service: Service, settings: Settings) -> None:
    # First, so that warnings during the start are written in the same format.
    logs.configure()
    _raise_file_limit()
    sys.setswitchinterval(_SWITCH_S)
    try:
        _listen(service, settings)
    finally:
        logs.finish()


def _listen(service: Service, settings: Settings) -> None:
    engine = service.engine
    for bandit, reward in loading.without_reward(engine.store, engine.own):
        _log.warning("reward_missing", extra={"fields": {"bandit": bandit.id, "reward": reward}})
    server = _Server(_uvicorn_config(service, settings))
    for number in (signal.SIGTERM, signal.SIGINT):
        # Uvicorn raises the signal again when it has stopped, which is not a failure.
        signal.signal(number, lambda *_: None)
    service.closing = lambda: server.should_exit
    server.run()
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
    return uvicorn.Config(
        make_app(service),
        http=FrontDoor(settings.limits),  # type: ignore[arg-type]
        host=settings.host,
        port=settings.port,
        # `logs` has configured the loggers. Uvicorn would replace the handlers.
        log_config=None,
        access_log=False,
        # The name of the server would only help somebody who looks for known weaknesses.
        server_header=False,
        # Anybody can send these headers, so only those of known proxies count.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=_GRACE_S,
        backlog=_BACKLOG,
    )


class _Server(uvicorn.Server):
    """Logs the address that it listens at."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What exists now stays. Without it, full collections of garbage stop requests for less.
        gc.collect()
        gc.freeze()
        for listening in self.servers:
            for one in listening.sockets:
                # Asked from the socket: with port 0 only the socket knows the port.
                host, port = one.getsockname()[:2]
                fields = {"host": host, "port": port, "url": f"http://{host}:{port}/"}
                _log.info("listening", extra={"fields": fields})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost")
    (True, True, True)
    >>> is_loopback("0.0.0.0")
    False
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        # Other names are not resolved: what they point to may change after the start.
        return host == "localhost"


def open_store(database: str, mode: Literal["serve", "write", "read"] = "serve") -> Store:
    """Open a file of SQLite, or the address of a PostgreSQL database."""
    if not database.startswith(("postgresql://", "postgres://")):
        return SQLiteStore(Path(database), mode)
    if find_spec("psycopg") is None:
        raise StartError(f"PostgreSQL needs psycopg: {how_to_install('postgres')}")
    # Imported here: psycopg is optional.
    from superarm.service.log.postgres import PostgresStore

    return PostgresStore(database)


@contextlib.contextmanager
def opened(database: str, mode: Literal["write", "read"]) -> Iterator[Store]:
    """Open a database that a server may be using."""
    try:
        store = open_store(database, mode)
    except StoreError as error:
        raise StartError(str(error)) from error
    try:
        yield store
    except StoreError as error:
        raise StartError(str(error)) from error
    finally:
        store.close()


def own_rewards(module: str | None) -> dict[str, parts.Factory]:
    """The operator's rewards. The module may also be in the current folder."""
    if module is None:
        return {}
    # Installed programs do not look into the current folder by themselves.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return parts.own_rewards(module)
    except (ImportError, ValueError) as error:
        raise StartError(
            f"--rewards must be a module with rewards, got {module!r}: {error}"
        ) from error


def check_logs(store: Store, *, whole: bool = False) -> None:
    """Refuse to serve a database with a damaged log."""
    try:
        # Before serving: an event that is appended to a damaged log could hide the damage.
        for bandit in chain.all_bandits(store):
            chain.verify(store, bandit, whole=whole)
    except DamagedLogError as error:
        raise StartError(
            f"the log is damaged, so nothing is served and nothing is written: {error}; "
            f"restore a backup, or look at it with superarm replay"
        ) from error
    except StoreError as error:
        raise StartError(str(error)) from error
