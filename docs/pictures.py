"""The pictures of the page on oracles, made with the library itself: ``python docs/pictures.py [NAME ...]``.

Each function draws one picture, docs/oracle-NAME.png; they share nothing, so the file may be long. The curve is
drawn from lazy_curve.csv, which ``python benchmarks/lazy_evidence.py curve --csv docs/lazy_curve.csv`` measures.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from superarm.experiments.figures import plain, render
from superarm.oracles.scheduled import growing
from superarm.oracles._lazy.remembered import Remembered

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, RED, SKY, PINK, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#56B4E9",
    "#CC79A7",
    "#999999",
)


class Recorded(sa.Counted):
    """A reward that remembers which sets it was asked about, and what it answered."""

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
    """Which sets each oracle asks about in one round."""
    rng = np.random.default_rng(3)
    reach, theta = rng.random((8, 5)) < 0.4, rng.random(8)
    oracles = {
        "Exhaustive": sa.Exhaustive(),
        "Singletons": sa.Singletons(),
        "Greedy": sa.Greedy(),
        "LocalSearch": sa.LocalSearch(sa.Singletons()),
        "GroupTesting, p=1/2": sa.GroupTesting(delta=0.25, n_tests=24),
    }
    axes = figure.subplots(1, len(oracles))
    for axis, (name, oracle) in zip(axes, oracles.items(), strict=True):
        reward = Recorded(sa.CoverageReward(reach))
        arms = oracle.select(reward, theta, 3, rng=np.random.default_rng(0))
        rows = np.array(reward.rows)
        shade = np.where(rows, np.where(np.isin(np.arange(8), arms), 2, 1), 0)
        _cells(axis, shade)
        axis.set_title(f"{name}\n{len(rows)} evaluations", fontsize=10)
        axis.set_xticks(range(8))
        axis.set_xlabel("arm")
        axis.set_yticks([0, len(rows) - 1], ["1", str(len(rows))])
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    axes[0].set_ylabel("evaluation")


def lazy_singletons(figure: Any) -> None:
    """The bounds of one arm, and the certified cut."""
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
    lipschitz, grid = 1.0, np.linspace(0, 1, 401)
    memory = Remembered(1, 8)
    for x in (0.0, 0.32, 0.8):
        memory.add(0, x, _bend(x))
    for declared, colour, label in (
        ({"monotone": False, "concave": False}, SKY, "Lipschitz"),
        ({"monotone": True, "concave": False}, BLUE, "and monotone"),
        ({"monotone": True, "concave": True}, ORANGE, "and concave"),
    ):
        lower, upper = memory.bounds(
            grid, np.full(len(grid), lipschitz), arms=np.zeros(len(grid), int), **declared
        )
        alpha = 0.25 if colour == SKY else 0.35 if colour == BLUE else 0.9
        left.fill_between(grid, lower, upper, color=colour, alpha=alpha, linewidth=0, label=label)
    left.plot(grid, _bend(grid), color="black", linewidth=1.2, linestyle="--", label="f, unknown")
    left.plot(memory.x[:3, 0], memory.f[:3, 0], "o", color="black", label="remembered")
    plain(left, "mean of the arm", "value alone")
    left.set_title("What three answers say of one arm", fontsize=11)
    left.legend(frameon=False, fontsize=9, loc="upper left")

    instance = sa.network_instance(300, 5, 0.2, rng=np.random.default_rng(1))
    policy = sa.cts(instance.reward, 5, oracle=sa.LazySingletons())
    rng = np.random.default_rng(2)
    for _ in range(40):
        arms = policy.ask(rng=rng)
        policy.tell(arms, instance.pull(arms, rng=rng), rng=rng)
    report = policy.oracle.report
    order = np.argsort(-(report.lower + report.upper))[:40]
    place, middle = np.arange(1, 41), (report.lower + report.upper)[order] / 2
    inside = np.isin(order, arms)
    for mask, colour, label in ((inside, RED, "picked"), (~inside, BLUE, "left out")):
        width = (report.upper - report.lower)[order][mask] / 2
        right.errorbar(
            place[mask],
            middle[mask],
            width,
            fmt="o",
            markersize=3,
            color=colour,
            elinewidth=2.2,
            label=label,
        )
    cut = (report.lower[arms].min() + np.delete(report.upper, arms).max()) / 2
    right.axhline(cut, color="black", linewidth=1, linestyle=":")
    right.text(40.5, cut, " the cut", va="bottom", ha="right", fontsize=9)
    plain(right, "arms, the best first", "bounds on the value alone")
    right.set_title(
        f"Round 40, 5 of 300 arms: certified with {report.evaluations} evaluations", fontsize=11
    )
    right.legend(frameon=False, fontsize=9)


def lazy_curve(figure: Any) -> None:
    """Evaluations a round against the number of arms."""
    with (HERE / "lazy_curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    axis = figure.subplots()
    sizes = np.array(sorted({int(row["n_arms"]) for row in rows}))
    axis.loglog(sizes, sizes, color=BLUE, label="Singletons: m")
    styles = {"network": (RED, "o", "-"), "linear": (ORANGE, "s", "--")}
    for name, (colour, marker, dash) in styles.items():
        mine = [row for row in rows if row["reward"] == name]
        x, y = [int(row["n_arms"]) for row in mine], [float(row["evaluations"]) for row in mine]
        axis.loglog(
            x, y, color=colour, marker=marker, linestyle=dash, label=f"LazySingletons, {name}"
        )
    plain(axis, "arms, m", "evaluations a round")
    axis.grid(alpha=0.25)
    axis.set_title(
        f"5 of m arms, means over the first {int(rows[0]['rounds']):,} rounds", fontsize=11
    )
    axis.legend(frameon=False, fontsize=9)


def top_k(figure: Any) -> None:
    """A level, and the points above it."""
    axis = figure.subplots()
    rng = np.random.default_rng(4)
    belief = sa.BetaBelief(400)
    belief.a, belief.b = 1.0 + rng.integers(0, 9, 400), 1.0 + rng.integers(0, 25, 400)
    theta = belief.sample(rng=rng)
    level = np.sort(theta)[-16]
    above = theta > level
    best = np.argsort(-theta)[:5]
    arms = np.arange(400)
    axis.plot(arms[~above], theta[~above], ".", color="#cccccc", label="below: never drawn")
    axis.plot(
        arms[above], theta[above], "o", color=SKY, markersize=5, label="above: found and drawn"
    )
    axis.plot(
        arms[best],
        theta[best],
        "o",
        color=RED,
        markersize=9,
        fillstyle="none",
        markeredgewidth=1.8,
        label="picked",
    )
    axis.axhline(level, color="black", linewidth=1, linestyle=":", label="the level")
    plain(axis, "arm", "a sample of its mean")
    axis.set_xlim(-5, 400)
    axis.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def greedy(figure: Any) -> None:
    """What each arm would add, step by step."""
    reach = np.array(
        [[1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1, 1]]
    )
    reach = np.vstack([reach, [[0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 0, 1]]])
    reward, theta = sa.CoverageReward(reach), np.array([0.9, 0.95, 0.7, 0.8, 0.9, 0.6])
    oracle = sa.Greedy()
    oracle.select(reward, theta, 3, rng=np.random.default_rng(0))
    order = oracle.report.order
    axes = figure.subplots(1, 3, sharey=True)
    bound = np.zeros(6)
    for step, axis in enumerate(axes):
        base = order[:step]
        worth = reward(base, theta[base])
        left = np.setdiff1d(np.arange(6), base)
        gains = reward.batch(sa.Pools.extensions(base, left, 6), theta) - worth
        if step:
            axis.bar(
                left,
                bound[left],
                color="#dddddd",
                width=0.8,
                label="what it would have added one step before",
            )
        colours = [RED if arm == order[step] else SKY for arm in left]
        axis.bar(left, gains, color=colours, width=0.55)
        axis.set_title(f"step {step + 1}: arm {order[step]} is added", fontsize=11)
        axis.set_xticks(range(6))
        axis.set_xlim(-0.6, 5.6)
        plain(axis, "arm", "what the arm would add" if step == 0 else "")
        if step == 1:
            axis.legend(frameon=False, fontsize=9)
        bound = np.zeros(6)
        bound[left] = gains


def local_search(figure: Any) -> None:
    """The value of the best set so far against evaluations."""
    rng = np.random.default_rng(8)
    reach, theta = rng.random((30, 12)) < 0.25, rng.random(30)
    axis = figure.subplots()
    best = sa.Exhaustive()
    best.select(sa.CoverageReward(reach), theta, 4, rng=rng)
    axis.axhline(best.report.value, color="black", linewidth=1, linestyle=":")
    axis.text(1, best.report.value, "the best of all 27,405 sets", va="bottom", fontsize=9)
    for name, oracle, colour, dash in (
        ("LocalSearch from the best alone", sa.LocalSearch(sa.Singletons()), GREEN, "-"),
        ("Greedy", sa.Greedy(), ORANGE, "--"),
    ):
        reward = Recorded(sa.CoverageReward(reach))
        oracle.select(reward, theta, 4, rng=rng)
        sizes, answers = np.array(reward.rows).sum(axis=1), np.array(reward.answers)
        whole = np.where(sizes == 4, answers, -np.inf)
        first = int(np.argmax(sizes == 4))
        so_far = np.maximum.accumulate(whole)[first:]
        at = np.arange(first + 1, len(whole) + 1)
        axis.step(at, so_far, where="post", color=colour, linestyle=dash, label=name)
        axis.plot([at[0], at[-1]], [so_far[0], so_far[-1]], "o", color=colour, markersize=4)
    plain(axis, "evaluations in the round", "best set of 4 of 30 arms so far")
    axis.set_xlim(0, None)
    axis.set_ylim(None, best.report.value + 0.08)
    axis.legend(frameon=False, fontsize=9, loc="lower right")


def group_testing(figure: Any) -> None:
    """Tests, scores and grades."""
    rng = np.random.default_rng(5)
    theta = 0.05 + 0.3 * rng.random(20)
    theta[[4, 13]] = 0.95, 0.9
    oracle = sa.GroupTesting(delta=0.25, n_tests=40)
    oracle.select(sa.LinearReward(20), theta, 2, rng=np.random.default_rng(1))
    report = oracle.report
    centred = sa.GroupTesting(delta=0.25, pools=report.tests, decoder="centred")
    centred.select(sa.LinearReward(20), theta, 2, rng=np.random.default_rng(1))
    matrix, scores, grades, other = figure.subplots(1, 4, width_ratios=[1.6, 0.8, 1.2, 1.2])
    shade = np.where(report.tests.dense() > 0, np.where(np.isin(np.arange(20), [4, 13]), 2, 1), 0)
    _cells(matrix, shade)
    matrix.set_title("tests A", fontsize=11)
    plain(matrix, "arm", "test")
    matrix.set_xticks([0, 4, 13, 19])
    scores.barh(np.arange(40), report.scores, color=GREY, height=0.7)
    scores.set_ylim(39.5, -0.5)
    scores.set_title("scores", fontsize=11)
    plain(scores, "quantized value", "")
    scores.set_yticks([])
    for axis, values, name in (
        (grades, report.grades, "sum"),
        (other, centred.report.grades, "centred"),
    ):
        colours = [RED if arm in (4, 13) else SKY for arm in range(20)]
        axis.bar(np.arange(20), values, color=colours)
        axis.set_title(f'grades, decoder="{name}"', fontsize=11)
        plain(axis, "arm", "")
        axis.set_xticks([0, 4, 13, 19])


def regression(figure: Any) -> None:
    """The error of the weights, and the arms that are right, round by round."""
    m, k, rounds, n = 200, 5, 300, 40
    rng = np.random.default_rng(6)
    reward = sa.LinearReward(m, weights=rng.uniform(0.2, 1.0, m))
    thetas = rng.random((rounds, m))
    left, right = figure.subplots(1, 2)
    t = np.arange(1, rounds + 1)
    for decoder, colour, dash in (
        ("sum", ORANGE, "-"),
        ("centred", RED, "--"),
        ("regression", GREEN, "-"),
    ):
        oracle, found, error = sa.GroupTesting(delta=0.25, n_tests=n, decoder=decoder), [], []
        for theta in thetas:
            arms = oracle.select(reward, theta, k, rng=rng)
            best = np.argsort(-reward.weights * theta)[:k]
            found.append(len(np.intersect1d(arms, best)))
            if decoder == "regression":
                learnt = oracle.report.grades / theta
                scaled = learnt * (learnt @ reward.weights) / (learnt @ learnt)
                error.append(
                    [np.sqrt(np.mean((each - reward.weights) ** 2)) for each in (learnt, scaled)]
                )
        if error:
            whole, shape = np.array(error).T
            left.semilogy(t, whole, color=colour, label="as they are")
            left.semilogy(t, shape, color=GREY, linestyle="--", label="up to a common factor")
            left.legend(frameon=False, fontsize=9)
        smooth = np.convolve(found, np.ones(20) / 20, mode="valid")
        right.plot(t[19:], smooth, color=colour, linestyle=dash, label=f'"{decoder}"')
    plain(left, "round", "error of the weights, root mean square")
    left.set_title(f"{n} tests a round, {m} arms", fontsize=11)
    plain(right, "round", "best arms found, of 5 (mean of 20 rounds)")
    right.set_ylim(0, 5.1)
    right.set_title("as many tests, three decoders", fontsize=11)
    right.legend(frameon=False, fontsize=9, loc="center right")


def rarely(figure: Any) -> None:
    """When the oracle is asked, and what that does to regret."""
    top, bottom = figure.subplots(1, 2)
    horizon, runs = 3000, 8
    for name, make, colour, dash in (
        ("every round", lambda: sa.Singletons(), BLUE, "-"),
        ("when=10", lambda: sa.Rarely(sa.Singletons(), 10), ORANGE, "--"),
        ("growing(1.1)", lambda: sa.Rarely(sa.Singletons(), growing(1.1)), GREEN, "-."),
        ("RandomSets", sa.RandomSets, "black", ":"),
    ):
        regret, evaluations = [], []
        for seed in range(runs):
            instance = sa.linear_instance(100, 3, 0.2, rng=np.random.default_rng([seed, 0]))
            policy = sa.cts(instance.reward, 3, oracle=make())
            trace = sa.simulate(
                policy, instance, horizon=horizon, rng=np.random.default_rng([seed, 1])
            )
            regret.append(trace.regret())
            evaluations.append(np.cumsum(trace.evaluations))
        t = np.arange(1, horizon + 1)
        if name != "RandomSets":
            top.loglog(t, np.mean(evaluations, axis=0), color=colour, linestyle=dash, label=name)
        bottom.plot(t, np.mean(regret, axis=0), color=colour, linestyle=dash, label=name)
    plain(top, "round", "evaluations so far")
    plain(bottom, "round", "regret so far")
    bottom.set_ylim(0, 1500)
    bottom.legend(frameon=False, fontsize=9)
    top.set_title("CTS, 3 of 100 arms, linear", fontsize=11)
    bottom.set_title(f"means of {runs} runs", fontsize=11)


def _bend(x: Any) -> Any:
    return 0.8 * (1 - (1 - x) ** 2) * 0.6 + 0.02


def _cells(axis: Any, shade: np.ndarray) -> None:
    """A matrix of 0, 1 (a member) and 2 (a member that matters), with gaps between the cells."""
    from matplotlib.colors import ListedColormap

    rows, columns = (np.arange(n + 1) - 0.5 for n in shade.shape)
    colours = ListedColormap(["#f0f0f0", SKY, RED])
    axis.pcolormesh(
        columns, rows, shade, cmap=colours, vmin=0, vmax=2, edgecolors="white", linewidth=0.7
    )
    axis.invert_yaxis()


def _smaller(png: bytes) -> bytes:
    """The same picture with 128 colours, which are plenty."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(
        buffer, "png", optimize=True
    )
    return buffer.getvalue()


PICTURES = {
    "asked": (asked, (10.5, 3.9)),
    "lazy-singletons": (lazy_singletons, (10.5, 3.9)),
    "lazy-curve": (lazy_curve, (6.5, 3.9)),
    "top-k": (top_k, (8.5, 3.3)),
    "greedy": (greedy, (10.5, 3.2)),
    "local-search": (local_search, (7.0, 3.4)),
    "group-testing": (group_testing, (10.5, 3.9)),
    "regression": (regression, (10.5, 3.5)),
    "rarely": (rarely, (10.5, 3.5)),
}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or PICTURES:
        draw, size = PICTURES[wanted]
        (HERE / f"oracle-{wanted}.png").write_bytes(_smaller(render(draw, size=size)))
