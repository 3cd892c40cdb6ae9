"""Results of tidying: profiles, merged memories and summaries, each with its sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSource:
    """Where a line of a profile is from: the mention that says it, and its node."""

    mention_id: str
    node_id: str
    session: str | None
    at: datetime
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileLine:
    """One line of a profile: a sentence of the user, such as "I live in Bergen.".

    `key` is "profile:SECTION:SLOT". `sources` are the mentions that say it, newest first: what is
    forgotten is none. `former` are the lines that it replaced, newest first. `due` is None: days
    are part of the sentence.
    """

    key: str
    section: str
    text: str
    value: str
    sources: tuple[ProfileSource, ...]
    due: date | None = None
    former: tuple[ProfileLine, ...] = ()

    @property
    def said_at(self) -> datetime:
        """When it was said last."""
        return self.sources[0].at

    @property
    def times_said(self) -> int:
        """Number of times it was said."""
        return len(self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Profile of a user by their own words.

    `lines` are all of them, by section; `text` has as many as fit the budget, in `tokens` tokens.
    `pending` is how many messages were not read yet: the worker reads them, and so does the next
    call, once the reader is installed.
    """

    user: str | None
    lines: tuple[ProfileLine, ...] = ()
    text: str = ""
    tokens: int = 0
    pending: int = 0

    @property
    def sections(self) -> Mapping[str, tuple[ProfileLine, ...]]:
        """The lines by the names of their sections; no section is empty."""
        names = dict.fromkeys(line.section for line in self.lines)
        return {name: tuple(line for line in self.lines if line.section == name) for name in names}

    def __bool__(self) -> bool:
        return bool(self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Two memories that say the same: `node_id` is represented by `into_id` in recall, until it is
    undone.
    """

    node_id: str
    into_id: str
    content: str
    into_content: str
    robot: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Summary of a session. `lines` are its most telling messages, or what a chat model wrote of it
    (`model` is its name).

    `sources` are the ids of the mentions that it was made of; `messages` is how many there were. It
    is no memory: recall does not find it, and it goes when a message of its session is forgotten.
    """

    session: str | None
    lines: tuple[str, ...]
    sources: tuple[str, ...]
    messages: int
    first_at: datetime
    last_at: datetime
    made_at: datetime
    model: str = ""

    @property
    def text(self) -> str:
        """The lines, one below the other."""
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """Result of a tidying, or with `dry_run` of one that would be done.

    `merges` are memories that say the same as another, `lines` the profile's lines with what was
    found, `summaries` those of the sessions that had none. `read` is how many messages were read
    for the profile.
    """

    dry_run: bool
    merges: tuple[Merge, ...] = ()
    lines: tuple[ProfileLine, ...] = ()
    summaries: tuple[Summary, ...] = ()
    read: int = 0
