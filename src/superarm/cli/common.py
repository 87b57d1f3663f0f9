"""What the commands share: common options, refusals and checks for optional packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from click.decorators import FC

# SQLite addresses are paths, PostgreSQL addresses have a password. Other users of a machine can
# read command lines, so an address with a password belongs into this variable.
DATABASE_VARIABLE = "SUPERARM_DATABASE"
DATABASE_FILE = "superarm.db"
DATABASE_HELP = "An SQLite file, or postgresql://..."

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the data as JSON instead of tables."
)
rewards_option = click.option(
    "--rewards", metavar="MODULE", help="A Python module with your own rewards."
)
database_option = click.option(
    "--database",
    envvar=DATABASE_VARIABLE,
    show_envvar=True,
    default=DATABASE_FILE,
    help=DATABASE_HELP,
)


def seed_option(help: str) -> Callable[[FC], FC]:
    """The option ``--seed``, with a help text that says what follows from the seed."""
    return click.option("--seed", type=click.IntRange(min=0), default=0, help=help)


def workers_option(what: str) -> Callable[[FC], FC]:
    """The option ``--workers``; ``what`` is the same for any number of workers."""
    sentence = f"Number of processes. {what} are the same for any number."
    return click.option("--workers", type=click.IntRange(min=1), default=2, help=sentence)


def need(module: str, extra: str, why: str) -> None:
    """Refuse the command if an optional package is not installed."""
    if find_spec(module) is None:
        raise click.BadParameter(f"{why} and needs {module}: pip install 'superarm[{extra}]'")


def need_service() -> None:
    """Refuse the command if the packages of the service are not installed."""
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        need(module, "service", "the command uses the service")


def stop(message: str) -> NoReturn:
    """Print the message as an error and end with exit code 1."""
    click.echo(f"Error: {message}", err=True)
    raise click.exceptions.Exit(1)


@contextmanager
def refusals() -> Iterator[None]:
    """Answer a request that a study can't meet as a usage error."""
    from superarm.studies import RequestError

    try:
        yield
    except RequestError as error:
        raise click.BadParameter(str(error)) from None
