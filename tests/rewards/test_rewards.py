import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import parts
import superarm as sa
from superarm import Pools
from worker_processes import worker_processes

BUILT_IN = [name for name in parts.REWARDS if name != "black box"]


def formula(name, reward, arms, theta):
    """The definitions, one arm at a time."""
    reward = getattr(reward, "uncounted", reward)
    if isinstance(reward, sa.LinearReward):
        return sum(theta[i] * (1 if reward.weights is None else reward.weights[i]) for i in arms)
    if isinstance(reward, sa.NetworkReward):
        z = [sum(reward.W1[n, i] * theta[i] for i in arms) for n in range(reward.n_hidden)]
        return sum(w / (1 + np.exp(-x)) for w, x in zip(reward.w2, z, strict=True))
    if isinstance(reward, sa.AnySuccess):
        return 1 - np.prod([1 - theta[i] for i in arms])
    return sum(
        w * (1 - np.prod([1 - reward.reach[i, u] * theta[i] for i in arms]))
        for u, w in enumerate(reward.weights)
    )


@given(
    theta=st.lists(st.floats(0, 1), min_size=7, max_size=7).map(np.array),
    sets=st.lists(st.sets(st.integers(0, 6)).map(sorted), max_size=5),
)
def test_batches_and_calls_equal_the_definition(theta, sets):
    """Every reward gets every example: making an example takes longer than trying it."""
    pools = Pools.of(sets, 7)
    for name in BUILT_IN:
        note(name)
        reward = parts.REWARDS[name]()
        expected = [formula(name, reward, arms, theta) for arms in sets]
        np.testing.assert_allclose(reward.batch(pools, theta), expected, atol=1e-12)
        alone = [reward(arms, theta[arms]) for arms in sets]
        np.testing.assert_allclose(alone, expected, atol=1e-12)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("p", [0.005, 0.5, 2 / 3])
def test_random_pools_of_every_kind_are_worth_their_sets(name, p):
    reward, rng = parts.REWARDS[name](), np.random.default_rng(0)
    pools, theta = Pools.random(50, 7, p, rng=rng), rng.random(7)
    expected = [formula(name, reward, arms, theta) for arms in pools]
    np.testing.assert_allclose(reward.batch(pools, theta), expected, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "network, signed"])
def test_lipschitz_and_upper_cannot_be_smaller(name):
    """All arms at means of 1 have the value M, and each arm alone rises at the rate B_i from 0."""
    reward = parts.REWARDS[name]()
    assert reward(np.arange(7), np.ones(7)) == pytest.approx(reward.upper)
    step = 1e-7
    slopes = [(reward([i], [step]) - reward([i], [0.0])) / step for i in range(7)]
    np.testing.assert_allclose(slopes, np.broadcast_to(reward.lipschitz, 7), rtol=1e-5, atol=1e-9)


def test_what_a_signed_network_declares_still_bounds():
    reward = parts.REWARDS["network, signed"]()
    assert not reward.monotone
    every = Pools.of([s for n in range(8) for s in itertools.combinations(range(7), n)], 7)
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=7)))
    assert max(reward.batch(every, theta).max() for theta in corners) <= reward.upper


def test_declarations():
    table = {name: make() for name, make in parts.REWARDS.items()}
    assert [name for name, reward in table.items() if reward.additive] == [
        "linear",
        "linear, equal weights",
        "counted",
    ]
    assert [name for name, reward in table.items() if not reward.monotone] == [
        "network, signed",
        "black box",
    ]
    assert [name for name, reward in table.items() if not reward.zero_is_absent] == ["black box"]
    assert sa.LinearReward(5000).upper == 5000


def test_random_networks_have_half_normal_weights():
    """|N(0, 1)|: mean sqrt(2 / pi) and variance 1 - 2 / pi, within 5 standard errors; error 6e-7
    each."""
    reward = sa.NetworkReward.random(5000, n_hidden=20, std=0.3, rng=np.random.default_rng(0))
    weights = np.concatenate([reward.W1.ravel() / 0.3, reward.w2])
    var = 1 - 2 / np.pi
    assert weights.min() >= 0
    assert abs(weights.mean() - np.sqrt(2 / np.pi)) < 5 * np.sqrt(var / weights.size)
    assert abs(weights.var() - var) < 5 * np.sqrt(
        1.0 / weights.size
    )  # the variance of |N|² is 2, less of the mean


def test_a_black_box_sees_its_arms_ascending_and_only_their_means():
    seen = []
    reward = sa.BlackBox(
        lambda arms, means: seen.append((arms, means)) or 0.0, n_arms=5, lipschitz=1, upper=1
    )
    reward([4, 1], [0.4, 0.1])
    reward.batch(Pools.of([[3, 0], []], 5), np.array([0.0, 0.1, 0.2, 0.3, 0.4]))
    assert [(a.tolist(), m.tolist()) for a, m in seen] == [
        ([1, 4], [0.1, 0.4]),
        ([0, 3], [0.0, 0.3]),
        ([], []),
    ]


def test_a_black_box_cannot_spoil_its_pools():
    def rude(arms, means):
        arms[:] = 0
        means[:] = 0
        return 1.0

    pools, theta = Pools.of([[1, 2]], 3), np.array([0.1, 0.2, 0.3])
    sa.BlackBox(rude, n_arms=3, lipschitz=1, upper=1).batch(pools, theta)
    assert pools[0].tolist() == [1, 2]
    assert theta.tolist() == [0.1, 0.2, 0.3]


class Slips:
    """An executor that records the chunks of its work."""

    def __init__(self, **about):
        self.sizes = []
        self.__dict__.update(about)

    def map(self, fn, *columns, chunksize):
        self.sizes.append(chunksize)
        return map(fn, *columns)


@pytest.mark.parametrize(
    ("about", "size"), [({"_max_workers": 2}, 5), ({"_max_workers": 16}, 1), ({}, 1)]
)
def test_a_pool_is_given_a_few_pieces_a_worker(about, size):
    executor = Slips(**about)
    reward = sa.BlackBox(parts.total, n_arms=40, lipschitz=50, upper=7, executor=executor)
    reward.batch(sa.Pools.singletons(np.arange(40), 40), np.ones(40))
    assert executor.sizes == [size]


@pytest.mark.parametrize(
    "start",
    [
        lambda: ThreadPoolExecutor(3),
        lambda: worker_processes(2),
    ],
    ids=["threads", "processes"],
)
def test_executors_give_the_same_answers_in_the_same_order(start):
    pools = Pools.random(300, 40, 0.2, rng=np.random.default_rng(0))
    theta = np.random.default_rng(1).random(40)
    alone = sa.BlackBox(parts.total, n_arms=40, lipschitz=50, upper=7).batch(pools, theta)
    with start() as executor:
        together = sa.BlackBox(
            parts.total, n_arms=40, lipschitz=50, upper=7, executor=executor
        ).batch(pools, theta)
    np.testing.assert_array_equal(together, alone)


def test_a_failing_black_box_says_why():
    def broken(arms, means):
        raise RuntimeError("the simulator is down")

    with pytest.raises(RuntimeError, match="the simulator is down"):
        sa.cts(sa.BlackBox(broken, n_arms=3, lipschitz=1, upper=1), 1).ask(
            rng=np.random.default_rng(0)
        )


@pytest.mark.parametrize("answer", [float("nan"), float("inf")])
def test_answers_that_are_no_numbers_are_refused_with_their_set(answer):
    reward = sa.BlackBox(
        lambda arms, means: answer if 2 in arms else 0.5, n_arms=4, lipschitz=1, upper=1
    )
    policy = sa.cts(reward, 2)
    with pytest.raises(ValueError, match=r"finite number, got .* for the arms \[2\]"):
        policy.ask(rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"for the arms \[1 2\]"):
        policy.reward([1, 2], [0.5, 0.5])


def test_a_batch_of_the_wrong_shape_is_refused():
    class Short(sa.LinearReward):
        def batch(self, pools, theta):
            return super().batch(pools, theta)[:-1]

    with pytest.raises(ValueError, match=r"shape \(4,\), one value per pool, got \(3,\)"):
        sa.cts(Short(4), 2).ask(rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sa.LinearReward(0), "at least 1"),
        (lambda: sa.LinearReward(2, weights=[1, -1]), "at least 0"),
        (lambda: sa.LinearReward(2, weights=[1, 2, 3]), "shape"),
        (lambda: sa.LinearReward(2, weights=[0, 0]), "not all be 0"),
        (lambda: sa.LinearReward(2, weights=[1, float("nan")]), "finite"),
        (lambda: sa.NetworkReward([[1, 2]], [1, 2]), "one weight for each"),
        (lambda: sa.NetworkReward([[1, 2]], [-1]), "at least 0"),
        (lambda: sa.NetworkReward([1, 2], [1]), "dimension"),
        (lambda: sa.NetworkReward.random(3, std=0, rng=np.random.default_rng(0)), "std"),
        (lambda: sa.CoverageReward([[0.5, 1.5]]), "in \\[0, 1\\]"),
        (lambda: sa.CoverageReward([[0.5, 0.5]], weights=[1]), "one per target"),
        (lambda: sa.BlackBox(3, n_arms=3, lipschitz=1, upper=1), "callable"),
        (lambda: sa.BlackBox(parts.total, n_arms=3, lipschitz=0, upper=1), "lipschitz"),
        (lambda: sa.BlackBox(parts.total, n_arms=3, lipschitz=[1, 2], upper=1), "lipschitz"),
        (lambda: sa.BlackBox(parts.total, n_arms=3, lipschitz=1, upper=float("inf")), "upper"),
        (
            lambda: sa.LinearReward(3).batch(Pools.of([[0]], 4), np.zeros(3)),
            "over the reward's 3 arms",
        ),
        (
            lambda: sa.AnySuccess(3).batch(Pools.of([[0]], 4), np.zeros(3)),
            "over the reward's 3 arms",
        ),
        (lambda: sa.AnySuccess(3)([0, 1], [0.5]), "means must have shape"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


@pytest.mark.parametrize("name", ["linear, weighted", "network", "coverage"])
def test_what_was_declared_cannot_be_written_to(name):
    with pytest.raises(ValueError, match="read-only"):
        parts.REWARDS[name]().lipschitz[0] = 100.0
