"""The systems that are compared: recall with the default settings, recall without a signal, and plain methods."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.retrieval_sets import Case, Message
from htm_core import Draft, Memory, Mode, Recall, Settings, Signals
from htm_core.collections.fusion import reciprocal_rank
from htm_core.memory.process import runtime
from htm_core.models.embedders import MINILM, resolve

SILENT = Signals(**dict.fromkeys(Signals.model_fields, 0.0))
DEPTH = 100
HTM, VECTOR, BM25, ARMS, RRF, PLAIN = "htm", "vector", "bm25", "arms", "rrf", "ts_rank"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a system: the units of each hit, best hit first, and the tokens of each hit."""

    ranking: list[list[str]]
    tokens: list[int] = field(default_factory=list)
    recall: Recall | None = None


System = Callable[[str], Answer]


def drafts(messages: Sequence[Message]) -> list[Draft]:
    """Give messages as drafts; their units are in the metadata."""
    return [
        Draft(
            content=message.content, session=message.session, role=message.role, name=message.name, at=message.at,
            metadata={"unit": message.unit},
        )
        for message in messages
    ]  # fmt: skip


class CaseMemory:
    """One case in its own memory, and the systems that answer from it."""

    def __init__(self, case: Case, *, tenant: str, embedder: object | None) -> None:
        self.case = case
        self._stack = ExitStack()
        self._options = {
            "tenant": tenant,
            "user": case.name,
            "embedder": embedder,
            "clock": lambda: case.now,
        }
        self.memory = self.opened(Signals())

    def opened(self, signals: Signals, *, candidates: int = 30, **plugs: object) -> Memory:
        """Open the same memory with other signals, and with a `reranker` over so many candidates or an `expander`."""
        settings = Settings(signals=signals, reranker_candidates=candidates, max_drafts=1_000_000)
        return Memory("bench", settings=settings, **self._options, **plugs)  # type: ignore[arg-type]

    def fill(self) -> None:
        """Store all messages, and wait until they are embedded."""
        self.memory.remember_many(drafts(self.case.messages))
        if not self.memory.flush():
            raise SystemExit(
                f"some memories of {self.case.name} could not be embedded: see the log"
            )

    def empty(self) -> None:
        """Erase all messages."""
        self._stack.close()
        self.memory.erase(user=self.case.name, confirm="confirmed")

    def systems(self, *, ablate: bool, depth: int = DEPTH) -> dict[str, System]:
        """Give the systems by name; ours answer with so many hits."""
        plain = self.opened(SILENT)
        chosen: dict[str, System] = {
            HTM: self._recall_system(self.memory, depth=depth),
            ARMS: self._recall_system(plain, depth=depth),
            VECTOR: self._recall_system(plain, mode="vector"),
            BM25: self._recall_system(plain, mode="text"),
            RRF: self._fusion_system(plain),
            PLAIN: self._ts_rank_system(),
        }
        if ablate:
            for name in Signals.model_fields:
                if getattr(Signals(), name):
                    without = self.opened(Signals(**{name: 0.0}))
                    chosen[f"htm without {name}"] = self._recall_system(without, depth=depth)
        return chosen

    def _recall_system(
        self, memory: Memory, *, mode: Mode = "hybrid", depth: int = DEPTH
    ) -> System:
        def answer(question: str) -> Answer:
            recall = memory.recall(question, limit=depth, mode=mode, hold=False)
            units = [[str(mention.metadata["unit"]) for mention in hit.mentions] for hit in recall]
            return Answer(units, [hit.node.tokens for hit in recall], recall)

        return answer

    def _fusion_system(self, memory: Memory) -> System:
        """Reciprocal rank fusion of the two arms, as it is mostly done."""

        def answer(question: str) -> Answer:
            ranks: dict[str, list[int | None]] = {}
            units: dict[str, list[str]] = {}
            modes: tuple[Mode, ...] = ("vector", "text")
            for arm, mode in enumerate(modes):
                hits = memory.recall(question, limit=DEPTH, mode=mode, hold=False)
                for rank, hit in enumerate(hits, 1):
                    ranks.setdefault(hit.node.id, [None, None])[arm] = rank
                    units[hit.node.id] = [str(mention.metadata["unit"]) for mention in hit.mentions]
            best = sorted(ranks, key=lambda id: -reciprocal_rank(ranks[id], k=60))
            return Answer([units[id] for id in best[:DEPTH]])

        return answer

    def _ts_rank_system(self) -> System:
        """PostgreSQL's ts_rank as it is mostly used: a text must have every word of the question."""
        database = runtime(None, Settings()).database
        table = "ts_rank_" + hashlib.sha256(self.case.name.encode()).hexdigest()[:16]
        connection = self._stack.enter_context(database.owner())
        connection.execute(f"create temporary table {table} (unit text, words tsvector)")
        with connection.cursor() as cursor:
            cursor.executemany(
                f"insert into {table} values (%s, to_tsvector('english', %s))",
                [
                    (message.unit, message.content.replace("\x00", " "))
                    for message in self.case.messages
                ],
            )
        statement = (
            f"select unit from {table}, plainto_tsquery('english', %s) q where words @@ q "
            f"order by ts_rank(words, q) desc, unit limit {DEPTH}"
        )

        def answer(question: str) -> Answer:
            return Answer([[row["unit"]] for row in connection.execute(statement, [question])])

        return answer


class CachedEmbedder:
    """A model with a file that caches its vectors, so that a set is embedded once for many measurements."""

    def __init__(self, path: Path, model: str = MINILM) -> None:
        self._model = resolve(model)
        self.model = self._model.name
        self._file = sqlite3.connect(path, check_same_thread=False, timeout=60)
        self._file.execute("pragma journal_mode = wal")
        self._file.execute("create table if not exists e (k blob primary key, v blob)")
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Give a vector for each text, in half precision, as vectors are stored."""
        keys = [
            hashlib.sha256(f"{self.model} {text}".encode("utf-8", "replace")).digest()[:16]
            for text in texts
        ]
        known = {key: row for key in keys if (row := self._cached(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            vectors = self._model.documents(list(missing.values()))
            rows = [np.asarray(vector, np.float16).tobytes() for vector in vectors]
            with self._lock, self._file:
                self._file.executemany(
                    "insert or ignore into e values (?, ?)", zip(missing, rows, strict=True)
                )
            known |= dict(zip(missing, rows, strict=True))
        return [np.frombuffer(known[key], np.float16).astype(float).tolist() for key in keys]

    def embed_query(self, text: str) -> list[float]:
        """Give the vector of a query."""
        return self.embed_documents([text])[0]

    def _cached(self, key: bytes) -> bytes | None:
        with self._lock:
            row = self._file.execute("select v from e where k = ?", [key]).fetchone()
        return None if row is None else row[0]
