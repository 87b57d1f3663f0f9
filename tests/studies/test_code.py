"""The digest of the code covers what a cell can import, and nothing that only presents rows."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import superarm
from superarm.studies import Scale
from superarm.studies.code import digest_of, reachable, versions
from superarm.studies.paper.reproduction import EXPERIMENTS, KINDS, load

SOURCE = Path(superarm.__file__).parent
CELLS = [f"superarm.studies.cells.{kind}" for kind in KINDS]


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    root = tmp_path_factory.mktemp("source")
    shutil.copytree(SOURCE, root / "superarm", ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(scope="module")
def before(copied):
    return digest_of(reachable(CELLS, copied))


def changed(root, name, before):
    """Whether a comment at the end of a file changes the digest."""
    path = root / "superarm" / name
    text = path.read_text()
    path.write_text(text + "\n# a remark\n")
    try:
        return digest_of(reachable(CELLS, root)) != before
    finally:
        path.write_text(text)


@pytest.mark.parametrize(
    "name",
    [
        "__init__.py",
        "reporting/figures.py",
        "reporting/palette.py",
        "reporting/statistics.py",
        "studies/__init__.py",
        "studies/run.py",
        "studies/store.py",
        "studies/archive.py",
        "studies/machine.py",
        "studies/paper/claims/growth.py",
        "studies/paper/experiments/fig2a.py",
        "studies/paper/reproduction.py",
        "studies/cells/compare.py",
        "studies/comparison/report.py",
        "cli/reproduce.py",
        "sessions/session.py",
        "offpolicy/log.py",
    ],
)
def test_modules_that_make_no_row_leave_the_digest_alone(copied, name, before):
    assert not changed(copied, name, before)


@pytest.mark.parametrize(
    "name",
    [
        "core/policy.py",
        "core/protocols.py",
        "oracles/singletons.py",
        "oracles/lazy_singletons.py",
        "beliefs/beta.py",
        "rewards/network.py",
        "policies/__init__.py",
        "simulation/simulate.py",
        "simulation/instances.py",
        "theory/bounds.py",
        "studies/cell.py",
        "studies/cells/play.py",
        "studies/cells/swap_search.py",
    ],
)
def test_modules_that_make_rows_change_the_digest(copied, name, before):
    assert changed(copied, name, before)


def test_the_kinds_are_those_of_the_experiments():
    used = {cell.kind for name in EXPERIMENTS for cell in load(name).cells(Scale("tiny"))}
    assert sorted(used) == list(KINDS)


# The packages around the cells, without their __init__, which imports what no cell uses.
LOAD = """
import sys, types
for name, path in zip(("superarm", "superarm.studies"), sys.argv[1:3]):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [path]
for cell in sys.argv[3:]:
    __import__(cell)
print(*(name for name in sys.modules if name.startswith("superarm.")))
"""


def test_the_walk_finds_every_module_that_python_loads_for_cells():
    arguments = [str(SOURCE), str(SOURCE / "studies"), *CELLS]
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *arguments], check=True, capture_output=True, text=True
    )
    loaded = set(done.stdout.split()) - {"superarm.studies", "superarm.studies.cells"}
    assert "superarm.oracles.singletons" in loaded
    assert loaded <= set(reachable(CELLS))


def test_versions_name_the_libraries_that_decide_rows():
    assert set(versions("play")) == {"superarm", "code", "numpy", "scipy"}
    assert versions("play")["code"] != versions("compare")["code"]
