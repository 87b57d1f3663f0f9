"""A server from its settings to its end."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import uvicorn

from superarm.service import loading, logs, registry
from superarm.service.app import Limits, Service, make_app
from superarm.service.engine import Engine
from superarm.service.events import DamagedLogError
from superarm.service.sqlite import SQLiteStore
from superarm.service.store import Store, StoreError

_log = logging.getLogger("superarm.service")
_GRACE_S = 20  # so long requests that have begun may take when the server is told to stop


class StartError(Exception):
    """The server cannot start; nothing was changed."""


@dataclass(frozen=True)
class Settings:
    """What ``superarm serve`` is told.

    ``with_keys`` None is for keys unless the host is a loopback address; ``allowed_hosts`` are names of the service
    behind a proxy without keys, and ``trusted_proxies`` addresses whose X-Forwarded-For counts; ``check_all`` is for
    the digests of whole logs at the start, not only from the last checkpoints on.
    """

    database: str = "superarm.db"
    host: str = "127.0.0.1"
    port: int = 8321
    rewards: str | None = None
    with_keys: bool | None = None
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    checkpoint_every: int = 2000
    n_threads: int = 8
    most_loaded: int = 1000
    check_all: bool = False
    log_requests: bool = True


def serve(settings: Settings) -> None:
    """Serve until told to stop."""
    own = own_rewards(settings.rewards)
    _check_proxies(settings.trusted_proxies)
    with_keys = not is_loopback(settings.host) if settings.with_keys is None else settings.with_keys
    try:
        store = open_store(settings.database)
    except StoreError as error:
        raise StartError(str(error)) from error
    try:
        check_logs(store, whole=settings.check_all)
        if with_keys and not store.key_rows():
            raise StartError(
                f"{settings.host} can be reached by others, so keys are required, and there are none yet: make one "
                f"with superarm keys add, or say --no-keys"
            )
        engine = Engine(
            store,
            own,
            checkpoint_every=settings.checkpoint_every,
            n_threads=settings.n_threads,
            most_loaded=settings.most_loaded,
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
    own = () if is_loopback(settings.host) else (settings.host,)
    return frozenset(name.lower() for name in (*own, *settings.allowed_hosts))


def _run(service: Service, settings: Settings) -> None:
    logs.configure()
    engine = service.engine
    for bandit, reward in loading.without_reward(engine.store, engine.own):
        _log.warning("reward_missing", extra={"fields": {"bandit": bandit.id, "reward": reward}})
    config = uvicorn.Config(
        make_app(service),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),  # anybody may send them
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=_GRACE_S,
        backlog=1024,
    )
    server = _Server(config)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(
            number, lambda *_: None
        )  # uvicorn raises them again when it has ended, which is no failure
    service.closing = lambda: server.should_exit
    server.run()
    if not server.started:
        raise StartError(f"{settings.host}:{settings.port} must be free to listen at")
    _log.info("stopped")


class _Server(uvicorn.Server):
    """Says where it listens, once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in self.servers:
            for one in listening.sockets:
                host, port = one.getsockname()[:2]
                _log.info(
                    "listening",
                    extra={"fields": {"host": host, "port": port, "url": f"http://{host}:{port}/"}},
                )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def open_store(database: str, mode: Literal["serve", "write", "read"] = "serve") -> Store:
    """The store of a file or an address."""
    if not database.startswith(("postgresql://", "postgres://")):
        return SQLiteStore(Path(database), mode)
    if find_spec("psycopg") is None:
        raise StartError("PostgreSQL needs psycopg: pip install 'superarm[postgres]'")
    from superarm.service.postgres import PostgresStore

    return PostgresStore(database)


@contextlib.contextmanager
def opened(database: str, mode: Literal["write", "read"]) -> Iterator[Store]:
    """A store beside a server."""
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


def own_rewards(module: str | None) -> dict[str, registry.Factory]:
    """The operator's rewards; the module is looked for in the current folder, too."""
    if module is None:
        return {}
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return registry.own_rewards(module)
    except (ImportError, ValueError) as error:
        raise StartError(
            f"--rewards must be a module with rewards, got {module!r}: {error}"
        ) from error


def check_logs(store: Store, *, whole: bool = False) -> None:
    """Refuse to serve a database with a damaged log."""
    number = 0
    try:
        while page := store.bandits(1000, number):
            for bandit in page:
                loading.check_tail(store, bandit, whole=whole)
                number = bandit.number
    except DamagedLogError as error:
        raise StartError(
            f"the log is damaged, so nothing is served and nothing is written: {error}; restore a backup, or look at "
            f"it with superarm replay"
        ) from error
    except StoreError as error:
        raise StartError(str(error)) from error
