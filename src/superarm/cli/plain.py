"""Output for terminals and pipes that cannot write every character, such as those of ASCII."""

from __future__ import annotations

import codecs
import sys

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


def write_plainly() -> None:
    """Let the output streams write something else for characters that they cannot encode."""
    codecs.register_error(_HANDLER, _in_plain)
    for stream in (sys.stdout, sys.stderr):
        # A stream of a test, or of a program that calls the command, need not have this.
        if hasattr(stream, "reconfigure") and stream.errors in ("strict", "backslashreplace"):
            stream.reconfigure(errors=_HANDLER)


def _in_plain(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(map(_one, text)), error.end


def _one(character: str) -> str:
    return _PLAIN.get(character) or character.encode("ascii", "backslashreplace").decode()
