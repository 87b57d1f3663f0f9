"""Inspections with a budget: what is probed, when they stop, and how they are interrupted."""

import itertools
import math
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import superarm as sa
from spoiled_rewards import box, total
from superarm.advice.evidence import n_clean
from superarm.advice.rules import (
    CHOICES,
    RELIED_ON,
    case_of,
    facts_of,
    open_properties,
)


def coverage(n_arms=30):
    return sa.CoverageReward(np.random.default_rng(0).random((n_arms, 6)))


def complements(arms, means):
    """An arm is worth something only with its partner, apart from next to nothing."""
    mean = dict(zip(arms.tolist(), means.tolist(), strict=True))
    return float(sum(mean[a] * mean.get(a ^ 1, 0.0) for a in mean) + 1e-3 * means.sum())


KINDS = {
    "additive": lambda: sa.LinearReward(30),
    "separable": lambda: sa.AnySuccess(30),
    "submodular": coverage,
    "other": lambda: box(complements, n_arms=30, lipschitz=2.1, upper=31.0),
    "small": lambda: box(complements, n_arms=14, lipschitz=2.1, upper=15.0),
}


@pytest.mark.parametrize("case", KINDS)
def test_a_budget_is_kept_and_what_is_left_when_all_is_decided_stays(case):
    for budget in (1, 7, 60, 3_000):
        reward = sa.Counted(KINDS[case]())
        found = sa.inspect(reward, k=3, budget=budget)
        assert reward.evaluations == found.evaluations <= budget
        assert found.budget == budget
        assert found.ok
    assert found.recommendation.case == case
    assert not found.recommendation.undecided
    searched = 0 if found.groups is None else found.groups.evaluations
    assert found.evaluations - searched < 1_200
    assert searched < math.comb(30, 2) + 31 + 200  # all pairs, each arm alone, and tests
    for row in found.rows:
        assert row.n_probes <= max(found.evaluations * (row.name == "answers"), 2 * n_clean())


def test_few_evaluations_decide_nothing_and_say_so():
    """The safe oracle, whatever the seed, for rewards that small budgets can't judge."""
    for seed in range(5):
        found = sa.inspect(coverage(), k=5, budget=30, rng=np.random.default_rng(seed))
        assert found.recommendation.oracle == "LocalSearch"
        assert {"separable", "submodular"} & set(found.recommendation.undecided)
        assert found.recommendation.confidence is None
        assert "Not certain" in str(found)
        all_used = found.evaluations == found.budget
        assert ("the budget is used up" if all_used else "the rest decides nothing") in str(found)


def test_confidence_is_one_minus_the_doubts_that_add_up():
    advice = sa.inspect(box(total, n_arms=30, upper=30.0), k=3, budget=3_000).recommendation
    assert advice.case == "separable"
    assert advice.confidence == pytest.approx(1 - 2 * 0.85 ** n_clean(), abs=1e-9)


def slow_open(rows, n_arms, k):
    """Every way in which the undecided properties may turn out, one by one."""
    names = [name for name in rows if rows[name].undecided and name != "bounded"]
    relevant = [n for n in names if rows[n].kind != "undeclared" or n not in RELIED_ON]

    def oracle(outcome):
        then = dict(rows)
        for name, fails in zip(relevant, outcome, strict=True):
            known = replace(rows[name], n_probes=99, n_violated=int(fails), rate_upper=0.01)
            then[name] = known
        facts = facts_of(then, n_arms, k)
        return CHOICES[case_of(facts, n_arms, k)]

    def flips(place):
        for outcome in itertools.product((False, True), repeat=len(relevant)):
            other = [*outcome[:place], not outcome[place], *outcome[place + 1 :]]
            if oracle(outcome) != oracle(other):
                return True
        return False

    return {name for place, name in enumerate(relevant) if flips(place)}


@pytest.mark.parametrize("n_arms", [6, 9, 30])
def test_open_properties_are_those_whose_outcome_changes_the_oracle(n_arms):
    rng = np.random.default_rng(n_arms)
    rows = {row.name: row for row in sa.inspect(coverage(n_arms), k=3, budget=1).rows}
    for _ in range(12):
        drawn = {}
        for name, row in rows.items():
            few = name in ("separable", "submodular", "monotone in S", "lipschitz")
            fails, known = rng.random() < 0.2, rng.random() < (0.4 if few else 0.9)
            fails &= known
            clean = 0.01 if known else 0.9
            drawn[name] = replace(row, n_probes=9, n_violated=int(fails), rate_upper=clean)
        noise = "undeclared" if rng.random() < 0.3 else "required"
        drawn["deterministic"] = replace(drawn["deterministic"], kind=noise)
        assert set(open_properties(drawn, n_arms, 3)) == slow_open(drawn, n_arms, 3)


@pytest.mark.parametrize("options", [{"budget": 400}, {"probes": 20}])
def test_an_executor_changes_nothing(options):
    with ThreadPoolExecutor(3) as executor:
        one, other = (
            sa.inspect(box(complements, n_arms=30, lipschitz=2.1, upper=31.0), k=3, **more)
            for more in (options, {**options, "executor": executor})
        )
    assert one.rows == other.rows
    assert one.check == other.check
    assert one.evaluations == other.evaluations
    assert one.recommendation.case == other.recommendation.case


def test_copies_of_a_generator_do_not_hide_noise():
    """Worker number j draws the same numbers as all others, as processes with copies do."""

    class Copies(ThreadPoolExecutor):
        """Threads that start a new copy of the generator for every task."""

        def submit(self, fn, /, *args):
            def work():
                local.rng = np.random.default_rng(7)
                return fn(*args)

            return super().submit(work)

    local = threading.local()
    noisy = lambda arms, means: float(2 + means.sum() + 0.1 * local.rng.random())  # noqa: E731
    with Copies(3) as executor:
        found = sa.inspect(box(noisy, n_arms=30, upper=33.0), k=3, budget=400, executor=executor)
    assert found["deterministic"].n_violated > 0


def test_a_reward_that_processes_cannot_get_is_refused():
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1) as executor, pytest.raises(TypeError, match="ThreadPoolExecutor"):
        sa.inspect(box(lambda arms, means: 0.0), budget=9, executor=executor)


@pytest.mark.parametrize("options", [{"budget": 3_000}, {"probes": 20}])
def test_a_stopped_inspection_reports_what_is_known(options):
    calls = itertools.count()
    found = sa.inspect(coverage(), k=3, should_stop=lambda: next(calls) > 200, **options)
    assert found.stopped
    assert 201 <= found.evaluations < 600  # calls, some of them of many sets
    assert found["deterministic"].n_probes > 0
    assert "stopped early" in str(found)
    assert found.recommendation.oracle


def test_ctrl_c_reports_what_is_known():
    calls = itertools.count()

    def interrupted(arms, means):
        if next(calls) == 50:
            raise KeyboardInterrupt
        return float(means.sum())

    found = sa.inspect(box(interrupted, n_arms=30, upper=30.0), k=3, budget=500)
    assert found.stopped
    assert found.evaluations == 50  # the interrupted call does not count
    calls = itertools.count()
    with pytest.warns(UserWarning, match="50 evaluations leave undecided whether"):
        policy = sa.auto(box(interrupted, n_arms=30, upper=30.0), 3, budget=500)
    assert type(policy.oracle).__name__ == "LocalSearch"


def test_progress_says_the_cost_first(capsys):
    seen = []
    found = sa.inspect(coverage(), k=3, budget=400, progress=seen.append)
    assert [step.evaluations for step in seen] == sorted(step.evaluations for step in seen)
    assert (seen[0].evaluations, seen[0].most, seen[0].first_s) == (0, 400, None)
    assert seen[1].most_s == 400 * seen[1].first_s > 0
    assert seen[-1].evaluations == seen[-1].most == found.evaluations
    sa.inspect(coverage(), k=3, budget=60, progress=True)
    first, *_ = capsys.readouterr().err.replace("\r", "\n").strip().splitlines()
    assert first.startswith("at most 60 evaluations")


@pytest.mark.parametrize("seed", range(6))
def test_noise_is_no_violation(seed):
    """A comparison exceeds what noise may add with probability 1e-5, so that 6 runs of about 100
    comparisons fail with probability below 1%."""
    rng = np.random.default_rng(seed)
    noisy = {"n_arms": 30, "lipschitz": 2.0, "upper": 33.0}
    fn = lambda arms, means: float(2 + means.sum() + 0.01 * rng.standard_normal())  # noqa: E731
    declared = sa.inspect(box(fn, **noisy, noisy=True), k=3, budget=1_000, rng=rng)
    assert declared.ok, str(declared)
    assert declared["separable"].n_violated == 0
    assert declared.recommendation.case == "separable, noisy"
    assert declared.recommendation.oracle == "NoisySingletons"
    silent = sa.inspect(box(fn, **noisy), k=3, budget=1_000, rng=rng)
    assert [row.name for row in silent.errors] == ["deterministic"]
    assert silent["separable"].n_violated == 0
    assert silent.recommendation.oracle == "NoisySingletons"


def test_noise_that_hides_everything_leaves_everything_undecided():
    rng = np.random.default_rng(0)
    fn = lambda arms, means: float(means.sum() + rng.standard_normal())  # noqa: E731
    found = sa.inspect(
        box(fn, n_arms=30, lipschitz=2.0, upper=99.0, noisy=True), k=3, budget=1_000, rng=rng
    )
    assert found["separable"].verdict == "undecided"
    assert "separable" in found.recommendation.undecided
    text = str(found)
    assert "separable: noise hides it in" in text
    assert "not probed: separable" not in text
    assert "since the reward is noisy, and it is undecided" in text
    assert "More probes may change" not in text
    assert f"BlackBox(repeats={found.recommendation.repeats}) may change the advice" in text
    # So many averages leave noise of less than a tenth of an ordinary value.
    assert 100 < found.recommendation.repeats < 10_000


@pytest.mark.parametrize(
    ("exact", "oracle"),
    [
        (sa.LinearReward(20), "NoisySingletons"),
        (sa.CoverageReward(np.eye(20) + np.eye(20, k=1)), "NoisyGreedy"),
        (lambda arms, means: complements(arms, means), "NoisyLocalSearch"),
    ],
)
def test_noise_gets_an_oracle_for_noise(exact, oracle):
    """That exists, by the kind of the reward."""
    rng = np.random.default_rng(0)
    fn = lambda arms, means: float(1 + exact(arms, means) + 1e-3 * rng.standard_normal())  # noqa: E731
    reward = box(fn, n_arms=20, lipschitz=2.1, upper=50.0, noisy=True)
    found = sa.inspect(reward, k=3, budget=1_500)
    assert found.ok
    assert not found.recommendation.undecided
    assert found.recommendation.oracle == oracle
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        policy = sa.auto(reward, 3, budget=1_500)
    assert f"the reward is noisy: {oracle}(delta=0.05," in str(seen[0].message)
    built, settings = policy.oracle, found.recommendation.settings
    assert type(built).__name__ == oracle
    assert settings["delta"] == built.delta == 0.05
    assert 0 < built.tolerance < 0.05  # about 1% of an ordinary value
    policy.ask(rng=rng)
    assert built.report.certified
    assert policy.evaluations <= found.recommendation.evaluations


@pytest.mark.parametrize("n_arms", [1, 2, 3])
def test_tiny_problems_with_a_budget(n_arms):
    for k in range(1, n_arms + 1):
        for reward in (sa.LinearReward(n_arms), sa.AnySuccess(n_arms), box(total, n_arms=n_arms)):
            found = sa.inspect(reward, k=k, budget=900)
            assert found.ok
            # One arm alone does not show what it adds to others.
            assert n_arms == 1 or not found.recommendation.undecided


def test_an_inspection_that_never_began_reports_that_nothing_is_known():
    found = sa.inspect(coverage(), k=3, budget=9, should_stop=lambda: True)
    assert (found.evaluations, found.single_s, found.recommendation.oracle) == (
        0,
        None,
        "LocalSearch",
    )
    assert "stopped early" in str(found)


def test_arms_that_few_probes_show_together_are_found_with_all_arms():
    """The two best of 30 arms are the same thing twice.

    Six random arms have both of them in 3% of the cases. With all arms, a swap helps in about 65%
    of the probes, so that two probes find it with probability 0.88 at least: fewer than 6 of 10
    seeds would find it with probability below 0.2%.
    """
    weights = np.full(30, 0.5)
    weights[[7, 19]] = 2.0

    def twins(arms, means):
        worth = dict(zip(arms.tolist(), (weights[arms] * means).tolist(), strict=True))
        return float(sum(worth.values()) - min(worth.get(7, 0.0), worth.get(19, 0.0)))

    reward = box(twins, n_arms=30, lipschitz=weights, upper=18.0)
    cases = [
        sa.inspect(reward, k=3, budget=900, rng=np.random.default_rng(seed)).recommendation.case
        for seed in range(10)
    ]
    assert set(cases) <= {"submodular", "separable"}
    assert cases.count("submodular") >= 6


def test_every_call_of_an_average_counts():
    """Of a budget, of the progress, of what is reported, and of the recommended oracle."""
    calls, seen = itertools.count(), []

    def fn(arms, means):
        next(calls)
        return float(means.sum())

    averaged = box(fn, n_arms=30, upper=30.0, repeats=5)
    found = sa.inspect(averaged, k=3, budget=3_003, progress=seen.append)
    assert next(calls) == found.evaluations <= 3_000
    assert seen[-1].evaluations == seen[-1].most == found.evaluations
    assert str(seen[1]).startswith("at most 3,000 evaluations, about")
    plain = sa.inspect(box(fn, n_arms=30, upper=30.0), k=3, budget=600)
    assert found.rows == plain.rows
    assert found.recommendation.evaluations == 5 * plain.recommendation.evaluations
    with pytest.raises(ValueError, match="budget must be at least 5, got 4"):
        sa.inspect(averaged, k=3, budget=4)
