"""`inspect`: probe a reward; and `auto`: the policy that the probes recommend."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from superarm.advice import probes as p
from superarm.advice.asking import Asker
from superarm.advice.choice import CHOICES, recommend
from superarm.advice.draws import Draws
from superarm.advice.result import Inspection, Property, Witness
from superarm.beliefs import BetaBelief
from superarm.core import Policy, Reward
from superarm.core.arguments import FloatArray, as_count, as_finite, as_k, as_positive

_PILOT = 15
_CLAIMS = ("monotone", "zero_is_absent", "additive", "concave", "diminishing")
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
    """A property, whether it is required or declared, its probe, and the evaluations of a probe."""

    name: str
    kind: str
    probe: p.ProbeOnce
    evaluations: int
    share: float = 1.0  # of the probes that were asked for


def inspect(
    reward: Reward,
    *,
    k: int | None = None,
    probes: int = 200,
    tolerance: float = 1e-9,
    rng: np.random.Generator | None = None,
) -> Inspection:
    """Probe a reward: what it is like, whether it keeps what it declares, and which oracle suits it.

    Nothing that the reward does when it is asked stops the inspection: an exception or a NaN is found and reported.
    Costs `n_evaluations` evaluations, one by one for the most part.

    Parameters
    ----------
    reward
        Any `Reward`; wrap a plain function in `BlackBox`.
    k
        How many arms a set will have; 5 unless given, or all if there are fewer.
    probes
        How many probes of each property; a quarter as many for separability, whose probes are dear.
    tolerance
        Which share of the values compared may be rounding. 1e-5 suits rewards in single precision.
    rng
        Where sets and means are drawn from; the same ones each time unless given.

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
    ask, draw = (
        Asker(reward),
        Draws(reward.n_arms, k, np.random.default_rng(0) if rng is None else rng),
    )
    lipschitz, separable = p.Lipschitz(declared), p.Separable()
    claims = {name for name in _CLAIMS if getattr(reward, name, False)}
    checks = _checks(reward.n_arms, k, claims, lipschitz, p.Bounded(upper), separable)
    scale, noise = _typical(ask, draw), 0.0
    rows: dict[str, Property] = {}
    for check in checks:
        row = _run(check, ask, draw, probes, tolerance, scale, 2 * noise)
        rows[row.name] = row
        if row.name == "deterministic":
            noise = row.worst  # from here on answers may differ by so much for no other reason
    if rows["lipschitz"].n_probes and not noise:
        steepest = f"the steepest slope seen is {lipschitz.slope:.4g}; moves used {lipschitz.share:.3g} of what B allows"
        rows["lipschitz"] = replace(rows["lipschitz"], note=steepest)
    loss = float(np.mean(separable.losses)) if separable.losses else 0.0
    if rows["separable"].n_violated:
        lost = f"Oracle+'s set was {loss:.2%} worse on average than with the best swap tried"
        rows["separable"] = replace(rows["separable"], note=lost)
    rows = {
        "answers": _row("answers", "required", ask.n_asked, ask.n_failed, 0.0, ask.failure),
        **rows,
    }
    single_s, batch_s = ask.single_s(), ask.batch_s()
    advice = recommend(
        rows,
        n_arms=reward.n_arms,
        k=k,
        evaluation_s=single_s if batch_s is None else batch_s,
        used=lipschitz.share,
        loss=loss,
    )
    name = type(reward).__name__
    return Inspection(
        name, reward.n_arms, k, tuple(rows.values()), ask.n_asked, single_s, batch_s, noise, advice
    )


def auto(
    reward: Reward,
    k: int,
    *,
    probes: int = 200,
    tolerance: float = 1e-9,
    rng: np.random.Generator | None = None,
) -> Policy:
    """Thompson sampling with the oracle that `inspect` recommends for this reward; warns of what it found wrong.

    The evaluations of the inspection do not count as the policy's.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = auto(sa.LinearReward(50), k=3)
    >>> type(policy.belief).__name__, type(policy.oracle).__name__, policy.evaluations
    ('BetaBelief', 'TopK', 0)
    """
    found = inspect(reward, k=k, probes=probes, tolerance=tolerance, rng=rng)
    if not found.ok:
        warnings.warn(
            f"the reward violates {', '.join(row.name for row in found.errors)}; "
            f"print(superarm.inspect(reward, k={k})) shows how. Going on with {found.recommendation.oracle}",
            stacklevel=2,
        )
    return Policy(BetaBelief(reward.n_arms), CHOICES[found.recommendation.case](), reward, k)


def n_evaluations(n_arms: int, k: int, probes: int = 200) -> int:
    """How many evaluations an inspection costs at most.

    Examples
    --------
    >>> n_evaluations(1000, k=5, probes=20)
    1460
    """
    n_arms = as_count(n_arms, "n_arms", least=1)
    checks = _checks(
        n_arms, as_k(k, n_arms), set(), p.Lipschitz(np.zeros(n_arms)), p.Bounded(1.0), p.Separable()
    )
    return _PILOT + sum(_n_probes(check, probes) * check.evaluations for check in checks)


def _checks(
    n_arms: int,
    k: int,
    declared: set[str],
    lipschitz: p.Lipschitz,
    bounded: p.Bounded,
    separable: p.Separable,
) -> list[_Check]:
    """The table of properties, in the order of the report."""

    def kind(attribute: str) -> str:
        return "declared" if attribute in declared else "undeclared"

    return [
        _Check("deterministic", "required", p.repeat, 4),
        _Check("batch = single", "required", p.batch_equals_single, 6),
        _Check("mean-only", "required", p.mean_only, 2),
        _Check("order", "required", p.order, 2),
        _Check("lipschitz", "declared", lipschitz, 2),
        _Check("bounded", "declared", bounded, 1),
        _Check("monotone", kind("monotone"), p.rising_alone, 2),
        _Check("zero_is_absent", kind("zero_is_absent"), p.zero_is_absent, 2),
        _Check("additive", kind("additive"), p.additive, 6),
        _Check("concave", kind("concave"), p.concave, 3),
        _Check("diminishing", kind("diminishing"), p.diminishing, 4),
        _Check("monotone in theta", "undeclared", p.rising_in_means, 2),
        _Check("monotone in S", "undeclared", p.rising_in_set, 2),
        _Check("submodular", "undeclared", p.submodular, 4),
        _Check("separable", "undeclared", separable, p.Separable.n_evaluations(n_arms, k), 0.25),
    ]


def _run(
    check: _Check,
    ask: Asker,
    draw: Draws,
    probes: int,
    tolerance: float,
    scale: float,
    noise: float,
) -> Property:
    n_probes = n_violated = 0
    worst: p.Probe | None = None
    for _ in range(_n_probes(check, probes)):
        probe = check.probe(ask, draw)
        if probe is None:
            continue
        n_probes += 1
        if probe.excess > tolerance * max(scale, *map(abs, probe.values)) + noise:
            n_violated += 1
            worst = probe if worst is None or probe.excess > worst.excess else worst
    if worst is None:
        return _row(check.name, check.kind, n_probes, 0, 0.0, None)
    return _row(check.name, check.kind, n_probes, n_violated, worst.excess, worst.witness())


def _row(
    name: str, kind: str, n_probes: int, n_violated: int, worst: float, witness: Witness | None
) -> Property:
    rate = None
    if n_probes:
        # Clopper and Pearson, one-sided; 1 - 0.05^(1/n) where none was violated.
        rate = (
            1.0
            if n_violated == n_probes
            else float(betaincinv(n_violated + 1, n_probes - n_violated, 0.95))
        )
    return Property(name, kind, n_probes, n_violated, rate, worst, witness)


def _n_probes(check: _Check, probes: int) -> int:
    return max(1, round(check.share * probes))


def _typical(ask: Asker, draw: Draws) -> float:
    """The size of an ordinary value, so that the rounding of values near 0 is not taken for a difference."""
    values = []
    for _ in range(_PILOT):
        arms = draw.arms(draw.k)
        values.append(abs(ask(arms, draw.rng.random(draw.k))))
    found = [value for value in values if np.isfinite(value)]
    return float(np.median(found)) if found else 0.0


def _as_inspectable(reward: Reward, k: int | None) -> tuple[FloatArray, float, int]:
    """What is declared, in the form that it is probed in: B for each arm, M, k."""
    if not isinstance(reward, Reward):
        lacking = [name for name in _NEEDED if not hasattr(reward, name)]
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
    return (
        declared,
        as_positive(reward.upper, "reward.upper"),
        as_k(min(5, n_arms) if k is None else k, n_arms),
    )
