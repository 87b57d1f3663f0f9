"""Time and memory of estimates from Parquet, next to a plain sum in SQL over the same files.

    python benchmarks/parquet_log.py [--rounds N ...] [--folder FOLDER] [--out FILE.json]

Each size is written first, as one file per million rounds, with five items of a thousand per round.
Each program runs in a process of its own: its processor time, its wall time, and its most memory,
also as multiples of those of the plain sum. The target has five items, or all of them. The rounds
are numbers in the order of the rows, or numbers without any order.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

_PER_FILE = 1_000_000
_TARGET = {str(item): 1.0 for item in range(5)}
_EVERY_ITEM = {str(item): 0.005 for item in range(1000)}


def write(folder: Path, rounds: int) -> None:
    """Random sets of five items, with outcomes of 0 and 1."""
    import duckdb

    for start in range(0, rounds, _PER_FILE):
        n = min(_PER_FILE, rounds - start)
        duckdb.sql(f"""
            SELECT {start} + number // 5 AS request, hash({start} + number // 5) AS shuffled,
                CAST(CAST(floor(random() * 200) AS INT) * 5 + number % 5 AS VARCHAR) AS item,
                CAST(random() < 0.1 AS INT) AS click, 0.005 AS p
            FROM range({5 * n}) AS rows (number)""").write_parquet(
            str(folder / f"{start:012d}.parquet")
        )


def plain(files: str) -> None:
    """What SQL needs for one number of the same rows."""
    import duckdb

    duckdb.sql(f"SELECT sum(click / p) FROM read_parquet('{files}')").fetchall()


def estimate(files: str, target: dict[str, float] = _TARGET, round: str = "request") -> None:
    """What superarm needs for an estimate with its interval."""
    from superarm.offpolicy.parquet import ParquetLog

    log = ParquetLog(files, item="item", outcome="click", round=round, propensity="p")
    print(log.snips(target), file=sys.stderr)


PROGRAMS = {
    "plain sum": plain,
    "snips of 5 items": estimate,
    "snips of all items": partial(estimate, target=_EVERY_ITEM),
    "snips of 5 items, rounds in any order": partial(estimate, round="shuffled"),
}


def measured(program: str, files: str) -> dict[str, float]:
    """A program in a process of its own."""
    start = time.perf_counter()
    command = [sys.executable, __file__, "--program", program, "--files", files]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"wall_s": time.perf_counter() - start, **json.loads(done.stdout)}


def table(rows: list[dict[str, Any]]) -> str:
    """The figures as the page about logs has them."""
    lines = ["| rounds | program | processor time | of the sum | memory |", "|---|---|---|---|---|"]
    for row in rows:
        cells = (
            f"{row['rounds']:,}",
            row["program"],
            f"{row['cpu_s']:.1f} s",
            f"{row['cpu_s_ratio']:.1f}",
            f"{row['mb']:,.0f} MB",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--program", choices=PROGRAMS, help=argparse.SUPPRESS)
    parser.add_argument("--files", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        PROGRAMS[options.program](options.files)
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps({"cpu_s": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024}))
        return
    rows = []
    for rounds in options.rounds:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            write(Path(folder), rounds)
            least = None
            for program in PROGRAMS:
                found = measured(program, f"{folder}/*.parquet")
                least = found if least is None else least
                ratios = {f"{name}_ratio": found[name] / least[name] for name in ("cpu_s", "mb")}
                rows.append({"rounds": rounds, "program": program, **found, **ratios})
                print(json.dumps(rows[-1]), flush=True)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
