"""Writers and readers of tenants that are moved meanwhile: which calls failed, and what is there of what was acknowledged."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from htm_core import Memory

PAUSE = 0.2  # seconds until a writer whose call failed goes on
MOST_SHOWN = 5  # different errors
CALM, DISTURBED = "else", "while a node was down"


@dataclass(slots=True)
class Comparison:
    """Contents of the tenants at the end, beside what was acknowledged to the writers."""

    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    unsaid: int = 0  # written though the call had failed
    foreign: int = 0  # memories of another tenant that a call or a list gave


@dataclass(slots=True)
class MovingWriters:
    """Threads that remember and recall for tenants at random until the moves are over.

    A call has failed when it raised an error, whatever became of its memory; it is counted by its kind, and again when nothing
    was `disturbed` from its beginning to its end. A memory that its own writer does not find at once is missing.
    """

    open: Callable[[str], Memory]  # the memory of a tenant
    tenants: Sequence[str]
    disturbed: threading.Event = field(default_factory=threading.Event)
    acknowledged: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    foreign: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    undisturbed: list[str] = field(
        default_factory=list
    )  # the errors of calls during which nothing was disturbed
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def said(self) -> int:
        """Number of memories that were acknowledged until now."""
        return sum(map(len, self.acknowledged.values()))

    def fill(self, tenant: str, memories: int) -> None:
        """Give a tenant what it has at the beginning."""
        texts = [f"{tenant} said number {number} at first." for number in range(memories)]
        with self.open(tenant) as memory:
            memory.remember_many([{"content": text} for text in texts])
        self.acknowledged[tenant] += texts

    @contextlib.contextmanager
    def running(self, writers: int) -> Iterator[None]:
        """So many threads that write and read."""
        over = threading.Event()
        threads = [
            threading.Thread(target=self._write, args=(number, over)) for number in range(writers)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join(120)

    def _write(self, number: int, over: threading.Event) -> None:
        chance, count = random.Random(number), 0
        memories = {tenant: self.open(tenant) for tenant in self.tenants}
        while not over.is_set():
            tenant = chance.choice(self.tenants)
            text = f"{tenant} said number {count} to writer {number}."
            count += 1
            began, disturbed = time.monotonic(), self.disturbed.is_set()
            try:
                memories[tenant].remember(text)
                self.acknowledged[tenant].append(text)
                contents = [
                    hit.content
                    for hit in memories[tenant].recall(text, mode="text", limit=5, hold=False)
                ]
            except Exception as error:
                self.failed[type(error).__name__] += 1
                if not (disturbed or self.disturbed.is_set()):
                    self.undisturbed.append(f"{type(error).__name__}: {error}")
                time.sleep(PAUSE)
                continue
            when = DISTURBED if disturbed or self.disturbed.is_set() else CALM
            self.seconds[when].append(time.monotonic() - began)
            self.foreign += [
                content for content in contents if not content.startswith(f"{tenant} ")
            ]
            if text not in contents:
                self.missing.append(text)

    def compare(self) -> Comparison:
        """List every tenant and compare it with what was acknowledged."""
        compared = Comparison(acknowledged=self.said)
        for tenant in self.tenants:
            with self.open(tenant) as memory:
                here, after = [], None
                while page := memory.list(limit=1000, after=after):
                    here += [node.content for node in page]
                    after = page[-1].id
            acknowledged = set(self.acknowledged[tenant])
            compared.lost += len(acknowledged - set(here))
            compared.doubled += len(here) - len(set(here))
            compared.unsaid += len(
                {text for text in here if text.startswith(f"{tenant} ")} - acknowledged
            )
            compared.foreign += sum(not text.startswith(f"{tenant} ") for text in here)
        compared.foreign += len(self.foreign)
        return compared

    def report(self) -> Iterator[str]:
        """Report the memories and the calls, in lines."""
        state = self.compare()
        yield (
            f"acknowledged {state.acknowledged:,}, lost {state.lost}, doubled {state.doubled}, of another tenant {state.foreign}, "
            f"written though the call had failed {state.unsaid}"
        )
        yield (
            f"calls that failed {self.failed.total()} {dict(self.failed)}, of them while nothing was disturbed "
            f"{len(self.undisturbed)}; not found at once {len(self.missing)}"
        )
        yield from (f"  {each}" for each in sorted(set(self.undisturbed))[:MOST_SHOWN])
        for when, seconds in self.seconds.items():
            calls = sorted(seconds)
            yield (
                f"remember and recall, {when}: {len(calls):,}, p50 {1000 * calls[len(calls) // 2]:.0f} ms, "
                f"p99 {1000 * calls[int(len(calls) * 0.99)]:.0f} ms, longest {calls[-1]:.2f} s"
            )
