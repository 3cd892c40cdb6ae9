"""Sources of artifacts for `htm palace`: a folder, or a repository of a tracker by the address at
which people read it.

A token comes from the environment, by the names that the trackers' own programs have, and is sent
only to the host that it is for: an address may come from a list that anybody has written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..base.errors import InvalidInput, NotFound
from ..palace import Fetcher, FolderFetcher, GiteaFetcher, GitHubFetcher, GitLabFetcher


class Tracker(StrEnum):
    """The trackers that serve a repository."""

    gitea = "gitea"
    github = "github"
    gitlab = "gitlab"


class Issues(StrEnum):
    """The issues that are listed."""

    all = "all"
    open = "open"


KNOWN_HOSTS: Mapping[str, Tracker] = {
    "github.com": Tracker.github,
    "gitlab.com": Tracker.gitlab,
    "codeberg.org": Tracker.gitea,
}
# How trackers are called in the names of hosts.
NAMES: Mapping[str, Tracker] = {
    "github": Tracker.github,
    "gitlab": Tracker.gitlab,
    "gitea": Tracker.gitea,
    "forgejo": Tracker.gitea,
}
# The variables with a token, for the host that another variable names, or for this one.
TOKENS: Mapping[Tracker, Sequence[tuple[str, str, str]]] = {
    Tracker.github: (
        ("GITHUB_TOKEN", "", "github.com"),
        ("GH_TOKEN", "", "github.com"),
        ("GH_ENTERPRISE_TOKEN", "GH_HOST", ""),
    ),
    Tracker.gitlab: (("GITLAB_TOKEN", "GITLAB_HOST", "gitlab.com"),),
    Tracker.gitea: (("GITEA_TOKEN", "GITEA_HOST", "codeberg.org"),),
}
# What in an address comes behind the repository.
_BELOW = re.compile(r"/(?:-/.*|issues(?:/.*)?|wikis?(?:/.*)?)?$")


def fetcher_of(
    source: str, *, tracker: Tracker | None = None, issues: Issues = Issues.all
) -> Fetcher:
    """The fetcher of a folder or a repository; an address of something in it stands for the whole.

    `tracker` says what serves the address, where its host does not tell. Raises `InvalidInput`, and
    `NotFound` for a folder that is not there.
    """
    if not re.match(r"[a-z][a-z0-9+.-]+:", source):
        folder = Path(source).expanduser()
        return FolderFetcher(folder.parent if folder.is_file() else folder)
    parts = urlsplit(source)
    if parts.scheme == "file":
        return _folder_of(Path(unquote(parts.path)))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(
            "expected a folder, or an address such as https://github.com/owner/name, got one "
            f"that begins {parts.scheme!r:.40}"
        )
    return _tracker_of(source, tracker or _tracker_at(parts.hostname, parts.path), issues)


def uri_of(named: str) -> str:
    """The uri of an artifact; of a file that is there, its address."""
    path = Path(named).expanduser()
    return path.absolute().as_uri() if "://" not in named and path.is_file() else named


def _folder_of(file: Path) -> Fetcher:
    """The nearest folder above a file that is there."""
    for folder in file.parents if not file.is_dir() else (file,):
        if folder.is_dir():
            return FolderFetcher(folder)
    raise NotFound(f"expected a file or a folder, got {str(file)!r:.300}, which is not there")


def _tracker_at(host: str, path: str) -> Tracker:
    if host in KNOWN_HOSTS:
        return KNOWN_HOSTS[host]
    named = [tracker for name, tracker in NAMES.items() if name in host.split(".")]
    if "/-/" in path:
        return Tracker.gitlab
    if len(named) == 1:
        return named[0]
    raise InvalidInput(
        f"expected --tracker gitea, github or gitlab, since the host {host!r:.200} does not say "
        "which it is"
    )


def _tracker_of(source: str, tracker: Tracker, issues: Issues) -> Fetcher:
    parts = urlsplit(source)
    path = _BELOW.sub("", parts.path.rstrip("/")).removesuffix(".git").strip("/")
    names = path.split("/")
    # Gitea may be served below a path; of GitLab that cannot be told from a group.
    below, repository = (
        ("", path) if tracker is Tracker.gitlab else ("/".join(names[:-2]), "/".join(names[-2:]))
    )
    url = f"{parts.scheme}://{parts.netloc}" + (f"/{below}" if below else "")
    made: dict[Tracker, Any] = {
        Tracker.gitea: GiteaFetcher,
        Tracker.github: GitHubFetcher,
        Tracker.gitlab: GitLabFetcher,
    }
    fetcher: Fetcher = made[tracker](
        repository, url=url, token=_token(tracker, parts.netloc), state=issues.value
    )
    return fetcher


def _token(tracker: Tracker, host: str) -> str | None:
    """The token for a host, with its port where it has one; None where there is none, and then only
    what is public is read.
    """
    for variable, whose, default in TOKENS[tracker]:
        own = os.environ.get(whose, "").strip().rpartition("//")[2].rstrip("/") if whose else ""
        if os.environ.get(variable) and host == (own or default):
            return os.environ[variable]
    return None
