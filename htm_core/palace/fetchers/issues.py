"""An issue as a text: what it is, its state, its words, and the newest of its comments that there
is room for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..sources import MAX_ARTIFACT_LENGTH, FetchFailed

MAX_TITLE = 300  # characters
MAX_LABELS = 20
SHARE_OF_BODY = 0.6  # of the room, when there are comments too


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment below an issue: its author, its time and its text."""

    by: str
    at: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue as the trackers have it in common. Times are days, as texts; what is not known is
    empty.
    """

    number: int
    title: str
    state: str
    labels: Sequence[str] = ()
    assignees: Sequence[str] = ()
    milestone: str = ""
    by: str = ""
    opened: str = ""
    updated: str = ""
    closed: str = ""
    body: str = ""
    comments: int = 0
    kind: str = "Issue"

    @property
    def about(self) -> str:
        """The text by which a question finds it."""
        labels = f" ({', '.join(self.labels[:MAX_LABELS])})" if self.labels else ""
        return f"{self.kind} #{self.number}: {self.title}{labels}"

    def text(self, newest: Iterable[Comment], *, room: int = MAX_ARTIFACT_LENGTH) -> str:
        """The issue in at most `room` characters, with as many of its newest comments as fit; no
        others are read.
        """
        head = "\n".join(filter(None, [
            f"{self.kind} #{self.number}: {self.title}",
            f"State: {self.state}" + (f" since {self.closed}" if self.closed else ""),
            f"Labels: {', '.join(self.labels[:MAX_LABELS])}" if self.labels else "",
            f"Assigned to: {', '.join(self.assignees[:MAX_LABELS])}" if self.assignees else "",
            f"Milestone: {self.milestone}" if self.milestone else "",
            f"Opened by {self.by or 'somebody'} on {self.opened}, last changed on {self.updated}, "
            f"{self.comments} comments",
        ]))  # fmt: skip
        for_body = room - len(head) - 2
        body = _cut(self.body, int(for_body * SHARE_OF_BODY) if self.comments else for_body)
        parts, left, shown = (
            [head, *([body] if body else [])],
            for_body - len(body) - 100,
            list[str](),
        )
        for comment in newest:
            entry = (
                f"Comment by {comment.by or 'somebody'} on {comment.at}:\n{comment.text.strip()}"
            )
            if len(entry) + 2 > left:
                if not shown:
                    shown.append(_cut(entry, left))
                break
            shown.append(entry)
            left -= len(entry) + 2
        missing = self.comments - len(shown)
        if missing > 0 and shown:
            parts.append(f"({missing} earlier comments are left out)")
        return "\n\n".join([*parts, *reversed(shown)])


def text_of(data: Mapping[str, Any], *names: str) -> str:
    """A text in an answer, at the end of these names; "" where there is none."""
    value: Any = data
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


def line_of(data: Mapping[str, Any], *names: str) -> str:
    """A text in an answer as one line of at most 300 characters."""
    return " ".join(text_of(data, *names).split())[:MAX_TITLE]


def day_of(data: Mapping[str, Any], *names: str) -> str:
    """The day of a time in an answer; Gitea writes the year 1 for none."""
    day = line_of(data, *names)[:10]
    return "" if day.startswith("0001") else day


def number_of(data: Mapping[str, Any], name: str) -> int:
    """A whole number in an answer; 0 where there is none."""
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def texts_of(data: Mapping[str, Any], name: str, inner: str) -> list[str]:
    """The texts of a list in an answer, which are in it as they are or by a name."""
    values = data.get(name)
    lines = (
        line_of(each, inner)
        if isinstance(each, Mapping)
        else " ".join(each.split())[:MAX_TITLE]
        if isinstance(each, str)
        else ""
        for each in (values if isinstance(values, list) else [])
    )
    return [each for each in lines if each]


def mapping(data: Any, *, what: str) -> Mapping[str, Any]:
    """An object of an answer; raises `FetchFailed` for anything else."""
    if not isinstance(data, Mapping):
        raise FetchFailed(
            f"expected {what} as an object, got {type(data).__name__}; is it the API's address?"
        )
    return data


def _cut(text: str, most: int) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[: max(0, most - 2)].rstrip()} …"
