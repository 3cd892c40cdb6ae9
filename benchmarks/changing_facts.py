"""Facts that change, as short dialogues with a question: whether recall has the present value first, and still the former one.

    python -m benchmarks.changing_facts PATH
    python -m benchmarks.changing_facts --written
    python -m benchmarks.changing_facts --held-out
    python -m benchmarks.changing_facts --longmemeval PATH [--others N] [--cache FILE]

Each line of the file is a dialogue: `messages` with `at`, `session`, `role` and `content`, a `question`, and by their places the
`present_message` and the `former_messages`. Every dialogue is a user of one tenant, and is asked about by its own user. It is
asked without the reader and with it, with supersession off, on at the default threshold, and on at two lower ones, all
on the same memories. `--held-out` takes the dialogues of benchmarks/present by the author from whom nothing was learned,
`--written` those by the author of the rules.

Of LongMemEval it asks the questions of the kinds knowledge-update and temporal-reasoning. There the present value is what the
newest of the sessions with evidence says: its messages that have the answer. `--others` limits how many sessions without
evidence a memory has: the first N.
"""

from __future__ import annotations

import argparse
import json
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import retrieval_sets
from benchmarks.present import dialogues
from benchmarks.retrieval import home
from benchmarks.retrieval_sets import Case
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from benchmarks.supersession.worlds import share
from htm_core import Hit, Memory, Settings, shutdown
from htm_core.memory.process import runtime

LIMIT = 10
LOWER = (0.8, 0.5)  # thresholds that are shown beside the default one
KINDS = ("knowledge-update", "temporal-reasoning")  # of LongMemEval


@dataclass(slots=True)
class Counts:
    """Numbers of questions by how they were answered."""

    of: int = 0
    first: int = 0  # the present value is the first hit
    among_hits: int = 0  # it is among the hits
    above: int = 0  # it stands above every former one
    reachable: int = 0  # a former one is a hit, or stands beside one as "formerly"
    then: int = (
        0  # it is found as of right before the present one was said, and the present one is not
    )
    beside: int = 0  # it says that it is a former one
    milliseconds: list[float] = field(default_factory=list)

    def row(self, name: str) -> str:
        """As a row of a table."""
        counts = (self.first, self.among_hits, self.above, self.reachable, self.then, self.beside)
        typical = sorted(self.milliseconds)[len(self.milliseconds) // 2]
        return (
            f"| {name} | "
            + " | ".join(share(each, self.of) for each in counts)
            + f" | {typical:.1f} |"
        )


def main() -> None:
    """Remember everything, ask every question in each way, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, nargs="?")
    parser.add_argument("--written", action="store_true", help="this project's own dialogues")
    parser.add_argument(
        "--held-out", action="store_true", help="those of an author from whom nothing was learned"
    )
    parser.add_argument("--longmemeval", type=Path, metavar="PATH")
    parser.add_argument(
        "--others",
        type=int,
        metavar="N",
        help="sessions without evidence at most; all of them by default",
    )
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    args = parser.parse_args()
    if (args.path is None) + (not args.written) + (not args.held_out) + (
        args.longmemeval is None
    ) != 3:
        parser.error("expected one of PATH, --written, --held-out and --longmemeval PATH")
    with home(None):
        if args.longmemeval:
            embedder = CachedEmbedder(args.cache) if args.cache else None
            ask_longmemeval(
                retrieval_sets.longmemeval(args.longmemeval), embedder, others=args.others
            )
        elif args.written or args.held_out:
            chosen = dialogues.by_others(held_out=True) if args.held_out else dialogues.written()
            changing = (
                each for each in chosen if any(one.kind == dialogues.PRESENT for one in each.asked)
            )
            ask_dialogues([row for each in changing for row in as_rows(each)])
        else:
            ask_dialogues(
                [
                    json.loads(line)
                    for line in args.path.read_text("utf-8").splitlines()
                    if line.strip()
                ]
            )
        shutdown()


def as_rows(dialogue: dialogues.Dialogue) -> Iterator[dict[str, Any]]:
    """The first question for the present value of a dialogue, as a row of a file."""
    messages = [
        {
            "at": each.at.isoformat(),
            "session": str(each.session),
            "role": each.role,
            "content": each.content,
        }
        for each in dialogue.messages
    ]
    former = [place for place, each in enumerate(dialogue.messages) if each.mark == dialogues.PAST]
    asked = next(each for each in dialogue.asked if each.kind == dialogues.PRESENT)
    yield {
        "id": dialogue.id,
        "messages": messages,
        "question": asked.text,
        "question_at": dialogue.now.isoformat(),
        "present_message": max(asked.gold),
        "former_messages": former,
    }


def ask_dialogues(rows: Sequence[dict[str, Any]]) -> None:
    """Print the table of dialogues."""
    on = Settings(worker="off")
    off = Settings(worker="off", supersession=None)
    remember(rows, on)
    print(
        "| what is on | present first | found | above former | former found | as of then | former marked | recall, ms |"
    )
    print("|---|---|---|---|---|---|---|---|")
    lower = [(f"both, from {each}", Settings(worker="off", supersession=each)) for each in LOWER]
    for name, settings, reader in (
        ("nothing", off, False),
        ("the reader", off, True),
        (f"both, from {on.supersession}", on, True),
        *((name, settings, True) for name, settings in lower),
    ):
        counts = Counts()
        for row in rows:
            ask(row, settings, counts, reader=reader)
        print(counts.row(name))


@dataclass(slots=True)
class Evidence:
    """Numbers of questions of one kind by how they were answered: `newest` is evidence of the newest session that has any."""

    of: int = 0
    first: int = 0  # the first hit is the newest evidence
    any_first: int = 0  # it is evidence
    among_hits: int = 0  # the newest is among the hits
    above: int = 0  # it stands above all other evidence

    def row(self, kind: str, name: str) -> str:
        """As a row of a table."""
        counts = (self.first, self.above, self.among_hits, self.any_first)
        return (
            f"| {kind} | {name} | {self.of} | "
            + " | ".join(share(each, self.of) for each in counts)
            + " |"
        )


def ask_longmemeval(
    cases: Iterable[Case], embedder: CachedEmbedder | None, *, others: int | None
) -> None:
    """Print the table of LongMemEval's questions, one memory for each."""
    counts = {(kind, name): Evidence() for kind in KINDS for name in ("nothing", "the reader")}
    for case in cases:
        [question] = case.questions
        gold = question.gold[retrieval_sets.TURN]
        if question.kind not in KINDS or not gold:
            continue
        if others is not None:
            case = with_fewer(case, others)
        held = CaseMemory(case, tenant=f"changing-{secrets.token_hex(4)}", embedder=embedder)
        held.fill()
        latest = max(each.at for each in case.messages if each.unit in gold and each.at)
        newest = {each.unit for each in case.messages if each.unit in gold and each.at == latest}
        for name, reader in (("nothing", False), ("the reader", True)):
            hits = held.memory.recall(question.text, limit=LIMIT, hold=False, reader=reader)
            units = [{str(mention.metadata["unit"]) for mention in hit.mentions} for hit in hits]
            places = [place for place, each in enumerate(units) if each & gold]
            new = [place for place in places if units[place] & newest]
            evidence = counts[question.kind, name]
            evidence.of += 1
            evidence.first += new[:1] == [0]
            evidence.any_first += places[:1] == [0]
            evidence.among_hits += bool(new)
            evidence.above += bool(new) and new[0] == places[0]
        held.empty()
    print(
        "| kind | what is on | questions | newest evidence first | above other evidence | found | any evidence first |"
    )
    print("|---|---|--:|---|---|---|---|")
    for (kind, name), evidence in counts.items():
        print(evidence.row(kind, name))


def remember(rows: Sequence[dict[str, Any]], settings: Settings) -> None:
    """Remember all messages as they were said, do the jobs, and print how fast those that compare are done."""
    for row in rows:
        with Memory("bench", tenant="changing", user=row["id"], settings=settings) as memory:
            for message in row["messages"]:
                memory.remember(
                    message["content"],
                    role=message["role"],
                    session=message["session"],
                    at=datetime.fromisoformat(message["at"]),
                )
    with Memory("bench", tenant="changing", settings=settings) as memory:
        assert memory.flush()
    database = runtime(None, settings).database
    with database.transaction("changing", role="htm_worker") as connection:
        nodes = connection.execute("select id from nodes").fetchall()
        connection.execute(
            "insert into jobs (tenant, kind, node_id, owner) select tenant, 'supersede', id, owner from nodes"
        )
    begun = time.perf_counter()
    with Memory("bench", tenant="changing", settings=settings) as memory:
        memory.flush()
    seconds = time.perf_counter() - begun
    print(
        f"{len(rows)} dialogues, {len(nodes)} texts; {len(nodes) / seconds:.0f} texts a second are compared\n"
    )


def ask(row: dict[str, Any], settings: Settings, counts: Counts, *, reader: bool) -> None:
    """Ask one question, and count what came."""
    texts = [each["content"] for each in row["messages"]]
    present, former = texts[row["present_message"]], {texts[at] for at in row["former_messages"]}
    at = datetime.fromisoformat(row["question_at"])
    with Memory(
        "bench", tenant="changing", user=row["id"], settings=settings, clock=lambda: at
    ) as memory:
        memory.recall(row["question"], limit=LIMIT, hold=False, reader=reader)
        begun = time.perf_counter()
        hits = memory.recall(row["question"], limit=LIMIT, hold=False, reader=reader).hits
        counts.milliseconds.append((time.perf_counter() - begun) * 1e3)
        present_at = datetime.fromisoformat(row["messages"][row["present_message"]]["at"])
        before = present_at - timedelta(microseconds=1)
        then = {
            hit.content
            for hit in memory.recall(row["question"], limit=LIMIT, hold=False, as_of=before)
        }
    places = {hit.content: place for place, hit in reversed(list(enumerate(hits)))}
    counts.of += 1
    counts.first += bool(hits) and hits[0].content == present
    counts.among_hits += present in places
    counts.then += present not in then and not former.isdisjoint(then)
    counts.above += present in places and all(
        places[present] < places.get(each, LIMIT) for each in former
    )
    counts.reachable += any(each in places or each in _beside(hits) for each in former)
    counts.beside += any(each in _beside(hits) for each in former)


def with_fewer(case: Case, others: int) -> Case:
    """A case with the sessions that have evidence, and the first `others` of those that have none."""
    evidence = {
        session for question in case.questions for session in question.gold[retrieval_sets.SESSION]
    }
    rest = list(
        dict.fromkeys(each.session for each in case.messages if each.session not in evidence)
    )
    kept = evidence.union(rest[:others])
    return replace(case, messages=[each for each in case.messages if each.session in kept])


def _beside(hits: Sequence[Hit]) -> set[str]:
    return {each.older.content for hit in hits for each in hit.formerly}


if __name__ == "__main__":
    main()
