"""superarm on other systems, and without its optional packages."""

import json
import re
import subprocess
import sys

from doc_pages import ROOT, tool
from superarm.service import server

SOURCES = sorted((ROOT / "src").rglob("*.py"))
# Modules that Python has on some systems only, and packages that are not built for all.
UNIX = {"crypt", "fcntl", "grp", "posix", "pty", "pwd", "resource", "spwd", "syslog", "termios"}
UNIX |= {"tty", "uvloop"}


def test_no_file_imports_what_only_unix_has():
    """Imports inside functions are indented: these ask first."""
    at_once = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
    found = {path.name: set(at_once.findall(path.read_text("utf-8"))) for path in SOURCES}
    assert not {name: both for name, names in found.items() if (both := names & UNIX)}


def test_texts_are_read_and_written_as_utf_8():
    """The default of other systems is another encoding."""
    calls = re.compile(r"\.(?:read_text|write_text)\((?P<given>[^()]*(?:\([^()]*\)[^()]*)*)\)")
    bad = [
        f"{path.name}: {call['given']}"
        for path in SOURCES
        for call in calls.finditer(path.read_text("utf-8"))
        if "utf-8" not in call["given"]
    ]
    assert not bad


def test_the_package_is_imported_without_the_modules_of_unix():
    """In a process in which they cannot be imported."""
    code = (
        "import sys, subprocess, selectors, socket, tempfile, multiprocessing, asyncio\n"
        "import numpy, scipy.special\n"
        f"for name in {sorted(UNIX)}: sys.modules[name] = None\n"
        "import superarm, superarm.cli, superarm.sessions.files, superarm.reporting.files\n"
        "print(superarm.Session(superarm.thompson(superarm.LinearReward(3), 1), seed=0).ask())\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("Decision(")


def test_a_system_without_limits_of_files_is_served(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    server._raise_file_limit()


def test_links_of_the_readme_become_absolute():
    page = (ROOT / "README.md").read_text("utf-8")
    found = tool("wheel").absolute(page, "https://example.org/superarm/")
    assert "(https://example.org/superarm/raw/main/docs/beyond.svg)" in found
    assert not re.findall(r"\]\((?!https?:|mailto:|#)", found)


def test_the_search_check_finds_what_is_missing(tmp_path):
    entry = {"location": "features.html", "title": "Contexts", "text": "a context", "boost": 2}
    index = tmp_path / "index.json"
    index.write_text(json.dumps({"docs": [entry]}), encoding="utf-8")
    check = tool("search_check")
    assert check.results([entry], "context") == ["features.html"]
    assert check.results([entry], "cold start") == []
    assert check.main(index) == len(check.WANTED) - 1


def test_messages_name_a_way_to_install_that_works():
    """superarm is on no index, so no message may say pip install superarm."""
    texts = [*SOURCES, *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "deploy").iterdir())]
    for path in (*texts, ROOT / "README.md"):
        assert "pip install 'superarm" not in path.read_text("utf-8"), path
        assert "pip install superarm" not in path.read_text("utf-8"), path
