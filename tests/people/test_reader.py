"""A reader of the docs begins with docs/index.md, searches, and types what stands there.

What used to happen: searches for "context" or "click" led to other pages, and pages said
``pip install superarm`` although no index has it.
"""

import re

import click
import pytest

from doc_pages import DOCS, ROOT, commands, tool
from superarm.cli import app

PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
TYPED = [(path.name, words) for path in PAGES for words in commands(path)]


def entries(path):
    """The sections of a page, about as in the search index of the built docs."""
    text = path.read_text("utf-8")
    boost = re.match(r"---\nsearch:\n  boost: ([\d.]+)\n---", text)
    for section in re.split(r"^(?=#+ )", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        yield {
            "location": f"{path.stem}.html",
            "title": title.lstrip("# "),
            "text": re.sub(r"[`*|]", "", body),
            "boost": float(boost[1]) if boost else 1.0,
        }


def test_peoples_words_lead_to_the_right_page():
    """The index of the built docs, with the reference, is searched by ``make check``."""
    check = tool("search_check")
    index = [entry for path in PAGES for entry in entries(path) if path.name != "report.md"]
    found = {query: check.results(index, query)[:3] for query in check.WANTED}
    assert not {query: pages for query, pages in found.items() if check.WANTED[query] not in pages}


@pytest.mark.parametrize(("page", "words"), TYPED, ids=[" ".join(words) for _, words in TYPED])
def test_every_command_of_the_docs_exists(page, words):
    """Commands of superarm have these options, make has this target."""
    program, *arguments = words
    if program == "make":
        assert f"\n{arguments[0]}:" in (ROOT / "Makefile").read_text("utf-8")
    if program == "superarm" and arguments[0] in app.commands:
        command = app.commands[arguments[0]]
        # Values are not read: files need not be there. An unknown option raises an error.
        command.make_parser(click.Context(command)).parse_args(arguments[1:])
    elif program == "superarm":
        assert arguments[0].startswith("--"), f"{page} has no such command: {words}"
    if program == "python":
        assert arguments[0] == "-m" or (ROOT / arguments[0]).exists()


def test_an_unknown_option_would_be_found():
    with pytest.raises(click.NoSuchOption):
        test_every_command_of_the_docs_exists("a page", ["superarm", "run", "a.csv", "--what", "1"])
