"""Logs with one row per shown item: read as they are, counted, estimated, taught."""

import numpy as np
import pandas as pd
import pytest

import superarm as sa
from superarm.beliefs import PositionBiasedBelief
from superarm.offpolicy import ShownLog, Target, snips

COLUMNS = {"item": "item", "outcome": "click", "round": "request"}
ROWS = {
    "request": ["b", "a", "b", "a", "c"],
    "item": ["tea", "tea", "jam", "pie", "jam"],
    "click": [1, 0, 0.5, None, 1],
    "place": [1, 1, 2, 2, 1],
    "p": [0.5, 0.5, 0.25, 0.25, 0.25],
}


def log_of(rows=ROWS, **more):
    return ShownLog.of(rows, **{**COLUMNS, **more})


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        pd.DataFrame(ROWS),
        [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)],
        {**ROWS, "click": ["1", "0", "0.5", "", "yes"]},
    ],
    ids=["columns", "pandas", "dicts", "texts"],
)
def test_rounds_and_items_whatever_the_table(table):
    log = log_of(table, position="place", propensity="p")
    assert (log.n_rounds, log.names, len(log)) == (3, ("jam", "pie", "tea"), 5)
    # Rounds in the order in which they come first: b, a, c.
    assert log.rounds.tolist() == [0, 0, 1, 1, 2]
    assert log.arms.tolist() == [2, 0, 2, 1, 0]
    np.testing.assert_array_equal(log.outcomes, [1, 0.5, 0, np.nan, 1])
    assert log.positions.tolist() == [1, 2, 1, 2, 1]
    sums, counts = log.counts()
    assert (sums.tolist(), counts.tolist()) == ([1.5, 0, 1], [2, 0, 2])
    assert not log.is_whole


def test_a_query_of_duckdb_is_a_table():
    import duckdb

    frame = pd.DataFrame(ROWS)
    found = duckdb.query_df(frame, "log", "SELECT * FROM log WHERE request <> 'c'")
    log = log_of(found, position="place")
    assert (log.names, log.rounds.tolist()) == (("jam", "pie", "tea"), [0, 0, 1, 1])
    np.testing.assert_array_equal(log.outcomes, [1, 0.5, 0, np.nan])


def test_a_round_may_have_several_columns():
    rows = {"day": [1, 1, 2, 2], "user": ["x", "y", "x", "x"], "item": list("abab")}
    log = ShownLog.of(
        {**rows, "click": [0, 1, 0, 1]}, item="item", outcome="click", round=["day", "user"]
    )
    assert log.rounds.tolist() == [0, 1, 2, 2]


def test_a_log_of_every_item_is_a_table():
    rows = {"request": [1, 1, 2, 2], "item": list("abba"), "click": [0, 1, 1, 0]}
    log = log_of(rows)
    assert log.is_whole
    assert log.table().tolist() == [[0, 1], [0, 1]]


def test_estimates_are_those_of_a_log_made_by_hand():
    rng = np.random.default_rng(5)
    arms = np.array([rng.choice(6, 2, replace=False) for _ in range(400)])
    outcomes = (rng.random(arms.shape) < 0.1 + 0.1 * arms).astype(float)
    rows = {
        "request": np.repeat(np.arange(400), 2),
        "item": arms.ravel(),
        "click": outcomes.ravel(),
        "p": np.full(800, 1 / 3),
    }
    by_hand = sa.offpolicy.Log(arms, outcomes, np.full(arms.shape, 1 / 3), n_arms=6)
    target = Target.fixed([4, 5], n_arms=6)
    assert snips(log_of(rows, propensity="p").log(), target) == snips(by_hand, target)
    with pytest.raises(ValueError, match="propensity="):
        log_of(rows).log()


def test_halves_share_the_rounds():
    first, second = log_of().halves()
    assert (first.n_rounds, second.n_rounds) == (2, 1)
    assert len(first) + len(second) == 5
    assert first.names == second.names == log_of().names


def test_a_session_starts_with_what_the_log_knows():
    """The same belief as a policy that was told the rounds one by one."""
    session = sa.Session.from_log(log_of(), k=2, seed=3)
    told = sa.thompson(sa.LinearReward(3), 2)
    rng = np.random.default_rng(3)
    for arms, outcomes in (([2, 0], [1, 0.5]), ([2], [0]), ([0], [1])):
        told.tell(arms, outcomes, rng=rng)
    np.testing.assert_array_equal(session.policy.belief.mean(), told.belief.mean())
    assert session.names == ("jam", "pie", "tea")
    assert set(session.ask().arms) <= set(session.names)


def test_a_weaker_start_has_fewer_rounds():
    n = 4000
    rng = np.random.default_rng(0)
    rows = {"request": np.arange(n), "item": rng.integers(3, size=n), "click": np.ones(n)}

    def n_learned(strength):
        policy = sa.cts(sa.LinearReward(3), 1)
        log_of(rows).teach(policy, strength=strength, rng=np.random.default_rng(1))
        return policy.belief.a.sum() - 3

    assert n_learned(1.0) == n
    # A binomial number: 5 standard deviations, missed once in a million seeds.
    assert abs(n_learned(0.25) - n / 4) < 5 * np.sqrt(n * 0.25 * 0.75)


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({}, {"item": "what"}, "columns must be among request, item, click, place, p, got 'what'"),
        ({"click": [1, 0, 7, 0, 0]}, {}, "'click' must have numbers from 0 to 1.*got 7"),
        ({"click": ["1", "0", "maybe", "", "0"]}, {}, "got 'maybe'"),
        ({"item": ["a"] * 5}, {}, "at least 2 different items"),
        ({"request": ["b"] * 5}, {}, "an item must be in a round once, but 'jam'"),
        ({"p": [0.5, 0, 0.5, 0.5, 0.5]}, {"propensity": "p"}, "above 0 and at most 1, got 0"),
        (
            {"item": ["a", None, "b", "c", "d"]},
            {},
            "'item' must have a value in every row",
        ),
        ({"item": ["a", "", "b", " ", "d"]}, {}, "got none in 2 of 5"),
        ({"item": ["a", np.nan, "b", None, "d"]}, {}, "got none in 2 of 5"),
        ({"item": ["a", np.nan, "b", "c", "d"]}, {}, "got none in 1 of 5"),
        ({"request": ["a", np.nan, "b", "c", "d"]}, {}, "'request' must have a value"),
        ({"request": [1.0, np.nan, 2.0, 3.0, 4.0]}, {}, "'request' must have a value"),
        ({"place": [0, 1, 1, 1, 1]}, {"position": "place"}, "places from 1, got 0"),
    ],
)
def test_what_does_not_fit_is_refused(changed, options, message):
    with pytest.raises(ValueError, match=message):
        log_of({**ROWS, **changed}, **options)


def test_a_policy_or_k():
    with pytest.raises(TypeError, match="neither"):
        sa.Session.from_log(log_of())
    with pytest.raises(TypeError, match=r"log must be a ShownLog, got dict; make one with .*of\("):
        sa.Session.from_log({"item": ["tea"]}, 2)
    with pytest.raises(TypeError, match="both"):
        sa.Session.from_log(log_of(), 2, policy=sa.cts(sa.LinearReward(3), 2))
    with pytest.raises(ValueError, match="the log's 3 items, got 4"):
        sa.Session.from_log(log_of(), policy=sa.cts(sa.LinearReward(4), 2))


def test_places_are_taught_to_beliefs_that_learn_them():
    """The second place told alone is the second place, not the first."""
    rows = {"request": [1, 2], "item": ["a", "b"], "click": [0, 0], "place": [2, 1]}

    def learned(**more):
        belief = PositionBiasedBelief(2, [1.0, 0.5])
        policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(2), 1)
        log_of(rows, **more).teach(policy, rng=np.random.default_rng(0))
        return belief.mean()

    with_places, without = learned(position="place"), learned()
    assert without[0] == without[1]
    # A failure in a place that is seldom looked at says less.
    assert with_places[0] > with_places[1] == without[1]


@pytest.mark.parametrize(
    ("items", "names"),
    [
        (np.array(["2026-01-02", "2026-01-01"] * 2, "M8[ns]"), ("2026-01-01", "2026-01-02")),
        (
            np.array(["2026-01-02T06", "2026-01-01"] * 2, "M8[us]"),
            ("2026-01-01", "2026-01-02T06:00"),
        ),
        (np.array([b"tea", b"jam"] * 2), ("jam", "tea")),
        (np.array([bytearray("thé".encode()), b"jam"] * 2, object), ("jam", "thé")),
        (np.array([True, False] * 2), ("False", "True")),
        (np.array([7, 5] * 2), (5, 7)),
    ],
    ids=["dates", "times", "bytes", "blobs", "flags", "numbers"],
)
def test_items_of_any_type_have_names_that_a_session_takes(items, names):
    log = log_of({"request": np.array([1, 1, 2, 2]), "item": items, "click": np.array([1, 0] * 2)})
    assert log.names == names
    assert tuple(sa.Session.from_log(log, k=1, seed=0).names) == names


def test_bytes_that_are_no_text_are_refused():
    rows = {"request": [1, 1], "item": np.array([b"\xff", b"jam"]), "click": [1, 0]}
    with pytest.raises(ValueError, match="got bytes that are not UTF-8"):
        log_of(rows)


@pytest.mark.parametrize("place", [1.5, np.inf, 1e300])
def test_the_place_that_is_wrong_is_named(place):
    with pytest.raises(
        ValueError, match=f"must have places from 1, got {place:g}".replace("+", ".")
    ):
        log_of({**ROWS, "place": [1, 2, place, 3, 1]}, position="place")


def test_decimal_commas_are_read_in_outcomes_and_propensities():
    """Spreadsheets of many countries write them, and no other number is meant."""
    rows = {**ROWS, "click": ["0,5", "1,0", "0", "", "1,00"], "p": ["0,375"] * 5}
    log = log_of(rows, propensity="p")
    np.testing.assert_array_equal(log.outcomes, [0.5, 0.0, 1.0, np.nan, 1.0])
    assert (log.propensities == 0.375).all()
    with pytest.raises(ValueError, match=r"'click' must have numbers from 0 to 1, .* got '0,5,5'"):
        log_of({**rows, "click": ["0,5,5"] * 5})
    with pytest.raises(ValueError, match="'place' must have places from 1, got '1,000'"):
        log_of({**rows, "place": ["1,000"] * 5}, position="place")


@pytest.mark.parametrize("twice", ["item", "click", "request"])
def test_columns_of_the_same_name_are_refused(twice):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"request": [1, 1], "item": ["a", "b"], "click": [0, 1], "other": [3, 4]})
    doubled = pd.concat([frame, frame[[twice]]], axis=1)
    options = {"item": "item", "outcome": "click", "round": "request"}
    with pytest.raises(ValueError, match=f"distinct names, got '{twice}' more than once"):
        ShownLog.of(doubled, **options)
    assert ShownLog.of(pd.concat([frame, frame[["other"]]], axis=1), **options).n_rounds == 1
    # DuckDB calls the second column otherwise, and its first one was used. Arrow had a KeyError.
    duckdb = pytest.importorskip("duckdb")
    query = duckdb.from_df(frame).query("t", f"SELECT *, {twice} FROM t")
    for table in (query.to_arrow_table(), query):
        with pytest.raises(ValueError, match=f"distinct names, got '{twice}' more than once"):
            ShownLog.of(table, **options)
