"""What the packages themselves have just filled is moved in by one command: the same, once, and whole after a kill.

The packages are in an environment of their own, which `.ci/peers` makes; without it these tests are skipped. The tables of all of
them are in one database, as they may be for somebody who has tried several. The gem `htm` is not among them, since no Ruby is
there: the tables that it left when it was recorded are filled here with the vectors of the same model, filled up with zeros as the
gem does, and its search is its statement. `test_ruby_htm` has rows that the gem itself wrote.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_core.messages import messages_to_dict
from llama_index.core.vector_stores.types import VectorStoreQuery

from htm_core import Memory
from htm_core.models.minilm import weights
from htm_core.models.minilm.model import MiniLM
from htm_core.palace import Palace
from htm_langchain import HTMChatMessageHistory, HTMEmbeddings, HTMStore, HTMVectorStore
from htm_llamaindex import HTMChatStore
from htm_llamaindex import HTMVectorStore as LlamaIndexStore
from tests.conftest import SETTINGS
from tests.importers import fill
from tests.importers.conftest import address_of, drop_database, new_database, recorded

pytestmark = pytest.mark.timeout(600)
ROOT = Path(__file__).parent.parent.parent
LEAST = 0.99
# The tables of the database in the order in which they are imported, and how many rows of each come.
HALF, TEXTS = len(fill.TEXTS) // 2, len(fill.TEXTS)
ROWS = {
    "langchain-pgvectorstore guide": TEXTS + 1,
    "langchain-pgvector letters": HALF,
    "langchain-pgvector manuals": HALF,
    "langchain-chat-history chat_history": 2 * (7 + fill.TURNS),
    "llamaindex-pgvectorstore data_town_guide": TEXTS,
    "llamaindex-chat-store conversations": 2 * 6 + fill.TURNS,
    "langgraph-store store": TEXTS + 2,
    "langgraph-checkpoints checkpoints": 2 * (6 + fill.TURNS),
    "mem0 mem0": TEXTS + 10,
    "mempalace mempalace": TEXTS,
    "ruby-htm nodes": TEXTS,
}


def peers_python() -> Path:
    """The Python of the environment that `.ci/peers` makes."""
    cache = (
        "/var/cache"
        if os.geteuid() == 0
        else os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    )
    return (
        Path(os.environ.get("HTM_TEST_PEERS") or f"{cache}/htm-memory-peers")
        / "env"
        / "bin"
        / "python"
    )


@dataclass(frozen=True, slots=True)
class Filled:
    """A database and a folder as the packages filled them, what these say of it, and where our model is."""

    dsn: str
    folder: Path
    said: Mapping[str, Any]
    environment: Mapping[str, str]

    def start(
        self, tenant: str, *sources: object, program: Sequence[str] = ("htm_core.cli",)
    ) -> subprocess.Popen[str]:
        """`htm import` as somebody types it, in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", *program, "import", *map(str, sources), "--tenant", tenant, "--json"],
            cwd=ROOT, env=dict(self.environment), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, tenant: str, *sources: object) -> Any:
        """What it reports."""
        with self.start(tenant, *sources) as running:
            out, err = running.communicate(timeout=240)
        assert running.returncode == 0, err
        return json.loads(out)


@pytest.fixture(scope="module")
def model_dir() -> Path:
    """The folder of the embedded model's weights."""
    found = weights.find()
    if found is None:
        pytest.skip("this needs the weights of the embedded model")
    return found


@pytest.fixture(scope="module")
def filled(database_url: str, url: str | None, model_dir: Path) -> Iterator[Filled]:
    python = peers_python()
    if not python.exists():
        pytest.skip(
            f"the packages that people move in from are not in {python}: bash .ci/peers installs them"
        )
    dsn = new_database(database_url)
    own = {"HTM_MODEL_DIR": str(model_dir), "PYTHONPATH": str(ROOT)}
    if url:
        own["HTM_DATABASE_URL"] = url
    if owner := os.environ.get("HTM_TEST_OWNER_URL"):
        own["HTM_MIGRATE_URL"] = owner
    environment = {**os.environ, **own}
    with tempfile.TemporaryDirectory() as folder:
        command = [str(python), "-m", "tests.importers.fill", dsn, folder]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout.splitlines()[-1])
        said["ruby_htm"] = fill_ruby_htm(dsn, MiniLM(model_dir))
        yield Filled(dsn, Path(folder), said, environment)
    drop_database(database_url, dsn)


def fill_ruby_htm(dsn: str, model: MiniLM) -> dict[str, list[str]]:
    """What the gem's search finds, by its statement, after its tables have been filled with the same texts."""
    found = {}
    recorded("ruby_htm", dsn)

    def padded(vector: Any) -> str:
        return str([*map(float, vector), *([0.0] * (2000 - fill.DIMENSION))])

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("truncate robots, nodes, tags, file_sources cascade")
        connection.execute("insert into robots (id, name) values (1, 'Ruby')")
        for at, (text, vector) in enumerate(
            zip(fill.TEXTS, model.embed_documents(fill.TEXTS), strict=True)
        ):
            connection.execute(
                "insert into nodes (id, content, content_hash, embedding, metadata) values (%s, %s, %s, %s, %s)",
                (
                    at,
                    text,
                    hashlib.sha256(text.encode()).hexdigest(),
                    padded(vector),
                    json.dumps({"at": at}),
                ),
            )
            connection.execute(
                "insert into robot_nodes (id, robot_id, node_id) values (%s, 1, %s)", (at, at)
            )
        for query in fill.QUERIES:
            rows = connection.execute(
                "select content from nodes where deleted_at is null and embedding is not null order by embedding <=> %s limit 10",
                (padded(model.embed_query(query)),),
            )
            found[query] = [row[0] for row in rows]
    return found


@dataclass(frozen=True, slots=True)
class Moved:
    """What was filled, and the memory that it was moved into by one command."""

    filled: Filled
    report: Any
    memory: Memory

    @property
    def said(self) -> Mapping[str, Any]:
        """What the packages say."""
        return self.filled.said


@pytest.fixture(scope="module")
def moved(filled: Filled, url: str | None) -> Iterator[Moved]:
    tenant = f"peers-{uuid.uuid4().hex[:8]}"
    report = filled.run(tenant, address_of(filled.dsn))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTM_MODEL_DIR", filled.environment["HTM_MODEL_DIR"])
        with Memory(
            url=url, tenant=tenant, settings=SETTINGS.model_copy(update={"worker": "off"})
        ) as memory:
            yield Moved(filled, report, memory)


def counted(report: Any) -> dict[str, tuple[int, int, int, int]]:
    """New, changed, known and skipped rows of each table."""
    names = [f"{each['kind']} {each['into'].removeprefix('collection ') if each['kind'] == 'langchain-pgvector' else each['table']}"
             for each in report["tables"]]  # fmt: skip
    names = [
        "mempalace mempalace" if name.startswith("mempalace") else name for name in names
    ]  # it has a hash in it
    return {
        name: (each["imported"], each["changed"], each["known"], each["skipped"])
        for name, each in zip(names, report["tables"], strict=True)
    }


def test_one_command_moves_all_of_it_and_run_again_changes_nothing(moved: Moved) -> None:
    assert counted(moved.report) == {name: (rows, 0, 0, 0) for name, rows in ROWS.items()}
    assert moved.report["others"] == []
    again = moved.filled.run(moved.memory.tenant, address_of(moved.filled.dsn))
    assert counted(again) == {name: (0, 0, rows, 0) for name, rows in ROWS.items()}


def share(said: Mapping[str, Sequence[str]], find: Callable[[str], Sequence[str | None]]) -> float:
    """Of what a package's own search by vector found, the share that is found here."""
    shares = [len(set(find(query)) & set(ids)) / len(ids) for query, ids in said.items()]
    assert len(shares) == len(fill.QUERIES)
    return sum(shares) / len(shares)


def test_langchains_documents_are_the_same_and_found_by_the_same_searches(moved: Moved) -> None:
    said = moved.said["langchain_postgres"]
    for name, one in {"guide": said, **said["legacy"]}.items():
        store = HTMVectorStore(HTMEmbeddings(moved.memory), collection=name, memory=moved.memory)
        found = {
            each.id: [each.page_content, each.metadata]
            for each in store.get_by_ids(list(one["documents"]))
        }
        assert found == one["documents"]
        assert share(one["found"], partial(ids_found, store)) >= LEAST


def ids_found(store: HTMVectorStore, query: str) -> Sequence[str | None]:
    """The ids of what LangChain's store finds by vector."""
    return [hit.id for hit in store.similarity_search(query, k=10, mode="vector")]


def test_langchains_and_llamaindexs_conversations_are_the_same(moved: Moved) -> None:
    for session, said in moved.said["langchain_postgres"]["histories"].items():
        found = messages_to_dict(HTMChatMessageHistory(session, moved.memory).messages)
        for given, message in zip(said, found, strict=True):
            if given["data"]["id"] is None:  # one without an id has one here
                message["data"]["id"] = None
        assert found == said
    store = HTMChatStore(moved.memory)
    for key, said in moved.said["llama_index"]["chats"].items():
        chat = asyncio.run(store.get_messages(key))
        assert [message.model_dump(mode="json") for message in chat] == said


def test_llamaindexs_nodes_are_the_same_and_found_by_the_same_searches(moved: Moved) -> None:
    said = moved.said["llama_index"]
    store = LlamaIndexStore(collection="town_guide", memory=moved.memory)
    nodes = store.get_nodes(node_ids=list(said["nodes"]))
    assert {node.node_id: [node.class_name(), node.to_dict()] for node in nodes} == said["nodes"]

    def find(query: str) -> Sequence[str]:
        vector = HTMEmbeddings(moved.memory).embed_query(query)
        return store.query(VectorStoreQuery(vector, similarity_top_k=10)).ids or ()

    assert share(said["found"], find) >= LEAST


def test_langgraphs_items_and_threads_are_the_same_and_found_by_the_same_searches(
    moved: Moved,
) -> None:
    said = moved.said["langgraph"]
    model = HTMEmbeddings(moved.memory)
    store = HTMStore(
        memory=moved.memory, index={"dims": fill.DIMENSION, "embed": model, "fields": ["text"]}
    )
    found = {
        (each.namespace, each.key): [each.value, each.created_at, each.updated_at]
        for each in store.search((), limit=999)
    }
    assert found == {
        (tuple(at), key): [value, datetime.fromisoformat(made), datetime.fromisoformat(put)]
        for at, key, value, made, put in said["items"]
    }
    items = moved.memory.collection("store", kind="langgraph", embedder=model)  # type: ignore[call-arg]
    assert (
        share(
            said["found"],
            lambda query: [
                hit.item.id
                for hit in items.query(query, mode="vector", namespace=("users",), limit=10)
            ],
        )
        >= LEAST
    )
    for thread, messages in said["threads"].items():
        assert messages_to_dict(HTMChatMessageHistory(thread, moved.memory).messages) == messages


def recalled(memory: Memory, texts: Sequence[str]) -> Callable[[str], Sequence[str]]:
    """Which of these texts a memory finds first by vector."""

    def find(query: str) -> Sequence[str]:
        hits = memory.recall(query, limit=200, mode="vector", hold=False)
        return [hit.content for hit in hits if hit.content in texts][:10]

    return find


def test_mem0s_memories_are_the_same_and_found_by_the_same_searches(moved: Moved) -> None:
    said = moved.said["mem0"]
    for user in ("ann", "ben"):
        found = {each.content: each for each in moved.memory.of(user=user).timeline(limit=999)}
        for each in said[user]:
            mention = found[each["memory"]]
            assert mention.at == datetime.fromisoformat(each["updated_at"] or each["created_at"])
            assert mention.metadata.items() >= (each["metadata"] or {}).items()
    assert share(said["found"], recalled(moved.memory.of(user="eve"), fill.MEM0_TEXTS)) >= LEAST


def test_mempalaces_drawers_are_in_their_rooms_and_found_by_the_same_searches(moved: Moved) -> None:
    said = moved.said["mempalace"]
    placed = {
        each.content: (each.room, each.drawer) for each in Palace(moved.memory).look(limit=999)
    }
    known = {each.content: each for each in moved.memory.timeline(session="mempalace", limit=999)}
    for text, about in said["drawers"].values():
        assert placed[text] == (about["wing"].replace(":", "_"), about["room"])
        assert known[text].at == datetime.fromisoformat(about["filed_at"]).astimezone()
        assert (
            known[text].metadata.items()
            >= {k: v for k, v in about.items() if k != "filed_at"}.items()
        )
    assert share(said["found"], recalled(moved.memory, fill.TEXTS)) >= LEAST


def test_the_gems_memories_are_the_same_and_found_by_the_same_searches(moved: Moved) -> None:
    [table] = [each for each in moved.report["tables"] if each["kind"] == "ruby-htm"]
    assert table["model"] == moved.memory._engine.embedder.name  # so that its vectors were kept
    found = {
        each.content: each.metadata["at"] for each in moved.memory.timeline(robot="Ruby", limit=999)
    }
    assert found == {text: at for at, text in enumerate(fill.TEXTS)}
    assert share(moved.said["ruby_htm"], recalled(moved.memory, fill.TEXTS)) >= LEAST


# -- files ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(filled: Filled, url: str | None) -> Iterator[Callable[..., Memory]]:
    """Imports a file twice; gives the memory that it is in, after the second time changed nothing."""
    made = []

    def move(name: str, rows: int, *options: str, **of: Any) -> Memory:
        tenant = f"files-{uuid.uuid4().hex[:8]}"
        [first] = filled.run(tenant, filled.folder / name, *options)["files"]
        assert (first["imported"], first["changed"], first["known"], first["skipped"]) == (
            rows,
            0,
            0,
            0,
        )
        [again] = filled.run(tenant, filled.folder / name, *options)["files"]
        assert (again["imported"], again["changed"], again["known"], again["skipped"]) == (
            0,
            0,
            rows,
            0,
        )
        settings = SETTINGS.model_copy(update={"worker": "off"})
        made.append(Memory(url=url, tenant=tenant, settings=settings, **of))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTM_MODEL_DIR", filled.environment["HTM_MODEL_DIR"])
        yield move
    for memory in made:
        memory.close()


def test_a_simple_chat_store_keeps_every_message_in_its_order(
    files: Callable[..., Memory], filled: Filled
) -> None:
    memory = files("chat_store.json", 2 * fill.TURNS, "--no-wait")
    for key, said in filled.said["chat_store"].items():
        found = [(each.role, each.content) for each in memory.timeline(session=key, limit=999)]
        assert found == [(each["role"], each["blocks"][0]["text"]) for each in said]


def test_an_export_of_mem0_is_the_same_as_its_table(
    files: Callable[..., Memory], filled: Filled
) -> None:
    memory = files("mem0.json", TEXTS, "--user", "eve", "--no-wait", user="eve")
    exported = json.loads((filled.folder / "mem0.json").read_text())["results"]
    found = {each.content: each for each in memory.timeline(limit=999)}
    assert len(found) == len(exported) == TEXTS
    for each in exported:
        assert found[each["memory"]].at == datetime.fromisoformat(
            each["updated_at"] or each["created_at"]
        )


def test_a_palace_in_files_is_in_its_rooms_and_found_by_the_same_searches(
    files: Callable[..., Memory], filled: Filled
) -> None:
    memory, said = files("palace", TEXTS), filled.said["mempalace_folder"]
    palace = Palace(memory)
    assert palace.identity() == "I am the town's memory."
    placed = {each.content: (each.room, each.drawer) for each in palace.look(limit=999)}
    known = {
        each.content: each.metadata for each in memory.timeline(session="mempalace", limit=999)
    }
    for text, about in said["drawers"].values():
        assert placed[text] == (about["wing"], about["room"])
        assert (
            known[text].items()
            >= {k: v for k, v in about.items() if k != "filed_at" and v not in (None, "")}.items()
        )
    assert share(said["found"], recalled(memory, fill.TEXTS)) >= LEAST


# -- killed ---------------------------------------------------------------------------------------------------------------


WRITTEN = ("nodes", "mentions", "documents")
STORED = {
    "documents": """
        select c.name, d.namespace, d.id, d.content, d.value, d.metadata, md5(d.payload), d.reference, d.ttl,
               (select array_agg(p.embedding::text order by p.ordinal) from document_passages p
                where p.tenant = d.tenant and p.document = d.uid)
        from documents d join collections c on c.tenant = d.tenant and c.id = d.collection
        where d.tenant = %s order by 1, 2, 3""",
    # The messages of LlamaIndex's chats have no time of their own.
    "mentions": """
        select m.owner, m.session, m.external_id, m.robot, m.log_position, m.role, m.name, n.content, m.content, m.metadata,
               md5(m.payload), case when m.session not in ('ines', 'jonas') then m.at end
        from mentions m left join nodes n on n.tenant = m.tenant and n.id = m.node_id
        where m.tenant = %s order by 1, 2, 3, 4, 5""",
}


def stored(admin: str, tenant: str) -> dict[str, list[Any]]:
    """All that an import has written."""
    with psycopg.connect(
        admin, options=f"-c search_path={SETTINGS.schema_},pgvector,public"
    ) as connection:
        return {
            name: connection.execute(statement, (tenant,)).fetchall()
            for name, statement in STORED.items()
        }


@contextmanager
def nothing_can_be_written(admin: str) -> Iterator[Callable[[], bool]]:
    """Makes whoever writes wait; gives a function that says whether somebody does."""
    tables = [f"{SETTINGS.schema_}.{name}" for name in WRITTEN]
    with psycopg.connect(admin) as locking, psycopg.connect(admin, autocommit=True) as looking:
        locking.execute(f"lock table {', '.join(tables)} in share mode")
        question = (
            "select count(*) from pg_locks where not granted and relation = any(%s::regclass[])"
        )
        yield lambda: looking.execute(question, (tables,)).fetchone() != (0,)


def kill(running: subprocess.Popen[str], admin: str) -> None:
    """SIGKILL in the middle of the transaction that writes the second batch of the next table."""
    assert running.stdin is not None
    assert running.stdout is not None
    words, _, number = running.stdout.readline().partition(" ")
    assert words == "stopped", running.stderr and running.stderr.read()
    with nothing_can_be_written(admin) as somebody_waits:
        running.stdin.write("\n")
        running.stdin.flush()
        deadline = time.monotonic() + 60
        while not somebody_waits():
            assert time.monotonic() < deadline, "it never wrote the second batch"
            time.sleep(0.01)
        os.kill(int(number), signal.SIGKILL)
        assert running.stdout.readline() == f"ended {-signal.SIGKILL}\n"


def test_killed_inside_each_table_it_goes_on_and_all_is_as_without_a_kill(
    moved: Moved, filled: Filled, database_url: str
) -> None:
    tenant = f"killed-{uuid.uuid4().hex[:8]}"
    sources, rows = (address_of(filled.dsn), "--no-wait"), list(ROWS.values())
    program = ("tests.importers.stopping", str(len(rows)))
    with filled.start(tenant, *sources, program=program) as running:
        for part, name in enumerate(ROWS):
            kill(running, database_url)
            there = sum(map(len, stored(database_url, tenant).values()))
            assert there == sum(rows[:part]) + 20, name
    *before, (name, last) = counted(filled.run(tenant, address_of(filled.dsn), "--no-wait")).items()
    assert dict(before) == {each: (0, 0, count, 0) for each, count in list(ROWS.items())[:-1]}
    assert (name, last) == ("ruby-htm nodes", (rows[-1] - 20, 0, 20, 0))
    found, unbroken = stored(database_url, tenant), stored(database_url, moved.memory.tenant)
    assert found["documents"] == unbroken["documents"]
    assert found["mentions"] == unbroken["mentions"]
