"""Verdicts of a palace over facts that were filed and facts that never were: `python -m benchmarks.grounding verdicts`."""

from __future__ import annotations

import json
import statistics
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import recalled
from benchmarks.retrieval_sets import TURN, Case, Question
from benchmarks.shares import share
from htm_core import Memory, Settings
from htm_core.palace import Enforcer, Palace

HERE = Path(__file__).parent
EVALUATORS = ("evaluator_one", "evaluator_two")
SESSIONS = 21
AMONG = 3  # pieces of evidence among which the right one counts


@dataclass(frozen=True, slots=True)
class Fact:
    """A text to be filed, and where."""

    text: str
    room: str
    drawer: str
    session: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, and the texts that answer it; none when it was never said."""

    question: str
    gold: frozenset[str] = frozenset()


@dataclass(slots=True)
class Verdicts:
    """Answers of a palace to questions of one kind."""

    of: Counter[str] = field(default_factory=Counter)
    shown: int = 0  # the right evidence is among all that is shown
    first: int = 0  # and among the first three
    asked: int = 0
    milliseconds: list[float] = field(default_factory=list)
    by_question: dict[str, str] = field(default_factory=dict)  # the verdict of each question
    scores: list[tuple[str, str, float, bool]] = field(default_factory=list)


def consult(enforcer: Enforcer, asks: Iterable[Ask]) -> Verdicts:
    """Put each question to a palace."""
    verdicts = Verdicts()
    for ask in asks:
        started = time.perf_counter()
        grounding = enforcer.consult(ask.question)
        verdicts.milliseconds.append((time.perf_counter() - started) * 1e3)
        texts = [each.content for each in grounding.evidence]
        verdicts.asked += 1
        verdicts.of[grounding.verdict] += 1
        verdicts.by_question[ask.question] = grounding.verdict
        verdicts.shown += any(text in ask.gold for text in texts)
        verdicts.first += any(text in ask.gold for text in texts[:AMONG])
        verdicts.scores += [
            (ask.question, each.content, each.score, each.content in ask.gold)
            for each in grounding.evidence
        ]
    return verdicts


def in_palace(facts: Sequence[Fact], read: Callable[[Enforcer], Any], **options: Any) -> Any:
    """A palace with these facts, read by a function."""
    tenant = f"verdicts-{uuid.uuid4().hex[:8]}"
    with Memory("bench", tenant=tenant, embed="now", settings=Settings(worker="off")) as memory:
        places = dict.fromkeys((each.session, each.room, each.drawer) for each in facts)
        for session, room, drawer in places:
            texts = [
                each.text
                for each in facts
                if (each.session, each.room, each.drawer) == (session, room, drawer)
            ]
            Palace(memory.of(session=session)).file_many(texts, room=room, drawer=drawer)
        return read(Enforcer(Palace(memory.of(session="asking")), **options))


def paraphrases() -> list[tuple[str, str]]:
    """The paraphrases: a fact, and a question about it that shares hardly a word with it."""
    return [
        (text, question.text)
        for case in recalled.paraphrases()
        for question in case.questions
        for text in _gold(case, question)
    ]


def dialogues(name: str) -> list[tuple[list[Fact], list[Ask], list[Ask]]]:
    """An evaluator's dialogues: what the user said, the questions that a turn answers, and those that none does."""
    read = []
    for case in recalled.evaluator(name):
        texts = dict.fromkeys(each.content for each in case.messages if each.role != "assistant")
        facts = [Fact(text, "dialogues", case.name, case.name) for text in texts]
        answered, never = list[Ask](), list[Ask]()
        for question in case.questions:
            gold = _gold(case, question)
            (answered if gold else never).append(Ask(question.text, gold))
        read.append((facts, answered, never))
    return read


def _gold(case: Case, question: Question) -> frozenset[str]:
    """The texts of the messages that answer a question."""
    return frozenset(each.content for each in case.messages if each.unit in question.gold[TURN])


def main(**options: Any) -> None:
    """Print the verdicts of each set."""
    pairs = paraphrases()
    print(
        f"{'questions':<52}{'asked':>6}  {'grounded':<24}{'uncertain':>10}{'miss':>6}{'free':>6}{'shown':>8}  {'among three':<24}ms"
    )
    alone = [Fact(fact, "facts", f"drawer {at}", "one") for at, (fact, _) in enumerate(pairs)]
    asks = [Ask(question, frozenset([fact])) for fact, question in pairs]
    one = in_palace(alone, lambda enforcer: consult(enforcer, asks), **options)
    _print("205 paraphrases, a drawer each, one session", one)
    spread = [
        Fact(each.text, each.room, each.drawer, f"s{at % SESSIONS}")
        for at, each in enumerate(alone)
    ]
    many = in_palace(spread, lambda enforcer: consult(enforcer, asks), **options)
    _print(f"the same over {SESSIONS} sessions", many)
    changed = [
        question for question, said in one.by_question.items() if many.by_question[question] != said
    ]
    print(f"{'verdicts that differ between the two':<52}{len(changed):>6}")
    for part in (0, 1):
        kept = [each for at, each in enumerate(alone) if at % 2 == part]
        others = [Ask(question) for at, (_, question) in enumerate(pairs) if at % 2 != part]
        _print(
            f"never said: half {part} asked of the other",
            in_palace(kept, lambda enforcer, o=others: consult(enforcer, o), **options),
        )
    data = json.loads((HERE / "palace_questions.json").read_text("utf-8"))
    facts = [Fact(each["fact"], each["room"], each["drawer"], "one") for each in data["facts"]]
    answerable = [
        Ask(asked, frozenset([each["fact"]])) for each in data["facts"] for asked in each["asked"]
    ]
    never = [Ask(asked) for asked in data["never_said"]]
    _print(
        "a working palace: answerable",
        in_palace(facts, lambda enforcer: consult(enforcer, answerable), **options),
    )
    _print(
        "a working palace: never said",
        in_palace(facts, lambda enforcer: consult(enforcer, never), **options),
    )
    for name in EVALUATORS:
        _evaluator(name, **options)


def _evaluator(name: str, **options: Any) -> None:
    """The questions of each dialogue to the palace of its own, and to one palace with all dialogues."""
    read = dialogues(name)
    own: list[tuple[Verdicts, Verdicts]] = [
        in_palace(
            facts,
            lambda enforcer, a=answered, n=never: (consult(enforcer, a), consult(enforcer, n)),
            **options,
        )
        for facts, answered, never in read
    ]
    _print(f"{name}: answerable, own dialogue", _sum(each for each, _ in own))
    _print(f"{name}: never said, own dialogue", _sum(each for _, each in own))


def _sum(parts: Iterable[Verdicts]) -> Verdicts:
    whole = Verdicts()
    for part in parts:
        whole.of += part.of
        whole.shown, whole.first, whole.asked = (
            whole.shown + part.shown,
            whole.first + part.first,
            whole.asked + part.asked,
        )
        whole.milliseconds += part.milliseconds
        whole.by_question |= part.by_question
        whole.scores += part.scores
    return whole


def _print(name: str, verdicts: Verdicts) -> None:
    of, asked = verdicts.of, verdicts.asked
    print(
        f"{name:<52}{asked:>6}  {share(of['grounded'], asked):<24}{of['uncertain'] / asked:>10.3f}{of['miss'] / asked:>6.2f}"
        f"{of['free'] / asked:>6.2f}{verdicts.shown / asked:>8.3f}  {share(verdicts.first, asked):<24}"
        f"{statistics.median(verdicts.milliseconds):.1f}"
    )
