"""The benchmark of flows: it counts what it says."""

import importlib
import sys

import pytest

import flows
from superarm import studies
from superarm.studies import Scale

ONE = """
from {package} import two

def begin():
    two.first([one for one in range(2)])
    two.first(())
    return two.second(lambda: inner())

def inner():
    return 1
"""
TWO = """
def first(some):
    return sorted(some, key=lambda one: -one)

def second(call):
    return call()
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    name = "flows_traced_package"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "one.py").write_text(ONE.format(package=name))
    (folder / "two.py").write_text(TWO)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(flows, "package_root", lambda: f"{folder}/")
    yield name
    for module in [module for module in sys.modules if module.startswith(name)]:
        del sys.modules[module]


def test_functions_files_and_switches_are_counted(package):
    one = importlib.import_module(f"{package}.one")
    with flows.traced("begin") as flow:
        one.begin()
    # one -> first -> one -> first -> one -> second -> lambda of one -> second -> one
    assert flow.counts == (4, 2, 8)
    assert flow.calls == {
        ("one.py", "begin"): 1,
        ("two.py", "first"): 2,
        ("two.py", "second"): 1,
        ("one.py", "inner"): 1,
    }


def test_imports_are_not_part_of_a_flow(package):
    with flows.traced("import") as flow:
        importlib.import_module(f"{package}.one").inner()
    assert flow.calls == {("one.py", "inner"): 1}


# Functions, files, and switches between files. Raise a number only with a reason: somebody has to
# read each function and to open each file in order to understand one round.
CEILINGS = {
    "singletons": (27, 7, 40),
    "lazy": (42, 8, 60),
    "group": (48, 10, 64),
    "session": (39, 11, 60),
}


@pytest.mark.parametrize("name", CEILINGS)
def test_rounds_stay_short(name):
    (flow,) = flows.trace([name])
    assert next(iter(flow.calls))[1].endswith(".ask")
    assert f"| {flow.name} | {flow.counts[0]} |" in flows.table([flow])
    listed = "\n".join(map(" ".join, flow.calls))
    assert all(map(int.__le__, flow.counts, CEILINGS[name])), f"{flow.counts}:\n{listed}"


# Two threads of the server take turns, so the number of switches may differ a little.
REQUESTS = {"POST decisions": (95, 26, 140), "POST outcomes": (80, 20, 106)}


def test_requests_stay_short():
    found = {flow.name: flow for flow in flows.trace(["post"])}
    assert found.keys() == REQUESTS.keys()
    for name, flow in found.items():
        listed = "\n".join(map(" ".join, flow.calls))
        assert all(map(int.__le__, flow.counts, REQUESTS[name])), f"{flow.counts}:\n{listed}"


# The number of switches grows with the cells, so it does not matter here.
STUDIES = {
    "reproduce fig2a": (65, 14),
    "reproduce --from": (50, 11),
    "run table.csv": (103, 20),
}


@pytest.mark.usefixtures("forked_workers")
def test_studies_stay_short(monkeypatch):
    """At a size that no command offers, because only the walk matters."""
    monkeypatch.setattr(studies, "Scale", lambda size, **given: Scale("tiny", **given))
    found = {flow.name: flow for flow in flows.trace(["reproduce", "run"])}
    assert found.keys() == STUDIES.keys()
    for name, flow in found.items():
        listed = "\n".join(map(" ".join, flow.calls))
        within = map(int.__le__, flow.counts[:2], STUDIES[name])
        assert all(within), f"{name} {flow.counts}:\n{listed}"
