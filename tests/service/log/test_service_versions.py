"""Databases of earlier versions are brought to this one, and later versions are refused."""

import sqlite3

import psycopg
import pytest

from serving import client_of, create, decide
from superarm.service.log import postgres_tables, sqlite
from superarm.service.log.postgres import PostgresStore
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.log.sqlite_file import VERSION
from superarm.service.log.store import StoreError


def look(path, query):
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(query).fetchone()
    finally:
        connection.close()


def make_old(path):
    """Make the file one of version 1, which had no index of expired decisions."""
    look(path, "DROP INDEX events_expired")
    look(path, "INSERT INTO asked VALUES (1, 'once', 2)")  # of a later version, as after a restore
    look(path, "PRAGMA user_version = 1")


def test_an_old_file_is_brought_to_this_version(tmp_path):
    path = tmp_path / "bandits.db"
    with client_of(path) as client:
        bandit = create(client, seed=1)
        before = decide(client, bandit)
    make_old(path)
    for mode in ("read", "write"):  # beside a server that may be an old one
        SQLiteStore(path, mode).close()
        assert look(path, "PRAGMA user_version") == (1,)
    with client_of(path) as client:
        assert client.get(f"/v1/decisions/{before['id']}").json()["arms"] == before["arms"]
        decide(client, bandit)
        # What another log has left behind is not taken for a key of this one.
        url, header = f"/v1/bandits/{bandit}/decisions", {"headers": {"Idempotency-Key": "once"}}
        made = client.together([("POST", url, header), ("POST", url, {})])
        assert [answer.status_code for answer in made] == [201, 201]
        assert "idempotent-replayed" not in made[0].headers
    assert look(path, "PRAGMA user_version") == (VERSION,)
    assert look(path, "SELECT 1 FROM sqlite_master WHERE name = 'events_expired'")


@pytest.mark.parametrize("mode", ["serve", "write", "read"])
def test_an_old_version_refuses_a_new_file(tmp_path, monkeypatch, mode):
    """It would continue the log with decisions that are not ranked."""
    SQLiteStore(tmp_path / "bandits.db").close()
    monkeypatch.setattr(sqlite, "VERSION", 1)
    with pytest.raises(StoreError, match="version 1 or earlier, got version 5"):
        SQLiteStore(tmp_path / "bandits.db", mode)


def test_versions_of_postgres(postgres_database, monkeypatch):
    def look(query):
        with psycopg.connect(postgres_database, autocommit=True) as connection:
            return connection.execute(query)

    PostgresStore(postgres_database).close()
    look("UPDATE superarm.meta SET version = 1")
    look("INSERT INTO superarm.asked VALUES (1, 'once', 2)")
    look("DROP INDEX superarm.events_expired")
    for mode, wanted in (("read", 1), ("serve", postgres_tables.VERSION)):
        PostgresStore(postgres_database, mode).close()
        with psycopg.connect(postgres_database) as connection:
            found = connection.execute("SELECT version FROM superarm.meta").fetchall()
            assert found == [(wanted,)]
            n_left = connection.execute("SELECT count(*) FROM superarm.asked").fetchone()
            assert n_left == (1 if mode == "read" else 0,)
    look("DROP INDEX superarm.events_expired")  # there again
    monkeypatch.setattr(postgres_tables, "VERSION", 1)
    with pytest.raises(StoreError, match="version 1 or earlier, got version 4"):
        PostgresStore(postgres_database)
