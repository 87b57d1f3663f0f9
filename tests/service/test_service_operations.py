"""docs/operations.md is true: metrics, log lines, deployment files, backups."""

import json
import re
import runpy
import shlex
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from serving import client_of, create, events_of, play
from superarm import cli
from superarm.service.metrics import Metrics

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text()
UNIT = ROOT / "deploy" / "superarm.service"
CONTAINER = ROOT / "deploy" / "Containerfile"


def test_every_metric_is_explained():
    text = Metrics().text().decode()
    found = re.findall(r"^# TYPE (\w+) \w+$", text, re.MULTILINE)
    assert len(found) > 5
    for name in found:
        if name.endswith("_created"):
            continue  # since when a counter counts
        assert f"| `{name}` |" in PAGE, name


def test_routes_of_metrics_are_those_of_the_description(tmp_path):
    with client_of(tmp_path / "bandits.db") as client:
        bandit = create(client)
        client.delete(f"/v1/bandits/{bandit}/arms/ant")
        found = set(re.findall(r'route="([^"]+)"', client.get("/metrics").text))
        assert found == {"/v1/bandits", "/v1/bandits/{id}/arms/{name}"}
        assert found <= set(client.get("/openapi.json").json()["paths"])


def test_every_metric_that_is_explained_is_there():
    text = Metrics().text().decode()
    for name in re.findall(r"^\| `(superarm_\w+)` \|", PAGE, re.MULTILINE):
        assert f"# TYPE {name} " in text


def test_every_line_of_the_log_is_explained():
    sources = "".join(
        path.read_text() for path in (ROOT / "src" / "superarm" / "service").rglob("*.py")
    )
    names = re.findall(r'_log\.(?:info|warning|error)\(\s*"(\w+)"', sources)
    assert len(names) > 4
    for name in names:
        assert f"`{name}`" in PAGE, name


def served_with(words):
    """The options of a command line of ``superarm serve``, as the program parses them."""
    command = cli.app.commands["serve"]
    return command.make_context("serve", list(words)).params


def test_the_unit_starts_what_there_is(monkeypatch):
    text = UNIT.read_text()
    program, verb, *words = shlex.split(re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1))
    assert (Path(program).name, verb) == ("superarm", "serve")
    (own,) = re.findall(r"^Environment=SUPERARM_DATABASE=(.*)$", text, re.MULTILINE)
    for database in (
        own,
        "postgresql://superarm:secret@db.example/superarm",
    ):  # as the file of secrets has it
        monkeypatch.setenv("SUPERARM_DATABASE", database)
        assert served_with(words)["database"] == database
    assert own.startswith("/var/lib/superarm/")
    assert "StateDirectory=superarm" in text


def test_keys_are_made_where_the_service_looks(monkeypatch, tmp_path):
    monkeypatch.setenv("SUPERARM_DATABASE", str(tmp_path / "s.db"))
    assert CliRunner().invoke(cli.app, ["keys", "add", "--role", "read"]).exit_code == 0
    assert (tmp_path / "s.db").exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd is installed")
def test_systemd_takes_the_unit(tmp_path):
    path = tmp_path / "superarm.service"
    path.write_text(
        re.sub(
            r"^ExecStart=\S+",
            f"ExecStart={shutil.which('true')}",
            UNIT.read_text(),
            flags=re.MULTILINE,
        )
    )
    done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout  # an exposure of at most 2.0 of 10


def test_the_container_starts_what_there_is():
    text = CONTAINER.read_text()
    entry, command = (
        re.findall(r'"([^"]*)"', re.search(rf"^{word} \[(.*)\]$", text, re.MULTILINE).group(1))
        for word in ("ENTRYPOINT", "CMD")
    )
    assert entry[:2] == ["superarm", "serve"]
    options = served_with([*entry[2:], *command])
    assert options["host"] == "0.0.0.0"  # so that keys are asked for
    assert options["database"].startswith("/data/")
    assert f"EXPOSE {options['port']}" in text
    assert f"127.0.0.1:{options['port']}/healthz" in text
    assert re.search(r"^USER [1-9]\d*$", text, re.MULTILINE)


@pytest.mark.parametrize("how", ["backup", "vacuum"])
def test_a_copy_of_a_running_service_is_whole(tmp_path, how):
    path, copy = tmp_path / "s.db", tmp_path / "copy.db"
    with client_of(path, checkpoint_every=7) as client:
        bandit = create(client, seed=1)
        play(client, bandit, 10)
        source = sqlite3.connect(path)
        if how == "vacuum":
            source.execute("VACUUM INTO ?", (str(copy),))
        else:
            with sqlite3.connect(copy) as target:
                source.backup(target)
            target.close()
        source.close()
        before = events_of(client, bandit)
        play(client, bandit, 5)
    found = CliRunner().invoke(cli.app, ["replay", str(copy)])
    assert found.exit_code == 0
    assert "the same bit for bit" in found.output
    with client_of(copy) as client:
        assert events_of(client, bandit) == before
        play(client, bandit, 2)


def test_the_table_of_the_page_is_what_was_measured():
    import service

    found = json.loads((ROOT / "docs" / "service.json").read_text())
    assert service.markdown(found) in (ROOT / "docs" / "service.md").read_text()


def test_the_ratios_of_the_page_are_what_was_measured():
    import load

    every = [
        json.loads((ROOT / "docs" / name).read_text()) for name in ("load.json", "load-16.json")
    ]
    assert load.markdown(*every) in (ROOT / "docs" / "service.md").read_text()
    # Medians of the recorded rounds, not written by hand.
    for found in every:
        for kind in ("sqlite", "postgresql"):
            assert load.ratios(found[kind]) == found[kind]["ratios"]


def test_the_dashboard_shows_the_metrics_that_there_are():
    made = runpy.run_path(str(ROOT / "deploy" / "grafana.py"))["dashboard"]()
    assert json.loads((ROOT / "deploy" / "grafana.json").read_text()) == made
    assert "deploy/grafana.json" in PAGE
    metrics = Metrics()
    metrics.answered("GET", "/healthz", 200, 0.1)
    metrics.committed(["decided"], 0.1)
    samples = set(re.findall(r"^(superarm_\w+)", metrics.text().decode(), re.MULTILINE))
    asked = [target["expr"] for panel in made["panels"] for target in panel["targets"]]
    names = set(re.findall(r"superarm_\w+", "".join(asked)))
    assert names <= samples
    # Every metric is in some panel: histograms by their buckets, or by sum and count.
    families = set(re.findall(r"^# TYPE (superarm_\w+) ", metrics.text().decode(), re.MULTILINE))
    for family in families:
        if not family.endswith("_created"):
            assert any(name.startswith(family) for name in names), family
    labels = set(re.findall(r'[{,](\w+)="', metrics.text().decode()))
    used = re.findall(r"by \(([\w, ]+)\)", "".join(asked)) + re.findall(
        r"\{(\w+)[=!]", "".join(asked)
    )
    assert {label.strip() for some in used for label in some.split(",")} <= labels


def test_the_panels_do_not_overlap():
    panels = json.loads((ROOT / "deploy" / "grafana.json").read_text())["panels"]
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)
    assert len({panel["id"] for panel in panels}) == len(panels)
