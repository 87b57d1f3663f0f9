"""Which source files can change a row: the modules that a cell's runner can import.

The digest of these files is part of a folder's manifest, so that rows of different programs never
mix. It follows from the import statements in the files, not from a list. A change in a module that
only presents rows does not invalidate a half-finished study.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy

from superarm.version import __version__

_PACKAGE = "superarm"
_ROOT = Path(__file__).parents[2]  # the folder that holds the package
_DIGITS = 16


@cache
def versions(*kinds: str) -> dict[str, str]:
    """What decides the rows of these kinds of cells besides their settings.

    The libraries are those that draw random numbers and add them up.
    """
    return {
        "superarm": __version__,
        "code": code_digest(f"{_PACKAGE}.studies.cells.{kind}" for kind in kinds),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def engine_of(name: str) -> dict[str, str]:
    """What a manifest says about an engine, which decides the rows as well."""
    if name != "torch":
        return {"engine": name}
    # Imported here: torch is an extra, and it takes seconds to load.
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {"engine": name, "torch": torch.__version__, "device": device}


def code_digest(modules: Iterable[str], root: Path = _ROOT) -> str:
    """A digest of the source files of these modules and of everything that they can import."""
    return _digest(reachable(modules, root))


def reachable(modules: Iterable[str], root: Path = _ROOT) -> dict[str, Path]:
    """The files of the package that these modules import, directly or not, by module name.

    Imports inside functions count. The packages around the modules do not: their ``__init__`` only
    gives names to users, and imports modules that no cell uses.
    """
    first = list(modules)
    around = {above for name in first for above in _packages(name)}
    # The dot tells modules of the package from a package such as superarm_more.
    return _search(
        first, root, lambda name: f"{name}.".startswith(f"{_PACKAGE}.") and name not in around
    )


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
    first = [module, *_packages(module)]
    return _digest(_search(first, root, lambda name: top in (None, name.split(".")[0])))


def _search(first: list[str], root: Path, counts: Callable[[str], bool]) -> dict[str, Path]:
    """The files of some modules and of those that they import, as far as these count, by name."""
    found: dict[str, Path] = {}
    left, seen = list(first), set(first)
    # A search without recursion: modules may import each other in circles.
    while left:
        name = left.pop()
        path = _file(name, root) if counts(name) else None
        if path is not None:
            found[name] = path
            # Importing a module runs the packages that it is in.
            source, is_package = path.read_text(encoding="utf-8"), path.name == "__init__.py"
            new = {*_named(source, name, is_package), *_packages(name)} - seen
            left += new
            seen |= new
    return found


def _digest(files: dict[str, Path]) -> str:
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
    # functions.
    for node in _statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            # One dot is the package itself, two dots are the package above it, and so on.
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            # `from package import module` names a module that the package need not import.
            found += [base, *[f"{base}.{one.name}" for one in node.names]]
    return tuple(found)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements. Expressions, which are most of a tree, cannot import anything."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, block, ())


def _packages(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


def _file(name: str, root: Path) -> Path | None:
    """The source file of a module, or None where the name is not a module."""
    base = root.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None
