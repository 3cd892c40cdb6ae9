"""Questions with what recall finds for them: the rows that relevance is fitted on, and that its reach is measured on.

Each set is stored in a memory of its own, as its users would have said it. A question is answerable (with the messages that
answer it), a near miss (as if these answered it, but nothing does), or foreign (it is about something else altogether).
"""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import retrieval_sets
from benchmarks.retrieval_sets import TURN, Case, Message, Question
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from htm_core import Recall

HERE = Path(__file__).parent
FACTS = HERE / "relevance_facts.jsonl"
FOREIGN = HERE / "relevance_foreign.jsonl"
EVALUATORS = HERE.parent / "tests" / "fixtures" / "evaluators"
ANSWERABLE, NEAR_MISS, FOREIGN_KIND = "answerable", "near_miss", "foreign"
FOREIGN_PER_SET = 600
START = datetime(2026, 9, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """One question, its kind, the units that answer it, and what recall found, best first."""

    case: str
    question: str
    kind: str
    gold: frozenset[str]
    recall: Recall

    def right(self, place: int) -> bool:
        """True if the hit at this place answers the question."""
        return any(
            str(mention.metadata.get("unit")) in self.gold
            for mention in self.recall[place].mentions
        )


def rows(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def facts(*, groups_in_one: int = 1) -> Iterator[Case]:
    """This project's own facts: one memory for so many groups, three facts in a session, questions and small talk between."""
    groups: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, row in enumerate(rows(FACTS)):
        groups.setdefault(row["group"], []).append((number, row))
    cases = [_facts_of(name, members) for name, members in groups.items()]
    for first in range(0, len(cases), groups_in_one):
        some = cases[first : first + groups_in_one]
        yield Case(
            name=f"{some[0].name}+{len(some) - 1}" if len(some) > 1 else some[0].name,
            messages=[message for case in some for message in case.messages],
            questions=[question for case in some for question in case.questions],
            now=max(case.now for case in some),
        )


def _facts_of(name: str, members: Sequence[tuple[int, dict[str, Any]]]) -> Case:
    messages, questions, at = [], [], START
    for place, (number, row) in enumerate(members):
        session = f"{name}-{place // 3}"
        if row.get("echo"):
            role = "user" if row["echo"].strip().endswith("?") else "assistant"
            messages.append(
                Message(
                    unit=f"echo{number}", content=row["echo"], session=session, role=role, at=at
                )
            )
            at += timedelta(minutes=3)
        messages.append(
            Message(
                unit=f"fact{number}",
                content=row["fact"],
                session=session,
                role=row.get("role"),
                at=at,
            )
        )
        at += timedelta(hours=3)
        gold = {TURN: frozenset([f"fact{number}"])}
        questions += [
            Question(id=f"{number}.{place}", text=text, kind=ANSWERABLE, gold=gold)
            for place, text in enumerate(row["questions"])
        ]
        questions.append(
            Question(
                id=f"{number}.miss", text=row["near_miss"], kind=NEAR_MISS, gold={TURN: frozenset()}
            )
        )
    return Case(name=name, messages=messages, questions=questions, now=at + timedelta(days=1))


def paraphrases(*, sessions: int = 0) -> Iterator[Case]:
    """The facts and questions that share almost no words; spread over so many sessions, or in none."""
    for case in retrieval_sets.paraphrases():
        messages = [
            replace(
                message,
                session=f"s{place % sessions}" if sessions else None,
                role="user" if sessions else None,
            )
            for place, message in enumerate(case.messages)
        ]
        questions = [
            replace(each, kind=ANSWERABLE, gold={TURN: next(iter(each.gold.values()))})
            for each in case.questions
        ]
        yield replace(case, messages=messages, questions=questions)


def evaluator(name: str) -> Iterator[Case]:
    """The dialogues of an evaluator who did not know how recall works: one memory for each."""
    for row in rows(EVALUATORS / f"{name}.jsonl"):
        at = datetime.fromisoformat(row["date"])
        messages = [
            Message(
                unit=f"{row['id']}:{place}", content=turn["content"], session=row["id"], role=turn["role"],
                at=at + timedelta(minutes=place),
            )
            for place, turn in enumerate(row["turns"])
        ]  # fmt: skip
        questions = [
            Question(
                id=f"{row['id']}.{place}", text=each["question"],
                kind=ANSWERABLE if each["evidence"] else NEAR_MISS,
                gold={TURN: frozenset(f"{row['id']}:{unit}" for unit in each["evidence"])},
            )
            for place, each in enumerate(row["questions"])
        ]  # fmt: skip
        yield Case(
            name=row["id"], messages=messages, questions=questions, now=at + timedelta(days=30)
        )


def published(cases: Iterator[Case]) -> Iterator[Case]:
    """A published set by turn; its questions without evidence among the messages are left out."""
    for case in cases:
        questions = [
            replace(each, kind=ANSWERABLE) for each in case.questions if each.gold.get(TURN)
        ]
        yield replace(case, questions=questions)


def foreign_questions() -> list[str]:
    """Prompts that nothing in any set answers: knowledge, tasks, small talk, and things nobody has said."""
    return [row["prompt"] for row in rows(FOREIGN)]


def recalled(
    cases: Sequence[Case], *, embedder: CachedEmbedder | None, limit: int = 20, reader: bool = False
) -> Iterator[Recalled]:
    """Store each case, and ask its questions and some foreign ones; the same ones each time. `reader` is that of recall."""
    chance, foreign = random.Random(5), foreign_questions()
    for case in cases:
        filled = CaseMemory(case, tenant=f"recalled-{secrets.token_hex(4)}", embedder=embedder)
        filled.fill()
        asked = [
            (each.kind, each.text, each.gold.get(TURN, frozenset())) for each in case.questions
        ]
        some = chance.sample(foreign, min(len(foreign), max(8, FOREIGN_PER_SET // len(cases))))
        asked += [(FOREIGN_KIND, text, frozenset()) for text in some]
        for kind, text, gold in asked:
            result = filled.memory.recall(text, limit=limit, hold=False, reader=reader)
            yield Recalled(case=case.name, question=text, kind=kind, gold=gold, recall=result)
        filled.empty()
