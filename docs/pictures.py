"""The pictures of the page on oracles: ``python docs/pictures.py [NAME ...]``.

Each function draws one picture, docs/oracle-NAME.svg, with the library itself and fixed seeds.
The curve is drawn from lazy_curve.csv, which
``python benchmarks/lazy_evidence.py curve --csv docs/lazy_curve.csv`` measures.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from superarm.oracles import RandomSets, Scheduled
from superarm.oracles.scheduled import growing
from superarm.reporting.figures import logarithmic, panels, render
from superarm.reporting.palette import BLUE, GREEN, GREY, INK, ORANGE, RED, SKY

HERE = Path(__file__).parent


class Recorded(sa.Counted):
    """A reward that records which sets were evaluated, and their values."""

    def __init__(self, reward: Any) -> None:
        super().__init__(reward)
        self.rows: list[np.ndarray] = []
        self.answers: list[float] = []

    def __call__(self, arms: Any, means: Any) -> float:
        """One set."""
        value = super().__call__(arms, means)
        self.rows.append(np.isin(np.arange(self.n_arms), arms))
        self.answers.append(value)
        return value

    def batch(self, pools: sa.Pools, theta: Any) -> Any:
        """Many sets."""
        values = super().batch(pools, theta)
        self.rows.extend(pools.dense().astype(bool))
        self.answers.extend(values)
        return values


def asked(figure: Any) -> None:
    """Which sets each oracle evaluates in one round."""
    rng = np.random.default_rng(3)
    reach, theta = rng.random((8, 5)) < 0.4, rng.random(8)
    oracles = {
        "Exhaustive": sa.Exhaustive(),
        "Singletons": sa.Singletons(),
        "Greedy": sa.Greedy(),
        "LocalSearch": sa.LocalSearch(sa.Singletons()),
        "GroupTesting": sa.GroupTesting(delta=0.25, n_tests=24),
    }
    figure.set_size_inches(5.6, 4.4)
    axes = figure.subplots(1, len(oracles))
    for axis, (name, oracle) in zip(axes, oracles.items(), strict=True):
        reward = Recorded(sa.CoverageReward(reach))
        arms = oracle.select(reward, theta, 3, rng=np.random.default_rng(0))
        rows = np.array(reward.rows)
        _cells(axis, np.where(rows, np.where(np.isin(np.arange(8), arms), 2, 1), 0))
        axis.set_title(f"{name}\n{len(rows)}", fontsize=9)
        axis.set_xticks([0, 7])
        axis.set_yticks([])
        axis.spines[:].set_visible(False)
    axes[0].set_ylabel("evaluations")
    axes[2].set_xlabel("arm")


def lazy_singletons(figure: Any) -> None:
    """The bounds of one arm, and the certified cut."""
    top, bottom = panels(figure, 2, height=3.0)
    grid, x = np.linspace(0, 1, 401), np.array([0.0, 0.32, 0.8])
    for (lower, upper), colour, label in zip(
        _bounds(grid, x, _bend(x)),
        (SKY, BLUE, ORANGE),
        ("Lipschitz", "and monotone", "and concave"),
        strict=True,
    ):
        top.fill_between(grid, lower, upper, color=colour, alpha=0.45, linewidth=0, label=label)
    top.plot(grid, _bend(grid), color=INK, linestyle="--", label="unknown value")
    top.plot(x, _bend(x), "o", color=INK, label="remembered")
    top.set(xlabel="mean of the arm", ylabel="value alone")
    top.set_title("What three answers say about one arm")
    top.legend(loc="upper left")

    instance = sa.network_instance(300, 5, 0.2, rng=np.random.default_rng(1))
    policy = sa.cts(instance.reward, 5, oracle=sa.LazySingletons())
    rng = np.random.default_rng(2)
    for _ in range(40):
        arms = policy.ask(rng=rng)
        policy.tell(arms, instance.pull(arms, rng=rng), rng=rng)
    report = policy.oracle.report
    order = np.argsort(-(report.lower + report.upper))[:40]
    middle, width = (report.lower + report.upper) / 2, (report.upper - report.lower) / 2
    inside = np.isin(order, arms)
    for mask, colour, label in ((inside, RED, "picked"), (~inside, BLUE, "left out")):
        some = order[mask]
        place = np.arange(1, 41)[mask]
        style = {"fmt": "o", "markersize": 3, "elinewidth": 2.2}
        bottom.errorbar(place, middle[some], width[some], color=colour, label=label, **style)
    cut = (report.lower[arms].min() + np.delete(report.upper, arms).max()) / 2
    bottom.axhline(cut, color=INK, linewidth=1, linestyle=":")
    bottom.set(xlabel="arms, best first", ylabel="bounds on the value alone")
    bottom.set_title(f"Round 40, 5 of 300 arms, {report.evaluations} evaluations")
    bottom.legend()


def lazy_curve(figure: Any) -> None:
    """Evaluations per round against the number of arms."""
    with (HERE / "lazy_curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    (axis,) = panels(figure, 1)
    sizes = np.array(sorted({int(row["n_arms"]) for row in rows}))
    axis.plot(sizes, sizes, color=BLUE, label="Singletons: m")
    for name, colour, marker in (("network", RED, "o-"), ("linear", ORANGE, "s--")):
        mine = [row for row in rows if row["reward"] == name]
        x, y = [int(row["n_arms"]) for row in mine], [float(row["evaluations"]) for row in mine]
        axis.plot(x, y, marker, color=colour, label=f"LazySingletons, {name}")
    logarithmic(axis)
    axis.set(xlabel="arms, m", ylabel="evaluations per round")
    axis.grid(alpha=0.25)
    axis.legend()


def top_k(figure: Any) -> None:
    """A level, and the arms above it."""
    (axis,) = panels(figure, 1)
    rng = np.random.default_rng(4)
    belief = sa.BetaBelief(400)
    belief.a, belief.b = 1.0 + rng.integers(0, 9, 400), 1.0 + rng.integers(0, 25, 400)
    theta = belief.sample(rng=rng)
    level = np.sort(theta)[-16]
    above, best, arms = theta > level, np.argsort(-theta)[:5], np.arange(400)
    ring = {"markersize": 9, "fillstyle": "none", "markeredgewidth": 1.8}
    axis.plot(arms[~above], theta[~above], ".", color=GREY, alpha=0.5, label="below: never drawn")
    axis.plot(arms[above], theta[above], "o", color=SKY, markersize=5, label="above: drawn")
    axis.plot(arms[best], theta[best], "o", color=RED, label="picked", **ring)
    axis.axhline(level, color=INK, linewidth=1, linestyle=":", label="level")
    axis.set(xlabel="arm", ylabel="sampled mean")
    axis.set_ylim(0, 1.45)
    axis.set_yticks([0, 0.5, 1])
    axis.legend(loc="upper center", ncols=2)


def greedy(figure: Any) -> None:
    """What each arm would add, step by step."""
    reach = np.array(
        [
            [1, 1, 1, 1, 0, 0, 0],
            [1, 1, 1, 0, 0, 0, 0],
            [0, 0, 0, 1, 1, 1, 0],
            [0, 0, 0, 0, 0, 1, 1],
            [0, 1, 1, 1, 0, 0, 0],
            [0, 0, 0, 0, 1, 0, 1],
        ]
    )
    reward, theta = sa.CoverageReward(reach), np.array([0.9, 0.95, 0.7, 0.8, 0.9, 0.6])
    oracle = sa.Greedy()
    oracle.select(reward, theta, 3, rng=np.random.default_rng(0))
    order, earlier = oracle.report.order, np.zeros(6)
    for step, axis in enumerate(panels(figure, 3, height=1.9)):
        base = order[:step]
        left = np.setdiff1d(np.arange(6), base)
        value = reward(base, theta[base])
        gains = reward.batch(sa.Pools.extensions(base, left, 6), theta) - value
        if step:
            axis.bar(left, earlier[left], color=GREY, alpha=0.4, width=0.8, label="one step before")
            axis.legend(loc="upper left")
        colours = [RED if arm == order[step] else SKY for arm in left]
        axis.bar(left, gains, color=colours, width=0.55)
        axis.set_title(f"step {step + 1}: arm {order[step]} is added")
        axis.set_xticks(range(6))
        axis.set_ylim(0, 4)
        axis.set(xlabel="arm" if step == 2 else "", ylabel="gain")
        earlier = np.zeros(6)
        earlier[left] = gains


def local_search(figure: Any) -> None:
    """The value of the best set so far against evaluations."""
    rng = np.random.default_rng(8)
    reach, theta = rng.random((30, 12)) < 0.25, rng.random(30)
    (axis,) = panels(figure, 1)
    best = sa.Exhaustive()
    best.select(sa.CoverageReward(reach), theta, 4, rng=rng)
    axis.axhline(best.report.value, color=INK, linewidth=1, linestyle=":")
    axis.text(1, best.report.value, "best of all 27,405 sets", va="bottom")
    for name, oracle, colour, dash in (
        ("LocalSearch", sa.LocalSearch(sa.Singletons()), GREEN, "-"),
        ("Greedy", sa.Greedy(), ORANGE, "--"),
    ):
        reward = Recorded(sa.CoverageReward(reach))
        oracle.select(reward, theta, 4, rng=rng)
        sizes, answers = np.array(reward.rows).sum(axis=1), np.array(reward.answers)
        complete = np.where(sizes == 4, answers, -np.inf)
        first = int(np.argmax(sizes == 4))
        so_far = np.maximum.accumulate(complete)[first:]
        at = np.arange(first + 1, len(complete) + 1)
        axis.step(at, so_far, where="post", color=colour, linestyle=dash, label=name)
        axis.plot([at[0], at[-1]], [so_far[0], so_far[-1]], "o", color=colour, markersize=4)
    axis.set(xlabel="evaluations in the round", ylabel="best set of 4 of 30 arms")
    axis.set_xlim(0, None)
    axis.set_ylim(None, best.report.value + 0.12)
    axis.legend(loc="lower right")


def group_testing(figure: Any) -> None:
    """Tests and grades."""
    good = (4, 13)
    rng = np.random.default_rng(5)
    theta = 0.05 + 0.3 * rng.random(20)
    theta[list(good)] = 0.95, 0.9
    oracle = sa.GroupTesting(delta=0.25, n_tests=40)
    oracle.select(sa.LinearReward(20), theta, 2, rng=np.random.default_rng(1))
    report = oracle.report
    centred = sa.GroupTesting(delta=0.25, pools=report.tests, decoder="centred")
    centred.select(sa.LinearReward(20), theta, 2, rng=np.random.default_rng(1))
    figure.set_size_inches(5.6, 7.6)
    matrix, *axes = figure.subplots(3, 1, height_ratios=[2.2, 1, 1])
    members = report.tests.dense() > 0
    _cells(matrix, np.where(members, np.where(np.isin(np.arange(20), good), 2, 1), 0))
    matrix.set_title("tests")
    matrix.set(ylabel="test")
    matrix.set_xticks([0, *good, 19])
    decoded = (("sum", report.grades), ("centred", centred.report.grades))
    for axis, (name, values) in zip(axes, decoded, strict=True):
        axis.bar(np.arange(20), values, color=[RED if arm in good else SKY for arm in range(20)])
        axis.set_title(f'grades, decoder="{name}"')
        axis.set_xticks([0, *good, 19])
    axes[-1].set(xlabel="arm")


def regression(figure: Any) -> None:
    """The error of the weights, and the number of best arms found, round by round."""
    m, k, rounds, n, window = 200, 5, 300, 40, 20
    rng = np.random.default_rng(6)
    reward = sa.LinearReward(m, weights=rng.uniform(0.2, 1.0, m))
    thetas = rng.random((rounds, m))
    top, bottom = panels(figure, 2, height=2.8)
    t = np.arange(1, rounds + 1)
    for decoder, colour, dash in (
        ("sum", ORANGE, "-"),
        ("centred", RED, "--"),
        ("regression", GREEN, "-"),
    ):
        oracle, found, errors = sa.GroupTesting(delta=0.25, n_tests=n, decoder=decoder), [], []
        for theta in thetas:
            arms = oracle.select(reward, theta, k, rng=rng)
            best = np.argsort(-reward.weights * theta)[:k]
            found.append(len(np.intersect1d(arms, best)))
            if decoder == "regression":
                learned = oracle.report.grades / theta
                errors.append(np.sqrt(np.mean((learned - reward.weights) ** 2)))
        if errors:
            top.plot(t, errors, color=colour)
        smooth = np.convolve(found, np.ones(window) / window, mode="valid")
        bottom.plot(t[window - 1 :], smooth, color=colour, linestyle=dash, label=decoder)
    top.set(ylabel="error of the weights")
    top.set_ylim(0, None)
    bottom.set(xlabel="round", ylabel="best arms found, of 5")
    bottom.set_ylim(0, 5.1)
    bottom.legend(loc="center right")


def scheduled(figure: Any) -> None:
    """When the oracle is called, and what that does to regret."""
    top, bottom = panels(figure, 2, height=2.8)
    horizon, runs = 3000, 8
    t = np.arange(1, horizon + 1)
    for name, make, colour, dash in (
        ("every round", lambda: sa.Singletons(), BLUE, "-"),
        ("when=10", lambda: Scheduled(sa.Singletons(), 10), ORANGE, "--"),
        ("growing(1.1)", lambda: Scheduled(sa.Singletons(), growing(1.1)), GREEN, "-."),
        ("random sets", RandomSets, INK, ":"),
    ):
        regret, evaluations = [], []
        for seed in range(runs):
            instance = sa.linear_instance(100, 3, 0.2, rng=np.random.default_rng([seed, 0]))
            policy = sa.cts(instance.reward, 3, oracle=make())
            rng = np.random.default_rng([seed, 1])
            trace = sa.simulate(policy, instance, horizon=horizon, rng=rng)
            regret.append(trace.regret())
            evaluations.append(np.cumsum(trace.evaluations))
        if make is not RandomSets:
            top.plot(t, np.mean(evaluations, axis=0), color=colour, linestyle=dash)
        bottom.plot(t, np.mean(regret, axis=0), color=colour, linestyle=dash, label=name)
    logarithmic(top)
    top.set(ylabel="evaluations so far")
    bottom.set(xlabel="round", ylabel="regret so far")
    top.set_title("CTS, 3 of 100 arms")
    bottom.set_ylim(0, 1500)
    bottom.legend()


def _bend(x: Any) -> Any:
    return 0.8 * (1 - (1 - x) ** 2) * 0.6 + 0.02


def _bounds(grid: Any, x: Any, f: Any, lipschitz: float = 1.0) -> list[tuple[Any, Any]]:
    """Bounds from the points (x, f): Lipschitz; and monotone; and concave, by chords."""
    distance = lipschitz * np.abs(grid[:, None] - x)
    lower, upper = (f - distance).max(axis=1), (f + distance).min(axis=1)
    before, after = grid[:, None] >= x, grid[:, None] <= x
    rising = np.maximum(lower, np.where(before, f, -np.inf).max(axis=1))
    capped = np.minimum(upper, np.where(after, f, np.inf).min(axis=1))
    slopes = np.diff(f) / np.diff(x)
    # The first chord bounds from above to its right, the second to its left.
    first, second = f[0] + slopes[0] * grid, f[2] + slopes[1] * (grid - x[2])
    chords = np.where(grid <= x[1], second, np.where(grid <= x[2], first, second))
    concave = np.maximum(rising, np.interp(grid, x, f)), np.minimum(capped, chords)
    return [(lower, upper), (rising, capped), concave]


def _cells(axis: Any, shade: np.ndarray) -> None:
    """A matrix of 0, 1 (a member) and 2 (a member that matters), with gaps between the cells."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    square = np.array([[-0.46, -0.42], [0.46, -0.42], [0.46, 0.42], [-0.46, 0.42], [-0.46, -0.42]])
    for level, colour, alpha in ((0, GREY, 0.15), (1, SKY, 1.0), (2, RED, 1.0)):
        places = np.argwhere(shade == level)[:, ::-1]
        outline = Outline.make_compound_path(
            *(Outline(square + place, closed=True) for place in places)
        )
        axis.add_patch(PathPatch(outline, color=colour, alpha=alpha, linewidth=0))
    axis.set_xlim(-0.6, shade.shape[1] - 0.4)
    axis.set_ylim(shade.shape[0] - 0.4, -0.6)


PICTURES = {
    "asked": asked,
    "lazy-singletons": lazy_singletons,
    "lazy-curve": lazy_curve,
    "top-k": top_k,
    "greedy": greedy,
    "local-search": local_search,
    "group-testing": group_testing,
    "regression": regression,
    "scheduled": scheduled,
}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or PICTURES:
        (HERE / f"oracle-{wanted}.svg").write_text(render(PICTURES[wanted]))
