"""The command line: ``superarm demo`` and the other commands, one file per command.

A command imports the study or the service behind it only when it runs, so that
``superarm --help`` is quick.
"""

from __future__ import annotations

from typing import Any

import click

from superarm.cli import (
    compact,
    compare,
    demo,
    export,
    inspect,
    keys,
    plan,
    replay,
    reproduce,
    run,
    serve,
)
from superarm.cli.plain import write_plainly
from superarm.version import __version__

# In the order of the help: first look, studies, choosing an oracle, service.
_COMMANDS = (demo, run, compare, reproduce, inspect, plan, serve, replay, export, compact, keys)

# Defaults are shown for every option. Lines of help may be longer than the 80 columns of click.
_SETTINGS = {"show_default": True, "max_content_width": 100}


class _InOrder(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command, with output that every terminal can show."""
        write_plainly()
        return super().main(*args, **options)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, first added first."""
        # click sorts by name, which would put compare before demo.
        return list(self.commands)


@click.group("superarm", cls=_InOrder, context_settings=_SETTINGS)
@click.version_option(
    __version__, message="superarm %(version)s", help="Show the version and exit."
)
def app() -> None:
    """Pick the best k of m items, round after round, with few evaluations of the set reward."""


for _module in _COMMANDS:
    app.add_command(_module.command)
