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
from importlib import import_module

from superarm.reporting import RequestError
from superarm.studies.paper import experiments, extensions
from superarm.studies.study import Study

# The kinds of cells that the experiments have: the code that can change a row of any of them.
KINDS = ("lemma1", "lemma2", "play", "rules", "signal", "swap_search")


# The modules by the names of their experiments, which are the names of their files.
_MODULES = {
    file.name: f"{part.__name__}.{file.name}"
    for part in (experiments, extensions)  # in the order of the report
    for file in pkgutil.iter_modules(part.__path__)
}


def names() -> list[str]:
    """The names of all experiments in the order of the report. None of them is imported."""
    return list(_MODULES)


def load(name: str) -> Study:
    """An experiment by name."""
    if name not in _MODULES:
        raise RequestError(f"experiment must be one of {', '.join(names())}, got {name!r}")
    module = import_module(_MODULES[name])
    return Study(name, module.TITLE, module.cells, module.analyse)
