"""Why the literal decoder finds nothing at the paper's size: signal over noise at every p.

At theta = mu, the easiest case, a best arm's grade differs from another arm's on average by a
signal, and varies by a noise. Both follow from the law of the tests. A reliable decision takes a
signal of about four times the noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.figures import Look, logarithmic, name_curves, panels
from superarm.reporting.palette import BLUE, FAINT, RED
from superarm.reporting.statistics import mean_interval
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.paper.experiments import fig2a
from superarm.studies.paper.policies import N_TESTS
from superarm.studies.study import Findings

TITLE = "Signal over noise of the decoders"

N_RUNS = 20
RELIABLE = 4.0  # standard deviations that a signal must have
CHECKED_P = (0.001, 0.01, 0.5)
_LOOKS = {
    "sum, median": Look(BLUE),
    "sum, strongest": Look(BLUE, "--"),
    "centred, median": Look(RED),
    "centred, strongest": Look(RED, "--"),
}


def cells(scale: Scale) -> list[Cell]:
    """Instances of figure 2A."""
    settings = {
        **fig2a.played(scale)["problem"],
        "n_tests": N_TESTS,
        "checked_p": list(CHECKED_P),
        "n_checks": scale.pick(20_000, 5000, 2000),
    }
    return scale.cells("signal", [settings], runs=N_RUNS)


def analyse(rows: Rows, times: Rows) -> Findings:
    """The largest signal over noise over all p, and the tests that a decision takes."""
    p = np.array(rows[0]["p"])
    found: dict[str, Any] = {}
    for name in _LOOKS:
        curves = np.array([row["curves"][name] for row in rows])
        largest = curves.max(axis=1)
        found[name] = {
            "largest": mean_interval(largest)._asdict(),
            "at_p": float(p[curves.mean(axis=0).argmax()]),
            "tests_needed": float(np.mean(N_TESTS * (RELIABLE / largest) ** 2)),
            "at_half": float(np.mean([np.interp(0.5, p, curve) for curve in curves])),
        }
    numbers = {"n_tests": N_TESTS, "found": found, "check": _check(rows)}
    return Findings(
        numbers, [_table(found), _check_table(numbers)], lambda figure: _draw(figure, rows)
    )


def _check(rows: Rows) -> list[dict[str, Any]]:
    """Computed and simulated standard deviations over all instances, and the mean's z-score."""
    found = []
    for name in _LOOKS:
        for number, p in enumerate(rows[0]["checked_p"]):
            n = rows[0]["n_checks"]
            measured = np.array([row["measured"][name][number] for row in rows])
            computed = np.array([row["computed"][name][number] for row in rows])
            ratio = computed / np.sqrt(rows[0]["n_tests"])  # the mean of one test over its spread
            z = (measured[:, 0] / measured[:, 1] - ratio) * np.sqrt(n)
            found.append({"curve": name, "p": p, "z": float(z.sum() / np.sqrt(len(z)))})
    return found


def _table(found: dict[str, Any]) -> Table:
    largest = "{mean:.3f} ({low:.3f} to {high:.3f})"
    rows = [
        {
            "decoder": decoder,
            "against the other arm": other,
            f"largest signal over noise, {N_TESTS} tests": largest.format(**one["largest"]),
            "at p": f"{one['at_p']:.2g}",
            "at p = 1/2": f"{one['at_half']:.4f}",
            f"tests for {RELIABLE:g} standard deviations": f"{one['tests_needed']:.1e}",
        }
        for (decoder, other), one in ((name.split(", "), one) for name, one in found.items())
    ]
    return Table.of(
        rows,
        caption="How well a decoder tells a best arm from the median arm and from the strongest "
        "other arm, at theta = mu. More is better.",
    )


def _check_table(numbers: dict[str, Any]) -> Table:
    body = [[one["curve"], f"{one['p']:g}", f"{one['z']:.2f}"] for one in numbers["check"]]
    return Table(
        ["curve", "p", "z-score"],
        body,
        caption="Computed against simulated signal over noise. A z-score beyond 4 in either "
        "direction would be a disagreement.",
    )


def _draw(figure: Any, rows: Rows) -> None:
    (axis,) = panels(figure, 1, n_names=2)
    p = np.array(rows[0]["p"])
    ends = {}
    for name, look in _LOOKS.items():
        mean = np.mean([row["curves"][name] for row in rows], axis=0)
        axis.plot(p, mean, color=look.colour, linestyle=look.dash, linewidth=1.7)
        ends[name] = (float(mean[-1]), look)
    axis.axhline(RELIABLE, color=FAINT, linestyle=":")
    axis.text(p[0], 0.75 * RELIABLE, "a reliable decision", fontsize=9, va="top")
    logarithmic(axis)
    axis.set(xlabel="probability p that an arm is in a test", ylabel="signal over noise")
    axis.set_title(f"what {N_TESTS} tests can see of a best arm", loc="left")
    name_curves(axis, ends)
