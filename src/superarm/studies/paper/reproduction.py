"""Reproducing the paper: run the cells of experiments, then make the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superarm.reporting import RequestError, need
from superarm.studies import batched
from superarm.studies.code import versions
from superarm.studies.paper import catalogue
from superarm.studies.paper.report import REDUCED, make_report
from superarm.studies.run import record_with_bar
from superarm.studies.store import Store
from superarm.studies.study import Done, Scale

if TYPE_CHECKING:
    from rich.console import Console

KINDS = ("lemma1", "lemma2", "play", "rules", "signal", "swap_search")
# The other experiments need what is only known run by run: theta, times, or regret that is equal
# to the last digit.
TOGETHER = ("fig2a", "fig2b", "fig2c")


def reproduce(
    names: Sequence[str],
    scale: Scale,
    folder: Path,
    *,
    engine: str = "process",
    workers: int = 2,
    dask: str | None = None,
    console: Console | None = None,
) -> Done:
    """Record every cell of the experiments that the folder does not have, and write the report.

    Parameters
    ----------
    names
        Experiments (`names`); none or "all" for all of them.
    scale, folder
        The sizes, and where everything is written. A folder with other settings is refused.
    engine
        "process" plays cells one by one; "batch" and "torch" play many runs at once.
    workers, dask
        The number of processes, or the address of a dask scheduler to use instead.
    console
        Where to show progress.
    """
    wanted = _known(names)
    _refuse_engine(engine, wanted)
    need("matplotlib", "plots", "the report has pictures")
    need("jinja2", "plots", "the report is made from a template")
    # All cells are known before the folder is opened, so that a folder with other cells is refused
    # before anything runs.
    sweeps = {name: catalogue.load(name).cells(scale) for name in wanted}
    store = Store(folder)
    store.open(manifest_of(scale, engine), sweeps)
    # Before anything runs, so that nobody waits for verdicts that do not come.
    if console is not None and scale.size != "paper":
        console.print(REDUCED)
    record_with_bar(
        sweeps, store, unit="cells", workers=workers, console=console, engine=engine, dask=dask
    )
    return make_report(store, sweeps)


def rebuild(folder: Path) -> Done:
    """Make the report of a folder again, from its rows alone."""
    need("matplotlib", "plots", "the report has pictures")
    need("jinja2", "plots", "the report is made from a template")
    return make_report(Store(folder))


def manifest_of(scale: Scale, engine: str = "process") -> dict[str, Any]:
    """What a folder of rows is a folder of."""
    return {
        # All kinds, even those that are not requested now: experiments may be added to the folder
        # later.
        **versions(*KINDS),
        **batched.about(engine),
        "size": scale.size,
        "runs": scale.runs,
        "seed": scale.seed,
    }


def _known(names: Sequence[str]) -> list[str]:
    known = catalogue.names()
    if not names or "all" in names:
        return known
    if unknown := [name for name in names if name not in known]:
        raise RequestError(f"experiments must be of {', '.join(known)} or all, got {unknown[0]!r}")
    # Without repetitions, in the order of the request.
    return list(dict.fromkeys(names))


def _refuse_engine(engine: str, names: Sequence[str]) -> None:
    if engine not in batched.ENGINES:
        raise RequestError(f"engine must be one of {', '.join(batched.ENGINES)}, got {engine!r}")
    others = [name for name in names if name not in TOGETHER]
    if engine != "process" and others:
        raise RequestError(
            f"engine {engine} plays {', '.join(TOGETHER)}, got {others[0]}; "
            f"run it with the engine process, into another folder"
        )
    if engine == "torch":
        need("torch", "torch", "--engine torch plays on a GPU")
