"""The public names: few in `superarm`, the others in documented rooms, and quick to import."""

import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import superarm as sa

PYPROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
LAYERS = PYPROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
ROOMS = [room for row in LAYERS for room in row.split(" | ")]
# Names that other programs rely on.
PROMISED = [
    "AnySuccess",
    "Belief",
    "BernoulliArms",
    "BetaBelief",
    "BlackBox",
    "Counted",
    "CoverageReward",
    "Environment",
    "Exhaustive",
    "Feasible",
    "FeasibleSets",
    "GaussianBelief",
    "Greedy",
    "Group",
    "GroupTesting",
    "Instance",
    "KLUCBBelief",
    "LazyGreedy",
    "LazySingletons",
    "LinearBelief",
    "LinearReward",
    "LocalSearch",
    "LogisticBelief",
    "NetworkReward",
    "Oracle",
    "Policy",
    "Pools",
    "Quantizer",
    "Reward",
    "Session",
    "Singletons",
    "TopK",
    "Trace",
    "UCBBelief",
    "auto",
    "compare",
    "cts",
    "cucb",
    "epsilon_greedy",
    "gt_qts",
    "inspect",
    "linear_instance",
    "network_instance",
    "plan",
    "random_sets",
    "replicate",
    "simulate",
    "single_seed_ts",
    "theory",
    "thompson",
]
# `import superarm` loads numpy, and nothing else that takes long.
SLOW = [
    "asyncio",
    "click",
    "distributed",
    "fastapi",
    "httpx",
    "jinja2",
    "matplotlib",
    "pandas",
    "rich",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "starlette",
    "torch",
    "typer",
    "uvicorn",
]


def public_names(module):
    """The names of ``__all__``, or else those that a module of one file defines."""
    if hasattr(module, "__all__"):
        return module.__all__
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def test_the_public_names_are_the_promised_ones():
    assert sa.__all__ == PROMISED
    assert len(sa.__all__) <= 50


def test_all_is_sorted_and_true():
    assert sorted(sa.__all__) == sa.__all__
    assert all(hasattr(sa, name) for name in sa.__all__)


def test_every_public_thing_has_a_docstring():
    assert all(getattr(sa, name).__doc__ for name in sa.__all__)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_of_a_room_is_documented(room):
    module = importlib.import_module(f"superarm.{room}")
    assert module.__doc__
    for name in public_names(module):
        thing = getattr(module, name)
        assert not (inspect.isclass(thing) or callable(thing)) or thing.__doc__, name


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_of_several_files_says_what_is_public(room):
    module = importlib.import_module(f"superarm.{room}")
    if hasattr(module, "__path__") and room not in ("cli", "service"):  # these are programs
        assert len(set(module.__all__)) == len(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)


def test_the_version_is_the_packages():
    assert sa.__version__ == version("superarm")


def test_every_room_that_the_package_names_is_there():
    rooms = re.findall(r"`superarm\.(\w+)`", sa.__doc__)
    assert len(rooms) >= 15
    code = f"import superarm as sa\nprint(*[getattr(sa, room).__name__ for room in {rooms}])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == [f"superarm.{room}" for room in rooms]
    with pytest.raises(AttributeError, match="module 'superarm' has no attribute 'polcy'"):
        sa.polcy  # noqa: B018


def test_importing_superarm_loads_the_rooms_and_no_extras():
    code = f"""
import sys
import superarm as sa
sa.advice, sa.beliefs, sa.core, sa.environments, sa.errors, sa.offpolicy, sa.oracles, sa.policies
sa.rewards, sa.sessions, sa.sets, sa.simulation, sa.theory
print([name for name in {SLOW} if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
