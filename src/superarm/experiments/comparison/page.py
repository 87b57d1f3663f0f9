"""The page of the comparison, made of its results and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from superarm.experiments.comparison.contestants import (
    ADVERSARIAL,
    CHANCE,
    CONTESTANTS,
    FORGETFUL,
    N_TESTS,
    REFERENCE,
)
from superarm.experiments.comparison.findings import beyond, gap_closed, leaders
from superarm.experiments.comparison.picture import comparison
from superarm.experiments.comparison.problems import PROBLEMS
from superarm.experiments.stats import Interval, mean_interval

Write = Callable[[str, str | bytes], Path]


def write(found: dict[str, Any], put: Write) -> Path:
    """Results, picture and page, each through ``put(name, content)``; the path of the page."""
    put("comparison.json", json.dumps(found, indent=None, separators=(",", ":")) + "\n")
    put("comparison.png", comparison(found))
    return put("comparison.md", render(found))


def render(found: dict[str, Any]) -> str:
    """`docs/comparison.md` for these results, as Markdown."""
    sections = [
        _head(found),
        _all(found),
        *(_problem(name, one) for name, one in found["problems"].items()),
    ]
    return "\n\n".join([*sections, _remarks(found)]) + "\n"


def summary(found: dict[str, Any]) -> list[list[str]]:
    """The gap closed, of every policy on every problem; the heading first."""
    problems = found["problems"]
    lines = [
        [label, *(_percent(one["policies"].get(label)) for one in problems.values())]
        for label in CONTESTANTS
    ]
    return [["policy", *(PROBLEMS[name].title for name in problems)], *lines]


def _head(found: dict[str, Any]) -> str:
    quick = (
        "\n\n**Small sizes (`--quick`): this shows that all works, and little else.**"
        if found["quick"]
        else ""
    )
    policies = [[label, one.about] for label, one in CONTESTANTS.items()]
    return f"""# The comparison

Every policy on every problem, made by one command, which also wrote this page:

```console
$ superarm compare          # about ten minutes of one core; --quick takes some seconds
```{quick}

- Runs are paired: in run j all policies meet the same instance, the same order of the rows, and worlds that draw alike.
- *Regret* is against the best fixed set: at the true means in the paper's problems, in hindsight where a table is
  replayed. *Gap closed* is where a policy stands between a random set, 0%, and that best fixed set, 100%.
- Means over the runs, with 95% intervals (Student's). The settings of a policy are the same rule on every problem.
- Where the reward is a sum, the oracle is `TopK`, which evaluates nothing; on the network it is `LazySingletons`.
  GT+QTS has its own tests.
- superarm {found["superarm"]}, numpy {found["numpy"]}, scipy {found["scipy"]}, seed {found["seed"]}.

{_table(["policy", "what it is"], policies, texts=2)}"""


def _all(found: dict[str, Any]) -> str:
    heading, *lines = summary(found)
    return f"""## The gap closed

{_table(heading, lines)}

A dash: the policy is for sums only. The intervals are in the picture, and below.

![The gap closed by every policy on every problem, with 95% intervals](comparison.png)"""


def _problem(name: str, one: dict[str, Any]) -> str:
    problem, policies = PROBLEMS[name], one["policies"]
    n_runs = len(policies[CHANCE]["regret"])
    order = sorted(policies, key=lambda label: np.mean(policies[label]["regret"]))
    lines = [
        [
            label,
            _number(mean_interval(policies[label]["regret"])),
            _percent(policies[label], with_interval=True),
            ""
            if label == REFERENCE
            else _number(beyond(policies[label], policies[REFERENCE]), signed=True),
            f"{np.mean(policies[label]['evaluations']) / one['horizon']:,.2f}".replace(".00", ""),
        ]
        for label in order
    ]
    heading = [
        "policy",
        "regret",
        "gap closed",
        f"regret minus {REFERENCE}'s",
        "evaluations a round",
    ]
    return f"""## {problem.title}

{problem.about}
m = {one["n_arms"]:,}, k = {one["k"]}, {one["horizon"]:,} rounds, {n_runs} paired runs; least regret first.

{_table(heading, lines)}"""


def _remarks(found: dict[str, Any]) -> str:
    return f"""## How to read it

Least regret, and the policies that these runs do not tell apart from it: the 95% interval of their paired difference
has 0 in it. Intervals are judged one at a time, so a policy or two may be in the wrong place by chance.

{_table(["problem", "least regret", "not told apart from it"], _leaders(found), texts=3)}

- One problem ranks policies for that problem, and for its horizon. These horizons are short for the number of arms, as
  the paper's are, so that exploring much costs much; with a longer one the order may be another.
- {_adversary(found)}
- {_forgetful(found)}
- GT+QTS is the paper's algorithm as it stands, with {N_TESTS} tests a round; [the reproduction](reproduction.md) has it
  at the paper's own sizes and numbers of tests, and shows why it is close to chance there."""


def _leaders(found: dict[str, Any]) -> list[list[str]]:
    lines = []
    for name, one in found["problems"].items():
        first, others = leaders(one["policies"])
        lines.append([PROBLEMS[name].title, first, "; ".join(others) or "none"])
    return lines


def _adversary(found: dict[str, Any]) -> str:
    """What is to be said of the policy that is made for worlds that turn."""
    policies = found["problems"]["turning"]["policies"]
    ours, theirs = policies[ADVERSARIAL], policies[REFERENCE]
    difference = beyond(ours, theirs)
    verdict = "is not told apart from" if difference.low <= 0 <= difference.high else "is above"
    verdict = "is below" if difference.high < 0 else verdict
    spreads = [float(np.std(one["regret"], ddof=1)) for one in (ours, theirs)]
    return f"""{ADVERSARIAL} assumes nothing of the world. In the one that turns its regret {verdict}
  {REFERENCE}'s ({_number(difference, signed=True)}), with a standard deviation over the runs of
  {spreads[0]:,.0f} against {spreads[1]:,.0f}. That world was chosen, among a few that turn, as one in which it came
  close to {REFERENCE}. A gap closed of more than 100% is a policy that followed the world, which no fixed set can."""


def _forgetful(found: dict[str, Any]) -> str:
    """What forgetting gains in the world that turns, and what it costs where the rows have no order."""
    gained = _differences(found["problems"]["turning"])
    lost = _differences(found["problems"]["linear"])
    return f"""{" and ".join(FORGETFUL)} forget, with a memory for one change in T rounds (Garivier, Moulines 2011).
  In the world that turns their regret minus {REFERENCE}'s is {gained}.
  With the linear reward, where nothing changes, it is {lost}.
  The tables come in random order, so that there are no seasons to follow;
  [Changing worlds](worlds.md#who-follows-and-what-it-costs) has more worlds and more memories."""


def _differences(problem: dict[str, Any]) -> str:
    policies = problem["policies"]
    return " and ".join(
        _number(beyond(policies[label], policies[REFERENCE]), signed=True) for label in FORGETFUL
    )


def _table(heading: Sequence[str], lines: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    rule = ["---"] * texts + ["---:"] * (len(heading) - texts)
    return "\n".join("| " + " | ".join(line) + " |" for line in (heading, rule, *lines))


def _percent(policy: dict[str, Any] | None, *, with_interval: bool = False) -> str:
    if policy is None:
        return "–"
    closed = gap_closed(policy)
    if not with_interval:
        return f"{round(closed.mean, 2) + 0.0:.0%}"  # no -0%
    mean, low, high = (
        f"{round(share, 3) + 0.0:.1%}" for share in (closed.mean, closed.low, closed.high)
    )
    return f"{mean} ({low} to {high})"


def _number(interval: Interval, *, signed: bool = False) -> str:
    # Three digits of the mean, and its ends as fine.
    digits = max(0, 2 - int(np.floor(np.log10(max(abs(interval.mean), 1e-9)))))
    form = f"{'+' if signed else ''},.{min(digits, 2)}f"
    return f"{interval.mean:{form}} ({interval.low:{form}} to {interval.high:{form}})"
