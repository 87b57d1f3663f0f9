"""Inspections: shapes that are found, bounds on rates, and what is refused."""

import numpy as np
import pytest
from scipy.stats import binom

import superarm as sa
from spoiled_rewards import Sum, box, total
from superarm.advice import n_evaluations


@pytest.mark.parametrize(
    "reward", [sa.LinearReward(300), sa.AnySuccess(300), box(total, monotone=True)]
)
def test_separable_rewards_are_found_separable(reward):
    inspection = sa.inspect(reward)
    assert inspection.ok
    assert inspection["separable"].holds
    assert inspection.recommendation.oracle == ("TopK" if reward.additive else "LazySingletons")


@pytest.mark.parametrize("seed", range(5))
def test_the_networks_of_section_5_are_not_separable(seed):
    rng = np.random.default_rng(seed)
    reward = sa.network_instance(200, 5, 0.1, rng=rng).reward
    inspection = sa.inspect(reward, k=5, rng=rng)
    row = inspection["separable"]
    assert inspection.ok, str(
        inspection
    )  # its B is right, and it never declared that it is separable
    assert row.verdict == "fails"
    assert row.n_violated >= 0.4 * row.n_probes
    assert inspection["submodular"].holds
    assert inspection.recommendation.case == "submodular"
    # The witness again: the first set is worth less, although the arm that it has instead of the
    # new one is worth no less alone.
    (before, after), (at, then) = row.witness.sets, row.witness.means
    values = [reward(before, at), reward(after, then)]
    assert values == pytest.approx(row.witness.values)
    assert values[1] - values[0] == pytest.approx(row.worst)
    (new,) = set(after) - set(before)
    (gone,) = set(before) - set(after)
    mean = dict(zip([*before, *after], [*at, *then], strict=True))
    assert reward([gone], [mean[gone]]) >= reward([new], [mean[new]])


def test_flat_networks_are_separable_in_all_probes():
    """With weights scaled by 0.003, sigmoids are almost linear. Other seeds show a rare swap."""
    reward = sa.NetworkReward.random(200, std=0.003, rng=np.random.default_rng(0))
    assert sa.inspect(reward)["separable"].holds


def test_rewards_that_fall_with_more_arms_are_found():
    reward = box(lambda arms, means: float(means.mean()) if len(arms) else 0.0)
    inspection = sa.inspect(reward)
    assert inspection["monotone in S"].verdict == "fails"
    assert inspection["submodular"].verdict == "fails"
    assert inspection["separable"].holds  # the best arms alone are the best together


def test_single_precision_needs_a_tolerance():
    class Single(Sum):
        additive = False

        def batch(self, pools, theta):
            return np.array([np.float32(theta[arms].sum()) for arms in pools], np.float64)

    assert not sa.inspect(Single()).ok
    assert sa.inspect(Single(), tolerance=1e-5).ok


def test_the_bound_on_the_rate_is_that_of_clopper_and_pearson():
    """If the rate equals the bound, so few violations have a probability of 5%."""
    inspection = sa.inspect(sa.NetworkReward.random(40, rng=np.random.default_rng(0)), probes=40)
    for row in inspection.rows:
        if 0 < row.n_violated < row.n_probes:
            assert binom.cdf(row.n_violated, row.n_probes, row.rate_upper) == pytest.approx(0.05)
        elif row.n_probes:
            assert row.rate_upper == pytest.approx(
                1 - 0.05 ** (1 / row.n_probes) if row.n_violated == 0 else 1.0
            )


def test_the_same_seed_gives_the_same_inspection_and_evaluations_are_all_counted():
    rows = []
    for _ in range(2):
        reward = sa.Counted(sa.NetworkReward.random(40, rng=np.random.default_rng(0)))
        inspection = sa.inspect(reward, k=4, probes=20, rng=np.random.default_rng(9))
        assert reward.evaluations == inspection.evaluations
        assert inspection.evaluations <= n_evaluations(40, k=4, probes=20)
        # All but the search for arms that interact, and a look at a swap, is known exactly.
        searched = inspection.groups.evaluations
        assert inspection.evaluations - searched in (
            probed := n_evaluations(40, 4, 20) - 500,
            probed + 4,
        )
        rows.append(inspection.rows)
    assert rows[0] == rows[1]
    assert sa.inspect(reward, k=4, probes=20, rng=np.random.default_rng(10)).rows != rows[0]


@pytest.mark.parametrize("n_arms", [1, 2, 3])
def test_tiny_problems(n_arms):
    for k in range(1, n_arms + 1):
        assert sa.inspect(sa.LinearReward(n_arms), k=k, probes=10).ok
        assert sa.inspect(sa.AnySuccess(n_arms), k=k, probes=10).ok


def test_what_cannot_be_probed_is_refused():
    with pytest.raises(TypeError, match=r"without n_arms.*BlackBox"):
        sa.inspect(total)
    with pytest.raises(ValueError, match="k must be between"):
        sa.inspect(sa.LinearReward(3), k=4)
    with pytest.raises(ValueError, match="probes must be at least"):
        sa.inspect(sa.LinearReward(3), probes=1)
    with pytest.raises(TypeError, match=r"rng must be a numpy.random.Generator, got 3"):
        sa.inspect(sa.LinearReward(3), probes=4, rng=3)
    with pytest.raises(TypeError, match=r"executor must be .* got 3"):
        sa.inspect(sa.LinearReward(3), probes=4, executor=3)
    for lipschitz in ([1.0, 2.0], float("nan"), -1.0):
        with pytest.raises(ValueError, match="lipschitz must"):
            sa.inspect(type("Bad", (Sum,), {"lipschitz": lipschitz})())
    with pytest.raises(ValueError, match="upper must"):
        sa.inspect(type("Bad", (Sum,), {"upper": float("inf")})())
    with pytest.raises(KeyError, match="there is no row 'sparable'"):
        sa.inspect(sa.LinearReward(3), probes=4)["sparable"]


@pytest.mark.parametrize("wrong", [{"progress": "yes"}, {"should_stop": True}])
def test_what_is_called_must_be_a_function(wrong):
    (name,) = wrong
    with pytest.raises(TypeError, match=f"{name} must be a function, got"):
        sa.inspect(sa.LinearReward(5), k=2, **wrong)
