"""A small table of outcomes with missing cells, and a name that looks like markup."""

import numpy as np

NAN = float("nan")
NAMES = ("ham", "egg", "tea", "<b>pie</b>", "figs")
MU = (0.2, 0.8, 0.5, 0.6, 0.1)


def cells(n_rounds=120, missing=0.1):
    rng = np.random.default_rng(4)
    table = (rng.random((n_rounds, 5)) < MU).astype(float)
    table[rng.random(table.shape) < missing] = NAN
    return table


def as_text(table, names=NAMES):
    lines = [",".join("" if cell != cell else f"{cell:g}" for cell in row) for row in table]
    return "\n".join([",".join(names), *lines]) + "\n"
