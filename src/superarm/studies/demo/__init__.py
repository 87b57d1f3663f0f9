"""The first impression: a small linear and a small network problem, a few policies, a table and a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.core import Policy
from superarm.core.arguments import FloatArray
from superarm.experiments.figures import band, label_ends, plain, style
from superarm.experiments.play import draw, make_policy
from superarm.simulation.instances import Instance
from superarm.simulation.simulate import replicate


@dataclass(frozen=True)
class Problem:
    """A family of instances, and the names of the policies that play it."""

    title: str
    family: str
    n_arms: int
    k: int
    gap: float
    policies: tuple[str, ...]


# What each name stands for; ``delta`` is the problem's gap. A new policy is a line here.
POLICIES: dict[str, dict[str, Any]] = {
    "random": {"name": "random"},
    "CTS, Oracle+": {"name": "cts"},
    "CTS, lazy": {"name": "cts lazy"},
    "CTS, greedy": {"name": "cts greedy"},
    "CUCB, Oracle+": {"name": "cucb"},
    "GT+QTS, p=1/2": {"name": "gt_qts"},
    "GT+QTS, p=K/m": {"name": "gt_qts", "p": "K/m"},
    "GT+QTS, p=K/m, centred": {"name": "gt_qts", "p": "K/m", "decoder": "centred"},
}

_COMMON = (
    "random",
    "CUCB, Oracle+",
    "GT+QTS, p=1/2",
    "GT+QTS, p=K/m",
    "GT+QTS, p=K/m, centred",
    "CTS, Oracle+",
    "CTS, lazy",
)
PROBLEMS = (
    Problem("linear reward, 3 of 100 arms", "linear", 100, 3, 0.25, _COMMON),
    Problem("network reward, 3 of 100 arms", "network", 100, 3, 0.2, (*_COMMON, "CTS, greedy")),
)


@dataclass(frozen=True)
class Make:
    """``make`` of `replicate` for one policy of one problem; picklable."""

    problem: Problem
    policy: str

    def __call__(self, rng: np.random.Generator) -> tuple[Policy, Instance]:
        """A fresh instance and a fresh policy for it."""
        problem, spec = self.problem, POLICIES[self.policy]
        sizes = {"n_arms": problem.n_arms, "k": problem.k, "gap": problem.gap}
        instance = draw({"family": problem.family, **sizes}, rng=rng)
        if spec["name"] == "gt_qts":
            spec = {**spec, "delta": problem.gap}
        return make_policy(spec, instance), instance


@dataclass(frozen=True)
class Result:
    """All runs of one policy on one problem.

    Attributes
    ----------
    regret
        Shape (n_runs, horizon): cumulative regret.
    evaluations
        Evaluations of the reward a round, on average.
    ask_ms
        Median milliseconds of one ``ask``.
    """

    problem: Problem
    policy: str
    regret: FloatArray
    evaluations: float
    ask_ms: float

    @property
    def cost(self) -> str:
        """The evaluations a round, in as many digits as tell something."""
        few = 0 < self.evaluations < 10
        return f"{self.evaluations:.2f}" if few else f"{self.evaluations:,.0f}"

    @property
    def mean(self) -> float:
        """The mean over the runs of the regret at the horizon."""
        return float(self.regret[:, -1].mean())

    @property
    def standard_error(self) -> float:
        """Of that mean."""
        return float(self.regret[:, -1].std(ddof=1) / np.sqrt(len(self.regret)))


def run(
    *,
    n_runs: int,
    horizon: int,
    seed: int,
    executor: Executor | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Result]:
    """Play every policy of every problem, on the same instances; ``progress`` hears the name of each finished run."""
    results = []
    for problem in PROBLEMS:
        for policy in problem.policies:
            traces = replicate(
                Make(problem, policy),
                n_runs=n_runs,
                horizon=horizon,
                seed=seed,
                executor=executor,
                progress=None if progress is None else lambda done, name=policy: progress(name),  # type: ignore[misc]
            )
            regret = np.array([trace.regret() for trace in traces])
            evaluations = float(np.mean([trace.evaluations for trace in traces]))
            ask_ms = 1000 * float(np.median([trace.ask_s for trace in traces]))
            results.append(Result(problem, policy, regret, evaluations, ask_ms))
    return results


def count_runs(n_runs: int) -> int:
    """How many runs `run` makes in all."""
    return n_runs * sum(len(problem.policies) for problem in PROBLEMS)


def draw_regret(figure: Any, results: Sequence[Result]) -> None:
    """One panel a problem: mean cumulative regret against the round, with its 95% interval."""
    axes = figure.subplots(1, len(PROBLEMS))
    for axis, problem in zip(axes, PROBLEMS, strict=True):
        panel = [result for result in results if result.problem == problem]
        rounds = np.arange(1, panel[0].regret.shape[1] + 1)
        at = np.unique(np.linspace(0, len(rounds) - 1, 200).astype(int))
        for result in panel:
            band(axis, rounds[at], result.regret[:, at], *style(result.policy))
        plain(axis, "round", "cumulative regret")
        axis.set_title(problem.title, loc="left")
        axis.set_xlim(0, len(rounds))
        axis.set_ylim(0)
        names = {f"{result.policy} ({result.cost} evals)": result for result in panel}
        label_ends(
            axis, {name: (result.mean, style(result.policy)[0]) for name, result in names.items()}
        )
