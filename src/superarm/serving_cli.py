"""``superarm serve``, ``superarm replay`` and ``superarm keys``: the decision service on the command line."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from superarm.service.events import Bandit
    from superarm.service.store import Store

_DATABASE = "A file of SQLite, made if there is none; or postgresql://..., for several servers on one database."


def serve(
    database: Annotated[str, typer.Option(help=_DATABASE)] = "superarm.db",
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at; 0 for a free one.")] = 8321,
    rewards: Annotated[
        str | None, typer.Option(metavar="MODULE", help="A Python module whose functions are rewards of your own.")
    ] = None,
) -> None:
    """Serve bandits over HTTP: decisions with ids, outcomes whenever they come, nothing lost.

    Every decision is on the disk before it is answered, and every outcome before it is acknowledged. Ends on SIGTERM
    or Ctrl-C, after the requests that it has begun.
    """
    _need_service()
    from superarm.service import serving

    try:
        serving.serve(serving.Settings(database=database, host=host, port=port, rewards=rewards))
    except serving.StartError as error:
        _stop(str(error))


def replay(
    database: Annotated[str, typer.Argument(help="A file of SQLite, or postgresql://...")],
    bandit: Annotated[str | None, typer.Argument(help="The id or the name of one bandit; all unless given.")] = None,
    rewards: Annotated[
        str | None, typer.Option(metavar="MODULE", help="The module that the server was started with.")
    ] = None,
) -> None:
    """Rebuild every belief from the log, and say whether it is the same as what the server kept, bit for bit.

    Changes nothing, and may run beside a server. Ends with 1 if a log is damaged or a belief differs.
    """
    _need_service()
    from superarm.service import serving
    from superarm.service.events import DamagedLogError
    from superarm.service.replay import replay as rebuild

    console = Console()
    good = True
    try:
        with serving.reading(database) as store:
            own = serving.own_rewards(rewards)
            for one in _chosen(store, bandit):
                try:
                    found = rebuild(store, one, own)
                except DamagedLogError as error:
                    good = False
                    console.print(f"{escape(one.id)} {escape(one.name)}: damaged: {escape(str(error))}", soft_wrap=True)
                    continue
                same = {None: "no checkpoint to compare with", True: "the same bit for bit", False: "DIFFERENT"}
                good &= found.same is not False
                where = "" if found.checkpoint is None else f"as from the checkpoint at event {found.checkpoint:,}: "
                console.print(
                    f"{escape(one.id)} {escape(one.name)}: {found.live.seq:,} events, {where}{same[found.same]}",
                    soft_wrap=True,
                )
    except serving.StartError as error:
        _stop(str(error))
    if not good:
        raise typer.Exit(1)


def _chosen(store: Store, bandit: str | None) -> list[Bandit]:
    if bandit is not None:
        found = store.bandit(bandit) or store.bandit_named(bandit)
        if found is None:
            _stop(f"BANDIT must be the id or the name of a bandit of this database, got {bandit!r}")
        return [found]
    every, last = [], 0
    while page := store.bandits(1000, last):
        every += page
        last = page[-1].number
    return every


def _need_service() -> None:
    for module in ("fastapi", "uvicorn"):
        if find_spec(module) is None:
            raise typer.BadParameter(f"the service needs {module}: pip install 'superarm[service]'")


def _stop(message: str) -> NoReturn:
    Console(stderr=True).print(f"[red]Error:[/red] {escape(message)}", soft_wrap=True)
    raise typer.Exit(1)
