"""Time of each page of the inspector at many memories, over HTTP, in milliseconds.

    python -m benchmarks.inspector --nodes 100000

The memories are one user's, in a fiftieth as many sessions, with 200 tags in 20 branches. Three of four have a vector of 64
dimensions, given with them; the others are pending. The server runs in this process, on the private PostgreSQL of a new home. With
HTM_BENCH_HOME it is that home, which is filled once and kept. Each page is loaded before it is timed, until it has its counts or
its map; what is printed is the median, the slowest, the size, and how long the first load took.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
import numpy as np
import uvicorn

from benchmarks.corpus import START, Corpus
from htm_core import Draft, Memory, Settings, shutdown
from htm_core.inspector.mounted import Inspector, mounted
from htm_core.memory.process import runtime, threads
from htm_core.palace import Palace
from htm_core.serve.app import Application
from htm_core.serve.run import configured
from htm_core.serve.settings import Identity, ServerSettings

BATCH, DIMENSION, TENANT, USER = 1_000, 64, "bench", "ann"
SETTINGS = Settings(worker="off", max_drafts=1_000_000)


class Clustered:
    """A stand-in for a model: vectors near one of 40 centres, at once."""

    model = "clustered-64"

    def __init__(self) -> None:
        self._random = np.random.default_rng(11)
        self._centres = self._random.standard_normal((40, DIMENSION))

    def vector(self) -> list[float]:
        """A unit vector near a centre."""
        point = self._centres[self._random.integers(40)] + 0.7 * self._random.standard_normal(
            DIMENSION
        )
        return [float(part) for part in point / np.linalg.norm(point)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Give a vector for each text."""
        return [self.vector() for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        """Give a vector for a query."""
        del text  # the vector does not depend on it
        return self.vector()


EMBEDDER = Clustered()


def opened(
    robot: str = "bench", user: str | None = USER, tenant: str = TENANT, **options: Any
) -> Memory:
    """A memory of the tenant that is measured."""
    return Memory(robot, tenant=tenant, user=user, embedder=EMBEDDER, settings=SETTINGS, **options)


def fill(nodes: int) -> None:
    """Remember everything, unless a former run has."""
    with opened() as memory:
        if memory.list(limit=1):
            return
        corpus, chance = Corpus(nodes), random.Random(5)
        drafts = (
            Draft(
                content=corpus.sentence(), vector=EMBEDDER.vector() if number % 4 else None,
                role="user" if number % 2 else "assistant",
                at=START + timedelta(days=90 * number / nodes), tags=[f"area{chance.randrange(20)}:topic{chance.randrange(10)}"],
                session=f"session-{number // 50:05}",
            )
            for number in range(nodes)
        )  # fmt: skip
        batch: list[Draft] = []
        for draft in drafts:
            batch.append(draft)
            if len(batch) == BATCH:
                memory.remember_many(batch)
                batch.clear()
        if batch:
            memory.remember_many(batch)
        memory.remember(
            "The launch is in May.", key="launch", tags=["area1:topic1"], session="session-00001"
        )
        memory.revise("launch", "The launch is in June.", tags=["area1:topic1", "area2:topic2"])
        palace = Palace(memory)
        for number in range(200):
            palace.file(
                f"Fact {number} of the palace.",
                room=f"room{number % 5}",
                drawer=f"drawer{number % 20}",
            )
        with runtime(None, SETTINGS).database.owner() as connection:
            connection.execute("vacuum analyze")


@contextmanager
def served() -> Iterator[str]:
    """A server, and the link that signs in."""

    def open_memory(whose: Any, on_event: Any) -> Memory:
        return opened(
            whose.robot,
            user=whose.user,
            tenant=whose.tenant,
            session=whose.session,
            on_event=on_event,
        )

    application = Application(
        ServerSettings(port=0, rate=0.0, drain=0.0, stop_timeout=5.0), database=lambda: runtime(None, SETTINGS).database,
        executor=lambda: threads(SETTINGS), open_memory=open_memory, verb_timeout=SETTINGS.verb_timeout, mounted=[],
    )  # fmt: skip
    who = Identity(tenant=TENANT, user=USER, robot=None, scopes=frozenset(("admin",)))
    inspector = Inspector(application, once=who)
    application.mount(mounted(inspector))
    server = uvicorn.Server(configured(application))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}{inspector.link}"
    server.should_exit = True
    thread.join(10)


PAGES = {
    "Recall, hybrid": "/?q=launch+in+June", "Recall, compared with words alone": "/?q=launch+in+June&compare=1&b_mode=text",
    "Memories": "/memories", "Memories with a tag": "/memories?tags=area1:topic1", "a memory": "/key?name=launch",
    "Sessions": "/sessions", "Timeline": "/timeline", "Timeline of a session": "/timeline?session=session-00001",
    "Working memory": "/working?robot=bench", "Palace": "/palace", "Tags": "/tags", "Tags, one": "/tags?tag=area1:topic1",
    "Tags, drawn": "/tags/graph", "Map": "/map", "Map of 10,000": "/map?most=10000", "Jobs": "/jobs",
    "Growth": "/growth?unit=month", "Users": "/users", "Health": "/health",
}  # fmt: skip


def main() -> None:
    """Fill a memory, and print how long each page takes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--pages", default="", help="only the pages whose names match this pattern")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
        os.chmod(home, 0o755)
        os.environ["HTM_HOME"] = os.environ.get("HTM_BENCH_HOME", home)
        began = time.perf_counter()
        fill(options.nodes)
        print(f"filled in {time.perf_counter() - began:,.0f} s")
        with served() as link, httpx.Client(timeout=120, follow_redirects=True) as client:
            client.get(link)
            base = link.partition("/enter")[0]
            for name, path in PAGES.items():
                if re.search(options.pages, name, re.IGNORECASE):
                    print(timed(client, name, base + path, options.times))
        shutdown()


def timed(client: httpx.Client, name: str, address: str, times: int) -> str:
    """A line for one page."""
    began = time.perf_counter()
    answer = client.get(address)
    first = 1_000 * (time.perf_counter() - began)
    answer.raise_for_status()
    while "data-again" in answer.text:
        time.sleep(0.2)
        answer = client.get(address)
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        client.get(address)
        taken.append(1_000 * (time.perf_counter() - began))
    return f"{name:36} {statistics.median(taken):8,.0f} {max(taken):8,.0f}   {len(answer.content) / 1_000:8,.0f} kB   {first:8,.0f}"


if __name__ == "__main__":
    main()
