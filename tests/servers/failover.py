"""A primary and a replica that change places, and writers, workers and a group that go on meanwhile."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urlencode
from uuid import uuid4

from htm_core import HTMError, Memory, Mention, Settings, shutdown
from tests.servers.authority import Certificate
from tests.servers.cluster import APP, HOST, PASSWORD, PATIENCE, Cluster, own
from tests.servers.programs import Programs
from tests.servers.replica import promote, replica_of
from tests.stand_ins import HashEmbedder

STEADY = 0.5  # seconds of writing between two kills
PAUSE = 0.02  # seconds between two sayings of a writer


@dataclass(frozen=True, slots=True)
class UnderFire:
    """What was written while primaries were killed, and what became of it."""

    acknowledged: int
    refused: int  # calls that raised, and were repeated with the same id
    lost: list[str]
    doubled: list[str]
    vectors_missing: int
    jobs_left: int  # that workers had not done in five minutes after the last kill
    embedded_again: (
        int  # texts that a model was given more than once: work done twice, and stored once
    )
    group_goes_on: bool  # whether a member of a group still hears of what another one says
    recovery_seconds: list[float]  # from each kill to the next write that was acknowledged


class TakesOver(Protocol):
    """Servers of which one takes over when the primary dies."""

    def fail_over(self) -> tuple[float, float]:
        """Kill the primary; gives when that was, and when it was dead for certain. Another one takes over, soon or at once."""

    def repair(self) -> None:
        """Give the new primary its replicas again."""


class CountingEmbedder(HashEmbedder):
    """Knows how often it was given each text."""

    def __init__(self) -> None:
        super().__init__()
        self.given: Counter[str] = Counter()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        with self._counting:
            self.given.update(texts)
        return super().embed_documents(texts)


class Pair:
    """Two addresses, of which one is the primary. The url of an application names both."""

    def __init__(
        self, of: Programs, premises: Path, trusted: Certificate, *, synchronous: bool = True
    ) -> None:
        self._premises, self._synchronous = premises, synchronous
        folder = premises / f"pair-{uuid4().hex[:8]}"
        folder.mkdir(mode=0o755)
        own(folder)
        self.primary = Cluster(of, folder, trusted)
        self.primary.build()
        self.primary.start()
        self.primary.prepare()
        self.replica = replica_of(self.primary, premises, synchronous=synchronous)
        self._ports = (self.primary.port, self.replica.port)

    @property
    def dsn(self) -> str:
        """The application's url: both addresses, and a server that takes writes."""
        hosts = ",".join(f"{HOST}:{port}" for port in self._ports)
        asked = {
            "sslmode": "verify-full", "sslrootcert": str(self.primary.authority.certificate), "connect_timeout": "2",
            "target_session_attrs": "read-write",
        }  # fmt: skip
        return f"postgresql://{APP}:{quote(PASSWORD, safe='')}@{hosts}/htm?{urlencode(asked)}"

    def fail_over(self) -> tuple[float, float]:
        """Kill the primary and promote its replica; gives when it was killed, and when it was dead for certain."""
        killed = time.monotonic()
        self.primary.kill()
        dead = time.monotonic()
        promote(self.replica)
        return killed, dead

    def repair(self) -> None:
        """Give the new primary a replica at the address of the one that died, and wait for it with each commit."""
        dead, self.primary = self.primary, self.replica
        dead.remove()
        self.replica = replica_of(
            self.primary, self._premises, synchronous=self._synchronous, port=dead.port
        )

    def remove(self) -> None:
        """Stop both, and leave nothing of them."""
        self.replica.remove()
        self.primary.remove()


@dataclass(slots=True)
class _Writer:
    """One thread that says one thing after another, each until it is acknowledged."""

    memory: Memory
    name: str
    pause: float
    acknowledged: list[str] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    refused: int = 0

    def write(self, over: threading.Event) -> None:
        """Write until it is over."""
        number = 0
        while not over.is_set():
            text = f"{self.name} says {number}"
            try:
                self.memory.remember(text, id=text, session=self.name)
            except HTMError:
                self.refused += 1
                time.sleep(0.05)
                continue
            self.acknowledged.append(text)
            self.at.append(time.monotonic())
            number += 1
            time.sleep(self.pause)


def write_under_fire(
    servers: TakesOver, url: str, *, kills: int, writers: int, pause: float = PAUSE
) -> UnderFire:
    """Kill one primary after the other under so many writers, then compare what was acknowledged with what is there.

    Beside the writers two workers share the jobs, and two robots are a group. `pause` is between two sayings of a writer, in seconds.
    """
    tenant, over, embedder = f"fire-{uuid4().hex[:8]}", threading.Event(), CountingEmbedder()
    settings = Settings(pool_timeout=5.0, verb_timeout=20.0, worker_lease=2.0)
    # Other settings are another pool and another worker, as in a process of its own.
    elsewhere = settings.model_copy(update={"verb_timeout": 19.0})
    with (
        Memory(url=url, tenant=tenant, embedder=embedder, settings=settings) as memory,
        Memory(
            "atlas", url=url, tenant=tenant, session="team", embedder=embedder, settings=settings
        ) as atlas,
        Memory(
            "juno", url=url, tenant=tenant, session="team", embedder=embedder, settings=elsewhere
        ) as juno,
    ):
        memory.remember("before", id="before")
        atlas.group("team", lease=600)
        juno.group("team", lease=600)
        assert is_heard(atlas, juno, "Before the first primary dies.")
        made = [_Writer(memory, f"writer {number}", pause) for number in range(writers)]
        threads = [threading.Thread(target=each.write, args=(over,)) for each in made]
        for thread in threads:
            thread.start()
        recovery = []
        try:
            for _ in range(kills):
                time.sleep(STEADY)
                killed, dead = servers.fail_over()
                recovery.append(_first_after(made, dead) - killed)
                servers.repair()
            time.sleep(STEADY)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        group_goes_on = is_heard(atlas, juno, "After the last primary has died.")
        memory.flush(timeout=300)
        stats = memory.stats()
        there = Counter(
            mention.content
            for each in made
            for mention in _whole_timeline(memory, session=each.name)
        )
    shutdown()
    acknowledged = [text for each in made for text in each.acknowledged]
    return UnderFire(
        acknowledged=len(acknowledged),
        refused=sum(each.refused for each in made),
        lost=[text for text in acknowledged if not there[text]],
        doubled=[text for text, count in there.items() if count > 1],
        vectors_missing=stats.passages - stats.vectors,
        jobs_left=stats.pending_jobs,
        embedded_again=sum(count > 1 for count in embedder.given.values()),
        group_goes_on=group_goes_on,
        recovery_seconds=recovery,
    )


def is_heard(speaker: Memory, listener: Memory, text: str) -> bool:
    """Whether what one member of a group says is soon in the working memory that the other one shares with it."""
    speaker.remember(text, id=text)
    deadline = time.monotonic() + PATIENCE
    while not any(item.content == text for item in listener.working.items):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _first_after(writers: list[_Writer], moment: float) -> float:
    """When a write was first acknowledged after a moment."""
    deadline = time.monotonic() + PATIENCE
    while True:
        later = [at for each in writers for at in each.at[-200:] if at > moment]
        if later:
            return min(later)
        assert time.monotonic() < deadline, "no writer found the new primary"
        time.sleep(0.01)


def _whole_timeline(memory: Memory, *, session: str) -> list[Mention]:
    found = memory.timeline(session=session, limit=1000)
    while found and (earlier := memory.timeline(session=session, limit=1000, before=found[0])):
        found = earlier + found
    return found
