"""The fenced blocks of the documentation, and what a reader does with them."""

import importlib.util
import re
import shlex
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
# Pages that the scripts in people/ follow, with their commands. test_docs.py runs all others.
FOLLOWED = {
    "README.md",
    "choosing.md",
    "client.md",
    "edge.md",
    "logs.md",
    "service.md",
    "slates.md",
    "tutorial.md",
}

_TYPED = r"\$ ((?:.*\\\n)*.*)"  # a command after the prompt; a line may be continued


def doc(name):
    """The path of a page by its name."""
    return ROOT / name if name in ("README.md", "CONTRIBUTING.md") else DOCS / name


def blocks(path, language="python"):
    """The fenced blocks of a page in one language, in order."""
    fenced = rf"^```{language}\n(.*?)^```"
    return re.findall(fenced, path.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def run_python(path, n_blocks=None):
    """Run the first Python blocks of a page, or all, in one namespace, which is returned."""
    namespace = {"__name__": "docs"}
    for number, block in enumerate(blocks(path)[:n_blocks], start=1):
        exec(compile(block, f"{path.name}, block {number}", "exec"), namespace)
    # The end of a program closes the connections of its clients.
    for client in [one for one in namespace.values() if isinstance(one, _clients())]:
        client.close()
    return namespace


def _clients():
    """The class of clients, imported only where a page may have used it."""
    module = sys.modules.get("superarm.client")
    return () if module is None else module.Client


def commands(path):
    """The commands of the console blocks of a page as lists of words, without comments."""
    typed = re.compile(rf"^{_TYPED}", re.MULTILINE)
    text = "".join(blocks(path, "console"))
    lines = (found.replace("\\\n", " ") for found in typed.findall(text))
    return [shlex.split(line, comments=True) for line in lines]


def printed(block):
    """What a console block shows below its last command."""
    return re.split(rf"^{_TYPED}\n", block, flags=re.MULTILINE)[-1]


def tool(name):
    """A script of the folder tools as a module."""
    loader = SourceFileLoader(name, str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        loader.exec_module(module)
    return module
