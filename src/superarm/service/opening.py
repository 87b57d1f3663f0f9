"""Open databases and modules of rewards, and refuse what cannot be served."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from superarm.service.bandits import parts
from superarm.service.http.team import Team
from superarm.service.log import chain
from superarm.service.log.events import DamagedLogError
from superarm.service.log.folder import FolderStore, files_of
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.log.store import Store, StoreError
from superarm.version import how_to_install

_POSTGRES = ("postgresql", "postgres")


class StartError(Exception):
    """The server cannot start. Nothing was changed."""


def open_store(
    database: str,
    mode: Literal["serve", "write", "read"] = "serve",
    *,
    number: int = 0,
    n_workers: int = 1,
) -> Store:
    """Open a file of SQLite, a folder of them, or the address of a PostgreSQL database.

    Worker ``number`` of ``n_workers`` writes its own files of a folder.
    """
    if not is_postgres(database):
        path = Path(database)
        if not path.is_dir():
            return SQLiteStore(path, mode)
        return FolderStore(path, mode, range(number, len(files_of(path)), n_workers))
    if find_spec("psycopg") is None:
        raise StartError(f"PostgreSQL needs psycopg: {how_to_install('postgres')}")
    # Imported here: psycopg is optional.
    from superarm.service.log.postgres import PostgresStore

    return PostgresStore(database, mode)


def is_postgres(database: str) -> bool:
    """Whether a database is an address, not a path. Refuses addresses of other kinds."""
    scheme, is_address, _ = database.partition("://")
    # It would be a path. The rest is not shown, because it may have a password.
    if is_address and scheme not in _POSTGRES:
        raise StartError(
            f"the database must be a file, a folder or postgresql://..., got '{scheme}://...'"
        )
    return bool(is_address)


@contextlib.contextmanager
def opened(database: str, mode: Literal["serve", "write", "read"]) -> Iterator[Store]:
    """Open a database that a server may be using, unless ``mode`` is "serve"."""
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


def check_logs(store: Store, team: Team | None = None, *, whole: bool = False) -> None:
    """Refuse to serve a database with a damaged log. A worker checks its own bandits."""
    try:
        # Before serving: an event that is appended to a damaged log could hide the damage.
        for bandit in chain.all_bandits(store):
            if team is None or team.is_own(bandit):
                chain.verify(store, bandit, whole=whole)
    except DamagedLogError as error:
        raise StartError(
            f"the log is damaged, so nothing is served and nothing is written: {error}; "
            f"restore a backup, or look at it with superarm replay"
        ) from error
    except StoreError as error:
        raise StartError(str(error)) from error
