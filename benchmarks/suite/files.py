"""Write the files of the benchmark, and read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from suite import pictures, report
from superarm.reporting import files
from superarm.reporting.files import as_csv

Row = dict[str, Any]


def write(results: Row, folder: Path) -> list[Path]:
    """Write the results as JSON and CSV, the pictures, and the page, which comes last."""
    texts = {
        "performance.csv": as_csv(results["rows"]),
        "performance-thompson.svg": pictures.thompson(results),
        "performance-oracles.svg": pictures.oracles(results),
        "performance.json": json.dumps(results, indent=1) + "\n",
        "performance.md": report.render(results),
    }
    return [files.write(folder / name, text) for name, text in texts.items()]


def read(folder: Path) -> Row:
    """The results that `write` wrote into a folder."""
    path = folder / "performance.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} must have performance.json, which benchmarks/run.py writes"
        )
    results: Row = json.loads(path.read_text(encoding="utf-8"))
    return results
