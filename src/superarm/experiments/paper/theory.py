"""The theory in numbers: Lemma 1's tests, whether networks are separable (Theorem 2), and Theorem 1's bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superarm import theory
from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray
from superarm.experiments.catalogue import Analysis, Rows, Scale
from superarm.experiments.cell import Cell, Recorded
from superarm.experiments.figures import label_ends, plain
from superarm.experiments.paper import fig2a
from superarm.experiments.paper._policies import compared
from superarm.experiments.stats import share_interval
from superarm.oracles import Singletons
from superarm.rewards import NetworkReward

TITLE = "The theory in numbers"


def sweep(scale: Scale) -> list[Cell]:
    """Numbers of tests for several m; networks of several steepnesses; figure 2A's GT+QTS for the bound."""
    rules = [
        {"n_arms": n_arms, "k": 5, "delta": 0.25, "failure": 1e-4}
        for n_arms in (50, 500, 5000, 50_000, 500_000)
    ]
    networks = [
        {
            "n_arms": scale.pick(1000, 200),
            "k": 5,
            "n_hidden": 20,
            "std": std,
            "n_thetas": scale.pick(10, 4),
        }
        for std in (1.0, 0.3, 0.1, 0.03, 0.01)
    ]
    played = {"problem": fig2a.problem(scale), "horizon": scale.pick(10_000, 1500)}
    specs = compared(delta=0.25)
    bound = [{**played, "label": "GT+QTS, p=1/2", "policy": specs["GT+QTS, p=1/2"]}]
    return [
        *(Cell("rules", settings, scale.seed, 0) for settings in rules),
        *scale.cells("swap_search", networks, runs=20, quick_runs=4),
        *scale.cells("play", bound, runs=20),
    ]


def rules(cell: Cell) -> Recorded:
    """The number of tests by Lemma 1, with M = K and with M = m, and by the order-wise rule."""
    s = cell.settings
    common = {name: s[name] for name in ("n_arms", "k", "delta", "failure")}
    lemma: dict[str, Any] = {"lipschitz": 1.0, "p": 2 / 3}
    row = {
        "order": theory.n_tests_order(**common),
        "lemma_m_is_k": theory.n_tests(**common, **lemma, upper=s["k"]),
        "lemma_m_is_n_arms": theory.n_tests(**common, **lemma, upper=s["n_arms"]),
    }
    return Recorded(row, {})


def swap_search(cell: Cell) -> Recorded:
    """For random networks and theta: can a swap of one arm improve on Oracle+'s set? Under separability it can't."""
    s = cell.settings
    rng = np.random.default_rng(cell.seeds())
    losses = []
    for _ in range(s["n_thetas"]):
        # |N(0, 1)| draws first, so that the same network comes at every steepness.
        reward = NetworkReward.random(s["n_arms"], n_hidden=s["n_hidden"], std=s["std"], rng=rng)
        theta = rng.random(s["n_arms"])
        arms = Singletons().select(reward, theta, s["k"], rng=rng)
        losses.append(climb(reward, theta, arms) - reward(arms, theta[arms]))
    return Recorded({"losses": losses}, {})


def climb(reward: Reward, theta: FloatArray, arms: IndexArray) -> float:
    """The value that the best swaps of one arm lead to, one after the other, until none improves."""
    value = reward(arms, theta[arms])
    while True:
        others = np.setdiff1d(np.arange(reward.n_arms), arms)
        best, best_arms = value, arms
        for out in range(len(arms)):
            stay = np.delete(arms, out)
            values = reward.batch(Pools.extensions(stay, others, reward.n_arms), theta)
            if values.max() > best + 1e-9:
                best, best_arms = (
                    float(values.max()),
                    np.sort(np.append(stay, others[values.argmax()])),
                )
        if best <= value:
            return value
        value, arms = best, best_arms


RUNNERS = {"rules": rules, "swap_search": swap_search}


def analyse(rows: Rows, times: Rows) -> Analysis:
    """How the numbers of tests grow with m, how often networks violate separability, and the bound next to regret."""
    counted = [row for row in rows if row["kind"] == "rules"]
    sizes = np.array([row["n_arms"] for row in counted], float)
    growth = {
        name: float(np.polyfit(np.log(sizes), np.log([row[name] for row in counted]), 1)[0])
        for name in ("order", "lemma_m_is_k", "lemma_m_is_n_arms")
    }
    at_paper = min(counted, key=lambda row: abs(row["n_arms"] - 5000))
    searched = [row for row in rows if row["kind"] == "swap_search"]
    networks: dict[str, Any] = {}
    for std in sorted({row["std"] for row in searched}, reverse=True):
        losses = np.concatenate([row["losses"] for row in searched if row["std"] == std])
        improved = int((losses > 1e-9).sum())
        networks[str(std)] = {
            "improved": improved,
            "thetas": len(losses),
            "share": vars(share_interval(improved, len(losses))),
            "mean_loss": float(losses.mean()),
        }
    numbers: dict[str, Any] = {
        "sizes": sizes.tolist(),
        "rules": {name: [row[name] for row in counted] for name in growth},
        "growth": growth,
        "at_paper": {name: at_paper[name] for name in ("n_arms", *growth)},
        "networks": networks,
        "bound": _bound(rows),
    }
    first = [["m", "order-wise rule", "Lemma 1, M = K", "Lemma 1, M = m", "Lemma 1 (M = K) / m"]]
    first += [
        [
            f"{row['n_arms']:,}",
            f"{row['order']:,}",
            f"{row['lemma_m_is_k']:,}",
            f"{row['lemma_m_is_n_arms']:.3g}",
            f"{row['lemma_m_is_k'] / row['n_arms']:,.0f}",
        ]
        for row in counted
    ]
    second = [
        [
            "weights scaled by",
            "Oracle+'s set improved by swaps",
            "share (95% interval)",
            "mean loss of Oracle+",
        ]
    ]
    second += [
        [
            std,
            f"{found['improved']} of {found['thetas']}",
            f"{found['share']['mean']:.0%} ({found['share']['low']:.0%} to {found['share']['high']:.0%})",
            f"{found['mean_loss']:.4f}",
        ]
        for std, found in networks.items()
    ]
    bound = numbers["bound"]
    third = [["", "log10"], *([label, f"{value:,.1f}"] for label, value in bound.items())]
    tables = [
        ("Tests a round, B = 1, Delta = 0.25, K = 5, p = 2/3, q = 1, failure 1/10,000", first),
        ("Theorem 2 by search: two-layer networks, theta uniform", second),
        ("Theorem 1's bound (alpha = 1) next to the measured regret of GT+QTS, p = 1/2", third),
    ]
    return Analysis(numbers, tables, lambda figure: _draw(figure, numbers))


def _bound(rows: Rows) -> dict[str, float]:
    played = [row for row in rows if row["kind"] == "play"]
    logs = [
        theory.regret_bound(
            n_arms=row["problem"]["n_arms"],
            k=row["problem"]["k"],
            horizon=row["horizon"],
            gap_min=row["gap"],
            gap_max=row["gap_max"],
            lipschitz=1.0,
            log=True,
        )
        / math.log(10)
        for row in played
    ]
    worst = [row["horizon"] * row["gap_max"] for row in played]
    return {
        "Theorem 1": float(np.mean(logs)),
        "losing the most in every round": math.log10(float(np.mean(worst))),
        "measured": math.log10(float(np.mean([row["regret"][-1] for row in played]))),
    }


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    left, right = figure.subplots(1, 2)
    sizes = np.array(numbers["sizes"])
    named = {
        "Lemma 1, M = m": ("lemma_m_is_n_arms", "#D55E00"),
        "Lemma 1, M = K": ("lemma_m_is_k", "#E69F00"),
        "order-wise rule": ("order", "#009E73"),
    }
    ends = {}
    for label, (name, colour) in named.items():
        left.plot(sizes, numbers["rules"][name], color=colour, marker="o")
        ends[label] = (numbers["rules"][name][-1], colour)
    left.plot(sizes, sizes, color="#0072B2")
    ends["Oracle+: m"] = (sizes[-1], "#0072B2")
    left.set_xscale("log")
    left.set_yscale("log")
    plain(left, "arms m", "evaluations a round")
    left.set_title("how many tests", loc="left")
    label_ends(left, ends, log=True)
    stds = [float(std) for std in numbers["networks"]]
    shares = [found["share"] for found in numbers["networks"].values()]
    means = np.array([share["mean"] for share in shares])
    reach = [
        means - [share["low"] for share in shares],
        np.array([share["high"] for share in shares]) - means,
    ]
    right.errorbar(stds, means, np.abs(reach), color="#0072B2", marker="o", capsize=3)
    right.set_xscale("log")
    right.set_ylim(-0.03, 1.03)
    plain(right, "scale of the hidden weights", "share of theta where a swap beats Oracle+")
    right.set_title("how often Oracle+ misses the best set of a network", loc="left")
