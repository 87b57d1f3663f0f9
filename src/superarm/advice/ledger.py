"""What all probes have shown so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from superarm.advice.asking import Findings, Probe, same, singles
from superarm.advice.evaluator import Evaluator
from superarm.advice.evidence import Noise, Tally, rate_anytime, rate_fixed
from superarm.advice.probes import Lipschitz
from superarm.advice.progress import Watch
from superarm.advice.random_inputs import RandomInputs
from superarm.advice.results import Property
from superarm.advice.shape_probes import Separable

# These comparisons are more than single calls, and can't be repeated as single calls.
_NOT_SINGLE = ("batch = single", "mean-only", "order")


class Ledger:
    """Counts what the probes show, property by property.

    Attributes
    ----------
    tallies
        By name, in the order of the report.
    lipschitz, separable
        The probes that keep what they see.
    noise, usual
        How much equal questions differ, and the size of an ordinary value.
    """

    def __init__(
        self,
        kinds: Mapping[str, str],
        evaluate: Evaluator,
        watch: Watch,
        *,
        tolerance: float,
        lipschitz: Lipschitz,
        separable: Separable,
        anytime: bool,
    ) -> None:
        self.tallies = {name: Tally(name, kind, anytime=anytime) for name, kind in kinds.items()}
        self.evaluate, self.watch = evaluate, watch
        self.lipschitz, self.separable = lipschitz, separable
        self.noise, self.usual = Noise(), 0.0
        self._tolerance, self._anytime = tolerance, anytime

    def pilot(self, draw: RandomInputs, n: int, *, twice: bool = False) -> None:
        """Find the size of an ordinary value by n evaluations, the first of them alone.

        ``twice`` makes each of them again, to see the noise.
        """
        asks = []
        for _ in range(n):
            arms = draw.arms(draw.k)
            asks.append(singles([arms], [draw.rng.random(draw.k)]))
        values = self.evaluate.answer(asks[:1])
        self.watch.first_s = self.evaluate.single_s()
        self.watch.look(self.evaluate.n_evaluated)
        values += self.evaluate.answer(asks[1:])
        found = [abs(value) for (value,) in values if np.isfinite(value)]
        self.usual = float(np.median(found)) if found else 0.0
        if twice:
            again = self.evaluate.answer(asks)
            for ask, (one,), (other,) in zip(asks, values, again, strict=True):
                pair = [float(one), float(other)]
                self.add({"deterministic": same(ask.sets[0], ask.means[0], pair)})

    def left(self, budget: int) -> int:
        """How many evaluations of a budget are left."""
        return budget - self.evaluate.n_evaluated

    def add(self, findings: Findings) -> None:
        """Count what one probe found."""
        for name, probe in findings.items():
            if name not in self.tallies or probe is None:
                continue
            violated = self.tallies[name].add(probe, *self._slack(name, probe), self.usual)
            if name == "deterministic":
                # Differences within the tolerance are rounding, not noise.
                self.noise.add(probe.values if violated else [0.0] * len(probe.values))

    def add_better(self, better: Probe | None) -> bool:
        """Count a better set than that of the arms worth most alone, if none was known.

        Whether it changes the verdict.
        """
        if better is None or not self.tallies["separable"].row.holds:
            return False
        if not self.looks_violated("separable", better):
            return False
        self.add({"separable": better})
        return True

    @property
    def noisy(self) -> bool:
        """Whether noise is declared or was seen."""
        return self.noise.largest > 0 or self.tallies["deterministic"].kind == "undeclared"

    def confirm(self, findings: Findings, most: int) -> None:
        """Ask again for what looks like the first violation of a property: it may be noise.

        Makes at most ``most`` evaluations.
        """
        for name, probe in findings.items():
            if probe is None or name not in self.tallies or name in _NOT_SINGLE:
                continue
            new = not self.tallies[name].n_violated and self.looks_violated(name, probe)
            if not new or len(probe.sets) > most:
                continue
            most -= len(probe.sets)
            (again,) = self.evaluate.answer([singles(probe.sets, probe.means)])
            for arms, means, one, other in zip(
                probe.sets, probe.means, probe.values, again, strict=True
            ):
                asked = same(arms, means, [one, float(other)])
                # Only differences count: these questions were not drawn, but chosen.
                if asked is not None and self.looks_violated("deterministic", asked):
                    self.add({"deterministic": asked})

    def looks_violated(self, name: str, probe: Probe) -> bool:
        """Whether a probe shows more than rounding and noise may."""
        rounding, allowed = self._slack(name, probe)
        return probe.excess > rounding + allowed

    def _slack(self, name: str, probe: Probe) -> tuple[float, float]:
        """What rounding and noise may add to a comparison."""
        noise = 0.0
        if name != "deterministic":
            noise = self.noise.allowed(probe.n_noisy or len(probe.values))
        return self.rounding(probe.values), noise

    def rounding(self, values: Sequence[float]) -> float:
        """What rounding may add to a comparison of these values."""
        return self._tolerance * max(self.usual, *map(abs, values))

    def rows(self) -> dict[str, Property]:
        """The rows of the report, with notes."""
        n, failed = self.evaluate.n_evaluated, self.evaluate.n_failed
        rate = (rate_anytime if self._anytime else rate_fixed)(n, failed)
        again, recovered = self.evaluate.n_again, self.evaluate.n_recovered
        note = ""
        if again:
            note = f"{recovered} of {again} failed evaluations had an answer when repeated"
        rows = {
            "answers": Property(
                "answers", "required", n, failed, rate, 0.0, self.evaluate.failure, note
            )
        }
        rows.update((name, tally.row) for name, tally in self.tallies.items())
        # Noise would make slopes of small moves meaningless.
        if rows["lipschitz"].n_probes and not self.noise.largest:
            steepest = (
                f"the steepest slope seen is {self.lipschitz.slope:.4g}; "
                f"moves used {self.lipschitz.share:.3g} of what B allows"
            )
            rows["lipschitz"] = replace(rows["lipschitz"], note=steepest)
        if rows["separable"].n_violated:
            loss = self.separable.loss
            lost = f"Oracle+'s set was {loss:.2%} worse on average than with the best swap tried"
            rows["separable"] = replace(rows["separable"], note=lost)
        return rows
