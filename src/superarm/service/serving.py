"""A server from its settings to its end."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from superarm.service import loading, registry
from superarm.service.app import Limits, Service, make_app
from superarm.service.engine import Engine
from superarm.service.events import DamagedLogError
from superarm.service.sqlite import SQLiteStore
from superarm.service.store import Store, StoreError


class StartError(Exception):
    """The server cannot start; nothing was changed."""


@dataclass(frozen=True)
class Settings:
    """What ``superarm serve`` is told."""

    database: str = "superarm.db"
    host: str = "127.0.0.1"
    port: int = 8321
    rewards: str | None = None
    limits: Limits = field(default_factory=Limits)


def serve(settings: Settings) -> None:
    """Serve until told to stop."""
    own = own_rewards(settings.rewards)
    try:
        store = open_store(settings.database)
    except StoreError as error:
        raise StartError(str(error)) from error
    try:
        check_logs(store)
        service = Service(Engine(store, own), settings.limits)
        config = uvicorn.Config(
            make_app(service), host=settings.host, port=settings.port, log_config=None, access_log=False
        )
        server = uvicorn.Server(config)
        service.closing = lambda: server.should_exit
        server.run()
    finally:
        store.close()
    if not server.started:
        raise StartError(f"{settings.host}:{settings.port} must be free to listen at")


def open_store(database: str, *, serving: bool = True) -> Store:
    """The store of a file or an address."""
    return SQLiteStore(Path(database), serving=serving)


@contextlib.contextmanager
def reading(database: str) -> Iterator[Store]:
    """A store to read from."""
    try:
        store = open_store(database, serving=False)
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
        raise StartError(f"--rewards must be a module with rewards, got {module!r}: {error}") from error


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
