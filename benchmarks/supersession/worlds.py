"""Messages of a person that the reader takes for replaced: `python -m benchmarks.supersession.worlds`.

A pair by itself is not what the job meets: it compares a message with the nearest of all that the person has said. In a file of
worlds "@ name" begins a person; "C area" is a fact that changes, with the former message, the present one, a question, words of
the present message and words of the former one; "N area kind" is one that does not, with two messages, a question, and words of
the message that answers it. " // " stands between messages that were sent one after the other. Their order is drawn, with a
seed. The reader is trained on the development worlds, the held-out ones and the dialogues of the fifth author it has not seen.

With --recall the worlds are remembered and asked about by the verbs. Intervals are Wilson's, of 95 %.
"""

from __future__ import annotations

import argparse
import random
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.present import dialogues
from benchmarks.retrieval_sets import TURN, Case, Message, Question
from benchmarks.shares import wilson
from htm_core import Memory, Settings, shutdown
from htm_core.models.minilm import weights
from htm_core.models.minilm.model import MiniLM
from htm_core.reading.readers import embedded_reader

HERE = Path(__file__).parent
FILES = {"development": HERE / "worlds-development.txt", "held-out": HERE / "worlds-held-out.txt"}
THRESHOLD = 0.95  # from which an edge acts by default
COMPARED = 10  # earlier messages that a new one is compared with, as the job does
DAYS = 200
BEGAN = datetime(2025, 1, 1, 9, tzinfo=UTC)
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with what is said of it first and then, and its question; `former` is None where nothing changes."""

    id: str
    kind: str
    first: tuple[str, ...]
    then: tuple[str, ...]
    question: str
    answer: str
    former: str | None


@dataclass(frozen=True, slots=True)
class World:
    """The messages of one person in their order, and which of them supersedes which: True, False, or None where that is open."""

    name: str
    messages: Sequence[tuple[float, str]]  # the day and the text
    supersedes: Callable[[int, int], bool | None]  # of the places of an older and a newer message
    facts: Sequence[Fact] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """A new message with one of its candidates, and whether it supersedes that one."""

    older: str
    text: str
    right: bool


def main() -> None:
    """Judge, and print tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--recall", action="store_true", help="remember the worlds and ask for what holds now"
    )
    parser.add_argument(
        "--wrong", action="store_true", help="print the pairs that are judged wrong"
    )
    args = parser.parse_args()
    if args.recall:
        print(recalled("held-out"))
        shutdown()
        return
    fifth = of_dialogues(dialogues.by_others(held_out=True), kind="held out")
    for title, unknown in {
        "held-out worlds": read(FILES["held-out"]),
        "dialogues by a fifth author": fifth,
    }.items():
        pairs, missed = compare(list(unknown))
        confidences = embedded_reader().replaced([(each.text, each.older) for each in pairs])
        print(table(title, pairs, confidences, missed))
        if args.wrong:
            wrong(pairs, confidences)


def facts(path: Path) -> Iterator[tuple[str, list[Fact]]]:
    """The people of a file of worlds, each with their facts."""
    for part in path.read_text("utf-8").split("\n@ ")[1:]:
        name, *lines = part.strip().splitlines()
        yield (
            name,
            [_fact(f"{name}-{at:02}", line) for at, line in enumerate(filter(None, lines), 1)],
        )


def _fact(id: str, line: str) -> Fact:
    head, first, then, question, answer, *former = line.split(" | ")
    kind = "changed" if head.startswith("C ") else head.split()[2]
    texts = tuple(first.split(" // ")), tuple(then.split(" // "))
    return Fact(id, kind, *texts, question, answer, former[0] if former else None)


def read(path: Path) -> Iterator[World]:
    """The worlds of a file: the messages of each person in an order that is drawn, what is said first before what is said then."""
    for name, known in facts(path):
        chance, drawn = random.Random(name), list[tuple[float, int, str, str, bool]]()
        for fact in known:
            first = chance.uniform(0, 0.75 * DAYS)
            days = first, chance.uniform(first + 10, DAYS)
            for later, (day, texts) in enumerate(zip(days, (fact.first, fact.then), strict=True)):
                drawn += [(day, at, text, fact.id, bool(later)) for at, text in enumerate(texts)]
        drawn.sort()
        changed = {fact.id for fact in known if fact.former}

        def supersedes(
            older: int,
            newer: int,
            drawn: Sequence[tuple[float, int, str, str, bool]] = drawn,
            changed: set[str] = changed,
        ) -> bool | None:
            one, other = drawn[older], drawn[newer]
            if one[3] != other[3] or one[3] not in changed:
                return False
            return True if other[4] and not one[4] else None

        yield World(
            name, [(day + at / 1440, text) for day, at, text, _, _ in drawn], supersedes, known
        )


def as_case(world: World) -> Case:
    """A world as a case of the retrieval benchmarks: every message in a session of its own, and of each fact what holds now."""
    messages = [
        Message(
            unit=str(place),
            content=text,
            session=str(place),
            role="user",
            at=BEGAN + timedelta(days=day),
        )
        for place, (day, text) in enumerate(world.messages)
    ]
    questions = []
    for fact in world.facts:
        stating = [*fact.then] if fact.former else [*fact.first, *fact.then]
        gold = {
            each.unit
            for each in messages
            if each.content in stating and fact.answer.lower() in each.content.lower()
        }
        kind = dialogues.PRESENT if fact.former else dialogues.CONSTANT
        questions.append(
            Question(id=fact.id, text=fact.question, kind=kind, gold={TURN: frozenset(gold)})
        )
    return Case(
        name=world.name,
        messages=messages,
        questions=questions,
        now=BEGAN + timedelta(days=DAYS + 3),
    )


def of_dialogues(conversations: Iterator[dialogues.Dialogue], *, kind: str) -> Iterator[World]:
    """Yield the user's messages of dialogues, each as a world with one fact that changes."""
    for dialogue in conversations:
        turns = [one for one in dialogue.messages if one.role == "user"]
        marks = [one.mark or "" for one in turns]

        def supersedes(older: int, newer: int, marks: Sequence[str] = marks) -> bool | None:
            if (marks[older], marks[newer]) == (dialogues.PAST, dialogues.PRESENT):
                return True
            matter = (dialogues.PAST, dialogues.PRESENT)
            return None if marks[older] in matter and marks[newer] in matter else False

        yield World(
            f"dialogue {kind} {dialogue.id}",
            [(float(at), one.content) for at, one in enumerate(turns)],
            supersedes,
        )


def compare(worlds: Sequence[World]) -> tuple[list[Compared], int]:
    """Each message with its candidates, and how many of what it supersedes are not among these."""
    texts = list(dict.fromkeys(text for world in worlds for _, text in world.messages))
    rows = dict(zip(texts, vectors(texts), strict=True))
    pairs, missed = list[Compared](), 0
    for world in worlds:
        messages = [text for _, text in world.messages]
        near = np.array([rows[text] for text in messages])
        cosines = near @ near.T
        for newer, text in enumerate(messages):
            nearest = _nearest(messages, cosines[newer], newer)
            older = [at for at in nearest if at < newer and messages[at] != text]
            missed += sum(
                world.supersedes(at, newer) is True for at in range(newer) if at not in older
            )
            judged = ((at, world.supersedes(at, newer)) for at in older)
            pairs += [
                Compared(messages[at], text, right) for at, right in judged if right is not None
            ]
    return pairs, missed


def _nearest(messages: Sequence[str], cosines: Floats, of: int) -> list[int]:
    """The places of the messages that the job compares with one: the nearest by vector and by words, as many of both together."""
    tokens = [set(_words(text)) for text in messages]
    counts = Counter(word for each in tokens for word in each)
    weights = {
        word: np.log(1 + (len(messages) - n + 0.5) / (n + 0.5)) for word, n in counts.items()
    }
    by_words = np.array(
        [sum(weights[word] for word in tokens[of] & each) / (10 + len(each)) for each in tokens]
    )
    places: dict[int, int] = {}
    for scores in (cosines, by_words):
        order = [
            int(at) for at in np.argsort(-scores, kind="stable") if at != of and scores[at] > 0
        ]
        for place, at in enumerate(order[: COMPARED + 1]):
            places[at] = min(place, places.get(at, place))
    return sorted(places, key=lambda at: (places[at], at))[:COMPARED]


def _words(text: str) -> list[str]:
    return [word.strip(".,;:!?'\"()").lower() for word in text.split()]


@cache
def _model() -> MiniLM:
    return MiniLM(weights.find() or weights.fetch())


def vectors(texts: Sequence[str]) -> NDArray[np.float64]:
    """The vectors of texts, each of length 1."""
    parts = [
        np.array(_model().embed_documents(list(texts[at : at + 64])))
        for at in range(0, len(texts), 64)
    ]
    stacked = np.concatenate(parts).astype(np.float64)
    lengths: NDArray[np.float64] = np.linalg.norm(stacked, axis=1, keepdims=True)
    return stacked / lengths


def table(
    title: str, pairs: Sequence[Compared], confidences: Sequence[float], missed: int = 0
) -> str:
    """Return a table of how many changes are found, and how many of the edges are right, from each confidence on."""
    right = np.array([each.right for each in pairs])
    changes = int(right.sum()) + missed
    lines = [
        f"\n{title}: {changes} pairs that supersede, {missed} not compared",
        "",
        "| from | precision | found |",
        "|---|---|---|",
    ]
    for least in (0.5, 0.7, 0.8, 0.9, THRESHOLD, 0.98, 0.99):
        judged = np.array(confidences) >= least
        hits = int(right[judged].sum())
        lines.append(
            f"| {least:.2f} | {_share(hits, int(judged.sum()))} | {_share(hits, changes)} |"
        )
    return "\n".join(lines)


def share(part: int, whole: int) -> str:
    """A share with its interval, after Wilson."""
    if not whole:
        return "-"
    low, high = wilson(part, whole)
    return f"{part / whole:.3f} ({low:.3f} to {high:.3f})"


def _share(hits: int, of: int) -> str:
    low, high = wilson(hits, of)
    return f"{hits} of {of}, {hits / max(1, of):.3f} ({low:.3f} to {high:.3f})"


def wrong(pairs: Sequence[Compared], confidences: Sequence[float]) -> None:
    """Print what is found and wrong, and what is missed."""
    for compared, confidence in sorted(
        zip(pairs, confidences, strict=True), key=lambda pair: -pair[1]
    ):
        if compared.right != (confidence >= THRESHOLD) and (compared.right or confidence >= 0.5):
            print(
                f"{confidence:.2f} {'missed' if compared.right else 'wrong '} {compared.older[:90]} => {compared.text[:110]}"
            )


def recalled(name: str) -> str:
    """Remember each world as a user's messages, ask each question, and count whose answer is first, and which hits are marked.

    Of a fact that changed: whether the answer is first. Of one that stayed: whether another hit says that it was said last.
    """
    counts: Counter[str] = Counter()
    for world in read(FILES[name]):
        for edges, threshold in (("with edges", THRESHOLD), ("without", None)):
            settings = Settings(supersession=threshold)
            with Memory(
                "worlds", tenant=f"w{secrets.token_hex(6)}", user=world.name, settings=settings
            ) as memory:
                for day, text in world.messages:
                    at = datetime(2025, 1, 6, 9, tzinfo=UTC) + timedelta(days=day)
                    memory.remember(text, role="user", session=f"{int(day)}", at=at)
                memory.flush()
                for fact in world.facts:
                    kind = "changed" if fact.former else "stayed"
                    hits = memory.recall(fact.question, limit=10, hold=False, reader=True)
                    answers = [fact.answer.lower() in hit.content.lower() for hit in hits]
                    last = [hit.said_when == "last" for hit in hits]
                    counts[f"{kind}, {edges}"] += answers[0]
                    counts[f"{kind}, {edges}, all"] += 1
                    marked = any(
                        mark and not answer for mark, answer in zip(last, answers, strict=True)
                    )
                    counts[f"{kind}, {edges}: another said last"] += marked
                    counts[f"{kind}, {edges}: another said last, all"] += 1
    rows = [each for each in counts if not each.endswith("all")]
    lines = [f"{each}: {_share(counts[each], counts[f'{each}, all'])}" for each in sorted(rows)]
    return "\n".join([f"\n{name}, the right answer first, and marks", *lines])


if __name__ == "__main__":
    main()
