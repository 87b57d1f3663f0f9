"""Test matrices as packed bits: drawing them, and the two products that group testing needs.

Eight rows share a byte. A matrix of ``n`` rows and ``m`` columns is a ``(ceil(n / 8), m)`` array of
bytes. Bit r of byte (b, i) is row ``8 b + r`` of column i, and the bits of rows beyond the last are
zero. So, for eight rows at a time, a product with A is a histogram of its bytes, and a product with
A.T is a look-up in a table of 256 sums.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray

Bits = NDArray[np.uint8]

# Row v has the bits of the byte v.
BITS_OF_BYTE = np.unpackbits(
    np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little"
).astype(np.float64)

# By how much a byte is shifted so that each of its bits becomes the last one.
_SHIFTS = np.arange(8, dtype=np.uint8)[:, None]
# Cells are unpacked block by block: a block that stays in the cache is several times faster.
_CELLS_AT_ONCE = 1 << 18
# A byte is drawn by a number of 16 bits.
_PLACES = 1 << 16


def draw(n_rows: int, n_columns: int, p: float, *, rng: np.random.Generator) -> Bits:
    """Independent bits, each 1 with probability ``p`` (exact to the precision of p).

    For p = 1/2, random bytes will do. Otherwise a byte is looked up by a random number of 16 bits,
    in a table in which byte v has its share of the 65,536 places, rounded down. At most 255 places
    are left over. Their bytes are drawn a second time, which corrects the rounding.
    """
    shape = (-(-n_rows // 8), n_columns)
    n_bytes = shape[0] * n_columns
    bits = ~_random_bytes(n_bytes, rng=rng) if p == 0.5 else _looked_up(n_bytes, p, rng=rng)
    bits = bits.reshape(shape)
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
    histograms = np.empty((len(bits), 256))
    for block, row in enumerate(bits):
        histograms[block] = np.bincount(row, values, 256)
    return (histograms @ BITS_OF_BYTE).ravel()[:n_rows]


def column_sums(bits: Bits, values: FloatArray) -> FloatArray:
    """A.T @ values, for values of shape (n_rows,)."""
    eights = np.zeros((len(bits), 8))
    eights.ravel()[: len(values)] = values
    sums = np.zeros(bits.shape[1])
    for table, row in zip(eights @ BITS_OF_BYTE.T, bits, strict=True):
        sums += table.take(row)
    return sums


def row_counts(bits: Bits, n_rows: int) -> IndexArray:
    """How many ones each row has."""
    return row_sums(bits, np.ones(bits.shape[1]), n_rows).astype(np.intp)


def unpack(bits: Bits, n_rows: int) -> Bits:
    """The matrix of 0 and 1, one byte per cell."""
    cells = np.right_shift(bits[:, None, :], _SHIFTS)
    cells &= 1
    return cells.reshape(-1, bits.shape[1])[:n_rows]


def _looked_up(n_bytes: int, p: float, *, rng: np.random.Generator) -> Bits:
    table, n_sure, left_over = _byte_table(p)
    bits = np.empty(n_bytes, np.uint8)
    # In blocks, since a look-up needs eight bytes of memory per byte.
    for start in range(0, n_bytes, _CELLS_AT_ONCE):
        block = bits[start : start + _CELLS_AT_ONCE]
        places = _random_bytes(2 * block.size, rng=rng).view("<u2")
        # No place is outside the table, but without a mode numpy would use a buffer.
        table.take(places, out=block, mode="clip")
        again = (places >= n_sure).nonzero()[0]
        # The last share is 1 up to rounding, which must not lead beyond the table.
        block[again] = left_over[:-1].searchsorted(rng.random(again.size), side="right")
    return bits


@lru_cache(maxsize=16)
def _byte_table(p: float) -> tuple[Bits, int, FloatArray]:
    """The byte of each of 65,536 places, how many places are sure, and the second draw.

    The second draw is given as the cumulated shares of the bytes.
    """
    ones = BITS_OF_BYTE.sum(axis=1)
    wanted = p**ones * (1 - p) ** (8 - ones) * _PLACES
    sure = np.floor(wanted).astype(np.intp)
    n_sure = int(sure.sum())
    table = np.zeros(_PLACES, np.uint8)
    table[:n_sure] = np.repeat(np.arange(256, dtype=np.uint8), sure)
    cumulated = np.cumsum(wanted - sure)
    return table, n_sure, cumulated / max(cumulated[-1], np.finfo(np.float64).tiny)


def _random_bytes(n_bytes: int, *, rng: np.random.Generator) -> Bits:
    n_words, source = -(-n_bytes // 8), rng.bit_generator
    if isinstance(source, np.random.PCG64):
        # What the default generator draws anyway, without the checks of `integers`.
        words = source.random_raw(n_words)
    else:
        words = rng.integers(0, 2**64 - 1, n_words, dtype=np.uint64, endpoint=True)
    return words.astype("<u8", copy=False).view(np.uint8)[:n_bytes]


def _blocks(n_rows: int, n_columns: int) -> list[tuple[int, int]]:
    step = max(1, _CELLS_AT_ONCE // n_columns)
    return [(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
