"""The service's verbs from Python, to be called or awaited: ``pip install 'superarm[client]'``."""

from superarm.client.answers import Bandit, Decision
from superarm.client.clients import AsyncClient, Client
from superarm.client.errors import (
    ClientError,
    ConflictError,
    ExpiredError,
    InvalidError,
    NotAllowedError,
    NotFoundError,
    ProblemError,
    ServerError,
    TooManyError,
    UnreachableError,
)
from superarm.client.retries import Retries

__all__ = [
    "AsyncClient",
    "Bandit",
    "Client",
    "ClientError",
    "ConflictError",
    "Decision",
    "ExpiredError",
    "InvalidError",
    "NotAllowedError",
    "NotFoundError",
    "ProblemError",
    "Retries",
    "ServerError",
    "TooManyError",
    "UnreachableError",
]
