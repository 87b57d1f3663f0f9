"""What would the other policy have got? Clicks in a fashion shop, evaluated from each other's logs.

    python examples/open_bandit.py [--quick] [--out FOLDER]

In November 2019 a shop let a random policy and Thompson sampling pick items for three positions of
its pages, each for some of the users, and logged the probabilities. So each policy can be evaluated
from the log of the other one, and the estimate can be compared with what the policy really got. A
log has 10,000 impressions and 38 to 69 clicks: the sample of the Open Bandit Dataset in the package
obp. The click rates of all 26 million impressions are in Saito et al. (2021), table 1.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from common import options, save, show
from superarm.environments import datasets
from superarm.offpolicy import Log, Propensities, Target, doubly_robust, ips, snips
from superarm.reporting.figures import plain
from superarm.reporting.palette import BLUE, GREEN, INK, RED, SKY
from superarm.reporting.statistics import share_interval

CAMPAIGNS = ("all", "men", "women")
NAMES = {"random": "random", "bts": "Thompson sampling"}
# The click rates of the whole data set, in per cent: Saito et al. (2021), table 1.
KNOWN = {
    ("all", "random"): 0.35,
    ("all", "bts"): 0.50,
    ("men", "random"): 0.51,
    ("men", "bts"): 0.67,
    ("women", "random"): 0.48,
    ("women", "bts"): 0.64,
}
# One row of the campaign "women" has the propensity 0.000001, and with it a weight of 21,739.
CLIP = 100.0
ESTIMATORS = {"ips": ips, "snips": snips, "doubly robust": doubly_robust}


@cache
def impressions(policy: str, campaign: str) -> datasets.Impressions:
    return datasets.open_bandit(policy, campaign)


def cells(shown: datasets.Impressions) -> np.ndarray:
    """An arm is an item in a position: a click may depend on both, and on nothing else."""
    return shown.items * shown.n_positions + shown.positions


def as_log(shown: datasets.Impressions) -> Log:
    """A round is an impression in one of the positions, which are equally frequent."""
    chances = shown.propensities[:, None] / shown.n_positions
    n_arms = shown.n_items * shown.n_positions
    return Log(cells(shown)[:, None], shown.clicks[:, None], chances, n_arms=n_arms)


def as_target(shown: datasets.Impressions, policy: str) -> Target | Propensities:
    """What the policy picks.

    The random policy is known. Thompson sampling kept learning, so its picks are a sample.
    """
    n_arms = shown.n_items * shown.n_positions
    if policy == "random":
        return Target.uniform(1, n_arms)
    return Propensities(sa.Pools(cells(shown), np.arange(len(shown.items) + 1), n_arms))


def main(*, quick: bool = False, out: Path = Path()) -> dict[str, Any]:
    """Both policies in three campaigns: what they got, and what the other policy's log says."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for campaign in CAMPAIGNS[:1] if quick else CAMPAIGNS:
        for policy, other in (("bts", "random"), ("random", "bts")):
            own = impressions(policy, campaign)
            log, target = as_log(impressions(other, campaign)), as_target(own, policy)
            seen = share_interval(int(own.clicks.sum()), len(own.clicks))
            estimates = {
                name: estimator(log, target, clip=CLIP) for name, estimator in ESTIMATORS.items()
            }
            found[campaign, policy] = {
                "own": seen,
                "known": KNOWN[campaign, policy] / 100,
                **estimates,
            }
    rows = []
    for (campaign, policy), row in found.items():
        cell = [
            campaign,
            NAMES[policy],
            f"{100 * row['known']:.2f}",
            _percent(row["own"].mean, row["own"]),
        ]
        cell += [_percent(row[name].value, row[name]) for name in ESTIMATORS]
        rows.append([", ".join(cell[:2]), *cell[2:], f"{row['ips'].effective_n:,.0f}"])
    head = [
        "campaign, policy",
        "all of the data",
        "own log",
        *(f"{name}, other's log" for name in ESTIMATORS),
    ]
    show("Clicks, % of 10,000 impressions per log", [*head, "effective n"], rows)
    for (campaign, policy), row in found.items():
        for name in ESTIMATORS:
            if row[name].warning:
                print(f"{campaign}, {NAMES[policy]}, {name}: {row[name].warning}")
    return {
        "found": found,
        "picture": save(partial(picture, found), out / "case-open-bandit.svg", height=7.5),
    }


def picture(found: dict[tuple[str, str], dict[str, Any]], figure: Any) -> None:
    """Intervals from a policy's own log and from the other's, and the rate in all of the data."""
    axis = figure.subplots()
    kinds = {
        "own": ("own log", INK),
        "ips": ("ips", BLUE),
        "snips": ("snips", SKY),
    }
    kinds["doubly robust"] = ("doubly robust", GREEN)
    ticks, most = {}, 0.0
    for place, ((campaign, policy), row) in enumerate(found.items()):
        middle = -place
        ticks[middle] = f"{campaign}\n{NAMES[policy]}"
        axis.plot(
            [100 * row["known"]] * 2,
            [middle - 0.4, middle + 0.4],
            color=RED,
            linewidth=2,
            zorder=0,
        )
        for number, (kind, (_, colour)) in enumerate(kinds.items()):
            one = row[kind]
            mean = one.mean if kind == "own" else one.value
            y = middle + 0.27 - 0.18 * number
            axis.plot([100 * one.low, 100 * one.high], [y, y], color=colour, linewidth=2)
            axis.plot(100 * mean, y, "o", color=colour, markersize=5)
            most = max(most, 100 * one.high)
    for label, colour in kinds.values():
        axis.plot(
            [],
            [],
            "-o",
            color=colour,
            label=label if label == "own log" else f"{label}, the other's log",
        )
    axis.plot([], [], color=RED, linewidth=2, label="all 26 million impressions")
    axis.set_yticks(list(ticks), list(ticks.values()))
    axis.set_xlim(0, 1.05 * most)
    plain(axis, "clicks, % of impressions", "")
    axis.legend(loc="upper left", bbox_to_anchor=(0.0, -0.1))


def _percent(value: float, interval: Any) -> str:
    return f"{100 * value:.2f} ({100 * interval.low:.2f} to {100 * interval.high:.2f})"


if __name__ == "__main__":
    main(**options(__doc__))
