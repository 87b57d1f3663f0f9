"""No statement of the service reads a whole table of PostgreSQL, however the rows are spread."""

import psycopg
import pytest

import serving
from superarm.service.bandits.engine import Engine
from superarm.service.http.service import Service
from superarm.service.log import postgres as log
from superarm.service.log.postgres import PostgresStore

N_ROWS = 5000  # of another bandit, in each table
# psycopg prepares a statement when it is executed for the 6th time. After 5 more times PostgreSQL
# may plan it for all values together, and then expects the rows of the other bandit everywhere.
N_TIMES = 12
TABLES = "events", "told", "asked"
_FILL = f"""
INSERT INTO superarm.events (bandit, seq, time, kind, decision, key, body, digest)
SELECT {{number}}, n, n, CASE n % 2 WHEN 0 THEN 'told' ELSE 'decided' END, n / 2, 'key ' || n,
  '', ''
FROM generate_series(2, {N_ROWS}) AS n;
INSERT INTO superarm.told SELECT {{number}}, n, n FROM generate_series(1, {N_ROWS}) AS n;
INSERT INTO superarm.asked SELECT {{number}}, 'key ' || n, n FROM generate_series(1, {N_ROWS}) AS n
"""


def service_on(address):
    return serving.client_on(Service(Engine(PostgresStore(address))))


def fill(admin, number, *, is_analyzed):
    admin.execute(_FILL.format(number=number))
    for table in TABLES:
        admin.execute(f"ALTER TABLE superarm.{table} SET (autovacuum_enabled = off)")
        if is_analyzed:
            admin.execute(f"ANALYZE superarm.{table}")


def rows_read(admin):
    """Per table: rows that were read without an index, and with one."""
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    while admin.execute(others).fetchone()[0]:  # a connection counts what it did when it ends
        admin.execute("SELECT pg_sleep(0.01)")
    query = (
        "SELECT relname, seq_tup_read, idx_tup_fetch FROM pg_stat_user_tables "
        "WHERE schemaname = 'superarm'"
    )
    return {table: counts for table, *counts in admin.execute(query).fetchall() if table in TABLES}


def use_everything(client, bandit):
    """Decisions and outcomes, with keys and in bulk, and all that can be read of them."""
    path = f"/v1/bandits/{bandit}"
    first = serving.decide(client, bandit)
    for turn in range(N_TIMES):
        headers = {"Idempotency-Key": f"once-{turn}"}
        made = client.post(f"{path}/decisions", headers=headers).json()
        assert client.post(f"{path}/decisions", headers=headers).json() == made
        serving.tell(client, made["id"], dict.fromkeys(made["arms"], 1.0))
        decided = client.post("/v1/decisions", json={"decisions": [{"bandit": bandit}] * 3}).json()
        told = [
            {"decision": one["answer"]["id"], "outcomes": dict.fromkeys(one["answer"]["arms"], 0)}
            for one in decided["results"]
        ]
        assert client.post("/v1/outcomes", json={"outcomes": told}).status_code == 200
        for read in (
            path,
            f"{path}/history?points=20",
            f"{path}/decisions?limit=5",
            *(f"{path}/decisions?status={status}" for status in ("open", "told", "expired")),
            f"{path}/log?after=3",
            *(
                f"/v1/decisions/{one['id']}"
                for one in (first, made, decided["results"][0]["answer"])
            ),
            f"/v1/decisions/{first['id']}/explanation",
        ):
            got = client.get(read)
            assert got.status_code == 200, (read, got.text)


@pytest.mark.parametrize("is_analyzed", [False, True], ids=["new", "analyzed"])
@pytest.mark.parametrize("alone", [1000, 0], ids=["with locks", "trusting"])
def test_no_table_is_read_as_a_whole(postgres_database, monkeypatch, is_analyzed, alone):
    """Also if nearly all rows are of another bandit.

    A search for a row that is not there then read all events, in every turn.
    """
    monkeypatch.setattr(log, "_ALONE", alone)
    with service_on(postgres_database) as client:
        large = serving.create(client, name="large")
        number = client.app.state.service.engine.store.bandit(large).number
    with psycopg.connect(postgres_database, autocommit=True) as admin:
        fill(admin, number, is_analyzed=is_analyzed)
        before = rows_read(admin)
        with service_on(postgres_database) as client:
            use_everything(client, serving.create(client))
        after = rows_read(admin)
    assert {table: after[table][0] - before[table][0] for table in TABLES} == dict.fromkeys(
        TABLES, 0
    )
    assert after["events"][1] > before["events"][1]  # what the service did has been counted
