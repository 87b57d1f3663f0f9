"""Test matrices as packed bits: drawing them, and the two products that group testing needs.

Eight rows share a byte: a matrix of ``n`` rows and ``m`` columns is a ``(ceil(n / 8), m)`` array of bytes, bit r of
byte (b, i) being row ``8 b + r`` of column i; the bits of rows beyond the last are zero. Then, for eight rows at a
time, a product with A is a histogram of its bytes, and a product with A.T a look-up in a table of 256 sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superarm.checks import FloatArray, IndexArray

Bits = NDArray[np.uint8]

# Row v has the bits of the byte v.
_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)

# Cells are unpacked a block at a time: a block that stays in the cache is several times faster.
_CELLS_AT_ONCE = 1 << 18


def draw(n_rows: int, n_columns: int, p: float, *, rng: np.random.Generator) -> Bits:
    """Independent bits, each 1 with probability ``p`` (exact to the precision of p).

    A bit is 1 if a uniform number u is below p, and u comes digit by digit: each digit that differs from p's decides
    half of the bits that are left, eight to a byte. After eight digits a float decides the few that remain.
    """
    bits = np.zeros((-(-n_rows // 8), n_columns), np.uint8)
    undecided = np.full_like(bits, 255)
    rest = p
    for _ in range(8):
        digits = _random_bytes(bits.size, rng=rng).reshape(bits.shape)
        rest *= 2
        if rest >= 1:
            bits |= undecided & ~digits
            undecided &= digits
            rest -= 1
        else:
            undecided &= ~digits
        if rest == 0:
            break
    else:
        late = np.flatnonzero(undecided)
        below = np.packbits(rng.random((late.size, 8)) < rest, axis=1).ravel()
        bits.ravel()[late] |= undecided.ravel()[late] & below
    if n_rows % 8:
        bits[-1] &= (1 << n_rows % 8) - 1
    return bits


def row_sums(bits: Bits, values: FloatArray, n_rows: int) -> FloatArray:
    """A @ values, for values of shape (n_columns,) or (n_columns, d)."""
    if values.ndim == 2:
        blocks = [
            unpack(bits[start:stop], 8 * (stop - start)).astype(np.float64) @ values
            for start, stop in _blocks(len(bits), 8 * len(values))
        ]
        return np.concatenate([*blocks, np.zeros((0, values.shape[1]))])[:n_rows]
    histograms = np.zeros((len(bits), 256))
    for histogram, row in zip(histograms, bits, strict=True):
        histogram += np.bincount(row, values, 256)
    return (histograms @ _BITS_OF_BYTE).ravel()[:n_rows]


def column_sums(bits: Bits, values: FloatArray) -> FloatArray:
    """A.T @ values, for values of shape (n_rows,)."""
    eights = np.zeros((len(bits), 8))
    eights.ravel()[: len(values)] = values
    sums = np.zeros(bits.shape[1])
    for table, row in zip(eights @ _BITS_OF_BYTE.T, bits, strict=True):
        sums += table.take(row)
    return sums


def row_counts(bits: Bits, n_rows: int) -> IndexArray:
    """How many ones each row has."""
    return row_sums(bits, np.ones(bits.shape[1]), n_rows).astype(np.intp)


def unpack(bits: Bits, n_rows: int) -> Bits:
    """The matrix of 0 and 1, one byte a cell."""
    cells = np.empty((len(bits), 8, bits.shape[1]), np.uint8)
    for r in range(8):
        np.bitwise_and(bits >> r, 1, out=cells[:, r])
    return cells.reshape(-1, bits.shape[1])[:n_rows]


def _random_bytes(n_bytes: int, *, rng: np.random.Generator) -> Bits:
    words = rng.integers(0, 2**64 - 1, -(-n_bytes // 8), dtype=np.uint64, endpoint=True)
    return words.astype("<u8", copy=False).view(np.uint8)[:n_bytes]


def _blocks(n_rows: int, n_columns: int) -> list[tuple[int, int]]:
    step = max(1, _CELLS_AT_ONCE // n_columns)
    return [(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
