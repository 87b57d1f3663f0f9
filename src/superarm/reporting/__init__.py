"""What every study uses to show its results: statistics, pictures, tables, files, progress.

Nothing here knows a bandit. The modules import matplotlib, Jinja2 and rich only when they draw or
print.
"""

from __future__ import annotations

from importlib.util import find_spec

from superarm.version import how_to_install

__all__ = ["RequestError", "lacks", "need"]


class RequestError(ValueError):
    """A request that can't be met: an unknown study, a folder of other results, a missing extra."""


def need(module: str, extra: str, why: str) -> None:
    """Refuse a request whose optional dependency is not installed.

    Parameters
    ----------
    module
        The module that must be importable.
    extra
        The extra of superarm that installs it.
    why
        What needs the module, as the beginning of a sentence.
    """
    if lacks(module):
        raise RequestError(f"{why} and needs {module}: {how_to_install(extra)}")


def lacks(*modules: str) -> list[str]:
    """Those of some modules that are not installed."""
    lacking = []
    for module in modules:
        # Looked for, not imported: that would take long.
        try:
            if find_spec(module) is None:
                lacking.append(module)
        except ValueError:  # a module without a spec, such as one that a test put in its place
            continue
    return lacking
