"""Where recorded cells are kept: in a dictionary, or in a folder that can be resumed and copied.

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

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from superarm.reporting import RequestError, files
from superarm.studies.cell import Cell, Recorded, Recording, canonical

# What a manifest has besides the settings of its study.
NOTED = ("sweeps", "recorded", "engines")
# What it says about the engine: the rows of several engines have the same law.
ENGINE = ("engine", "torch", "device")
_MANIFEST, _CELL = "manifest.json", "cells/{}.json"


def sweep_digest(cells: Sequence[Cell]) -> str:
    """What a manifest says about the cells of an experiment: another design has another digest."""
    return hashlib.sha256(canonical([asdict(cell) for cell in cells]).encode()).hexdigest()


class Joined:
    """Several stores as one, for reading: a cell is what the first store that has it recorded."""

    def __init__(self, stores: Sequence[Recording]) -> None:
        self._stores = stores

    def __contains__(self, key: object) -> bool:
        return any(key in store for store in self._stores)

    def __getitem__(self, key: str) -> Recorded:
        # The last store answers for cells that none of them has, with its own error.
        return next((one for one in self._stores if key in one), self._stores[-1])[key]

    def __setitem__(self, key: str, recorded: Recorded) -> None:
        # Nobody could tell which store the cell belongs to.
        raise TypeError("joined stores are read only; record into one of them")


@dataclass(eq=False)
class Store:
    """A folder of recorded cells that all belong to one manifest.

    ``key in store`` says whether the cell with this key is recorded, ``store[key]`` is what it
    gave, and ``store[key] = recorded`` records it.

    Parameters
    ----------
    folder
        Created if it does not exist.
    """

    folder: Path
    # A report needs most cells several times.
    _read: dict[str, Recorded] = field(default_factory=dict, init=False, repr=False)

    def open(self, manifest: dict[str, Any], sweeps: Mapping[str, Sequence[Cell]]) -> None:
        """Begin or continue the study that the manifest and the cells describe.

        A folder with other settings, other cells of the same name or other files is refused and
        not changed.
        """
        from filelock import FileLock

        # Before the lock, which is a file in the folder.
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / ".lock"):
            found = self.manifest()
            if found is None:
                # The folder is new only if it is empty. Otherwise files of somebody else could be
                # overwritten. Hidden files may be left over from a write that was killed.
                if any(not path.name.startswith(".") for path in self.folder.iterdir()):
                    raise RequestError(
                        f"{self.folder} holds other files and no manifest.json; choose another "
                        f"folder"
                    )
                found = {**manifest, "sweeps": {}}
            for name, value in manifest.items():
                if found.get(name) != value:
                    raise RequestError(
                        f"{self.folder} holds rows with {name} = {found.get(name)!r}, not "
                        f"{value!r}; choose another folder, so that rows of different settings "
                        f"never mix"
                    )
            # Experiments may be added to a folder later, but an experiment that is there must have
            # the same cells: its report would mix two designs otherwise.
            for name, cells in sweeps.items():
                sweep = sweep_digest(cells)
                if found["sweeps"].setdefault(name, sweep) != sweep:
                    raise RequestError(
                        f"{self.folder} holds another sweep of {name}; choose another folder"
                    )
            files.write(self.folder / _MANIFEST, json.dumps(found, indent=2) + "\n")

    def note(self, **what: Any) -> dict[str, Any]:
        """Add to the manifest what is known after recording, and return the manifest."""
        from filelock import FileLock

        with FileLock(self.folder / ".lock"):
            # Read again under the lock: another command may have added experiments.
            found = {**(self.manifest() or {}), **what}
            files.write(self.folder / _MANIFEST, json.dumps(found, indent=2) + "\n")
        return found

    def manifest(self) -> dict[str, Any] | None:
        """What the folder holds, or None."""
        path = self.folder / _MANIFEST
        if not path.exists():
            return None
        try:
            return dict(json.loads(path.read_text("utf-8")))
        except ValueError:
            raise RequestError(
                f"{path} is not JSON; was the folder written by another program?"
            ) from None

    def __contains__(self, key: object) -> bool:
        # A file that exists is complete, because files are written whole or not at all.
        return (self.folder / _CELL.format(key)).exists()

    def __setitem__(self, key: str, recorded: Recorded) -> None:
        self._read.pop(key, None)
        files.write(self.folder / _CELL.format(key), canonical(asdict(recorded)) + "\n")

    def __getitem__(self, key: str) -> Recorded:
        if key not in self._read:
            try:
                found = json.loads((self.folder / _CELL.format(key)).read_text("utf-8"))
            except FileNotFoundError:
                raise RequestError(
                    f"{self.folder} has no row of the cell {key}: the study did not finish; run it "
                    f"again without --from to continue"
                ) from None
            self._read[key] = Recorded(**found)
        return self._read[key]


def joined(folders: Sequence[Path]) -> tuple[dict[str, Any], Joined]:
    """Folders of one study as one: their manifest, and their cells.

    They may come from several machines and engines, of which the rows and times tell. All other
    settings must be equal. The cells of an experiment are those of the first folder that has it.
    """
    stores = [Store(folder) for folder in folders]
    manifests = [store.manifest() or {"sweeps": {}} for store in stores]
    first, *others = [_shared(one) for one in manifests]
    for folder, other in zip(folders[1:], others, strict=True):
        if other != first:
            raise RequestError(
                f"{folder} must have been recorded with {canonical(first)}, as {folders[0]}, "
                f"but was recorded with {canonical(other)}"
            )
    # Cells are joined one by one, by keys that name all their settings. So an experiment that was
    # changed after a folder was begun takes from that folder what it still has.
    sweeps = {name: sweep for one in reversed(manifests) for name, sweep in one["sweeps"].items()}
    engines = [{name: one[name] for name in ENGINE if name in one} for one in manifests]
    distinct = {canonical(engine): engine for engine in engines}
    return {**manifests[0], "engines": list(distinct.values()), "sweeps": sweeps}, Joined(stores)


def _shared(manifest: dict[str, Any]) -> dict[str, Any]:
    return {name: manifest[name] for name in manifest if name not in (*NOTED, *ENGINE)}


def provenance(sweeps: Mapping[str, Sequence[Cell]], store: Recording) -> dict[str, Any]:
    """What a manifest says about recorded cells.

    Parameters
    ----------
    sweeps
        The cells by experiment; all of them are recorded.
    store
        Where they are recorded.

    Returns
    -------
    dict
        ``groups``, one per engine and machine, where timed cells are groups of their own;
        ``cells``, ``processor_s`` and ``wall_s`` of all cells together.
    """
    names: dict[str, list[str]] = {}
    cells = {cell.key: cell for sweep in sweeps.values() for cell in sweep}
    for name, sweep in sweeps.items():
        for key in {cell.key for cell in sweep}:
            names.setdefault(key, []).append(name)
    groups: dict[str, dict[str, Any]] = {}
    members: dict[str, list[Recorded]] = {}
    for key, cell in cells.items():
        recorded = store[key]
        about = {
            "engine": recorded.row.get("engine", "process"),
            "timed_alone": cell.is_timed,
            "machine": recorded.times["machine"],
        }
        group = canonical(about)
        experiments = groups.setdefault(group, {**about, "experiments": []})["experiments"]
        experiments += [name for name in names[key] if name not in experiments]
        members.setdefault(group, []).append(recorded)
    return {
        # Sorted, so that the order in which cells were requested leaves the manifest the same.
        "groups": [
            {**groups[group], "experiments": sorted(groups[group]["experiments"]), **_spent(part)}
            for group, part in sorted(members.items())
        ],
        **_spent([recorded for part in members.values() for recorded in part]),
    }


def _spent(part: Sequence[Recorded]) -> dict[str, Any]:
    """How much time some cells took.

    A study may be recorded in several calls, some of which were killed. ``wall_s`` is how long at
    least one of the cells was running, without the pauses in between.
    """
    wall_s, until = 0.0, float("-inf")
    for start, end in sorted((one.times["started"], one.times["ended"]) for one in part):
        wall_s += max(0.0, end - max(start, until))
        until = max(until, end)
    processor_s = sum(one.times["processor_s"] for one in part)
    return {"cells": len(part), "processor_s": round(processor_s, 1), "wall_s": round(wall_s, 1)}
