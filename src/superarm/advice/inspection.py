"""`inspect`: probe a reward."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from superarm.advice import probes as required
from superarm.advice import shape_probes as shape
from superarm.advice.evaluator import Evaluator
from superarm.advice.probes import Probe, ProbeOnce
from superarm.advice.random_inputs import RandomInputs
from superarm.advice.recommendation import recommend
from superarm.advice.results import Inspection, Property, Witness
from superarm.core import Reward
from superarm.core.arguments import FloatArray, as_count, as_finite, as_k, as_positive
from superarm.core.optional import is_concave, is_diminishing, is_noisy
from superarm.core.special import betaincinv

Kind: TypeAlias = Literal["required", "declared", "undeclared"]

_PILOT = 15  # evaluations that find out how large values usually are
_USUAL_K = 5  # the size of sets, if it is not given
_CONFIDENCE = 0.95
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


class _Check(NamedTuple):
    """A property, its kind, its probe, and the evaluations per probe."""

    name: str
    kind: Kind
    probe: ProbeOnce
    evaluations: int
    share: float = 1.0  # of the number of probes that was asked for


class _Kept(NamedTuple):
    """The probes that need what is declared, or keep what they see."""

    lipschitz: required.Lipschitz
    bounded: required.Bounded
    separable: shape.Separable


def inspect(
    reward: Reward,
    *,
    k: int | None = None,
    probes: int = 200,
    tolerance: float = 1e-9,
    rng: np.random.Generator | None = None,
) -> Inspection:
    """Probe a reward: what it is like, whether its declarations hold, and which oracle suits it.

    An exception or a NaN of the reward does not stop the inspection, but is reported. The
    inspection makes `n_evaluations` evaluations, most of them as single calls.

    Parameters
    ----------
    reward
        Any `Reward`. Wrap a plain function in `BlackBox`.
    k
        How many arms a set will have. The default is 5, or all arms if there are fewer.
    probes
        How many probes per property. Separability, whose probes are expensive, has a quarter.
    tolerance
        The share of a value that may be rounding. Use 1e-5 for rewards in single precision.
    rng
        The generator for sets and means. The default draws the same ones every time.

    Examples
    --------
    >>> import superarm as sa
    >>> fn = lambda arms, means: float(np.sqrt(means.sum()))
    >>> found = inspect(sa.BlackBox(fn, n_arms=30, lipschitz=1.0, upper=6.0), k=3)
    >>> found.ok, [row.name for row in found.errors]  # a root is steeper than 1 near 0
    (False, ['lipschitz'])
    >>> found["monotone"].verdict, found["separable"].verdict, found.recommendation.oracle
    ('holds', 'holds', 'Singletons')
    """
    declared, upper, k = _as_inspectable(reward, k)
    probes, tolerance = as_count(probes, "probes", least=4), as_positive(tolerance, "tolerance")
    rng = np.random.default_rng(0) if rng is None else rng
    evaluate, draw = Evaluator(reward), RandomInputs(reward.n_arms, k, rng)
    kept = _Kept(required.Lipschitz(declared), required.Bounded(upper), shape.Separable())
    checks = _checks(reward.n_arms, k, _claims(reward), kept)
    rows, noise = _run_all(checks, evaluate, draw, probes, tolerance)
    _add_notes(rows, kept, noisy=noise > 0)
    n_evaluated, n_failed = evaluate.n_evaluated, evaluate.n_failed
    answers = _row("answers", "required", n_evaluated, n_failed, 0.0, evaluate.failure)
    rows = {"answers": answers, **rows}
    single_s, batch_s = evaluate.single_s(), evaluate.batch_s()
    advice = recommend(
        rows,
        n_arms=reward.n_arms,
        k=k,
        evaluation_s=single_s if batch_s is None else batch_s,
        used=kept.lipschitz.share,
        loss=kept.separable.loss,
    )
    return Inspection(
        reward=type(reward).__name__,
        n_arms=reward.n_arms,
        k=k,
        rows=tuple(rows.values()),
        evaluations=n_evaluated,
        single_s=single_s,
        batch_s=batch_s,
        noise=noise,
        recommendation=advice,
    )


def n_evaluations(n_arms: int, k: int, probes: int = 200) -> int:
    """How many evaluations an inspection makes at most.

    Examples
    --------
    >>> n_evaluations(1000, k=5, probes=20)
    1460
    """
    n_arms = as_count(n_arms, "n_arms", least=1)
    kept = _Kept(required.Lipschitz(np.zeros(n_arms)), required.Bounded(1.0), shape.Separable())
    checks = _checks(n_arms, as_k(k, n_arms), set(), kept)
    return _PILOT + sum(_n_probes(check, probes) * check.evaluations for check in checks)


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


def _checks(n_arms: int, k: int, declared: set[str], kept: _Kept) -> list[_Check]:
    """The table of properties, in the order of the report."""

    def kind(attribute: str) -> Kind:
        return "declared" if attribute in declared else "undeclared"

    deterministic: Kind = "undeclared" if "noisy" in declared else "required"
    per_separable = shape.Separable.n_evaluations(n_arms, k)
    return [
        # Declared noise is no error, but oracles that remember answers cannot use the reward.
        _Check("deterministic", deterministic, required.repeat, 4),
        _Check("batch = single", "required", required.batch_equals_single, 6),
        _Check("mean-only", "required", required.mean_only, 2),
        _Check("order", "required", required.order, 2),
        _Check("lipschitz", "declared", kept.lipschitz, 2),
        _Check("bounded", "declared", kept.bounded, 1),
        _Check("monotone", kind("monotone"), shape.rising_alone, 2),
        _Check("zero_is_absent", kind("zero_is_absent"), shape.zero_is_absent, 2),
        _Check("additive", kind("additive"), shape.additive, 6),
        _Check("concave", kind("concave"), shape.concave, 3),
        _Check("diminishing", kind("diminishing"), shape.diminishing, 4),
        _Check("monotone in theta", "undeclared", shape.rising_in_means, 2),
        _Check("monotone in S", "undeclared", shape.rising_in_set, 2),
        _Check("submodular", "undeclared", shape.submodular, 4),
        _Check("separable", "undeclared", kept.separable, per_separable, 0.25),
    ]


@dataclass(frozen=True)
class _Slack:
    """How large a difference may be without being a violation."""

    tolerance: float  # share of the values that may be rounding
    usual: float  # the size of an ordinary value, for values near 0
    noise: float

    def allows(self, probe: Probe) -> bool:
        largest = max(self.usual, *map(abs, probe.values))
        return probe.excess <= self.tolerance * largest + self.noise


def _run_all(
    checks: list[_Check],
    evaluate: Evaluator,
    draw: RandomInputs,
    probes: int,
    tolerance: float,
) -> tuple[dict[str, Property], float]:
    """The rows by name, and the noise: how much two evaluations of the same set differ."""
    usual, noise = _usual_value(evaluate, draw), 0.0
    rows: dict[str, Property] = {}
    for check in checks:
        # Both sides of a comparison may be off by the noise.
        slack = _Slack(tolerance, usual, 2 * noise)
        rows[check.name] = _run(check, evaluate, draw, _n_probes(check, probes), slack)
        if check.name == "deterministic":  # the first check, so that the others know the noise
            noise = rows[check.name].worst
    return rows, noise


def _run(
    check: _Check, evaluate: Evaluator, draw: RandomInputs, n_probes: int, slack: _Slack
) -> Property:
    """Probe one property."""
    n_done = n_violated = 0
    worst: Probe | None = None
    for _ in range(n_probes):
        probe = check.probe(evaluate, draw)
        if probe is None:
            continue
        n_done += 1
        if not slack.allows(probe):
            n_violated += 1
            worst = probe if worst is None or probe.excess > worst.excess else worst
    if worst is None:
        return _row(check.name, check.kind, n_done, 0, 0.0, None)
    return _row(check.name, check.kind, n_done, n_violated, worst.excess, worst.witness())


def _row(
    name: str, kind: Kind, n_probes: int, n_violated: int, worst: float, witness: Witness | None
) -> Property:
    rate = None
    if n_probes:
        # Clopper and Pearson's one-sided bound, which is 1 - 0.05^(1/n) without a violation.
        n_kept = n_probes - n_violated
        rate = float(betaincinv(n_violated + 1, n_kept, _CONFIDENCE)) if n_kept else 1.0
    return Property(name, kind, n_probes, n_violated, rate, worst, witness)


def _add_notes(rows: dict[str, Property], kept: _Kept, *, noisy: bool) -> None:
    # Noise would make slopes of small moves meaningless.
    if rows["lipschitz"].n_probes and not noisy:
        steepest = (
            f"the steepest slope seen is {kept.lipschitz.slope:.4g}; "
            f"moves used {kept.lipschitz.share:.3g} of what B allows"
        )
        rows["lipschitz"] = replace(rows["lipschitz"], note=steepest)
    if rows["separable"].n_violated:
        loss = kept.separable.loss
        lost = f"Oracle+'s set was {loss:.2%} worse on average than with the best swap tried"
        rows["separable"] = replace(rows["separable"], note=lost)


def _n_probes(check: _Check, probes: int) -> int:
    return max(1, round(check.share * probes))


def _usual_value(evaluate: Evaluator, draw: RandomInputs) -> float:
    """The size of an ordinary value."""
    values = []
    for _ in range(_PILOT):
        arms = draw.arms(draw.k)
        values.append(abs(evaluate(arms, draw.rng.random(draw.k))))
    found = [value for value in values if np.isfinite(value)]
    return float(np.median(found)) if found else 0.0


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
