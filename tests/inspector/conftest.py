"""A server with the inspector, and browsers of plain HTTP that are signed in to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx
import pytest

from htm_core.inspector.mounted import Inspector, mounted
from htm_core.serve.settings import Identity
from tests.server.conftest import Issue, Running, issue, start
from tests.stand_ins import HashEmbedder

__all__ = ["issue", "start"]

SignIn = Callable[..., httpx.Client]


def csrf_of(page: httpx.Response) -> str:
    """The secret of the forms of a page."""
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found, page.text
    return found[1]


def whole(client: httpx.Client, path: str, **fields: str) -> str:
    """A page once it has its counts or its map: on a busy machine it says first that it is making them."""
    for _ in range(300):
        answer = client.get(path, params=fields or None)
        assert answer.status_code == 200, answer.text
        if "data-again" not in answer.text and "seconds ago, and being" not in answer.text:
            return answer.text
    raise AssertionError(f"{path} has waited for its counts in vain")


def add_inspector(running: Running, once: Identity | None = None) -> Inspector:
    """The inspector of a server that runs."""
    inspector = Inspector(running.application, once=once)
    running.application.mount(mounted(inspector))
    return inspector


@pytest.fixture(scope="module")
def site(start: Callable[..., Running]) -> Running:
    """The server that most tests ask."""
    running = start()
    add_inspector(running)
    return running


@pytest.fixture
def sign_in(site: Running, issue: Issue) -> Iterator[SignIn]:
    """Signs in with a new token of some scopes."""
    made: list[httpx.Client] = []

    def signed_in(*scopes: str, token: str | None = None, **options: str) -> httpx.Client:
        client = httpx.Client(base_url=site.url, timeout=30)
        made.append(client)
        form = client.get("/ui/sign-in")
        secret = token or issue(*(scopes or ("read", "write")), **options)
        done = client.post("/ui/sign-in", data={"csrf": csrf_of(form), "token": secret})
        assert done.status_code == 303, done.text
        assert done.headers["location"] == "/ui/"
        return client

    yield signed_in
    for client in made:
        client.close()


@pytest.fixture
def embedder(site: Running) -> HashEmbedder:
    """The model of the server, so that memories of a test and those of the server have the same vectors."""
    return site.embedder
