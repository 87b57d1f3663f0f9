"""Second looks at what would be relied on: why a swap helps, and swaps in greedy sets."""

import math

import numpy as np
import pytest

import superarm as sa
from spoiled_rewards import box, total
from superarm.advice import n_evaluations
from superarm.advice.asking import probe
from superarm.advice.evaluator import Evaluator
from superarm.advice.follow_up import GreedySets, why_swaps_help
from superarm.advice.ledger import Ledger
from superarm.advice.probes import Lipschitz
from superarm.advice.progress import Watch
from superarm.advice.random_inputs import RandomInputs
from superarm.advice.shape_probes import Separable


def spoiled(arms, means):
    """Arm 4 is worth most alone, and halves the value of every other arm."""
    worth = np.where(arms == 4, 0.6 + means, means).sum()
    return float(worth / 2 if 4 in arms and len(arms) > 1 else worth)


def helped(arms, means):
    """Arm 4 is worth nothing alone, and doubles every other arm."""
    worth = means[arms != 4].sum()
    return float(2 * worth if 4 in arms else worth)


def overlapping(arms, means):
    """Arms 4 and 5 are the same thing twice, and worth most alone."""
    worth = np.where(np.isin(arms, [4, 5]), 3 * means, means)
    twice = worth[np.isin(arms, [4, 5])]
    return float(worth.sum() - (twice.min() if len(twice) == 2 else 0.0))


@pytest.mark.parametrize(
    ("fn", "swap", "fails"),
    [
        (spoiled, ([4, 0, 1], [0, 1, 2]), {"monotone in S"}),
        (helped, ([0, 1, 2], [0, 1, 4]), {"submodular"}),
        (overlapping, ([4, 5, 0], [4, 0, 1]), set()),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_swap_that_helps_shows_why(fn, swap, fails, noise):
    """Noise is normal, and the differences are 100 times as large."""
    rng, theta = np.random.default_rng(0), np.linspace(0.9, 0.5, 8)
    sets = [np.array(arms) for arms in swap]
    noisy = lambda arms, means: fn(arms, means) + noise * rng.standard_normal()  # noqa: E731
    evaluate = Evaluator(box(noisy, n_arms=8, lipschitz=12.0, upper=40.0))
    kinds = dict.fromkeys(
        ("deterministic", "separable", "submodular", "monotone in S"), "undeclared"
    )
    kinds["deterministic"] = "undeclared" if noise else "required"
    ledger = Ledger(
        kinds,
        evaluate,
        Watch(99, None, None),
        tolerance=1e-9,
        lipschitz=Lipschitz(np.ones(8)),
        separable=Separable(),
        anytime=True,
    )
    ledger.pilot(RandomInputs(8, 3, rng), 12, twice=bool(noise))
    values = [noisy(np.sort(arms), theta[np.sort(arms)]) for arms in sets]
    assert values[1] > values[0]
    better = probe(sets, [theta[arms] for arms in sets], values, values[1] - values[0], "a swap")
    before = evaluate.n_evaluated
    why_swaps_help(ledger, 99)  # nothing is known to look at
    assert evaluate.n_evaluated == before
    ledger.add({"separable": better})
    why_swaps_help(ledger, 5)  # too few evaluations are left
    assert evaluate.n_evaluated == before
    why_swaps_help(ledger, 6)
    assert evaluate.n_evaluated - before == (6 if noise else 4)
    for name in ("submodular", "monotone in S"):
        row = ledger.tallies[name].row
        assert (row.n_violated > 0) == (name in fails)
        assert row.n_probes == row.n_violated  # clean looks do not count: nothing was drawn
        if row.n_violated:
            shown = [
                fn(np.array(arms), np.array(means))
                for arms, means in zip(row.witness.sets, row.witness.means, strict=True)
            ]
            assert shown == pytest.approx(row.witness.values, abs=5 * noise)


def slow_greedy(fn, theta, k, rivals=4):
    """A greedy set, and the best set with one arm exchanged for one of the next best arms."""

    def value(arms):
        arms = np.sort(np.array(arms))
        return fn(arms, theta[arms])

    chosen, candidates = [], np.flatnonzero(theta > 0).tolist()
    for _ in range(k):
        ranked = sorted(
            (a for a in candidates if a not in chosen), key=lambda a: -value([*chosen, a])
        )
        chosen = [*chosen, ranked[0]]
    swaps = [
        [*(a for a in chosen if a != out), new] for out in chosen for new in ranked[1 : 1 + rivals]
    ]
    return value(chosen), max(map(value, swaps))


@pytest.mark.parametrize("fn", [spoiled, overlapping, total])
def test_greedy_sets_are_those_of_the_slow_twin(fn):
    trial, draw = GreedySets(), RandomInputs(12, 3, np.random.default_rng(5))
    for _ in range(5):
        asking, values, n_asked = trial(draw), None, 0
        try:
            while True:
                ask = asking.send(values)
                n_asked += len(ask.sets)
                theta = ask.theta
                sets = [np.sort(arms) for arms in ask.sets]
                values = np.array([fn(arms, theta[arms]) for arms in sets])
        except StopIteration as end:
            found = end.value
        assert n_asked == trial.n_evaluations(12, 3)
        mine, best = slow_greedy(fn, theta, 3)
        assert found.values == pytest.approx([mine, best])
        assert found.excess == pytest.approx(best - mine - 0.02 * abs(best))


def test_a_rare_arm_that_spoils_greedy_sets_is_found():
    """Of 24 arms, one spoils the others. The probes of submodularity miss it in every other run."""
    for seed in range(4):
        found = sa.inspect(
            box(spoiled, n_arms=24, lipschitz=12.0, upper=40.0),
            k=3,
            budget=1_000,
            rng=np.random.default_rng(seed),
        )
        assert found.recommendation.oracle == "LocalSearch", str(found)
    assert found["separable"].verdict == "fails"


def test_an_inspection_without_a_budget_searches_for_arms_that_interact():
    def bonus(arms, means):
        return total(arms, means) + (5.0 if np.isin([3, 17], arms).all() else 0.0)

    reward = box(bonus, n_arms=40, upper=46.0)
    found = sa.inspect(reward, k=5, probes=40)
    assert [group.arms for group in found.groups.found] == [(3, 17)]
    assert found.recommendation.groups == ((3, 17),)
    assert found.evaluations <= n_evaluations(40, 5, 40)
    few = sa.inspect(reward, k=5, probes=4)  # 100 evaluations are too few for 40 arms
    assert few.groups is None
    clean = sa.inspect(sa.CoverageReward(np.eye(20) + np.eye(20, k=1)), k=3, probes=40)
    assert clean.groups.found == ()
    assert clean.groups.n_pairs == math.comb(20, 2)
