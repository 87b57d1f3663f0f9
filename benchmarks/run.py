"""Measure what superarm costs on this machine, and write a page about it.

    python benchmarks/run.py [--quick] [--out FOLDER] [--from FOLDER]

Thompson sampling is compared with plain numpy and with those of pybandits, mabwiser and river that
are installed. Group testing is compared with plain numpy, the oracles with each other, and every
operation with the law by which it should grow. Writes performance.md, which explains the results,
and the same results as JSON, CSV and pictures. Takes some minutes on 2 cores, --quick takes some
seconds. Nothing else should run on the machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from suite import files, measure, ratios
from superarm.cli.common import as_rich
from superarm.reporting.jobs import bar, processes
from superarm.reporting.tables import Table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--out", type=Path, default=Path("superarm-bench"), help="result folder")
    parser.add_argument("--from", dest="from_", type=Path, help="make the page of a folder again")
    options = parser.parse_args(arguments)
    console = Console()
    if options.from_ is not None and options.quick:
        parser.error("--from measures nothing, so it takes no --quick")
    if options.from_ is None:
        results = _measure(measure.QUICK if options.quick else measure.Sizes(), console)
    else:
        try:
            results = files.read(options.from_)
        except FileNotFoundError as error:
            parser.error(str(error))
    paths = files.write(results, options.from_ or options.out)
    console.print(as_rich(_table(results)))
    print(f"All results: {paths[-1].resolve()}")


def _measure(sizes: measure.Sizes, console: Console) -> dict[str, Any]:
    jobs = measure.jobs(sizes)
    # A process of its own reads the number of BLAS threads when it starts.
    with (
        processes(1) as executor,
        bar(console, "measured", n_steps=len(jobs)) as step,
    ):
        return measure.run(sizes, executor=executor, progress=lambda job: step(str(job)))


def _table(results: dict[str, Any]) -> Table:
    rows = [[what, who, f"{ratio:.3g}"] for what, who, ratio in ratios.ratios(results)]
    heading = ["round", "program", "× superarm's"]
    return Table(heading, rows, title="Rounds, as multiples of superarm's time", n_texts=2)


if __name__ == "__main__":
    main()
