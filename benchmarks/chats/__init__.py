"""This project's own chats, with questions that recall must answer from them: what a ranker may be trained on, and measured with.

A file is one memory, as plain text:

    # What it is about, on lines that begin with "# ".
    kind: dialogue                       (or: technical)
    half: training                       (or: test)

    == 2026-03-02 18:40
    Mara: The clinic called, they moved me to the ninth.
    Ivo [hike]: We did the whole ridge on Sunday, eleven hours.
      What is indented goes on with the message, line by line.

    == questions, 2026-06-01
    fact: How long did they need for the ridge? -> hike

A line "== DATE TIME" begins a session, "== questions, DATE" the questions, with the day on which they are asked. In a
technical chat the two speak as "user" and "assistant", and have no names. A label in brackets marks a message that a
question's answer is in. A question says its kind, its words, and after "->" the labels of all messages that together hold
the answer. `python -m benchmarks.chats FILE…` checks files and says what they hold.

Who wrote them: those up to number 15 are by the authors of the rules, except technical-07 to -13, by people who did not know them.
dialogue-20 to -35, dialogue-40 to -55 and technical-20 to -31 are by three more authors, one for each of these rows, who knew
neither the rules nor what the ranker looks at. Of each dialogue author the last four files, and the last three technical ones, are
the test half. dialogue-60 to -74 are by three authors more, five files each, and technical-32 to -37 by a fourth: all are the
training half.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.retrieval_sets import SESSION, TURN, Case, Message, Question

HERE = Path(__file__).parent
DIALOGUE, TECHNICAL = "dialogue", "technical"
TRAINING, TEST = "training", "test"

# The kinds of questions: a fact that one message says; what only several messages say together; when; a list or a count; what
# happened in which order; a summary; a preference or a standing instruction, which the question does not name; the latest of
# several values; two things compared; two statements that contradict each other; and what must be concluded.
KINDS = (
    "fact", "several", "when", "list", "order", "summary", "preference", "instruction", "update", "comparison",
    "contradiction", "inference",
)  # fmt: skip

_SESSION = re.compile(r"== (\d{4}-\d\d-\d\d \d\d:\d\d)")
_QUESTIONS = re.compile(r"== questions, (\d{4}-\d\d-\d\d)")
_SAID = re.compile(r"([A-Za-z][\w' -]{0,30}?)(?: \[([a-z0-9_-]+)\])?: (.+)")
_ASKED = re.compile(r"([a-z]+): (.+\?|.+\.) -> ([a-z0-9_, -]+)")
_HEADER = re.compile(r"(kind|half): (\w+)")


class BadChat(ValueError):
    """A file is not in the form; the message names the line."""


def paths(*, kind: str | None = None, half: str | None = None) -> list[Path]:
    """The files of a kind and a half, by name."""
    return [
        path
        for path in sorted(HERE.glob("*.txt"))
        for header in [_header(path)]
        if kind in (None, header.get("kind")) and half in (None, header.get("half"))
    ]


def _header(path: Path) -> dict[str, str]:
    # Only what stands before the first session: a message may quote what looks like a header.
    return dict(_HEADER.findall(path.read_text("utf-8").partition("\n== ")[0]))


def chats(*, kind: str | None = None, half: str | None = None) -> Iterator[Case]:
    """The chats of a kind and a half, by the names of their files."""
    for path in paths(kind=kind, half=half):
        yield read(path)


def read(path: Path) -> Case:
    """Read one file; raises `BadChat` where it is not in the form."""
    return _Reader(path).case()


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = 0
        self._header: dict[str, str] = {}
        self._at: datetime | None = None
        self._session = 0
        self._now: datetime | None = None
        self._said: list[tuple[str, list[str], str, datetime]] = []  # who, lines, session, when
        self._labels: dict[str, int] = {}
        self._asked: list[tuple[str, str, list[str]]] = []

    def case(self) -> Case:
        for number, line in enumerate(self._path.read_text("utf-8").splitlines(), 1):
            self._number = number
            self._take(line.rstrip())
        if self._now is None:
            raise self._bad("questions", "a file without")
        name = self._path.stem
        questions = []
        for number, (kind, text, labels) in enumerate(self._asked):
            turns = frozenset(f"{name}:{self._labels[label]}" for label in labels)
            sessions = frozenset(f"{name}:{self._said[self._labels[label]][2]}" for label in labels)
            questions.append(
                Question(
                    id=f"{name}:{number}",
                    text=text,
                    kind=kind,
                    gold={TURN: turns, SESSION: sessions},
                )
            )
        return Case(
            name=name, messages=list(self._messages(name)), questions=questions, now=self._now
        )

    def _messages(self, name: str) -> Iterator[Message]:
        technical = self._header["kind"] == TECHNICAL
        for number, (who, lines, session, at) in enumerate(self._said):
            yield Message(
                unit=f"{name}:{number}",
                content="\n".join(lines).rstrip(),
                session=f"{name}:{session}",
                role=who if technical else "user",
                name=None if technical else who,
                at=at,
            )

    def _take(self, line: str) -> None:
        if line.startswith("  ") and self._said and self._now is None:
            self._said[-1][1].append(line[2:])
        elif not line:
            if self._said and self._now is None and len(self._said[-1][1]) > 1:
                self._said[-1][1].append("")
        elif line.startswith("# ") or line == "#":
            pass
        elif match := _SESSION.fullmatch(line):
            if self._header.keys() != {"kind", "half"}:
                raise self._bad("a header with kind and half", line)
            at = datetime.strptime(match[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
            if self._at is not None and at <= self._at:
                raise self._bad("a session after the one before", line)
            self._at, self._session = at, self._session + 1
        elif match := _QUESTIONS.fullmatch(line):
            self._now = datetime.strptime(match[1], "%Y-%m-%d").replace(tzinfo=UTC)
        elif self._at is None:
            if not (match := _HEADER.fullmatch(line)):
                raise self._bad('"kind: …", "half: …" or "== DATE TIME"', line)
            self._header[match[1]] = match[2]
        elif self._now is None:
            self._say(line)
        else:
            self._ask(line)

    def _say(self, line: str) -> None:
        if not (match := _SAID.fullmatch(line)):
            raise self._bad(
                '"Name: words", "Name [label]: words", or two spaces before what goes on', line
            )
        who, label, words = match.groups()
        if self._header["kind"] == TECHNICAL and who not in ("user", "assistant"):
            raise self._bad('"user" or "assistant"', who)
        if label is not None:
            if label in self._labels:
                raise self._bad("each label once", label)
            self._labels[label] = len(self._said)
        assert self._at is not None
        same = sum(session == str(self._session) for _, _, session, _ in self._said)
        self._said.append((who, [words], str(self._session), self._at + timedelta(minutes=same)))

    def _ask(self, line: str) -> None:
        if not (match := _ASKED.fullmatch(line)):
            raise self._bad('"kind: question? -> label, label"', line)
        kind, text, listed = match.groups()
        labels = [label.strip() for label in listed.split(",")]
        if kind not in KINDS:
            raise self._bad(f"a kind among {', '.join(KINDS)}", kind)
        for label in labels:
            if label not in self._labels:
                raise self._bad("a label of a message", label)
        self._asked.append((kind, text, labels))

    def _bad(self, expected: str, got: str) -> BadChat:
        return BadChat(
            f"{self._path.name}, line {self._number}: expected {expected}, got {got[:80]!r}"
        )
