"""Logs without their oldest events: everything goes on bit for bit as with all events."""

import json
import os
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from serving import client_of, create, decide, events_of, tell
from superarm import cli
from superarm.service.bandits import loading
from superarm.service.bandits.compaction import compact
from superarm.service.bandits.replay import fingerprint, replay
from superarm.service.log import chain, queries
from superarm.service.log.events import DamagedLogError
from superarm.service.log.sqlite import SQLiteStore

DAY = 86_400.0


class Days:
    """A clock that the test moves."""

    now = 100 * DAY

    def __call__(self):
        return self.now


def play(client, bandit, clock, n_days):
    """Decisions of several days. Some are never told, and one is told a day later."""
    late = None
    for _ in range(n_days):
        clock.now += DAY
        made = decide(client, bandit, n=2)["decisions"] + [decide(client, bandit)]
        for one in [made[0], *([late] if late else [])]:
            tell(client, one["id"], dict.fromkeys(one["arms"], 1.0))
        tell(client, made[1]["id"], {made[1]["arms"][0]: 0.5})
        late = made[2]
    return late


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A file with the log of a bandit over eight days, and the bandit's id."""
    path, clock = tmp_path_factory.mktemp("compaction") / "bandits.db", Days()
    with client_of(path, clock=clock, checkpoint_every=10) as client:
        bandit = create(client, seed=3, keep=2, expiry={"after_s": 2.5 * DAY, "missing": 0.0})
        play(client, bandit, clock, 4)
        client.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["eel"]})
        play(client, bandit, clock, 4)
    return path, bandit, clock.now


@pytest.fixture
def copied(played, tmp_path):
    """Two copies of the file, the second compacted, and the rest."""
    path, bandit, now = played
    paths = [tmp_path / name for name in ("whole.db", "short.db")]
    for copy in paths:
        shutil.copy(path, copy)
    return *paths, bandit, now


def compacted(path, before=1000 * DAY):
    store = SQLiteStore(path)
    try:
        (bandit,) = store.bandits(10)
        return compact(store, bandit, {}, before).n_events
    finally:
        store.close()


def looked_at(path, function):
    store = SQLiteStore(path, "read")
    try:
        return function(store, *store.bandits(10))
    finally:
        store.close()


def test_everything_goes_on_as_with_all_events(copied):
    whole, short, bandit, now = copied
    n_removed = compacted(short)
    assert n_removed > 20
    # The event of the base stays, and the first one, which has the spec.
    n_events = [looked_at(path, lambda store, _: len(events(store))) for path in (whole, short)]
    assert n_events[1] == n_events[0] - n_removed + 2 - 1
    said = []
    for path in (whole, short):
        clock = Days()
        clock.now = now
        with client_of(path, clock=clock) as client:
            late = play(client, bandit, clock, 2)
            said.append([late, client.get(f"/v1/bandits/{bandit}").json()])
            newest = client.get(f"/v1/bandits/{bandit}/decisions?limit=4").json()["decisions"]
            said[-1].append(newest)
        said[-1].append(
            looked_at(path, lambda store, one: fingerprint(loading.load(store, one, {})))
        )
    assert said[0] == said[1]
    assert looked_at(short, lambda store, one: replay(store, one, {}).same)
    assert looked_at(short, lambda store, one: chain.verify(store, one, whole=True)) > 5


def events(store):
    return store._read("SELECT seq FROM events")


def test_without_checkpoints_the_base_is_enough(copied):
    whole, short, bandit, _ = copied
    compacted(short)
    found = []
    for path in (whole, short):
        with client_of(path, checkpoints=False) as client:
            found.append(client.get(f"/v1/bandits/{bandit}").json()["posterior"])
            assert events_of(client, bandit)[0]["kind"] == "created"
    assert found[0] == found[1]


def test_what_was_removed_is_not_found_and_what_is_left_is_listed(copied):
    _, short, bandit, _ = copied
    compacted(short)
    with client_of(short) as client:
        assert client.get(f"/v1/decisions/{bandit}-1").status_code == 404
        address = f"/v1/bandits/{bandit}/decisions"
        for status in (None, "open", "told", "expired"):
            params = {"limit": 2, **({} if status is None else {"status": status})}
            numbers, pages = [], 0
            while True:
                page = client.get(address, params=params).json()
                numbers += [int(one["id"].split("-")[1]) for one in page["decisions"]]
                pages += 1
                if page["next"] is None:
                    break
                params["before"] = page["next"]
            assert numbers == sorted(numbers, reverse=True)
            assert pages <= 1 + len(numbers)
        points = client.get(f"/v1/bandits/{bandit}/history?points=5").json()["points"]
        assert 1 <= len(points) <= 5


def test_days_are_whole_and_open_decisions_stay(copied):
    _, short, _bandit, _now = copied
    assert compacted(short, before=0.0) == 0
    assert compacted(short, before=103.5 * DAY) > 0  # before day 103
    first = looked_at(short, lambda store, one: store.events(one.number, 1, 2))
    assert first[0].time < 103 * DAY <= first[1].time
    assert compacted(short) > 0  # and once more, from the base
    opened = looked_at(short, lambda store, one: loading.load(store, one, {}).session.open)
    with client_of(short) as client:
        for one in opened:
            assert client.get(f"/v1/decisions/{one.id}").json()["status"] == "open"


def test_the_command_names_the_open_decisions_that_keep_days(tmp_path):
    path, clock = tmp_path / "bandits.db", Days()
    with client_of(path, clock=clock) as client:
        bandit = create(client, name="shop")
        opened = []
        for n_open in (0, 1, 7):
            clock.now += DAY
            made = decide(client, bandit, n=n_open + 1)["decisions"]
            tell(client, made[0]["id"], dict.fromkeys(made[0]["arms"], 1.0))
            opened += [one["id"] for one in made[1:]]

    def said(before):
        words = ["compact", str(path), "shop", "--before", before, "--no-export"]
        run = CliRunner().invoke(cli.app, words)
        assert run.exit_code == 0, run.output
        return run.output

    # Day 102 after 1970, and the day after the last one.
    assert said("1970-04-13") == f"{bandit} shop: 2 events removed\n"
    assert said("1970-04-20") == (
        f"{bandit} shop: 0 events removed\n"
        "all events since 1970-04-13 stay, because decisions before 1970-04-20 are open: "
        f"8, the oldest {', '.join(opened[:5])} and 3 more; "
        "send their outcomes, or make bandits with an expiry, whose next decision closes what has "
        "expired\n"
    )


@pytest.mark.parametrize("more", [["--no-export"], []])
def test_a_day_that_is_not_over_stays(tmp_path, monkeypatch, more):
    """Its file would be written again later, without the decisions that were removed."""
    monkeypatch.chdir(tmp_path)
    path, today = tmp_path / "bandits.db", datetime.now(UTC).date()  # or yesterday, soon
    with client_of(path) as client:
        bandit = create(client, name="shop")
        made = decide(client, bandit)
        tell(client, made["id"], dict.fromkeys(made["arms"], 1.0))
    words = ["compact", str(path), "shop", *more, "--before"]
    refused = CliRunner().invoke(cli.app, [*words, str(today + timedelta(days=2))])
    assert refused.exit_code == 2
    assert "--before must be at most 20" in refused.output
    assert "shop: 0 events removed" in CliRunner().invoke(cli.app, [*words, str(today)]).output
    assert looked_at(path, lambda store, one: len(store.events(one.number, 0, 9))) == 3


def test_a_crash_after_the_base_loses_nothing(copied, monkeypatch):
    whole, short, _bandit, _ = copied

    def crash(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(queries, "remove", crash)
    with pytest.raises(KeyboardInterrupt):
        compacted(short)
    monkeypatch.undo()
    states = [
        looked_at(path, lambda store, one: fingerprint(loading.load(store, one, {})))
        for path in (whole, short)
    ]
    assert states[0] == states[1]
    assert looked_at(short, lambda store, one: replay(store, one, {}).same)


def test_a_changed_base_is_noticed(copied):
    _, short, _, _ = copied
    compacted(short)
    connection = sqlite3.connect(short)
    with connection:
        connection.execute("UPDATE bases SET meta = meta || ' '")
    connection.close()
    with pytest.raises(DamagedLogError, match="base"):
        looked_at(short, lambda store, one: chain.verify(store, one))


def test_the_command_archives_first(copied, tmp_path):
    _, short, bandit, _ = copied
    out = tmp_path / "archive"
    words = ["compact", str(short), bandit, "--before", "1970-04-14", "--out", str(out)]
    said = CliRunner().invoke(cli.app, words)
    assert said.exit_code == 0, said.output
    assert "events removed" in said.output
    folder = out / f"bandit={bandit}"
    assert json.loads((folder / "log.json").read_text())["arms"][-1] == "eel"
    days = sorted(path.name for path in folder.glob("date=*"))
    assert days[0] == "date=1970-04-12"
    # A later export knows the arms that removed events have added, and only the days that are left.
    again = CliRunner().invoke(cli.app, ["export", str(short), "--out", str(tmp_path / "rest")])
    assert again.exit_code == 0, again.output
    rest = tmp_path / "rest" / f"bandit={bandit}"
    assert json.loads((rest / "log.json").read_text())["arms"][-1] == "eel"
    assert min(path.name for path in rest.glob("date=*")) >= "date=1970-04-13"


def test_the_archive_is_on_the_disk_before_events_are_removed(copied, tmp_path, monkeypatch):
    """A power cut soon after the command lost both."""
    _, short, bandit, _ = copied
    out, synced, sync, removed = tmp_path / "made" / "here", set(), os.fsync, []
    out.parent.mkdir()

    def noted(file):
        synced.add(os.fstat(file).st_ino)
        sync(file)

    def remove(*given):
        removed.append(given)
        made = [out.parent, out, *out.rglob("*")]
        assert len(made) > 4
        assert {path.stat().st_ino for path in made} <= synced

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(SQLiteStore, "compact", remove)
    words = ["compact", str(short), bandit, "--before", "1970-04-14", "--out", str(out)]
    said = CliRunner().invoke(cli.app, words)
    assert (said.exit_code, len(removed)) == (0, 1), said.output
