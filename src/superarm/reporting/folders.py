"""Result folders: files that are written whole or not at all, and a lock per folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["locked", "write"]


def write(path: Path, content: str | bytes) -> Path:
    """Write a file atomically: into a temporary file first, which then replaces ``path``.

    A reader, and a run that continues after a crash, see the old file or the new one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder: a rename is atomic only within one file system.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            # Before the rename, so that a crash cannot leave the new name with old or no content.
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)  # mkstemp makes files that only their owner can read
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, so that two commands do not overwrite each other's manifest."""
    # A lock of the operating system: it is released even if the process is killed.
    from filelock import FileLock

    with FileLock(folder / ".lock"):
        yield
