"""What would the other policy have got? Clicks in a fashion shop, evaluated from each other's logs.

    python examples/open_bandit.py [--quick] [--out FOLDER]

In November 2019 a shop let a random policy and Thompson sampling pick items for three positions of
its pages, each for some of the users, and logged the probabilities. So each policy can be evaluated
from the log of the other one, and the estimate can be compared with what the policy really got. A
log has 10,000 impressions and 38 to 69 clicks: the sample of the Open Bandit Dataset in the package
obp. The click rates of all 26 million impressions are in Saito et al. (2021), table 1.

The logs say something about the users: four categories. They are the context of a reward model, and
of policies that learn from the first half of a random log and are evaluated on the second half.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from common import options, save, show
from superarm.beliefs import LogisticBelief
from superarm.environments import datasets
from superarm.features import Encoder
from superarm.offpolicy import Estimate, Log, Propensities, Target, doubly_robust, ips, snips
from superarm.reporting.palette import BLUE, GREEN, INK, ORANGE, RED, SKY
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
WITH_USERS = "doubly robust, users"
SHOWN = 4  # policies that learn show one of so many items


def user_model(log: Log) -> LogisticBelief:
    """Clicks by item and by kind of user: a weight per category, and a deviation per item."""
    assert log.contexts is not None
    return LogisticBelief(log.n_arms, context=log.contexts.shape[1], structure="shared")


def with_users(log: Log, target: Target | Propensities, *, clip: float) -> Estimate:
    """Doubly robust, with a model that knows the user and learns from the rounds before."""
    return doubly_robust(log, target, model=user_model(log), clip=clip)


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
    arms, clicks = cells(shown)[:, None], shown.clicks[:, None]
    return Log(arms, clicks, chances, n_arms=n_arms, contexts=kinds_of_users(shown))


def kinds_of_users(shown: datasets.Impressions) -> np.ndarray:
    """The categories of each user as numbers."""
    table = [dict(zip("abcd", user, strict=True)) for user in shown.users.tolist()]
    return Encoder.fit(table).transform(table)


def learned(shown: datasets.Impressions, *, knows_users: bool, n_rounds: int) -> Estimate:
    """Clicks per impression of a policy, from the second half of a random log.

    It has learned from the first half which quarter of the items to show. Positions are random, so
    an arm is an item.
    """
    half, items = n_rounds // 2, shown.items[:, None]
    chances, users = np.full(items.shape, 1 / shown.n_items), kinds_of_users(shown)
    log = Log(items, shown.clicks[:, None], chances, n_arms=shown.n_items, contexts=users)
    belief = user_model(log) if knows_users else sa.beliefs.LearnedBetaBelief(shown.n_items)
    k = shown.n_items // SHOWN
    policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(shown.n_items), k)
    rng = np.random.default_rng(0)
    for t in range(half):
        context = users[t] if knows_users else None
        policy.tell(items[t], shown.clicks[t : t + 1], rng=rng, context=context)
    rest = slice(half, n_rounds)
    second = Log(
        items[rest],
        shown.clicks[rest, None],
        chances[rest],
        n_arms=shown.n_items,
        contexts=users[rest],
    )
    return snips(second, policy, per="arm")


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
            used = ESTIMATORS if quick else {**ESTIMATORS, WITH_USERS: with_users}
            estimates = {
                name: estimator(log, target, clip=CLIP) for name, estimator in used.items()
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
        cell += [_percent(row[name].value, row[name]) for name in used]
        rows.append([", ".join(cell[:2]), *cell[2:], f"{row['ips'].effective_n:,.0f}"])
    head = [
        "campaign, policy",
        "all of the data",
        "own log",
        *(f"{name}, other's log" for name in used),
    ]
    show("Clicks, % of 10,000 impressions per log", [*head, "effective n"], rows)
    for (campaign, policy), row in found.items():
        for name in used:
            if row[name].warning:
                print(f"{campaign}, {NAMES[policy]}, {name}: {row[name].warning}")
    learners = learners_table(CAMPAIGNS[:1] if quick else CAMPAIGNS, 1000 if quick else 10_000)
    return {
        "found": found,
        "learners": learners,
        "picture": save(partial(picture, found), out / "case-open-bandit.svg", height=7.5),
    }


def learners_table(campaigns: tuple[str, ...], n_rounds: int) -> dict[tuple[str, bool], Estimate]:
    """Policies that learned from half of a random log, with and without the users."""
    found = {
        (campaign, users): learned(
            impressions("random", campaign), knows_users=users, n_rounds=n_rounds
        )
        for campaign in campaigns
        for users in (False, True)
    }
    rows = [
        [
            campaign,
            f"{KNOWN[campaign, 'random']:.2f}",
            *(_percent(one.value, one) for one in (found[campaign, False], found[campaign, True])),
            f"{found[campaign, True].effective_n:,.0f}",
        ]
        for campaign in campaigns
    ]
    head = ["campaign", "random, all of the data", "learned", "learned, by user", "effective n"]
    show("Clicks, % of impressions, of policies that show a quarter of the items", head, rows)
    return found


def picture(found: dict[tuple[str, str], dict[str, Any]], figure: Any) -> None:
    """Intervals from a policy's own log and from the other's, and the rate in all of the data."""
    axis = figure.subplots()
    kinds = {
        "own": ("own log", INK),
        "ips": ("ips", BLUE),
        "snips": ("snips", SKY),
    }
    kinds["doubly robust"] = ("doubly robust", GREEN)
    kinds = {
        kind: look
        for kind, look in (*kinds.items(), (WITH_USERS, (WITH_USERS, ORANGE)))
        if kind in next(iter(found.values()))
    }
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
            y = middle + 0.3 - 0.15 * number
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
    axis.set(xlabel="clicks, % of impressions")
    axis.legend(loc="upper left", bbox_to_anchor=(0.0, -0.1))


def _percent(value: float, interval: Any) -> str:
    return f"{100 * value:.2f} ({100 * interval.low:.2f} to {100 * interval.high:.2f})"


if __name__ == "__main__":
    main(**options(__doc__))
