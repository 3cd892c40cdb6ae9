"""A client of the HTTP API with the verbs of `Memory`: `Client`, and `AsyncClient` whose verbs are
awaited.
"""

from .client import AsyncClient, Client
from .errors import RequestRefused, ServerUnavailable

__all__ = ["AsyncClient", "Client", "RequestRefused", "ServerUnavailable"]
