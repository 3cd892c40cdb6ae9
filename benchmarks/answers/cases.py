"""The sets: what is told, what is asked, and the forms of right answers.

Files beside this one were written by people who had seen neither the rules nor what a model is shown: `facts.jsonl` and
`unanswerable.jsonl` of one imaginary user, `small_talk.jsonl` around them, and the expected forms of questions to the held-out
chats of `benchmarks/present` (`changed.jsonl`) and to those of `benchmarks/chats` (`technical.jsonl`). LoCoMo (CC BY-NC) and
LongMemEval are read from the files that are given.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import chats, recalled
from benchmarks.present.dialogues import PRESENT, by_others
from benchmarks.retrieval_sets import TURN, Message, locomo, longmemeval, opened, shortened
from benchmarks.retrieval_sets import Case as Chat

HERE = Path(__file__).parent
FACTS, CHANGED, CONSTANT, TECHNICAL, LOCOMO, LONGMEMEVAL = (
    "facts told alone", "facts that changed", "facts that stayed", "technical chats", "LoCoMo", "LongMemEval",
)  # fmt: skip
NOTHING = ", nothing told"  # ends the name of a set whose questions nothing answers
SEED = 39
OTHER_SESSIONS = 8  # of LongMemEval's haystack
SHORT = 3  # words at most of a published answer that can be judged by its words
_LITTLE = {
    "a",
    "an",
    "the",
    "of",
    "in",
    "on",
    "at",
    "to",
    "my",
    "her",
    "his",
    "their",
    "and",
    "i",
    "it",
    "is",
    "was",
    "from",
    "with",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question; `expected` and `former` as `judged.judge` takes them, `evidence` as lines that a person could copy."""

    set: str
    id: str
    text: str
    expected: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Messages of one user, in threads, and the questions asked at `now`. Where `friends` talk, messages have names."""

    name: str
    messages: list[Message]
    asked: list[Asked] = field(default_factory=list)
    now: datetime
    friends: bool = False


def rows(name: str) -> list[dict[str, Any]]:
    """A file of JSON lines beside this one."""
    return recalled.rows(HERE / name)


def facts(now: datetime) -> Case:
    """Each fact in a thread of its own, in the midst of threads of small talk, within the last two months."""
    chance = random.Random(SEED)
    fact_rows, talk = rows("facts.jsonl"), rows("small_talk.jsonl")
    threads = [[(row["told"], row["reply"])] for row in fact_rows]
    threads += [
        [(row["user"], row["assistant"]) for row in talk[at : at + 2]]
        for at in range(0, len(talk), 2)
    ]
    order = chance.sample(range(len(threads)), len(threads))
    messages, evidence = [], {}
    for place, number in enumerate(order):
        at = now - timedelta(days=60) * (1 - place / len(order)) - timedelta(hours=1)
        for turn, (text, reply) in enumerate(threads[number]):
            time = at + timedelta(minutes=turn)
            messages.append(
                Message(
                    unit=f"{number}.{turn}", content=text, session=str(number), role="user", at=time
                )
            )
            evidence[number] = line_of(messages[-1])
            messages.append(
                Message(
                    unit=f"{number}.{turn}a",
                    content=reply,
                    session=str(number),
                    role="assistant",
                    at=time,
                )
            )
    asked = [
        Asked(
            set=FACTS, id=f"fact-{number}", text=row["question"], expected=tuple(row["answers"]),
            evidence=(evidence[number],),
        )
        for number, row in enumerate(fact_rows)
    ]  # fmt: skip
    asked += [
        Asked(set=FACTS + NOTHING, id=f"nothing-{number}", text=row["question"])
        for number, row in enumerate(rows("unanswerable.jsonl"))
    ]
    return Case(name="facts", messages=messages, asked=asked, now=now)


def changed() -> Iterator[Case]:
    """The held-out author's chats in which something changes: one user each."""
    labels: dict[str, list[dict[str, Any]]] = {}
    for row in rows("changed.jsonl"):
        labels.setdefault(row["dialogue"], []).append(row)
    for dialogue in by_others(held_out=True):
        gold = {each.text: each.gold for each in dialogue.asked}
        messages = [
            Message(
                unit=str(place),
                content=each.content,
                session=str(each.session),
                role=each.role,
                at=each.at,
            )
            for place, each in enumerate(dialogue.messages)
        ]
        asked = [
            Asked(
                set=CHANGED if row["kind"] == PRESENT else CONSTANT,
                id=f"{dialogue.id}: {row['question']}", text=row["question"], expected=tuple(row["answers"]),
                former=tuple(row["former"]), evidence=tuple(line_of(messages[at]) for at in sorted(gold[row["question"]])),
            )
            for row in labels.get(dialogue.id, ())
        ]  # fmt: skip
        if asked:
            yield Case(name=dialogue.id, messages=messages, asked=asked, now=dialogue.now)


def technical() -> Iterator[Case]:
    """Long chats about a project with an assistant."""
    labels, nothing = rows("technical.jsonl"), rows("technical_unanswerable.jsonl")
    for name in dict.fromkeys(row["chat"] for row in labels):
        chat = chats.read(chats.HERE / f"{name}.txt")
        gold = {question.text: question.gold[TURN] for question in chat.questions}
        asked = [
            Asked(
                set=TECHNICAL, id=f"{name}: {row['question']}", text=row["question"], expected=tuple(row["answers"]),
                former=tuple(row["former"]), evidence=evidence_of(chat, gold[row["question"]]),
            )
            for row in labels if row["chat"] == name
        ]  # fmt: skip
        asked += [
            Asked(set=TECHNICAL + NOTHING, id=f"{name}: {row['question']}", text=row["question"])
            for row in nothing if row["chat"] == name
        ]  # fmt: skip
        yield Case(name=name, messages=chat.messages, asked=asked, now=chat.now)


def friends(path: Path) -> Iterator[Case]:
    """LoCoMo: questions whose answers are short, and those of its fifth category, which nothing answers."""
    samples = {sample["sample_id"]: sample["qa"] for sample in opened(path)}
    for chat in locomo(path):
        asked = []
        for question in chat.questions:
            answer = samples[chat.name][int(question.id.rpartition(":")[2])].get("answer")
            form = short_form(str(answer)) if answer is not None else None
            if form and question.kind != "open-domain":
                asked.append(
                    Asked(
                        set=LOCOMO, id=question.id, text=question.text, expected=(form,),
                        evidence=evidence_of(chat, question.gold[TURN]),
                    )
                )  # fmt: skip
        asked += [
            Asked(set=LOCOMO + NOTHING, id=f"{chat.name}:{number}", text=row["question"])
            for number, row in enumerate(samples[chat.name]) if row["category"] == 5
        ]  # fmt: skip
        yield Case(name=chat.name, messages=chat.messages, asked=asked, now=chat.now, friends=True)


def haystacks(path: Path) -> Iterator[Case]:
    """LongMemEval: questions whose answers are short, each among some of its sessions."""
    answers = {row["question_id"]: str(row["answer"]) for row in opened(path)}
    for chat in longmemeval(path):
        [question] = chat.questions
        form = short_form(answers[question.id])
        nothing = question.kind == "abstention"
        if nothing or form:
            chat = shortened(chat, others=OTHER_SESSIONS)
            asked = Asked(
                set=LONGMEMEVAL + NOTHING if nothing else LONGMEMEVAL, id=question.id, text=question.text,
                expected=() if nothing or form is None else (form,), evidence=evidence_of(chat, question.gold[TURN]),
            )  # fmt: skip
            yield Case(name=chat.name, messages=chat.messages, asked=[asked], now=chat.now)


def short_form(answer: str) -> str | None:
    """A published answer as its words that must all be said, where these are few; a date without its year."""
    words = [
        word for word in re.findall(r"[\w'$%]+(?:[.,:]\d+)*", answer.lower()) if word not in _LITTLE
    ]
    if len(words) > 1:
        words = [word for word in words if not re.fullmatch(r"(?:19|20)\d\d", word)]
    return (
        " + ".join(words)
        if 0 < len(words) <= SHORT and "before" not in words and "after" not in words
        else None
    )


def evidence_of(chat: Chat, units: Iterable[str]) -> tuple[str, ...]:
    """The messages of these units, as lines."""
    wanted = set(units)
    return tuple(line_of(message) for message in chat.messages if message.unit in wanted)


def line_of(message: Message) -> str:
    """A message with its day and speaker."""
    day = f"{message.at:%a %Y-%m-%d}, " if message.at else ""
    return f"{day}{message.name or message.role}: {message.content}"


def limited(cases: Sequence[Case], most: int) -> list[Case]:
    """The cases with at most so many questions of each set, drawn evenly; without those that then have none."""
    by_set: dict[str, list[str]] = {}
    for case in cases:
        for question in case.asked:
            by_set.setdefault(question.set, []).append(question.id)
    kept = {
        (name, id) for name, ids in by_set.items()
        for id in random.Random(SEED).sample(ids, min(most, len(ids)))
    }  # fmt: skip
    return asking(cases, lambda question: (question.set, question.id) in kept)


def asking(cases: Sequence[Case], holds: Callable[[Asked], bool]) -> list[Case]:
    """The cases with the questions for which it holds; without those that then have none."""
    chosen = [replace(case, asked=[each for each in case.asked if holds(each)]) for case in cases]
    return [case for case in chosen if case.asked]


def all_cases(
    *, locomo_path: Path | None, longmemeval_path: Path | None, now: datetime | None = None
) -> list[Case]:
    """All cases that can be had."""
    cases = [facts(now or datetime.now(UTC)), *changed(), *technical()]
    cases += friends(locomo_path) if locomo_path else ()
    cases += haystacks(longmemeval_path) if longmemeval_path else ()
    return cases
