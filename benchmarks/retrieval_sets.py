"""Readers of the published sets, in one form: cases with messages to store, and questions with their evidence.

The sets are not part of this project; the paths of their files are given on the command line. Only `paraphrases.jsonl`
in this folder is this project's own.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

TURN, SESSION, DOCUMENT = "turn", "session", "document"
PARAPHRASES = Path(__file__).with_name("paraphrases.jsonl")
# What people end a message with who want to hear from the other.
ASKED_BACK = (
    "And you?", "What about you?", "How are things with you?", "What do you think?", "How have you been?", "What's new with you?",
    "Do you know what I mean?", "How was your week?", "Anything new on your side?", "What have you been up to?", "Can you imagine?",
    "Have you ever tried that?", "What would you do?", "Isn't that something?",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A text to store; `unit` is its id in the set, `session` that of its conversation."""

    unit: str
    content: str
    session: str | None = None
    role: str | None = None
    name: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, its kind, and its evidence in each unit that the set is measured in."""

    id: str
    text: str
    kind: str
    gold: Mapping[str, frozenset[str]]
    weights: Mapping[str, int] = field(
        default_factory=dict
    )  # graded relevance, in sets that have it


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The content of one memory, the questions, and the time at which they are asked."""

    name: str
    messages: list[Message]
    questions: list[Question]
    now: datetime


def opened(path: Path) -> Any:
    """Read a JSON file, gzipped or not."""
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)


def locomo(path: Path) -> Iterator[Case]:
    """Read LoCoMo: one memory for each conversation, categories 1 to 4, by turn and by session."""
    kinds = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
    for sample in opened(path):
        messages = list(_turns(sample["conversation"]))
        known = {message.unit: message for message in messages}
        questions = []
        for number, row in enumerate(sample["qa"]):
            gold = frozenset(_evidence(row.get("evidence", []))) & known.keys()
            if gold and row["category"] in kinds:
                sessions = frozenset(str(known[unit].session) for unit in gold)
                questions.append(
                    Question(
                        id=f"{sample['sample_id']}:{number}", text=row["question"], kind=kinds[row["category"]],
                        gold={TURN: gold, SESSION: sessions},
                    )
                )  # fmt: skip
        last = max(message.at for message in messages if message.at)
        yield Case(
            name=sample["sample_id"],
            messages=messages,
            questions=questions,
            now=last + timedelta(days=1),
        )


def _turns(conversation: Mapping[str, Any]) -> Iterator[Message]:
    numbers = sorted(
        int(key.split("_")[1]) for key, value in conversation.items() if _is_session(key) and value
    )
    for number in numbers:
        written = re.sub(r"\s+", " ", conversation[f"session_{number}_date_time"].strip()).upper()
        at = datetime.strptime(written, "%I:%M %p ON %d %B, %Y").replace(tzinfo=UTC)
        for turn in conversation[f"session_{number}"]:
            photo = f" [shares a photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            [unit] = _evidence([turn["dia_id"]])
            yield Message(
                unit=unit,
                content=turn["text"] + photo,
                session=str(number),
                role="user",
                name=turn["speaker"],
                at=at,
            )


def _is_session(key: str) -> bool:
    return re.fullmatch(r"session_\d+", key) is not None


def _evidence(raw: Any) -> list[str]:
    """Give turn ids in one form; the set also has "D8:6; D9:17", "D:11:26" and "D30:05"."""
    listed = raw if isinstance(raw, list) else [raw]
    return [
        f"D{int(a)}:{int(b)}"
        for each in listed
        for a, b in re.findall(r"D:?(\d+):(\d+)", str(each))
    ]


def longmemeval(path: Path) -> Iterator[Case]:
    """Read LongMemEval: one memory for each question, by session and by turn."""
    for row in opened(path):
        messages, evidence, latest = [], set(), datetime.min.replace(tzinfo=UTC)
        days = zip(
            row["haystack_session_ids"],
            row["haystack_dates"],
            row["haystack_sessions"],
            strict=True,
        )
        for session, day, turns in days:
            at = _day(day)
            latest = max(latest, at)
            for number, turn in enumerate(turns):
                unit = f"{session}:{number}"
                if turn["content"].strip():
                    messages.append(
                        Message(
                            unit=unit,
                            content=turn["content"],
                            session=session,
                            role=turn["role"],
                            at=at,
                        )
                    )
                    evidence |= {unit} if turn.get("has_answer") else set()
        sessions = frozenset(row["answer_session_ids"]) & {message.session for message in messages}
        kind = "abstention" if row["question_id"].endswith("_abs") else row["question_type"]
        question = Question(
            id=row["question_id"], text=row["question"], kind=kind,
            gold={SESSION: frozenset(filter(None, sessions)), TURN: frozenset(evidence)},
        )  # fmt: skip
        yield Case(
            name=row["question_id"],
            messages=messages,
            questions=[question],
            now=_day(row["question_date"]),
        )


def _day(text: str) -> datetime:
    return datetime.strptime(re.sub(r"\(\w+\) ", "", text), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def beir(path: Path, split: str = "test") -> Iterator[Case]:
    """Read a set in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/<split>.tsv."""
    wanted: dict[str, dict[str, int]] = {}
    for line in (path / "qrels" / f"{split}.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            wanted.setdefault(query, {})[document] = int(grade)
    documents = [
        Message(
            unit=row["_id"],
            content=f"{row.get('title', '')}\n\n{row['text']}".strip() or row["_id"],
        )
        for row in _lines(path / "corpus.jsonl")
    ]
    questions = [
        Question(
            id=row["_id"], text=row["text"], kind="all",
            gold={DOCUMENT: frozenset(wanted[row["_id"]])}, weights=wanted[row["_id"]],
        )
        for row in _lines(path / "queries.jsonl") if row["_id"] in wanted
    ]  # fmt: skip
    yield Case(name=path.name, messages=documents, questions=questions, now=datetime.now(UTC))


def beam(path: Path) -> Iterator[Case]:
    """Read BEAM's chats of one size (a folder such as chats/100K): one memory for each, by message and by session.

    A question without evidence, as those of the kind abstention are, has no gold. A message that others share an id with counts as
    any of them.
    """
    for folder in sorted(
        (each.parent for each in path.glob("*/chat.json")),
        key=lambda directory: (len(directory.name), directory.name),
    ):
        messages, at = list[Message](), datetime(2024, 1, 1, tzinfo=UTC)
        for number, part in enumerate(opened(folder / "chat.json"), 1):
            for row in _beam_messages(part):
                at = _anchor(row.get("time_anchor")) or at + timedelta(minutes=1)
                if row["content"].strip():
                    messages.append(
                        Message(
                            unit=str(row["id"]),
                            content=row["content"],
                            session=str(number),
                            role=row["role"],
                            at=at,
                        )
                    )
        sessions: dict[str, set[str]] = {}
        for message in messages:
            sessions.setdefault(message.unit, set()).add(str(message.session))
        questions = []
        for kind, rows in opened(folder / "probing_questions" / "probing_questions.json").items():
            for number, row in enumerate(rows):
                gold = frozenset(_numbers(row.get("source_chat_ids"))) & sessions.keys()
                of = frozenset(each for unit in gold for each in sessions[unit])
                questions.append(
                    Question(
                        id=f"{folder.name}:{kind}:{number}", text=row["question"], kind=kind.replace("_", " "),
                        gold={TURN: gold, SESSION: of},
                    )
                )  # fmt: skip
        yield Case(
            name=f"beam-{folder.name}",
            messages=messages,
            questions=questions,
            now=at + timedelta(days=1),
        )


def _beam_messages(part: Any) -> Iterator[Mapping[str, Any]]:
    """The messages of a part of a chat, which are nested in lists and objects of several forms."""
    if isinstance(part, dict) and {"id", "role", "content"} <= part.keys():
        yield part
    elif isinstance(part, dict | list):
        for item in part.values() if isinstance(part, dict) else part:
            yield from _beam_messages(item)


def _numbers(value: Any) -> Iterator[str]:
    """The ids in a list, or in lists by their part of the answer."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)
    elif value is not None:
        yield str(value)


def _anchor(text: str | None) -> datetime | None:
    return datetime.strptime(text, "%B-%d-%Y").replace(tzinfo=UTC) if text else None


def without_names(case: Case) -> Case:
    """The same chat as nobody's: names are out of messages and questions, and one of the two speaks as the assistant."""
    names = sorted({message.name for message in case.messages if message.name})
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})(?:['\u2019]s)?\b")

    def cut(text: str) -> str:
        return (
            re.sub(r"\s+([,.?!])", r"\1", re.sub(r" {2,}", " ", pattern.sub("", text))).strip()
            or text
        )

    return replace(
        case,
        name=f"{case.name} without names",
        messages=[
            replace(
                m,
                content=cut(m.content),
                name=None,
                role="user" if m.name == names[0] else "assistant",
            )
            for m in case.messages
        ],
        questions=[replace(question, text=cut(question.text)) for question in case.questions],
    )


def joined(cases: Sequence[Case], *, name: str) -> Case:
    """Several chats of two people as one long chat of the two in the first, whose names the others have in it."""
    first = _pair(cases[0])
    messages, questions = list[Message](), list[Question]()
    for case in cases:
        names = dict(zip(_pair(case), first, strict=True))
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")

        def renamed(
            text: str, pattern: re.Pattern[str] = pattern, names: Mapping[str, str] = names
        ) -> str:
            return pattern.sub(lambda match: names[match[0]], text)

        messages += [
            replace(m, content=renamed(m.content), name=names[m.name or ""]) for m in case.messages
        ]
        questions += [replace(question, text=renamed(question.text)) for question in case.questions]
    messages.sort(key=lambda message: message.at or datetime.min.replace(tzinfo=UTC))
    return Case(
        name=name, messages=messages, questions=questions, now=max(case.now for case in cases)
    )


def _pair(case: Case) -> tuple[str, str]:
    one, other = sorted({message.name for message in case.messages if message.name})
    return one, other


def asking_back(case: Case) -> Case:
    """The same chat, in which half of what is said without a question ends with one, as people do who keep each other talking."""

    def asked(message: Message) -> Message:
        chance = random.Random(message.content)  # the same in every run
        if "?" in message.content or chance.random() >= 0.5:
            return message
        return replace(message, content=f"{message.content} {chance.choice(ASKED_BACK)}")

    return replace(case, messages=[asked(message) for message in case.messages])


def shortened(case: Case, *, others: int) -> Case:
    """A case of LongMemEval with the sessions that have evidence, and so many others, which are drawn by its name."""
    kept = {session for question in case.questions for session in question.gold[SESSION]}
    rest = sorted({str(message.session) for message in case.messages} - kept)
    random.Random(case.name).shuffle(rest)
    kept |= set(rest[:others])
    return replace(case, messages=[message for message in case.messages if message.session in kept])


def paraphrases(path: Path = PARAPHRASES) -> Iterator[Case]:
    """Read facts and questions that share almost no words, so that only vectors can find them."""
    rows = list(_lines(path))
    facts = [Message(unit=str(number), content=row["fact"]) for number, row in enumerate(rows)]
    questions = [
        Question(
            id=str(number),
            text=row["question"],
            kind="all",
            gold={DOCUMENT: frozenset([str(number)])},
        )
        for number, row in enumerate(rows)
    ]
    yield Case(name="paraphrases", messages=facts, questions=questions, now=datetime.now(UTC))


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())
