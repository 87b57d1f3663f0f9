"""The command ``superarm keys``: add, list and drop API keys of the service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import click

from superarm.cli import common

if TYPE_CHECKING:
    from superarm.service.log.store import Store


@click.group("keys")
def command() -> None:
    """Add, list and drop API keys of a service.

    A running server notices changes within seconds.
    """


@command.command("add")
@click.option(
    "--role",
    type=click.Choice(["read", "decide", "admin"]),
    required=True,
    help="What the key allows. Each role includes the roles before it.",
)
@click.option("--note", default="", help="A note for yourself, such as the owner of the key.")
@common.database_option()
def add(role: Literal["read", "decide", "admin"], note: str, database: str) -> None:
    """Make a key and print it.

    It is shown only once, because the database keeps only its digest.
    """
    with _opened(database, "write") as store:
        from superarm.service.http.keys import make

        key, row = make(role, note)
        store.add_key(row)
    click.echo(key)  # only when the database has it


@command.command("list")
@common.database_option()
def list_(database: str) -> None:
    """List the ids, roles, notes and dates of the keys."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("id", "role", "note", "made (UTC)")
    with _opened(database, "read") as store:
        for row in store.key_rows():
            # UTC, as everywhere in the service.
            made = time.strftime("%Y-%m-%d %H:%M", time.gmtime(row.created))
            # A note is free text, and may contain what rich takes for markup.
            table.add_row(row.id, row.role, escape(row.note), made)
    common.print_table(Console(), table)


@command.command("drop")
@click.argument("id")
@common.database_option()
def drop(id: str, database: str) -> None:
    """Drop the key with this ID. The key stops working within seconds."""
    with _opened(database, "read"):
        pass  # refuses a misspelt path, which would become a new database
    with _opened(database, "write") as store:
        if not store.drop_key(id):
            common.stop(f"ID must be the id of a key, got {id!r}; superarm keys list shows the ids")


@contextmanager
def _opened(database: str, mode: Literal["read", "write"]) -> Iterator[Store]:
    common.need_service()
    from superarm.service import server

    try:
        with server.opened(database, mode) as store:
            yield store
    except server.StartError as error:
        common.stop(str(error))
