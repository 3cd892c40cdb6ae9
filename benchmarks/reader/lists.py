"""The candidates of each question of our sets, as recall finds them: `python -m benchmarks.reader.lists FOLDER`.

FOLDER/SET.jsonl gets one line for each question: the hits with what the reader is shown of them, which of them state what is asked
(`states`) and which answer it (`answers`); they differ where a value has changed. A set that is there already is left as it is.
"""

from __future__ import annotations

import argparse
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from rich.progress import track

from benchmarks import chats, recalled
from benchmarks.present import dialogues
from benchmarks.present.dialogues import as_case
from benchmarks.retrieval import home
from benchmarks.retrieval_sets import (
    TURN,
    Case,
    Message,
    Question,
    joined,
    locomo,
    longmemeval,
    shortened,
)
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from benchmarks.supersession import worlds
from htm_core import Hit, shutdown

HERE = Path(__file__).parent
CANDIDATES = 40  # hits of a question
FOREIGN = "foreign"
FOREIGN_SHARE = 0.25  # of a case's questions: so many others that nothing in it answers
FORMERLY = "formerly"  # the units that state a former value, where the present one is asked for


@dataclass(frozen=True, slots=True)
class Set:
    """One set of cases. `trained` says that the reader may learn from it; of `facts` two thirds of the cases, by name."""

    cases: Callable[[], Iterator[Case]]
    trained: bool = True


def sets(*, locomo_path: Path | None, longmemeval_path: Path | None) -> dict[str, Set]:
    """All sets by name; the published ones where their files are given, for measuring alone."""
    known = {
        "dialogues": Set(lambda: groups(half=chats.TRAINING)),
        "technical": Set(lambda: chats.chats(kind=chats.TECHNICAL, half=chats.TRAINING)),
        "present": Set(lambda: map(changing, dialogues.by_others(held_out=False))),
        "present-together": Set(
            lambda: map(changing, together(dialogues.by_others(held_out=False)))
        ),
        "present-written": Set(lambda: map(changing, together(dialogues.written()))),
        "worlds": Set(
            lambda: (worlds.as_case(each) for each in worlds.read(worlds.FILES["development"]))
        ),
        "facts": Set(lambda: recalled.facts(groups_in_one=4)),
        "paraphrases": Set(lambda: recalled.paraphrases(sessions=21)),
        "near": Set(lambda: near("near-a", "near-b", "near-c")),
        "dialogues-unseen": Set(lambda: groups(half=chats.TEST), trained=False),
        "technical-unseen": Set(
            lambda: chats.chats(kind=chats.TECHNICAL, half=chats.TEST), trained=False
        ),
        "present-unseen": Set(
            lambda: map(changing, dialogues.by_others(held_out=True)), trained=False
        ),
        "present-unseen-together": Set(
            lambda: map(changing, together(dialogues.by_others(held_out=True))), trained=False
        ),
        "near-unseen": Set(lambda: near("near-unseen"), trained=False),
        "palace-unseen": Set(lambda: near("palace-held-out"), trained=False),
    }
    if locomo_path:
        known["LoCoMo"] = Set(lambda: locomo(locomo_path), trained=False)
    if longmemeval_path:
        known["LongMemEval"] = Set(
            lambda: (shortened(c, others=12) for c in longmemeval(longmemeval_path)), trained=False
        )
    return known


def groups(*, half: str, of: int = 4) -> Iterator[Case]:
    """Dialogues of two people, four in one memory."""
    cases = list(chats.chats(kind=chats.DIALOGUE, half=half))
    for first in range(0, len(cases), of):
        some = cases[first : first + of]
        yield joined(some, name="+".join(case.name for case in some)) if len(some) > 1 else some[0]


def together(read: Iterator[dialogues.Dialogue]) -> Iterator[dialogues.Dialogue]:
    """Up to five dialogues as one."""
    return dialogues.together(list(read))


def changing(dialogue: dialogues.Dialogue) -> Case:
    """A dialogue in which something changes; a question for what holds now also knows what stated the former value."""
    case, changed = (
        as_case(dialogue),
        {dialogues.PRESENT: dialogues.PAST, dialogues.PAST: dialogues.PRESENT},
    )
    if (
        "+" in dialogue.id
    ):  # of several dialogues in one it is not known which marks belong together
        return case
    questions = []
    for question in case.questions:
        other = changed.get(question.kind, "")
        units = frozenset(
            str(place) for place, each in enumerate(dialogue.messages) if each.mark == other
        )
        questions.append(replace(question, gold={**question.gold, FORMERLY: units}))
    return replace(case, questions=questions)


def near(*names: str) -> Iterator[Case]:
    """Small memories of look-alikes, with questions of which half have no answer."""
    for name in names:
        yield from map(_small, recalled.rows(HERE / f"{name}.jsonl"))


def _small(row: Mapping[str, Any]) -> Case:
    at, messages = datetime.min.replace(tzinfo=UTC), list[Message]()
    for place, message in enumerate(row["said"]):
        day = datetime.fromisoformat(message["at"]).replace(tzinfo=UTC, hour=9)
        at = max(at + timedelta(minutes=3), day)
        person = message["who"] not in ("user", "assistant")
        messages.append(
            Message(
                unit=f"{row['id']}:{place}", content=message["text"], session=f"{row['id']}:{message['at']}",
                role="user" if person else message["who"], name=message["who"] if person else None, at=at,
            )
        )  # fmt: skip

    def units(places: Sequence[int]) -> frozenset[str]:
        return frozenset(f"{row['id']}:{place}" for place in places)

    questions = [
        Question(
            id=f"{row['id']}.{place}", text=asked["text"], kind=asked["kind"],
            gold={TURN: units(asked["answers"]), FORMERLY: units(asked.get("formerly", ()))},
        )
        for place, asked in enumerate(row["asked"])
    ]  # fmt: skip
    return Case(name=row["id"], messages=messages, questions=questions, now=at + timedelta(days=2))


def with_foreign(case: Case, texts: Sequence[str]) -> Case:
    """The case with questions that nothing in it answers."""
    some = Random(case.name).sample(
        texts, min(len(texts), max(2, round(FOREIGN_SHARE * len(case.questions))))
    )
    more = [
        Question(
            id=f"{case.name}.foreign{place}", text=text, kind=FOREIGN, gold={TURN: frozenset()}
        )
        for place, text in enumerate(some)
    ]
    return replace(case, questions=[*case.questions, *more])


def foreign(*, trained: bool) -> list[str]:
    """The questions that nothing answers: every second one is learned from, the others are measured with."""
    return recalled.foreign_questions()[0 if trained else 1 :: 2]


def rows(case: Case, embedder: CachedEmbedder) -> Iterator[dict[str, Any]]:
    """Each question of a case with its hits."""
    filled = CaseMemory(case, tenant=f"reader-{secrets.token_hex(4)}", embedder=embedder)
    filled.fill()
    for question in case.questions:
        gold, formerly = (
            question.gold.get(TURN, frozenset()),
            question.gold.get(FORMERLY, frozenset()),
        )
        hits = [
            _hit(hit, gold, formerly)
            for hit in filled.memory.recall(question.text, limit=CANDIDATES, hold=False)
            if hit.content != question.text
        ]
        yield {
            "case": case.name, "id": question.id, "question": question.text, "kind": question.kind, "gold": len(gold),
            "hits": hits,
        }  # fmt: skip
    filled.empty()


def _hit(hit: Hit, gold: frozenset[str], formerly: frozenset[str]) -> dict[str, Any]:
    first, units = hit.mentions[0], {str(mention.metadata["unit"]) for mention in hit.mentions}
    return {
        "passage": hit.passage, "who": first.name or first.role or "", "role": first.role, "at": first.at.isoformat(),
        "score": round(hit.score, 5), "relevance": round(hit.relevance, 4), "cosine": hit.match.cosine,
        "answers": bool(units & gold), "states": bool(units & (gold | formerly)),
    }  # fmt: skip


def main() -> None:
    """Ask all questions of all sets that FOLDER does not have."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--locomo", type=Path, metavar="PATH")
    parser.add_argument("--longmemeval", type=Path, metavar="PATH")
    parser.add_argument("--sets", nargs="+", metavar="NAME")
    parser.add_argument("--limit", type=int, help="cases of a set at most")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    known = sets(locomo_path=args.locomo, longmemeval_path=args.longmemeval)
    with home(None):
        embedder = CachedEmbedder(args.folder / "vectors.sqlite")
        for name in args.sets or known:
            path = args.folder / f"{name}.jsonl"
            if path.exists():
                continue
            cases = [
                with_foreign(case, foreign(trained=known[name].trained))
                for case in islice(known[name].cases(), args.limit)
            ]
            lines = [
                json.dumps({"set": name, **row}, ensure_ascii=False)
                for case in track(cases, name)
                for row in rows(case, embedder)
            ]
            path.write_text("\n".join(lines) + "\n", "utf-8")
        shutdown()


if __name__ == "__main__":
    main()
