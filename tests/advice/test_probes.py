"""Inspection: clean rewards pass, each fault is found with a witness that can be repeated.

If a fault shows in a share s of the probes, n probes miss it with probability (1 - s)^n. `found`
checks that the fault shows in at least a given share, and makes as many probes as this share needs
for a miss with probability below 1e-9 under another seed. One fault shows in 5% of 200 probes only:
4e-5. Separability has 50 probes and fails in at least 40% of them: below 1e-10. Clean rewards can
fail by rounding only, which the tolerance covers.
"""

import json
import math

import numpy as np
import pytest

import superarm as sa
from parts import REWARDS
from spoiled_rewards import Sum, box, total
from superarm.advice import n_evaluations


def found(reward, name, *, least=0.1, probes=None, **options):
    """The inspection, after checking that it found the fault, often, and with a good witness."""
    probes = probes or min(200, math.ceil(math.log(1e-9) / math.log(1 - least)))
    inspection = sa.inspect(reward, probes=probes, **options)
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


@pytest.mark.parametrize("seed", range(3))
def test_an_understated_lipschitz_is_found(seed):
    rng = np.random.default_rng(seed)
    network = sa.NetworkReward.random(50, rng=rng)
    network.lipschitz = 0.9 * network.lipschitz
    inspection = found(network, "lipschitz", least=0.2, rng=rng)
    row = inspection["lipschitz"]
    (arms, _), (here, there) = row.witness.sets, row.witness.means
    change = abs(network(arms, here) - network(arms, there))
    allowed = network.lipschitz[list(arms)] @ np.abs(np.subtract(here, there))
    assert change - allowed == pytest.approx(row.worst, rel=1e-6)
    assert inspection.recommendation.oracle in ("Singletons", "Greedy")  # neither relies on B


def test_a_lipschitz_that_only_sets_exceed_is_found():
    """Single arms have slope 2 at most, sets twice the sum of their means."""
    found(box(lambda arms, means: float(means.sum() ** 2), lipschitz=2.0, upper=144.0), "lipschitz")


def test_a_batch_that_looks_outside_its_sets_is_found():
    class Peeks(Sum):
        additive = False

        def batch(self, pools, theta):
            return np.array([theta[arms].sum() * (1 - 0.01 * np.max(theta)) for arms in pools])

    inspection = found(Peeks(), "mean-only")
    assert inspection["batch = single"].is_error
    assert inspection.recommendation.oracle == "Singletons"


def test_noise_is_found_and_not_taken_for_anything_else():
    """Other comparisons allow twice the largest difference of 200 triples: 9 deviations."""
    noise = np.random.default_rng(3)
    reward = box(
        lambda arms, means: 2 + means.sum() + 0.01 * noise.standard_normal(),
        upper=20.0,
        monotone=True,
    )
    inspection = found(reward, "deterministic", least=1, probes=200)
    assert [row.name for row in inspection.errors] == ["deterministic"]
    assert inspection.noise > 0.01
    assert inspection.recommendation.oracle == "NoisySingletons"
    # What noise hides is not suggested.
    (suggested,) = inspection.recommendation.suggestions
    assert suggested.startswith("superarm.Singletons if one answer per set has to do")


def test_a_reward_that_depends_on_what_was_asked_before_is_found():
    class Remembers(Sum):
        last = 0

        def __call__(self, arms, means):
            value, self.last = np.sum(means) + 0.1 * (self.last != len(arms)), len(arms)
            return float(value)

    found(Remembers(), "deterministic")


# How each reward is made, the property that it violates, and in which share of the probes at least.
FAULTS = {
    "order": (
        lambda: type("Ordered", (Sum,), {"__call__": lambda self, arms, means: _first(arms)})(),
        "order",
        0.5,
    ),
    "falls with its mean": (
        lambda: box(
            lambda arms, means: float((means * (1.5 - means)).sum()), lipschitz=1.5, monotone=True
        ),
        "monotone",
        0.15,
    ),
    "never enough": (
        lambda: box(
            lambda arms, means: float(means.sum() ** 2 / 12), lipschitz=2.0, diminishing=True
        ),
        "diminishing",
        0.6,
    ),
    "convex": (
        lambda: box(lambda arms, means: float((means**2).sum()), lipschitz=2.0, concave=True),
        "concave",
        0.9,
    ),
    "counts arms": (
        lambda: box(lambda arms, means: 0.1 * len(arms), zero_is_absent=True),
        "zero_is_absent",
        0.9,
    ),
    "not a sum": (
        lambda: type(
            "Root", (Sum,), {"__call__": lambda self, arms, means: float(np.sum(means)) ** 0.9}
        )(),
        "additive",
        0.6,
    ),
    "unequal weights": (
        lambda: type(
            "Weighted",
            (Sum,),
            {"__call__": lambda self, arms, means: float(np.dot(means, arms)) / 12},
        )(),
        "additive",
        0.15,
    ),
    "upper is that of k arms": (lambda: box(total, upper=5.0), "bounded", 0.15),
    "upper fails for all arms at 1 only": (lambda: box(total, upper=11.999), "bounded", 0.05),
    "negative": (lambda: box(lambda arms, means: float(means.sum()) - 0.5), "bounded", 0.3),
    "tiny values": (
        lambda: box(lambda arms, means: 1e-9 * float(means.sum()), lipschitz=0.8e-9),
        "lipschitz",
        0.7,
    ),
}


def _first(arms):
    return float(arms[0]) / 12 if len(arms) else 0.0


@pytest.mark.parametrize("name", FAULTS)
def test_false_declarations_are_found(name):
    make, fault, least = FAULTS[name]
    found(make(), fault, least=least)


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
