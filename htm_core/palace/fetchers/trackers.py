"""Issues and wiki pages of one repository of Gitea, GitHub or GitLab, by their HTTP APIs.

The uri of an artifact is the address at which people read it, such as
"https://git.example.org/team/api/issues/42".
"""

from __future__ import annotations

import base64
import binascii
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Literal, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from pydantic import SecretStr

from ...base.errors import InvalidInput
from ..sources import MAX_URI_LENGTH, FetchFailed, Listed
from .http import MAX_BYTES, TIMEOUT, JsonAnswer, JsonApi, checked_url
from .issues import Comment, Issue, day_of, line_of, mapping, number_of, text_of, texts_of

IssueState: TypeAlias = Literal["all", "open"]
MAX_NAME = 1_000  # characters of a repository, and of the name of a wiki page
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_NAME = re.compile(r"[\w.+-]+", re.ASCII)


class _Tracker(ABC):
    """Base of the three: one repository, the addresses of its things, and what is listed."""

    product = ""
    issues_at = "issues/"  # in an address, below the repository
    wiki_at = "wiki/"
    groups = False  # whether a repository may lie in groups of groups

    def __init__(
        self,
        repository: str,
        *,
        url: str,
        api: str,
        token: str | SecretStr | None,
        scheme: str,
        accept: str,
        issues: bool,
        wiki: bool,
        state: IssueState,
        timeout: float,
        max_bytes: int,
    ) -> None:
        names = repository.strip("/").split("/") if isinstance(repository, str) else []
        fits = len(names) >= 2 if self.groups else len(names) == 2
        if (
            not fits
            or len(repository) > MAX_NAME
            or not all(_NAME.fullmatch(n) and n.strip(".") for n in names)
        ):
            raise InvalidInput(
                f"expected repository to be such as 'owner/name', got {repository!r:.200}"
            )
        if state not in ("all", "open"):
            raise InvalidInput(f"expected state to be 'all' or 'open', got {state!r:.80}")
        if not (issues or wiki):
            raise InvalidInput("expected issues=True or wiki=True, got neither")
        self.repository = "/".join(names)
        self.url = checked_url(url)
        self.issues, self.wiki, self.state = issues, wiki, state
        self._api = JsonApi(
            api, token=token, scheme=scheme, accept=accept, timeout=timeout, max_bytes=max_bytes
        )
        self._root = f"{self.url}/{self.repository}/"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.repository!r}, url={self.url!r})"

    @property
    def name(self) -> str:
        """The repository that it reads, and what of it."""
        kinds = "+".join([*(["issues"] if self.issues else []), *(["wiki"] if self.wiki else [])])
        return f"{self.product}:{self._root.partition('://')[2]}{kinds}"

    def covers(self, uri: str) -> bool:
        """True if a uri is the address of an issue or a wiki page of this repository, by letter."""
        return self._parsed(uri) is not None

    def __call__(self, uri: str) -> str | None:
        """The issue or the page as a text; None when there is no such thing, or the token may not
        know of it.

        Raises `InvalidInput` for a uri of another host or repository, and `FetchFailed` when the
        server does not answer as expected.
        """
        parsed = self._parsed(uri)
        if parsed is None:
            raise InvalidInput(
                f"expected the address of an issue or a wiki page of {self._root!r:.300}, got "
                f"{uri!r:.300}; nothing else is asked"
            )
        kind, name = parsed
        return self._issue(name) if kind == "issue" else self._page(name)

    def listing(self, limit: int) -> Iterator[Listed]:
        """The issues, the newest first, and then the wiki pages: no more than `limit`. Raises
        `FetchFailed`.
        """
        return islice(self._everything(), max(0, limit))

    def _everything(self) -> Iterator[Listed]:
        if self.issues:
            for issue in self._issues():
                yield Listed(f"{self._root}{self.issues_at}{issue.number}", issue.about)
        if self.wiki:
            for name, title in self._pages():
                uri = f"{self._root}{self.wiki_at}{quote(name, safe='/' if self.groups else '')}"
                if name and len(uri) <= MAX_URI_LENGTH:
                    yield Listed(uri, f"Wiki page: {title or name}")

    def _parsed(self, uri: str) -> tuple[Literal["issue", "page"], str] | None:
        """Return what a uri is the address of: the number of an issue, or the name of a page."""
        if not isinstance(uri, str) or not uri.startswith(self._root) or len(uri) > MAX_URI_LENGTH:
            return None
        parts = urlsplit(uri)
        below = parts.path.removeprefix(urlsplit(self._root).path)
        if parts.query or "\\" in uri or any(each <= " " for each in uri):
            return None
        number = below.removeprefix(self.issues_at).rstrip("/")
        if self.issues and below.startswith(self.issues_at) and _NUMBER.fullmatch(number):
            return "issue", number
        name = unquote(below.removeprefix(self.wiki_at))
        is_name = 0 < len(name) <= MAX_NAME and not any(
            part in ("", ".", "..") for part in name.split("/")
        )
        return ("page", name) if self.wiki and below.startswith(self.wiki_at) and is_name else None

    @abstractmethod
    def _issue(self, number: str) -> str | None: ...

    @abstractmethod
    def _issues(self) -> Iterator[Issue]: ...

    def _page(self, name: str) -> str | None:  # noqa: ARG002 - those with an API for wiki pages ask for it
        return None

    def _pages(self) -> Iterator[tuple[str, str]]:
        return iter(())


class _LikeGitHub(_Tracker):
    """GitHub and Gitea have the same issues."""

    per_page: Mapping[str, int] = {}
    only_issues: Mapping[str, str] = {}

    @property
    def _path(self) -> str:
        return f"/repos/{self.repository}"

    def _issue(self, number: str) -> str | None:
        answer = self._api.get(f"{self._path}/issues/{number}")
        if answer is None:
            return None
        issue = _like_github(mapping(answer.data, what="an issue"))
        return issue.text(self._newest_comments(number, issue.comments) if issue.comments else ())

    def _issues(self) -> Iterator[Issue]:
        wanted = {"state": self.state, **self.per_page, **self.only_issues}
        for page in self._api.pages(f"{self._path}/issues", wanted):
            for item in page:
                issue = mapping(item, what="an issue")
                if not issue.get("pull_request"):
                    yield _like_github(issue)

    @abstractmethod
    def _newest_comments(self, number: str, count: int) -> Iterator[Comment]: ...


class GiteaFetcher(_LikeGitHub):
    """Issues and wiki pages of a repository of Gitea, or of Forgejo, which has the same API.

        palace.register(GiteaFetcher("team/api", url="https://git.example.org",
        token=os.environ["GITEA_TOKEN"]))

    The uris are "https://git.example.org/team/api/issues/42" and
    "https://git.example.org/team/api/wiki/Home". It needs httpx:
    `pip install "htm-memory[client]"`.

    Args:
        repository: "owner/name".
        url: Where people read it; the API is below `/api/v1`.
        token: One that may read the repository's issues and code; None for a public repository.
            Nothing shows it.
        issues: Whether issues are fetched and listed.
        wiki: Whether wiki pages are.
        state: Which issues are listed: "all" or "open". Each one can be fetched.
        timeout: Seconds for one request, where the palace does not wait for less.
        max_bytes: Of one answer. A larger one is a failure, not a part of a text.
    """

    product = "gitea"
    per_page: Mapping[str, int] = {"limit": 50}
    only_issues: Mapping[str, str] = {"type": "issues"}

    def __init__(
        self,
        repository: str,
        *,
        url: str,
        token: str | SecretStr | None = None,
        issues: bool = True,
        wiki: bool = True,
        state: IssueState = "all",
        timeout: float = TIMEOUT,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(
            repository,
            url=url,
            api=f"{checked_url(url)}/api/v1",
            token=token,
            scheme="token",
            accept="application/json",
            issues=issues,
            wiki=wiki,
            state=state,
            timeout=timeout,
            max_bytes=max_bytes,
        )

    def _newest_comments(self, number: str, count: int) -> Iterator[Comment]:
        """All are read, since Gitea lists the oldest first and knows no pages of comments; other
        trackers do.
        """
        comments = list[Any]()
        for page in self._api.pages(f"{self._path}/issues/{number}/comments"):
            comments += page
            if len(comments) >= count:
                break
        return (_comment(each) for each in reversed(comments))

    def _page(self, name: str) -> str | None:
        answer = self._api.get(f"{self._path}/wiki/page/{quote(name, safe='')}")
        if answer is None:
            return None
        page = mapping(answer.data, what="a wiki page")
        try:
            content = base64.b64decode(text_of(page, "content_base64"), validate=False).decode(
                "utf-8", "replace"
            )
        except (binascii.Error, ValueError):
            raise FetchFailed(
                f"expected the wiki page {name!r:.200} in base64, got something else"
            ) from None
        return f"Wiki page: {line_of(page, 'title') or name}\n\n{content.strip()}"

    def _pages(self) -> Iterator[tuple[str, str]]:
        for page in self._api.pages(f"{self._path}/wiki/pages", self.per_page):
            for item in page:
                wiki_page = mapping(item, what="a wiki page")
                yield unquote(text_of(wiki_page, "sub_url")), line_of(wiki_page, "title")


class GitHubFetcher(_LikeGitHub):
    """Issues of a repository of GitHub, or of a GitHub Enterprise Server.

        palace.register(GitHubFetcher("owner/name", token=os.environ["GITHUB_TOKEN"]))

    The uris are "https://github.com/owner/name/issues/42". A wiki of GitHub is a git repository,
    and no API has its pages: clone "https://github.com/owner/name.wiki.git" and give the folder to
    a `FolderFetcher`. It needs httpx: `pip install "htm-memory[client]"`.

    Args:
        repository: "owner/name".
        url: Where people read it. The API of github.com is api.github.com; that of another server
            is below `/api/v3`.
        token: One that may read issues; None for a public repository, where GitHub allows 60
            requests an hour. Nothing shows it.
        state: Which issues are listed: "all" or "open". Each one can be fetched. Pull requests are
            not listed.
        timeout: Seconds for one request, where the palace does not wait for less.
        max_bytes: Of one answer. A larger one is a failure, not a part of a text.
    """

    product = "github"
    per_page: Mapping[str, int] = {"per_page": 100}

    def __init__(
        self,
        repository: str,
        *,
        url: str = "https://github.com",
        token: str | SecretStr | None = None,
        state: IssueState = "all",
        timeout: float = TIMEOUT,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        at = checked_url(url)
        super().__init__(
            repository,
            url=at,
            api="https://api.github.com" if at == "https://github.com" else f"{at}/api/v3",
            token=token,
            scheme="Bearer",
            accept="application/vnd.github+json",
            issues=True,
            wiki=False,
            state=state,
            timeout=timeout,
            max_bytes=max_bytes,
        )

    def _newest_comments(self, number: str, count: int) -> Iterator[Comment]:
        """From the last page on, since GitHub lists the oldest first and whoever reads this stops
        when there is no more room.
        """
        size = self.per_page["per_page"]
        for page in range((count + size - 1) // size, 0, -1):
            answer = self._api.get(
                f"{self._path}/issues/{number}/comments", {"per_page": size, "page": page}
            )
            yield from (_comment(each) for each in reversed(_list(answer)))


class GitLabFetcher(_Tracker):
    """Issues and wiki pages of a project of GitLab.

        palace.register(GitLabFetcher("group/project", token=os.environ["GITLAB_TOKEN"]))

    The uris are "https://gitlab.com/group/project/-/issues/42" and
    "https://gitlab.com/group/project/-/wikis/home". It needs httpx:
    `pip install "htm-memory[client]"`.

    Args:
        project: "group/project", with all groups that it lies in.
        url: Where people read it; the API is below `/api/v4`.
        token: An access token with the scope `read_api`; None for a public project. Nothing shows
            it.
        issues: Whether issues are fetched and listed.
        wiki: Whether wiki pages are.
        state: Which issues are listed: "all" or "open". Each one can be fetched.
        timeout: Seconds for one request, where the palace does not wait for less.
        max_bytes: Of one answer. A larger one is a failure, not a part of a text.
    """

    product = "gitlab"
    issues_at = "-/issues/"
    wiki_at = "-/wikis/"
    groups = True

    def __init__(
        self,
        project: str,
        *,
        url: str = "https://gitlab.com",
        token: str | SecretStr | None = None,
        issues: bool = True,
        wiki: bool = True,
        state: IssueState = "all",
        timeout: float = TIMEOUT,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(
            project,
            url=url,
            api=f"{checked_url(url)}/api/v4",
            token=token,
            scheme="Bearer",
            accept="application/json",
            issues=issues,
            wiki=wiki,
            state=state,
            timeout=timeout,
            max_bytes=max_bytes,
        )

    @property
    def _path(self) -> str:
        return f"/projects/{quote(self.repository, safe='')}"

    def _issue(self, number: str) -> str | None:
        answer = self._api.get(f"{self._path}/issues/{number}")
        if answer is None:
            return None
        issue = _gitlab_issue(mapping(answer.data, what="an issue"))
        return issue.text(self._newest_comments(number) if issue.comments else ())

    def _newest_comments(self, number: str) -> Iterator[Comment]:
        newest_first: dict[str, str | int] = {
            "sort": "desc",
            "order_by": "created_at",
            "per_page": 100,
        }
        for page in self._api.pages(f"{self._path}/issues/{number}/notes", newest_first):
            for item in page:
                note = mapping(item, what="a comment")
                if not note.get("system"):  # "changed the label" and the like
                    yield _comment(note)

    def _issues(self) -> Iterator[Issue]:
        wanted: dict[str, str | int] = {
            "scope": "all",
            "order_by": "created_at",
            "sort": "desc",
            "per_page": 100,
        }
        if self.state == "open":
            wanted["state"] = "opened"
        for page in self._api.pages(f"{self._path}/issues", wanted):
            yield from (_gitlab_issue(mapping(each, what="an issue")) for each in page)

    def _page(self, name: str) -> str | None:
        answer = self._api.get(f"{self._path}/wikis/{quote(name, safe='')}")
        if answer is None:
            return None
        page = mapping(answer.data, what="a wiki page")
        return f"Wiki page: {line_of(page, 'title') or name}\n\n{text_of(page, 'content').strip()}"

    def _pages(self) -> Iterator[tuple[str, str]]:
        for page in self._api.pages(f"{self._path}/wikis"):
            for item in page:
                wiki_page = mapping(item, what="a wiki page")
                yield text_of(wiki_page, "slug"), line_of(wiki_page, "title")


def _like_github(data: Mapping[str, Any]) -> Issue:
    return Issue(
        number=number_of(data, "number"),
        title=line_of(data, "title"),
        state=line_of(data, "state"),
        labels=texts_of(data, "labels", "name"),
        assignees=texts_of(data, "assignees", "login"),
        milestone=line_of(data, "milestone", "title"),
        by=line_of(data, "user", "login"),
        opened=day_of(data, "created_at"),
        updated=day_of(data, "updated_at"),
        closed=day_of(data, "closed_at"),
        body=text_of(data, "body"),
        comments=number_of(data, "comments"),
        kind="Pull request" if data.get("pull_request") else "Issue",
    )


def _gitlab_issue(data: Mapping[str, Any]) -> Issue:
    state = line_of(data, "state")
    return Issue(
        number=number_of(data, "iid"),
        title=line_of(data, "title"),
        state="open" if state == "opened" else state,
        labels=texts_of(data, "labels", "name"),
        assignees=texts_of(data, "assignees", "username"),
        milestone=line_of(data, "milestone", "title"),
        by=line_of(data, "author", "username"),
        opened=day_of(data, "created_at"),
        updated=day_of(data, "updated_at"),
        closed=day_of(data, "closed_at"),
        body=text_of(data, "description"),
        comments=number_of(data, "user_notes_count"),
    )


def _comment(data: Any) -> Comment:
    """A comment of any of the three; Gitea and GitHub name a user's login, GitLab its username."""
    comment = mapping(data, what="a comment")
    by = line_of(comment, "user", "login") or line_of(comment, "author", "username")
    return Comment(by=by, at=day_of(comment, "created_at"), text=text_of(comment, "body"))


def _list(answer: JsonAnswer | None) -> list[Any]:
    comments = [] if answer is None else answer.data
    if not isinstance(comments, list):
        raise FetchFailed(
            f"expected a list of comments, got {type(comments).__name__}; is it the API's address?"
        )
    return comments
