"""Where recorded cells live: a folder that can be stopped, resumed and copied, and never mixes two sets of settings.

DIR/manifest.json          what was asked for; another request for the same folder is refused
DIR/cells/KEY.json         one finished cell each, written whole or not at all
DIR/NAME/rows.jsonl        an experiment's rows in the order of its sweep: the same bytes on every machine
DIR/NAME/times.jsonl       what took how long, cell by cell
DIR/NAME/numbers.json      what the analysis made of the rows
DIR/NAME/NAME.png          the picture
DIR/report.html            all of it
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from superarm.experiments.catalogue import RequestError
from superarm.experiments.cell import Cell, Recorded, canonical, digest


class Store:
    """A folder of recorded cells for one manifest.

    Parameters
    ----------
    folder
        Made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, manifest: dict[str, Any], sweeps: Mapping[str, Sequence[Cell]]) -> None:
        """Begin, or go on with, what the manifest and the sweeps describe.

        A folder of anything else, of other settings or of another sweep of the same name, is refused and left alone.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            found = self.manifest()
            if found is None and any(
                not path.name.startswith(".") for path in self.folder.iterdir()
            ):
                raise RequestError(
                    f"{self.folder} holds other files and no manifest.json; choose another folder"
                )
            found = found or {**manifest, "sweeps": {}}
            for name, value in manifest.items():
                if found.get(name) != value:
                    raise RequestError(
                        f"{self.folder} holds a reproduction with {name} = {found.get(name)!r}, not {value!r}; "
                        f"choose another folder, so that rows of different settings never mix"
                    )
            for name, cells in sweeps.items():
                sweep = digest([asdict(cell) for cell in cells])
                if found["sweeps"].setdefault(name, sweep) != sweep:
                    raise RequestError(
                        f"{self.folder} holds another sweep of {name}; choose another folder"
                    )
            self.write("manifest.json", json.dumps(found, indent=2) + "\n")

    def manifest(self) -> dict[str, Any] | None:
        """What the folder holds, or None."""
        path = self.folder / "manifest.json"
        if not path.exists():
            return None
        try:
            return dict(json.loads(path.read_text()))
        except ValueError:
            raise RequestError(
                f"{path} is not JSON; was the folder written by something else?"
            ) from None

    def has(self, cell: Cell) -> bool:
        """Whether a cell is recorded."""
        return self._path(cell).exists()

    def put(self, cell: Cell, recorded: Recorded) -> None:
        """Record a finished cell."""
        self.write(self._path(cell).relative_to(self.folder), canonical(asdict(recorded)) + "\n")

    def get(self, cell: Cell) -> Recorded:
        """What a finished cell gave."""
        try:
            return Recorded(**json.loads(self._path(cell).read_text()))
        except FileNotFoundError:
            raise RequestError(
                f"run {cell.run} of {cell.kind} {canonical(cell.settings)} is not in {self.folder}: "
                f"the reproduction did not finish; run it again to go on, without --from"
            ) from None

    def write(self, name: str | Path, text: str | bytes) -> Path:
        """Write a file whole or not at all: to a temporary one first, which then takes its place."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode() if isinstance(text, str) else text)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o644)  # a temporary file is its owner's alone
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Two commands on one folder must not lose each other's sweeps."""
        with (self.folder / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _path(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.key}.json"
