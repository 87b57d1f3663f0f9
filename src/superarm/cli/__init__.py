"""The command line: ``superarm demo`` and the other commands, one file per command.

A command imports the study or the service behind it only when it runs, so that
``superarm --help`` is quick.
"""

from __future__ import annotations

import codecs
import sys
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
from superarm.version import __version__

# In the order of the help: first look, studies, choosing an oracle, service.
_COMMANDS = (demo, run, compare, reproduce, inspect, plan, serve, replay, export, compact, keys)

# Defaults are shown for every option. Lines of help may be longer than the 80 columns of click.
_SETTINGS = {"show_default": True, "max_content_width": 100}

# Terminals and pipes need not be able to write every character, such as those of ASCII.
_HANDLER = "superarm.plain"
# The same in ASCII, where that says the same. Other characters, such as those of names, become
# escapes, so that different names stay different.
_PLAIN = {
    "\N{MICRO SIGN}": "u",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{SUPERSCRIPT TWO}": "^2",
    "\N{BLACK STAR}": "*",
    "\N{NO-BREAK SPACE}": " ",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{MIDDLE DOT}": "*",
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
}


class _Commands(click.Group):
    """Commands in the order in which they were added, with output that every terminal can show."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command. Something else is written for characters that a stream cannot encode."""
        codecs.register_error(_HANDLER, _in_plain)
        for stream in (sys.stdout, sys.stderr):
            # A stream of a test, or of a program that calls the command, need not have this.
            if hasattr(stream, "reconfigure") and stream.errors in ("strict", "backslashreplace"):
                stream.reconfigure(errors=_HANDLER)
        return super().main(*args, **options)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, first added first."""
        # click sorts by name, which would put compare before demo.
        return list(self.commands)


def _in_plain(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(map(_one, text)), error.end


def _one(character: str) -> str:
    return _PLAIN.get(character) or character.encode("ascii", "backslashreplace").decode()


app = _Commands(
    "superarm",
    commands=[module.command for module in _COMMANDS],
    context_settings=_SETTINGS,
    help="Pick the best k of m items, round after round, with few evaluations of the set reward.",
)
click.version_option(
    __version__, message="superarm %(version)s", help="Show the version and exit."
)(app)
