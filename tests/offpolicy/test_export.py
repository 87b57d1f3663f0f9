"""Sessions and bandits as Parquet files: everything can be read back."""

import json

import numpy as np
import pytest

import superarm as sa
from commands import run
from serving import client_of, create, decide, tell
from superarm.beliefs import LinearBelief
from superarm.offpolicy import Log, ShownLog, Target, snips
from superarm.offpolicy.export import FILES, SCHEMA
from superarm.offpolicy.parquet import ParquetLog
from superarm.studies.own_log import guess

DAY_S = 86_400.0
NAMES = ["ant", "bee", "cat", "dog"]


def same(found, expected):
    """Whether two logs are equal, bit for bit."""
    assert found.names == expected.names
    for name in ("arms", "outcomes", "propensities", "set_propensities", "n_samples", "contexts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def played(names, *, context, n=30):
    """A session over three days. Every fifth decision is open, and some have no propensities."""
    belief = LinearBelief(len(names), context=2)
    policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(len(names)), 2)
    now = [0.0]
    session = sa.Session(policy, names, seed=1, clock=lambda: now[0])
    rng = np.random.default_rng(3)
    for t in range(n):
        now[0] = t * DAY_S / 10
        n_samples = None if t % 7 == 6 else 20
        decision = session.ask(propensities=n_samples, context=context(rng))
        if t % 5:
            outcomes = rng.random(2).round(2).tolist()
            session.tell(decision, dict(zip(decision.arms, outcomes, strict=True)))
    return session


@pytest.fixture(scope="module")
def session():
    return played(NAMES, context=lambda rng: rng.random(2))


@pytest.fixture(scope="module")
def folder(session, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    files = session.to_parquet(folder)
    days = ("1970-01-01", "1970-01-02", "1970-01-03")
    assert files == [folder / f"date={day}" / "part.parquet" for day in days]
    return folder


def test_a_session_comes_back(session, folder):
    log = Log.from_session(session)
    same(Log.from_parquet(folder), log)
    again = Log.from_parquet(folder).filled(0.0)
    target = Target.fixed([0, 1], 4)
    assert snips(again, target) == snips(log.filled(0.0), target)


def test_estimates_from_the_files_are_those_in_memory(session, folder):
    complete = Log.from_session(session).complete()
    expected = snips(complete, Target.fixed([0, 1], 4))
    found = ParquetLog.exported(folder).snips({"ant": 1.0, "bee": 1.0})
    for name in ("value", "low", "high", "std_error", "effective_n", "largest_share"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)


def test_the_files_have_the_documented_columns(session, folder):
    import duckdb

    files = duckdb.read_parquet(str(folder / FILES), hive_partitioning=False)
    assert dict(zip(files.columns, map(str, files.types), strict=True)) == SCHEMA
    frame = session.to_pandas("decisions")
    found = files.df()
    for name in ("decision", "round", "time", "status", "arm", "value", "outcome", "propensity"):
        assert found[name].astype(object).where(found[name].notna(), None).tolist() == (
            frame[name].astype(object).where(frame[name].notna(), None).tolist()
        )
    # The command line takes them for what they are.
    wanted = "--item arm --outcome outcome --round decision --position place"
    assert guess(files.columns).options() == f"{wanted} --propensity propensity"
    # People count places from 1, and so do logs of shown items.
    assert found["place"].tolist() == (frame["place"] + 1).tolist()
    columns = {"item": "arm", "outcome": "outcome", "round": "number", "position": "place"}
    shown = ShownLog.of(files, **columns)
    assert (shown.n_rounds, shown.names) == (30, tuple(NAMES))


def test_contexts_of_arms_and_names_that_are_numbers_come_back(tmp_path):
    session = played([10, 20, 30], context=lambda rng: rng.random((3, 2)), n=8)
    session.to_parquet(tmp_path)
    same(Log.from_parquet(tmp_path), Log.from_session(session))
    session.to_parquet(tmp_path)  # once more over the same files
    assert len(Log.from_parquet(tmp_path)) == 7


def test_a_bandit_of_the_service_comes_back(tmp_path):
    with client_of(tmp_path / "bandits.db") as client:
        bandit = create(client, name="shop", expiry={"after_rounds": 3, "missing": 0.0})
        create(client, name="other")
        ids = []
        for t in range(8):
            made = decide(client, bandit, n=2, propensities=5)["decisions"]
            ids += [one["id"] for one in made]
            tell(client, ids[-1], {made[-1]["arms"][t % 2]: 0.1 * t})
            if t == 4:
                client.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["eel"]})
                tell(client, ids[-1], {made[-1]["arms"][1]: 1.0})  # an outcome that comes later
        lines = client.get(f"/v1/bandits/{bandit}/log").text.splitlines()
        # Beside the server, which has the database open.
        done = run("export", tmp_path / "bandits.db", "--out", tmp_path / "all")
        assert done.exit_code == 0, done.output
    assert "shop: 1 day\n" in done.output
    folder = tmp_path / "all" / f"bandit={bandit}"
    same(Log.from_parquet(folder), Log.from_events(lines))
    about = json.loads((folder / "log.json").read_text())
    assert (about["name"], about["arms"]) == ("shop", [*NAMES, "eel"])
    statuses = dict(_statuses(folder))
    expired = [id for line in lines for id in _expired(json.loads(line))]
    assert {id for id, status in statuses.items() if status == "expired"} == set(expired)
    assert [id for id, status in statuses.items() if status == "told"] == [ids[9]]


def _statuses(folder):
    import duckdb

    query = "SELECT DISTINCT decision, status FROM log"
    return duckdb.read_parquet(str(folder / FILES)).query("log", query).fetchall()


def _expired(event):
    return event["decisions"] if event["kind"] == "expired" else []


def test_an_export_that_cannot_be_is_refused(tmp_path):
    with client_of(tmp_path / "bandits.db") as client:
        create(client)
    refused = run("export", tmp_path / "bandits.db", "nobody", "--out", tmp_path / "out")
    assert refused.exit_code == 1
    assert "the id or the name of a bandit of this database, got 'nobody'" in refused.output
    # A bandit without decisions has no day.
    done = run("export", tmp_path / "bandits.db", "canteen", "--out", tmp_path / "out")
    assert "canteen: 0 days" in done.output
    with pytest.raises(ValueError, match="at least one round, got none"):
        Log.from_parquet(next((tmp_path / "out").iterdir()))
