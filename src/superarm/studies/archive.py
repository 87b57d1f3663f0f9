"""Recorded cells in one compressed file, from which every number and picture can be made again.

The file is JSON lines, compressed by xz. The first line is the manifest. Each further line is a
cell: its kind, settings, seed and run, its row to the last bit, and its times. The seconds of every
single round are kept where times are the result, and left out elsewhere.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from superarm.reporting import RequestError, files
from superarm.studies.cell import Cell, Recorded, Recording, canonical

_KEPT_TIMES = ("started", "ended", "seconds", "processor_s", "machine")
# A dictionary as large as all rows finds what cells share, wherever in the file they are.
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 64 * 2**20}]


def pack(path: Path, manifest: dict[str, Any], cells: Iterable[Cell], store: Recording) -> Path:
    """Write the archive. The same cells give the same bytes, in whatever order they are."""
    distinct = {cell.key: cell for cell in cells}
    lines = sorted(_line(cell, store[key]) for key, cell in distinct.items())
    content = "\n".join([canonical(manifest), *lines, ""])
    return files.write(path, lzma.compress(content.encode(), filters=_FILTERS))


def unpack(path: Path, store: Recording) -> dict[str, Any]:
    """Put the cells of an archive into a store, and return the manifest."""
    try:
        first, *lines = lzma.decompress(path.read_bytes()).decode().splitlines()
        manifest = dict(json.loads(first))
        for line in lines:
            one = json.loads(line)
            store[Cell(**one["cell"]).key] = Recorded(one["row"], one["times"])
    except (lzma.LZMAError, ValueError, KeyError, TypeError):
        raise RequestError(
            f"{path} is not an archive of recorded rows; was it written by another program?"
        ) from None
    return manifest


def _line(cell: Cell, recorded: Recorded) -> str:
    times = recorded.times
    if not cell.is_timed:
        times = {name: times[name] for name in _KEPT_TIMES}
    return canonical({"cell": asdict(cell), "row": recorded.row, "times": times})
