"""A Python client for the service. Needs the extra ``client``.

`Client` makes blocking calls and `AsyncClient` has the same methods as coroutines. `Batching` sends
many calls in one request. `EdgeBandit` decides without requests.
"""

from superarm.version import how_to_install

try:
    import httpx as _httpx  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"superarm.client needs httpx, which is not installed: pip install httpx, or "
        f"{how_to_install('client')}",
        name=error.name,
    ) from error

from superarm.client.answers import Bandit, Decision
from superarm.client.batching import Batching
from superarm.client.clients import AsyncClient, Client
from superarm.client.edge import EdgeBandit
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
    "Batching",
    "Client",
    "ClientError",
    "ConflictError",
    "Decision",
    "EdgeBandit",
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
