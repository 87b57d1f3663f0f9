"""The file of a session: a zip of JSON and arrays, with a checksum over all of it, written so that it is never half.

    session.json      everything but long lists of numbers; {"$npy": "belief/a"} stands for belief/a.npy
    names.json        the names of the arms, unless they are 0, 1, 2, ...
    belief/a.npy ...  long lists of numbers, as numpy writes them; no pickles

The comment of the zip is ``sha256:`` and the digest of every byte before it. Any zip tool lists and unpacks the file.
The same session gives the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import secrets
import shutil
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from superarm.errors import SessionFileError

VERSION = 1
_FORMAT = "superarm session"
# Version n to version n + 1: the document of an older file, as it would be written today.
_MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}

_LONG = 64  # a list of so many numbers is an array
_MARK = b"sha256:"
_DIGEST = 64
_LEFTOVER_S = 3600.0  # a temporary file this old is of a writer that was killed


def encode(document: dict[str, Any]) -> bytes:
    """The bytes of a file; a document is plain JSON."""
    arrays: dict[str, Any] = {}
    main = _without_arrays({"format": _FORMAT, "version": VERSION, **document}, "", arrays)
    names = main.pop("names", None)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _put(archive, "session.json", json.dumps(main, indent=1).encode())
        if names is not None:
            _put(archive, "names.json", json.dumps(names, ensure_ascii=False).encode())
        for name, array in arrays.items():
            out = io.BytesIO()
            np.lib.format.write_array(out, array, allow_pickle=False)
            _put(archive, f"{name}.npy", out.getbuffer())
        archive.comment = _MARK + b"0" * _DIGEST
    data = buffer.getbuffer()
    body = data[:-_DIGEST]
    body_digest = hashlib.sha256(body).hexdigest().encode()
    data[-_DIGEST:] = body_digest
    return bytes(data)


def decode(data: bytes, path: Path) -> dict[str, Any]:
    """The document of a file, as a file of this version would have it."""
    if not is_whole(data):
        raise SessionFileError(
            f"{path} is not a whole session file: it was cut short or altered, or is no session; "
            f"the one before it may be at {previous(path)}"
        )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = set(archive.namelist())
        if "session.json" not in files:
            raise SessionFileError(f"{path} has no session.json: it is no session")
        main = json.loads(archive.read("session.json"))
        version = main.get("version")
        if main.get("format") != _FORMAT or not isinstance(version, int):
            raise SessionFileError(
                f"{path} must be of the format {_FORMAT!r}, got {main.get('format')!r}"
            )
        if version > VERSION:
            raise SessionFileError(
                f"{path} is of version {version}, this superarm reads up to {VERSION}; update it"
            )
        document: dict[str, Any] = _with_arrays(main, archive)
        if "names.json" in files:
            document["names"] = json.loads(archive.read("names.json"))
    for old in range(version, VERSION):
        document = _MIGRATIONS[old](document)
    return document


def is_whole(data: bytes) -> bool:
    """Whether the checksum at the end is that of the bytes before it."""
    end = len(data) - _DIGEST
    if end < len(_MARK) or data[end - len(_MARK) : end] != _MARK:
        return False
    return hashlib.sha256(memoryview(data)[:end]).hexdigest().encode() == data[end:]


def previous(path: Path) -> Path:
    """Where the file that a save replaced is kept."""
    return path.with_name(f"{path.name}.previous")


def write(path: Path, data: bytes) -> None:
    """Replace a file by another one, so that at every moment the path has the old bytes or the new.

    The bytes go to a temporary file in the same folder and to the disk; the file that is there, if it is whole, is kept
    as ``.previous``; the new one takes its name; and the folder goes to the disk.
    """
    path = Path(os.path.realpath(path))
    _sweep(path)
    with _temporary(path) as fresh:
        with fresh.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        if path.exists() and is_whole(
            path.read_bytes()
        ):  # a damaged file must not push out a good one
            with _temporary(path) as kept:
                try:
                    kept.hardlink_to(path)
                except OSError:  # a file system without links
                    shutil.copyfile(path, kept)
                kept.replace(previous(path))
        fresh.replace(path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def _temporary(path: Path) -> Any:
    """A name in the same folder that nobody else uses; the file is gone afterwards, unless it has been moved."""
    name = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        yield name
    finally:
        name.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove what killed writers of this file left behind."""
    for name in path.parent.iterdir():
        if name.name.startswith(f".{path.name}.") and name.suffix == ".tmp":
            with contextlib.suppress(OSError):  # another writer was faster
                if time.time() - name.stat().st_mtime > _LEFTOVER_S:
                    name.unlink()


def _put(archive: zipfile.ZipFile, name: str, data: Any) -> None:
    # A fixed date: what is written depends on the session alone.
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    archive.writestr(info, data, compresslevel=1)


def _without_arrays(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """The same JSON with its long lists of numbers taken out, and put into ``arrays`` by their place."""
    if isinstance(value, dict):
        return {
            key: _without_arrays(item, f"{name}/{key}" if name else key, arrays)
            for key, item in value.items()
        }
    if isinstance(value, list):
        kinds = set(map(type, value)) if len(value) >= _LONG else set()
        if kinds in ({float}, {int}):
            arrays[name] = np.array(value, np.float64 if float in kinds else np.int64)
            return {"$npy": name}
        return [
            _without_arrays(item, f"{name}/{place}", arrays) for place, item in enumerate(value)
        ]
    return value


def _with_arrays(value: Any, archive: zipfile.ZipFile) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"$npy"}:
            data = archive.read(f"{value['$npy']}.npy")
            return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False).tolist()
        return {key: _with_arrays(item, archive) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_arrays(item, archive) for item in value]
    return value
