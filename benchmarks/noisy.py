"""Oracles for noisy rewards next to repeated plain oracles of the same reliability.

    python benchmarks/noisy.py [PART ...] [--workers 2] [--out noisy.json] [--quick]

The parts are

- ``arms``: `NoisySingletons`, 5 of 500 arms, 100 rounds, on seven rewards.
- ``few arms``: the same with 30 arms, 50 rounds, 6 runs.
- ``arms, errors``: the same with 20 arms, 20 rounds, 72 runs: 10,080 decisions.
- ``learned``: `NoisySingletons` with known noise, learned noise, and learned noise of bounded
  answers, 5 of 100 arms, 20 rounds, on the same rewards.
- ``concave``: `NoisySingletons` with and without the declaration, 5 of 30 arms, 50 rounds, 6 runs,
  on the three of these rewards that are concave.
- ``sets`` and ``few sets``: `NoisyGreedy` and `NoisyLocalSearch`, 5 of 300 arms, 10 rounds, and
  4 of 40 arms, 20 rounds, with known and learned noise, on seven rewards (``noisy_rewards.py``).
- ``errors``: 10,080 steps about 3 of 8 arms, where delta is for the three steps of a round.
  "Peeking" makes the same steps, but with intervals for a fixed number of answers.
- ``thresholds``: Confident Threshold Greedy next to `NoisyGreedy`, 4 of 40 arms, 3 rounds.
- ``unions``: what each union bound costs, by formula.

Thompson sampling plays. Every decision is compared with the true values at the same theta. A set of
`NoisySingletons` is wrong if an arm outside is worth more than an arm inside by more than the
tolerance, a step of `NoisyGreedy` if another arm adds more by more than its slack, a set of
`NoisyLocalSearch` if a swap adds more than the slack. The noise has a standard deviation of 10% of
the range of the values, of single arms for `NoisySingletons`, and of random sets else.

The plain oracle evaluates every set that it compares n times. "Gap known" takes the smallest n with
which two sets that differ by the gap of the decision (or by the tolerance if that is larger) are in
the right order, except with probability delta / decisions. That is less than any real procedure can
do: it knows the gap, and no other set is ever mistaken. "Gap unknown" takes the n for the
tolerance.

The JSON is written after every run, in place of earlier rows of the same part. Runs that differ by
their seed only are added up. ``docs/noisy_page.py`` makes the page and the picture.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

import noisy_rewards
import superarm as sa
from confident_threshold import ConfidentThresholdGreedy
from lazy_rewards import REWARDS, Sum
from superarm.core.declarations import is_concave
from superarm.oracles import NoisyGreedy, NoisyLocalSearch, NoisySingletons
from superarm.oracles._boundaries import one_sided, radius
from superarm.oracles._noise import Known

NAMES = ("linear", "network, std 0.3", "coverage", "plateaus", "steep", "waves", "roots")
NOISE, DELTA = 0.1, 0.05
Cell = dict[str, Any]


def roots(arms: Any, means: Any) -> Any:
    """Steep near 0 and flat near 1, with another weight for each arm."""
    return (1 + arms % 7 / 7) * (np.sqrt(means + 0.05) - np.sqrt(0.05))


class Noisy:
    """A reward whose answers have normal noise."""

    noisy = True

    def __init__(
        self, exact: Any, std: float, rng: np.random.Generator, *, concave: bool = True
    ) -> None:
        self.exact, self.std, self.rng = exact, std, rng
        self.concave = concave and is_concave(exact)
        for name in ("n_arms", "lipschitz", "upper", "monotone", "zero_is_absent", "additive"):
            setattr(self, name, getattr(exact, name))

    def __call__(self, arms: Any, means: Any) -> float:
        return float(self.exact(arms, means) + self.rng.normal(0, self.std))

    def batch(self, pools: sa.Pools, theta: Any) -> Any:
        first = self.exact.batch(sa.Pools.of([pools[0]], self.n_arms), theta)[0]
        # The oracle repeats one question per batch, so that one exact answer will do.
        same = len(pools.members) == 0 or (pools.members == pools.members[0]).all()
        exact = first if same else self.exact.batch(pools, theta)
        return exact + self.rng.normal(0, self.std, len(pools))


@dataclass
class Peeking(Known):
    """The habit: intervals for a fixed number of answers and one comparison, looked at always."""

    def off_pairs(self, answers: Any, place: int, alpha: float, upper: float) -> Any:
        """One-sided, at the error probability of one comparison."""
        off = norm.isf(DELTA) * math.sqrt(2 / len(answers)) * self.std
        return np.full(answers.shape[1], off)


def make(name: str, m: int, rng: np.random.Generator) -> tuple[Any, float, float]:
    """The exact reward, and the least and the largest value of its single arms."""
    if name == "roots":
        declared = dict.fromkeys(("monotone", "zero_is_absent", "concave"), True)
        exact = Sum(roots, m, 2 / (2 * math.sqrt(0.05)), **declared)
    else:
        exact = REWARDS[name](m, rng)
    alone = sa.Pools.singletons(np.arange(m), m)
    values = np.array([exact.batch(alone, rng.random(m)) for _ in range(5)])
    return exact, float(values.min()), float(values.max())


def repeats(std: float, gap: float, n_decisions: int) -> int:
    """How often two sets are evaluated to be told apart, except with delta / n_decisions."""
    return math.ceil(2 * (std * norm.isf(DELTA / n_decisions) / gap) ** 2)


def play_arms(cell: Cell) -> Cell:
    """One run of `NoisySingletons`: evaluations, what repeated `Singletons` takes, wrong sets."""
    rng, m, k, rounds = np.random.default_rng(cell["seed"]), cell["arms"], cell["k"], cell["rounds"]
    exact, low, high = make(cell["reward"], m, rng)
    std, tolerance = NOISE * (high - low), cell["tolerance"] * (high - low)
    known = {
        "known": {"noise_std": std},
        "learned": {},
        # Normal noise is beyond six standard deviations once in 500 million answers.
        "bounded": {"answers_in": (low - 7 * std, high + 7 * std)},
    }
    oracle = NoisySingletons(DELTA, tolerance=tolerance, budget=10**7, **known[cell["noise"]])
    reward = Noisy(exact, std, rng, concave=cell.get("concave", True))
    policy = sa.cts(reward, k, oracle=oracle)
    arms, alone = sa.BernoulliArms(rng.random(m)), sa.Pools.singletons(np.arange(m), m)
    found = {"known": 0, "unknown": 0, "wrong": 0, "uncertified": 0}
    for _ in range(rounds):
        picked, sample = policy.decide(rng=rng)
        values = exact.batch(alone, sample.whole())
        inside, ordered = np.isin(np.arange(m), picked), np.sort(values)[::-1]
        gap = max(ordered[k - 1] - ordered[k], tolerance)
        found["known"] += m * repeats(std, gap, rounds)
        found["unknown"] += m * repeats(std, tolerance, rounds)
        found["wrong"] += bool(values[~inside].max() - values[inside].min() > tolerance)
        found["uncertified"] += not oracle.report.certified
        policy.tell(picked, arms.pull(picked, rng=rng), rng=rng)
    return {**found, "spent": policy.evaluations, "decisions": rounds}


def play_sets(cell: Cell) -> Cell:
    """One run of `NoisyGreedy` or `NoisyLocalSearch`."""
    rng, m, k, rounds = np.random.default_rng(cell["seed"]), cell["arms"], cell["k"], cell["rounds"]
    reward, spread = noisy_rewards.make(cell["reward"], m, k, NOISE, rng)
    std, tolerance = reward.std, cell["tolerance"] * spread
    kind = NoisyGreedy if cell["oracle"] == "NoisyGreedy" else NoisyLocalSearch
    noise = {} if cell["noise"] == "learned" else {"noise_std": std}
    oracle = kind(DELTA, tolerance=tolerance, budget=10**7, per=cell["per"], **noise)
    if cell["noise"] == "peeking":
        oracle._noise = Peeking(std)
    policy = sa.cts(reward, k, oracle=oracle)
    arms, exact = sa.BernoulliArms(rng.random(m)), reward.exact
    found = {"known": 0, "unknown": 0, "wrong": 0, "wrong_rounds": 0, "uncertified": 0}
    found |= {"decisions": 0, "value": 0.0, "exact_value": 0.0}
    for _ in range(rounds):
        picked, sample = policy.decide(rng=rng)
        theta, report = sample.whole(), oracle.report
        if kind is NoisyGreedy:
            lost, gaps, sizes = noisy_rewards.losses(exact, theta, report.order)
            # Who peeks claims the tolerance only.
            claimed = tolerance if cell["noise"] == "peeking" else report.slack
            wrong, n_decisions = int((lost > claimed + 1e-12).sum()), k * rounds
            found["decisions"] += k
        else:
            gain, size = noisy_rewards.best_gain(exact, theta, picked)
            wrong, n_decisions = int(gain > report.slack + 1e-12), rounds
            # The plain oracle compares as many sets as it would without noise.
            plain = sa.LocalSearch(sa.Greedy())
            plain.select(exact, theta, k, rng=np.random.default_rng(0))
            gaps, sizes = np.full(1, abs(gain)), np.full(1, size * (plain.report.n_swaps + 1))
            found["decisions"] += 1
        for gap, size in zip(gaps, sizes, strict=True):
            found["known"] += int(size) * repeats(std, max(gap, tolerance), n_decisions)
            found["unknown"] += int(size) * repeats(std, tolerance, n_decisions)
        found["wrong"] += wrong
        found["wrong_rounds"] += wrong > 0
        found["uncertified"] += not report.certified
        greedy = sa.Greedy().select(exact, theta, k, rng=np.random.default_rng(0))
        found["value"] += exact(picked, theta[picked]) / spread
        found["exact_value"] += exact(greedy, theta[greedy]) / spread
        policy.tell(picked, arms.pull(picked, rng=rng), rng=rng)
    return {**found, "spent": policy.evaluations}


def play_thresholds(cell: Cell) -> Cell:
    """The same rounds with `NoisyGreedy` and with Confident Threshold Greedy."""
    m, k, found = cell["arms"], cell["k"], {}
    for name, kind in (("", NoisyGreedy), ("thresholds_", ConfidentThresholdGreedy)):
        rng = np.random.default_rng(cell["seed"])
        reward, spread = noisy_rewards.make(cell["reward"], m, k, NOISE, rng)
        oracle = kind(DELTA, noise_std=reward.std, tolerance=cell["tolerance"] * spread)
        counted, value = sa.Counted(reward), 0.0
        for theta in np.random.default_rng(cell["seed"]).random((cell["rounds"], m)):
            picked = oracle.select(counted, theta, k, rng=rng)
            value += reward.exact(picked, theta[picked])
        found |= {f"{name}spent": counted.evaluations, f"{name}value": value / spread}
    return found


def enough(alpha: float, width: float, *, differences: bool) -> int:
    """The fewest answers per set that tell sets apart which differ by ``width`` stds."""
    n = np.unique(np.geomspace(1, 1e7, 200_000).astype(int)).astype(float)
    off = radius(n, one_sided(alpha), math.sqrt(2)) if differences else 2 * radius(n, alpha, 1.0)
    return int(n[np.argmax(off <= width)])


def unions(cell: Cell) -> Cell:
    """Answers per set for one comparison, and with each thing that certainty needs besides."""
    m, k, t, width = cell["arms"], cell["k"], cell["rounds"], cell["width"]
    share = DELTA * 6 / (math.pi * t) ** 2
    steps = {
        "one comparison, fixed number of answers": math.ceil(2 * (norm.isf(DELTA) / width) ** 2),
        "stopping at any time": enough(DELTA, width, differences=True),
        "all rivals of a step": enough(DELTA / (m - 1), width, differences=True),
        "all steps of a round": enough(DELTA / (m - 1) / k, width, differences=True),
        "first round of a run": enough(
            DELTA * 6 / math.pi**2 / (m - 1) / k, width, differences=True
        ),
        f"round {t} of a run": enough(share / (m - 1) / k, width, differences=True),
        "bounds of single sets": enough(share / m / k, width, differences=False),
    }
    return {"steps": steps, "decisions": 0}


PLAYS: dict[str, Callable[[Cell], Cell]] = {
    "arms": play_arms,
    "few arms": play_arms,
    "arms, errors": play_arms,
    "learned": play_arms,
    "concave": play_arms,
    "sets": play_sets,
    "few sets": play_sets,
    "errors": play_sets,
    "thresholds": play_thresholds,
    "unions": unions,
}
# The size of each part, and how many runs there are per reward.
SIZES: dict[str, Cell] = {
    "arms": {"arms": 500, "k": 5, "rounds": 100, "tolerance": 0.005, "runs": 1},
    "few arms": {"arms": 30, "k": 5, "rounds": 50, "tolerance": 0.02, "runs": 6},
    "arms, errors": {"arms": 20, "k": 5, "rounds": 20, "tolerance": 0.05, "runs": 72},
    "learned": {"arms": 100, "k": 5, "rounds": 20, "tolerance": 0.02, "runs": 1},
    "concave": {"arms": 30, "k": 5, "rounds": 50, "tolerance": 0.02, "runs": 6},
    "sets": {"arms": 300, "k": 5, "rounds": 10, "tolerance": 0.005, "per": "run", "runs": 1},
    "few sets": {"arms": 40, "k": 4, "rounds": 20, "tolerance": 0.01, "per": "run", "runs": 1},
    "errors": {"arms": 8, "k": 3, "rounds": 160, "tolerance": 0.05, "per": "round", "runs": 3},
    "thresholds": {"arms": 40, "k": 4, "rounds": 3, "tolerance": 0.01, "runs": 1},
    "unions": {"arms": 40, "k": 4, "rounds": 100, "width": 0.1, "runs": 1},
}
# What adds up over the runs of one setting.
SUMS = (
    "rounds spent known unknown wrong wrong_rounds uncertified decisions value exact_value seconds"
)


def cells_of(part: str, quick: bool) -> list[Cell]:
    """The runs of a part."""
    size = {**SIZES[part], "part": part}
    n_runs = size.pop("runs")
    if part == "unions":
        settings = [{}]
    elif part == "thresholds":
        settings = [{"reward": name} for name in noisy_rewards.REWARDS]
    elif part == "concave":
        settings = [
            {"reward": name, "noise": "known", "concave": declared}
            for name in ("linear", "coverage", "roots")
            for declared in (False, True)
        ]
    elif PLAYS[part] is play_arms:
        kinds = ("known", "learned", "bounded") if part == "learned" else ("known",)
        settings = [{"reward": name, "noise": kind} for name in NAMES for kind in kinds]
    else:
        kinds = [(o, n) for o in ("NoisyGreedy", "NoisyLocalSearch") for n in ("known", "learned")]
        if part == "errors":
            kinds = [("NoisyGreedy", n) for n in ("known", "learned", "peeking")]
            kinds.append(("NoisyLocalSearch", "known"))
        settings = [
            {"reward": name, "oracle": oracle, "noise": noise}
            for name in noisy_rewards.REWARDS
            for oracle, noise in kinds
        ]
    if quick and part != "unions":
        size["rounds"], n_runs = max(1, size["rounds"] // 10), min(n_runs, 2)
    return [{**size, **setting, "seed": seed} for setting in settings for seed in range(n_runs)]


def run(cell: Cell) -> Cell:
    """What was found, and the seconds that it took."""
    start = time.perf_counter()
    found = PLAYS[cell["part"]](cell)
    return {**found, "seconds": round(time.perf_counter() - start, 1)}


def added_up(cells: list[Cell], found: dict[int, Cell]) -> list[Cell]:
    """One row per setting, in the order of the cells, whichever worker was first."""
    rows: dict[str, Cell] = {}
    for place in sorted(found):
        cell = {name: value for name, value in cells[place].items() if name != "seed"}
        new, key = {**cell, **found[place], "runs": 1}, json.dumps(cell)
        if key not in rows:
            rows[key] = new
            continue
        for name in (*SUMS.split(), "runs"):
            if name in new:
                rows[key][name] += new[name]
    return list(rows.values())


def main() -> None:
    """Run the parts, and keep what is found so far."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="; ".join(PLAYS))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds, two runs")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    parts = given.parts or list(PLAYS)
    earlier = json.loads(given.out.read_text()) if given.out and given.out.exists() else []
    earlier = [row for row in earlier if row["part"] not in parts]
    cells = [cell for part in parts for cell in cells_of(part, given.quick)]
    found: dict[int, Cell] = {}
    with ProcessPoolExecutor(given.workers) as pool:
        waiting = {pool.submit(run, cell): place for place, cell in enumerate(cells)}
        for done in as_completed(waiting):
            place = waiting[done]
            found[place] = done.result()
            print(json.dumps({**cells[place], **found[place]}), flush=True)
            if given.out:
                rows = earlier + added_up(cells, found)
                rows.sort(key=lambda row: list(PLAYS).index(row["part"]))
                lines = ",\n".join(map(json.dumps, rows))
                given.out.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
