"""The one palette: colours that can be told apart by colour-blind readers, on light and on dark.

The colours are Okabe and Ito's, and a few of Tol's for policies beyond these eight. A policy keeps
its colour and its dash in every picture.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BLUE", "FAINT", "GREEN", "GREY", "INK", "ORANGE", "PINK", "RED", "SERIES", "SKY", "Look", "look"]

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PINK, GREY = "#56B4E9", "#CC79A7", "#999999"
# Text, axes and the random baseline: `figures` replaces it by the colour of the text around it.
INK = "#767678"
FAINT = "#9a9a9c"  # lines that only guide the eye

# For curves that are not policies.
SERIES = (BLUE, RED, GREEN, ORANGE, PINK, SKY, GREY)


class Look(NamedTuple):
    """How a curve is drawn."""

    colour: str
    dash: str = "-"


# TODO: from the catalog
_LOOKS = {
    "random": Look(INK),
    "CUCB": Look(GREY),
    "GT+QTS, regression": Look("#AA3377"),
    "GT+QTS, p=1/2": Look(ORANGE),
    "GT+QTS, p=2/3": Look(ORANGE, "--"),
    "GT+QTS, p=K/m, centred": Look(RED, "--"),
    "GT+QTS, p=K/m": Look(PINK),
    "GT+QTS, p=1/m": Look(PINK, "--"),
    "GT+QTS, 426 tests": Look(SKY),
    "naive GT": Look(ORANGE, ":"),
    "centred, p=1/2": Look(RED),
    "centred, p=K/m": Look(RED, "--"),
    "CTS, lazy, rarely": Look("#228833", "--"),
    "CTS, lazy greedy": Look(GREEN, "--"),
    "CTS, local search": Look("#AA4499"),
    "CTS, lazy": Look(SKY, "--"),
    "CTS, greedy": Look(GREEN),
    "CTS": Look(BLUE),
}


def look(label: str) -> Look:
    """The look of a policy: of the first name that begins its label."""
    found = (one for name, one in _LOOKS.items() if label.startswith(name))
    return next(found, Look(GREY, ":"))
