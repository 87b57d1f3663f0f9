"""How often the 95% intervals of off-policy estimates cover the truth.

    python benchmarks/offpolicy.py [--logs N] [--workers N] [--picture FILE]

Logs are simulated, so the truth is known. The designs are those of the page Off-policy evaluation.
Logs that an estimator refuses, because they do not overlap with the target, do not count.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from offpolicy_picture import picture
from superarm.offpolicy import (
    Estimate,
    Log,
    Propensities,
    Target,
    doubly_robust,
    ips,
    propensities,
    set_ips,
    set_snips,
    snips,
)
from superarm.reporting.figures import WIDTH, render

M, K = 8, 3
MU = np.array([0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1])
SETS = np.array(list(itertools.combinations(range(M), K)))
N_SAMPLES = 200

Estimator = Callable[[Log, Target], Estimate]
GOOD, BAD = np.clip(MU + 0.05 * (-1.0) ** np.arange(M), 0, 1), 1 - MU
BY_ARM: dict[str, Estimator] = {
    "ips": ips,
    "snips": snips,
    "doubly robust, past": doubly_robust,
    "doubly robust, good model": partial(doubly_robust, model=GOOD),
    "doubly robust, bad model": partial(doubly_robust, model=BAD),
}


def any_success(arms: np.ndarray, outcomes: np.ndarray) -> float:
    return float(outcomes.max())


BY_SET: dict[str, Estimator] = {
    "set ips, any success": partial(set_ips, values=any_success),
    "set snips, any success": partial(set_snips, values=any_success),
}


@cache
def set_chances(strength: float) -> np.ndarray:
    """The probabilities of all sets, if arms are drawn in proportion to exp(strength * mean)."""
    worth = np.exp(strength * MU)
    chances = np.zeros(len(SETS))
    for number, arms in enumerate(SETS):
        for order in itertools.permutations(arms.tolist()):
            left = worth.sum()
            chance = 1.0
            for arm in order:
                chance *= worth[arm] / left
                left -= worth[arm]
            chances[number] += chance
    return chances


def softmax_target(strength: float) -> Target:
    chances = set_chances(strength)
    by_set = {tuple(arms.tolist()): float(p) for arms, p in zip(SETS, chances, strict=True)}
    return Target(_by_arm(chances), lambda found: by_set.get(found, 0.0))


def fixed_log(strength: float, n_rounds: int, rng: np.random.Generator) -> Log:
    """A policy that never changes, and whose propensities are known."""
    chances = set_chances(strength)
    drawn = rng.choice(len(SETS), n_rounds, p=chances)
    arms = SETS[drawn]
    outcomes = rng.random(arms.shape) < MU[arms]
    return Log(arms, outcomes, _by_arm(chances)[arms], n_arms=M, set_propensities=chances[drawn])


def thompson_log(n_rounds: int, rng: np.random.Generator) -> Log:
    """Thompson sampling from scratch: new propensities in every round, from a few samples each."""
    policy = sa.cts(sa.LinearReward(M), K, oracle=sa.TopK())
    world = sa.BernoulliArms(MU)
    rows = []
    for _ in range(n_rounds):
        chances = propensities(policy, N_SAMPLES, rng=rng)
        arms = policy.ask(rng=rng)
        outcomes = world.pull(arms, rng=rng)
        policy.tell(arms, outcomes, rng=rng)
        found = chances.counting(arms)
        rows.append((arms, outcomes, found.arms[arms], found.set_probability(arms)))
    arms, outcomes, of_arms, of_sets = (np.array(column) for column in zip(*rows, strict=True))
    return Log(arms, outcomes, of_arms, n_arms=M, set_propensities=of_sets)


def frozen_thompson(rng: np.random.Generator) -> Propensities:
    """Thompson sampling that has seen every arm a few times, sampled again for each log."""
    belief = sa.BetaBelief.from_counts(8 * MU, np.full(M, 8))
    return propensities(sa.Policy(belief, sa.TopK(), sa.LinearReward(M), K), 1000, rng=rng)


@cache
def frozen_chances() -> np.ndarray:
    found = propensities(
        sa.Policy(
            sa.BetaBelief.from_counts(8 * MU, np.full(M, 8)), sa.TopK(), sa.LinearReward(M), K
        ),
        4_000_000,
        rng=np.random.default_rng(99),
    )
    return found.arms


def _by_arm(chances: np.ndarray) -> np.ndarray:
    return np.bincount(SETS.ravel(), np.repeat(chances, K), minlength=M)


def _any(chances: np.ndarray) -> float:
    return float(chances @ (1 - np.prod(1 - MU[SETS], axis=1)))


def _fixed(arms: list[int]) -> tuple[Callable[..., Any], float, float]:
    return (
        (lambda rng: Target.fixed(arms, M)),
        float(MU[arms].sum()),
        float(1 - np.prod(1 - MU[arms])),
    )


def _softmax(strength: float) -> tuple[Callable[..., Any], float, float]:
    chances = set_chances(strength)
    return (lambda rng: softmax_target(strength)), float(_by_arm(chances) @ MU), _any(chances)


def _frozen() -> tuple[Callable[..., Any], float, None]:
    return frozen_thompson, float(frozen_chances() @ MU), None


LOGS: dict[str, Callable[[np.random.Generator], Log]] = {
    "even": partial(fixed_log, 1.0, 500),
    "short": partial(fixed_log, 1.0, 100),
    "uneven": partial(fixed_log, 6.0, 500),
    "very uneven": partial(fixed_log, 9.0, 500),
    "Thompson": partial(thompson_log, 300),
}
# Name: the log, and the target with its truth by arms and by sets. Equal logs are shared.
DESIGNS: dict[str, tuple[str, Callable[[], tuple[Any, float, float | None]]]] = {
    "fixed, large overlap": ("even", partial(_softmax, 4.0)),
    "fixed, target sampled": ("even", _frozen),
    "fixed, 100 rounds": ("short", partial(_softmax, 4.0)),
    "fixed, small overlap": ("uneven", partial(_fixed, [4, 5, 6])),
    "fixed, tiny overlap": ("very uneven", partial(_fixed, [5, 6, 7])),
    "Thompson, best set": ("Thompson", partial(_fixed, [0, 1, 2])),
    "Thompson, target sampled": ("Thompson", _frozen),
    "Thompson, random sets": ("Thompson", partial(_softmax, 0.0)),
}


def one_log(job: tuple[str, int]) -> list[tuple[str, str, tuple[float, ...] | None]]:
    """A log, and what every estimator says of every target for it."""
    kind, seed = job
    log = LOGS[kind](np.random.default_rng([seed, list(LOGS).index(kind)]))
    found = []
    for place, (design, (used, aim)) in enumerate(DESIGNS.items()):
        if used != kind:
            continue
        make, by_arm, by_set = aim()
        target = make(np.random.default_rng([seed, 100 + place]))
        found += [
            (design, name, judged(estimator, log, target, by_arm))
            for name, estimator in BY_ARM.items()
        ]
        if by_set is not None:
            found += [
                (design, name, judged(estimator, log, target, by_set))
                for name, estimator in BY_SET.items()
            ]
    return found


def judged(estimator: Estimator, log: Log, target: Any, truth: float) -> tuple[float, ...] | None:
    """Whether the interval covers, its error and half width, the effective n, and any warning.

    None if the estimator refuses.
    """
    try:
        found = estimator(log, target)
    except ValueError as error:
        if "overlap" not in str(error):
            raise
        return None
    covered = found.low <= truth <= found.high
    half = (found.high - found.low) / 2
    return covered, found.value - truth, half, found.effective_n, found.warning is not None


def run(n_logs: int, workers: int) -> Iterator[tuple[str, str, list[Any]]]:
    """Design, estimator, and what it said of each log; the same for any number of workers."""
    found = defaultdict(list)
    with ProcessPoolExecutor(workers) as pool:
        for kind in LOGS:
            jobs = [(kind, seed) for seed in range(n_logs)]
            for rows in pool.map(one_log, jobs, chunksize=max(1, n_logs // 40)):
                for design, name, row in rows:
                    found[design, name].append(row)
    for design in DESIGNS:
        yield from (
            (design, name, rows) for (other, name), rows in found.items() if other == design
        )


def summary(rows: list[Any]) -> dict[str, float]:
    answered = np.array([row for row in rows if row is not None], np.float64)
    if not len(answered):
        return {"refused": 1.0}
    covered, error, half, effective, warned = answered.T
    return {
        "coverage": covered.mean(),
        "error": math.sqrt(max(covered.mean() * (1 - covered.mean()), 1e-12) / len(covered)),
        "bias": error.mean(),
        "rmse": math.sqrt((error**2).mean()),
        "half": half.mean(),
        "effective": float(np.median(effective)),
        "warned": warned.mean(),
        "refused": 1 - len(answered) / len(rows),
    }


def table(results: list[tuple[str, str, dict[str, float]]]) -> str:
    head = ["design", "estimator", "coverage, %", "bias", "rmse", "half width", "effective n"]
    head += ["warned, %", "refused, %"]
    lines = ["| " + " | ".join(head) + " |", "| --- | --- |" + " ---: |" * (len(head) - 2)]
    for design, name, row in results:
        if "coverage" not in row:
            cells = ["", "", "", "", "", "", "100"]
        else:
            cells = [
                f"{100 * row['coverage']:.1f} ± {100 * row['error']:.1f}",
                f"{row['bias']:+.3f}",
                f"{row['rmse']:.3f}",
                f"{row['half']:.3f}",
                f"{row['effective']:.0f}",
                f"{100 * row['warned']:.0f}",
                f"{100 * row['refused']:.1f}",
            ]
        lines.append("| " + " | ".join([design, name, *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    frozen_chances()  # once, before the workers are forked
    results = [
        (design, name, summary(rows)) for design, name, rows in run(options.logs, options.workers)
    ]
    print(table(results))
    if options.picture:
        drawn = partial(picture, results, list(DESIGNS), options.logs)
        options.picture.write_text(render(drawn, size=(WIDTH, 8.0)))


if __name__ == "__main__":
    main()
