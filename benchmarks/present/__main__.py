"""How often the present answer is put first (htm_core/rules/present), on dialogues that its trees were grown without.

    python -m benchmarks.present [--fit] [--longmemeval PATH] [--locomo PATH] [--cache FILE]

Every question about the present is recalled without it; its twenty best hits are what the trees choose among. They are grown on
dialogues of four authors who had not seen the rules (others/), each alone and up to five of them in one memory, on the development
worlds of `benchmarks.supersession` and on the training half of this project's chats. The dialogues of the fifth author, those by
the author of the rules, the held-out worlds, the test half of the chats, the paraphrases, LoCoMo (CC BY-NC) and LongMemEval are
only measured on. What is grown on is measured in five parts by dialogue, each with trees that have not seen it. `--fit` grows
them on all of it and writes trees.json; it needs lightgbm.
"""

from __future__ import annotations

import argparse
import json
import secrets
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import chats, retrieval_sets
from benchmarks.grown_trees import grow as grow_trees
from benchmarks.present.dialogues import CONSTANT, PAST, PRESENT, Dialogue, by_others, made, together, written
from benchmarks.retrieval import home
from benchmarks.retrieval_sets import DOCUMENT, TURN, Case, Message, Question
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from benchmarks.supersession import worlds
from htm_core import Hit, Signals, shutdown
from htm_core.operations.present import CONSIDERED, is_about_a_user
from htm_core.rules.present import model
from htm_core.rules.present.features import FEATURES, features
from htm_core.rules.present.pairs import PAIR_FEATURES, pairs
from htm_core.rules.present.questions import asks_the_present

Floats = NDArray[np.float64]
OTHERS, TOGETHER, WORLDS, CHATS = "four authors", "the same, five in one", "worlds, development", "chats, training half"
WEIGHTS = {OTHERS: 3.0, TOGETHER: 1.0, WORLDS: 3.0, CHATS: 1.0}  # of the questions of a set that is grown on
EACH = 8  # dialogues of each topic
FEWER = 6  # hits of a question asked of a small memory, besides those that answer
PARTS = 5
ROUNDS = 400
GROWTH = {
    "objective": "lambdarank", "lambdarank_truncation_level": 3, "num_leaves": 8, "learning_rate": 0.05, "min_data_in_leaf": 20,
    "feature_fraction": 0.4, "lambda_l2": 5.0,
}  # fmt: skip
PAIR_ROUNDS = 200
# Of the trees that look at one statement beside the first hit: small ones, since they are to hold for other people's words.
PAIR_GROWTH = {
    "objective": "binary", "num_leaves": 4, "learning_rate": 0.05, "min_data_in_leaf": 30, "feature_fraction": 0.3,
    "lambda_l2": 5.0,
}  # fmt: skip
SHARES = (0.2, 0.25, 0.3, 0.35, 0.4)  # thresholds that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question about the present: its set, case and kind, and for each of its hits what it is like and whether it answers.

    `fewer` has the same for some of its hits: so it would be asked of a memory that has few.
    """

    set: str
    case: str
    kind: str
    rows: Floats
    right: NDArray[np.bool_]
    fewer: tuple[tuple[Floats, NDArray[np.bool_]], ...] = ()


def main() -> None:
    """Ask, grow, and print the measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="write htm_core/rules/present/trees.json")
    parser.add_argument("--longmemeval", type=Path, metavar="PATH")
    parser.add_argument("--locomo", type=Path, metavar="PATH")
    parser.add_argument("--cache", type=Path, help="a file that caches the model's vectors between runs")
    given = parser.parse_args()
    with home(None):
        embedder = CachedEmbedder(given.cache) if given.cache else None
        asked = [each for name, cases in sets(given).items() for each in ask(name, cases, embedder=embedder)]
        shutdown()
    report(asked, given)


def sets(given: argparse.Namespace) -> dict[str, list[Case]]:
    """All sets by name, those that are grown on first."""
    known, unknown = list(by_others(held_out=False)), list(by_others(held_out=True))
    found = {
        OTHERS: [as_case(each) for each in known],
        TOGETHER: [
            as_case(each)
            for part in range(PARTS)
            for each in together([one for one in known if part_of(one.id) == part])
        ],
        WORLDS: [worlds.as_case(each) for each in worlds.read(worlds.FILES["development"])],
        CHATS: list(chats.chats(half=chats.TRAINING)),
        "a fifth author, held out": [as_case(each) for each in unknown],
        "the same, five in one memory": [as_case(each) for each in together(unknown)],
        "worlds, held out": [worlds.as_case(each) for each in worlds.read(worlds.FILES["held-out"])],
        "by the author of the rules": [as_case(each) for each in written()],
        "made of parts": [as_case(each) for each in made(each=EACH)],
        "chats, test half": list(chats.chats(half=chats.TEST)),
        "paraphrases": list(retrieval_sets.paraphrases()),
    }
    if given.locomo:
        found["LoCoMo"] = list(retrieval_sets.locomo(given.locomo))
    if given.longmemeval:
        found["LongMemEval"] = list(retrieval_sets.longmemeval(given.longmemeval))
    return found


def as_case(dialogue: Dialogue) -> Case:
    """A dialogue as a case of the retrieval benchmarks; the units are the places of its messages."""
    messages = [
        Message(unit=str(place), content=each.content, session=str(each.session), role=each.role, at=each.at)
        for place, each in enumerate(dialogue.said)
    ]
    questions = [
        Question(
            id=f"{dialogue.id}:{number}", text=each.text, kind=each.kind, gold={TURN: frozenset(map(str, each.gold))}
        )
        for number, each in enumerate(dialogue.asked)
    ]
    return Case(name=dialogue.id, messages=messages, questions=questions, now=dialogue.now)


def part_of(case: str) -> int:
    """In which of the parts a case is measured; dialogues that stand in one memory are all of one part."""
    return zlib.crc32(case.partition("+")[0].encode()) % PARTS


def ask(name: str, cases: Sequence[Case], *, embedder: object | None) -> Iterator[Asked]:
    """Store each case for a user of its own, and recall its questions about the present as they are without the trees."""
    tenant = f"present-{secrets.token_hex(4)}"
    for case in cases:
        held = CaseMemory(case, tenant=tenant, embedder=embedder)
        held.fill()
        memory = held.opened(Signals(present=0.0))
        for question in case.questions:
            gold = question.gold.get(TURN) or question.gold.get(DOCUMENT)
            if not gold or not asks_the_present(question.text):
                continue
            hits = memory.recall(question.text, limit=CONSIDERED, hold=False).hits
            if len(hits) > 1 and is_about_a_user(question.text, hits):
                right = np.array([_answers(hit, gold) for hit in hits])
                kind = question.kind if question.kind in {PRESENT, PAST, CONSTANT} else "any"
                yield Asked(
                    set=name, case=case.name, kind=kind, rows=np.array(features(question.text, hits)), right=right,
                    fewer=tuple(of_fewer(question.text, hits, right)) if name in WEIGHTS else (),
                )  # fmt: skip
        held.empty()


def of_fewer(
    question: str, hits: Sequence[Hit], right: NDArray[np.bool_]
) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
    """The features of the first hits, and of every third one, each time with those that answer."""
    answers = set(np.flatnonzero(right).tolist())
    for some in (range(FEWER), range(0, len(hits), 3)):
        chosen = sorted({*some, *answers} & set(range(len(hits))))
        if 1 < len(chosen) < len(hits):
            yield np.array(features(question, [hits[at] for at in chosen])), right[chosen]


def _answers(hit: Hit, gold: frozenset[str]) -> bool:
    return any(str(mention.metadata["unit"]) in gold for mention in hit.mentions)


def report(asked: Sequence[Asked], given: argparse.Namespace) -> None:
    """Print the table, and write the trees where they are wanted."""
    training = [each for each in asked if each.set in WEIGHTS]
    memories = len({each.case for each in training})
    print(f"{len(asked)} questions about the present; {len(training)} to grow on, of {memories} memories\n")
    if given.fit:
        grown = {part: grow([each for each in training if part_of(each.case) != part]) for part in range(PARTS)}
        whole = grow(training)
        path = Path(model.__file__).with_name("trees.json")
        path.write_text(json.dumps(whole, separators=(",", ":")) + "\n", "utf-8")
        models = {part: model.AnswerTrees.read(each) for part, each in grown.items()}
        all_of_it = model.AnswerTrees.read(whole)
    else:
        all_of_it, models = model.installed(), {}
        print(
            "With the installed trees. What they were grown on is not among the sets; --fit measures that in parts.\n"
        )
    print(
        "| set | kind | questions | first hit right, without | "
        + " | ".join(f"from {each}" for each in SHARES)
        + " | moved |"
    )
    print("|---|---|--:|--:|" + "--:|" * (len(SHARES) + 1))
    groups: dict[tuple[str, str], list[tuple[Asked, Floats]]] = {}
    for each in asked:
        if each.set in WEIGHTS and not models:
            continue
        chosen = models[part_of(each.case)] if each.set in WEIGHTS else all_of_it
        groups.setdefault((each.set, each.kind), []).append((each, chosen.likelier(each.rows)))
    for (name, kind), some in groups.items():
        right = [f"{np.mean([each.right[_first(likelier, share)] for each, likelier in some]):.3f}" for share in SHARES]
        moved = np.mean([_first(likelier, model.CONFIDENT) != 0 for _, likelier in some])
        before = np.mean([each.right[0] for each, _ in some])
        print(f"| {name} | {kind} | {len(some)} | {before:.3f} | {' | '.join(right)} | {moved:.2f} |")


def _first(likelier: Floats, confident: float) -> int:
    place = int(np.argmax(likelier))
    return place if likelier[place] >= confident else 0


def grow(asked: Sequence[Asked]) -> dict[str, Any]:
    """Grow both kinds of trees on these questions, as `AnswerTrees.read` takes them."""
    lists = [(each.set, rows, right) for each in asked for rows, right in ((each.rows, each.right), *each.fewer)]
    order = grow_trees(
        GROWTH,
        ROUNDS,
        np.vstack([rows for _, rows, _ in lists]),
        np.concatenate([right for _, _, right in lists]),
        np.concatenate([np.full(len(rows), WEIGHTS[name]) for name, rows, _ in lists]),
        group=[len(rows) for _, rows, _ in lists],
    )
    beside = [(each, *pairs(each.rows)) for each in asked]
    pair = grow_trees(
        PAIR_GROWTH,
        PAIR_ROUNDS,
        np.vstack([rows for _, _, rows in beside]),
        np.concatenate([each.right[places] & ~each.right[0] for each, places, _ in beside]),
        np.concatenate([np.full(len(places), WEIGHTS[each.set]) for each, places, _ in beside]),
    )
    return {"features": FEATURES, "trees": order, "pair_features": PAIR_FEATURES, "pair_trees": pair}


if __name__ == "__main__":
    main()
