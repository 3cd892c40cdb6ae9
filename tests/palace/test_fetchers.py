"""Fetchers read issues, wiki pages, files and documents: only theirs, in time, and without showing the token."""

from __future__ import annotations

import gzip
import logging
import pickle
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest
from pydantic import SecretStr

from htm_core import InvalidInput
from htm_core.palace import (
    Fetcher,
    FetchFailed,
    GiteaFetcher,
    GitHubFetcher,
    GitLabFetcher,
    time_left,
)
from htm_core.palace.sources import MAX_ARTIFACT_LENGTH, in_its_time
from tests.palace.trackers import TOKEN, Reply, Request, StandIn, Tracker, stand_in

TITLES = {40: "Rotate the signing keys", 41: "Heron deploys twice", 42: "Login fails since Monday"}
WIKI = {"Home": "Welcome.", "On-call": "Whoever is on call restarts heron.", "Größe": "Ümläute."}
NESTED = {"home": "Welcome.", "run/on-call": "Whoever is on call restarts heron."}
KINDS = ["gitea", "github", "gitlab"]


@pytest.fixture(scope="module")
def running() -> Iterator[StandIn]:
    with stand_in() as server:
        yield server


@pytest.fixture
def server(running: StandIn) -> StandIn:
    """The stand-in of this module, as if it had just begun."""
    running.asked.clear()
    running.hung.clear()
    return running


def fetcher(kind: str, url: str, **options: Any) -> Any:
    if kind == "gitlab":
        return GitLabFetcher("team/core/api", url=url, **({"token": TOKEN} | options))
    made = GiteaFetcher if kind == "gitea" else GitHubFetcher
    return made("team/api", url=url, **({"token": TOKEN} | options))


def tracker(kind: str, **options: Any) -> Tracker:
    made = {
        "titles": TITLES,
        "comments": ["Seen here too.", "A restart helps."],
        "wiki": NESTED if kind == "gitlab" else WIKI,
    }
    return Tracker(kind, **(made | options))


def issue(kind: str, url: str, number: object = 42) -> str:
    return (
        f"{url}/team/core/api/-/issues/{number}"
        if kind == "gitlab"
        else f"{url}/team/api/issues/{number}"
    )


# -- what is read -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_issue_is_a_text_with_its_state_labels_body_and_comments(
    kind: str, server: StandIn
) -> None:
    server.answer = tracker(kind)
    text = fetcher(kind, server.url)(issue(kind, server.url))
    assert text == (
        "Issue #42: Login fails since Monday\nState: open\nLabels: bug, urgent\nAssigned to: bob\nMilestone: Spring\n"
        "Opened by ann on 2026-02-01, last changed on 2026-02-02, 2 comments\n\nBody of 42.\n\n"
        "Comment by bob on 2026-02-10:\nSeen here too.\n\nComment by bob on 2026-02-11:\nA restart helps."
    )
    assert "State: closed since 2026-02-03" in fetcher(kind, server.url)(
        issue(kind, server.url, 41)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_there_is_none(kind: str, server: StandIn) -> None:
    server.answer = tracker(kind)
    assert fetcher(kind, server.url)(issue(kind, server.url, 7)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_of_many_comments_the_newest_are_shown_as_far_as_there_is_room(
    kind: str, server: StandIn
) -> None:
    server.answer = tracker(
        kind, comments=[f"Comment {at:03d}. " + "word " * 100 for at in range(250)], page=100
    )
    text = fetcher(kind, server.url)(issue(kind, server.url))
    assert len(text) <= MAX_ARTIFACT_LENGTH
    assert "Comment 249." in text
    assert "Comment 000." not in text
    shown = text.count("Comment by bob")
    assert f"({250 - shown} earlier comments are left out)" in text
    assert text.index("Comment 248.") < text.index("Comment 249.")
    if kind != "gitea":  # it knows no pages of comments
        assert len(server.asked) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_without_end_leaves_room_for_the_last_comment(kind: str, server: StandIn) -> None:
    long = tracker(kind, comments=["The cause is the cache. " + "z" * 9_000])
    server.answer = lambda request: grown(long(request))
    text = fetcher(kind, server.url)(issue(kind, server.url))
    assert len(text) <= MAX_ARTIFACT_LENGTH
    assert "The cause is the cache." in text


def grown(reply: Reply) -> Reply:
    if isinstance(reply.data, dict):
        reply.data.update(
            {name: "y" * 50_000 for name in ("body", "description") if name in reply.data}
        )
    return reply


@pytest.mark.parametrize(
    ("kind", "path", "said"),
    [
        (
            "gitea",
            "team/api/wiki/On-call",
            "Wiki page: On call\n\nWhoever is on call restarts heron.",
        ),
        ("gitea", "team/api/wiki/Gr%C3%B6%C3%9Fe", "Wiki page: Größe\n\nÜmläute."),
        ("gitea", "team/api/wiki/Nothing", None),
        (
            "gitlab",
            "team/core/api/-/wikis/run/on-call",
            "Wiki page: run/on-call\n\nWhoever is on call restarts heron.",
        ),
        ("gitlab", "team/core/api/-/wikis/nothing", None),
    ],
)
def test_a_wiki_page_is_read_by_its_address(
    kind: str, path: str, said: str | None, server: StandIn
) -> None:
    server.answer = tracker(kind)
    assert fetcher(kind, server.url)(f"{server.url}/{path}") == said


def test_a_pull_request_that_is_named_as_an_issue_says_what_it_is(server: StandIn) -> None:
    known = tracker("github")
    server.answer = lambda request: Reply({**known(request).data, "pull_request": {"url": "x"}})
    text = fetcher("github", server.url)(issue("github", server.url, 41))
    assert text.startswith("Pull request #41: Heron deploys twice")


# -- what is listed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_all_pages_of_a_list_are_read_and_only_from_the_address_that_was_given(
    kind: str, server: StandIn
) -> None:
    server.answer = tracker(kind)  # its links lead to another host
    made = fetcher(kind, server.url)
    listed = list(made.listing(100))
    assert [each.about for each in listed[:3]] == [
        f"Issue #{n}: {TITLES[n]} (bug, urgent)" for n in (42, 41, 40)
    ]
    pages = {"gitea": 3, "github": 0, "gitlab": 2}[kind]
    assert len(listed) == 3 + pages
    assert all(made.covers(each.uri) and made(each.uri) for each in listed)
    assert isinstance(made, Fetcher)


@pytest.mark.parametrize("kind", KINDS)
def test_open_issues_alone_can_be_listed_and_no_more_pages_are_read_than_needed(
    kind: str, server: StandIn
) -> None:
    server.answer = tracker(kind)
    listed = list(fetcher(kind, server.url, state="open").listing(100))
    assert not any("#41" in each.about for each in listed)
    server.asked.clear()
    assert len(list(fetcher(kind, server.url).listing(1))) == 1
    assert len(server.asked) == 1


def test_a_repository_without_a_wiki_lists_its_issues(server: StandIn) -> None:
    known = tracker("gitea")
    server.answer = lambda request: Reply(status=404) if "wiki" in request.path else known(request)
    assert len(list(fetcher("gitea", server.url).listing(10))) == 3


def test_a_list_whose_next_page_is_itself_ends(server: StandIn) -> None:
    server.answer = lambda request: Reply(
        [], headers={"Link": f'<{server.url}/x?page=2>; rel="next"'}
    )
    assert list(fetcher("gitea", server.url, wiki=False).listing(10)) == []
    assert len(server.asked) == 2


# -- whose address it is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "change",
    [
        lambda uri: uri.replace("127.0.0.1", "127.0.0.2"),
        lambda uri: uri.replace("http://", "https://"),
        lambda uri: uri.replace("127.0.0.1", "127.0.0.1@169.254.169.254"),
        lambda uri: uri.replace("/api/", "/other/"),
        lambda uri: uri.replace("/api/", "/api/../other/"),
        lambda uri: uri.replace("/42", "/42/../../secrets"),
        lambda uri: uri.replace("/42", "/42%2F..%2F7"),
        lambda uri: uri + "?page=1",
        lambda uri: uri.replace("/42", "/latest"),
        lambda uri: "file:///etc/passwd",
        lambda uri: "",
    ],
)  # fmt: skip
def test_nothing_but_what_is_of_its_repository_is_asked_for(
    kind: str, change: Callable[[str], str], server: StandIn
) -> None:
    made, uri = fetcher(kind, server.url), change(issue(kind, server.url))
    assert not made.covers(uri)
    with pytest.raises(InvalidInput, match="nothing else is asked"):
        made(uri)
    assert server.asked == []


@pytest.mark.parametrize("name", ["..", "../issues", "a/../../b", "%2e%2e", "a%2F..%2Fb", "a//b"])
def test_the_name_of_a_wiki_page_cannot_lead_elsewhere(name: str, server: StandIn) -> None:
    assert not fetcher("gitea", server.url).covers(f"{server.url}/team/api/wiki/{name}")
    assert not fetcher("gitlab", server.url).covers(f"{server.url}/team/core/api/-/wikis/{name}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_not_followed(status: int, server: StandIn) -> None:
    with stand_in() as other:
        other.answer = tracker("gitea")
        server.answer = lambda request: Reply(
            status=status, headers={"Location": f"{other.url}{request.path}"}
        )
        with pytest.raises(FetchFailed, match="redirects to another server"):
            fetcher("gitea", server.url)(issue("gitea", server.url))
        assert other.asked == []


@pytest.mark.parametrize(
    "place",
    [
        "//169.254.169.254/latest",
        "http://localhost:1/",
        "file:///etc/passwd",
        "http://[::1/",
        "https://127.0.0.1/",
    ],
)
def test_no_redirect_leads_to_a_private_address(place: str, server: StandIn) -> None:
    server.answer = lambda request: Reply(status=302, headers={"Location": place})
    with pytest.raises(FetchFailed):
        fetcher("github", server.url)(issue("github", server.url))
    assert len(server.asked) == 1


def test_a_redirect_within_the_server_is_followed_but_not_for_ever(server: StandIn) -> None:
    known = tracker("github")
    server.answer = lambda request: (
        Reply(status=301, headers={"Location": "/moved/41"})
        if "moved" not in request.path
        else Reply(known._issue(41))
    )
    assert "Heron deploys twice" in fetcher("github", server.url)(issue("github", server.url, 40))
    server.answer = lambda request: Reply(status=302, headers={"Location": request.path + "x"})
    with pytest.raises(FetchFailed, match="redirects more than 5 times"):
        fetcher("github", server.url)(issue("github", server.url))


# -- what goes wrong --------------------------------------------------------------------------------------------------


def hanging(server: StandIn) -> Callable[[Request], Reply]:
    def answer(request: Request) -> Reply:
        server.hung.wait(30)
        return Reply({})

    return answer


def wrong(server: StandIn) -> dict[str, tuple[Callable[[Request], Reply], str]]:
    """What a server may do, and what is said then."""
    return {
        "401": (lambda _: Reply({"message": TOKEN}, status=401), "does not accept the token"),
        "403": (lambda _: Reply({"message": TOKEN}, status=403), "does not let this token read it"),
        "429": (lambda _: Reply(status=429, headers={"Retry-After": "120"}), "rate limit"),
        "500": (lambda _: Reply(raw=TOKEN.encode(), status=500), "failed .HTTP 500"),
        "418": (lambda _: Reply(status=418), "not expected .HTTP 418"),
        "hanging": (hanging(server), "did not answer in time"),
        "huge": (lambda _: Reply({"title": "x" * 70_000}), "at most 50,000 bytes"),
        "packed": (lambda _: Reply(raw=gzip.compress(b" " * 9_000_000), headers={"Content-Encoding": "gzip"}), "at most 50,000 bytes"),
        "no JSON": (lambda _: Reply(raw=b"<html>Sign in</html>"), "expected JSON"),
        "deep": (lambda _: Reply(raw=b"[" * 40_000), "expected JSON"),
        "a list": (lambda _: Reply([]), "expected an issue as an object"),
        "not packed": (lambda _: Reply(raw=b"x" * 99, headers={"Content-Encoding": "gzip"}), "could not be read: DecodingError"),
    }  # fmt: skip


WRONG = [
    "401",
    "403",
    "429",
    "500",
    "418",
    "hanging",
    "huge",
    "packed",
    "no JSON",
    "deep",
    "a list",
    "not packed",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", WRONG)
def test_a_server_that_does_not_answer_as_it_should_is_a_failure_with_its_reason(
    kind: str, what: str, server: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.answer, why = wrong(server)[what]
    made = fetcher(
        kind,
        server.url,
        timeout=0.2 if what == "hanging" else 20.0,
        max_bytes=50_000,
        token=SecretStr(TOKEN),
    )
    with pytest.raises(FetchFailed, match=why) as failed:
        made(issue(kind, server.url))
    server.hung.set()
    told = "".join(
        traceback.TracebackException.from_exception(failed.value, capture_locals=True).format()
    )
    assert (
        TOKEN
        not in told + str(failed.value) + caplog.text + repr(made) + repr(vars(made)) + made.name
    )
    assert server.first_asked().headers["authorization"].endswith(TOKEN)


def test_a_server_that_is_not_there_is_a_failure() -> None:
    with pytest.raises(FetchFailed, match="ConnectError"):
        fetcher("gitea", "http://127.0.0.1:1")(issue("gitea", "http://127.0.0.1:1"))


def test_without_a_token_the_reason_says_to_give_one(server: StandIn) -> None:
    server.answer = tracker("gitea")
    with pytest.raises(FetchFailed, match="wants a token; give the fetcher token="):
        fetcher("gitea", server.url, token=None)(issue("gitea", server.url))
    assert "authorization" not in server.asked[0].headers


def test_a_server_that_answers_drop_by_drop_ends_in_time(server: StandIn) -> None:
    server.answer = lambda request: Reply(drops=(b" ", 0.05, server.hung))
    began = time.monotonic()
    with pytest.raises(FetchFailed, match="in time"):
        fetcher("gitea", server.url, timeout=0.3)(issue("gitea", server.url))
    server.hung.set()
    assert time.monotonic() - began < 10
    assert server.first_asked()  # not as late as in the next test


# -- rate limits and what has not changed -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limited",
    [
        lambda: Reply(status=429, headers={"Retry-After": "0"}),
        lambda: Reply(status=503, headers={"Retry-After": formatdate(time.time(), usegmt=True)}),
        lambda: Reply(status=403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()))}),
        lambda: Reply(status=429, headers={"RateLimit-Remaining": "0", "RateLimit-Reset": str(int(time.time()))}),
    ],
)  # fmt: skip
def test_a_rate_limit_that_ends_in_time_is_waited_for(
    limited: Callable[[], Reply], server: StandIn
) -> None:
    known, replies = tracker("github", comments=[]), [limited()]
    server.answer = lambda request: replies.pop() if replies else known(request)
    assert "Login fails" in fetcher("github", server.url)(issue("github", server.url))
    assert len(server.asked) == 2


def test_until_a_rate_limit_ends_the_server_is_not_asked_again(server: StandIn) -> None:
    server.answer = lambda request: Reply(status=429, headers={"Retry-After": "3600"})
    made = fetcher("github", server.url)
    for _ in range(3):
        with pytest.raises(
            FetchFailed,
            match=r"rate limit of .* is reached until \d\d:\d\d:\d\d UTC, in 3[56]\d\d s",
        ):
            made(issue("github", server.url))
    assert len(server.asked) == 1


def test_only_the_time_that_the_palace_gives_is_waited(server: StandIn) -> None:
    server.answer = lambda request: Reply(status=429, headers={"Retry-After": "60"})
    made = fetcher("github", server.url, timeout=600)
    began = time.monotonic()
    with pytest.raises(FetchFailed, match="rate limit"):
        in_its_time(lambda: made(issue("github", server.url)), 10)
    assert time.monotonic() - began < 10
    assert in_its_time(lambda: time_left(60) <= 0.5, 0.5)
    assert time_left(60) == 60


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_not_changed_is_not_sent_again(kind: str, server: StandIn) -> None:
    known = tracker(kind, comments=[])
    server.answer = known
    made = fetcher(kind, server.url)
    first = made(issue(kind, server.url))
    assert made(issue(kind, server.url)) == first
    assert "if-none-match" not in server.asked[0].headers
    assert server.asked[1].headers["if-none-match"].startswith('W/"')
    server.answer = replace(known, titles={42: "Login works again"})
    assert "Login works again" in made(issue(kind, server.url))


def test_many_threads_share_a_fetcher(server: StandIn) -> None:
    server.answer = tracker("gitea")
    made = fetcher("gitea", server.url)
    with ThreadPoolExecutor(8) as threads:
        said = list(
            threads.map(
                lambda at: made(issue("gitea", server.url, (40, 41, 42)[at % 3])), range(24)
            )
        )
    assert [text.splitlines()[0] for text in said] == [
        f"Issue #{n}: {TITLES[n]}" for n in (40, 41, 42)
    ] * 8


# -- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: GiteaFetcher("api", url="https://git.example"), "expected repository"),
        (lambda: GiteaFetcher("a/b/c", url="https://git.example"), "expected repository"),
        (lambda: GiteaFetcher("../api", url="https://git.example"), "expected repository"),
        (lambda: GitLabFetcher("a/b?x", url="https://git.example"), "expected repository"),
        (lambda: GiteaFetcher("a/b", url="git.example"), "expected url"),
        (lambda: GiteaFetcher("a/b", url=f"https://ann:{TOKEN}@git.example"), "a token is given as token="),
        (lambda: GiteaFetcher("a/b", url="https://git.example?x=1"), "expected url"),
        (lambda: GiteaFetcher("a/b", url="file:///etc"), "expected url"),
        (lambda: GiteaFetcher("a/b", url="https://git.example", token=f"{TOKEN}\n"), "line break"),
        (lambda: GiteaFetcher("a/b", url="https://git.example", token=""), "expected token"),
        (lambda: GiteaFetcher("a/b", url="https://git.example", issues=False, wiki=False), "got neither"),
        (lambda: GitHubFetcher("a/b", state="closed"), "expected state"),  # type: ignore[arg-type]
        (lambda: GitHubFetcher("a/b", timeout=0), "expected timeout"),
        (lambda: GitHubFetcher("a/b", max_bytes=0), "expected max_bytes"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_without_showing_a_token(
    make: Callable[[], Any], why: str
) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        make()
    assert TOKEN not in str(refused.value)


def test_the_api_of_github_is_on_a_host_of_its_own_and_a_fetcher_is_not_pickled() -> None:
    made = GitHubFetcher("owner/name", token=TOKEN)
    assert made._api.url == "https://api.github.com"
    assert made.covers("https://github.com/owner/name/issues/1")
    assert not made.covers("https://github.com/owner/name/wiki/Home")
    with pytest.raises(TypeError, match="make a new one"):
        pickle.dumps(made)
