"""Facts that change, as short dialogues with a question: whether recall has the present value first, and still the former one.

    python -m benchmarks.changing_facts PATH

Each line of the file is a dialogue: `messages` with `at`, `session`, `role` and `content`, a `question`, and by their places the
`present_message` and the `former_messages`. Every dialogue is a user of one tenant, and is asked about by its own user. It is asked
with supersession off, on at the default threshold, and on at two lower ones: the memories are the same.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.retrieval import home
from benchmarks.supersession.__main__ import share
from htm_core import Hit, Memory, Settings
from htm_core.runtime.process import runtime

LIMIT = 10
LOWER = (0.8, 0.5)  # thresholds that are shown beside the default one


@dataclass(slots=True)
class Counts:
    """How many questions were answered how."""

    of: int = 0
    first: int = 0  # the present value is the first hit
    found: int = 0  # it is among the hits
    above: int = 0  # it stands above every former one
    reachable: int = 0  # a former one is a hit, or stands beside one as "formerly"
    then: int = 0  # it is found as of right before the present one was said, and the present one is not
    beside: int = 0  # it says that it is a former one
    milliseconds: list[float] = field(default_factory=list)

    def row(self, name: str) -> str:
        """As a row of a table."""
        found = (self.first, self.found, self.above, self.reachable, self.then, self.beside)
        typical = sorted(self.milliseconds)[len(self.milliseconds) // 2]
        return f"| {name} | " + " | ".join(share(each, self.of) for each in found) + f" | {typical:.1f} |"


def main() -> None:
    """Remember every dialogue, ask every question twice, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.path.read_text("utf-8").splitlines() if line.strip()]
    with home(None):
        on, off = Settings(worker="off"), Settings(worker="off", supersession=None)
        remember(rows, on)
        print(
            "| supersession | present first | found | above former | former found | as of then | former marked | recall, ms |"
        )
        print("|---|---|---|---|---|---|---|---|")
        lower = [(f"from {each}", Settings(worker="off", supersession=each)) for each in LOWER]
        for name, settings in (("off", off), (f"on, from {on.supersession}", on), *lower):
            counts = Counts()
            for row in rows:
                ask(row, settings, counts)
            print(counts.row(name))


def remember(rows: Sequence[dict[str, Any]], settings: Settings) -> None:
    """Remember all messages as they were said, do the jobs, and print how fast those that compare are done."""
    for row in rows:
        with Memory("bench", tenant="changing", user=row["id"], settings=settings) as memory:
            for each in row["messages"]:
                memory.remember(
                    each["content"], role=each["role"], session=each["session"], at=datetime.fromisoformat(each["at"])
                )
    with Memory("bench", tenant="changing", settings=settings) as memory:
        assert memory.flush()
    database = runtime(None, settings).database
    with database.transaction("changing", role="htm_worker") as connection:
        found = connection.execute("select id from nodes").fetchall()
        connection.execute(
            "insert into jobs (tenant, kind, node_id, owner) select tenant, 'supersede', id, owner from nodes"
        )
    begun = time.perf_counter()
    with Memory("bench", tenant="changing", settings=settings) as memory:
        memory.flush()
    seconds = time.perf_counter() - begun
    print(f"{len(rows)} dialogues, {len(found)} texts; {len(found) / seconds:.0f} texts a second are compared\n")


def ask(row: dict[str, Any], settings: Settings, counts: Counts) -> None:
    """Ask one question, and count what came."""
    texts = [each["content"] for each in row["messages"]]
    present, former = texts[row["present_message"]], {texts[at] for at in row["former_messages"]}
    at = datetime.fromisoformat(row["question_at"])
    with Memory("bench", tenant="changing", user=row["id"], settings=settings, clock=lambda: at) as memory:
        memory.recall(row["question"], limit=LIMIT, hold=False)
        begun = time.perf_counter()
        hits = memory.recall(row["question"], limit=LIMIT, hold=False).hits
        counts.milliseconds.append((time.perf_counter() - begun) * 1e3)
        said = datetime.fromisoformat(row["messages"][row["present_message"]]["at"])
        before = said - timedelta(microseconds=1)
        then = {hit.content for hit in memory.recall(row["question"], limit=LIMIT, hold=False, as_of=before)}
    places = {hit.content: place for place, hit in reversed(list(enumerate(hits)))}
    counts.of += 1
    counts.first += bool(hits) and hits[0].content == present
    counts.found += present in places
    counts.then += present not in then and not former.isdisjoint(then)
    counts.above += present in places and all(places[present] < places.get(each, LIMIT) for each in former)
    counts.reachable += any(each in places or each in _beside(hits) for each in former)
    counts.beside += any(each in _beside(hits) for each in former)


def _beside(hits: Sequence[Hit]) -> set[str]:
    return {each.older.content for hit in hits for each in hit.formerly}


if __name__ == "__main__":
    main()
