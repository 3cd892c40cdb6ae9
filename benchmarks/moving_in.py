"""Move databases of other packages in, and compare what is found here with what the package's own dense search found there.

    python -m benchmarks.moving_in                 # the databases that the packages filled when they were recorded
    pip install -e ".[all,peers]"
    python -m benchmarks.moving_in --installed     # filled now by the packages, as far as they are installed

"again" is how many rows were new or changed when it was imported a second time. "recall@10" is the share of the ten rows of the
package's own search by vector that are among the ten found here, by vector too. The exit code is 1 when that is less than 0.99, or
anything came again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.tcp_server import temporary_server
from htm_core import Memory, Settings, shutdown
from htm_core.importers import import_database
from tests.importers import peers
from tests.importers.conftest import drop_database, new_database, recorded

LIMIT = 10
LEAST = 0.99


@dataclass(frozen=True, slots=True)
class Compared:
    """One kind of table: rows, how many of them came, how many changed the second time, queries, and the share that was found."""

    kind: str
    rows: int
    imported: int
    changed_again: int
    queries: int
    recall: float


def of_documents(
    memory: Memory, collection: str, kind: str | None = None
) -> Callable[[str], list[str]]:
    """The ids that a collection finds for a query by its vector."""
    options = {} if kind is None else {"kind": kind}
    documents = memory.collection(collection, embedder=peers.embedder(), **options)  # type: ignore[arg-type]
    return lambda query: [
        each.item.id for each in documents.query(query, mode="vector", limit=LIMIT)
    ]


def share(
    answers: Mapping[str, Sequence[Any]], find: Callable[[str], Sequence[Any]]
) -> list[float]:
    """Of each query the share of what was found there that is found here."""
    return [len(set(find(query)) & set(ids)) / len(ids) for query, ids in answers.items()]


def pgvectorstore(memory: Memory, answers: Mapping[str, Any]) -> list[float]:
    """`PGVectorStore` of langchain-postgres."""
    return share(answers["found"], of_documents(memory, "guide"))


def pgvector(memory: Memory, answers: Mapping[str, Any]) -> list[float]:
    """`PGVector` of langchain-postgres, with two collections."""
    return [
        each
        for name, one in answers["legacy"].items()
        for each in share(one["found"], of_documents(memory, name))
    ]


def llama_index(memory: Memory, answers: Mapping[str, Any]) -> list[float]:
    """`PGVectorStore` of LlamaIndex, which searches with vectors."""
    collection = memory.collection("town_guide")

    def find(query: str) -> list[str]:
        """The ids of nodes near to a query's vector."""
        vector = peers.embedder().embed_query(query)
        return [
            each.item.id for each in collection.query(vector=vector, mode="vector", limit=LIMIT)
        ]

    return share(answers["found"], find)


def langgraph(memory: Memory, answers: Mapping[str, Any]) -> list[float]:
    """`PostgresStore` of LangGraph, below the namespace of users."""
    collection = memory.collection("store", kind="langgraph", embedder=peers.embedder())

    def find(query: str) -> list[str]:
        """The keys of items near to a query."""
        hits = collection.query(query, mode="vector", namespace=("users",), limit=LIMIT)
        return [each.item.id for each in hits]

    return share(answers["found"], find)


def mem0(memory: Memory, answers: Mapping[str, Any]) -> list[float]:
    """mem0's table, for the user with many memories, each of which has a text of its own."""
    eve = memory.of(user="eve")
    return share(
        answers["found"],
        lambda query: [
            hit.content for hit in eve.recall(query, limit=LIMIT, mode="vector", hold=False)
        ],
    )


def mempalace(memory: Memory, answers: Mapping[str, Any]) -> list[float]:
    """The drawers of MemPalace, each of which has a text of its own."""
    return share(
        answers["found"],
        lambda query: [
            hit.content for hit in memory.recall(query, limit=LIMIT, mode="vector", hold=False)
        ],
    )


def ruby_htm(memory: Memory, answers: Mapping[str, Any]) -> list[float]:
    """The nodes of the Ruby gem htm, each of which has a text of its own."""
    ids = {node["content"]: node["id"] for node in answers["memories"]}
    return share(
        answers["found"],
        lambda query: [
            ids[hit.content] for hit in memory.recall(query, limit=LIMIT, mode="vector", hold=False)
        ],
    )


@dataclass(frozen=True, slots=True)
class Peer:
    """A package: the name that its databases are recorded under, the modules of an installation, and how each kind is searched."""

    name: str
    modules: tuple[str, ...]
    searches: Mapping[str, Callable[[Memory, Mapping[str, Any]], list[float]]]


PEERS = (
    Peer(
        "langchain_postgres",
        ("langchain_postgres",),
        {"langchain-pgvectorstore": pgvectorstore, "langchain-pgvector": pgvector},
    ),
    Peer(
        "llama_index",
        ("llama_index.vector_stores.postgres", "llama_index.storage.chat_store.postgres"),
        {"llamaindex-pgvectorstore": llama_index},
    ),
    Peer("langgraph", ("langgraph.store.postgres",), {"langgraph-store": langgraph}),
    Peer("mem0", ("mem0",), {"mem0": mem0}),
    Peer("mempalace", ("mempalace",), {"mempalace": mempalace}),
    Peer("ruby_htm", (), {"ruby-htm": ruby_htm}),
)


def is_installed(module: str) -> bool:
    """True if a module can be imported."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package above it
        return False


def filled(peer: Peer, dsn: str, *, installed: bool) -> dict[str, Any] | None:
    """Fill a database, and give what the package says of it; None where it should be installed and is not."""
    if not installed:
        return recorded(peer.name, dsn)
    if not all(map(is_installed, peer.modules)):
        return None
    if peer.name == "ruby_htm":
        from tests.importers import ruby_htm_peer

        return ruby_htm_peer.fill(dsn) if "RUBY_HTM" in os.environ else None
    if peer.name == "mem0":
        os.environ["MEM0_TELEMETRY"] = "False"  # it would ask its makers' server
        from tests.importers import mem0_peer

        return mem0_peer.fill(dsn)
    if peer.name == "mempalace":
        from tests.importers import mempalace_peer

        return mempalace_peer.fill(dsn)
    answers: dict[str, Any] = getattr(peers, peer.name)(dsn)
    return answers


def compared(peer: Peer, dsn: str, answers: Mapping[str, Any], url: str) -> list[Compared]:
    """Import each kind of a package's tables twice, and search here for what it found there."""
    rows = []
    for kind, search in peer.searches.items():
        tenant = f"{peer.name}-{uuid.uuid4().hex[:6]}"
        with Memory(
            "atlas",
            url=url,
            tenant=tenant,
            embedder=peers.embedder(),
            settings=Settings(worker="off"),
        ) as memory:
            first, second = (
                import_database(memory, dsn, kinds=[kind], embedder=peers.embedder()).tables
                for _ in range(2)
            )
            shares = search(memory, answers)
        rows.append(
            Compared(
                kind,
                sum(each.rows for each in first),
                sum(each.imported for each in first),
                sum(each.imported + each.changed for each in second),
                len(shares),
                sum(shares) / len(shares),
            )
        )
    return rows


def main(arguments: Sequence[str]) -> int:
    """Compare all packages; 1 when one of them finds less than it should, or changes something the second time."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--installed", action="store_true", help="fill the databases by the installed packages now"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args(arguments)
    rows: list[Compared] = []
    left_out: list[str] = []
    with temporary_server() as url:
        for peer in PEERS:
            dsn = new_database(url)
            try:
                answers = filled(peer, dsn, installed=options.installed)
                if answers is None:
                    left_out += [each for each in peer.modules if not is_installed(each)]
                else:
                    rows += compared(peer, dsn, answers, url)
            finally:
                drop_database(url, dsn)
        shutdown()
    report(rows, left_out, as_json=options.json)
    return (
        0 if rows and all(each.recall >= LEAST and each.changed_again == 0 for each in rows) else 1
    )


def report(rows: Sequence[Compared], left_out: Sequence[str], *, as_json: bool) -> None:
    """Print the figures, as a table or as JSON."""
    if as_json:
        sys.stdout.write(json.dumps([asdict(each) for each in rows], indent=1) + "\n")
        return
    table = Table(box=None)
    table.add_column("kind", no_wrap=True)
    for name in ("rows", "imported", "again", "queries", f"recall@{LIMIT}"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.kind,
            f"{row.rows}",
            f"{row.imported}",
            f"{row.changed_again}",
            f"{row.queries}",
            f"{row.recall:.3f}",
        )
    console = Console()
    console.print(table)
    if left_out:
        console.print(f"not installed: {', '.join(left_out)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
