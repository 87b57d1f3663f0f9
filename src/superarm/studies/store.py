"""Where recorded cells are kept: in memory, or in a folder that can be stopped, resumed and copied.

DIR/manifest.json          the settings, and where the rows come from; a request with other settings
                           is refused
DIR/cells/KEY.json         one file per finished cell, written whole or not at all

A study writes its results beside them. For the paper's experiments:

DIR/NAME/rows.jsonl        the rows in the order of the cells: the same bytes on every machine
DIR/NAME/times.jsonl       how long each cell took
DIR/NAME/numbers.json      what the analysis found
DIR/NAME/NAME.svg          the picture
DIR/report.html            all of it
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from superarm.reporting import RequestError, folders
from superarm.studies.cell import Cell, Recorded, canonical, digest

# What a manifest has besides the settings of its study.
NOTED = ("sweeps", "recorded")


class Recording(Protocol):
    """What the runner needs of a store."""

    def has(self, cell: Cell) -> bool:
        """Whether a cell is recorded."""

    def put(self, cell: Cell, recorded: Recorded) -> None:
        """Record a finished cell."""

    def get(self, cell: Cell) -> Recorded:
        """What a finished cell gave."""


class Memory:
    """Recorded cells of a study that is not resumed: they live as long as the command."""

    def __init__(self) -> None:
        self._cells: dict[str, Recorded] = {}

    def has(self, cell: Cell) -> bool:
        """Whether a cell is recorded."""
        return cell.key in self._cells

    def put(self, cell: Cell, recorded: Recorded) -> None:
        """Record a finished cell."""
        self._cells[cell.key] = recorded

    def get(self, cell: Cell) -> Recorded:
        """What a finished cell gave."""
        return self._cells[cell.key]


def sweep_digest(cells: Sequence[Cell]) -> str:
    """What a manifest says about the cells of an experiment: another design has another digest."""
    return digest([asdict(cell) for cell in cells])


class Store:
    """A folder of recorded cells that all belong to one manifest.

    Parameters
    ----------
    folder
        Created if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, manifest: dict[str, Any], sweeps: Mapping[str, Sequence[Cell]]) -> None:
        """Begin or continue the study that the manifest and the cells describe.

        A folder with other settings, other cells of the same name or other files is refused and
        not changed.
        """
        # Before the lock, which is a file in the folder.
        self.folder.mkdir(parents=True, exist_ok=True)
        with folders.locked(self.folder):
            found = self.manifest()
            # A folder without a manifest is new only if it is empty. Otherwise files of somebody
            # else could be overwritten.
            if found is None:
                self._refuse_other_files()
                found = {**manifest, "sweeps": {}}
            self._refuse_other_settings(found, manifest)
            # Experiments may be added to a folder later, but an experiment that is there must have
            # the same cells: its report would mix two designs otherwise.
            for name, cells in sweeps.items():
                sweep = sweep_digest(cells)
                if found["sweeps"].setdefault(name, sweep) != sweep:
                    raise RequestError(
                        f"{self.folder} holds another sweep of {name}; choose another folder"
                    )
            self._write_manifest(found)

    def note(self, **what: Any) -> dict[str, Any]:
        """Add to the manifest what is known after recording, and return the manifest."""
        with folders.locked(self.folder):
            # Read again under the lock: another command may have added experiments.
            found = {**(self.manifest() or {}), **what}
            self._write_manifest(found)
        return found

    def manifest(self) -> dict[str, Any] | None:
        """What the folder holds, or None."""
        path = self.folder / "manifest.json"
        if not path.exists():
            return None
        try:
            return dict(json.loads(path.read_text()))
        except ValueError:
            raise RequestError(
                f"{path} is not JSON; was the folder written by another program?"
            ) from None

    def has(self, cell: Cell) -> bool:
        """Whether a cell is recorded."""
        # A file that exists is complete, because files are written whole or not at all.
        return self._path(cell).exists()

    def put(self, cell: Cell, recorded: Recorded) -> None:
        """Record a finished cell."""
        folders.write(self._path(cell), canonical(asdict(recorded)) + "\n")

    def get(self, cell: Cell) -> Recorded:
        """What a finished cell gave."""
        try:
            return Recorded(**json.loads(self._path(cell).read_text()))
        except FileNotFoundError:
            raise RequestError(
                f"run {cell.run} of {cell.kind} {canonical(cell.settings)} is not in "
                f"{self.folder}: the study did not finish; run it again without --from to continue"
            ) from None

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the folder, whole or not at all."""
        return folders.write(self.folder / name, content)

    def _write_manifest(self, manifest: dict[str, Any]) -> None:
        self.write("manifest.json", json.dumps(manifest, indent=2) + "\n")

    def _path(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.key}.json"

    def _refuse_other_files(self) -> None:
        # Hidden files may be left over from a write that was killed.
        if any(not path.name.startswith(".") for path in self.folder.iterdir()):
            raise RequestError(
                f"{self.folder} holds other files and no manifest.json; choose another folder"
            )

    def _refuse_other_settings(self, found: dict[str, Any], wanted: dict[str, Any]) -> None:
        for name, value in wanted.items():
            if found.get(name) != value:
                raise RequestError(
                    f"{self.folder} holds rows with {name} = {found.get(name)!r}, not {value!r}; "
                    f"choose another folder, so that rows of different settings never mix"
                )
