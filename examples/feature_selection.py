"""Which 8 of 64 sensors to switch on: feature selection by the cross-validated accuracy of a scikit-learn model.

    python examples/feature_selection.py [--quick] [--out FOLDER]

The sensors are the 64 pixels of scikit-learn's handwritten digits, and a set is worth the accuracy of a classifier that
sees no others: one evaluation is a leave-one-out cross-validation. First all sensors work, and every oracle looks for
one good set. Then sensor i gives a reading with chance mu_i only, which must be learnt while they are in use: an arm's
outcome is whether the sensor worked in that round. The digits are real, the failures are made up.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import superarm as sa
from common import interval, options, save, show
from superarm.experiments.figures import label_ends, plain, style
from superarm.oracles.rarely import growing

N_PIXELS = 64

# Each looks for one good set; those that are asked again and again spend what Greedy spends.
SEARCHES: dict[str, tuple[Callable[[], sa.Oracle], bool]] = {
    "random": (sa.RandomSets, True),  # random search
    "CTS": (sa.Singletons, False),
    "CTS, greedy": (sa.Greedy, False),
    "CTS, lazy greedy": (sa.LazyGreedy, False),
    "CTS, local search": (partial(sa.LocalSearch, sa.Singletons()), False),
    "GT+QTS, regression": (partial(sa.GroupTesting, delta=0.01, n_tests=32, decoder="regression"), True),
}
POLICIES: dict[str, Callable[[], sa.Oracle]] = {
    "random": sa.RandomSets,
    "CTS": sa.Singletons,
    "CTS, greedy, rarely": lambda: sa.Rarely(sa.Greedy(), growing(3.0)),
    "GT+QTS, regression": partial(sa.GroupTesting, delta=0.01, n_tests=32, decoder="regression"),
}


@cache
def shuffled() -> tuple[np.ndarray, np.ndarray]:
    """All images and their digits. Shuffled, since they are sorted by who wrote them."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return images[order], labels[order]


@cache
def digits(n_images: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images, their digits, and a number in [0, 1) for each pixel of each image: the same for all sets."""
    images, labels = shuffled()
    return images[:n_images], labels[:n_images], np.random.default_rng(0).random((n_images, N_PIXELS))


@dataclass(frozen=True)
class Accuracy:
    """r(S; theta): the accuracy with the pixels of S, where a reading of pixel i is missing with chance 1 - theta_i.

    Leave-one-out cross-validation of k nearest neighbours: asked for None, scikit-learn predicts each image from the
    others. A missing reading is replaced by the pixel's mean; which ones are missing follows from numbers that are
    drawn once, so that the same question has the same answer.
    """

    n_images: int

    def __call__(self, arms: np.ndarray, means: np.ndarray) -> float:
        images, labels, luck = digits(self.n_images)
        if not len(arms):
            return float(np.bincount(labels).max() / len(labels))
        seen = np.where(luck[:, arms] < means, images[:, arms], images[:, arms].mean(axis=0))
        return float(neighbours().fit(seen, labels).score(None, labels))


def neighbours() -> KNeighborsClassifier:
    return KNeighborsClassifier(algorithm="kd_tree")


def on_others(n_images: int, arms: np.ndarray) -> float:
    """The accuracy on all images that no search has seen."""
    images, labels = shuffled()
    model = neighbours().fit(images[:n_images, arms], labels[:n_images])
    return float(model.score(images[n_images:, arms], labels[n_images:]))


def accuracy(n_images: int, executor: Executor | None = None) -> sa.BlackBox:
    """The accuracy as a reward. B is a guess: accuracy moves in jumps, so no B is true."""
    fn = Accuracy(n_images)
    return sa.BlackBox(fn, n_arms=N_PIXELS, lipschitz=1.0, upper=1.0, zero_is_absent=False, executor=executor)


class Recorded(sa.Counted):
    """A reward that notes the best set of k so far, after how many evaluations and seconds."""

    def __init__(self, reward: sa.Reward, k: int) -> None:
        super().__init__(reward)
        self.k, self.start = k, time.perf_counter()
        self.best, self.best_arms = -np.inf, np.zeros(0, np.intp)
        self.curve: list[tuple[int, float, float]] = []  # evaluations, seconds, the best accuracy

    def __call__(self, arms: Any, means: Any) -> float:
        """One set."""
        value = super().__call__(arms, means)
        self._note([arms], [value])
        return value

    def batch(self, pools: sa.Pools, theta: Any) -> np.ndarray:
        """Many sets: what they cost is paid for all of them before the first is known."""
        values = super().batch(pools, theta)
        self._note(pools, values)
        return values

    def _note(self, sets: Any, values: Any) -> None:
        for arms, value in zip(sets, values, strict=True):
            if len(arms) == self.k and value > self.best:
                self.best, self.best_arms = float(value), np.array(arms)
        if np.isfinite(self.best):
            self.curve.append((self.evaluations, time.perf_counter() - self.start, self.best))


def search(name: str, k: int, limit: int, reward: sa.Reward) -> Recorded:
    """Look for one good set, all sensors working; what was found is evaluated, too."""
    make, again = SEARCHES[name]
    oracle, recorded, rng = make(), Recorded(reward, k), np.random.default_rng(1)
    while True:
        arms = oracle.select(recorded, np.ones(N_PIXELS), k, rng=rng)
        recorded(arms, np.ones(k))
        if not again or recorded.evaluations >= limit:
            return recorded


def reached(recorded: Recorded, target: float) -> tuple[int, float] | None:
    """After how many evaluations and seconds a set of this accuracy was known; None if never."""
    return next(((n, seconds) for n, seconds, best in recorded.curve if best >= target), None)


def failing(n_images: int, k: int, horizon: int, n_runs: int, executor: Executor) -> dict[str, dict[str, Any]]:
    """Sensors that fail: half of them nearly always work, half of them rarely, and nobody knows which."""
    reward = accuracy(n_images, executor)
    found: dict[str, dict[str, Any]] = {}
    for name, oracle in POLICIES.items():

        def make(rng: np.random.Generator, oracle: Callable[[], sa.Oracle] = oracle) -> tuple[sa.Policy, Any]:
            mu = np.where(rng.random(N_PIXELS) < 0.5, 0.95, 0.25)
            return sa.cts(reward, k, oracle=oracle()), sa.BernoulliArms(mu)

        traces = sa.replicate(make, n_runs=n_runs, horizon=horizon, seed=2)
        values = np.array([trace.values for trace in traces])
        spent = np.mean([trace.evaluations.sum() for trace in traces])
        found[name] = {"values": values, "evaluations": spent, "ask_s": np.mean([t.ask_s.sum() for t in traces])}
    return found


def main(*, quick: bool = False, out: Path = Path()) -> dict[str, Any]:
    """Evaluations and seconds of each search, and the accuracy with failing sensors; tables and a picture."""
    n_images, k, horizon, n_runs = (60, 2, 2, 1) if quick else (300, 8, 20, 5)
    limit = k * N_PIXELS - k * (k - 1) // 2  # what Greedy spends
    inspected = sa.inspect(accuracy(n_images), k=k, probes=4 if quick else 12)
    print(inspected, "\n")
    recorded, pooled = {}, {}
    with ProcessPoolExecutor(2) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LazyGreedy says that it gives up: seen in the table
        accuracy(n_images, pool).batch(sa.Pools.singletons(np.arange(8), N_PIXELS), np.ones(N_PIXELS))  # warm
        for name in SEARCHES:
            recorded[name] = search(name, k, limit, accuracy(n_images))
            pooled[name] = search(name, k, limit, accuracy(n_images, pool))
        target = recorded["CTS, greedy"].curve[-1][2] - 0.02
        rows, found = [], {}
        for name, record in recorded.items():
            n, seconds, best = record.curve[-1]
            there, there_pooled = reached(record, target), reached(pooled[name], target)
            found[name] = {"evaluations": n, "seconds": seconds, "best": best, "there": there}
            found[name] |= {"same": pooled[name].curve[-1][2] == best, "pool_seconds": pooled[name].curve[-1][1]}
            cells = ["never", "", "", ""]
            if there and there_pooled:
                cells = [f"{there[0]:,}", f"{there[1]:.2f}", f"{there_pooled[1]:.2f}"]
                cells += [f"{there[1] / there_pooled[1]:.2f}"]
            others = f"{100 * on_others(n_images, record.best_arms):.1f}%"
            rows.append([oracle_name(name), f"{100 * best:.1f}%", others, f"{n:,}", f"{seconds:.2f}", *cells])
        head = ["oracle", "best accuracy", "on other images", "evaluations", "seconds"]
        head += ["evaluations to there", "seconds", "2 processes", "ratio"]
        show(f"{k} of 64 pixels, all working; there: {100 * target:.1f}%, 2 points below Greedy", head, rows)
        failed = failing(n_images, k, horizon, n_runs, pool)
    quarter = max(1, horizon // 4)
    rows = []
    for name, one in failed.items():
        values = 100 * one["values"]
        first, last = (interval(part.mean(axis=1)) for part in (values[:, :quarter], values[:, -quarter:]))
        rows.append([name, first, last, f"{one['evaluations']:,.0f}", f"{one['ask_s']:.1f}"])
    head = ["policy", f"accuracy in %, rounds 1 to {quarter}", f"the last {quarter}", "evaluations", "seconds"]
    show(f"{k} of 64 pixels that fail, {horizon} rounds, {n_runs} runs", head, rows)
    drawn = partial(picture, recorded, failed, n_images)
    path = save(drawn, out / "case-features.png", size=(14.5, 4.6))
    return {"searches": found, "failing": failed, "inspected": inspected, "picture": path}


def oracle_name(name: str) -> str:
    """The class behind a label."""
    return type(SEARCHES[name][0]()).__name__


def picture(recorded: dict[str, Recorded], failed: Any, n_images: int, figure: Any) -> None:
    """The best set so far, which pixels two oracles chose, and accuracy while sensors fail."""
    left, one, other, right = figure.subplots(1, 4, width_ratios=[2.2, 1, 1, 2.2])
    ends = {}
    for name, record in recorded.items():
        colour, dash = style(name)
        n, _, best = map(np.array, zip(*record.curve, strict=True))
        left.step(n, 100 * best, where="post", color=colour, linestyle=dash, linewidth=1.7)
        left.plot([n[0], n[-1]], 100 * best[[0, -1]], "o", color=colour, markersize=4)
        ends[oracle_name(name)] = 100 * best[-1], colour
    left.set_xscale("log")
    plain(left, "evaluations: cross-validations", "accuracy of the best set so far, %")
    label_ends(left, ends)
    for axis, name in ((one, "CTS"), (other, "CTS, greedy")):
        axis.imshow(digits(n_images)[0].mean(axis=0).reshape(8, 8), cmap="Greys")
        rows, columns = np.divmod(recorded[name].best_arms, 8)
        axis.plot(columns, rows, "s", color="#D55E00", markersize=9, fillstyle="none", markeredgewidth=2)
        axis.set_title(f"{oracle_name(name)}\n{100 * recorded[name].curve[-1][2]:.1f}%", fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    ends = {}
    for name, run in failed.items():
        colour, dash = style(name)
        window = min(8, run["values"].shape[1])
        recent = np.convolve(100 * run["values"].mean(axis=0), np.full(window, 1 / window), "valid")
        right.plot(np.arange(window, window + len(recent)), recent, color=colour, linestyle=dash, linewidth=1.7)
        ends[name] = recent[-1], colour
    plain(right, "round, sensors failing", f"accuracy, mean of {window} rounds, %")
    label_ends(right, ends)


if __name__ == "__main__":
    main(**options(__doc__))
