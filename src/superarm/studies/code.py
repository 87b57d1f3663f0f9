"""Which source files can change a row: the modules that a cell's runner can import.

The digest of these files is part of a folder's manifest, so that rows of different programs never
mix. It follows from the import statements in the files, not from a list. A change in a module that
only presents rows does not invalidate a half-finished study.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

import numpy as np
import scipy

from superarm.version import __version__

_PACKAGE = "superarm"
_ROOT = Path(__file__).parents[2]  # the folder that holds the package
_DIGITS = 16
_WITHIN = "{}.{}".format  # the name of a module in a package


@cache
def versions(*kinds: str) -> dict[str, str]:
    """What decides the rows of these kinds of cells besides their settings.

    The libraries are those that draw random numbers and add them up.
    """
    runners = [f"{_PACKAGE}.studies.cells.{kind}" for kind in kinds]
    return {
        "superarm": __version__,
        "code": digest_of(reachable(runners)),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def outside_digest(module: str) -> str:
    """A digest of a module of another program, and of the modules beside it that it imports.

    Raises
    ------
    ImportError
        If there is no such module, or if it is not a Python file.
    """
    spec = find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise ImportError(f"there is no Python file of the module {module}")
    path = Path(spec.origin)
    root = path.parents[module.count(".") + (path.name == "__init__.py")]
    # All programs of an installation are beside each other: there, only the package itself counts.
    top = module.split(".")[0] if "site-packages" in root.parts else None
    return digest_of(reachable([module], root, within=top, around=True))


def reachable(
    modules: Iterable[str],
    root: Path = _ROOT,
    *,
    within: str | None = _PACKAGE,
    around: bool = False,
) -> dict[str, Path]:
    """The files of these modules and of those that they import, directly or not, by module name.

    Parameters
    ----------
    modules
        The names of the first modules. Imports inside functions count.
    root, within
        The folder in which modules are looked for, and the only package of it that counts; None
        for all of them.
    around
        Whether the packages around the first modules count. Those around the cells do not: their
        ``__init__`` only gives names to users, and imports modules that no cell uses.
    """
    left = list(modules)
    seen = set(left)
    if not around:
        seen.update(above for name in left for above in accumulate(name.split("."), _WITHIN))
    found: dict[str, Path] = {}
    # A search without recursion: modules may import each other in circles.
    while left:
        name = left.pop()
        base = root.joinpath(*name.split("."))
        files = [base.with_suffix(".py"), base / "__init__.py"]
        path = next((file for file in files if file.is_file()), None)
        if path is None or within not in (None, name.split(".")[0]):
            continue
        found[name] = path
        source, is_package = path.read_text(encoding="utf-8"), path.name == "__init__.py"
        # Importing a module runs the packages that it is in, from the outermost one on.
        packages = accumulate(name.split("."), _WITHIN)
        new = {*_named(source, name, is_package), *packages} - seen
        left += new
        seen |= new
    return found


def digest_of(files: dict[str, Path]) -> str:
    """A digest of source files, by module name."""
    content = hashlib.sha256()
    # Sorted, and with the names in between: the digest must not depend on the order of imports, nor
    # be the same after code moves from one file to another.
    for name, path in sorted(files.items()):
        content.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()[:_DIGITS]


@cache
def _named(source: str, name: str, is_package: bool) -> tuple[str, ...]:
    """The modules that a source file names in its import statements."""
    package = name if is_package else name.rpartition(".")[0]
    found: list[str] = []
    # The source is parsed, not imported: an import would run it, and would miss imports inside
    # functions. Expressions, which are most of a tree, cannot import anything.
    left: list[ast.AST] = [ast.parse(source)]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            # One dot is the package itself, two dots are the package above it, and so on.
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            # `from package import module` names a module that the package need not import.
            found += [base, *[f"{base}.{one.name}" for one in node.names]]
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, block, ())
    return tuple(found)
