"""KOfM against a `Feasible` without constraints, and a plain k at the edge."""

import copy
import pickle

import numpy as np
import pytest

import superarm as sa
from superarm.core import as_feasible, as_k_of_m, as_selection
from superarm.sets import Feasible, KOfM, SpanningTrees


@pytest.mark.parametrize("k", [1, 3, 6])
def test_it_is_feasible_without_constraints(k):
    plain, feasible, rng = KOfM(k, 6), Feasible(k, n_arms=6), np.random.default_rng(0)
    assert (plain.n_most, plain.same_size) == (feasible.n_most, feasible.same_size)
    assert plain.n_candidates == feasible.n_candidates
    assert [one.tolist() for one in plain.sets()] == [one.tolist() for one in feasible.sets()]
    order = rng.permutation(6)
    for mine, theirs in zip(plain.sets(order), feasible.sets(order), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for size in range(k + 1):
        chosen = rng.choice(6, size, replace=False)
        np.testing.assert_array_equal(plain.extend(chosen), feasible.extend(chosen))
        np.testing.assert_array_equal(plain.completed_by(chosen), feasible.completed_by(chosen))
        assert plain.is_feasible(chosen) == feasible.is_feasible(chosen)
    values = rng.integers(0, 3, 6)
    for seed in range(20):
        mine, theirs = (np.random.default_rng(seed) for _ in range(2))
        np.testing.assert_array_equal(
            plain.best(values, rng=mine), feasible.best(values, rng=theirs)
        )


@pytest.mark.parametrize("k", [2, np.int64(2), np.uint8(2), KOfM(2, 5)])
def test_a_plain_k_becomes_one_at_the_edge(k):
    feasible = as_feasible(k, 5)
    assert (feasible.k, feasible.n_arms) == (2, 5)
    theta, again = as_selection(sa.LinearReward(5), np.full(5, 0.5), k)
    assert theta.shape == (5,)
    assert again.k == 2
    arms = sa.Singletons().select(sa.LinearReward(5), [0, 1, 0, 1, 0], k, rng=None)
    assert arms.tolist() == [1, 3]
    policy = sa.Policy(sa.BetaBelief(5), sa.Singletons(), sa.LinearReward(5), k)
    assert policy.feasible.k == 2
    assert policy.k == k


@pytest.mark.parametrize("k", [True, 2.0, "2", None])
def test_other_things_are_refused(k):
    with pytest.raises(TypeError, match="k must be a whole number"):
        as_feasible(k, 5)


def test_another_number_of_arms_is_refused():
    with pytest.raises(ValueError, match="problem's 6 arms, got one for 5; give k=2"):
        sa.Policy(sa.BetaBelief(6), sa.TopK(), sa.LinearReward(6), KOfM(2, 5))


def test_oracles_that_know_only_k_refuse_other_sets():
    triangle = SpanningTrees([0, 1, 2], [1, 2, 0])
    with pytest.raises(TypeError, match="whole number for an oracle that knows no constraints"):
        as_k_of_m(triangle, 3)


def test_nothing_of_the_size_of_the_problem_is_made():
    feasible = KOfM(5, 10**15)  # a byte per arm would be a petabyte
    assert feasible.is_feasible([0, 1, 2, 3, 10**14])
    assert (feasible.n_top(), feasible.must.size) == (5, 0)
    assert str(feasible) == "5 of 1000000000000000 arms"


class OrderOfTheta:
    """An oracle that knows nothing of feasible sets."""

    report = None

    def select(self, reward, theta, k, *, rng):
        return np.sort(np.argpartition(-np.asarray(theta), k - 1)[:k])


def test_it_is_a_number_to_oracles_that_know_no_sets():
    reward, rng = sa.LinearReward(9), np.random.default_rng(0)
    assert list(range(9))[: KOfM(2, 5)] == [0, 1]
    for k in (1, 4, 9):
        plain = sa.Policy(sa.BetaBelief(9), OrderOfTheta(), reward, k)
        same = sa.Policy(sa.BetaBelief(9), sa.TopK(), reward, k)
        for seed in range(20):
            arms = plain.ask(rng=np.random.default_rng(seed))
            assert np.array_equal(arms, same.ask(rng=np.random.default_rng(seed)))
            outcomes = rng.random(k).round()
            plain.tell(arms, outcomes, rng=rng)
            same.tell(arms, outcomes, rng=rng)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k))]
)
def test_copies_have_all_of_it(copied):
    one = KOfM(2, 5)
    assert one.undecided.all()  # what is remembered comes along
    same = copied(one)
    assert (type(same), same, same.k, same.n_arms, same.n_most) == (KOfM, 2, 2, 5, 2)
    assert same.is_feasible([0, 4])
    assert type(same.k) is int
