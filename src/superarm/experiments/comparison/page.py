"""The page of the comparison, made of its results and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from superarm.experiments.comparison.contestants import CHANCE, CONTESTANTS, REFERENCE
from superarm.experiments.comparison.findings import beyond, gap_closed
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
    sections = [_head(found), _all(found), *(_problem(name, one) for name, one in found["problems"].items())]
    return "\n\n".join([*sections, _REMARKS]) + "\n"


def summary(found: dict[str, Any]) -> list[list[str]]:
    """The gap closed, of every policy on every problem; the heading first."""
    problems = found["problems"]
    lines = [[label, *(_percent(one["policies"].get(label)) for one in problems.values())] for label in CONTESTANTS]
    return [["policy", *(PROBLEMS[name].title for name in problems)], *lines]


def _head(found: dict[str, Any]) -> str:
    quick = "\n\n**Small sizes (`--quick`): this shows that all works, and little else.**" if found["quick"] else ""
    policies = [[label, one.about] for label, one in CONTESTANTS.items()]
    return f"""# The comparison

Every policy on every problem, made by one command, which also wrote this page:

```console
$ superarm compare          # about a quarter of an hour of one core; --quick takes some seconds
```{quick}

- Runs are paired: in run j all policies meet the same instance, the same order of the rows, and worlds that draw alike.
- *Regret* is against the best fixed set: at the true means in the paper's problems, in hindsight where a table is
  replayed. *Gap closed* is where a policy stands between a random set, 0%, and that best fixed set, 100%.
- Means over the runs, with 95% intervals (Student's). Nothing was tuned to a problem: settings are those in the list.
- Where the reward is a sum, the oracle is `TopK`, which evaluates nothing; on the network it is `LazySingletons`. GT+QTS
  has its own tests.
- superarm {found["superarm"]}, numpy {found["numpy"]}, scipy {found["scipy"]}, seed {found["seed"]};
  {found["seconds"]:,} seconds of one core.

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
            "" if label == REFERENCE else _number(beyond(policies[label], policies[REFERENCE]), signed=True),
            f"{np.mean(policies[label]['evaluations']) / one['horizon']:,.2f}".replace(".00", ""),
        ]
        for label in order
    ]
    heading = ["policy", "regret", "gap closed", f"regret minus {REFERENCE}'s", "evaluations a round"]
    return f"""## {problem.title}

{problem.about}
m = {one["n_arms"]:,}, k = {one["k"]}, {one["horizon"]:,} rounds, {n_runs} paired runs; least regret first.

{_table(heading, lines)}"""


_REMARKS = """## How to read it

- A single problem ranks policies for that problem. Where two intervals of *regret minus CTS's* are on the same side of 0
  and overlap, this comparison does not say which of the two is better.
- The horizons are short for the number of arms, as in the paper: they reward a policy that stops exploring early, and
  that is what small epsilon, single seeds and means without bonus have in common. Over long horizons it can be otherwise.
- Upper confidence bounds explore most, and that shows wherever an arm is played a few dozen times only.
- The world that turns is an adversary's: whoever trusts the first quarter is slow to see that it is over. There the
  regret against the best fixed set can be below 0, for a policy that follows the world.
- *Literal GT+QTS* is the algorithm of the paper as it stands; [the reproduction](reproduction.md) shows why it is close to
  chance, at the paper's own sizes and numbers of tests."""


def _table(heading: Sequence[str], lines: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    rule = ["---"] * texts + ["---:"] * (len(heading) - texts)
    return "\n".join("| " + " | ".join(line) + " |" for line in (heading, rule, *lines))


def _percent(policy: dict[str, Any] | None, *, with_interval: bool = False) -> str:
    if policy is None:
        return "–"
    closed = gap_closed(policy)
    if not with_interval:
        return f"{closed.mean:.0%}"
    return f"{closed.mean:.1%} ({closed.low:.1%} to {closed.high:.1%})"


def _number(interval: Interval, *, signed: bool = False) -> str:
    # Three digits of the mean, and its ends as fine.
    digits = max(0, 2 - int(np.floor(np.log10(max(abs(interval.mean), 1e-9)))))
    form = f"{'+' if signed else ''},.{min(digits, 2)}f"
    return f"{interval.mean:{form}} ({interval.low:{form}} to {interval.high:{form}})"
