"""Exact replay: a pull returns the cells of the table, in any order of the rows."""

import itertools
import pickle

import numpy as np
import pytest

import superarm as sa
from superarm.environments import ReplayEnvironment

NAN = float("nan")
RNG = np.random.default_rng


def table(n_rounds=40, n_arms=6, missing=0.3, seed=1):
    rng = RNG(seed)
    cells = rng.random((n_rounds, n_arms))
    cells[rng.random(cells.shape) < missing] = NAN
    return cells


def test_the_cells_come_row_by_row_and_nothing_is_drawn():
    cells, rng = table(), RNG(0)
    environment = ReplayEnvironment(cells)
    for row in cells:
        arms = RNG(2).permutation(6)[:3]
        np.testing.assert_array_equal(environment.pull(arms, rng=rng), row[arms])
    assert environment.n_played == 40
    assert rng.bit_generator.state == RNG(0).bit_generator.state


def test_beyond_the_last_row_is_refused_with_the_number_of_rows():
    environment = ReplayEnvironment(np.ones((1234, 2)))
    for _ in range(1234):
        environment.pull([0], rng=RNG(0))
    with pytest.raises(ValueError, match=r"1,234 rows.*horizon of at most 1,234.*repeat=True"):
        environment.pull([0], rng=RNG(0))
    with pytest.raises(ValueError, match="3 rows"):
        sa.simulate(
            sa.cts(sa.LinearReward(2), 1),
            ReplayEnvironment(np.ones((3, 2))),
            horizon=4,
            rng=RNG(0),
        )


def test_repeated_it_begins_again():
    cells = table(n_rounds=5)
    environment = ReplayEnvironment(cells, repeat=True)
    pulled = np.array([environment.pull(np.arange(6), rng=RNG(0)) for _ in range(12)])
    np.testing.assert_array_equal(pulled, np.concatenate([cells, cells, cells[:2]]))


def test_shuffled_every_row_comes_once_a_pass_in_a_new_order():
    cells = np.arange(40).reshape(20, 2) / 40
    environment, rng = ReplayEnvironment(cells, order="shuffled", repeat=True), RNG(3)
    passes = [[environment.pull([0], rng=rng)[0] for _ in range(20)] for _ in range(3)]
    for one in passes:
        assert sorted(one) == list(cells[:, 0])
    assert all(one != other for one, other in itertools.combinations(passes, 2))


def test_the_order_of_the_rows_can_be_asked_for():
    cells, rng = table(), RNG(0)
    environment = ReplayEnvironment(cells, order="shuffled")
    with pytest.raises(ValueError, match="drawn at the first pull"):
        _ = environment.rows
    pulled = np.array([environment.pull(np.arange(6), rng=rng) for _ in range(40)])
    np.testing.assert_array_equal(pulled, cells[environment.rows])
    np.testing.assert_array_equal(ReplayEnvironment(cells).rows, np.arange(40))


def test_every_order_is_as_likely():
    cells, counts = np.array([[0.0], [0.5], [1.0]]), {}
    environment = ReplayEnvironment(cells, order="shuffled")
    for seed in range(1200):
        fresh, rng = environment.fresh(), RNG(seed)
        order = tuple(fresh.pull([0], rng=rng)[0] for _ in range(3))
        counts[order] = counts.get(order, 0) + 1
    # Chi-square with 5 degrees of freedom: above 25.7 once in 10,000 seeds.
    assert len(counts) == 6
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 25.7


class Make:
    def __init__(self, policy, environment):
        self.policy, self.environment = policy, environment

    def __call__(self, rng):
        return self.policy(sa.LinearReward(self.environment.n_arms), 2), self.environment.fresh()


def test_paired_policies_meet_the_same_order_and_runs_another():
    cells = np.repeat(
        np.arange(30)[:, None] / 30, 4, axis=1
    )  # an outcome says which row it is from
    environment = ReplayEnvironment(cells, order="shuffled")
    first, second = (
        sa.replicate(Make(policy, environment), n_runs=3, horizon=30, seed=5)
        for policy in (sa.cts, sa.random_sets)
    )
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.outcomes, other.outcomes)
        assert not np.array_equal(one.arms, other.arms)
    assert not np.array_equal(first[0].outcomes, first[1].outcomes)
    assert environment.n_played == 0


def test_bad_arms_use_no_row():
    environment = ReplayEnvironment(table())
    with pytest.raises(ValueError, match="distinct"):
        environment.pull([1, 1], rng=RNG(0))
    assert environment.n_played == 0


def naive_reward(cells, arms):
    """The reward of one round by loops; a missing cell counts as its arm's mean."""
    total = 0.0
    for arm in range(cells.shape[1]):
        seen = [cell for cell in cells[:, arm] if cell == cell]
        total += sum(cell if cell == cell else sum(seen) / len(seen) for cell in cells[:, arm]) * (
            arm in arms
        )
    return total / len(cells)


@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_the_best_fixed_set_is_the_best_of_all_sets_looked_at_one_by_one(k):
    cells = table()
    environment = ReplayEnvironment(cells)
    values = {arms: naive_reward(cells, arms) for arms in itertools.combinations(range(6), k)}
    assert tuple(environment.best_arms(k)) == max(values, key=values.get)
    assert environment.best_fixed(k) == pytest.approx(max(values.values()))
    assert environment.random_set(k) == pytest.approx(np.mean(list(values.values())))


def test_the_best_fixed_set_closes_the_gap_and_a_random_one_does_not():
    cells = table(n_rounds=400)
    environment = ReplayEnvironment(cells)
    best = np.tile(environment.best_arms(2), (400, 1))
    outcomes = np.take_along_axis(cells, best, axis=1)
    assert environment.gap_closed(best, outcomes) == pytest.approx(1.0)
    assert environment.rewards(best, outcomes).mean() == pytest.approx(environment.best_fixed(2))
    closed = []
    for seed in range(20):
        trace = sa.simulate(
            sa.random_sets(sa.LinearReward(6), 2), environment.fresh(), horizon=400, rng=RNG(seed)
        )
        closed.append(environment.gap_closed(trace.arms, trace.outcomes))
    # Four standard errors: once in 10,000 seeds.
    assert abs(np.mean(closed)) < 4 * np.std(closed, ddof=1) / np.sqrt(20)
    assert np.isnan(
        ReplayEnvironment(np.ones((3, 2))).gap_closed(np.array([[0]]), np.array([[1.0]]))
    )


def test_the_rewards_of_padded_sets_leave_the_padding_out():
    environment = ReplayEnvironment([[0.5, 1.0], [0.5, NAN]])
    arms, outcomes = np.array([[0, 1], [1, -1]]), np.array([[0.5, 1.0], [NAN, NAN]])
    np.testing.assert_array_equal(environment.rewards(arms, outcomes), [1.5, 1.0])


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int64, np.float32, np.float64])
def test_tables_are_kept_as_they_are_and_shared(dtype):
    cells = (RNG(0).random((50, 4)) < 0.5).astype(dtype)
    environment = ReplayEnvironment(cells)
    assert environment.table.dtype == dtype
    assert np.shares_memory(environment.table, cells)
    assert np.shares_memory(environment.fresh().table, cells)
    assert cells.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        environment.table[0, 0] = 1
    assert environment.pull([0, 3], rng=RNG(0)).dtype == np.float64
    np.testing.assert_allclose(environment.means, cells.mean(axis=0))


def test_means_of_a_large_table_are_those_of_all_its_strips():
    cells = RNG(0).random((50_000, 25))
    cells[RNG(1).random(cells.shape) < 0.1] = NAN
    environment = ReplayEnvironment(cells)
    np.testing.assert_allclose(environment.means, np.nanmean(cells, axis=0))
    np.testing.assert_array_equal(environment.n_missing, np.isnan(cells).sum(axis=0))


def test_dataframes_bring_their_names():
    import pandas as pd

    frame = pd.DataFrame({"ham": [1, 0], "egg": [None, 0.5]})
    environment = ReplayEnvironment(frame)
    assert environment.names == ("ham", "egg")
    np.testing.assert_array_equal(environment.table, [[1, NAN], [0, 0.5]])
    assert ReplayEnvironment(frame, names=["a", "b"]).names == ("a", "b")
    with pytest.raises(TypeError, match=r"numbers.*table.astype\(float\)"):
        ReplayEnvironment(pd.DataFrame({"ham": ["yes", "no"]}))
    with pytest.raises(TypeError, match=r"table.astype\(float\)"):
        ReplayEnvironment(pd.DataFrame({"ham": [1, pd.NA]}, dtype=object))


def test_any_frame_with_columns_and_to_numpy_will_do():
    class Frame:
        columns = ("x", "y")

        def to_numpy(self):
            return np.array([[0.0, 1.0]])

    assert ReplayEnvironment(Frame()).names == ("x", "y")


@pytest.mark.parametrize(
    ("cells", "error", "message"),
    [
        ([[0, 1.5]], ValueError, r"in \[0, 1\], got 1.5 in row 0, arm 1; rescale"),
        ([[0, 1], [-0.5, 1]], ValueError, r"got -0.5 in row 1, arm 0"),
        ([[0, float("inf")]], ValueError, r"got inf"),
        (np.full((2, 2), 7, np.uint8), ValueError, r"got 7 in row 0"),
        ([0, 1], ValueError, r"one row per round and one column per arm, got shape \(2,\)"),
        (np.empty((0, 3)), ValueError, r"got shape \(0, 3\)"),
        (np.empty((3, 0)), ValueError, r"got shape \(3, 0\)"),
        ([["0", "1"]], TypeError, "numbers"),
        ([[None, "1"]], TypeError, "numbers"),
        ([[0, NAN], [1, NAN]], ValueError, "none for '1'; leave it out"),
        ([[NAN, NAN]], ValueError, "none for '0'"),
    ],
)
def test_bad_tables_are_refused(cells, error, message):
    with pytest.raises(error, match=message):
        ReplayEnvironment(cells)


def test_bad_names_orders_and_sizes_are_refused():
    with pytest.raises(ValueError, match="2 different names, one per arm, got 1 in 1"):
        ReplayEnvironment([[0, 1]], names=["a"])
    with pytest.raises(ValueError, match="got 1 in 2"):
        ReplayEnvironment([[0, 1]], names=["a", "a"])
    with pytest.raises(ValueError, match="order must be 'given' or 'shuffled', got 'random'"):
        ReplayEnvironment([[0, 1]], order="random")
    with pytest.raises(ValueError, match="k must be between 1 and 2"):
        ReplayEnvironment([[0, 1]]).best_arms(3)


def test_it_can_be_sent_to_another_process():
    environment = pickle.loads(pickle.dumps(ReplayEnvironment(table(), order="shuffled")))
    twin = ReplayEnvironment(table(), order="shuffled")
    np.testing.assert_array_equal(
        environment.pull([0, 1], rng=RNG(0)), twin.pull([0, 1], rng=RNG(0))
    )


def test_masked_cells_of_other_kinds():
    numbers = np.ma.array([[1, 0], [1, 1]], mask=[[0, 1], [0, 0]])
    of_objects = np.ma.array(np.array([[1, "?"], [1, 1]], object), mask=numbers.mask)
    for table in (numbers, of_objects):
        assert np.isnan(ReplayEnvironment(table).pull([0, 1], rng=np.random.default_rng(0))[1])
    with pytest.raises(TypeError, match=r"table must hold numbers.* leave out columns of text"):
        ReplayEnvironment(np.ma.array([["1", "?"]], mask=[[0, 1]]))


def test_masked_cells_are_missing():
    table = np.ma.masked_less(np.array([[0.2, 0.9], [0.8, 0.7]]), 0.5)
    environment = ReplayEnvironment(table)
    first = environment.pull([0, 1], rng=np.random.default_rng(0))
    assert np.isnan(first[0])
    assert first[1] == 0.9
