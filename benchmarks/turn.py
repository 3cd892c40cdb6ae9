"""Measure one turn of an agent as its user has it, with an instant model, beside agents with other memories and with none.

    python -m benchmarks.turn --memories 1000 5000 --turns 60

The arms take turns in one process, on one PostgreSQL over TCP, with the embedded model. Each turn asks another question of a
user who has so many memories in sessions with roles and names. A row has p50 and p95 in milliseconds, the CPU time of the process
and of PostgreSQL for each turn, and the round trips to the server: how often the program spoke after an answer. Behind the table
stands the time of one embedding of a question in the same run, and what a turn with each memory costs beyond one without, in
such embeddings.
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
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import psutil
import psycopg
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from psycopg.conninfo import make_conninfo
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
Turn = Callable[[str], object]


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
    arguments = parser.parse_args()
    for memories in arguments.memories:
        with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
            os.environ["HTM_HOME"] = home
            with temporary_server() as dsn:
                Console(width=120).print(measured(dsn, memories=memories, turns=arguments.turns))


def measured(dsn: str, *, memories: int, turns: int) -> Table:
    """The table of one size."""
    embedder = resolve("minilm")
    with ExitStack() as stack:
        proxy = stack.enter_context(Proxy(dsn))
        stack.callback(shutdown)  # before the proxy ends
        filled(dsn, memories)
        arms = arms_of(proxy.dsn, embedder, memories, stack)
        taken: defaultdict[str, Taken] = defaultdict(Taken)
        embeddings = []
        for number, question in enumerate(
            track(list(itertools.islice(questions(), WARM + turns)), description=f"{memories:,}")
        ):
            began = time.perf_counter()
            embedder.query(f"{question} {uuid.uuid4()}")
            embeddings.append((time.perf_counter() - began) * 1e3)
            for name, turn in arms.items():
                before, here, trips = cpu_seconds(postgres()), time.process_time(), proxy.trips
                began = time.perf_counter()
                turn(question)
                wall = (time.perf_counter() - began) * 1e3
                time.sleep(BEHIND)  # what is written behind the reply belongs to the turn
                if number >= WARM:
                    taken[name].wall.append(wall)
                    taken[name].here.append((time.process_time() - here) * 1e3)
                    taken[name].server.append((cpu_seconds(postgres()) - before) * 1e3)
                    taken[name].trips.append(proxy.trips - trips)
    return drawn(taken, memories=memories, embedding=statistics.median(embeddings))


def filled(dsn: str, memories: int) -> None:
    """Give the user as many memories: the sample's conversation, over and over, each time at another place."""
    with Memory("ferry", url=dsn, tenant=TENANT, user=USER, settings=Settings()) as memory:
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


def questions() -> Iterator[str]:
    """Questions about what was said, each another one."""
    asked = (
        "What did we pay for the boat?", "Where does she lie in winter?", "Who looked at the mast?",
        "What does Ines think of the engine?", "When is the survey?", "Which paint did we choose?",
        "What was wrong with the rudder?", "Who has the key of the yard?",
    )  # fmt: skip
    for number in itertools.count():
        yield f"{asked[number % len(asked)]} At {PLACES[number // len(asked) % len(PLACES)]}?"


def arms_of(
    dsn: str, embedder: CheckedEmbedder, memories: int, stack: ExitStack
) -> dict[str, Turn]:
    """Each arm with what does one turn of it."""
    memory = Memory("ferry", url=dsn, tenant=TENANT)
    palace = Palace(memory.of(user=USER))
    palace.file("She lies ashore in winter.", room="projects", drawer="boat")
    return {
        "an agent without memory": langchain_turn(create_agent(instant())),
        "LangGraph's PostgresStore, searched before and put after": store_turn(
            dsn, embedder, memories, stack
        ),
        "HTMMemoryMiddleware": langchain_turn(
            create_agent(instant(), middleware=[HTMMemoryMiddleware(memory)])
        ),
        "HTMMemoryMiddleware with a palace": langchain_turn(
            create_agent(instant(), middleware=[HTMMemoryMiddleware(memory, palace=palace)])
        ),
        **llamaindex_turns(memory),
    }


def langchain_turn(agent: Any) -> Turn:
    """A turn of an agent: one question, one answer, in one thread."""
    thread = {"configurable": {"thread_id": str(uuid.uuid4()), "user_id": USER}}
    return lambda question: agent.invoke({"messages": [("user", question)]}, thread)


def store_turn(dsn: str, embedder: CheckedEmbedder, memories: int, stack: ExitStack) -> Turn:
    """LangGraph's store by hand, as its page on memory has it: search before the model, put after it."""
    from langgraph.store.postgres import PostgresStore

    def embed(texts: Any) -> list[list[float]]:
        return [list(vector) for vector in embedder.documents(list(texts))]

    with psycopg.connect(
        dsn, autocommit=True
    ) as connection:  # its extension has a place of its own
        connection.execute("create database langgraph")
    own = make_conninfo(dsn, dbname="langgraph")
    opened: Any = PostgresStore.from_conn_string(own, index={"dims": 384, "embed": embed})
    store = stack.enter_context(opened)
    store.setup()
    for turn in itertools.islice(turns_of_years(), memories):
        store.put(("memories", USER), str(uuid.uuid4()), {"data": turn["content"]})
    agent: Any = create_agent(instant())

    def turn_of(question: str) -> object:
        items = store.search(("memories", USER), query=question, limit=8)
        info = "\n".join(each.value["data"] for each in items)
        answer = agent.invoke({"messages": [("system", f"User info: {info}"), ("user", question)]})
        store.put(("memories", USER), str(uuid.uuid4()), {"data": question})
        return answer

    return turn_of


def llamaindex_turns(memory: Memory) -> dict[str, Turn]:
    """LlamaIndex's chat engine with its own memory, and with ours."""
    from llama_index.core.chat_engine import SimpleChatEngine
    from llama_index.core.llms.mock import MockLLM
    from llama_index.core.memory import Memory as OwnMemory

    from htm_llamaindex import HTMMemory

    def engine(chosen: Any) -> Turn:
        chat = SimpleChatEngine.from_defaults(llm=MockLLM(max_tokens=4), memory=chosen)
        return chat.chat

    return {
        "LlamaIndex's chat engine with its own Memory": engine(OwnMemory.from_defaults("turns")),
        "LlamaIndex's chat engine with HTMMemory": engine(
            HTMMemory.from_defaults("turns", memory.of(user=USER))
        ),
    }


def postgres() -> list[psutil.Process]:
    """The processes of PostgreSQL on this machine."""
    return [each for each in psutil.process_iter(["name"]) if each.info["name"] == "postgres"]


def drawn(taken: Mapping[str, Taken], *, memories: int, embedding: float) -> Table:
    """The table of what was taken."""
    table = Table(
        title=f"one turn, {memories:,} memories of a user; one embedding of a question {embedding:.1f} ms",
        caption="embeddings: a turn's time beyond the same framework's without long-term memory",
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
            f"{statistics.median(each.trips):.0f}", f"{own / embedding:.1f}" if own > 0 else "",
        )  # fmt: skip
    return table


if __name__ == "__main__":
    main()
