"""Inspection: clean rewards pass, each fault is found with a witness that can be repeated.

Where a fault shows in a share s of the probes, 200 probes miss it with probability (1 - s)^200. Every fault below shows
in at least 10% of its own probes (checked by `found`), one in 5%, so that is below 1e-9, once 4e-5, with another seed.
Separability has 50 probes and shows in at least 40%: below 1e-10. Clean rewards are never blamed but by rounding, which
the tolerance covers.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import superarm as sa
from parts import REWARDS
from superarm.advice import n_evaluations
from superarm.advice.recommendation import CHOICES


def box(fn, n_arms=12, lipschitz=1.0, upper=12.0, **declared):
    return sa.BlackBox(fn, n_arms=n_arms, lipschitz=lipschitz, upper=upper, **declared)


def total(arms, means):
    return float(means.sum())


class Sum:
    """A clean reward to spoil."""

    n_arms, lipschitz, upper, monotone, zero_is_absent, additive = 12, 1.0, 12.0, True, True, True

    def __call__(self, arms, means):
        return float(np.sum(means))

    def batch(self, pools, theta):
        return np.array([self(arms, theta[arms]) for arms in pools])


def found(reward, name, *, least=0.1, **options):
    """The inspection, once the named fault was found as an error, often, with a witness that repeats."""
    inspection = sa.inspect(reward, **options)
    row = inspection[name]
    assert row.is_error
    assert row.verdict == "ERROR"
    assert not inspection.ok
    assert row.n_violated >= least * row.n_probes
    assert row.worst > 0
    if name not in (
        "deterministic",
        "batch = single",
        "mean-only",
    ):  # those need more than single calls to repeat
        asked = zip(row.witness.sets, row.witness.means, strict=True)
        assert [reward(np.array(arms, np.intp), np.array(means)) for arms, means in asked] == list(
            row.witness.values
        )
    assert any(line.startswith(name) for line in inspection.recommendation.fix_first)
    return inspection


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", REWARDS)
def test_clean_rewards_pass(name, seed):
    reward = REWARDS[name]()
    inspection = sa.inspect(reward, k=3, probes=60, rng=np.random.default_rng(seed))
    assert inspection.ok, str(inspection)
    assert not inspection.recommendation.fix_first
    assert inspection.evaluations <= n_evaluations(7, k=3, probes=60)


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
    # The witness, again: the first set is worth less, and each of its arms is worth no less alone than the newcomer.
    (before, after), (at, then) = row.witness.sets, row.witness.means
    values = [reward(before, at), reward(after, then)]
    assert values == pytest.approx(row.witness.values)
    assert values[1] - values[0] == pytest.approx(row.worst)
    (new,) = set(after) - set(before)
    (gone,) = set(before) - set(after)
    mean = dict(zip([*before, *after], [*at, *then], strict=True))
    assert reward([gone], [mean[gone]]) >= reward([new], [mean[new]])


def test_flat_networks_are_separable_in_all_probes():
    """Weights scaled by 0.003: sigmoids are all but linear. Seeded; other seeds show a swap now and then."""
    reward = sa.NetworkReward.random(200, std=0.003, rng=np.random.default_rng(0))
    assert sa.inspect(reward)["separable"].holds


@pytest.mark.parametrize("seed", range(3))
def test_an_understated_lipschitz_is_found(seed):
    rng = np.random.default_rng(seed)
    network = sa.NetworkReward.random(50, rng=rng)
    network.lipschitz = 0.9 * network.lipschitz
    inspection = found(network, "lipschitz", rng=rng)
    row = inspection["lipschitz"]
    (arms, _), (here, there) = row.witness.sets, row.witness.means
    change = abs(network(arms, here) - network(arms, there))
    allowed = network.lipschitz[list(arms)] @ np.abs(np.subtract(here, there))
    assert change - allowed == pytest.approx(row.worst, rel=1e-6)
    assert inspection.recommendation.oracle in ("Singletons", "Greedy")  # neither relies on B


def test_a_lipschitz_that_only_sets_exceed_is_found():
    """Single arms have slope 2 at most, sets twice the sum of their means."""
    found(box(lambda arms, means: float(means.sum() ** 2), lipschitz=2.0, upper=144.0), "lipschitz")


def test_an_overstated_lipschitz_is_a_suggestion():
    inspection = sa.inspect(box(total, lipschitz=5.0))
    assert inspection.ok
    assert any("smaller lipschitz" in line for line in inspection.recommendation.suggestions)


def test_a_batch_that_looks_outside_its_sets_is_found():
    class Peeks(Sum):
        additive = False

        def batch(self, pools, theta):
            return np.array([theta[arms].sum() * (1 - 0.01 * np.max(theta)) for arms in pools])

    inspection = found(Peeks(), "mean-only")
    assert inspection["batch = single"].is_error
    assert inspection.recommendation.oracle == "Singletons"


def test_noise_is_found_and_not_taken_for_anything_else():
    """Other comparisons allow twice the largest difference of 200 triples, 9 standard deviations or so."""
    noise = np.random.default_rng(3)
    reward = box(
        lambda arms, means: 2 + means.sum() + 0.01 * noise.standard_normal(),
        upper=20.0,
        monotone=True,
    )
    inspection = found(reward, "deterministic", least=1)
    assert [row.name for row in inspection.errors] == ["deterministic"]
    assert inspection.noise > 0.01
    assert inspection.recommendation.oracle == "Singletons"
    assert not inspection.recommendation.suggestions


def test_a_reward_that_depends_on_what_was_asked_before_is_found():
    class Remembers(Sum):
        last = 0

        def __call__(self, arms, means):
            value, self.last = np.sum(means) + 0.1 * (self.last != len(arms)), len(arms)
            return float(value)

    found(Remembers(), "deterministic")


FAULTS = {
    "order": (
        lambda: type("Ordered", (Sum,), {"__call__": lambda self, arms, means: _first(arms)})(),
        "order",
    ),
    "falls with its mean": (
        lambda: box(
            lambda arms, means: float((means * (1.5 - means)).sum()), lipschitz=1.5, monotone=True
        ),
        "monotone",
    ),
    "never enough": (
        lambda: box(
            lambda arms, means: float(means.sum() ** 2 / 12), lipschitz=2.0, diminishing=True
        ),
        "diminishing",
    ),
    "convex": (
        lambda: box(lambda arms, means: float((means**2).sum()), lipschitz=2.0, concave=True),
        "concave",
    ),
    "counts arms": (
        lambda: box(lambda arms, means: 0.1 * len(arms), zero_is_absent=True),
        "zero_is_absent",
    ),
    "not a sum": (
        lambda: type(
            "Root", (Sum,), {"__call__": lambda self, arms, means: float(np.sum(means)) ** 0.9}
        )(),
        "additive",
    ),
    "unequal weights": (
        lambda: type(
            "Weighted",
            (Sum,),
            {"__call__": lambda self, arms, means: float(np.dot(means, arms)) / 12},
        )(),
        "additive",
    ),
    "upper is that of k arms": (lambda: box(total, upper=5.0), "bounded"),
    "upper fails for all arms at 1 only": (lambda: box(total, upper=11.999), "bounded"),
    "negative": (lambda: box(lambda arms, means: float(means.sum()) - 0.5), "bounded"),
    "tiny values": (
        lambda: box(lambda arms, means: 1e-9 * float(means.sum()), lipschitz=0.8e-9),
        "lipschitz",
    ),
}


def _first(arms):
    return float(arms[0]) / 12 if len(arms) else 0.0


@pytest.mark.parametrize("name", FAULTS)
def test_false_declarations_are_found(name):
    make, fault = FAULTS[name]
    found(make(), fault, least=0.05 if "all arms" in name else 0.1)


def test_what_is_not_declared_is_a_finding():
    inspection = sa.inspect(
        box(lambda arms, means: float((means * (1.5 - means)).sum()), lipschitz=1.5)
    )
    assert inspection.ok
    assert inspection["monotone"].verdict == "fails"
    assert inspection["concave"].verdict == "holds"
    assert inspection["concave"] in inspection.findings
    suggested = " ".join(inspection.recommendation.suggestions)
    assert "declare concave" in suggested
    assert "declare zero_is_absent" in suggested
    assert "declare monotone" not in suggested


def test_rewards_that_fall_with_more_arms_are_found():
    reward = box(lambda arms, means: float(means.mean()) if len(arms) else 0.0)
    inspection = sa.inspect(reward)
    assert inspection["monotone in S"].verdict == "fails"
    assert inspection["submodular"].verdict == "fails"
    assert inspection["separable"].holds  # the best arms alone are the best together


WILD = {
    "fails on the empty set": lambda arms, means: float(max(means)),
    "NaN for three arms": lambda arms, means: (
        float("nan") if len(arms) == 3 else float(means.sum())
    ),
    "infinite": lambda arms, means: float("inf") if len(arms) == 2 else 0.0,
    "always fails": lambda arms, means: 1 / 0,
    "answers in words": lambda arms, means: "much",
    "None": lambda arms, means: None,
}


@pytest.mark.parametrize("name", WILD)
def test_wild_rewards_are_reported_and_never_crash(name):
    inspection = sa.inspect(box(WILD[name]), probes=20)
    row = inspection["answers"]
    assert row.is_error
    assert row.n_violated > 0
    assert row.witness.values == (None,)
    assert inspection.recommendation.oracle
    assert "answers" in str(inspection)
    json.dumps(inspection.as_dict(), allow_nan=False)


def test_a_batch_of_the_wrong_shape_is_reported():
    class Flat(Sum):
        def batch(self, pools, theta):
            return 0.5

    inspection = sa.inspect(Flat(), probes=10)
    assert inspection["answers"].is_error
    assert "shape" in inspection["answers"].witness.what


def test_a_reward_that_writes_into_its_arguments_does_no_harm():
    def writes(arms, means):
        value = float(means.sum())
        means[:] = 7.0
        arms[:] = 0
        return value

    assert sa.inspect(box(writes), probes=20).ok


def test_single_precision_needs_a_tolerance():
    class Single(Sum):
        additive = False

        def batch(self, pools, theta):
            return np.array([np.float32(theta[arms].sum()) for arms in pools], np.float64)

    assert not sa.inspect(Single()).ok
    assert sa.inspect(Single(), tolerance=1e-5).ok


def test_the_bound_on_the_rate_is_that_of_clopper_and_pearson():
    """At the bound, so few violations have a chance of 5%."""
    inspection = sa.inspect(sa.NetworkReward.random(40, rng=np.random.default_rng(0)), probes=40)
    for row in inspection.rows:
        if 0 < row.n_violated < row.n_probes:
            assert binom.cdf(row.n_violated, row.n_probes, row.rate_upper) == pytest.approx(0.05)
        elif row.n_probes:
            assert row.rate_upper == pytest.approx(
                1 - 0.05 ** (1 / row.n_probes) if row.holds else 1.0
            )


def test_the_same_seed_gives_the_same_inspection_and_evaluations_are_all_counted():
    rows = []
    for _ in range(2):
        reward = sa.Counted(sa.NetworkReward.random(40, rng=np.random.default_rng(0)))
        inspection = sa.inspect(reward, k=4, probes=20, rng=np.random.default_rng(9))
        assert reward.evaluations == inspection.evaluations == n_evaluations(40, k=4, probes=20)
        rows.append(inspection.rows)
    assert rows[0] == rows[1]
    assert sa.inspect(reward, k=4, probes=20, rng=np.random.default_rng(10)).rows != rows[0]


@pytest.mark.parametrize("n_arms", [1, 2, 3])
def test_tiny_problems(n_arms):
    for k in range(1, n_arms + 1):
        assert sa.inspect(sa.LinearReward(n_arms), k=k, probes=10).ok
        assert sa.inspect(sa.AnySuccess(n_arms), k=k, probes=10).ok


def test_every_rule_of_the_recommendation():
    rng = np.random.default_rng(0)

    def spread(arms, means):
        return float(means.sum() + np.abs(means[:, None] - means).sum())

    cases = {
        "additive": sa.LinearReward(30),
        "separable": sa.AnySuccess(30),
        "submodular": sa.CoverageReward(rng.random((30, 6))),
        "small": sa.CoverageReward(rng.random((6, 6))),
        "other": box(spread, n_arms=30, lipschitz=60.0, upper=1000.0),
        "separable, unreliable": box(total, lipschitz=0.5),
        "other, unreliable": box(spread, n_arms=30, lipschitz=0.5, upper=1000.0),
    }
    for case, reward in cases.items():
        found = sa.inspect(reward, k=5, rng=rng)
        assert found.recommendation.case == case, str(found)
        assert found.recommendation.oracle in str(found.recommendation)
        assert (found.recommendation.evaluations == 0) == (case == "additive")


def test_the_page_lists_the_rules_as_they_are():
    page = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text()
    table = dict(re.findall(r"^\| `([^`]+)` \| [^|]+ \| `(\w+)` \|$", page, re.MULTILINE))
    assert table == CHOICES


def test_auto_is_the_recommended_policy_and_plays():
    rng = np.random.default_rng(0)
    reward = sa.CoverageReward(rng.random((30, 6)))
    policy = sa.auto(reward, 3, rng=rng)
    assert (
        type(policy.oracle).__name__
        == sa.inspect(reward, k=3).recommendation.oracle
        == "LazyGreedy"
    )
    trace = sa.simulate(policy, sa.BernoulliArms(rng.random(30)), horizon=5, rng=rng)
    assert trace.arms.shape == (5, 3)


def test_auto_warns_of_what_is_wrong():
    with pytest.warns(UserWarning, match="violates lipschitz"):
        policy = sa.auto(box(total, lipschitz=0.5), 3)
    assert type(policy.oracle).__name__ == "Singletons"


def test_what_cannot_be_probed_is_refused():
    with pytest.raises(TypeError, match=r"without n_arms.*BlackBox"):
        sa.inspect(total)
    with pytest.raises(ValueError, match="k must be between"):
        sa.inspect(sa.LinearReward(3), k=4)
    with pytest.raises(ValueError, match="probes must be at least"):
        sa.inspect(sa.LinearReward(3), probes=1)
    for lipschitz in ([1.0, 2.0], float("nan"), -1.0):
        with pytest.raises(ValueError, match="lipschitz must"):
            sa.inspect(type("Bad", (Sum,), {"lipschitz": lipschitz})())
    with pytest.raises(ValueError, match="upper must"):
        sa.inspect(type("Bad", (Sum,), {"upper": float("inf")})())
    with pytest.raises(KeyError, match="there is no row 'sparable'"):
        sa.inspect(sa.LinearReward(3), probes=4)["sparable"]
