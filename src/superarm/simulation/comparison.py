"""Policies on the same problems, run by run, with a table and a plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.core import Policy, frames, notebook
from superarm.core.arguments import FloatArray, as_count
from superarm.simulation.instances import Instance
from superarm.simulation.replicate import replicate
from superarm.simulation.trace import Trace

Build = Callable[..., Policy]
Draw = Callable[[np.random.Generator], Instance]
# Of middle lightness, for light and dark pages; after Okabe and Ito, for colour-blind people.
_COLOURS = ("#3d8fd1", "#d5762c", "#2fa67f", "#c77fae", "#c9a227", "#5fb3d9", "#8a8a8a")
_DASHES = ("-", "--", ":", "-.")
_HEAD = ("policy", "regret", "±", "against the first", "±", "evaluations per round")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What policies lost on the same problems: print it, plot it, or read its ``traces``.

    Attributes
    ----------
    traces
        By the name of the policy: one `Trace` per run. Runs of the same number are pairs.
    """

    traces: dict[str, list[Trace]]

    def final(self) -> dict[str, FloatArray]:
        """By policy, shape (n_runs,): the regret of each run at the end."""
        return {
            name: np.array([trace.regret()[-1] for trace in runs])
            for name, runs in self.traces.items()
        }

    def table(self) -> list[tuple[str, str, str, str, str, str]]:
        """Mean regret, the paired difference to the first policy, both ± a standard error."""
        final = self.final()
        first = next(iter(final.values()))
        rows = []
        for name, regret in final.items():
            spent = np.mean([trace.evaluations.mean() for trace in self.traces[name]])
            more = ("", "") if regret is first else _mean_and_error(regret - first)
            rows.append((name, *_mean_and_error(regret), *more, f"{spent:,.4g}"))
        return rows

    def figure(self) -> Any:
        """A matplotlib Figure: the mean regret so far, with bands of two standard errors."""
        figure = frames.optional("matplotlib.figure", "figure").Figure(
            figsize=(6.5, 4), layout="constrained"
        )
        axis = figure.subplots()
        lines = []
        for place, runs in enumerate(self.traces.values()):
            regret = np.array([trace.regret() for trace in runs])
            mean, error = regret.mean(axis=0), _error(regret)
            rounds, colour = np.arange(1, len(mean) + 1), _COLOURS[place % len(_COLOURS)]
            # More policies than colours: another dash for each round of colours.
            dash = _DASHES[place // len(_COLOURS) % len(_DASHES)]
            lines += axis.plot(rounds, mean, color=colour, linestyle=dash)
            axis.fill_between(
                rounds, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.2, linewidth=0
            )
        axis.set(xlabel="round", ylabel="cumulative regret")
        axis.spines[["top", "right"]].set_visible(False)
        # Names are given apart: the legend leaves out labels of lines that begin with "_".
        legend = axis.legend(lines, list(self.traces), frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)  # a name may have dollar signs
        return figure

    def to_pandas(self) -> Any:
        """A DataFrame with one row per policy and run: the regret and the evaluations."""
        return frames.to_pandas(self._columns())

    def to_arrow(self) -> Any:
        """The same as `to_pandas`, as a ``pyarrow.Table``."""
        return frames.to_arrow(self._columns())

    def __repr__(self) -> str:
        n_runs = len(next(iter(self.traces.values())))
        return f"Comparison({', '.join(self.traces)}; {n_runs} runs)"

    def __str__(self) -> str:
        rows = [_HEAD, *self.table()]
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in rows
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        means = {
            name: np.mean([trace.regret() for trace in runs], axis=0)
            for name, runs in self.traces.items()
        }
        picture = notebook.curves(means, _COLOURS, title="cumulative regret, mean of the runs")
        note = "± one standard error; differences are of paired runs, less is better"
        return picture + notebook.table(_HEAD, self.table(), title=repr(self), note=note)

    def _columns(self) -> dict[str, list[Any]]:
        rows = [
            (name, run, one)
            for name, runs in self.traces.items()
            for run, one in enumerate(runs, start=1)
        ]
        return {
            "policy": [name for name, _, _ in rows],
            "run": [run for _, run, _ in rows],
            "regret": [float(one.regret()[-1]) for _, _, one in rows],
            "evaluations": [int(one.evaluations.sum()) for _, _, one in rows],
        }


def compare(
    policies: Mapping[str, Build],
    draw: Draw,
    *,
    n_runs: int = 20,
    horizon: int = 1000,
    seed: int = 0,
    executor: Executor | None = None,
) -> Comparison:
    """Play policies on the same problems, with the same draws, and compare them run by run.

    Parameters
    ----------
    policies
        By name: ``build(reward, k)`` makes a new policy, as `thompson` and `cucb` do.
    draw
        ``draw(rng)`` makes the `Instance` of a run. For an environment of your own, a
        `ChangingInstance` finds the best set.
    n_runs, horizon, seed, executor
        As in `replicate`. At least two runs.

    Examples
    --------
    >>> import superarm as sa
    >>> found = compare(
    ...     {"Thompson": sa.thompson, "random": sa.random_sets},
    ...     lambda rng: sa.linear_instance(10, 2, 0.2, rng=rng),
    ...     n_runs=3,
    ...     horizon=100,
    ... )
    >>> found
    Comparison(Thompson, random; 3 runs)
    >>> bool(found.final()["Thompson"].mean() < found.final()["random"].mean())
    True
    """
    if not isinstance(policies, Mapping):
        raise TypeError(
            f"policies must be a dict with a name for each function, such as "
            f"{{'Thompson': superarm.thompson}}, got {type(policies).__name__}"
        )
    if not policies:
        raise ValueError("policies must have at least one policy, got none")
    for name, build in policies.items():
        if not isinstance(name, str):
            raise TypeError(f"a name of a policy must be a string, got {name!r}")
        if not callable(build):
            raise TypeError(
                f"the policy {name!r} must be a function of a reward and k that makes a new "
                f"policy, got {type(build).__name__}; write lambda reward, k: ..."
            )
    n_runs, horizon = as_count(n_runs, "n_runs", least=2), as_count(horizon, "horizon", least=1)
    options: Any = {"n_runs": n_runs, "horizon": horizon, "seed": seed, "executor": executor}
    return Comparison(
        {name: replicate(_Make(build, draw), **options) for name, build in policies.items()}
    )


@dataclass(frozen=True)
class _Make:
    """Makes the policy and the instance of a run; can be pickled if both functions can."""

    build: Build
    draw: Draw

    def __call__(self, rng: np.random.Generator) -> tuple[Policy, Instance]:
        instance = self.draw(rng)
        if not (hasattr(instance, "reward") and hasattr(instance, "best_value")):
            raise TypeError(
                f"draw must return an Instance, got {type(instance).__name__}; of an environment "
                f"make one with superarm.simulation.ChangingInstance(environment, reward, k), "
                f"which finds the best set"
            )
        return self.build(instance.reward, instance.k), instance


def _error(runs: FloatArray) -> FloatArray:
    """The standard error of the mean over the first axis."""
    return runs.std(axis=0, ddof=1) / np.sqrt(len(runs))


def _mean_and_error(values: FloatArray) -> tuple[str, str]:
    return f"{values.mean():.4g}", f"{float(_error(values)):.2g}"
