"""One PostgreSQL per test process, and a database of its own for each test."""

import uuid

import psycopg
import pytest

import postgres


@pytest.fixture(scope="session")
def postgres_server():
    """The address of a server that is started once."""
    with postgres.running() as address:
        yield address


@pytest.fixture
def postgres_database(postgres_server):
    """The address of a new, empty database."""
    name = f"d{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server.replace("/postgres?", f"/{name}?")
