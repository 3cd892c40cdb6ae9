"""The inspector over HTTP: who sees what, what is escaped, and what the actions do."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise

import httpx
import pytest

from htm_core import Memory, NotFound
from htm_core.base.types import Hit, Node
from htm_core.db import tokens
from htm_core.db.database import Database
from htm_core.engine import read
from htm_core.inspector import sign_in as sign_in_module
from htm_core.inspector.pages import PAGES, growth
from htm_core.inspector.pages.recall import parts_of
from htm_core.palace import Palace
from htm_core.prompt.recalled_block import WARNING
from htm_core.serve.settings import Identity
from tests.conftest import Make
from tests.inspector.conftest import SignIn, add_inspector, csrf_of, whole
from tests.server.conftest import Issue, Running

# That of the operator alone has tests of its own.
ADDRESSES = [
    path
    for method, path, _ in PAGES
    if method == "GET" and "{" not in path and path not in ("/key", "/tenants")
]
HOSTILE = "<script>alert('&\"x')</script><img src=x onerror=alert(1)>"


def check_headers(answer: httpx.Response) -> None:
    policy = answer.headers["content-security-policy"]
    assert policy == (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


class Markup(HTMLParser):
    """The tags of a page, and the attributes by which a page runs something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [
            name for name, value in attrs if name.startswith("on") or "javascript:" in (value or "")
        ]


# -- who sees it ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in PAGES])
def test_no_page_answers_before_the_sign_in(method: str, path: str, site: Running) -> None:
    address = f"{site.url}/ui{path.replace('{id}', str(uuid.uuid4()))}"
    for headers in ({}, {"Cookie": f"htm_ui_{site.port}=guessed"}):
        answer = httpx.request(method, address, headers=headers)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/ui/sign-in")
        check_headers(answer)


def test_a_server_has_no_pages_unless_they_are_mounted(start: Callable[..., Running]) -> None:
    assert httpx.get(f"{start().url}/ui/sign-in").status_code == 401


def test_a_wrong_token_is_refused_and_a_revoked_one_signs_out(
    site: Running, issue: Issue, sign_in: SignIn, database: Database, tenant: str
) -> None:
    client = httpx.Client(base_url=site.url)
    form = client.get("/ui/sign-in")
    wrong = client.post("/ui/sign-in", data={"csrf": csrf_of(form), "token": "htm_wrong"})
    assert wrong.status_code == 401
    assert "expected a valid token" in wrong.text
    assert "htm_wrong" not in wrong.text
    signed_in = sign_in()
    assert signed_in.get("/ui/memories").status_code == 200
    [token] = tokens.listed(database, tenant)
    assert tokens.revoke(database, tenant, token.name, at=datetime.now(UTC))
    assert signed_in.get("/ui/memories").status_code == 303


def test_cookies_cannot_be_read_by_scripts_nor_sent_from_other_sites(
    site: Running, sign_in: SignIn
) -> None:
    client = httpx.Client(base_url=site.url)
    form = client.get("/ui/sign-in")
    for answer in (
        form,
        httpx.get(f"{site.url}/ui/sign-in", headers={"X-Forwarded-Proto": "https"}),
    ):
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "path=/ui" in cookie
    assert "; secure" in cookie


def test_signing_out_ends_the_session(sign_in: SignIn) -> None:
    client = sign_in()
    page = client.get("/ui/memories")
    kept = dict(client.cookies)
    assert (
        client.post("/ui/sign-out", data={"csrf": csrf_of(page)}).headers["location"]
        == "/ui/sign-in"
    )
    again = httpx.get(f"{client.base_url}/ui/memories", cookies=kept)
    assert again.status_code == 303


def test_a_session_ends_when_nobody_uses_it(site: Running, issue: Issue) -> None:
    now = 0.0
    made = sign_in_module.SignIns(
        site.application.access, once=Identity(tenant="t", user=None, robot=None, scopes=frozenset(("read",))),
        clock=lambda: now,
    )  # fmt: skip
    cookie = made.by_link(made.link_key or "")
    assert asyncio.run(made.find(cookie)) is not None
    now = sign_in_module.IDLE - 1
    assert asyncio.run(made.find(cookie)) is not None
    now += sign_in_module.IDLE + 1
    assert asyncio.run(made.find(cookie)) is None
    now = 0.0
    assert asyncio.run(made.find(cookie)) is None


def test_the_link_signs_in_once(start: Callable[..., Running], tenant: str) -> None:
    running = start()
    inspector = add_inspector(
        running, Identity(tenant=tenant, user=None, robot=None, scopes=frozenset(("read",)))
    )
    link = inspector.link
    assert link is not None
    assert (
        httpx.head(running.url + link).status_code == 401
    )  # a preview of the link does not use it up
    with httpx.Client(base_url=running.url) as client:
        assert client.get("/ui/enter?key=guessed").status_code == 401
        entered = client.get(link)
        assert entered.status_code == 200
        check_headers(entered)
        page = client.get("/ui/memories")
        assert tenant in page.text
        assert "only read" in page.text
    assert inspector.link is None
    again = httpx.get(running.url + link)
    assert again.status_code == 401
    assert "used before" in again.text


def test_a_server_without_tokens_lets_this_machine_in_and_no_other_name(
    start: Callable[..., Running], tenant: str
) -> None:
    running = start(
        anonymous=Identity(tenant=tenant, user=None, robot=None, scopes=frozenset(("admin",)))
    )
    add_inspector(running)
    with httpx.Client(base_url=running.url) as client:
        form = client.get("/ui/sign-in")
        elsewhere = client.post(
            "/ui/sign-in", data={"csrf": csrf_of(form)}, headers={"Host": "evil.example"}
        )
        assert elsewhere.status_code == 403
        form = client.get("/ui/sign-in")
        assert client.post("/ui/sign-in", data={"csrf": csrf_of(form)}).status_code == 303
        assert client.get("/ui/").status_code == 200
        assert client.get("/ui/", headers={"Host": "evil.example"}).status_code == 403


def test_the_sign_in_goes_on_to_pages_of_ours_only(site: Running, issue: Issue) -> None:
    for wanted, place in (
        ("/ui/memories?tags=x", "/ui/memories?tags=x"), ("https://evil.example/", "/ui/"), ("//evil.example", "/ui/"),
        ("/ui/\\evil", "/ui/"), ("/v1/nodes", "/ui/"),
    ):  # fmt: skip
        with httpx.Client(base_url=site.url) as client:
            form = client.get("/ui/sign-in", params={"next": wanted})
            data = {"csrf": csrf_of(form), "token": issue(), "next": wanted}
            assert client.post("/ui/sign-in", data=data).headers["location"] == place


# -- what is refused --------------------------------------------------------------------------------------------------------


def test_what_another_tenant_or_user_has_is_not_found(sign_in: SignIn, make: Make) -> None:
    with make() as memory, make(user="ann") as ann:
        shared, private = (
            memory.remember("what all may see", key="plan"),
            ann.remember("what Ann alone may see"),
        )
    other = sign_in(of=f"other-{uuid.uuid4().hex[:8]}")
    bob = sign_in(user="bob")
    for client, node in ((other, shared), (other, private), (bob, private)):
        page = client.get(f"/ui/memory/{node.id}")
        assert page.status_code == 404
        assert "may see" not in page.text.replace("that you may see", "")
    assert other.get("/ui/key", params={"name": "plan"}).status_code == 404
    for path in ("/ui/memories", "/ui/timeline", "/ui/?q=may+see"):
        assert "what all may see" not in other.get(path).text
        assert "Ann alone" not in bob.get(path).text
    assert "what all may see" in bob.get("/ui/memories").text
    assert bob.get("/ui/", params={"q": "x", "a_scope": "tenant"}).status_code == 403


def test_a_form_without_its_secret_or_of_another_site_changes_nothing(
    sign_in: SignIn, make: Make
) -> None:
    with make() as memory:
        node = memory.remember("stay here")
        client = sign_in()
        secret = csrf_of(client.get(f"/ui/memory/{node.id}/forget"))
        path = f"/ui/memory/{node.id}/forget"
        assert client.post(path).status_code in (403, 415)
        assert client.post(path, data={"csrf": "guessed"}).status_code == 403
        assert client.post(path, data={"csrf": csrf_of(sign_in().get("/ui/"))}).status_code == 403
        assert client.post(path, json={"csrf": secret}).status_code == 415
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
        ):
            assert client.post(path, data={"csrf": secret}, headers=headers).status_code == 403
        assert client.post("/ui/sign-out", data={"csrf": "guessed"}).status_code == 403
        assert memory.get(node.id).content == "stay here"


def test_a_token_that_may_only_read_sees_no_actions_and_does_none(
    sign_in: SignIn, make: Make
) -> None:
    with make() as memory:
        node = memory.remember("read me", key="read-me")
        client = sign_in("read")
        page = client.get(f"/ui/memory/{node.id}")
        assert page.status_code == 200
        assert "/forget" not in page.text
        assert "/revise" not in page.text
        secret = csrf_of(page)
        for action in ("forget", "restore", "revise", "palace"):
            path = f"/ui/memory/{node.id}/{action}"
            assert client.get(path).status_code == 403
            answer = client.post(
                path, data={"csrf": secret, "key": "read-me", "content": "x", "confirmed": "1"}
            )
            assert answer.status_code == 403
            check_headers(answer)
        assert client.post("/ui/jobs/retry", data={"csrf": secret}).status_code == 403
        assert memory.get("read-me").content == "read me"


def test_a_tokens_robot_is_the_only_one_it_looks_into(sign_in: SignIn) -> None:
    client = sign_in(robot="atlas")
    assert client.get("/ui/working").status_code == 200
    assert client.get("/ui/working", params={"robot": "spy"}).status_code == 403


def test_what_is_no_page_or_no_request_is_answered_in_words(sign_in: SignIn, site: Running) -> None:
    client = sign_in()
    for path, status in (
        ("/ui/nothing", 404), ("/ui/memory/no-id", 404), ("/ui/memory/..%2f..%2fetc", 404), ("/ui/static/none.css", 404),
        ("/ui/static/..%2fmounted.py", 404), ("/ui/key?name=none", 404), ("/ui/sign-out", 405), ("/ui/jobs/retry", 405),
        ("/ui/?q=%FF", 400), (f"/ui/?q={'x' * 17_000}", 400), ("/ui/?q=x&a_limit=0", 422), ("/ui/?q=x&a_mode=magic", 422),
        ("/ui/?q=x&a_as_of=yesterday", 422), ("/ui/?q=x&a_timeframe=blorg", 422), ("/ui/?q=%00", 200),
        ("/ui/?q=x&a_min_score=nan", 422), ("/ui/timeline?before=x", 422), ("/ui/memories?after=x", 422),
        (f"/ui/timeline?before={uuid.uuid4()}", 404), ("/ui/working?order=x", 422), ("/ui/jobs?kind=x", 422),
        ("/ui/tags?tag=%20%3A", 422), ("/ui/working?session=" + "x" * 300, 422),
    ):  # fmt: skip
        answer = client.get(path)
        assert answer.status_code == status, (path, answer.status_code)
        check_headers(answer)
        assert answer.headers["content-type"].startswith("text/html")
    assert client.request("DELETE", "/ui/memories").status_code == 405
    assert client.post("/ui/sign-in", content=b"x" * 100).status_code in (403, 415)
    head = client.head("/ui/memories")
    assert head.status_code == 200
    assert head.content == b""
    check_headers(head)


# -- what is shown ----------------------------------------------------------------------------------------------------------


def test_nothing_that_was_remembered_becomes_markup(sign_in: SignIn, make: Make) -> None:
    with make(HOSTILE) as memory:
        node = memory.remember(
            f"{HOSTILE} drinks tea", key=HOSTILE, role="user", name=HOSTILE, session=HOSTILE,
            metadata={HOSTILE: HOSTILE}, tags=["evil:a&b"],
        )  # fmt: skip
        memory.revise(HOSTILE, f"{HOSTILE} drinks coffee")
        Palace(memory).file(f"{HOSTILE} filed", room="safe", drawer="box")
    client = sign_in("admin")
    new = memory.get(HOSTILE)
    pages = [
        ("/ui/", {"q": f"{HOSTILE} tea", "compare": "1", "b_session": HOSTILE, "a_tags": HOSTILE}),
        ("/ui/", {"q": f"{HOSTILE} tea"}), ("/ui/memories", {}), ("/ui/memories", {"tags": HOSTILE}), ("/ui/sessions", {}),
        ("/ui/timeline", {}), ("/ui/timeline", {"session": HOSTILE, "forgotten": "1"}), ("/ui/timeline", {"timeframe": HOSTILE}),
        ("/ui/working", {}), ("/ui/working", {"robot": HOSTILE, "session": HOSTILE}), ("/ui/palace", {}), ("/ui/tags", {}), ("/ui/map", {}),
        ("/ui/tags", {"tag": HOSTILE}), ("/ui/tags/graph", {}), ("/ui/tags/graph", {"tag": HOSTILE}), (f"/ui/memory/{new.id}/graph", {}), ("/ui/jobs", {}), ("/ui/jobs", {"kind": HOSTILE}), ("/ui/health", {}),
        (f"/ui/memory/{node.id}", {}), (f"/ui/memory/{new.id}", {}), (f"/ui/memory/{new.id}/forget", {}), (f"/ui/memory/{new.id}/palace", {}),
        (f"/ui/memory/{new.id}/revise", {"key": HOSTILE}), ("/ui/memory/" + HOSTILE.replace("/", "%2F"), {}),
        ("/ui/key", {"name": HOSTILE + "x"}), ("/ui/sign-in", {"next": HOSTILE}),
    ]  # fmt: skip
    shown = 0
    for path, query in pages:
        page = client.get(path, params=query).text
        shown += "&lt;script&gt;" in page
        found = Markup()
        found.feed(page)
        assert found.tags.count("script") <= 1, path
        assert "img" not in found.tags, path
        assert "a&b" not in found.tags, path
        assert found.handlers == [], path
    assert shown >= 15
    data = {"csrf": csrf_of(client.get("/ui/")), "key": HOSTILE, "content": HOSTILE, "version": "2"}
    preview = client.post(f"/ui/memory/{new.id}/revise", data=data)
    assert preview.status_code == 200
    assert "alert(1)&gt;" in preview.text
    assert "<img" not in preview.text


def test_the_bench_shows_why_a_hit_was_found_and_what_a_model_gets(
    sign_in: SignIn, make: Make
) -> None:
    with make() as memory:
        memory.remember(
            "The boat is painted dark green.",
            role="user",
            name="Ann",
            session="boat",
            tags=["boat:paint"],
        )
        memory.remember("The cat sleeps all day.", role="user", name="Bob", session="cat")
        held = len(memory.working)
        client = sign_in()
        page = client.get("/ui/", params={"q": "boat painted"}).text
        assert "<mark>The boat is painted dark green.</mark>" in page
        assert "By meaning" in page
        assert re.search(r'class="s-words" x="\d+" width="\d+"', page)
        assert WARNING in page
        two = client.get(
            "/ui/", params={"q": "boat", "compare": "1", "b_session": "cat", "b_mode": "text"}
        ).text
        assert two.count('class="result"') == 2
        assert "Nothing was found with this setting." in two.partition('id="b_head"')[2]
        assert len(memory.working) == held


def test_the_parts_of_a_score_stand_one_after_the_other() -> None:
    now = datetime.now(UTC)
    node = Node(id="x", content="x", created_at=now, accessed_at=now)
    hit = Hit(
        node=node, score=0.5, vector_rank=1, text_rank=None, passage="x",
        signals={"vector": 0.4, "words": 0.2, "context": 0.0, "echo": -0.1},
    )  # fmt: skip
    assert [(each.name, each.start, each.length) for each in parts_of(hit)] == [
        ("vector", 0, 400), ("words", 400, 200), ("echo", 500, 100),
    ]  # fmt: skip


def test_a_memory_is_forgotten_and_restored_after_a_confirmation(
    sign_in: SignIn, make: Make
) -> None:
    with make() as memory:
        node = memory.remember("the old address")
        client = sign_in()
        assert f"/ui/memory/{node.id}/forget" in client.get(f"/ui/memory/{node.id}").text
        ask = client.get(f"/ui/memory/{node.id}/forget")
        assert memory.get(node.id)
        done = client.post(f"/ui/memory/{node.id}/forget", data={"csrf": csrf_of(ask)})
        assert done.status_code == 303
        with pytest.raises(NotFound):
            memory.get(node.id)
        gone = client.get(done.headers["location"])
        assert gone.status_code == 404
        assert "is forgotten" in gone.text
        assert "the old address" not in client.get("/ui/timeline").text
        assert "forgotten or expired" in client.get("/ui/timeline?forgotten=1").text
        ask = client.get(f"/ui/memory/{node.id}/restore")
        back = client.post(f"/ui/memory/{node.id}/restore", data={"csrf": csrf_of(ask)})
        assert "The memory is restored." in client.get(back.headers["location"]).text
        assert memory.get(node.id).content == "the old address"
        entries = memory.audit(limit=2)
        assert [(each.kind, each.robot, each.facts["node"]) for each in entries] == [
            ("restore", "inspector", node.id), ("forget", "inspector", node.id),
        ]  # fmt: skip
        assert "the old address" not in entries[0].body + entries[1].body
        assert memory.verify_audit([each.digest for each in entries]).ok


def test_a_key_is_revised_over_the_version_that_was_seen(sign_in: SignIn, make: Make) -> None:
    with make() as memory:
        node = memory.remember("Launch on 23 May", key="launch")
        client = sign_in()
        form = client.get(f"/ui/memory/{node.id}/revise", params={"key": "launch"})
        data = {
            "csrf": csrf_of(form),
            "key": "launch",
            "version": "1",
            "content": "Launch on\r\n20 June",
        }
        preview = client.post(f"/ui/memory/{node.id}/revise", data=data)
        assert preview.status_code == 200
        assert memory.get("launch").version == 1
        done = client.post(f"/ui/memory/{node.id}/revise", data=data | {"confirmed": "1"})
        assert done.status_code == 303
        assert memory.get("launch").content == "Launch on\n20 June"
        page = client.get(done.headers["location"])
        assert "Launch on 23 May" in page.text
        late = client.post(f"/ui/memory/{node.id}/revise", data=data | {"confirmed": "1"})
        assert late.status_code == 409
        assert memory.get("launch").version == 2
        (entry,) = memory.audit(key="launch")
        assert (entry.kind, entry.facts["after_version"]) == ("revise", 1)
        assert "June" not in entry.body


def test_a_timeline_is_read_to_its_beginning_page_by_page(sign_in: SignIn, make: Make) -> None:
    with make() as memory:
        memory.remember_many(
            [{"content": f"message {n:03}", "session": "s", "role": "user"} for n in range(120)]
        )
    client = sign_in()
    seen: list[str] = []
    path = "/ui/timeline?session=s"
    for _ in range(3):
        page = client.get(path).text
        seen = re.findall(r'dir="auto">message (\d+)<', page) + seen
        earlier = re.search(r'rel="prev" href="([^"]+)"', page)
        path = earlier[1].replace("&amp;", "&") if earlier else ""
    assert seen == [f"{n:03}" for n in range(120)]
    assert path == ""
    onward = re.search(r'rel="next" href="([^"]+)"', page)
    assert onward
    assert "message 020" in client.get(onward[1].replace("&amp;", "&")).text


def test_jobs_that_were_given_up_are_tried_again(
    sign_in: SignIn, make: Make, database: Database, tenant: str
) -> None:
    with make() as memory:
        memory.remember("no vector yet")
        memory.flush(timeout=20)
        node = memory.get(memory.list(limit=1)[0].id)
    with database.transaction(tenant) as connection:
        connection.execute(
            "insert into jobs (tenant, kind, model, node_id, parked_at, error, attempts) "
            "values (this_tenant(), 'tag', 'a-model', %s, now(), '<b>boom</b>', 9)",
            (uuid.UUID(node.id),),
        )
    client = sign_in()
    page = client.get("/ui/jobs?state=parked")
    assert "&lt;b&gt;boom" in page.text
    done = client.post("/ui/jobs/retry", data={"csrf": csrf_of(page)})
    assert "1 job is tried again" in client.get(done.headers["location"]).text


@pytest.mark.parametrize("path", ADDRESSES)
def test_each_page_has_landmarks_headings_and_labels(path: str, sign_in: SignIn) -> None:
    page = sign_in("read", "write", "admin").get(f"/ui{path}")
    assert page.status_code == 200
    check_headers(page)
    for needed in ('<html lang="en">', "<main ", "<nav ", "<header ", 'class="skip" href="#main"'):
        assert needed in page.text
    assert page.text.count("<h1") == 1
    assert page.text.count('aria-current="page"') == 1
    labels = set(re.findall(r'<label for="([^"]+)"', page.text))
    fields = re.findall(
        r'<(?:input|select|textarea)\s+(?![^>]*type="hidden")[^>]*?id="([^"]+)"', page.text
    )
    assert set(fields) <= labels
    assert 'style="' not in page.text
    assert len(set(re.findall(r' id="([^"]+)"', page.text))) == len(
        re.findall(r' id="([^"]+)"', page.text)
    )


def test_files_of_the_pages_are_their_own(site: Running) -> None:
    for name, kind in (
        ("inspector.css", "text/css"),
        ("inspector.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
    ):
        file = httpx.get(f"{site.url}/ui/static/{name}")
        assert file.status_code == 200
        assert file.headers["content-type"].startswith(kind)
        assert "http" not in file.text.replace("http://www.w3.org/2000/svg", "")
        check_headers(file)


def test_an_unexpected_failure_says_nothing_of_what_failed(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret words")

    client = sign_in()
    monkeypatch.setattr(Memory, "stats", broken)
    monkeypatch.setattr("htm_core.inspector.pages.health._of", broken)
    for _ in range(300):  # on a busy machine the page says first that it is counting
        answer = client.get("/ui/health")
        if answer.status_code != 200:
            break
    assert answer.status_code == 500
    assert "secret words" not in answer.text
    check_headers(answer)


def test_a_signal_can_be_switched_off_for_one_setting(sign_in: SignIn, make: Make) -> None:
    with make() as memory:
        for role, said in (
            ("user", "Which colour is the boat?"),
            ("assistant", "Blue, with a bell."),
            ("user", "Lovely."),
        ):
            memory.remember(said, role=role, session="s1")
        memory.flush()
        asked = {
            "q": "Which colour has the boat?",
            "compare": "1",
            "b_off_context": "1",
            "b_off_session": "1",
        }
        page = sign_in().get("/ui/", params=asked).text
        first, second = page.split('id="b_head"')
        assert 'class="s-context' in first
        assert 'class="s-context' not in second
        assert "without context, session" in second
        assert 'id="b_off_context" name="b_off_context" value="1" checked' in page
        assert 'id="a_off_context" name="a_off_context" value="1">' in page


def test_what_the_filters_leave_out_is_shown_with_the_condition_that_fails(
    sign_in: SignIn, make: Make
) -> None:
    with make() as memory:
        memory.remember("The boat is blue.", session="s1", tags=["boat:colour"])
        memory.remember(
            "The boat is old <script>alert(1)</script>.",
            session="s2",
            at=datetime(2020, 5, 1, tzinfo=UTC),
        )
        memory.flush()
        client = sign_in()

        def left_out(**given: str) -> str:
            page = client.get(
                "/ui/",
                params={"q": "the boat"} | {f"a_{name}": value for name, value in given.items()},
            )
            assert page.status_code == 200
            assert "<script>alert" not in page.text
            return page.text.partition("Left out by the filters")[2].partition("</section>")[0]

        assert left_out() == ""
        assert "The boat is old" in left_out(session="s1")
        assert "not said in this session" in left_out(session="s1")
        assert "The boat is blue" not in left_out(session="s1")
        assert "without the tag boat:colour" in left_out(tags="boat:colour")
        assert left_out(tags="boat").count("<li>") == 1  # one below it counts
        assert "not said in this time" in left_out(timeframe="2026")
        assert "not heard by this robot" in left_out(robot="nobody")
        assert "its score is" in left_out(min_score="1")
        assert "said later" in left_out(as_of="2021-01-01")
        assert "not said in this session; not said in this time" in left_out(
            session="s1", timeframe="2030"
        )


def test_users_and_their_sizes_are_for_who_may_see_everybody(sign_in: SignIn, make: Make) -> None:
    with make() as shared, make(user="ann") as ann, make(user=HOSTILE) as hostile:
        shared.remember("for all", session="s0")
        ann.remember_many(
            [{"content": f"Ann says {number}.", "session": f"s{number}"} for number in range(3)]
        )
        gone = ann.remember("to be forgotten")
        ann.forget(gone.id)
        hostile.remember("me too")
    sizes = {each.user: each for each in read.users(shared._engine).shown}
    assert list(sizes) == ["ann", None, HOSTILE]  # the most messages first
    told = sizes["ann"]
    assert (told.nodes, told.mentions, told.sessions) == (3, 3, 3)
    assert told.tokens > 0
    assert told.bytes > sizes[None].bytes > 0
    assert told.last_at is not None
    page = whole(sign_in("admin"), "/ui/users")
    assert "shared by all" in page
    assert "<bdi>ann</bdi>" in page
    assert HOSTILE not in page
    assert 'href="/ui/users"' in page
    for scopes in (("read",), ("read", "write")):
        client = sign_in(*scopes)
        refused = client.get("/ui/users")
        assert refused.status_code == 403
        assert "ann" not in refused.text
        assert 'href="/ui/users"' not in client.get("/ui/").text


def test_growth_counts_messages_and_what_was_new_in_them(sign_in: SignIn, make: Make) -> None:
    with make() as memory, make(user="ann") as ann:
        for month, said in ((3, "The boat is blue."), (3, "It rains."), (5, "The boat is blue.")):
            memory.remember(said, at=datetime(2026, month, 10, 12, tzinfo=UTC))
        ann.remember("of somebody else", at=datetime(2026, 4, 10, 12, tzinfo=UTC))
        spans = read.growth(memory._engine, unit="month", limit=9)
    assert [(each.begins.month, each.mentions, each.nodes) for each in spans] == [
        (3, 2, 2),
        (4, 0, 0),
        (5, 1, 0),
    ]
    client = sign_in()
    client.get("/ui/", params={"q": "boat"})
    page = whole(client, "/ui/growth", unit="month")
    assert page.count('<svg class="chart"') == 3
    assert page.count('role="img"') >= 3
    assert "2026-03-01" in page
    assert re.search(r"1 of them: half within \d+\.\d ms", page)
    assert client.get("/ui/growth", params={"unit": "year"}).status_code == 422


def test_the_bars_of_a_chart_fill_it() -> None:
    drawn = growth.bars([("a", 4), ("b", 0), ("c", 2)])
    assert [(bar.label, bar.number, bar.height) for bar in drawn] == [
        ("a", 4, 160),
        ("b", 0, 0),
        ("c", 2, 80),
    ]
    assert all(one.x + one.width <= other.x for one, other in pairwise(drawn))
    assert growth.bars([]) == []
    assert growth.by_steps([1.0, 2.0, 700.0])[0] == ("under 2 ms", 1)
    assert sum(number for _, number in growth.by_steps([1.0, 2.0, 700.0])) == 3


def test_the_map_names_its_clusters_and_can_be_narrowed(sign_in: SignIn, make: Make) -> None:
    with make() as memory:
        memory.remember_many(
            [
                {
                    "content": f"The boat {HOSTILE} leaks {number}.",
                    "at": datetime(2026, 3, 1, tzinfo=UTC),
                }
                for number in range(14)
            ]
            + [
                {"content": f"The tea is green {number}.", "at": datetime(2026, 5, 1, tzinfo=UTC)}
                for number in range(10)
            ]
        )
        memory.flush()
    client = sign_in()

    def drawn(**fields: str) -> str:
        page = whole(client, "/ui/map", **fields)
        assert HOSTILE not in page
        return page

    everything = drawn()
    assert everything.count("data-at=") == 24
    table = everything.partition('id="clusters"')[2]
    sizes = [int(size) for size in re.findall(r'<td class="number">(\d+)</td>', table)]
    assert sum(sizes) == 24
    assert sizes == sorted(sizes, reverse=True)
    assert "boat" in table or "tea" in table
    assert drawn(cluster="1").count("data-at=") == sizes[0]
    nodes = memory.list(limit=100)
    assert drawn(**{"from": nodes[0].created_at.isoformat()}).count("data-at=") < 24
    assert "was first said then" in drawn(to="2020-01-01")
    assert client.get("/ui/map", params={"cluster": "99"}).status_code == 422
    assert client.get("/ui/map", params={"most": "7"}).status_code == 422


def test_a_graph_draws_what_is_related_two_steps_wide(sign_in: SignIn, make: Make) -> None:
    with make() as memory, make(user="ann") as ann:
        one, two, three, four = (
            memory.remember(f"{HOSTILE} {word}.") for word in ("One", "Two", "Three", "Four")
        )
        other = ann.remember("of Ann alone")
        memory.link(one, two, kind="supports", weight=0.9)
        memory.link(two, three, kind="contradicts", weight=0.8)
        memory.link(three, four)
        ann.link(one, other)
    page = sign_in().get(f"/ui/memory/{one.id}/graph").text
    assert page.count("<circle") == 3
    assert page.count("<line") == 2
    assert "supports, by link" in page
    assert "contradicts, by link" in page
    assert "of Ann alone" not in page
    assert HOSTILE not in page
    assert sign_in().get(f"/ui/memory/{other.id}/graph").status_code == 404
    assert sign_in().get(f"/ui/memory/{uuid.uuid4()}/graph").status_code == 404


def test_a_graph_draws_tags_that_occur_together(sign_in: SignIn, make: Make) -> None:
    with make() as memory:
        memory.remember("The tea is green.", tags=["drink:tea", "colour:green"])
        memory.remember("The coffee is black.", tags=["drink:coffee", "colour:black"])
    client = sign_in()
    page = whole(client, "/ui/tags/graph")
    assert "on 1 of the same memories" in page
    assert page.count("<line") == len(set(re.findall(r'<line x1="[^>]+>', page))) >= 2
    alone = client.get("/ui/tags/graph", params={"tag": "drink:tea"}).text
    assert "colour:green" in alone
    assert "colour:black" not in alone
