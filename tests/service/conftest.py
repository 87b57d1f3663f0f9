"""Databases of tests, a client, and one PostgreSQL per test process."""

import uuid

import psycopg
import pytest

import postgres
from serving import client_of


@pytest.fixture
def path(tmp_path):
    """Where an SQLite database is, or will be."""
    return tmp_path / "bandits.db"


@pytest.fixture
def client(path):
    """A client of a service on this database."""
    with client_of(path) as client:
        yield client


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
