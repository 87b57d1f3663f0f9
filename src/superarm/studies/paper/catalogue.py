"""The experiments that there are: the modules of `experiments` and of `extensions`.

An experiment is a module with

    TITLE                      a line for people
    cells(scale)               its cells, as plain data
    analyse(rows, times)       the `Findings` of what was recorded, and of nothing else

so adding an experiment is adding a file. Kinds of cells other than "play" are modules of
`superarm.studies.cells`, and stand in ``KINDS``.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from superarm.reporting import RequestError
from superarm.studies.paper import experiments, extensions
from superarm.studies.study import Study

_PARTS = (experiments, extensions)  # in the order of the report
# The kinds of cells that the experiments have: the code that can change a row of any of them.
KINDS = ("lemma1", "lemma2", "play", "rules", "signal", "swap_search")


def names() -> list[str]:
    """The names of all experiments in the order of the report. None of them is imported."""
    return list(_modules())


def load(name: str) -> Study:
    """An experiment by name."""
    if name not in _modules():
        raise RequestError(f"experiment must be one of {', '.join(names())}, got {name!r}")
    module = import_module(_modules()[name])
    return Study(name, module.TITLE, module.cells, module.analyse)


@cache
def _modules() -> dict[str, str]:
    """The modules by the names of their experiments, which are the names of their files."""
    return {
        file.name: f"{part.__name__}.{file.name}"
        for part in _PARTS
        for file in pkgutil.iter_modules(part.__path__)
    }
