"""LazySingletons decides as Singletons does, with far fewer evaluations, for any reward."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import parts
import superarm as sa
from lazy_rounds import play_beside
from superarm.oracles._lazy.single_arms import SingleArms
from superarm.oracles.lazy_singletons import best_and_rivals


def plateaus(arms, means):
    """Steps with steep ramps between them: slope 8 or 0."""
    first, second = 8 * (means - 0.3), 8 * (means - 0.7 - 0.01 * (arms % 9))
    # np.clip takes five times as long for so few numbers.
    return float(sum(np.minimum(np.maximum(step, 0), 1).sum() for step in (first, second)))


def steep(arms, means):
    """A kink that is elsewhere for each arm."""
    return float((0.1 * means + 3 * np.maximum(0.0, means - (arms % 13) / 13)).sum())


def waves(arms, means):
    """Up and down, differently for each arm; not what it is at zero."""
    return float((1 + np.sin(5 * means + arms)).sum())


def few_ties(arms, means):
    """The plateaus, at a height of its own for most arms: ties at the k-th place are rarer."""
    return float(
        sum(
            (1 + arm % 31 / 31) * plateaus(arm, mean) for arm, mean in zip(arms, means, strict=True)
        )
    )


def box(fn, lipschitz, n_arms=60, **declared):
    return sa.BlackBox(fn, n_arms=n_arms, lipschitz=lipschitz, upper=1000.0, **declared)


REWARDS = {
    "linear": lambda: sa.LinearReward(60),
    "linear, weighted": lambda: sa.LinearReward(60, weights=np.linspace(0.5, 1.5, 60)),
    "network": lambda: sa.NetworkReward.random(60, rng=np.random.default_rng(0)),
    "network, 0.3": lambda: sa.NetworkReward.random(60, std=0.3, rng=np.random.default_rng(0)),
    "network, 0.05": lambda: sa.NetworkReward.random(60, std=0.05, rng=np.random.default_rng(0)),
    "network, signed": lambda: sa.NetworkReward(
        np.random.default_rng(0).standard_normal((5, 60)), np.ones(5)
    ),
    "any success": lambda: sa.AnySuccess(60),
    "coverage": lambda: sa.CoverageReward(np.random.default_rng(0).random((60, 9))),
    "plateaus": lambda: box(plateaus, 8.0, monotone=True, zero_is_absent=True),
    "plateaus, few ties": lambda: box(few_ties, 16.0, monotone=True, zero_is_absent=True),
    "steep": lambda: box(steep, 3.1, monotone=True),
    "waves": lambda: box(waves, 5.0),
    "overstated": lambda: box(steep, 20.0, monotone=True, zero_is_absent=True),
}


def play(*args, **options):
    return play_beside(sa.Singletons(), check_round, *args, **options)


def check_round(lazy, arms, plain, expected):
    """The same set; or, where there is a tie at the k-th place, another one of the same values."""
    worth, k = plain.report.values, len(expected)
    ranked = np.sort(worth)[::-1]
    assert (np.abs(np.sort(worth[arms])[::-1] - ranked[:k]) <= 1e-9).all(), lazy
    if ranked[k - 1] - ranked[k] > 1e-9:
        assert arms.tolist() == expected.tolist(), lazy
    assert lazy.report.certified
    assert (lazy.report.lower <= worth + 1e-9).all()
    assert (worth <= lazy.report.upper + 1e-9).all()


def select_often(lazy, reward, rng, rounds):
    for _ in range(rounds):
        lazy.select(reward, rng.random(60), 4, rng=rng)


@pytest.mark.parametrize("name", REWARDS)
def test_every_decision_is_oracle_plus(name):
    """By default, with few remembered points, and in batches.

    On the network, more rounds show that evaluations die away.
    """
    reward, long = REWARDS[name](), name == "network"
    options = [{}, {"n_points": 4}, {"batch": 7}]
    lazies = [(sa.LazySingletons(**o), reward) for o in options]
    evaluations = play(reward, 600 if long else 300, lazies)
    assert (evaluations[:, :300].mean(axis=1) < 30).all()  # Oracle+ needs 60
    if long:
        assert evaluations[0, -200:].mean() < 1
        assert evaluations[0].mean() < 3


@pytest.mark.parametrize("name", ["linear", "network", "any success", "coverage", "plateaus"])
def test_a_free_point_makes_even_the_first_round_cheap(name):
    reward = REWARDS[name]()
    assert play(reward, 1, [(sa.LazySingletons(), reward)]) < 60


@pytest.mark.parametrize("name", ["steep", "waves"])
def test_without_a_free_point_every_arm_is_asked_about_once_in_one_batch(name):
    sizes = []
    reward = REWARDS[name]()
    batch = reward.batch
    reward.batch = lambda pools, theta: (sizes.append(len(pools)), batch(pools, theta))[1]
    sa.LazySingletons().select(reward, np.linspace(0, 1, 60), 4, rng=np.random.default_rng(0))
    assert sizes == [60]


def test_declarations_pay():
    """Declarations can only help: concave, monotone and neither, on one network."""
    network = REWARDS["network"]()
    declared = {
        "n_arms": 60,
        "lipschitz": network.lipschitz,
        "upper": network.upper,
        "zero_is_absent": True,
    }
    boxes = [
        sa.BlackBox(network, **declared, monotone=monotone, concave=concave)
        for monotone, concave in ((True, True), (True, False), (False, False))
    ]
    costs = play(network, 300, [(sa.LazySingletons(), one) for one in boxes]).sum(axis=1).tolist()
    assert costs == sorted(costs)
    assert costs[0] < costs[2]


def test_an_arm_is_evaluated_only_if_its_bounds_are_wide_for_its_margin():
    """The lemma behind the bound on evaluations: at least half of its distance from the k-th place.

    So two evaluations of an arm are at means that differ by its margin over 4 B, or more.
    """
    rng, sets, n_checked = np.random.default_rng(0), sa.sets.KOfM(4, 12), 0
    for _ in range(3000):
        values, spread = rng.random(12), rng.choice([0.02, 0.2, 1.0], 12) * rng.random(12)
        low = spread * rng.random(12)
        lower, upper = values - low, values - low + spread
        _, contested, n_necessary = best_and_rivals(sets, lower, upper, rng=rng)
        ranked = np.sort(values)[::-1]
        margin = np.abs(values - (ranked[3] + ranked[4]) / 2)
        for arm in contested[: max(1, n_necessary)]:
            assert upper[arm] - lower[arm] >= margin[arm] / 2
            n_checked += 1
    assert n_checked > 1000


def test_points_are_bounded_and_the_useful_ones_stay():
    memory = SingleArms(np.ones(1), 6, monotone=False, concave=False)
    for x in np.random.default_rng(0).random(500):
        memory.add(0, float(x), float(x) ** 2)
    memory.add(0, 0.5, 0.25)
    for x in 0.5 + 0.01 * np.random.default_rng(1).standard_normal(50):
        memory.add(0, float(x), float(x) ** 2)
    xs = memory.x[:, 0]
    assert memory.n[0] == 6
    assert (np.diff(xs) > 0).all()
    np.testing.assert_allclose(memory.f[:, 0], xs**2)
    assert (np.abs(xs - 0.5) < 0.05).sum() >= 3
    assert memory.x.nbytes + memory.f.nbytes + memory.n.nbytes == 16 * 6 + 8


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.floats(0, 1),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
)
@example([0.0, 1e-311], 1.0, False, True, 0)  # a chord so short that its slope overflows
@example([0.0, 1e-118], 1.0, False, True, 1)  # a chord of answers that rounding makes equal
def test_bounds_hold_for_every_function_that_keeps_its_word(xs, theta, monotone, concave, which):
    functions = [
        lambda x: 0.7 * x,
        lambda x: np.sqrt(x + 0.25) - 0.5,
        lambda x: 1 - (1 - x) ** 2 / 2,
        lambda x: 0.3 + 0 * x,
    ]
    f = functions[which]
    memory = SingleArms(np.ones(1), 8, monotone=monotone, concave=concave)
    for x in xs:
        memory.add(0, x, float(f(x)))
    lower, upper = memory.bounds(np.array([theta]))
    assert lower[0] <= f(theta) + 1e-12
    assert f(theta) <= upper[0] + 1e-12
    if theta in memory.x[:, 0]:
        assert lower[0] == upper[0] == f(theta)


def test_an_understated_lipschitz_is_found_raised_and_named():
    reward = box(steep, 0.5, monotone=True, zero_is_absent=True)
    rng, lazy, plain = np.random.default_rng(0), sa.LazySingletons(), sa.Singletons()
    with pytest.warns(
        UserWarning, match=r"lipschitz is too small, by a factor of .* arm \d+ alone is worth"
    ) as caught:
        select_often(lazy, reward, rng, 300)
    assert len(caught) == 1
    assert lazy._known.lipschitz.max() == pytest.approx(3.1, rel=0.05)
    for _ in range(100):  # exact again
        theta = rng.random(60)
        arms = lazy.select(reward, theta, 4, rng=rng)
        np.testing.assert_array_equal(arms, plain.select(reward, theta, 4, rng=rng))


@pytest.mark.parametrize(
    ("reward", "says"),
    [
        (box(waves, 5.0, monotone=True), r"declares monotone, but arm \d+ alone is worth \d\."),
        (
            box(steep, 3.1, monotone=True, zero_is_absent=True, concave=True),
            r"declares concave, but arm \d+ alone is worth \d\.\d+ at 0\.\d+, which is beyond",
        ),
    ],
)
def test_a_wrong_claim_is_found_and_given_up(reward, says):
    lazy, rng, plain = sa.LazySingletons(), np.random.default_rng(0), sa.Singletons()
    with pytest.warns(UserWarning, match=says):
        select_often(lazy, reward, rng, 50)
    for _ in range(50):
        theta = rng.random(60)
        np.testing.assert_array_equal(
            lazy.select(reward, theta, 4, rng=rng), plain.select(reward, theta, 4, rng=rng)
        )


def test_a_noisy_reward_is_an_error_that_names_the_remedy():
    noise = np.random.default_rng(0)
    reward = box(
        lambda arms, means: float(means.sum() + noise.normal(0, 0.3)), 1.0, zero_is_absent=True
    )
    lazy, rng = sa.LazySingletons(), np.random.default_rng(1)
    with pytest.raises(ValueError, match=r"noisy or changing.*use Singletons"):
        select_often(lazy, reward, rng, 50)


@pytest.mark.parametrize("zero_is_absent", [False, True])
def test_arms_that_are_worth_nothing_alone_are_worth_one_warning(zero_is_absent):
    # At least two successes of 60; the difference is 0 up to rounding for single arms.
    def two(arms, means):
        none = np.prod(1 - means)
        one = sum(p * np.prod(1 - np.delete(means, i)) for i, p in enumerate(means))
        return float(1 - none - one)

    reward, rng = box(two, 1.0, zero_is_absent=zero_is_absent), np.random.default_rng(0)
    with pytest.warns(UserWarning, match="each of the 60 arms.* to 1, .*LocalSearch") as seen:
        select_often(sa.LazySingletons(), reward, rng, 20)
    assert len(seen) == 1
    select_often(sa.LocalSearch(), reward, rng, 10)  # what the warning says to use
    # All warnings are errors here: equal means and different values are as expected.
    lazy = sa.LazySingletons()
    for _ in range(20):
        lazy.select(reward, np.full(60, 0.5), 3, rng=rng)
    small = sa.LazySingletons()
    for _ in range(20):
        small.select(box(steep, 3.1), 1e-6 * rng.random(60), 3, rng=rng)


def test_arms_below_a_threshold_in_the_first_round_are_not_warned_of():
    """Thompson sampling shares draws: all samples of the first round are low together."""
    reward = box(lambda arms, means: float(np.maximum(means - 0.5, 0).sum()), 1.0, n_arms=5)
    for seed in range(10):
        policy, rng = sa.thompson(reward, 2), np.random.default_rng(seed)
        for _ in range(10):
            arms = policy.ask(rng=rng)
            policy.tell(arms, [1.0, 0.0], rng=rng)


@pytest.mark.parametrize("name", ["network", "waves"])
@pytest.mark.parametrize("budget", [1, 3, 10])
def test_a_budget_is_kept_and_owned_up_to(name, budget):
    reward, rng, lazy = (
        sa.Counted(REWARDS[name]()),
        np.random.default_rng(0),
        sa.LazySingletons(budget=budget),
    )
    certified = []
    for _ in range(60):
        theta, before = rng.random(60), reward.evaluations
        arms = lazy.select(reward, theta, 4, rng=rng)
        assert reward.evaluations - before <= budget
        assert len(arms) == 4
        certified.append(lazy.report.certified)
        if certified[-1]:
            expected = sa.Singletons().select(reward.uncounted, theta, 4, rng=rng)
            np.testing.assert_array_equal(arms, expected)
    assert not certified[0] or budget == 10
    assert certified[-1] or budget < 10 or name != "network"


def test_another_reward_begins_a_new_memory():
    lazy, rng = sa.LazySingletons(), np.random.default_rng(0)
    theta = np.linspace(0.1, 0.9, 60)
    lazy.select(REWARDS["linear"](), theta, 4, rng=rng)
    downhill = box(lambda arms, means: float(np.sum(1 - means)), 1.0)
    assert lazy.select(downhill, theta, 4, rng=rng).tolist() == [0, 1, 2, 3]


def test_a_policy_with_it_is_cts_with_fewer_evaluations():
    it = sa.network_instance(100, 4, 0.1, rng=np.random.default_rng(0))
    traces = [
        sa.simulate(
            sa.cts(it.reward, 4, oracle=oracle), it, horizon=300, rng=np.random.default_rng(1)
        )
        for oracle in (sa.Singletons(), sa.LazySingletons())
    ]
    np.testing.assert_array_equal(traces[0].arms, traces[1].arms)
    np.testing.assert_array_equal(traces[0].outcomes, traces[1].outcomes)
    assert traces[1].evaluations.sum() < traces[0].evaluations.sum() / 20


@pytest.mark.parametrize("options", [{"n_points": 3}, {"batch": 0}, {"budget": 0}, {"budget": 2.5}])
def test_refuses(options):
    with pytest.raises((ValueError, TypeError)):
        sa.LazySingletons(**options)


def test_every_arm_needs_no_evaluation_beyond_the_empty_set():
    reward = sa.Counted(parts.REWARDS["linear"]())
    assert sa.LazySingletons().select(
        reward, np.full(7, 0.5), 7, rng=np.random.default_rng(0)
    ).tolist() == list(range(7))
    assert reward.evaluations <= 1
