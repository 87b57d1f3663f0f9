"""What the benchmark writes, and reads again."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from superarm.bench import page, pictures

Row = dict[str, Any]


def write(results: Row, folder: Path) -> list[Path]:
    """The results as JSON, their rows as a table (CSV), the pictures and the page; the paths, the page last."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(key for row in results["rows"] for key in row))
    table = folder / "performance.csv"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(results["rows"])
    texts = {
        "performance.json": json.dumps(results, indent=1) + "\n",
        "performance.md": page.render(results),
    }
    images = {
        "performance-thompson.png": pictures.thompson(results),
        "performance-oracles.png": pictures.oracles(results),
    }
    for name, image in images.items():
        (folder / name).write_bytes(image)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [table, *(folder / name for name in (*images, *texts))]


def read(folder: Path) -> Row:
    """The results that ``write`` wrote into a folder."""
    path = folder / "performance.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} must have performance.json, which superarm bench writes there"
        )
    results: Row = json.loads(path.read_text(encoding="utf-8"))
    return results
