"""Measure the memory palace: what its answers are grounded in.

    python -m benchmarks.grounding locomo LOCOMO.json.gz    # grounding at each threshold; no chat model is used
    python -m benchmarks.grounding verdicts                 # of facts that were filed, and of facts that never were
    python -m benchmarks.grounding wake [SIZE ...]          # waking up with 10, 1,000 and 100,000 memories

Shares come with 95 % intervals by Wilson. LoCoMo is CC BY-NC 4.0 and not part of this repository: give its path.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.shares import share
from htm_core import Draft, Memory, Settings, shutdown
from htm_core.palace import Palace
from htm_core.palace.context import Survey
from htm_core.palace.enforcer import THRESHOLD
from htm_core.palace.grounding.names import capitalised, has_a_name
from htm_core.palace.layers import PalaceQuestion, filed

from . import verdicts


def published(path: str) -> list[dict[str, Any]]:
    """Read the conversations of a file in LoCoMo's format, gzipped or not."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        samples: list[dict[str, Any]] = json.load(file)
    return samples


KINDS = ("answerable", "adversarial", "foreign")


@dataclass(frozen=True, slots=True)
class GroundedQuestion:
    """One question to one palace: the turns that recall finds, with their scores, and the turns with the answer."""

    kind: str  # "answerable", "adversarial" or "foreign"
    conversation: int
    scored: tuple[
        tuple[str, float, bool], ...
    ]  # the last: it has a name of the question, or this has none
    gold: frozenset[str]

    def evidence(self, threshold: float, *, persons: bool) -> list[str]:
        """The turns that are evidence at a threshold."""
        return [
            turn
            for turn, score, named in self.scored
            if score >= threshold and (named or not persons)
        ]

    def grounded(self, threshold: float, *, persons: bool) -> bool:
        """True if a turn that answers is evidence."""
        return not self.gold.isdisjoint(self.evidence(threshold, persons=persons))

    def refused(self, threshold: float, *, persons: bool) -> bool:
        """True if nothing is evidence."""
        return not self.evidence(threshold, persons=persons)


def turns(sample: dict[str, Any]) -> list[tuple[str, str]]:
    """Give the turns of a conversation: each turn's id, and its text with the speaker's name in front."""
    talk = sample["conversation"]
    sessions = sorted(
        (key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])
    )
    return [
        (
            turn["dia_id"],
            f"{turn['speaker']}: {turn['text']}"
            + (f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""),
        )
        for key in sessions
        for turn in talk[key]
    ]


def gold(evidence: Sequence[str]) -> frozenset[str]:
    """Give evidence ids in the form of the turns' ids; the set also has "D8:6; D9:17", "D:11:26" and "D30:05"."""
    return frozenset(
        f"D{int(day)}:{int(turn)}"
        for each in evidence
        for day, turn in re.findall(r"D:?(\d+):(\d+)", each)
    )


def ask_all(samples: Sequence[dict[str, Any]]) -> list[GroundedQuestion]:
    """Ask each question in the palace of its own conversation, and the answerable ones in that of the next one as well."""
    tenant, answers = f"grounding-{uuid.uuid4().hex[:8]}", list[GroundedQuestion]()
    for number, sample in enumerate(samples):
        with Memory("bench", tenant=f"{tenant}-{number}", embed="now") as memory:
            palace, spoken = Palace(memory), turns(sample)
            for start in range(0, len(spoken), 200):
                drafts = [
                    Draft(content=text, metadata={"turn": id})
                    for id, text in spoken[start : start + 200]
                ]
                palace.file_many(drafts, room="conversation", drawer="turns")
            ids = {text: id for id, text in spoken}
            others = [
                qa for qa in samples[(number + 1) % len(samples)]["qa"] if qa["category"] != 5
            ]
            for kind, questions in (("own", sample["qa"]), ("foreign", others)):
                for qa in questions:
                    question = PalaceQuestion(
                        text=str(qa["question"]), survey=Survey(names=(("conversation", "turns"),)), names=(), named=(),
                        floor=0.0, threshold=1.0, limit=5,
                    )  # fmt: skip
                    layer = filed(palace, question)
                    called = (
                        kind
                        if kind == "foreign"
                        else "adversarial"
                        if qa["category"] == 5
                        else "answerable"
                    )
                    names = capitalised(question.text)
                    scored = tuple(
                        (ids[each.content], each.score, has_a_name(each.content, names))
                        for each in layer.evidence
                    )
                    answers.append(
                        GroundedQuestion(called, number, scored, gold(qa.get("evidence", [])))
                    )
    return answers


def locomo(paths: Sequence[str]) -> None:
    """Print how many questions are grounded and refused at each threshold, without and with the check of persons."""
    answers = [each for path in paths for each in ask_all(published(path))]
    of = {kind: [each for each in answers if each.kind == kind] for kind in KINDS}
    answerable = [each for each in of["answerable"] if each.gold]
    refusing = {
        "answerable": answerable,
        "adversarial": of["adversarial"],
        "foreign": of["foreign"],
    }
    for persons in (False, True):
        print(f"\n{'with' if persons else 'without'} the check of persons")
        print(
            f"{'threshold':>9}  {'a gold turn in the grounding':<34}"
            + "".join(f"refused: {kind:<25}" for kind in refusing)
        )
        for step in range(10, 61):
            t = step / 100
            held = sum(each.grounded(t, persons=persons) for each in answerable)
            rows = [share(held, len(answerable))]
            rows += [
                share(sum(q.refused(t, persons=persons) for q in each), len(each))
                for each in refusing.values()
            ]
            print(f"{t:>9.2f}  " + "".join(f"{row:<34}" for row in rows))
    _by_conversation(answers)


def _by_conversation(answers: Sequence[GroundedQuestion]) -> None:
    """Print each conversation's shares at a threshold from the others: the lowest that refuses 90 % of foreign questions."""
    print(f"\neach conversation at the threshold of the others (the default is {THRESHOLD:g})")
    for left in sorted({each.conversation for each in answers}):
        others = [q for q in answers if q.conversation != left and q.kind == "foreign"]
        steps = (step / 100 for step in range(10, 61))
        t = next(
            (
                t
                for t in steps
                if sum(q.refused(t, persons=True) for q in others) >= 0.9 * len(others)
            ),
            1.0,
        )
        mine = [q for q in answers if q.conversation == left]
        of = {
            kind: [q for q in mine if q.kind == kind and (q.gold or kind != "answerable")]
            for kind in KINDS
        }
        held = sum(q.grounded(t, persons=True) for q in of["answerable"])
        refused = (
            f"{kind} refused {share(sum(q.refused(t, persons=True) for q in of[kind]), len(of[kind]))}"
            for kind in KINDS
        )
        print(
            f"{left:>2} at {t:.2f}  gold {share(held, len(of['answerable']))}  "
            + "  ".join(refused)
        )


def wake(sizes: Sequence[str]) -> None:
    """Print the tokens and the median time of nine wake-ups."""
    idle = Settings(worker="off")
    print(f"{'memories':>9}{'tokens':>8}{'ms':>9}{'left out':>10}")
    for size in [int(each) for each in sizes] or [10, 1_000, 100_000]:
        with Memory(
            "bench",
            tenant=f"wake-{uuid.uuid4().hex[:8]}",
            session="s",
            embedder=_ConstantEmbedder(),
            settings=idle,
        ) as memory:
            palace = Palace(memory)
            palace.identify(
                "I am the robot of a benchmark. I answer from what I know and say so when I do not."
            )
            for start in range(0, size, 1_000):
                facts = [
                    f"Fact {at:,} of this palace says that item {at} lies in row {at % 97}."
                    for at in range(start, min(size, start + 1_000))
                ]
                palace.file_many(
                    facts, room=f"room {start // 1_000 % 20}", drawer=f"drawer {start // 20_000}"
                )
            palace.note("The session is measuring how long a wake-up takes.")
            palace.wake_up()
            palace.file("One more fact came since.", room="room 0", drawer="new")
            times = []
            for _ in range(9):
                started = time.perf_counter()
                woken = palace.wake_up(budget=900)
                times.append((time.perf_counter() - started) * 1e3)
            print(
                f"{size:>9,}{woken.tokens:>8}{statistics.median(times):>9.1f}{woken.left_out:>10}"
            )


class _ConstantEmbedder:
    """A stand-in for a model, since waking up embeds nothing: the same vector for every text."""

    model = "flat"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


if __name__ == "__main__":
    what, arguments = (sys.argv[1:2] or ["verdicts"])[0], sys.argv[2:]
    try:
        {"locomo": locomo, "wake": wake, "verdicts": lambda _: verdicts.main()}[what](arguments)
    finally:
        shutdown()
