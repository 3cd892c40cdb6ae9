"""All verbs at once from several threads, on the same few memories, while workers embed, tag and relate them.

`python -m tests.attacks.storm --tenant T --operations 5000` runs one process of it and writes what went wrong as JSON.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from htm_core import InvalidInput, Memory, NotFound, Settings, shutdown
from htm_core.palace import Palace
from tests.stand_ins import HashEmbedder

WORDS = ["ferry", "tea", "cat", "rent", "rain", "oslo", "book", "key"]
SESSIONS = ["one", "two"]
KEPT = "kept"  # the session of what nobody erases


class Storm:
    """Does operations chosen by chance, and notes each error that a caller should not have seen."""

    def __init__(self, *, tenant: str, url: str | None, seed: int) -> None:
        settings = Settings(
            verb_timeout=60, statement_timeout=60, pool_timeout=60, pool_max=8, worker_lease=5
        )
        self.memory = Memory(
            "atlas",
            tenant=tenant,
            url=url,
            user="ann",
            embedder=HashEmbedder(),
            tagger="keywords",
            settings=settings,
        )
        self.folder = Path(tempfile.mkdtemp(prefix="htm-storm-"))
        self.seed = seed
        self.errors: list[str] = []
        self.done: Counter[str] = Counter()
        self.kept: list[str] = []
        self._left = threading.Semaphore(0)

    def run(self, operations: int, *, threads: int = 4) -> None:
        """Do so many operations in so many threads."""
        for _ in range(operations):
            self._left.release()
        running = [
            threading.Thread(target=self._work, args=(self.seed * 100 + n,)) for n in range(threads)
        ]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    def report(self) -> dict[str, Any]:
        """What went wrong, what was done, and what must be there."""
        return {"errors": self.errors, "done": dict(self.done), "kept": self.kept}

    def _work(self, seed: int) -> None:
        chance = random.Random(seed)
        verbs = self._verbs(chance, seed)
        names: list[str] = []
        while self._left.acquire(blocking=False):
            names = names or chance.sample(
                list(verbs), len(verbs)
            )  # each verb as often, in an order by chance
            name = names.pop()
            try:
                verbs[name]()
            except (NotFound, InvalidInput):
                pass  # somebody else erased it, or made it what it should become
            except Exception as error:
                self.errors.append(f"{name}: {type(error).__name__}: {error}")
            self.done[name] += 1

    def _verbs(self, chance: random.Random, seed: int) -> dict[str, Callable[[], object]]:
        memory, made = self.memory, self.memory.of(session=chance.choice(SESSIONS))
        palace, pages = Palace(made), memory.collection("pages")
        file = self.folder / f"{seed % 2}.md"
        log = memory.log("chat")

        def text() -> str:
            return f"the {chance.choice(WORDS)} and the {chance.choice(WORDS)}"

        def node() -> str:
            return memory.remember(text(), session=chance.choice(SESSIONS)).id

        def keep() -> None:
            said = f"kept {seed} {time.monotonic_ns()}"
            memory.remember(said, id=said, session=KEPT)
            self.kept.append(said)

        def load() -> None:
            file.write_text(f"# A\n\n{text()}\n\n# B\n\n{text()}\n")
            for each in memory.load(self.folder):
                assert each.error is None, each.error

        def group() -> None:
            with memory.of(session="team").group("crew") as crew:
                crew.status()

        return {
            "remember": lambda: memory.remember(text(), tags=[f"{chance.choice(WORDS)}:x"], session=chance.choice(SESSIONS)),
            "keep": keep,
            "remember_many": lambda: memory.remember_many(
                [{"content": text(), "key": chance.choice(WORDS), "session": chance.choice(SESSIONS)} for _ in range(5)]
            ),
            "revise": lambda: memory.revise(chance.choice(WORDS), text(), forget=chance.random() < 0.5),
            "forget": lambda: memory.forget(node()),
            "restore": lambda: memory.restore(chance.choice(WORDS)),
            "purge": lambda: memory.purge(timedelta(0), confirm="confirmed"),
            "erase session": lambda: memory.erase(session=chance.choice(SESSIONS), confirm="confirmed"),
            "erase key": lambda: memory.erase(key=chance.choice(WORDS), confirm="confirmed"),
            "link": lambda: memory.link(node(), node(), weight=chance.choice([0.0, 0.5])),
            "tag": lambda: memory.tags.add(node(), [f"{chance.choice(WORDS)}:y"]),
            "untag": lambda: memory.tags.remove(node(), [f"{chance.choice(WORDS)}:y"]),
            "log.append": lambda: log.append([{"role": "user", "content": text()} for _ in range(3)]),
            "log.replace": lambda: log.replace([{"role": "user", "content": text()} for _ in range(3)], forget=True),
            "log.remove": lambda: log.remove(log.tail(2), forget=True),
            "log.archive": lambda: log.archive(log.tail(2)),
            "log.clear": log.clear,
            "load": load,
            "unload": lambda: memory.unload(self.folder),
            "put": lambda: pages.put([{"id": chance.choice(WORDS), "content": text()} for _ in range(3)]),
            "delete": lambda: pages.delete([chance.choice(WORDS), chance.choice(WORDS)]),
            "collection.query": lambda: pages.query(text()),
            "group": group,
            "note": lambda: palace.note(text(), ttl=0.01 if chance.random() < 0.5 else 60.0),
            "file": lambda: palace.file(text(), room="home", drawer=chance.choice(WORDS)),
            "submit": lambda: palace.submit(text(), room="home", drawer="facts", reason="said"),
            "palace.forget": lambda: [palace.forget(each) for each in palace.look(limit=1)],
            "palace.sweep": palace.sweep,
            "wake_up": palace.wake_up,
            "recall": lambda: memory.recall(text(), scope="tenant"),
            "timeline": memory.timeline,
            "working": lambda: memory.working.clear(),
            "flush": lambda: memory.flush(timeout=0.01),
            "retry": lambda: memory.jobs.retry(),
            "backup": lambda: memory.backup.write(io.StringIO()),
        }  # fmt: skip


def main() -> None:
    """Run one process of the storm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenant", required=True)
    parser.add_argument("--operations", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    storm = Storm(tenant=given.tenant, url=os.environ.get("HTM_DATABASE_URL"), seed=given.seed)
    storm.run(given.operations)
    print(json.dumps(storm.report()))  # noqa: T201 - its answer
    shutdown()


if __name__ == "__main__":
    main()
