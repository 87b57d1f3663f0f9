"""The digest of the code covers what a cell can import, and nothing that only presents rows."""

import shutil
from pathlib import Path

import pytest

import superarm
from superarm.studies.code import code_digest, reachable, versions
from superarm.studies.paper.reproduction import KINDS

SOURCE = Path(superarm.__file__).parent
CELLS = [f"superarm.studies.cells.{kind}" for kind in KINDS]


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    root = tmp_path_factory.mktemp("source")
    shutil.copytree(SOURCE, root / "superarm", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def changed(root, name):
    """Whether a comment at the end of a file changes the digest."""
    path = root / "superarm" / name
    before, text = code_digest(CELLS, root), path.read_text()
    path.write_text(text + "\n# a remark\n")
    try:
        return code_digest(CELLS, root) != before
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
        "studies/paper/claims.py",
        "studies/paper/experiments/fig2a.py",
        "studies/paper/report.py",
        "studies/cells/compare.py",
        "studies/comparison/report.py",
        "cli/reproduce.py",
        "sessions/session.py",
        "offpolicy/log.py",
    ],
)
def test_modules_that_make_no_row_leave_the_digest_alone(copied, name):
    assert not changed(copied, name)


@pytest.mark.parametrize(
    "name",
    [
        "core/policy.py",
        "core/protocols.py",
        "oracles/singletons.py",
        "oracles/lazy_singletons.py",
        "beliefs/beta.py",
        "rewards/network.py",
        "policies.py",
        "simulation/simulate.py",
        "simulation/instances.py",
        "theory/bounds.py",
        "studies/cell.py",
        "studies/cells/play.py",
        "studies/cells/swap_search.py",
    ],
)
def test_modules_that_make_rows_change_the_digest(copied, name):
    assert changed(copied, name)


def test_every_module_that_running_cells_loads_is_covered():
    """The walk finds at least what Python itself imports for a cell below the studies."""
    import subprocess
    import sys

    code = "import sys, superarm.studies.cells.play, superarm.studies.cells.swap_search; "
    code += "print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    below = ("core", "sets", "beliefs", "oracles", "rewards", "policies")
    wanted = {name for name in loaded if name.startswith(tuple(f"superarm.{b}" for b in below))}
    assert wanted <= set(reachable(CELLS))


def test_versions_name_the_libraries_that_decide_rows():
    assert set(versions("play")) == {"superarm", "code", "numpy", "scipy"}
    assert versions("play")["code"] != versions("compare")["code"]
