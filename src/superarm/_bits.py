"""Test matrices as packed bits: drawing them, and the two products that group testing needs.

A matrix of ``n`` rows and ``m`` columns is a ``(n, ceil(m / 8))`` array of bytes, bit j of byte c of a row being
column ``8 c + j``; bits beyond column m - 1 are zero. Eight columns at a time, a product is one look-up in a table
of 256 partial sums instead of eight multiplications.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superarm._checks import FloatArray, IndexArray

Bits = NDArray[np.uint8]

# Rows are worked a block at a time. A block that fits the cache is several times faster than the whole matrix,
# most of whose time goes into fetching fresh pages of memory.
_CELLS_AT_ONCE = 1 << 18
_LOOKUPS_AT_ONCE = 1 << 15


def draw(n_rows: int, n_columns: int, p: float, *, rng: np.random.Generator) -> Bits:
    """Independent bits, each 1 with probability ``p`` (exact to the precision of p)."""
    if p == 0.5:
        return _fair(n_rows, n_columns, rng=rng)
    blocks = [
        np.packbits(_biased((stop - start, n_columns), p, rng=rng), axis=1, bitorder="little")
        for start, stop in _blocks(n_rows, n_columns, _CELLS_AT_ONCE)
    ]
    return np.concatenate(blocks) if blocks else np.zeros((0, -(-n_columns // 8)), np.uint8)


def row_sums(bits: Bits, values: FloatArray) -> FloatArray:
    """A @ values, for values of shape (n_columns,) or (n_columns, d)."""
    if values.ndim == 2:
        blocks = [
            unpack(bits[start:stop], len(values)).astype(np.float64) @ values
            for start, stop in _blocks(len(bits), len(values), _CELLS_AT_ONCE)
        ]
        return np.concatenate(blocks) if blocks else np.zeros((0, values.shape[1]))
    tables = _subset_sums(values)
    sums = np.zeros(len(bits))
    places = 256 * np.arange(bits.shape[1])
    for start, stop in _blocks(len(bits), bits.shape[1], _LOOKUPS_AT_ONCE):
        # "wrap" only because it is the fastest mode: no entry is out of range.
        sums[start:stop] = tables.take(bits[start:stop] + places, mode="wrap").sum(axis=1)
    return sums


def column_sums(bits: Bits, values: FloatArray, n_columns: int) -> FloatArray:
    """A.T @ values, for values of shape (n_rows,)."""
    sums = np.zeros(8 * bits.shape[1])
    for table, entries in zip(_subset_sums(values), _eight_rows_at_a_time(bits), strict=True):
        sums += table.take(entries)
    return sums[:n_columns]


def row_counts(bits: Bits) -> IndexArray:
    """How many ones each row has."""
    return np.bitwise_count(bits).sum(axis=1, dtype=np.intp)


def unpack(bits: Bits, n_columns: int) -> Bits:
    """The matrix of 0 and 1, one byte a cell."""
    return np.unpackbits(bits, axis=1, count=n_columns, bitorder="little")


def _fair(n_rows: int, n_columns: int, *, rng: np.random.Generator) -> Bits:
    n_bytes = -(-n_columns // 8)
    words = rng.integers(0, 2**64 - 1, -(-n_rows * n_bytes // 8), dtype=np.uint64, endpoint=True)
    bits = words.astype("<u8", copy=False).view(np.uint8)[: n_rows * n_bytes].reshape(n_rows, n_bytes)
    if n_columns % 8:
        bits[:, -1] &= (1 << n_columns % 8) - 1
    return bits


def _biased(shape: tuple[int, int], p: float, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    # One random byte decides a cell, unless it falls on the byte in which p itself lies; then a float decides.
    n_cells = shape[0] * shape[1]
    words = rng.integers(0, 2**64 - 1, -(-n_cells // 8), dtype=np.uint64, endpoint=True)
    coins = words.astype("<u8", copy=False).view(np.uint8)[:n_cells]
    whole = int(p * 256)
    rest = p * 256 - whole
    cells: NDArray[np.bool_] = coins < whole
    if rest:
        undecided = np.flatnonzero(coins == whole)
        cells[undecided] = rng.random(undecided.size) < rest
    return cells.reshape(shape)


def _subset_sums(values: FloatArray) -> FloatArray:
    """Row c holds, for each byte b, the sum of those of the values 8c ... 8c + 7 whose bit of b is set."""
    eights = np.zeros((-(-len(values) // 8), 8))
    eights.ravel()[: len(values)] = values
    tables = np.zeros((len(eights), 256))
    for j in range(8):
        tables[:, 1 << j : 2 << j] = tables[:, : 1 << j] + eights[:, j, None]
    return tables


def _eight_rows_at_a_time(bits: Bits) -> Bits:
    """Bytes (n_rows / 8, n_columns), bit r of a byte being row 8 b + r: an 8 × 8 transpose inside every word."""
    n_rows, n_bytes = bits.shape
    padded = np.zeros((-(-n_rows // 8) * 8, n_bytes), np.uint8)
    padded[:n_rows] = bits
    squares = np.ascontiguousarray(padded.reshape(-1, 8, n_bytes).swapaxes(1, 2))
    words = squares.view("<u8")
    # Swap the off-diagonal 1 × 1, then 2 × 2, then 4 × 4 corners of each square of bits.
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        moved = (words ^ (words >> np.uint64(shift))) & np.uint64(mask)
        words ^= moved ^ (moved << np.uint64(shift))
    return squares.reshape(-1, 8 * n_bytes)


def _blocks(n_rows: int, n_columns: int, at_once: int) -> list[tuple[int, int]]:
    step = max(1, at_once // n_columns)
    return [(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
