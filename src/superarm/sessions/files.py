"""The file of a session: a zip of JSON and arrays with a checksum, replaced in one step.

    session.json      everything but long lists of numbers; {"$npy": "belief/a"} means belief/a.npy
    names.json        the names of the arms, unless they are 0, 1, 2, ...
    belief/a.npy ...  long lists of numbers, as numpy writes them; no pickles

The comment of the zip is ``sha256:`` and the digest of all bytes before it. Any zip tool can list
and unpack the file. The same session gives the same bytes.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.errors import SessionFileError

VERSION = 2
_FORMAT = "superarm session"
# From version n to version n + 1: returns the document of an older file as it is written today.
_MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    # Version 2 has ranked decisions. A decision that does not say so is as it was: not ranked.
    1: lambda document: document,
}

_LONG = 64  # a list of at least this many numbers is written as an array
_MEMBERS_AT_ONCE = 10_000  # of a list of names; a thread keeps the interpreter meanwhile
_MARK = b"sha256:"
_DIGEST = 64  # characters of a SHA-256 digest in hexadecimal
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can have
_LEFTOVER_S = 3600.0  # a temporary file of this age belongs to a writer that was killed


def encode(document: dict[str, Any], dumps: Callable[[Any], str] = json.dumps) -> bytes:
    """The bytes of a file. ``dumps`` writes the decisions of the document.

    The document is plain JSON, where a list of numbers may also be an array. Another thread may
    call this while a program answers requests, so no step keeps the interpreter for long.
    """
    arrays: dict[str, Any] = {}
    # Arrays are written by numpy: JSON would be larger, and slow to read.
    main = {"format": _FORMAT, "version": VERSION, **document}
    names = main.pop("names", None)
    # Most decisions have no long list. To look at each of their numbers would take longest.
    decisions = main.get("decisions")
    is_short = isinstance(decisions, list) and not any(map(_may_be_long, decisions))
    main = _without_arrays({**main, "decisions": []} if is_short else main, "", arrays)
    if is_short:
        main["decisions"] = decisions
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _put(archive, "session.json", _text(main, dumps).encode())
        if names is not None:
            _put(archive, "names.json", _names(names))
        for name, array in arrays.items():
            out = io.BytesIO()
            np.lib.format.write_array(out, array, allow_pickle=False)
            _put(archive, f"{name}.npy", out.getbuffer())
        archive.comment = _MARK + b"0" * _DIGEST  # room for the digest
    data = buffer.getbuffer()
    data[-_DIGEST:] = hashlib.sha256(data[:-_DIGEST]).hexdigest().encode()
    return bytes(data)


def decode(data: bytes, path: Path) -> dict[str, Any]:
    """The document of a file, in the form of this version."""
    if not is_whole(data):
        raise SessionFileError(
            f"{path} is not a whole session file: it was cut short or altered, or is no session; "
            f"the one before it may be at {previous(path)}"
        )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = set(archive.namelist())
        if "session.json" not in members:
            raise SessionFileError(f"{path} has no session.json: it is no session")
        main = json.loads(archive.read("session.json"))
        version = _version(main, path)
        document: dict[str, Any] = _with_arrays(main, archive)
        if "names.json" in members:
            # Earlier versions wrote many numbers as an array here, too.
            document["names"] = _with_arrays(json.loads(archive.read("names.json")), archive)
    for old in range(version, VERSION):
        document = _MIGRATIONS[old](document)
    return document


@contextlib.contextmanager
def as_file_error(path: Path) -> Iterator[None]:
    """Turn any error about the content of a file into a `SessionFileError`."""
    try:
        yield
    except SessionFileError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise SessionFileError(f"{path} does not fit: {error}") from error


def is_whole(data: bytes) -> bool:
    """Whether the checksum at the end is that of the bytes before it."""
    end = len(data) - _DIGEST
    if end < len(_MARK) or data[end - len(_MARK) : end] != _MARK:
        return False
    # A memoryview, because a slice of the bytes would copy the whole file.
    return hashlib.sha256(memoryview(data)[:end]).hexdigest().encode() == data[end:]


def previous(path: Path) -> Path:
    """Where the file that a save replaced is kept."""
    return path.with_name(f"{path.name}.previous")


def write(path: Path, data: bytes) -> None:
    """Replace a file, so that the path has either the old bytes or the new ones at any moment.

    The bytes go to a temporary file in the same folder and are flushed to the disk. The old file,
    if it is whole, is kept as ``.previous``. Then the new file is renamed to the path, and the
    folder is flushed.
    """
    path = Path(os.path.realpath(path))
    # The real path: a link stays a link, and its target is replaced.
    _sweep(path)
    with _temporary(path) as fresh:
        with fresh.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        _keep_previous(path)
        fresh.replace(path)
    if os.name == "posix":  # elsewhere a folder cannot be opened, and need not be flushed
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _keep_previous(path: Path) -> None:
    # A damaged file must not replace the last good one.
    if not path.exists() or not is_whole(path.read_bytes()):
        return
    with _temporary(path) as kept:
        try:
            kept.hardlink_to(path)
        except OSError:  # a file system without links
            shutil.copyfile(path, kept)
        kept.replace(previous(path))


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """An unused name in the same folder. The file is removed afterwards, unless it was moved."""
    name = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        yield name
    finally:
        name.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove the temporary files of writers of this file that were killed."""
    for name in path.parent.iterdir():
        if name.name.startswith(f".{path.name}.") and name.suffix == ".tmp":
            with contextlib.suppress(OSError):  # another writer removed it first
                if time.time() - name.stat().st_mtime > _LEFTOVER_S:
                    name.unlink()


def _names(names: list[Any]) -> bytes:
    try:
        return _list_text(names).encode()
    except UnicodeEncodeError:  # half of a character, as in names of files that are not UTF-8
        return json.dumps(names).encode()


def _text(main: dict[str, Any], dumps: Callable[[Any], str]) -> str:
    """JSON with one member per line, and one decision per line. An indent takes far longer."""
    lines = []
    for name, value in main.items():
        if name != "decisions" or not value:
            text = json.dumps(value)
        else:
            text = "[\n  " + ",\n  ".join(map(dumps, value)) + "\n ]"
        lines.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"


def _list_text(names: list[Any]) -> str:
    """JSON of a long list, some members at a time."""
    starts = range(0, len(names), _MEMBERS_AT_ONCE)
    some = (names[start : start + _MEMBERS_AT_ONCE] for start in starts)
    return "[" + ", ".join(json.dumps(each, ensure_ascii=False)[1:-1] for each in some) + "]"


def _version(main: dict[str, Any], path: Path) -> int:
    version = main.get("version")
    if main.get("format") != _FORMAT or not isinstance(version, int):
        raise SessionFileError(
            f"{path} must be of the format {_FORMAT!r}, got {main.get('format')!r}"
        )
    if version > VERSION:
        raise SessionFileError(
            f"{path} is of version {version}, this superarm reads up to {VERSION}; update it"
        )
    return version


def _put(archive: zipfile.ZipFile, name: str, data: Any) -> None:
    # A fixed date: the bytes depend on the session alone.
    info = zipfile.ZipInfo(name, date_time=_FIRST_DATE)
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    # Level 1: level 6 takes up to six times as long and saves a quarter of the bytes.
    archive.writestr(info, data, compresslevel=1)


def _may_be_long(decision: dict[str, Any]) -> bool:
    """Whether the record of a decision may have a long list."""
    return len(decision["arms"]) >= _LONG or "context" in decision


def _without_arrays(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """A copy of JSON whose long lists of numbers are moved to ``arrays``, by their place."""
    if isinstance(value, dict):
        return {
            key: _without_arrays(item, f"{name}/{key}" if name else key, arrays)
            for key, item in value.items()
        }
    if isinstance(value, np.ndarray) and not (value.ndim == 1 and value.dtype.kind in "if"):
        value = value.tolist()
    numbers = _long_numbers(value)
    if numbers is not None:
        arrays[name] = numbers
        return {"$npy": name}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if not isinstance(value, list):
        return value
    # A short list of plain values needs no look at each.
    if len(value) < _LONG and set(map(type, value)).isdisjoint((dict, list, np.ndarray)):
        return value
    return [_without_arrays(item, f"{name}/{place}", arrays) for place, item in enumerate(value)]


def _long_numbers(value: Any) -> NDArray[Any] | None:
    """A long list of floats or of whole numbers, or a flat array of them; None for the rest."""
    if not isinstance(value, list | np.ndarray) or len(value) < _LONG:
        return None
    if isinstance(value, np.ndarray):
        is_float = value.dtype.kind == "f"
    elif (kinds := set(map(type, value))) in ({float}, {int}):
        is_float = float in kinds
    else:
        return None
    return np.asarray(value, np.float64 if is_float else np.int64)


def _with_arrays(value: Any, archive: zipfile.ZipFile) -> Any:
    """A copy of JSON with its arrays put back as lists."""
    if isinstance(value, dict):
        if value.keys() == {"$npy"}:
            data = archive.read(f"{value['$npy']}.npy")
            return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False).tolist()
        return {key: _with_arrays(item, archive) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_arrays(item, archive) for item in value]
    return value
