"""A form of the inspector that is larger than a server takes is refused, and does nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import httpx
import pytest

from htm_core import NotFound
from htm_core.db.database import Database
from htm_core.inspector.entrance import MOST_FORM
from htm_core.inspector.pages import PAGES
from htm_core.palace import Palace
from tests.conftest import Make
from tests.inspector.conftest import add_inspector, csrf_of
from tests.server.conftest import Issue, Running
from tests.stand_ins import HashEmbedder

MOST = 2_000
FORMS = ["/sign-in", "/sign-out", *(path for method, path, _ in PAGES if method == "POST")]
HEADERS = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def small(start: Callable[..., Running]) -> Running:
    """A server that takes small bodies alone."""
    running = start(max_body=MOST)
    add_inspector(running)
    return running


@pytest.fixture
def embedder(small: Running) -> HashEmbedder:
    """The model of this server."""
    return small.embedder


@pytest.fixture
def browser(small: Running, issue: Issue) -> Iterator[httpx.Client]:
    """A browser that is signed in to it."""
    with httpx.Client(base_url=small.url, timeout=30) as client:
        secret = csrf_of(client.get("/ui/sign-in"))
        assert (
            client.post("/ui/sign-in", data={"csrf": secret, "token": issue()}).status_code == 303
        )
        yield client


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_is_too_large_is_refused_and_does_nothing(
    form: str,
    in_parts: bool,
    browser: httpx.Client,
    issue: Issue,
    make: Make,
    database: Database,
    tenant: str,
) -> None:
    with make() as memory:
        node = memory.remember("The boat lies at pier seven.", key="pier")
        hidden = memory.remember("The boat is called Nixe.")
        memory.forget(hidden.id)
        with database.owner() as owner:
            owner.execute(
                "insert into jobs (tenant, kind, model, node_id, parked_at, error, attempts) "
                "values (%s, 'tag', 'some model', %s, now(), 'given up', 5)",
                [tenant, node.id],
            )
        own, about = browser.cookies, hidden.id if form.endswith("/restore") else node.id
        secret = csrf_of(browser.get("/ui/"))
        if form == "/sign-in":
            browser.cookies = httpx.Cookies()
            secret = csrf_of(browser.get("/ui/sign-in"))
        fields = {
            "csrf": secret, "token": issue(), "key": "pier", "version": "1", "content": "It lies at pier nine.",
            "confirmed": "1", "room": "boats", "drawer": "nixe", "reason": "Whoever sails has to know.", "more": "x" * MOST,
        }  # fmt: skip
        body = urlencode(fields).encode()
        parts = iter([body[:MOST], body[MOST:]])
        answer = browser.post(
            f"/ui{form.replace('{id}', about)}",
            content=parts if in_parts else body,
            headers=HEADERS,
        )
        assert answer.status_code == 413
        assert f"at most {MOST:,} bytes" in answer.text
        assert "set-cookie" not in answer.headers
        browser.cookies = own
        assert browser.get("/ui/").status_code == 200
        assert (memory.get("pier").content, memory.get(node.id).id) == (node.content, node.id)
        assert Palace(memory).rooms() == []
        assert [each.state for each in memory.jobs.list(kind="tag")] == ["parked"]
        with pytest.raises(NotFound):
            memory.get(hidden.id)


def test_who_is_not_known_yet_sends_a_small_form_even_where_large_ones_are_taken(
    site: Running, issue: Issue
) -> None:
    with httpx.Client(base_url=site.url) as client:
        fields = {
            "csrf": csrf_of(client.get("/ui/sign-in")),
            "token": issue(),
            "more": "x" * MOST_FORM,
        }
        answer = client.post("/ui/sign-in", data=fields)
    assert answer.status_code == 413
    assert f"at most {MOST_FORM:,} bytes" in answer.text
    assert "set-cookie" not in answer.headers
