"""A client of the HTTP API with the verbs of `Memory`: `Client`, and `AsyncClient` whose verbs are
awaited.
"""

from .client import AsyncClient, Client
from .requests import RequestRefused, ServerUnavailable

__all__ = ["AsyncClient", "Client", "RequestRefused", "ServerUnavailable"]
