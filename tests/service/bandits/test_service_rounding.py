"""A log that was written on another processor: numbers that differ by rounding are no damage."""

import math
from dataclasses import replace

import pytest
from click.testing import CliRunner

from serving import client_of, create, play
from superarm.cli import app
from superarm.service.bandits import loading
from superarm.service.bandits.rounding import ROUNDING, difference
from superarm.service.log import chain
from superarm.service.log.sqlite import SQLiteStore
from superarm.sessions import Session

# By rounding, and by more than that.
NUDGES = {1e-15: "the same up to rounding, 1e-15 of the numbers: ", 1e-3: "DIFFERENT"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "bandits.db"
    with client_of(path) as client:
        play(client, create(client, seed=1, belief="beta"), 5)
    return path


def nudge(path, by):
    """Write the checkpoint as another processor would have."""
    store = SQLiteStore(path, "write")
    (bandit,) = store.bandits(10, 0)
    live = loading.from_checkpoint(store, bandit, {}, store.checkpoint(bandit.number))
    belief = live.session.policy.belief
    belief.a[belief.a.argmax()] *= 1 + by
    store.put_checkpoint(bandit.number, chain.make_checkpoint(*live.snapshot()))
    store.close()


@pytest.mark.parametrize(("by", "verdict"), NUDGES.items())
def test_a_checkpoint_of_another_processor(path, by, verdict):
    nudge(path, by)
    found = CliRunner().invoke(app, ["replay", str(path)])
    assert verdict in found.output
    assert found.exit_code == (by > ROUNDING)


@pytest.mark.parametrize(
    ("by", "verdict"), [(1e-15, NUDGES[1e-15]), (1e-3, "decided otherwise: event 2 has")]
)
def test_decisions_of_another_processor(path, monkeypatch, by, verdict):
    ask = Session.ask

    def rounded(session, *given, **options):
        made = ask(session, *given, **options)
        return [replace(one, values=tuple(v * (1 + by) for v in one.values)) for one in made]

    monkeypatch.setattr(Session, "ask", rounded)
    found = CliRunner().invoke(app, ["replay", str(path), "--decide"])
    assert verdict in found.output, found.output
    assert found.exit_code == (by > ROUNDING)


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ([1.0, -4.0], (1.0, -4.0), 0.0),
        ([math.nan], [math.nan], 0.0),
        ([1.0, math.nan], [math.nan, 1.0], math.inf),
        ([1e-17, 1.0], [-1e-17, 1.0], 2e-17),  # beside a large number a tiny one is rounded
        ([2], [2.0], 0.0),
        ([10**20], [10**20 + 1], math.inf),  # such as the state of a generator
        ([True], [False], math.inf),
        ({"a": 1.0}, {"b": 1.0}, math.inf),
        ([1.0], [1.0, 1.0], math.inf),
        ({"a": [[1.0, 2.0], "x"]}, {"a": [[1.5, 2.0], "x"]}, 0.25),
        ({"a": [[1.0, 2.0], "x"]}, {"a": [[1.5, 2.0], "y"]}, math.inf),
        ([math.inf], [1.0], math.inf),
    ],
)
def test_the_difference_of_states(one, other, wanted):
    assert difference(one, other) == wanted
