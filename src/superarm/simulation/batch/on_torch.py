"""The torch engine, for a GPU: float32 draws, exact sums of whole numbers.

On a CUDA device every round is replayed from a CUDA graph. With Triton, which comes with torch on
such devices, tests of large p exist only in the registers of the kernels of
`superarm.simulation.batch.kernels`. Without Triton they are stored one chunk at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from superarm.core._cells import SPARSE_BELOW
from superarm.simulation.batch.beta_quantiles import interpolated, n_scores, rows_of
from superarm.simulation.batch.grading import TIE_BITS, Grading

Tensor = Any
Scores = Callable[[Tensor], Tensor]
Step = Callable[[], None]

# The size of the largest temporary array, in numbers.
_AT_ONCE = {"cuda": 1 << 28, "cpu": 1 << 22}
# Rounds that are played before one is recorded as a graph: they compile and allocate.
_WARM_UP = 3
# Inputs of neurons are summed as whole numbers of this share of the largest weight.
_SHARE = 2.0**-30
# Room for the members of the tests of a run: 10 standard deviations above the mean, and 32 more.
_ROOM_STDS = 10
_ROOM_LEAST = 32
# Numbers of all temporary arrays per arm whose quantiles are computed, about.
_PER_ARM = 512


class StoredQuantiles:
    """Beta posteriors, runs × arms, which change in place, with a row of quantiles for each arm.

    Takes 4 bytes per arm for each half of a score up to ``reach``, on both sides.
    """

    def __init__(self, a: Tensor, b: Tensor, reach: float, engine: TorchEngine) -> None:
        self.a, self.b, self.reach, self.engine = a, b, reach, engine
        shape = (*a.shape, n_scores(reach))
        self.rows = torch.empty(shape, dtype=torch.float32, device=a.device)
        self.renew()

    def at(self, scores: Tensor, where: Tensor | None = None) -> Tensor:
        """The quantiles at Phi(scores), for all arms."""
        return torch.sigmoid(interpolated(self.rows, scores.to(self.rows.dtype), self.engine))

    def renew(self, rows: Tensor | None = None, arms: Tensor | None = None) -> None:
        """The posteriors of some arms have changed, or of all arms."""
        if rows is not None:
            self.rows[rows, arms] = self._rows(self.a[rows, arms], self.b[rows, arms])
            return
        n_runs, n_arms = self.a.shape
        for some in self.engine.slices(n_runs, _PER_ARM * n_arms):
            self.rows[some] = self._rows(self.a[some], self.b[some])

    def _rows(self, a: Tensor, b: Tensor) -> Tensor:
        found = rows_of(a.double().flatten(), b.double().flatten(), self.reach, self.engine)
        return found.to(self.rows.dtype).reshape(*a.shape, -1)


class TorchEngine:
    """The operations of a round, with torch."""

    xp = torch
    sigmoid, gammaln = staticmethod(torch.sigmoid), staticmethod(torch.lgamma)
    ndtr, ndtri = staticmethod(torch.special.ndtr), staticmethod(torch.special.ndtri)

    def __init__(
        self, seeds: np.random.SeedSequence, device: str | None, *, fused: bool | None = None
    ) -> None:
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        on_cuda = self.device.type == "cuda"
        self.fused = on_cuda and find_spec("triton") is not None if fused is None else fused
        self.at_once = _AT_ONCE["cuda" if on_cuda else "cpu"]
        draws, tests = (int(word) >> 1 for word in seeds.generate_state(2, np.uint64))
        self.generator = torch.Generator(self.device).manual_seed(draws)
        self.key = tests
        self.clock = torch.zeros(1, dtype=torch.int64, device=self.device)

    def put(self, values: np.ndarray[Any, Any]) -> Tensor:
        """A numpy array as an array of this engine."""
        return torch.as_tensor(values).to(self.device)

    def get(self, values: Tensor) -> np.ndarray[Any, Any]:
        """An array of this engine as a numpy array."""
        return values.cpu().numpy()

    def narrow(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Means or weights in the precision in which they are kept."""
        return values.astype(np.float32)

    def double(self, values: Tensor) -> Tensor:
        """In float64."""
        return values.double()

    def like(self, values: Tensor, other: Tensor) -> Tensor:
        """In the precision of another array."""
        return values.to(other.dtype)

    def whole_numbers(self, values: Tensor) -> Tensor:
        """Whole numbers as indices."""
        return values.long()

    def full(self, shape: tuple[int, int], value: float) -> Tensor:
        """The same number for all arms, in the precision in which counts are kept."""
        return torch.full(shape, value, dtype=torch.float32, device=self.device)

    def steps(self, first: int, last: int, size: float) -> Tensor:
        """From ``first`` to ``last`` steps of a size."""
        return size * torch.arange(first, last + 1.0, dtype=torch.float64, device=self.device)

    def join(self, parts: list[Tensor]) -> Tensor:
        """Slices of runs, concatenated."""
        return torch.cat(parts)

    def beta(self, a: Tensor, b: Tensor) -> Tensor:
        """One draw from every posterior, as a ratio of two Gamma draws."""
        ours = torch._standard_gamma(a, self.generator)
        theirs = torch._standard_gamma(b, self.generator)
        return ours / theirs.add_(ours)

    def quantiles(self, a: Tensor, b: Tensor, reach: float) -> StoredQuantiles:
        """The quantiles of posteriors that change in place, at scores up to ``reach``."""
        return StoredQuantiles(a, b, reach, self)

    def search(self, ascending: Tensor, values: Tensor) -> Tensor:
        """How many numbers of each row are below each of the values."""
        return torch.searchsorted(ascending, values.expand(len(ascending), -1).contiguous())

    def along(self, values: Tensor, places: Tensor) -> Tensor:
        """The values at some places of each row."""
        return values.gather(-1, places)

    def normal(self, shape: tuple[int, ...]) -> Tensor:
        """Standard normal draws."""
        return torch.randn(shape, generator=self.generator, device=self.device, dtype=torch.float64)

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Draws from [0, 1)."""
        return torch.rand(shape, generator=self.generator, device=self.device, dtype=torch.float64)

    def top_k(self, values: Tensor, k: int) -> Tensor:
        """The k largest of each row, in any order."""
        return values.topk(k, dim=1, sorted=False).indices

    def top_k_ties(self, values: Tensor, k: int) -> Tensor:
        """The k largest of each row; ties are broken at random."""
        least = values.topk(k, dim=1).values[:, -1:]
        # Only ties at the k-th place matter.
        return self.top_k(2 * (values > least) + (values == least) * self.uniform(values.shape), k)

    def top_k_whole(self, grades: Tensor, k: int) -> Tensor:
        """The k largest whole numbers of each row; ties are broken at random."""
        keys = torch.randint(
            1 << TIE_BITS, grades.shape, generator=self.generator, device=self.device
        )
        return self.top_k(keys.add_(grades, alpha=1 << TIE_BITS), k)

    def repeat(
        self, one_round: Step, horizon: int, pauses: Collection[int] = (), pause: Step | None = None
    ) -> None:
        """Play all rounds; after some of them comes a pause.

        A GPU replays a recorded round, without waiting for the CPU.
        """

        def play(rounds: range, step: Step) -> None:
            for played in rounds:
                step()
                if pause is not None and played in pauses:
                    pause()

        if self.device.type != "cuda":
            play(range(1, horizon + 1), one_round)
            return
        first = min(_WARM_UP, horizon)
        beside, here = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        beside.wait_stream(here)
        with torch.cuda.stream(beside):
            play(range(1, first + 1), one_round)
        here.wait_stream(beside)
        if horizon > first:
            graph = torch.cuda.CUDAGraph()
            graph.register_generator_state(self.generator)
            with torch.cuda.graph(graph):
                one_round()
            play(range(first + 1, horizon + 1), graph.replay)
        torch.cuda.synchronize(self.device)

    def slices(self, n_runs: int, size: int) -> Iterator[slice]:
        """Runs to decode together, for ``size`` numbers per run."""
        step = max(1, self.at_once // size)
        return (slice(start, min(start + step, n_runs)) for start in range(0, n_runs, step))

    def decode(self, columns: Tensor, scores: Scores, first: int, grading: Grading) -> Tensor:
        """The grades of some runs, from the arms' inputs, shape (runs, n_hidden, n_arms)."""
        by = self._fused if self.fused else self._by_chunks
        if grading.p < SPARSE_BELOW:
            by = self._by_members
        sums, counts, total = by(columns, scores, first, grading)
        return grading.n_tests * sums - counts * total[:, None] if grading.centred else sums

    def _by_members(
        self, columns: Tensor, scores: Scores, first: int, grading: Grading
    ) -> tuple[Tensor, ...]:
        """For small p: each run's tests as a list of the cells that are 1, of a fixed length."""
        n_runs, n_hidden, n_arms = columns.shape
        n_cells = grading.n_tests * n_arms
        # A CUDA graph needs a fixed length. This one is never too short in practice.
        expected = n_cells * grading.p
        length = int(expected + _ROOM_STDS * math.sqrt(expected)) + _ROOM_LEAST
        gaps = (
            torch.floor(torch.log1p(-self.uniform((n_runs, length))) / math.log1p(-grading.p)) + 1
        )
        cells = (gaps.cumsum(1) - 1).long()
        inside = (cells < n_cells).long()
        cells %= n_cells  # cells beyond the end count as 0, so their place does not matter
        tests, arms = cells // n_arms, cells % n_arms
        unit, inputs = _SHARE * grading.runs.largest, []
        for neuron in range(n_hidden):
            parts = (columns[:, neuron].gather(1, arms).double() / unit).round().long()
            inputs.append(
                self._zeros(n_runs, grading.n_tests).scatter_add_(1, tests, parts * inside)
            )
        weights = scores(torch.stack(inputs, 1).double() * unit).long()
        sums = self._zeros(n_runs, n_arms).scatter_add_(1, arms, weights.gather(1, tests) * inside)
        if not grading.centred:
            return sums, None, None
        return sums, self._zeros(n_runs, n_arms).scatter_add_(1, arms, inside), weights.sum(1)

    def _by_chunks(
        self, columns: Tensor, scores: Scores, first: int, grading: Grading
    ) -> tuple[Tensor, ...]:
        """Some tests at a time: draw, score and decode them before the next ones."""
        n_runs, _, n_arms = columns.shape
        sums, counts, total = self._zeros(n_runs, n_arms), self._zeros(n_runs, n_arms), 0
        step = max(1, self.at_once // (n_runs * n_arms))
        for start in range(0, grading.n_tests, step):
            shape = n_runs, min(step, grading.n_tests - start), n_arms
            tests = torch.rand(shape, generator=self.generator, device=self.device) < grading.p
            weights = scores((columns @ tests.to(columns.dtype).mT).double())
            sums += (weights[:, None] @ tests.double())[:, 0].long()
            counts += tests.sum(1)
            total = total + weights.sum(1).long()
        return sums, counts, total

    def _fused(
        self, columns: Tensor, scores: Scores, first: int, grading: Grading
    ) -> tuple[Tensor, ...]:
        """Tests that exist in registers only: made once for the scores, and again for decoding."""
        from superarm.simulation.batch import kernels

        tests = kernels.Tests(
            grading.n_tests, columns.shape[2], grading.p, self.key, self.clock, first
        )
        weights = scores(kernels.sums(tests, columns.contiguous())).to(
            torch.int32 if grading.narrow else torch.int64
        )
        sums = kernels.sums_by_arm(tests, weights)
        if not grading.centred:
            return sums, None, None
        return sums, kernels.sums_by_arm(tests, torch.ones_like(weights)), weights.sum(1)

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.int64, device=self.device)
