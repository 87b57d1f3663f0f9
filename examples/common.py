"""What the examples share: their two options, tables, pictures, and a counter of batches."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from superarm.reporting.figures import WIDTH, render
from superarm.reporting.statistics import Interval, mean_interval


def options(doc: str) -> dict[str, Any]:
    """The command line of an example, as the arguments of its ``main``."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, to see that it works; the numbers mean nothing",
    )
    parser.add_argument(
        "--out", type=Path, default=Path(), help="the folder to write the picture into"
    )
    return vars(parser.parse_args())


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table as Markdown, as in the docs; all columns but the first are numbers."""
    cells = [[*map(str, row), *[""] * (len(head) - len(row))] for row in (head, *rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(len(head))]
    print(f"\n{title}\n")
    for number, row in enumerate(cells):
        right = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("| " + " | ".join([row[0].ljust(widths[0]), *right]) + " |")
        if number == 0:
            print(
                "| "
                + " | ".join(
                    ["---".ljust(widths[0]), *["---:".rjust(width) for width in widths[1:]]]
                )
                + " |"
            )
    print()


def save(draw: Callable[[Any], None], path: Path, *, height: float = 4.0) -> Path:
    """Write a picture as SVG."""
    path.write_text(render(draw, size=(WIDTH, height)), encoding="utf-8")
    print(f"picture: {path}")
    return path


def interval(values: Any, digits: int = 1) -> str:
    """A mean over runs with its 95% interval, in a table's cell."""
    found: Interval = mean_interval(np.asarray(values, np.float64))
    return f"{found.mean:,.{digits}f} ({found.low:,.{digits}f} to {found.high:,.{digits}f})"


class InBatches(sa.BlackBox):
    """A black box that notes how many sets it evaluates at once.

    However many processes there are, the sets of a batch wait for the batch before them.
    """

    def __init__(self, fn: Callable[..., float], **declared: Any) -> None:
        super().__init__(fn, **declared)
        self.sizes: list[int] = []

    def __call__(self, arms: Any, means: Any) -> float:
        """One set."""
        self.sizes.append(1)
        return super().__call__(arms, means)

    def batch(self, pools: sa.Pools, theta: Any) -> np.ndarray:
        """Many sets."""
        self.sizes.append(len(pools))
        return super().batch(pools, theta)


def steps(sizes: Sequence[int], n_processes: int) -> int:
    """How many evaluations follow one another with this number of processes."""
    return sum(-(-size // n_processes) for size in sizes)
