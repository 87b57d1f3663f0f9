"""``superarm serve``, ``superarm replay`` and ``superarm keys``: the decision service on the command line."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from superarm.service.log.events import Bandit
    from superarm.service.log.store import Store

_WHERE = "A file of SQLite, or postgresql://..."
Rewards = Annotated[
    str | None, typer.Option(metavar="MODULE", help="A Python module with rewards of your own.")
]
_DATABASE = "SUPERARM_DATABASE"  # an address with a password is nothing for a command line, which others can see
Of = Annotated[str, typer.Option("--database", envvar=_DATABASE, help=_WHERE)]

keys = typer.Typer(
    name="keys",
    help="API keys of a database: make, list and drop them. A running server knows within seconds.",
)


def serve(
    database: Annotated[
        str, typer.Option(envvar=_DATABASE, help=f"{_WHERE}; a file is made if there is none.")
    ] = "superarm.db",
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen at; 0 for a free one.")
    ] = 8321,
    rewards: Rewards = None,
    with_keys: Annotated[
        bool | None,
        typer.Option(
            "--keys/--no-keys", help="Ask for API keys; unless the host is loopback, by default."
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name of the service behind a proxy, without keys; may be given again.",
        ),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS", help="A proxy whose X-Forwarded-For counts; may be given again."
        ),
    ] = None,
    most_body: Annotated[int, typer.Option(min=1, help="The most bytes of a request's body.")] = 64
    << 20,
    most_arms: Annotated[int, typer.Option(min=1, help="The most arms of a bandit.")] = 2_000_000,
    most_open: Annotated[
        int, typer.Option(min=1, help="The most open decisions of a bandit.")
    ] = 100_000,
    most_samples: Annotated[
        int,
        typer.Option(
            min=0, help="The most samples that a request may draw for propensities; 0 for none."
        ),
    ] = 10_000,
    rate: Annotated[
        float,
        typer.Option(
            min=0.0, help="The most requests a second of a key or an address; 0 for any number."
        ),
    ] = 0.0,
    checkpoint_every: Annotated[
        int, typer.Option(min=1, help="Events between two checkpoints of a bandit.")
    ] = 2000,
    threads: Annotated[
        int, typer.Option(min=1, help="How many bandits decide at the same time.")
    ] = 8,
    most_loaded: Annotated[
        int, typer.Option(min=1, help="How many bandits are kept in memory.")
    ] = 1000,
    check_all: Annotated[
        bool,
        typer.Option(
            "--check-all", help="Check whole logs at the start, not only from the checkpoints on."
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No line in the log for each request.")
    ] = False,
) -> None:
    """Serve bandits over HTTP: decisions with ids, outcomes whenever they come, nothing lost.

    Every decision is on the disk before it is answered, and every outcome before it is acknowledged. Ends on SIGTERM
    or Ctrl-C, after the requests that it has begun. Logs are JSON lines on the error stream.
    """
    _need_service()
    from superarm.service import server
    from superarm.service.settings import Limits, Settings

    settings = Settings(
        database=database,
        host=host,
        port=port,
        rewards=rewards,
        with_keys=with_keys,
        allowed_hosts=tuple(allowed_host or ()),
        trusted_proxies=tuple(trusted_proxy or ()),
        limits=Limits(most_body, most_arms, most_open, most_samples, rate),
        checkpoint_every=checkpoint_every,
        n_threads=threads,
        most_loaded=most_loaded,
        check_all=check_all,
        log_requests=not quiet,
    )
    try:
        server.serve(settings)
    except server.StartError as error:
        _stop(str(error))


def replay(
    database: Annotated[str, typer.Argument(help=_WHERE)],
    bandit: Annotated[
        str | None, typer.Argument(help="The id or the name of one bandit; all unless given.")
    ] = None,
    rewards: Rewards = None,
    decide: Annotated[
        bool,
        typer.Option(
            "--decide", help="Make every decision again, too, and see that it is the same."
        ),
    ] = False,
) -> None:
    """Rebuild every belief from the log, and say whether it is the same as what the server kept, bit for bit.

    Changes nothing, and may run beside a server. Ends with 1 if a log is damaged, a belief differs or
    a bandit's own reward is not there.
    """
    _need_service()
    from superarm.service import server
    from superarm.service.log.events import DamagedLogError
    from superarm.service.problems import Problem
    from superarm.service.bandits.replay import replay as rebuild

    console, good = Console(), True
    nothing = "each as it was logged; no checkpoint to compare with"
    says = {None: nothing, True: "the same bit for bit", False: "DIFFERENT"}
    try:
        own = server.own_rewards(rewards)
        with server.opened(database, "read") as store:
            for one in _chosen(store, bandit):
                head = f"{escape(one.id)} {escape(one.name)}:"
                try:
                    found = rebuild(store, one, own, decide=decide)
                except DamagedLogError as error:
                    good = False
                    console.print(f"{head} {error.verdict}: {escape(str(error))}", soft_wrap=True)
                    continue
                except Problem as problem:
                    good = False
                    console.print(
                        f"{head} not rebuilt: {escape(problem.detail)}; say --rewards MODULE",
                        soft_wrap=True,
                    )
                    continue
                good &= found.same is not False
                where = (
                    ""
                    if found.checkpoint is None
                    else f"as from the checkpoint at event {found.checkpoint:,}: "
                )
                again = ", decided again" if decide else ""
                console.print(
                    f"{head} {found.live.seq:,} events{again}, {where}{says[found.same]}",
                    soft_wrap=True,
                )
    except server.StartError as error:
        _stop(str(error))
    if not good:
        raise typer.Exit(1)


@keys.command("add")
def add_key(
    role: Annotated[Literal["read", "decide", "admin"], typer.Option(help="What the key may do.")],
    note: Annotated[str, typer.Option(help="Whose it is, for your own memory.")] = "",
    database: Of = "superarm.db",
) -> None:
    """Make a key and show it, once: only its digest is kept."""
    _need_service()
    from superarm.service.http import keys as making
    from superarm.service import server

    key, row = making.make(role, note)
    try:
        with server.opened(database, "write") as store:
            store.add_key(row)
    except server.StartError as error:
        _stop(str(error))
    typer.echo(key)


@keys.command("list")
def list_keys(database: Of = "superarm.db") -> None:
    """List the keys: ids, roles and notes."""
    _need_service()
    from superarm.service import server

    table = Table("id", "role", "note", "made")
    try:
        with server.opened(database, "read") as store:
            for row in store.key_rows():
                made = time.strftime("%Y-%m-%d %H:%M", time.gmtime(row.created))
                table.add_row(row.id, row.role, escape(row.note), made)
    except server.StartError as error:
        _stop(str(error))
    Console().print(table)


@keys.command("drop")
def drop_key(
    id: Annotated[str, typer.Argument(help="The id of the key.")], database: Of = "superarm.db"
) -> None:
    """Drop a key; within seconds it no longer works."""
    _need_service()
    from superarm.service import server

    try:
        with server.opened(database, "write") as store:
            if not store.drop_key(id):
                _stop(f"ID must be that of a key, got {id!r}; superarm keys list shows them")
    except server.StartError as error:
        _stop(str(error))


def _chosen(store: Store, bandit: str | None) -> list[Bandit]:
    if bandit is not None:
        found = store.bandit(bandit) or store.bandit_named(bandit)
        if found is None:
            _stop(f"BANDIT must be the id or the name of a bandit of this database, got {bandit!r}")
        return [found]
    every: list[Bandit] = []
    while page := store.bandits(1000, every[-1].number if every else 0):
        every += page
    return every


def _need_service() -> None:
    for module in ("starlette", "uvicorn", "prometheus_client"):
        if find_spec(module) is None:
            raise typer.BadParameter(f"the service needs {module}: pip install 'superarm[service]'")


def _stop(message: str) -> NoReturn:
    Console(stderr=True).print(f"[red]Error:[/red] {escape(message)}", soft_wrap=True)
    raise typer.Exit(1)
