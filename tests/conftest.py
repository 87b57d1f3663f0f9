"""Settings for all tests."""

import contextlib
import gc
import importlib
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# Recorded results are compared to the last bit, which depends on the order of sums. OpenBLAS has
# one order per kind of processor. All x86 processors of the last ten years know this one.
if platform.machine().lower() in ("x86_64", "amd64"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")  # before numpy is imported
# Test processes share the processors already: threads of a product of matrices would only wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Processes started from here keep the memory of arrays for the next ones. The system would clear
# every page that it hands out again. Only the C library of GNU knows these settings.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**25))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**29))
os.environ.setdefault("MALLOC_TOP_PAD_", str(2**24))

# Files of the tests are in memory, where there is a folder for that: a tenth of the time of tests
# that write files is spent in the file system. A whole run writes less than 100 MB.
_MEMORY = Path("/dev/shm")
if (
    "TMPDIR" not in os.environ
    and os.access(_MEMORY, os.W_OK | os.X_OK)
    and shutil.disk_usage(_MEMORY).free > 2**30
):
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)  # the variable for other processes

# The same examples in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Modules and tests live until the end. Looking for garbage among them takes a second per process.
gc.disable()

# Conftests have no doctests, and as modules of the same name they would clash.
collect_ignore_glob = ["*conftest.py"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session):
    """In a new clone each test process compiles its share of the test files before all of them.

    Otherwise all processes would compile all files at the same time, which takes seconds each.
    """
    worker, tests = getattr(session.config, "workerinput", None), Path(__file__).parent
    if worker and str(tests) in {str(Path(arg).absolute()) for arg in session.config.args}:
        number, n_workers = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
        for path in sorted(tests.rglob("test_*.py"))[number::n_workers]:
            if str(path.parent) not in sys.path:
                sys.path.insert(0, str(path.parent))
            # What is wrong with a file is said when it is collected.
            with contextlib.suppress(Exception, pytest.skip.Exception):
                importlib.import_module(path.stem)
    return (yield)


class FilesWithExamples:
    """Files without an example are not searched for examples: that takes a second.

    As a plugin, because the hooks of this file would not be called for the files of the package.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path):
        found = yield
        if file_path.suffix == ".py" and ">>> " not in file_path.read_text(encoding="utf-8"):
            found = [one for one in found if type(one).__name__ != "DoctestModule"]
        return found


def pytest_configure(config):
    config.pluginmanager.register(FilesWithExamples())


def pytest_collection_modifyitems(items):
    """Tests that need a browser come first, then those that need PostgreSQL.

    The first process begins with the first tests, and others take over tests from its end. So one
    process runs all of these tests. Each process would start a browser and a server of its own,
    which takes seconds.
    """

    def place(item):
        needed = getattr(item, "fixturenames", ())
        with_postgres = "postgres_server" in needed or "[postgresql" in item.name
        return 0 if "browser" in needed else 1 if with_postgres else 2

    items.sort(key=place)


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
