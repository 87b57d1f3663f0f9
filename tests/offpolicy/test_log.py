"""Logs: missing outcomes, files, and what is refused."""

import json

import numpy as np
import pytest

import superarm as sa
from superarm.offpolicy import Log, ips


def test_missing_outcomes():
    log = Log(
        [[0, 1], [1, -1], [0, 1]],
        [[1, np.nan], [0, np.nan], [0, 1]],
        np.full((3, 2), 0.5),
        n_arms=2,
    )
    assert log.n_missing == 1
    assert repr(log) == "Log(3 rounds, 2 arms, 1 outcome missing)"
    with pytest.raises(ValueError, match=r"1 missing; log\.filled\(0\.0\) counts them as 0"):
        ips(log, [0.5, 0.5])
    assert len(log.complete()) == 2
    assert ips(log.filled(1.0), [0.5, 0.5]).value == pytest.approx((2 + 0 + 1) / 3)
    with pytest.raises(ValueError, match="got none; see filled"):
        Log([[0]], [[np.nan]], [[0.5]], n_arms=1).complete()


def test_logs_as_json_lines(tmp_path):
    names = ["ant", "bee", "cat"]
    session = sa.Session(sa.cts(sa.LinearReward(3), 2), names, seed=0)
    for _ in range(5):
        decision = session.ask(propensities=10)
        session.tell(decision, {decision.arms[1]: 0.25})
    session.ask()  # without propensities: not in the log
    log = Log.from_session(session)
    assert len(log) == 5
    assert log.n_missing == 5
    assert log.set_propensities.tolist() == [
        decision.set_propensity for decision in session.decisions[:5]
    ]
    log.write(tmp_path / "log.jsonl")
    again = Log.read(tmp_path / "log.jsonl", names)
    for name in ("arms", "outcomes", "propensities", "set_propensities"):
        np.testing.assert_array_equal(getattr(log, name), getattr(again, name))
    assert again.rows() == log.rows()
    first = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[0])
    assert list(first["arms"]) == list(session.decisions[0].arms)
    assert first["outcomes"] == [None, 0.25]


def test_sets_of_different_sizes():
    rows = [
        {"arms": [2], "outcomes": [1], "propensities": [0.5]},
        {"arms": [0, 1], "outcomes": [0, 1], "propensities": [0.5, 1.0], "set_propensity": 0.5},
    ]
    log = Log.of(rows, 3)
    assert log.arms.tolist() == [[2, -1], [0, 1]]
    assert log.set_propensities is None
    assert ips(log, [0.5, 1.0, 0.5]).value == pytest.approx((1 + 1) / 2)


BAD_LINES = [
    ("{", "line 1 must be JSON"),
    ("[1]", "line 1 must be a JSON object"),
    ('{"arms": [0], "outcomes": [1]}', "round 1 must have 'propensities'"),
    ('{"arms": [7], "outcomes": [1], "propensities": [0.5]}', "must be among the names, got 7"),
    (
        '{"arms": [0], "outcomes": [1, 0], "propensities": [0.5]}',
        "1 arms, 2 outcomes and 1 propensities",
    ),
    (
        '{"arms": [0], "outcomes": [1.5], "propensities": [0.5]}',
        r"outcomes must be in \[0, 1\], or NaN, got 1.5",
    ),
    (
        '{"arms": [0], "outcomes": [1], "propensities": [0]}',
        "propensities must be above 0 and at most 1, got 0.0",
    ),
    ('{"arms": [0, 0], "outcomes": [1, 1], "propensities": [0.5, 0.5]}', "distinct in a round"),
    ("", "must have at least one round"),
]


@pytest.mark.parametrize(("line", "says"), BAD_LINES)
def test_bad_lines(tmp_path, line, says):
    (tmp_path / "log.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match=says):
        Log.read(tmp_path / "log.jsonl", 3)
