"""What is compared: recall as it comes, recall with a signal switched off, and the plain methods that others use."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.retrieval_sets import Case
from htm_core import Draft, Memory, Recall, Settings, Signals
from htm_core.models.embedders import MINILM, resolve
from htm_core.rules.fusion import reciprocal_rank
from htm_core.runtime.process import runtime

SILENT = Signals(**dict.fromkeys(Signals.model_fields, 0.0))
DEPTH = 100
HTM, VECTOR, BM25, ARMS, RRF, PLAIN = "htm", "vector", "bm25", "arms", "rrf", "ts_rank"


@dataclass(frozen=True, slots=True)
class Found:
    """What a system answers: the units of each hit, best first, and what each hit costs in tokens."""

    ranking: list[list[str]]
    tokens: list[int] = field(default_factory=list)
    recall: Recall | None = None


System = Callable[[str], Found]


def drafts(case: Case) -> list[Draft]:
    """A case's messages as drafts; the set's names for them travel as metadata."""
    return [
        Draft(
            content=message.content, session=message.session, role=message.role, name=message.name, at=message.at,
            metadata={"unit": message.unit},
        )
        for message in case.messages
    ]  # fmt: skip


class Filled:
    """One case in a memory of its own, and the systems that answer from it."""

    def __init__(self, case: Case, *, tenant: str, embedder: object | None) -> None:
        self.case = case
        self._stack = ExitStack()
        self._options = {"tenant": tenant, "user": case.name, "embedder": embedder, "clock": lambda: case.now}
        self.memory = self.opened(Signals())

    def opened(self, signals: Signals) -> Memory:
        """The same memory under other signals."""
        return Memory("bench", settings=Settings(signals=signals, max_drafts=1_000_000), **self._options)  # type: ignore[arg-type]

    def fill(self) -> None:
        """Say everything, and wait until it is embedded."""
        self.memory.remember_many(drafts(self.case))
        if not self.memory.flush():
            raise SystemExit(f"some memories of {self.case.name} could not be embedded: see the log")

    def empty(self) -> None:
        """Erase what was said."""
        self._stack.close()
        self.memory.erase(user=self.case.name, confirm="confirmed")

    def systems(self, *, ablate: bool) -> dict[str, System]:
        """Every system by its name."""
        plain = self.opened(SILENT)
        chosen: dict[str, System] = {
            HTM: self._recalled(self.memory),
            ARMS: self._recalled(plain),
            VECTOR: self._recalled(plain, mode="vector"),
            BM25: self._recalled(plain, mode="text"),
            RRF: self._fused(plain),
            PLAIN: self._peers(),
        }
        if ablate:
            for name in Signals.model_fields:
                if getattr(Signals(), name):
                    without = self.opened(Signals(**{name: 0.0}))
                    chosen[f"htm without {name}"] = self._recalled(without)
        return chosen

    def _recalled(self, memory: Memory, *, mode: str = "hybrid") -> System:
        def answer(question: str) -> Found:
            recall = memory.recall(question, limit=DEPTH, mode=mode, hold=False)
            units = [[str(mention.metadata["unit"]) for mention in hit.mentions] for hit in recall]
            return Found(units, [hit.node.tokens for hit in recall], recall)

        return answer

    def _fused(self, memory: Memory) -> System:
        """Reciprocal rank fusion of the two arms, each on its own, as it is mostly done."""

        def answer(question: str) -> Found:
            ranks: dict[str, list[int | None]] = {}
            units: dict[str, list[str]] = {}
            for arm, mode in enumerate(("vector", "text")):
                hits = memory.recall(question, limit=DEPTH, mode=mode, hold=False)
                for rank, hit in enumerate(hits, 1):
                    ranks.setdefault(hit.node.id, [None, None])[arm] = rank
                    units[hit.node.id] = [str(mention.metadata["unit"]) for mention in hit.mentions]
            best = sorted(ranks, key=lambda id: -reciprocal_rank(ranks[id]))
            return Found([units[id] for id in best[:DEPTH]])

        return answer

    def _peers(self) -> System:
        """PostgreSQL's own ranking, as it is mostly used: every word of the question must be there."""
        database = runtime(None, Settings()).database
        table = "peers_" + hashlib.sha256(self.case.name.encode()).hexdigest()[:16]
        connection = self._stack.enter_context(database.owner())
        connection.execute(f"create temporary table {table} (unit text, words tsvector)")
        with connection.cursor() as cursor:
            cursor.executemany(
                f"insert into {table} values (%s, to_tsvector('english', %s))",
                [(message.unit, message.content.replace("\x00", " ")) for message in self.case.messages],
            )
        statement = (
            f"select unit from {table}, plainto_tsquery('english', %s) q where words @@ q "
            f"order by ts_rank(words, q) desc, unit limit {DEPTH}"
        )

        def answer(question: str) -> Found:
            return Found([[row["unit"]] for row in connection.execute(statement, [question])])

        return answer


class Kept:
    """The embedded model with its answers kept in a file, so that a set is embedded once however often it is measured."""

    model = MINILM

    def __init__(self, path: Path) -> None:
        self._model = resolve(None)
        self._file = sqlite3.connect(path, check_same_thread=False, timeout=60)
        self._file.execute("pragma journal_mode = wal")
        self._file.execute("create table if not exists e (k blob primary key, v blob)")
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text, in the half precision in which they are stored."""
        keys = [hashlib.sha256(text.encode("utf-8", "replace")).digest()[:16] for text in texts]
        known = self._known(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            rows = np.asarray(self._model.documents(list(missing.values())), np.float16)
            with self._lock, self._file:
                pairs = [(key, row.tobytes()) for key, row in zip(missing, rows, strict=True)]
                self._file.executemany("insert or ignore into e values (?, ?)", pairs)
            known |= dict(zip(missing, rows, strict=True))
        return [known[key].astype(float).tolist() for key in keys]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.embed_documents([text])[0]

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        found: dict[bytes, np.ndarray] = {}
        with self._lock:
            for key in dict.fromkeys(keys):
                row = self._file.execute("select v from e where k = ?", [key]).fetchone()
                if row is not None:
                    found[key] = np.frombuffer(row[0], np.float16)
        return found
