"""The command ``superarm reproduce``: the paper's experiments, and a verdict on each claim."""

from __future__ import annotations

from pathlib import Path

import click

from superarm.cli import common


@click.command("reproduce")
@click.argument("experiments", nargs=-1)
@click.option("--quick", is_flag=True, help="Small sizes, to see that all works.")
@common.runs_option("Runs per cell.", shown="those of the experiment")
@click.option(
    "--engine",
    default="process",
    help="process; or batch or torch, which play many runs at once, for fig2a, fig2b and fig2c.",
)
@common.workers_option("The rows")
@click.option("--dask", metavar="ADDRESS", help="Run on the workers of this dask scheduler.")
@common.seed_option("Seed of every row.")
@common.out_option("superarm-reproduction", "rows, pictures and report")
@click.option(
    "--from",
    "from_",
    type=click.Path(path_type=Path),
    help="Rebuild the report from the rows of this folder or archive, and run nothing.",
)
def command(
    experiments: tuple[str, ...],
    quick: bool,
    runs: int | None,
    engine: str,
    workers: int,
    dask: str | None,
    seed: int,
    out: Path,
    from_: Path | None,
) -> None:
    """Reproduce the paper's figures and table.

    EXPERIMENTS are some of fig1, fig2a, fig2b, fig2c, table1, theory, beyond, decoder_signal,
    lemma1, lemma2, readings, sensitivity, steepness, table1_beyond; or all, the default.

    Judges the paper's claims by the measurements, at the sizes that they need. Writes the recorded
    rows, the times, the numbers and the picture of each experiment, and report.html, which begins
    with a table of the claims.

    Rows are stored as they finish. After an interruption the same command continues where it
    stopped. A folder with other settings is refused and never overwritten. The paper's sizes take
    some hours on 2 cores, --quick takes some minutes.
    """
    from superarm.studies import Scale, paper

    # --from makes the report again and runs nothing, so options of a run would be ignored silently.
    if from_ is not None:
        common.refuse_beside_from(
            experiments or quick or runs or dask or seed or engine != "process"
        )
        common.show(lambda console: paper.rebuild(from_, out), "The report")
        return
    scale = Scale("quick" if quick else "paper", runs=runs, seed=seed)
    common.show(
        lambda console: paper.reproduce(
            experiments, scale, out, engine=engine, workers=workers, dask=dask, console=console
        ),
        "The report",
        stored=out,
    )
