"""What every study uses to show its results: statistics, pictures, tables, pages, folders,
progress.

Nothing here knows a bandit. The modules import matplotlib, Jinja2 and rich only when they draw or
print.
"""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["RequestError", "need"]


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
    if find_spec(module) is None:
        raise RequestError(f"{why} and needs {module}: pip install 'superarm[{extra}]'")
