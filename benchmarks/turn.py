"""Measure one turn of an agent as its user has it, with an instant model, beside agents with other memories and with none.

    python -m benchmarks.turn --memories 1000 5000 --turns 60

The arms take turns in one process, with the embedded model, on a PostgreSQL of its own over TCP, on the embedded one
(`--server embedded`), or on one that is there, such as behind a PgBouncer (`--server postgresql://...`, of a superuser: the last
is emptied). Each turn asks another question of a user who has so many memories in sessions with roles and names; with `--users`
so many users, each with so many memories, ask at once. A row has p50 and p95 in milliseconds, the CPU time of the process and of
PostgreSQL for each turn, and the round trips to the server of all threads: how often the program spoke after an answer, in turns of
their own. Behind the table stands the time of one embedding of a question in the same run, what a turn with each memory costs
beyond one without, in such embeddings, and the memory of the process.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any

import psutil
import psycopg
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.growth import cpu_seconds
from benchmarks.tcp_server import temporary_server
from htm_core import Memory, Settings, shutdown
from htm_core.cli.samples import conversation
from htm_core.models.embedders import CheckedEmbedder, resolve
from htm_core.palace import Palace
from htm_langchain import HTMMemoryMiddleware
from tests.proxy import Proxy

USER, TENANT = "jonas", "turns"
WARM = 5  # turns of each arm before those that count
BEHIND = 0.7  # seconds for what is written behind a turn: what recall has held waits half a second
PLACES = (
    "Avonmouth",
    "Portishead",
    "Clevedon",
    "Penarth",
    "Barry",
    "Minehead",
    "Watchet",
    "Ilfracombe",
)
Turn = Callable[[str, str], object]  # of a user who asks


def instant() -> GenericFakeChatModel:
    """A chat model that answers at once, always the same."""
    return GenericFakeChatModel(messages=(AIMessage("Noted.") for _ in itertools.count()))


@dataclass
class Taken:
    """What the turns of one arm took: milliseconds, and CPU milliseconds of the process and of PostgreSQL."""

    wall: list[float] = field(default_factory=list)
    here: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)
    trips: list[float] = field(default_factory=list)


def main() -> None:
    """Measure each size, and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 5_000])
    parser.add_argument("--turns", type=int, default=60, help="of each arm, after the first five")
    parser.add_argument("--users", type=int, default=1, help="who ask at once")
    parser.add_argument("--server", default="tcp", help="tcp, embedded, or a DSN")
    arguments = parser.parse_args()
    for memories in arguments.memories:
        with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
            os.environ["HTM_HOME"] = home
            with server(arguments.server) as dsn:
                table = measured(
                    dsn, memories=memories, turns=arguments.turns, users=arguments.users
                )
                Console(width=132).print(table)


@contextmanager
def server(chosen: str) -> Iterator[str]:
    """The DSN of a server: one of its own over TCP, the embedded one, or one that is there."""
    if chosen == "tcp":
        with temporary_server() as dsn:
            yield dsn
    elif chosen == "embedded":
        with Memory("ferry", tenant=TENANT) as memory:
            memory.stats()
            yield memory._engine.database.dsn("htm_app").get_secret_value()
    else:
        with psycopg.connect(chosen, autocommit=True) as connection:
            connection.execute("drop database if exists langgraph")
            connection.execute("drop database if exists turns")
            connection.execute("create database turns")
        yield make_conninfo(chosen, dbname="turns")


def measured(dsn: str, *, memories: int, turns: int, users: int) -> Table:
    """The table of one size."""
    embedder = resolve("minilm")
    names = [f"{USER}-{number}" for number in range(users)]
    asked = questions()
    with ExitStack() as stack:
        stack.callback(shutdown)
        for name in names:
            filled(dsn, memories, user=name)
        arms = arms_of(dsn, embedder, memories, stack)
        taken: defaultdict[str, Taken] = defaultdict(Taken)
        embeddings = []
        pool = stack.enter_context(ThreadPoolExecutor(users))
        for number in track(range(WARM + turns), description=f"{memories:,}"):
            began = time.perf_counter()
            embedder.query(f"{next(asked)} {uuid.uuid4()}")
            embeddings.append((time.perf_counter() - began) * 1e3)
            for arm, turn in arms.items():
                before, here = cpu_seconds(postgres()), time.process_time()
                walls = list(pool.map(partial(timed, turn), names, [next(asked) for _ in names]))
                time.sleep(BEHIND)  # what is written behind the reply belongs to the turn
                if number >= WARM:
                    taken[arm].wall += walls
                    taken[arm].here.append((time.process_time() - here) * 1e3 / users)
                    taken[arm].server.append((cpu_seconds(postgres()) - before) * 1e3 / users)
        if not is_embedded(dsn):  # the proxy is one of TCP
            trips(dsn, embedder, names[0], taken)
    return drawn(taken, memories=memories, users=users, embedding=statistics.median(embeddings))


def is_embedded(dsn: str) -> bool:
    """True if a DSN is the embedded server's, which has no other databases."""
    return str(conninfo_to_dict(dsn).get("host")).startswith("/")


def timed(turn: Turn, user: str, question: str) -> float:
    """The milliseconds of a turn."""
    began = time.perf_counter()
    turn(user, question)
    return (time.perf_counter() - began) * 1e3


def trips(
    dsn: str, embedder: CheckedEmbedder, user: str, taken: Mapping[str, Taken], *, turns: int = 10
) -> None:
    """Count the round trips of some more turns of each arm, through a proxy, which takes time of its own."""
    asked = questions(first=1_000)
    with ExitStack() as stack:
        proxy = stack.enter_context(Proxy(dsn))
        for arm, turn in arms_of(
            proxy.dsn, embedder, 10, stack, database="langgraph_trips"
        ).items():
            for number in range(WARM + turns):
                before = proxy.trips
                turn(user, next(asked))
                time.sleep(BEHIND)
                if number >= WARM:
                    taken[arm].trips.append(proxy.trips - before)
        shutdown()  # before the proxy ends


def filled(dsn: str, memories: int, *, user: str = USER) -> None:
    """Give a user as many memories: the sample's conversation, over and over, each time at another place."""
    with Memory("ferry", url=dsn, tenant=TENANT, user=user, settings=Settings()) as memory:
        drafts = list(itertools.islice(turns_of_years(), memories))
        for start in range(0, len(drafts), 1_000):
            memory.remember_many(drafts[start : start + 1_000])
        memory.flush(timeout=3_600)
        memory.tidy(kinds=["profile"])  # else the worker reads the user's past during the turns


def turns_of_years() -> Iterator[dict[str, Any]]:
    """The turns of the sample, again and again: never the same text twice, each time half a year earlier."""
    for again in itertools.count():
        place = PLACES[again % len(PLACES)]
        for turn in conversation():
            at = datetime.fromisoformat(turn["at"]) - timedelta(days=180 * again)
            text = (
                turn["content"] if not again else f"{turn['content']} That was at {place}, {again}."
            )
            yield turn | {"content": text, "session": f"{turn['session']}-{again}", "at": at}


def questions(first: int = 0) -> Iterator[str]:
    """Questions about what was said, each another one for hundreds of turns."""
    asked = (
        "What did we pay for the boat?", "Where does she lie in winter?", "Who looked at the mast?",
        "What does Ines think of the engine?", "When is the survey?", "Which paint did we choose?",
        "What was wrong with the rudder?", "Who has the key of the yard?",
    )  # fmt: skip
    for number in itertools.count(first):
        place = PLACES[number // len(asked) % len(PLACES)]
        yield f"{asked[number % len(asked)]} At {place}, pier {number}?"


def arms_of(
    dsn: str,
    embedder: CheckedEmbedder,
    memories: int,
    stack: ExitStack,
    *,
    database: str = "langgraph",
) -> dict[str, Turn]:
    """Each arm with what does one turn of it; LangGraph's store has so many memories in a database of its own."""
    memory = Memory("ferry", url=dsn, tenant=TENANT)
    palace = Palace(memory.of(user=f"{USER}-0"))
    palace.file("She lies ashore in winter.", room="projects", drawer="boat")
    store: dict[str, Turn] = {}
    if not is_embedded(dsn):
        store["LangGraph's PostgresStore, searched before and put after"] = store_turn(
            dsn, embedder, memories, stack, database
        )
    return {
        "an agent without memory": langchain_turn(create_agent(instant())),
        **store,
        "HTMMemoryMiddleware": langchain_turn(
            create_agent(instant(), middleware=[HTMMemoryMiddleware(memory)])
        ),
        "HTMMemoryMiddleware with a palace": langchain_turn(
            create_agent(instant(), middleware=[HTMMemoryMiddleware(memory, palace=palace)])
        ),
        **llamaindex_turns(memory),
    }


def langchain_turn(agent: Any) -> Turn:
    """A turn of an agent: one question, one answer, in one thread of each user."""
    thread = str(uuid.uuid4())

    def turn(user: str, question: str) -> object:
        named = {"configurable": {"thread_id": f"{thread}-{user}", "user_id": user}}
        return agent.invoke({"messages": [("user", question)]}, named)

    return turn


def store_turn(
    dsn: str, embedder: CheckedEmbedder, memories: int, stack: ExitStack, database: str
) -> Turn:
    """LangGraph's store by hand, as its page on memory has it: search before the model, put after it."""
    from langgraph.store.postgres import PostgresStore

    def embed(texts: Any) -> list[list[float]]:
        return [list(vector) for vector in embedder.documents(list(texts))]

    with psycopg.connect(
        dsn, autocommit=True
    ) as connection:  # its extension has a place of its own
        connection.execute(f"create database {database}")
    own = make_conninfo(dsn, dbname=database)
    opened: Any = PostgresStore.from_conn_string(
        own, index={"dims": 384, "embed": embed}, pool_config={"min_size": 1, "max_size": 16}
    )
    store = stack.enter_context(opened)
    store.setup()
    for turn in itertools.islice(turns_of_years(), memories):
        store.put(("memories", f"{USER}-0"), str(uuid.uuid4()), {"data": turn["content"]})
    agent: Any = create_agent(instant())

    def turn_of(user: str, question: str) -> object:
        items = store.search(("memories", user), query=question, limit=8)
        info = "\n".join(each.value["data"] for each in items)
        answer = agent.invoke({"messages": [("system", f"User info: {info}"), ("user", question)]})
        store.put(("memories", user), str(uuid.uuid4()), {"data": question})
        return answer

    return turn_of


def llamaindex_turns(memory: Memory) -> dict[str, Turn]:
    """LlamaIndex's chat engine with its own memory, and with ours."""
    from llama_index.core.chat_engine import SimpleChatEngine
    from llama_index.core.llms.mock import MockLLM
    from llama_index.core.memory import Memory as OwnMemory

    from htm_llamaindex import HTMMemory

    def engines(memory_of: Callable[[str], Any]) -> Turn:
        @cache
        def engine(user: str) -> Any:
            return SimpleChatEngine.from_defaults(llm=MockLLM(max_tokens=4), memory=memory_of(user))

        return lambda user, question: engine(user).chat(question)

    session = str(uuid.uuid4())
    return {
        "LlamaIndex's chat engine with its own Memory": engines(OwnMemory.from_defaults),
        "LlamaIndex's chat engine with HTMMemory": engines(
            lambda user: HTMMemory.from_defaults(f"{session}-{user}", memory.of(user=user))
        ),
    }


def postgres() -> list[psutil.Process]:
    """The processes of PostgreSQL on this machine."""
    return [each for each in psutil.process_iter(["name"]) if each.info["name"] == "postgres"]


def drawn(taken: Mapping[str, Taken], *, memories: int, users: int, embedding: float) -> Table:
    """The table of what was taken."""
    table = Table(
        title=f"one turn, {memories:,} memories of a user, {users} at once; one embedding of a question {embedding:.1f} ms",
        caption="embeddings: a turn's time beyond the same framework's without long-term memory; "
        f"this process: {psutil.Process().memory_info().rss / 1e6:.0f} MB",
    )
    table.add_column("arm")
    for name in ("p50 ms", "p95 ms", "CPU here", "CPU server", "round trips", "embeddings"):
        table.add_column(name, justify="right")
    bare = [
        statistics.median(each.wall)
        for name, each in taken.items()
        if name in ("an agent without memory", "LlamaIndex's chat engine with its own Memory")
    ]
    for name, each in taken.items():
        own = statistics.median(each.wall) - bare["LlamaIndex" in name]
        table.add_row(
            name, f"{statistics.median(each.wall):.1f}", f"{sorted(each.wall)[int(0.95 * len(each.wall))]:.1f}",
            f"{statistics.median(each.here):.1f}", f"{statistics.mean(each.server):.1f}",
            f"{statistics.median(each.trips):.0f}" if each.trips else "", f"{own / embedding:.1f}" if own > 0 else "",
        )  # fmt: skip
    return table


if __name__ == "__main__":
    main()
