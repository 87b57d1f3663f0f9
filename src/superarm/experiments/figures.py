"""How pictures look: bands over runs, names at the ends of curves, few lines. Needs ``superarm[plots]``."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.experiments.stats import mean_interval

# Okabe and Ito's colours, which colour-blind readers can tell apart, and a dash where two share one. A policy keeps
# its style in every picture; the first entry whose name begins the label counts.
_STYLES = {
    "random": ("#000000", "-"),
    "CUCB": ("#999999", "-"),
    "GT+QTS, regression": ("#882255", "-"),
    "GT+QTS, p=1/2": ("#E69F00", "-"),
    "GT+QTS, p=2/3": ("#E69F00", "--"),
    "GT+QTS, p=K/m, centred": ("#D55E00", "--"),
    "GT+QTS, p=K/m": ("#CC79A7", "-"),
    "GT+QTS, p=1/m": ("#CC79A7", "--"),
    "GT+QTS, 426 tests": ("#56B4E9", "-"),
    "naive GT": ("#E69F00", ":"),
    "centred, p=1/2": ("#D55E00", "-"),
    "centred, p=K/m": ("#D55E00", "--"),
    "CTS, lazy, rarely": ("#117733", "--"),
    "CTS, lazy greedy": ("#009E73", "--"),
    "CTS, local search": ("#AA4499", "-"),
    "CTS, lazy": ("#56B4E9", "--"),
    "CTS, greedy": ("#009E73", "-"),
    "CTS": ("#0072B2", "-"),
}


def style(label: str) -> tuple[str, str]:
    """The colour and the dash of a policy."""
    return next(
        (found for name, found in _STYLES.items() if label.startswith(name)), ("#555555", ":")
    )


def render(draw: Callable[[Any], None], *, size: tuple[float, float] = (12.5, 4.8)) -> bytes:
    """A picture as the bytes of a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120, metadata={"Software": None})
    return buffer.getvalue()


def band(
    axis: Any,
    x: FloatArray | IndexArray,
    runs: FloatArray,
    colour: str,
    dash: str = "-",
    *,
    least: float = 0.0,
) -> None:
    """The mean over runs, shape (n_runs, len(x)), with its 95% interval, which is not drawn below ``least``."""
    intervals = [mean_interval(column) for column in runs.T]
    axis.plot(
        x, [interval.mean for interval in intervals], color=colour, linestyle=dash, linewidth=1.7
    )
    if len(runs) > 1:
        low, high = np.maximum(least, [i.low for i in intervals]), [i.high for i in intervals]
        axis.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def plain(axis: Any, x: str, y: str) -> None:
    """Named axes, and no box."""
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.spines[["top", "right"]].set_visible(False)


def label_ends(axis: Any, ends: Mapping[str, tuple[float, str]], *, log: bool = False) -> None:
    """Each curve's name, in its colour, at the height where it ends, moved apart where curves end close together."""
    bottom, top = axis.get_ylim()
    to_share: Callable[[float], float]
    if log:
        to_share = lambda y: float(np.log(max(y, bottom) / bottom) / np.log(top / bottom))  # noqa: E731
    else:
        to_share = lambda y: (y - bottom) / (top - bottom)  # noqa: E731
    shares = sorted((to_share(value), label, colour) for label, (value, colour) in ends.items())
    step = 0.052
    places: list[float] = []
    for share, _, _ in shares:
        places.append(max(share, places[-1] + step) if places else share)
    # What was pushed beyond the top comes down again, pushing the others before it.
    for j in reversed(range(len(places))):
        ceiling = 1.0 if j == len(places) - 1 else places[j + 1] - step
        places[j] = min(places[j], ceiling)
    for place, (_, label, colour) in zip(places, shares, strict=True):
        axis.annotate(
            f" {label}",
            (1.0, place),
            xycoords="axes fraction",
            color=colour,
            va="center",
            fontsize=9,
            annotation_clip=False,
        )
