"""A backend engineer follows docs/service.md with curl, then docs/client.md in Python.

What used to happen: without its extra, the client failed with an ImportError of another package.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from commands import run
from doc_pages import blocks, commands, doc, printed, run_python
from forked_server import ForkedServer

SERVICE, CLIENT, EDGE = doc("service.md"), doc("client.md"), doc("edge.md")
# What the page calls the server, the bandit and the decision. Others have other names.
ADDRESS, BANDIT = "http://127.0.0.1:8321", "ers3m6njb8"


@pytest.fixture
def server(tmp_path, monkeypatch):
    """``superarm serve`` with the module of the page, in a folder of its own."""
    [program] = [block for block in blocks(SERVICE, "console") if "cat shop.py" in block]
    lines = program.split("$ cat shop.py\n")[1].split("$ superarm serve")[0]
    (tmp_path / "shop.py").write_text(lines, encoding="utf-8")
    serve = [words for words in commands(SERVICE) if words[:2] == ["superarm", "serve"]]
    assert [words[2:4] for words in serve] == [["--database", "bandits.db"]] * 2
    server = ForkedServer(
        str(tmp_path / "bandits.db"), tmp_path / "log", *serve[-1][4:], prefix=Inside(tmp_path)
    )
    with server:
        yield server


class Inside:
    """Called in the new process: the modules of a folder can be imported."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self):
        os.chdir(self.folder)
        sys.path.insert(0, self.folder)


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_three_calls_of_curl_lead_to_a_decision(server, tmp_path):
    """The answers have what the page shows: the same arms in the same order, the same status."""
    shown = [printed(block) for block in blocks(SERVICE, "console") if "$ curl" in block]
    calls = [words for words in commands(SERVICE) if words[0] == "curl"]
    names, answers = {ADDRESS: server.url}, []
    for words in calls:
        answers.append(curl(words, names))
        names.setdefault(BANDIT, answers[0]["id"])
    created, decided, told, shop = answers
    assert decided["id"] == f"{created['id']}-1"
    values = [round(value, 3) for value in decided["values"]]
    assert f'"arms": {json.dumps(decided["arms"])}, "values": {values},' in shown[1]
    assert json.loads(shown[2].replace(BANDIT, created["id"])) == told
    assert (shop["name"], shop["k"]) == ("shop", 4)
    refused = curl([word.replace("storm", "budget") for word in calls[2]], names)
    assert f"`{refused['detail']}`" in SERVICE.read_text("utf-8")
    server.stop()
    [replay] = [words for words in commands(SERVICE) if words[:2] == ["superarm", "replay"]]
    again = run("replay", tmp_path / replay[2], created["id"])
    assert again.exit_code == 0, again.output
    assert again.output.strip().replace(created["id"], BANDIT) in SERVICE.read_text("utf-8")


def curl(words, names):
    """The answer to a command of the page, with the real names for those of the page."""
    for name, real in names.items():
        words = [word.replace(name, real) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_the_page_of_the_client_runs(tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path_factory.mktemp("service")
    with ForkedServer(str(folder / "service.db"), folder / "log") as server:
        monkeypatch.setenv("SUPERARM_URL", server.url)
        run_python(CLIENT)
        run_python(EDGE)
    assert not list(tmp_path.iterdir())


def test_the_client_says_what_to_install(monkeypatch):
    for name in [one for one in sys.modules if one.startswith("superarm.client")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install httpx, or pip install '.\[client"):
        importlib.import_module("superarm.client")
