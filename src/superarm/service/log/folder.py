"""The log in several SQLite files in one folder, one for each worker of a server.

SQLite has one writer per file. Each bandit is in one file for ever, and each file belongs to one
process, so that processes never wait for each other. Numbers of bandits are distinct over all files
and ascend in the order of creation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

import filelock

from superarm.service.log.events import Bandit, Event
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.log.store import Checkpoint, KeyRow, NameTakenError, StoreError, Turn

_RECORD = "n_files"
_PATIENCE_S = 30  # how long one process waits while another one makes a bandit


def files_of(folder: Path) -> list[Path]:
    """The files of a folder: 0.db, 1.db and so on, as many as `prepare` has made."""
    found = {path.name for path in folder.glob("*.db")}
    n_found = sum(path.removesuffix(".db").isdigit() for path in found)
    n_files = max(n_found, _n_made(folder))
    files = [folder / f"{number}.db" for number in range(n_files)]
    missing = [file.name for file in files if file.name not in found]
    if missing:
        raise StoreError(
            f"{folder} must have the files 0.db to {n_files - 1}.db, got no {missing}; "
            f"restore what is missing from a backup"
        )
    return files


def _n_made(folder: Path) -> int:
    """How many files there were when a server started last; 0 if nothing says so."""
    record = folder / _RECORD
    if not record.exists():  # of an older version
        return 0
    text = record.read_text("utf-8")
    if not (text.isascii() and text.strip().isdigit()):
        raise StoreError(f"{record} must have the number of databases, got {text[:80]!r}")
    return int(text)


def prepare(folder: Path, n_files: int) -> int:
    """Make the folder and missing files. Returns the number of files, which never falls."""
    if folder.is_file():
        raise StoreError(
            f"{folder} must be a folder for several workers, but it is a file; "
            f"stop its server, make a folder, and move the file there as 0.db"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} must be writable: {error.strerror}", read_only=True) from error
    n_files = max(n_files, len(files_of(folder)))
    for number in range(n_files):
        SQLiteStore(folder / f"{number}.db").close()
    # Without it, nobody would miss a last file. Replaced at once, so that it is never half written.
    record = folder / _RECORD
    if _n_made(folder) != n_files:
        new = record.with_name(f"{_RECORD}-new")
        new.write_text(f"{n_files}\n", "utf-8")
        new.replace(record)
    return n_files


class FolderStore:
    """A folder with SQLite files. A process writes its own files, and reads all of them.

    Parameters
    ----------
    folder
        The folder: see `prepare`.
    mode
        As for `SQLiteStore`. API keys are in the first file.
    own
        The numbers of the files of this process; None for all of them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n_files = prepare(Path(folder), 2)
    ...     store = FolderStore(folder)
    ...     print(n_files, store.bandits(10))
    ...     store.close()
    2 []
    """

    def __init__(
        self,
        folder: str | Path,
        mode: Literal["serve", "write", "read"] = "serve",
        own: Collection[int] | None = None,
    ) -> None:
        self.folder, self.name = Path(folder), "sqlite"
        self._files: list[SQLiteStore] = []
        self._file_of: dict[int, int] = {}  # number of a bandit: number of its file
        paths = files_of(self.folder)
        if not paths:
            raise StoreError(f"{folder} must have superarm databases, 0.db and so on, got none")
        self._own = range(len(paths)) if own is None else sorted(own)
        try:
            for number, path in enumerate(paths):
                writable = mode == "serve" and number in self._own
                keys = mode == "write" and number == 0
                self._files.append(SQLiteStore(path, mode if writable or keys else "read"))
        except BaseException:
            self.close()
            raise

    def file_of(self, number: int) -> int:
        """The number of the file that has a bandit."""
        found = self._file_of.get(number)
        if found is None:
            for place, file in enumerate(self._files):
                if any(one.number == number for one in file.bandits(1, number - 1)):
                    found = self._file_of[number] = place
                    break
            else:
                raise StoreError(f"{self.folder} has no bandit with the number {number}")
        return found

    def emptiest(self) -> int:
        """The number of the file with the fewest bandits, which should get the next one."""
        sizes = [file.size()[1] for file in self._files]
        return sizes.index(min(sizes))

    def turn(
        self, bandit: Bandit, seen: int | None = None, *, to_write: bool = True
    ) -> AbstractContextManager[Turn]:
        """A turn in the file of the bandit."""
        return self._at(bandit.number).turn(bandit, seen, to_write=to_write)

    def create(self, bandit: Bandit, first: Event) -> Bandit:
        """Store a bandit in the emptiest file of this process."""
        with self._creating():
            if self.bandit_named(bandit.name) is not None:
                raise NameTakenError(bandit.name)
            sizes = [file.size() for file in self._files]
            number = 1 + max(last for last, _ in sizes)
            place = min(self._own, key=lambda one: sizes[one][1])
            return self._files[place].create(bandit._replace(number=number), first)

    @contextmanager
    def _creating(self) -> Iterator[None]:
        """Only one process at a time takes a name and a number."""
        if not self.folder.is_dir():  # the lock would make it, and the real one not fit back
            raise StoreError(f"{self.folder} must stay where it is, but is gone; put it back")
        # A new object each time: one that is held may be acquired again by other threads.
        lock = filelock.FileLock(self.folder / "creating", timeout=_PATIENCE_S, mode=0o600)
        try:
            with lock:
                yield
        except filelock.Timeout as error:
            raise StoreError(f"{self.folder}: another process makes a bandit") from error

    def bandit(self, id: str) -> Bandit | None:
        """The bandit with an id."""
        return next(self._found(file.bandit(id) for file in self._files), None)

    def bandit_named(self, name: str) -> Bandit | None:
        """The bandit with a name."""
        return next(self._found(file.bandit_named(name) for file in self._files), None)

    def bandits(self, limit: int, after: int = 0) -> list[Bandit]:
        """Bandits with numbers above ``after``, in ascending order."""
        each = [file.bandits(limit, after) for file in self._files]
        self._file_of |= {one.number: place for place, some in enumerate(each) for one in some}
        return sorted(one for some in each for one in some)[:limit]

    def _found(self, each: Iterator[Bandit | None]) -> Iterator[Bandit]:
        for place, one in enumerate(each):
            if one is not None:
                self._file_of[one.number] = place
                yield one

    def delete(self, number: int) -> None:
        """Delete a bandit and its checkpoint, and give up its name."""
        self._at(number).delete(number)

    def deleted(self, id: str) -> int | None:
        """The number of the bandit with an id, if it was deleted."""
        found = (file.deleted(id) for file in self._files)
        return next((number for number in found if number is not None), None)

    def to_purge(self) -> list[int]:
        """The numbers of deleted bandits in the files of this process with events left."""
        found = {number: place for place in self._own for number in self._files[place].to_purge()}
        self._file_of |= found
        return list(found)

    def purge(self, number: int) -> None:
        """Remove the events of a deleted bandit."""
        self._at(number).purge(number)

    def events(self, number: int, after: int, limit: int) -> list[Event]:
        """Events with a seq above ``after``, in ascending order."""
        return self._at(number).events(number, after, limit)

    def last(self, number: int) -> Event | None:
        """The last event."""
        return self._at(number).last(number)

    def decided_before(self, number: int, decision: int, limit: int) -> list[Event]:
        """Events that issued decisions with first numbers up to ``decision``, newest first."""
        return self._at(number).decided_before(number, decision, limit)

    def about(self, number: int, decision: int) -> list[Event]:
        """The events with outcomes of a decision, in ascending order."""
        return self._at(number).about(number, decision)

    def expired_before(self, number: int, seq: int, limit: int) -> list[Event]:
        """Events with decisions that have expired, with a seq below ``seq``, newest first."""
        return self._at(number).expired_before(number, seq, limit)

    def checkpoint(self, number: int) -> Checkpoint | None:
        """The last checkpoint."""
        return self._at(number).checkpoint(number)

    def put_checkpoint(self, number: int, checkpoint: Checkpoint) -> None:
        """Store a checkpoint and replace the last one."""
        self._at(number).put_checkpoint(number, checkpoint)

    def base(self, number: int) -> Checkpoint | None:
        """The bandit at the first event that was not removed."""
        return self._at(number).base(number)

    def compact(self, number: int, seq: int, base: Checkpoint) -> None:
        """Remove the events before ``seq``."""
        self._at(number).compact(number, seq, base)

    def first_decision(self, number: int) -> int:
        """The number of the oldest decision whose event was not removed."""
        return self._at(number).first_decision(number)

    def key_rows(self) -> list[KeyRow]:
        """All API keys."""
        return self._files[0].key_rows()

    def add_key(self, key: KeyRow) -> None:
        """Store an API key."""
        self._files[0].add_key(key)

    def drop_key(self, id: str) -> bool:
        """Remove an API key. Returns whether it existed."""
        return self._files[0].drop_key(id)

    def check(self) -> None:
        """Raise if nothing can be written now."""
        for place in self._own:
            self._files[place].check()

    def close(self) -> None:
        """Close all files."""
        for file in self._files:
            file.close()

    def _at(self, number: int) -> SQLiteStore:
        return self._files[self.file_of(number)]
