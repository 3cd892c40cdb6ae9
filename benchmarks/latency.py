"""Measure the latency of the verbs and, in the same run, of the least work that the database can do for them.

    python -m benchmarks.latency --nodes 10000 100000

It prints p50 and p95 in milliseconds. The rows called "floor" are `SELECT 1`, a bare HNSW query, and a bare insert into an
indexed table. The embedder is a stand-in that gives random vectors at once, and its time is subtracted.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.corpus import START, Corpus, RandomEmbedder
from htm_core import Draft, Memory, Settings, Signals, Window, shutdown
from htm_core.db import indexes
from htm_core.db.connection import HalfVector
from htm_core.memory.process import runtime

BATCH = 1_000
TENANT = "bench"


def main() -> None:
    """Measure each size, and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--calls", type=int, default=200)
    arguments = parser.parse_args()
    for nodes in arguments.nodes:
        with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
            os.environ["HTM_HOME"] = os.environ.get("HTM_BENCH_HOME", home)
            Console(width=110).print(Latency(nodes, arguments.calls).table())
            shutdown()


class Latency:
    """The measurement of one size."""

    def __init__(self, nodes: int, calls: int) -> None:
        self._nodes = nodes
        self._calls = calls
        self.corpus = Corpus(nodes)
        self._embedder = RandomEmbedder(
            self.corpus
        )  # one for all memories: a tenant has one client of a name
        self._settings = Settings(worker="off", max_drafts=1_000_000)
        self.database = runtime(None, self._settings).database
        self._rows: list[tuple[str, float, float]] = []
        self._extra: list[tuple[str, str]] = []

    def table(self) -> Table:
        """Fill a memory, measure it, and give the table."""
        with self.memory() as memory:
            self.fill(memory)
            self.index(memory)
            self._floors()
            self._verbs(memory)
            self._recalls(memory)
            self._ablated()
            self._bulk(memory)
        return self._drawn()

    def memory(self, **options: Any) -> Memory:
        """A memory of the tenant that is measured."""
        options = {
            "tenant": TENANT,
            "embedder": self._embedder,
            "settings": self._settings,
            "budget": 20_000,
        } | options
        return Memory("bench", **options)

    def drafts(self, documents: list[Any]) -> list[Draft]:
        """The documents as a memory takes them, with their vectors."""
        return [
            Draft(
                content=each.content, vector=each.vector, at=each.at, tags=[each.tag], role="user"
            )
            for each in documents
        ]

    def fill(self, memory: Memory) -> None:
        """Remember all documents, in batches."""
        documents = list(self.corpus.documents())
        began = time.perf_counter()
        for start in track(range(0, self._nodes, BATCH), description=f"fill {self._nodes:,}"):
            memory.remember_many(self.drafts(documents[start : start + BATCH]))
        rate = self._nodes / (time.perf_counter() - began)
        self._extra.append(("remember_many before the HNSW index is built", f"{rate:,.0f} rows/s"))

    def index(self, memory: Memory) -> None:
        """Build the indexes that are due, and gather statistics."""
        began = time.perf_counter()
        memory.flush()
        built = indexes.build_due(self.database)
        with self.database.owner() as connection:
            connection.execute("vacuum analyze")
        self._extra.append(
            (
                f"statistics and HNSW build ({len(built)} indexes)",
                f"{time.perf_counter() - began:,.1f} s",
            )
        )

    def _floors(self) -> None:
        with self.database.transaction(TENANT) as connection:
            self._time("floor: SELECT 1", lambda: connection.execute("select 1").fetchone())
        with self.database.owner() as connection:
            space = connection.execute("select id from vector_spaces").fetchone()
            assert space is not None
            connection.execute("set hnsw.ef_search = 100")
            query = (
                "select passage_id from vectors where space = %s "
                "order by embedding::pgvector.halfvec(384) operator(pgvector.<=>) %s::pgvector.halfvec(384) limit 60"
            )
            bare = query.replace("%s", str(space["id"]), 1).replace("%s", "%b")
            self._time(
                "floor: bare HNSW query, 60 nearest",
                lambda: connection.execute(
                    bare, [HalfVector(self.corpus.vector().tolist())], binary=True
                ).fetchall(),
            )
            connection.execute(
                "create unlogged table if not exists floor_insert (id bigserial primary key, content text)"
            )
            connection.execute(
                "create table if not exists floor_logged (id bigserial primary key, content text)"
            )
            self._time(
                "floor: bare insert, committed",
                lambda: connection.execute(
                    "insert into floor_logged (content) values (%s)", [self.corpus.sentence()]
                ),
            )

    def _verbs(self, memory: Memory) -> None:
        self._time(
            "remember (queued embedding)",
            lambda: memory.remember(self.corpus.sentence(), role="user"),
        )
        self._time("context, 20,000 tokens", lambda: memory.context())
        newest = memory.list(limit=1)[0].id
        self._time("get", lambda: memory.get(newest))
        self._time("timeline, 100 mentions", lambda: memory.timeline())
        users = iter(range(1_000_000))
        self._time("a memory for a new user, made", lambda: self.memory(user=f"user-{next(users)}"))

    def _recalls(self, memory: Memory) -> None:
        week = Window(start=START, stop=START.replace(day=8))
        options: dict[str, dict[str, Any]] = {
            "hybrid": {},
            "hybrid, scope tenant": {"scope": "tenant"},
            "vector": {"mode": "vector"},
            "text": {"mode": "text"},
            "hybrid, one week of 90 days": {"timeframe": week},
            "hybrid, tag (40 %)": {"tags": ["topic:0"]},
            "hybrid, tag (1 %)": {"tags": ["topic:9"]},
            "hybrid, where": {"where": {"absent": 1}},
        }
        for name, arguments in options.items():
            embedding: list[float] = []
            self._time(
                f"recall {name}",
                lambda arguments=arguments, into=embedding: into.append(
                    memory.recall(
                        self.corpus.sentence(6), hold=False, **arguments
                    ).timings.embedding
                ),
                subtract=embedding,
            )
        self._held(memory)

    def _held(self, memory: Memory) -> None:
        """Time hybrid recall that holds its hits and one that does not, in turns."""
        taken: dict[bool, list[float]] = {False: [], True: []}
        for call in range(10 + self._calls):
            for hold in random.sample([False, True], 2):
                question = self.corpus.sentence(6)
                began = time.perf_counter()
                embedding = memory.recall(question, hold=hold).timings.embedding
                if call >= 10:
                    taken[hold].append((time.perf_counter() - began) * 1e3 - embedding)
        for hold, values in taken.items():
            held = "held in working memory" if hold else "not held"
            self._rows.append((f"recall hybrid, in turns, {held}", *_p50_and_p95(values)))
        ratio = statistics.median(taken[True]) / statistics.median(taken[False])
        self._extra.append(
            ("recall that holds, divided by one that does not (p50)", f"{ratio:.2f}")
        )

    def _ablated(self) -> None:
        """Time hybrid recall with all signals and without each one; they take turns, so that other work affects all alike."""
        default = Signals()
        names = [name for name in Signals.model_fields if getattr(default, name)]
        settings = {
            name: self._settings.model_copy(update={"signals": Signals(**{name: 0.0})})
            for name in names
        }
        memories = {"all signals": self.memory()}
        memories |= {f"without {name}": self.memory(settings=settings[name]) for name in names}
        taken: dict[str, list[float]] = {name: [] for name in memories}
        for call in range(10 + self._calls):
            question = self.corpus.sentence(6)
            for name, memory in memories.items():
                began = time.perf_counter()
                embedding = memory.recall(question, hold=False).timings.embedding
                if call >= 10:
                    taken[name].append((time.perf_counter() - began) * 1e3 - embedding)
        for name, values in taken.items():
            self._rows.append((f"recall hybrid, in turns, {name}", *_p50_and_p95(values)))

    def _bulk(self, memory: Memory) -> None:
        """Compare `remember_many` with a plain batched INSERT into the same indexed tables."""
        ours, plain = [], []
        for _ in range(3):
            drafts = self.drafts(list(itertools.islice(self.corpus.documents(), BATCH)))
            began = time.perf_counter()
            memory.remember_many(drafts)
            ours.append(BATCH / (time.perf_counter() - began))
            plain.append(BATCH / self.plain_insert())
        rate, floor = statistics.median(ours), statistics.median(plain)
        self._extra.append(
            ("remember_many, given vectors, into the indexed tables", f"{rate:,.0f} rows/s")
        )
        self._extra.append(("plain batched INSERT into the same tables", f"{floor:,.0f} rows/s"))
        self._extra.append(("share of the plain rate", f"{rate / floor:.0%}"))

    def plain_insert(self) -> float:
        """Give the seconds for copying a batch of rows, with new ids and new vectors, in the tables that a memory fills."""
        vectors = [HalfVector(self.corpus.vector().tolist()) for _ in range(BATCH)]
        with self.database.owner() as connection, connection.transaction():
            connection.execute(PICK, [TENANT, BATCH])
            began = time.perf_counter()
            for statement in PLAIN:
                connection.execute(statement)
            connection.execute(PLAIN_VECTORS, [vectors], binary=True)
        return time.perf_counter() - began

    def _time(
        self, name: str, call: Callable[[], Any], *, subtract: list[float] | None = None
    ) -> None:
        for _ in range(10):
            call()
        if subtract is not None:
            subtract.clear()
        taken = []
        for _ in range(self._calls):
            began = time.perf_counter()
            call()
            taken.append((time.perf_counter() - began) * 1e3)
        if subtract is not None:
            taken = [total - embedding for total, embedding in zip(taken, subtract, strict=True)]
        self._rows.append((name, *_p50_and_p95(taken)))

    def _drawn(self) -> Table:
        table = Table(title=f"{self._nodes:,} nodes of 384 dimensions, {self._calls} calls each")
        table.add_column("what")
        table.add_column("p50 ms", justify="right")
        table.add_column("p95 ms", justify="right")
        for name, p50, p95 in self._rows:
            table.add_row(name, f"{p50:.2f}", f"{p95:.2f}")
        table.add_section()
        for name, value in self._extra:
            table.add_row(name, value, "")
        return table


def _p50_and_p95(values: list[float]) -> tuple[float, float]:
    return statistics.median(values), sorted(values)[int(0.95 * len(values))]


PICK = """
create temporary table picked on commit drop as
select gen_random_uuid() as new_node, gen_random_uuid() as new_passage, gen_random_uuid() as new_mention,
       n.id as node, p.id as passage, row_number() over () as number
from (select * from nodes where tenant = %s order by created_at desc limit %s) n
join passages p on p.tenant = n.tenant and p.node_id = n.id
join vectors v on v.tenant = n.tenant and v.passage_id = p.id
"""
PLAIN = (
    """insert into nodes (tenant, id, owner, content, tokens, created_at)
       select tenant, new_node, owner, content, tokens, created_at from nodes join picked on id = node""",
    """insert into node_state (tenant, node_id, importance, metadata, accessed_at)
       select tenant, new_node, importance, metadata, accessed_at from node_state join picked on node_id = node""",
    """insert into mentions (tenant, id, node_id, owner, robot, session, seq, role, at)
       select m.tenant, new_mention, new_node, m.owner, 'plain', 'plain', number + (random() * 1e12)::bigint, m.role, m.at
       from mentions m join picked on m.node_id = node""",
    """insert into passages (tenant, id, node_id, ordinal, owner, starts, stops, length, lexemes, weights, version)
       select tenant, new_passage, new_node, ordinal, owner, starts, stops, length, lexemes, weights, version
       from passages join picked on id = passage""",
    """insert into tags (tenant, tag, node_id, explicit)
       select tenant, tag, new_node, explicit from tags join picked on node_id = node""",
    """with held as (insert into working_sets as s (tenant, owner, shared, holder, session)
                     values ('bench', '', false, 'plain', '')
                     on conflict (tenant, owner, shared, holder, session) do update set version = s.version + 1
                     returning id, version)
       insert into working_items (tenant, set_id, node_id, version, added_at, accessed_at)
       select 'bench', held.id, new_node, held.version, now(), now() from picked, held""",
)
PLAIN_VECTORS = """
insert into vectors (tenant, space, passage_id, node_id, owner, embedding)
select v.tenant, v.space, new_passage, new_node, v.owner, f.embedding
from vectors v join picked on v.passage_id = passage
join unnest(%b::pgvector.halfvec[]) with ordinality f(embedding, number) on f.number = picked.number
"""


if __name__ == "__main__":
    main()
