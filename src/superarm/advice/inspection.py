"""`inspect`: probe a reward."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypedDict

import numpy as np

from superarm.advice import budgeted_inspection as budgeted
from superarm.advice import full_inspection as full
from superarm.advice.combined_probes import Required
from superarm.advice.evaluator import Evaluator
from superarm.advice.group_search import InteractionSearch
from superarm.advice.ledger import Ledger
from superarm.advice.probes import Bounded, Lipschitz
from superarm.advice.progress import ProgressLine, Shows, StopProbing, Watch
from superarm.advice.random_inputs import RandomInputs
from superarm.advice.recommendation import recommend
from superarm.advice.results import Inspection
from superarm.advice.shape_probes import Separable
from superarm.advice.sub_problems import SubChecks
from superarm.core import Reward
from superarm.core.arguments import (
    FloatArray,
    as_count,
    as_finite,
    as_generator,
    as_k,
    as_positive,
)
from superarm.core.declarations import evaluations_per_value, is_concave, is_diminishing, is_noisy

_USUAL_K = 5  # the size of sets, if it is not given
_NEEDED = (
    "n_arms",
    "lipschitz",
    "upper",
    "monotone",
    "zero_is_absent",
    "additive",
    "__call__",
    "batch",
)


class InspectOptions(TypedDict, total=False):
    """What `inspect` takes besides the reward, k and the number of probes."""

    budget: int | None
    tolerance: float
    rng: np.random.Generator | None
    executor: Executor | None
    should_stop: Callable[[], bool] | None
    progress: bool | Shows


def inspect(
    reward: Reward,
    *,
    k: int | None = None,
    probes: int = 200,
    budget: int | None = None,
    tolerance: float = 1e-9,
    rng: np.random.Generator | None = None,
    executor: Executor | None = None,
    should_stop: Callable[[], bool] | None = None,
    progress: bool | Shows = False,
) -> Inspection:
    """Probe a reward: what it is like, whether its declarations hold, and which oracle suits it.

    Without a budget, every property is probed, and some evaluations search for arms that interact:
    `n_evaluations` in all, at most. With a budget, the next probe goes to a property that can still
    change the recommended oracle, and the probes stop when none can. The bounds are valid whenever
    they stop. What is left of the budget searches for arms that interact.

    An exception or a NaN of the reward does not stop the inspection, but is reported. If nearly all
    evaluations fail in the same way, the inspection ends after ten. Ctrl-C stops it, and the report
    has what is known so far.

    Parameters
    ----------
    reward
        Any `Reward`. Wrap a plain function in `BlackBox`.
    k
        How many arms a set will have. The default is 5, or all arms if there are fewer.
    probes
        How many probes per property, without a budget. Separability, whose probes are expensive,
        has a quarter.
    budget
        The largest number of evaluations; None for ``probes`` probes of every property. If the
        reward averages ``repeats`` calls, each call counts.
    tolerance
        The share of a value that may be rounding. Use 1e-5 for rewards in single precision.
    rng
        The generator for sets and means. The default draws the same ones every time.
    executor
        Any ``concurrent.futures.Executor``, or a dask client's, to evaluate sets in parallel. The
        results do not depend on it. Processes need a picklable reward.
    should_stop
        Called before every call of the reward. If it returns True, the inspection ends early.
    progress
        True shows a line of progress on the error stream, and the cost after the first evaluation.
        A function is called with a `Progress` before every call of the reward instead.

    Examples
    --------
    >>> import superarm as sa
    >>> fn = lambda arms, means: float(np.sqrt(means.sum()))
    >>> found = inspect(sa.BlackBox(fn, n_arms=30, lipschitz=1.0, upper=6.0), k=3)
    >>> found.ok, [row.name for row in found.errors]  # a root is steeper than 1 near 0
    (False, ['lipschitz'])
    >>> found["monotone"].verdict, found["separable"].verdict, found.recommendation.oracle
    ('holds', 'holds', 'Singletons')

    With a budget, some of it is left if little decides. No pair of arms is worth more than its sum:

    >>> found = inspect(sa.CoverageReward(np.eye(30) + np.eye(30, k=1)), k=3, budget=2_000)
    >>> found.recommendation.oracle, found["separable"].verdict, found.evaluations < 1_500
    ('LazyGreedy', 'fails', True)
    >>> found.groups.n_pairs, found.groups.found
    (435, ())
    """
    declared, upper, k = _as_inspectable(reward, k)
    probes, tolerance = as_count(probes, "probes", least=4), as_positive(tolerance, "tolerance")
    n_arms, claims = reward.n_arms, _claims(reward)
    lipschitz, separable = Lipschitz(declared), Separable(small=budget is not None)
    table = full.checks(n_arms, k, lipschitz, Bounded(upper), separable)
    most = full.most_evaluations(table, probes, n_arms, k)
    each = evaluations_per_value(reward)  # a value may be an average
    if budget is not None:
        most = as_count(budget, "budget", least=each) // each
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"executor must be one of concurrent.futures or dask, got {executor!r}")
    shows = ProgressLine() if progress is True else progress or None
    watch = Watch(most, should_stop, shows, each)
    evaluate = Evaluator(reward, executor, watch.look)
    draw = RandomInputs(n_arms, k, np.random.default_rng(0) if rng is None else as_generator(rng))
    ledger = Ledger(
        {check.name: _kind(check.name, claims) for check in table},
        evaluate,
        watch,
        tolerance=tolerance,
        lipschitz=lipschitz,
        separable=separable,
        anytime=budget is not None,
    )
    # A stream of its own, so that the probes do not depend on the sub-problems.
    own = draw.rng.spawn(1)[0]
    checks = SubChecks(reward, evaluate, RandomInputs(n_arms, k, own))
    search = InteractionSearch(ledger, RandomInputs(n_arms, k, own.spawn(1)[0]))
    required = Required(lipschitz, upper, reward.zero_is_absent)
    groups = budgeted.groups(n_arms, k, claims, required, separable)
    stopped = False
    try:
        if budget is None:
            full.probe_all(table, ledger, draw, probes, parallel=executor is not None)
            full.check_all(ledger, checks, search, probes)
        else:
            noisy = "noisy" in claims
            budgeted.probe_within(most, groups, ledger, checks, search, draw, noisy=noisy)
        evaluate.ask_again(most - evaluate.n_evaluated)
    except (StopProbing, KeyboardInterrupt):
        stopped = True
    watch.end(evaluate.n_evaluated)
    rows = ledger.rows()
    single_s, batch_s = evaluate.single_s(), evaluate.batch_s()
    advice = recommend(
        rows,
        n_arms=n_arms,
        k=k,
        evaluation_s=single_s if batch_s is None else batch_s,
        used=lipschitz.share,
        loss=separable.loss,
        usual=ledger.usual,
        noise=ledger.noise,
        repeats=each,
        checks=checks,
        search=search.result,
        together=[] if budget is None else [group.names for group in groups],
    )
    return Inspection(
        reward=type(reward).__name__,
        n_arms=n_arms,
        k=k,
        rows=tuple(rows.values()),
        evaluations=each * evaluate.n_evaluated,
        single_s=single_s,
        batch_s=batch_s,
        noise=ledger.noise.largest,
        recommendation=advice,
        check=checks.of(advice.oracle),
        groups=search.result if search.result is None else search.result.repeated(each),
        budget=budget,
        stopped=stopped,
    )


def n_evaluations(n_arms: int, k: int, probes: int = 200) -> int:
    """How many evaluations an inspection without a budget makes at most.

    Examples
    --------
    >>> n_evaluations(1000, k=5, probes=20)
    2590
    """
    n_arms = as_count(n_arms, "n_arms", least=1)
    zero = np.zeros(n_arms)
    table = full.checks(n_arms, as_k(k, n_arms), Lipschitz(zero), Bounded(1.0), Separable())
    return full.most_evaluations(table, probes, n_arms, k)


def _claims(reward: Reward) -> set[str]:
    """What the reward declares of itself."""
    claims = {
        "monotone": reward.monotone,
        "zero_is_absent": reward.zero_is_absent,
        "additive": reward.additive,
        "concave": is_concave(reward),
        "diminishing": is_diminishing(reward),
        "noisy": is_noisy(reward),
    }
    return {name for name, declared in claims.items() if declared}


def _kind(name: str, claims: set[str]) -> str:
    if name == "deterministic":
        # Declared noise is no error, but oracles that remember answers cannot use the reward.
        return "undeclared" if "noisy" in claims else "required"
    if name in ("batch = single", "mean-only", "order"):
        return "required"
    return "declared" if name in claims or name in ("lipschitz", "bounded") else "undeclared"


def _as_inspectable(reward: Reward, k: int | None) -> tuple[FloatArray, float, int]:
    """What is declared, as the probes need it: B per arm, M, and k."""
    if not isinstance(reward, Reward):
        lacking = [name for name in _NEEDED if name not in dir(reward)]
        raise TypeError(
            f"reward must have all that superarm.Reward has, got {type(reward).__name__} without "
            f"{', '.join(lacking)}; wrap a function in BlackBox"
        )
    n_arms = as_count(reward.n_arms, "reward.n_arms", least=1)
    given = np.asarray(reward.lipschitz)
    if given.shape not in ((), (n_arms,)):
        raise ValueError(
            f"reward.lipschitz must be a number or have shape ({n_arms},), got shape {given.shape}"
        )
    declared = as_finite(np.broadcast_to(given, n_arms), "reward.lipschitz", ndim=1, least=0.0)
    size = as_k(min(_USUAL_K, n_arms) if k is None else k, n_arms)
    return declared, as_positive(reward.upper, "reward.upper"), size
