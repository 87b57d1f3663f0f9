"""Your own table as a study: from a CSV file to a folder with a report."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superarm.features import Encoder
from superarm.policies import Prior
from superarm.reporting import RequestError, files
from superarm.reporting.jobs import bar
from superarm.studies.cell import Cell, Recorded, recorded_rows
from superarm.studies.cells.knowing import NOTHING, Known
from superarm.studies.cells.table import Order, TableProblem, prepare
from superarm.studies.own_table import known_columns, report
from superarm.studies.own_table.analysis import Analysis, analyse
from superarm.studies.own_table.features_file import read_contexts, read_features
from superarm.studies.own_table.learnable import estimate
from superarm.studies.own_table.table_file import OwnTable, read
from superarm.studies.run import record
from superarm.studies.study import Done

if TYPE_CHECKING:
    from rich.console import Console

# The policies of the catalog that suit a table of outcomes, whose reward is a sum.
POLICIES = (
    *("thompson", "cts", "single-seed", "gaussian", "discounted", "sliding", "cucb", "kl-ucb"),
    *("escb", "epsilon-greedy", "cts-gaussian", "cts-gaussian-shared", "bg-cts"),
    *("explore-then-commit", "exp3", "random"),
)
# The recommended policy comes first.
USUAL = ("thompson", "cts", "single-seed", "epsilon-greedy", "cucb", "random")
USUAL_HORIZON = 20_000  # rounds that are played of a longer table


def run(
    path: Path,
    *,
    skip: Sequence[str] = (),
    context: Sequence[str] = (),
    console: Console | None = None,
    **options: Any,
) -> Done:
    """Play policies over the table in a CSV file, and write the report.

    Parameters
    ----------
    path, skip
        The file, and its columns that are no arms.
    context
        Columns of the table that are known before a round is played, which adds the policy
        "contexts". The policies that it is compared with are played, too.
    console
        Where to show progress.
    **options
        Those of `run_table`.
    """
    # Refused before a long file is read.
    known_policies(options.get("policies", ()))
    files.refuse_inputs(options["folder"], report.FILES, [path, options.get("features")])
    # Progress is counted in bytes, because the number of lines is not known before the end.
    with bar(console, None, total=path.stat().st_size, transient=True) as step:
        progress = partial(step, f"reading {path.name}")
        table = read(path, skip=skip, context=context, progress=progress)
    named = [("--skip", one) for one in skip] + [("--context", one) for one in context]
    if (features := options.get("features")) is not None:
        named.append(("--features", features.as_posix()))
    options["columns"] = "".join(f" {shlex.join(pair)}" for pair in named)
    return run_table(table, path, console=console, **options)


def run_table(
    table: OwnTable,
    path: Path,
    *,
    k: int,
    policies: Sequence[str] = (),
    prior: Prior | None = None,
    runs: int = 10,
    order: Order = "given",
    horizon: int | None = None,
    features: Path | None = None,
    seed: int = 0,
    workers: int = 2,
    folder: Path,
    columns: str = "",
    console: Console | None = None,
) -> Done:
    """Play policies over a table, and write the report.

    Parameters
    ----------
    table, path
        The table, and the file that it is from.
    k, policies
        Arms per round, and names from `POLICIES`; by default `USUAL`, without CUCB if it could not
        try every arm.
    features
        A CSV file with features of the arms, which adds the policy "features".
    prior
        The prior of ``thompson`` and ``cts``, instead of the default of each.
    runs, order, horizon, seed
        Runs per policy, the order of the rows, rounds per run (all rows, at most `USUAL_HORIZON`,
        by default), and the seed from which everything follows.
    workers
        The number of processes. The files are the same for any number.
    folder
        Where the report and the numbers are written.
    columns
        The options of the command that say which columns are no arms, and where features are.
    console
        Where to show progress.
    """
    # Everything that can be refused is refused before the first run, which may take minutes.
    wanted = known_policies(policies)
    problem, said = _prepare(table, path.name, k, horizon, order)
    known, encoder, doubts = _read_known(table, features)
    if known.contexts is not None:
        known = replace(known, contexts=known.contexts[: problem.environment.n_rounds])
    problem = replace(problem, known=known)
    if not wanted:
        # Bounds of arms without outcomes are infinite: CUCB only tries arms until it has seen all.
        learns = k * problem.horizon > problem.environment.n_arms
        wanted = [name for name in USUAL if name != "cucb" or learns]
        if not learns:
            said.append("cucb is left out: there are too few rounds to try every arm once.")
    knowing = [name for name in ("contexts", "features") if getattr(known, name) is not None]
    # What features and contexts add is measured against thompson.
    wanted = list(dict.fromkeys([*knowing, *wanted, *(["thompson"] if knowing else [])]))
    said += doubts
    if console is not None and said:
        console.print("\n".join(said), soft_wrap=True, markup=False)
    # All that numbers.json needs so that somebody else can repeat the run.
    settings = {
        "table": path.name,
        "n_rows": len(table.cells),
        "skipped": list(table.skipped),
        "n_empty": table.n_empty,
        **({} if features is None else {"features": features.name}),
        **({"context": list(table.contexts)} if table.contexts else {}),
        **({"doubts": doubts} if doubts else {}),
        "k": k,
        "policies": wanted,
        "prior": prior,
        "runs": runs,
        "order": order,
        "horizon": problem.horizon,
        "seed": seed,
    }
    found = play_all(
        problem, wanted, runs, seed=seed, prior=prior, workers=workers, console=console
    )
    example = {
        name: known_columns.plain(cells[0], table.decimal_comma)
        for name, cells in table.contexts.items()
    }
    return report.write(found, settings, path, folder, encoder, example, columns)


def play_all(
    problem: TableProblem,
    policies: Sequence[str],
    runs: int,
    *,
    seed: int = 0,
    prior: Prior | None = None,
    workers: int = 1,
    console: Console | None = None,
) -> Analysis:
    """Play every policy ``runs`` times, and analyse the rows."""
    with tempfile.TemporaryDirectory(prefix="superarm-run-") as temporary:
        # Worker processes map the files. Sending the table to each of them would copy it.
        problem.save(Path(temporary))
        shared: dict[str, Any] = {
            "folder": temporary,
            "prior": prior,
            "k": problem.k,
            "horizon": problem.horizon,
            "order": problem.order,
        }
        # Policy by policy, as the reports list them.
        cells = [
            Cell("table", {**shared, "policy": name, "label": name}, seed, run)
            for name in policies
            for run in range(runs)
        ]
        store: dict[str, Recorded] = {}
        # One worker is this process: another one would take seconds to start.
        n_processes = workers if workers > 1 else 0
        record({"run": cells}, store, unit="runs", workers=n_processes, console=console)
    rows, _ = recorded_rows(cells, store)
    return analyse(problem, rows, estimate(problem.environment.table, problem.k, seed=seed))


def known_policies(policies: Sequence[str]) -> list[str]:
    """The policies, each once; unknown ones are refused."""
    if unknown := [name for name in policies if name not in POLICIES]:
        raise RequestError(f"--policy must be one of {', '.join(POLICIES)}, got {unknown[0]!r}")
    return list(dict.fromkeys(policies))


def _read_known(table: OwnTable, features: Path | None) -> tuple[Known, Encoder | None, list[str]]:
    """What is known beside the outcomes, what encodes contexts, and doubts about both."""
    known, encoder, doubts = NOTHING, None, list[str]()
    if features is not None:
        of_arms, doubts = read_features(features, table.names)
        known = replace(known, features=of_arms)
    if table.contexts:
        encoder, contexts, more = read_contexts(table)
        known, doubts = replace(known, contexts=contexts), [*doubts, *more]
    return known, encoder, doubts


def _prepare(
    table: OwnTable, name: str, k: int, horizon: int | None, order: Order
) -> tuple[TableProblem, list[str]]:
    """The problem of a table of this name, and what is left out of the table, for the terminal."""
    n_rows, n_arms = table.cells.shape
    if k >= n_arms:
        raise RequestError(
            f"--k must be between 1 and {n_arms - 1}, got {k}: the table has {n_arms} arms, "
            f"and there is nothing to choose if all of them are picked"
        )
    if horizon is not None and horizon > n_rows:
        raise RequestError(
            f"--horizon must be at most {n_rows:,}, the number of rows, got {horizon:,}"
        )
    n_rounds = horizon or min(n_rows, USUAL_HORIZON)
    try:
        problem = prepare(table.cells, table.names, k, n_rounds, order)
    except ValueError as error:  # a column may be empty in the rows that are played only
        raise RequestError(f"{error}, or play more rows with --horizon") from None
    said = []
    if table.n_empty:
        said.append(f"{name}: {table.n_empty:,} rows without any outcome are left out.")
    if horizon is None and n_rounds < n_rows:
        said.append(
            f"{name} has {n_rows:,} rows; each run plays {n_rounds:,} of them. "
            f"For all: --horizon {n_rows}"
        )
    return problem, said
