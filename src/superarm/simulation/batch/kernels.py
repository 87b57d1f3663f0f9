"""Group testing in two Triton kernels, for tests that exist only in registers.

32 tests of one arm are one random word, a function of (round, run, tests, arm): Philox 4x32 with
these as its counter, four arms per call. The first kernel makes the words to add up the values
of each test's arms. The second kernel makes the same words again to add up the scores of each arm's
tests. So the test matrix is never in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

Tensor = Any

# p is rounded to this many binary digits, as a uniform float32 would round it.
DIGITS = 24
# Quads of arms per step, warps per program (one arm per thread), and the most arms per program.
# Chosen by measuring on an H200.
BLOCK, WARPS, MOST = 64, 2, 1 << 15


@dataclass(frozen=True)
class Tests:
    """The tests of the round that ``clock`` says, for the runs from ``first`` on."""

    n_tests: int
    n_arms: int
    p: float
    key: int
    clock: Tensor
    first: int

    @property
    def n_words(self) -> int:
        """Words per arm; a word has 32 tests."""
        return -(-self.n_tests // 32)

    @property
    def n_quads(self) -> int:
        """Quads of arms; quad i has the arms i, i + n_quads, i + 2 n_quads and i + 3 n_quads."""
        return -(-self.n_arms // 4)

    @property
    def digits(self) -> tuple[int, int]:
        """p as a whole number of 2^-d, and d; the number is odd unless p rounds to 0."""
        number, n_digits = max(1, min(round(self.p * 2**DIGITS), 2**DIGITS - 1)), DIGITS
        while number % 2 == 0:
            number, n_digits = number // 2, n_digits - 1
        return number, n_digits


def sums(tests: Tests, columns: Tensor) -> Tensor:
    """A @ columns for every run: (n_runs, n_hidden, n_arms) gives (n_runs, n_hidden, n_tests).

    In float64. A thread adds at most a few hundred values in float32; the sums of the threads are
    added in float64, in a fixed order.
    """
    n_runs, n_hidden, _ = columns.shape
    n_parts = -(-tests.n_arms // MOST)
    quads_per_part = -(-tests.n_quads // (n_parts * BLOCK)) * BLOCK
    shape = n_runs, n_hidden, n_parts, tests.n_words * 32
    out = torch.empty(shape, dtype=torch.float64, device=columns.device)
    grid = n_runs * n_hidden, tests.n_words, n_parts
    number, n_digits = tests.digits
    _sums[grid](
        columns, out, tests.clock, tests.key, tests.first, tests.n_arms, tests.n_quads, n_hidden,
        quads_per_part, NUMBER=number, N_DIGITS=n_digits, BLOCK=BLOCK, num_warps=WARPS,
    )  # fmt: skip
    return (out[:, :, 0] if n_parts == 1 else out.sum(2))[:, :, : tests.n_tests]


def sums_by_arm(tests: Tests, weights: Tensor) -> Tensor:
    """A.T @ weights for every run: integers (n_runs, n_tests) give (n_runs, n_arms), int64."""
    n_runs = len(weights)
    padded = torch.nn.functional.pad(weights, (0, tests.n_words * 32 - tests.n_tests)).contiguous()
    out = torch.empty((n_runs, tests.n_arms), dtype=weights.dtype, device=weights.device)
    grid = n_runs, -(-tests.n_quads // BLOCK)
    number, n_digits = tests.digits
    _sums_by_arm[grid](
        padded, out, tests.clock, tests.key, tests.first, tests.n_arms, tests.n_quads,
        tests.n_words, NUMBER=number, N_DIGITS=n_digits, BLOCK=BLOCK, num_warps=WARPS,
    )  # fmt: skip
    return out.long()


@triton.jit
def _words(key, quad, word, run, clock, NUMBER: tl.constexpr, N_DIGITS: tl.constexpr):
    """Four words of independent bits, each 1 with probability NUMBER / 2^N_DIGITS.

    A bit says whether a uniform number is below p. The number is drawn digit by digit, the last
    digit first. Where the digit of p is 1, a drawn 0 sets the bit; where it is 0, a drawn 1 clears
    the bit.
    """
    zero = quad * 0
    c1, c2, c3 = zero + word * N_DIGITS, zero + clock, zero + run
    w0, w1, w2, w3 = tl.philox(key, quad, c1, c2, c3)
    for digit in range(1, N_DIGITS):
        u0, u1, u2, u3 = tl.philox(key, quad, c1 + digit, c2, c3)
        one = ((NUMBER >> digit) & 1) != 0
        w0 = tl.where(one, w0 | u0, w0 & u0)
        w1 = tl.where(one, w1 | u1, w1 & u1)
        w2 = tl.where(one, w2 | u2, w2 & u2)
        w3 = tl.where(one, w3 | u3, w3 & u3)
    return w0, w1, w2, w3


@triton.jit
def _masked(word, bits, values, zero):
    """A (32, BLOCK) tile: the values where the bits of the words are 1."""
    return tl.where(((word[None, :] >> bits[:, None]) & 1) != 0, values, zero)


@triton.jit
def _sums(
    columns, out, clock, key, first, n_arms, n_quads, n_hidden, quads_per_part,
    NUMBER: tl.constexpr, N_DIGITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, word, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    now = tl.load(clock).to(tl.int32)
    run = first + row // n_hidden
    columns += row.to(tl.int64) * n_arms
    bits = tl.arange(0, 32).to(tl.uint32)
    # Arms are spread over threads, tests over the registers of a thread: no word is made twice.
    added = tl.zeros([32, BLOCK], tl.float32)
    end = tl.minimum((part + 1) * quads_per_part, n_quads)
    for start in range(part * quads_per_part, end, BLOCK):
        quad = start + tl.arange(0, BLOCK)
        w0, w1, w2, w3 = _words(key, quad, word, run, now, NUMBER, N_DIGITS)
        there = quad < n_quads
        v0 = tl.load(columns + quad, there & (quad < n_arms), 0.0)
        v1 = tl.load(columns + quad + n_quads, there & (quad + n_quads < n_arms), 0.0)
        v2 = tl.load(columns + quad + 2 * n_quads, there & (quad + 2 * n_quads < n_arms), 0.0)
        v3 = tl.load(columns + quad + 3 * n_quads, there & (quad + 3 * n_quads < n_arms), 0.0)
        added += _masked(w0, bits, v0[None, :], 0.0)
        added += _masked(w1, bits, v1[None, :], 0.0)
        added += _masked(w2, bits, v2[None, :], 0.0)
        added += _masked(w3, bits, v3[None, :], 0.0)
    place = (row.to(tl.int64) * tl.num_programs(2) + part) * tl.num_programs(1) + word
    tl.store(out + place * 32 + tl.arange(0, 32), tl.sum(added.to(tl.float64), axis=1))


@triton.jit
def _sums_by_arm(
    weights, out, clock, key, first, n_arms, n_quads, n_words,
    NUMBER: tl.constexpr, N_DIGITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, block = tl.program_id(0), tl.program_id(1)
    now = tl.load(clock).to(tl.int32)
    run = first + row
    quad = block * BLOCK + tl.arange(0, BLOCK)
    bits = tl.arange(0, 32).to(tl.uint32)
    kind = weights.dtype.element_ty
    g0 = tl.zeros([BLOCK], kind)
    g1 = tl.zeros([BLOCK], kind)
    g2 = tl.zeros([BLOCK], kind)
    g3 = tl.zeros([BLOCK], kind)
    zero = tl.zeros([1, 1], kind)
    for word in range(n_words):
        w0, w1, w2, w3 = _words(key, quad, word, run, now, NUMBER, N_DIGITS)
        scores = tl.load(weights + (row.to(tl.int64) * n_words + word) * 32 + tl.arange(0, 32))[
            :, None
        ]
        g0 += tl.sum(_masked(w0, bits, scores, zero), axis=0)
        g1 += tl.sum(_masked(w1, bits, scores, zero), axis=0)
        g2 += tl.sum(_masked(w2, bits, scores, zero), axis=0)
        g3 += tl.sum(_masked(w3, bits, scores, zero), axis=0)
    out += row.to(tl.int64) * n_arms
    there = quad < n_quads
    tl.store(out + quad, g0, there & (quad < n_arms))
    tl.store(out + quad + n_quads, g1, there & (quad + n_quads < n_arms))
    tl.store(out + quad + 2 * n_quads, g2, there & (quad + 2 * n_quads < n_arms))
    tl.store(out + quad + 3 * n_quads, g3, there & (quad + 3 * n_quads < n_arms))
