"""The experiments that there are: the modules of `experiments` and of `extensions`.

An experiment is a module with

    TITLE                      a line for people
    cells(scale)               its cells, as plain data
    analyse(rows, times)       the `Findings` of what was recorded, and of nothing else

so adding an experiment is adding a file. Kinds of cells other than "play" are modules of
`superarm.studies.cells`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module

from superarm.reporting import RequestError
from superarm.studies.paper import experiments, extensions
from superarm.studies.study import Scale, Study

_PARTS = (experiments, extensions)  # in the order of the report


def names() -> list[str]:
    """The names of all experiments in the order of the report. None of them is imported."""
    return [name for part in _PARTS for name in _names(part.__path__)]


def load(name: str) -> Study:
    """An experiment by name."""
    for part in _PARTS:
        if name in _names(part.__path__):
            module = import_module(f"{part.__name__}.{name}")
            return Study(name, module.TITLE, module.cells, module.analyse)
    raise RequestError(f"experiment must be one of {', '.join(names())}, got {name!r}")


def kinds() -> list[str]:
    """The kinds of cells that the experiments have."""
    # At the smallest size: the kinds are the same at every size.
    return sorted({cell.kind for name in names() for cell in load(name).cells(Scale("tiny"))})


def _names(path: Iterable[str]) -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(path))
