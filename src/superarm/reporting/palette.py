"""The one palette: colours that colour-blind readers can distinguish, on light and on dark.

The colours are Okabe and Ito's. Those of policies are in the catalog: see `figures.look`.
"""

from __future__ import annotations

__all__ = [
    "BLUE",
    "FAINT",
    "GREEN",
    "GREY",
    "INK",
    "ORANGE",
    "PINK",
    "RED",
    "SERIES",
    "SKY",
]

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PINK, GREY = "#56B4E9", "#CC79A7", "#999999"
# Text, axes and the random baseline: `figures` replaces it by the colour of the text around it.
INK = "#767678"
FAINT = "#9a9a9c"  # lines that only guide the eye

# For curves that are not policies.
SERIES = (BLUE, RED, GREEN, ORANGE, PINK, SKY, GREY)
