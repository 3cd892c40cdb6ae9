"""The tree of a transcript of Claude Code: which of its lines are the conversation as it is now.

Each line names its parent. A prompt that was taken back and written anew is a second child of the
same parent, and what followed the first goes with it. But not every second child is an edit: the
program writes each block of an answer as a line, and the results of tools that ran side by side as
children of their calls. Those stay.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from .turns import Skip, Turn, branch, last_leaf

PROMPT, ANSWER, QUEUED, OTHER = "prompt", "answer", "queued", "other"


@dataclass(slots=True, kw_only=True)
class TranscriptLine:
    """A line as it was read, and where it stands in the tree.

    `is_root` says that it names no parent and says so, `answer` is the model's own id of the answer
    that it is a part of, and `copy_of` the id of a prompt that has the same words.
    """

    entry: Turn | Skip
    kind: str
    id: str | None
    parent: str | None
    is_root: bool
    at: datetime | None
    answer: str | None = None
    aside: bool = False  # no part of the tree: of a subagent, or a note
    copy_of: str | None = None


class Copies:
    """Texts of users in prompts and attachments, to find a text of the queue again."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], list[datetime | None]] = defaultdict(list)

    def add(self, session: str, text: str, at: datetime | None) -> None:
        """Note a text."""
        self._said[session, text.strip()].append(at)

    def take(self, session: str, text: str, *, since: datetime | None) -> bool:
        """Take a text that was said, not before a time but for a moment; true once for each time
        that it was.
        """
        times = self._said.get((session, text.strip()), [])
        for at in times:
            if at is None or since is None or at >= since - timedelta(seconds=1):
                times.remove(at)
                return True
        return False


class Tree:
    """The lines of a file."""

    def __init__(self) -> None:
        self._lines: list[TranscriptLine] = []
        self._by_id: dict[str, int] = {}

    def add(self, line: TranscriptLine) -> None:
        """Add the next line. One whose id is there already is the same line, written again."""
        number = self._by_id.get(line.id) if line.id is not None else None
        if number is None:
            if line.id is not None and not line.aside:
                self._by_id[line.id] = len(self._lines)
            self._lines.append(line)
            return
        known = self._lines[number].entry
        if isinstance(line.entry, Turn) and not (
            isinstance(known, Turn) and known.content == line.entry.content
        ):
            line.entry, self._lines[number].entry = self._lines[number].entry, line.entry
        self._lines.append(
            TranscriptLine(
                entry=Skip("the same id and words again", line.entry.where),
                kind=OTHER,
                id=None,
                parent=None,
                is_root=False,
                at=None,
                aside=True,
            )
        )

    def said_by_users(self, kind: str) -> Copies:
        """The texts of users that were added so far, in lines of a kind."""
        copies = Copies()
        for line in self._lines:
            if isinstance(line.entry, Turn) and line.kind == kind and line.entry.role == "user":
                copies.add(line.entry.session, line.entry.content, line.at)
        return copies

    def latest(self) -> datetime | None:
        """When something was said last, whether it holds or not."""
        return max(
            (line.at for line in self._lines if line.at is not None and line.kind != OTHER),
            default=None,
        )

    def current(self) -> tuple[list[TranscriptLine], list[TranscriptLine]]:
        """The lines that hold, in the order of the tree, and those that were taken back."""
        keys = [
            line.id if line.id is not None else f"\n{number}"
            for number, line in enumerate(self._lines)
        ]
        lines = dict(zip(keys, self._lines, strict=True))
        for line in self._lines:
            if (
                line.copy_of in self._by_id
                and line.copy_of != line.id
                and isinstance(line.entry, Turn)
            ):
                line.entry = Skip("the same id and words again", line.entry.where)
        parents = self._parents(lines)
        leaf = _last_said(lines, parents)
        path, _ = branch(parents, leaf)
        order, gone = self._walk(lines, parents, path)
        placed = set(order)
        rest = [key for key in keys if key not in placed and key not in gone]
        before = [key for key in rest if not isinstance(lines[key].entry, Turn)]
        left = [key for key in rest if isinstance(lines[key].entry, Turn)]
        return [lines[key] for key in (*before, *order, *left)], [
            lines[key] for key in keys if key in gone
        ]

    def _parents(self, lines: dict[str, TranscriptLine]) -> dict[str, str | None]:
        """The parent of each line that is in the tree. One that names none, or one that is not
        there, follows the one before it.
        """
        inside = [line for line in lines.values() if not line.aside]
        trusted = any(line.parent in self._by_id for line in inside) and not any(
            line.is_root and line.kind == ANSWER for line in inside
        )
        parents: dict[str, str | None] = {}
        last: str | None = None
        timed = sorted(
            (line.at, number, key)
            for number, (key, line) in enumerate(lines.items())
            if line.id is not None and not line.aside and line.at is not None
        )
        for key, line in lines.items():
            if line.aside:
                continue
            if line.id is None:
                place = (
                    bisect_right(timed, line.at, key=lambda item: item[0])
                    if line.at is not None
                    else 0
                )
                parents[key] = timed[place - 1][2] if place else last
                continue
            if line.parent in self._by_id and line.parent != key:
                parents[key] = line.parent
            elif line.is_root and trusted and (line.kind == PROMPT or last is None):
                parents[key] = None
            else:
                parents[key] = last
            last = key
        return parents

    @staticmethod
    def _walk(
        lines: dict[str, TranscriptLine], parents: dict[str, str | None], path: list[str]
    ) -> tuple[list[str], set[str]]:
        """The keys that hold, in order, and those that were taken back."""
        children: dict[str | None, list[str]] = defaultdict(list)
        for key, parent in parents.items():
            children[parent].append(key)
        on_path, order, gone = set(path), list[str](), set[str]()
        for place in (None, *path):
            if place is not None:
                order.append(place)
            # A stack and no recursion: a tree may be as deep as its file is long.
            waiting = [(each, place) for each in reversed(children[place]) if each not in on_path]
            while waiting:
                reached, parent = waiting.pop()
                if reached in on_path or reached in gone:
                    continue
                if _stays(reached, parent, lines, children):
                    order.append(reached)
                    waiting += [(child, reached) for child in reversed(children[reached])]
                    continue
                below = [reached]
                while below:
                    one = below.pop()
                    if one not in gone:
                        gone.add(one)
                        below += children[one]
        return order, gone


def _last_said(lines: dict[str, TranscriptLine], parents: dict[str, str | None]) -> str | None:
    """The prompt or answer that was said last of those that no other one follows."""
    talk = [key for key in parents if lines[key].kind in (PROMPT, ANSWER)]
    followed = dict[str, str | None]()
    for key in talk:
        above: str | None = parents[key]
        while above is not None and above not in followed:
            followed[above] = None
            above = parents[above]
    ends = [key for key in talk if key not in followed]
    return last_leaf({}, {key: lines[key].at for key in ends}, ends)


def _stays(
    key: str,
    parent: str | None,
    lines: dict[str, TranscriptLine],
    children: dict[str | None, list[str]],
) -> bool:
    """True if a line beside the current branch belongs to it."""
    line = lines[key]
    if line.kind == PROMPT:
        return False
    if line.kind == ANSWER:
        return (
            line.answer is not None and parent is not None and lines[parent].answer == line.answer
        )
    if line.kind == QUEUED:
        return not any(lines[each].kind in (PROMPT, ANSWER) for each in children[key])
    return True
