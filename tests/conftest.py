"""Settings for all tests."""

import gc
import os
import platform

import pytest
from hypothesis import settings

# Recorded results are compared to the last bit, which depends on the order of sums. OpenBLAS has
# one order per kind of processor. All x86 processors of the last ten years know this one.
if platform.machine().lower() in ("x86_64", "amd64"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")  # before numpy is imported

# The same examples in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Modules and tests live until the end. Looking for garbage among them takes a second per process.
gc.disable()

# Conftests have no doctests, and as modules of the same name they would clash.
collect_ignore_glob = ["*conftest.py"]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Files without an example are not searched for examples: that takes a second."""
    found = yield
    if file_path.suffix == ".py" and ">>> " not in file_path.read_text(encoding="utf-8"):
        found = [one for one in found if type(one).__name__ != "DoctestModule"]
    return found


def pytest_collection_finish():
    gc.freeze()
    # Rarer than by default: looking for cycles takes a tenth of the time of model tests.
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _files_are_read_once(tmp_path_factory):
    """Test processes share what they have read, in the folder of this run."""
    from shared_readings import shared
    from superarm.environments import datasets

    folder = tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else None
    with pytest.MonkeyPatch.context() as patch:
        for name in ("purchases", "read_flights") if folder else ():
            patch.setattr(datasets, name, shared(getattr(datasets, name), folder))
        yield


@pytest.fixture(scope="module")
def forked_workers():
    """The workers of studies are forked: a spawned one takes a second to start."""
    from forked_workers import forked
    from superarm.studies import run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "processes", forked)
        yield


@pytest.fixture
def pictures_unwritten(monkeypatch):
    """Pictures are drawn, but not written as SVG, which takes a quarter of a second each.

    For tests that look at something else. What is written is tested in reporting/test_figures.py.
    """
    from superarm.reporting import figures

    monkeypatch.setattr(figures, "as_svg", lambda figure: "<?xml version='1.0'?>\n<svg ></svg>\n")
