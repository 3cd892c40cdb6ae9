"""Many clients of `htm serve` at once: errors, throughput, times of answers, and the memory of the server.

    python -m benchmarks.serve --clients 200 --seconds 60

Starts `htm serve` as a process of its own, on the private PostgreSQL under HTM_HOME, for a tenant of its own. Of ten requests seven
recall, two remember and one reads a timeline. Each client has a session of its own, waits for an answer before it asks again, and
obeys `Retry-After`. Memory is the server process's resident set.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field

import httpx
import psutil

from htm_core.client.requests import AGAIN, waiting

PARTS = 4  # of the time, to see whether the server's memory is steady

WORDS = [
    "tea",
    "ferry",
    "boiler",
    "violin",
    "harbour",
    "passport",
    "garden",
    "invoice",
    "doctor",
    "train",
    "summer",
    "recipe",
    "bicycle",
    "letter",
    "winter",
    "lamp",
]


RETRIES = 5


@dataclass
class Counts:
    """Outcomes of the requests. Times are in seconds, from the first try to the answer."""

    times: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(
        default_factory=Counter
    )  # answers after which the request was sent again
    seconds: float = 0.0

    def percentile(self, share: float) -> float:
        """The time, in milliseconds, within which this share of the requests was answered."""
        return 1_000 * sorted(self.times)[min(len(self.times) - 1, int(len(self.times) * share))]


async def client(url: str, number: int, until: float, counts: Counts) -> None:
    """Ask until the time is over, over a connection of its own.

    A pool that all clients share compares each request with each connection: with 200 of both it took longer than the server.
    """
    async with httpx.AsyncClient(
        base_url=url, timeout=60, verify=False
    ) as http:  # no TLS to verify: it is this machine
        await ask(http, number, until, counts)


async def ask(http: httpx.AsyncClient, number: int, until: float, counts: Counts) -> None:
    """Recall, remember and read until the time is over."""
    chance = random.Random(number)
    headers = {"HTM-Session": f"session-{number}"}
    while time.monotonic() < until:
        draw, text = chance.random(), " ".join(chance.choices(WORDS, k=6))
        if draw < 0.7:
            request = http.build_request(
                "POST", "/v1/recall", json={"query": text, "limit": 5}, headers=headers
            )
        elif draw < 0.9:
            named = headers | {"Idempotency-Key": str(uuid.uuid4())}
            body = {"content": f"{text} {uuid.uuid4().hex}"}
            request = http.build_request("POST", "/v1/remember", json=body, headers=named)
        else:
            request = http.build_request(
                "GET", "/v1/timeline", params={"limit": 20}, headers=headers
            )
        began = time.perf_counter()
        counts.answers[await answer_to(http, request, counts)] += 1
        counts.times.append(time.perf_counter() - began)


async def answer_to(http: httpx.AsyncClient, request: httpx.Request, counts: Counts) -> str:
    """The status of the answer; a refusal for want of time is obeyed as `htm_core.client` does, and the request sent again."""
    for attempt in range(RETRIES + 1):
        try:
            answer = await http.send(request)
        except httpx.TransportError as error:
            return type(error).__name__
        if answer.status_code not in AGAIN or attempt == RETRIES:
            break
        counts.again[str(answer.status_code)] += 1
        await asyncio.sleep(waiting(answer.headers.get("retry-after"), attempt))
    return str(answer.status_code)


async def load(url: str, clients: int, seconds: float) -> Counts:
    """Run the clients, and give their times and answers."""
    counts, began = Counts(), time.monotonic()
    await asyncio.gather(
        *(client(url, number, began + seconds, counts) for number in range(clients))
    )
    counts.seconds = time.monotonic() - began
    return counts


def started(port: int, tenant: str) -> subprocess.Popen[bytes]:
    """A server that is ready."""
    options = ["--no-auth", "--tenant", tenant, "--port", str(port), "--rate", "0", "--drain", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "htm_core.cli", "serve", *options],
        env=os.environ,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(600):
        try:
            if httpx.get(f"http://127.0.0.1:{port}/ready").status_code == 200:
                return process
        except httpx.TransportError:
            time.sleep(0.1)
    process.kill()
    raise SystemExit("expected htm serve to be ready within a minute, it was not")


def main() -> None:
    """Start a server, load it, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = started(port, f"load-{uuid.uuid4().hex[:8]}")
    url, server = f"http://127.0.0.1:{port}", psutil.Process(process.pid)
    sizes: list[int] = []
    try:
        asyncio.run(
            load(url, options.clients, 5.0)
        )  # what is loaded once, and a session of each client
        begun, cpu = time.strftime("%H:%M"), sum(server.cpu_times()[:2])
        parts = []
        for _ in range(PARTS):
            sizes.append(server.memory_info().rss)
            parts.append(asyncio.run(load(url, options.clients, options.seconds / PARTS)))
        sizes.append(server.memory_info().rss)
        cpu = sum(server.cpu_times()[:2]) - cpu
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    report(options.clients, parts, sizes, cpu)
    print(
        f"load         {os.getloadavg()[0]:.1f} at the end, on {os.cpu_count()} cores; begun at {begun}"
    )


def report(clients: int, parts: list[Counts], sizes: list[int], cpu: float) -> None:
    """Print the table."""
    whole = Counts(seconds=sum(part.seconds for part in parts))
    for part in parts:
        whole.times += part.times
        whole.answers += part.answers
        whole.again += part.again
    requests = len(whole.times)
    errors = requests - whole.answers["200"]
    print(f"clients      {clients}")
    print(
        f"requests     {requests:,} in {whole.seconds:.1f} s: {requests / whole.seconds:,.1f} a second"
    )
    print(f"errors       {errors}  {dict(whole.answers)}")
    print(f"sent again   {whole.again.total()}  {dict(whole.again)}")
    print(f"p50, p95     {whole.percentile(0.5):,.0f} ms, {whole.percentile(0.95):,.0f} ms")
    print(f"server's CPU {1_000 * cpu / requests:.1f} ms a request, PostgreSQL not included")
    print(
        f"memory       {', '.join(f'{size / 1e6:,.0f}' for size in sizes)} MB: before, and after each part"
    )


if __name__ == "__main__":
    main()
