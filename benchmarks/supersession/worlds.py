"""Small worlds of several facts, of which some change: which messages of a person supersede which, among all that are compared.

    python -m benchmarks.supersession.worlds [--fit] [--held-out] [--recall] [--wrong]

A pair by itself is not what the job meets: it compares a message with the nearest of all that the person has said. In a file of
worlds "@ name" begins a person; "C area" is a fact that changes, with the former message, the present one, a question, words of
the present message and words of the former one; "N area kind" is one that does not, with two messages, a question, and words of
the message that answers it. " // " stands between messages that were sent one after the other. Their order is drawn, with a
seed. The held-out worlds were written before their author had seen the rules, and nothing is fitted on them.

Beside these the dialogues of `benchmarks.present` are learned from, but for those of the fifth author.

With --fit the weights are fitted on the development worlds and the dialogues, and written. Each is judged by weights that were
fitted without it: without the person, or without a fifth of the dialogues. With --recall the worlds are remembered and asked
about by the verbs. Intervals are Wilson's, of 95 %.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import secrets
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.present import dialogues
from benchmarks.retrieval_sets import TURN, Case, Message, Question
from benchmarks.supersession.pairs import HERE, vectors
from benchmarks.supersession.signs import AGAINST, FOR
from htm_core import Memory, Settings, shutdown
from htm_core.rules.supersession import candidates
from htm_core.rules.supersession.judge import THRESHOLD, Saying, most_at_odds
from htm_core.rules.supersession.sayings import whole
from tests.palace.labelled_prompts import wilson

FILES = {"development": HERE / "worlds-development.txt", "held-out": HERE / "worlds-held-out.txt"}
WEIGHTS = Path(candidates.__file__).parent / "candidates.json"
COMPARED = 10  # earlier messages that a new one is compared with, as the job does
MADE, OF_MADE = 4, 0.3  # dialogues for each topic, and what one of their pairs counts
RIDGE = 3.0
# Evidence in log odds, and the share of the judgements from there on that were right: in the development worlds, unseen, and in
# worlds of two other authors, together (docs/why/supersession.md). Not in the dialogues, whose marks are for one matter alone.
CONFIDENCES = ((-1.75, 0.5), (-1.0, 0.6), (-0.5, 0.7), (0.25, 0.8), (1.0, 0.9), (1.5, 0.95), (4.0, 0.99))
FOLDS = 5
STEPS = 60
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
    said: Sequence[tuple[float, str]]  # the day and the text
    supersedes: Callable[[int, int], bool | None]  # of the places of an older and a newer message
    facts: Sequence[Fact] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """A new message with one of its candidates: the signals, and whether it supersedes that one."""

    world: str
    newer: int
    older: str
    text: str
    signals: Mapping[str, float]
    right: bool


def main() -> None:
    """Fit if it is wanted, judge, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="fit the weights, and write them")
    parser.add_argument("--held-out", action="store_true", help="judge what was held out, too")
    parser.add_argument("--recall", action="store_true", help="remember the worlds and ask for what holds now")
    parser.add_argument("--wrong", action="store_true", help="print the development pairs that are judged wrong")
    given = parser.parse_args()
    if given.recall:
        for name in ["development", *(["held-out"] if given.held_out else [])]:
            print(recalled(name))
        shutdown()
        return
    worlds, _ = compare(list(read(FILES["development"])))
    talks, _ = compare(
        [
            *of_dialogues(dialogues.written(), kind="written"),
            *of_dialogues(dialogues.by_others(held_out=False), kind="by others"),
            *of_dialogues(dialogues.made(each=MADE), kind="made"),
        ]
    )
    known = [*worlds, *talks]
    unseen = judged_unseen(known)
    if given.fit:
        weights = {name: round(value, 3) for name, value in fit(known).items() if value or not name}
        WEIGHTS.write_text(json.dumps({"weights": weights, "confidence": CONFIDENCES}, indent=1) + "\n", "utf-8")
        candidates._fitted.cache_clear()
    confidences = [candidates.confidence_of(each) for each in best_only(known, unseen)]
    parts: dict[str, Callable[[str], bool]] = {
        "development worlds": lambda world: not world.startswith("dialogue"),
        "dialogues by the author of the rules": lambda world: world.startswith("dialogue written"),
        "dialogues by four others": lambda world: world.startswith("dialogue by others"),
        "dialogues made of parts": _is_made,
    }
    for title, belongs in parts.items():
        at = [place for place, each in enumerate(known) if belongs(each.world)]
        print(table(f"{title}, unseen", [known[place] for place in at], [confidences[place] for place in at]))
    if given.wrong:
        wrong(known, confidences)
    if given.held_out:
        fifth = of_dialogues(dialogues.by_others(held_out=True), kind="held out")
        for title, unknown in {"held out": read(FILES["held-out"]), "dialogues by a fifth author": fifth}.items():
            found, missed = compare(list(unknown))
            sure = [
                candidates.confidence_of(each)
                for each in best_only(found, evidence(found, candidates._fitted()["weights"]))
            ]
            print(table(title, found, sure, missed))


def judged_unseen(known: Sequence[Compared]) -> Floats:
    """The evidence of each pair by weights that were fitted without its world, or without a tenth of the dialogues."""
    groups = np.array(
        [
            zlib.crc32(each.world.encode()) % FOLDS
            if each.world.startswith("dialogue")
            else -1 - zlib.crc32(each.world.encode())
            for each in known
        ]
    )
    unseen = np.zeros(len(known))
    for group in sorted(set(groups.tolist())):
        weights = fit([each for each, of in zip(known, groups, strict=True) if of != group])
        at = np.flatnonzero(groups == group)
        unseen[at] = evidence([known[place] for place in at], weights)
    return unseen


def _is_made(world: str) -> bool:
    return re.fullmatch(r"dialogue made .*", world) is not None


def facts(path: Path) -> Iterator[tuple[str, list[Fact]]]:
    """The people of a file of worlds, each with their facts."""
    for part in path.read_text("utf-8").split("\n@ ")[1:]:
        name, *lines = part.strip().splitlines()
        yield name, [_fact(f"{name}-{at:02}", line) for at, line in enumerate(filter(None, lines), 1)]


def _fact(id: str, line: str) -> Fact:
    head, first, then, question, answer, *former = line.split(" | ")
    kind = "changed" if head.startswith("C ") else head.split()[2]
    said = tuple(first.split(" // ")), tuple(then.split(" // "))
    return Fact(id, kind, *said, question, answer, former[0] if former else None)


def read(path: Path) -> Iterator[World]:
    """The worlds of a file: the messages of each person in an order that is drawn, what is said first before what is said then."""
    for name, known in facts(path):
        chance, told = random.Random(name), list[tuple[float, int, str, str, bool]]()
        for fact in known:
            first = chance.uniform(0, 0.75 * DAYS)
            days = first, chance.uniform(first + 10, DAYS)
            for later, (day, texts) in enumerate(zip(days, (fact.first, fact.then), strict=True)):
                told += [(day, at, text, fact.id, bool(later)) for at, text in enumerate(texts)]
        told.sort()
        changed = {fact.id for fact in known if fact.former}

        def supersedes(
            older: int,
            newer: int,
            told: Sequence[tuple[float, int, str, str, bool]] = told,
            changed: set[str] = changed,
        ) -> bool | None:
            one, other = told[older], told[newer]
            if one[3] != other[3] or one[3] not in changed:
                return False
            return True if other[4] and not one[4] else None

        yield World(name, [(day + at / 1440, text) for day, at, text, _, _ in told], supersedes, known)


def as_case(world: World) -> Case:
    """A world as a case of the retrieval benchmarks: every message in a session of its own, and of each fact what holds now."""
    messages = [
        Message(unit=str(place), content=text, session=str(place), role="user", at=BEGAN + timedelta(days=day))
        for place, (day, text) in enumerate(world.said)
    ]
    questions = []
    for fact in world.facts:
        stating = [*fact.then] if fact.former else [*fact.first, *fact.then]
        gold = {
            each.unit for each in messages if each.content in stating and fact.answer.lower() in each.content.lower()
        }
        kind = dialogues.PRESENT if fact.former else dialogues.CONSTANT
        questions.append(Question(id=fact.id, text=fact.question, kind=kind, gold={TURN: frozenset(gold)}))
    return Case(name=world.name, messages=messages, questions=questions, now=BEGAN + timedelta(days=DAYS + 3))


def of_dialogues(given: Iterator[dialogues.Dialogue], *, kind: str) -> Iterator[World]:
    """What the user says in dialogues, each as a world with one fact that changes."""
    for each in given:
        said = [one for one in each.said if one.role == "user"]
        marks = [one.mark or "" for one in said]

        def supersedes(older: int, newer: int, marks: Sequence[str] = marks) -> bool | None:
            if (marks[older], marks[newer]) == (dialogues.PAST, dialogues.PRESENT):
                return True
            matter = (dialogues.PAST, dialogues.PRESENT)
            return None if marks[older] in matter and marks[newer] in matter else False

        yield World(f"dialogue {kind} {each.id}", [(float(at), one.content) for at, one in enumerate(said)], supersedes)


def compare(worlds: Sequence[World]) -> tuple[list[Compared], int]:
    """Each message with its candidates, and how many of what it supersedes are not among these."""
    texts = list(dict.fromkeys(text for world in worlds for _, text in world.said))
    rows = dict(zip(texts, vectors(texts), strict=True))
    found, missed = list[Compared](), 0
    for world in worlds:
        said = [text for _, text in world.said]
        near = np.array([rows[text] for text in said])
        cosines = near @ near.T
        for newer, text in enumerate(said):
            nearest = _nearest(said, cosines[newer], newer)
            older = [at for at in nearest if at < newer and said[at] != text]
            missed += sum(world.supersedes(at, newer) is True for at in range(newer) if at not in older)
            found += _compared(world, newer, older, [float(cosines[newer, at]) for at in older])
    return found, missed


def _compared(world: World, newer: int, older: Sequence[int], cosines: Sequence[float]) -> Iterator[Compared]:
    text = world.said[newer][1]
    earlier = [world.said[at][1] for at in older]
    pairs = [most_at_odds(Saying(one), Saying(text), cosine=near) for one, near in zip(earlier, cosines, strict=True)]
    read = [whole(one, speaker="user") for one in earlier]
    signals = candidates.signals_among(whole(text, speaker="user"), read, cosines, pairs)
    for at, each in zip(older, signals, strict=True):
        right = world.supersedes(at, newer)
        if right is not None:
            yield Compared(world.name, newer, world.said[at][1], text, each, right)


def _nearest(said: Sequence[str], cosines: Floats, of: int) -> list[int]:
    """The places of the messages that the job compares with one: the nearest by vector and by words, as many of both together."""
    tokens = [set(_words(text)) for text in said]
    counts = Counter(word for each in tokens for word in each)
    weights = {word: np.log(1 + (len(said) - n + 0.5) / (n + 0.5)) for word, n in counts.items()}
    by_words = np.array([sum(weights[word] for word in tokens[of] & each) / (10 + len(each)) for each in tokens])
    places: dict[int, int] = {}
    for scores in (cosines, by_words):
        order = [int(at) for at in np.argsort(-scores, kind="stable") if at != of and scores[at] > 0]
        for place, at in enumerate(order[: COMPARED + 1]):
            places[at] = min(place, places.get(at, place))
    return sorted(places, key=lambda at: (places[at], at))[:COMPARED]


def _words(text: str) -> list[str]:
    return [word.strip(".,;:!?'\"()").lower() for word in text.split()]


def evidence(given: Sequence[Compared], weights: Mapping[str, float]) -> Floats:
    """The log odds of each pair."""
    return np.array([candidates.evidence_of(each.signals, weights) for each in given])


def best_only(given: Sequence[Compared], found: Floats) -> Floats:
    """The evidence of the likeliest candidate of each message, and as good as none of its others."""
    best: dict[tuple[str, int], int] = {}
    for at, each in enumerate(given):
        key = (each.world, each.newer)
        if key not in best or found[at] > found[best[key]]:
            best[key] = at
    alone = np.full(len(found), -99.0)
    alone[list(best.values())] = found[list(best.values())]
    return alone


def fit(given: Sequence[Compared]) -> dict[str, float]:
    """Logistic regression in which a signal counts only in the direction that a reader would give it (`signs`).

    By Newton's steps, cut at zero. Without the signs it learns how the dialogues were built.
    """
    names = list(given[0].signals)
    table = np.array([[each.signals[name] for name in names] for each in given])
    labels = np.array([float(each.right) for each in given])
    counts = np.array([OF_MADE if _is_made(each.world) else 1.0 for each in given])
    mean, spread = table.mean(axis=0), table.std(axis=0) + 1e-9
    scaled = np.column_stack([np.ones(len(labels)), (table - mean) / spread])
    least = np.array([-np.inf, *(0.0 if name in FOR else -np.inf for name in names)])
    most = np.array([np.inf, *(0.0 if name in AGAINST or name.startswith("apart_") else np.inf for name in names)])
    ridge = np.array([0.0, *[RIDGE] * len(names)])
    beta = np.array([-3.0, *[0.0] * len(names)])

    def loss(weights: Floats) -> float:
        line = scaled @ weights
        return float(counts @ (np.logaddexp(0, line) - labels * line) + ridge @ weights**2 / 2)

    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-scaled @ beta))
        slope = scaled.T @ (counts * (labels - chance)) - ridge * beta
        free = np.flatnonzero(~((beta <= least) & (slope < 0) | (beta >= most) & (slope > 0)))
        part = scaled[:, free]
        bend = (part * (counts * chance * (1 - chance))[:, None]).T @ part + np.diag(ridge[free] + 1e-9)
        step = np.zeros(len(beta))
        step[free] = np.linalg.solve(bend, slope[free])
        sizes = (np.clip(beta + step / 2**halved, least, most) for halved in range(12))
        after = next((each for each in sizes if loss(each) < loss(beta)), beta)
        if np.abs(after - beta).max() < 1e-5:
            break
        beta = after
    plain = beta[1:] / spread
    return {"": float(beta[0] - plain @ mean), **{name: float(one) for name, one in zip(names, plain, strict=True)}}


def table(title: str, given: Sequence[Compared], confidences: Sequence[float], missed: int = 0) -> str:
    """How many changes are found, and how many of the edges are right, from each confidence on."""
    right = np.array([each.right for each in given])
    changes = int(right.sum()) + missed
    lines = [
        f"\n{title}: {changes} pairs that supersede, {missed} not compared",
        "",
        "| from | precision | found |",
        "|---|---|---|",
    ]
    for least in (0.5, 0.7, 0.8, 0.9, THRESHOLD):
        said = np.array(confidences) >= least
        hits = int(right[said].sum())
        lines.append(f"| {least:.2f} | {_share(hits, int(said.sum()))} | {_share(hits, changes)} |")
    return "\n".join(lines)


def _share(hits: int, of: int) -> str:
    low, high = wilson(hits, of)
    return f"{hits} of {of}, {hits / max(1, of):.3f} ({low:.3f} to {high:.3f})"


def wrong(given: Sequence[Compared], confidences: Sequence[float]) -> None:
    """Print what is found and wrong, and what is missed."""
    for each, confidence in sorted(zip(given, confidences, strict=True), key=lambda pair: -pair[1]):
        if each.right != (confidence >= THRESHOLD) and (each.right or confidence >= 0.5):
            print(f"{confidence:.2f} {'missed' if each.right else 'wrong '} {each.older[:90]} => {each.text[:110]}")


def recalled(name: str) -> str:
    """Remember each world as a user's messages, ask each question, and count whose answer is first, and which hits are marked.

    Of a fact that changed: whether the answer is first. Of one that stayed: whether another hit says that it was said last.
    """
    counts: Counter[str] = Counter()
    for world in read(FILES[name]):
        for edges, threshold in (("with edges", THRESHOLD), ("without", None)):
            settings = Settings(supersession=threshold)
            with Memory("worlds", tenant=f"w{secrets.token_hex(6)}", user=world.name, settings=settings) as memory:
                for day, text in world.said:
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
                    marked = any(mark and not answer for mark, answer in zip(last, answers, strict=True))
                    counts[f"{kind}, {edges}: another said last"] += marked
                    counts[f"{kind}, {edges}: another said last, all"] += 1
    rows = [each for each in counts if not each.endswith("all")]
    lines = [f"{each}: {_share(counts[each], counts[f'{each}, all'])}" for each in sorted(rows)]
    return "\n".join([f"\n{name}, the right answer first, and marks", *lines])


if __name__ == "__main__":
    main()
