"""Many clients of `htm serve` at once: errors, throughput, times of answers, and the memory of the server.

    python -m benchmarks.serve --clients 200 --seconds 60

Starts `htm serve` as a process of its own, on the private PostgreSQL under HTM_HOME, for a tenant of its own. Of ten requests seven
recall, two remember and one reads a timeline. Each client waits for an answer before it asks again.
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

import httpx
import psutil

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


async def client(http: httpx.AsyncClient, number: int, until: float, times: list[float], answers: Counter[str]) -> None:
    """Ask until the time is over."""
    chance = random.Random(number)
    headers = {"HTM-Session": f"session-{number}"}
    while time.monotonic() < until:
        draw, text = chance.random(), " ".join(chance.choices(WORDS, k=6))
        began = time.perf_counter()
        try:
            if draw < 0.7:
                answer = await http.post("/v1/recall", json={"query": text, "limit": 5}, headers=headers)
            elif draw < 0.9:
                answer = await http.post(
                    "/v1/remember", json={"content": f"{text} {uuid.uuid4().hex}"}, headers=headers
                )
            else:
                answer = await http.get("/v1/timeline", params={"limit": 20}, headers=headers)
            answers[str(answer.status_code)] += 1
        except httpx.TransportError as error:
            answers[type(error).__name__] += 1
        times.append(time.perf_counter() - began)


async def load(url: str, clients: int, seconds: float) -> tuple[list[float], Counter[str]]:
    """Run the clients, and give their times and answers."""
    times: list[float] = []
    answers: Counter[str] = Counter()
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as http:
        until = time.monotonic() + seconds
        await asyncio.gather(*(client(http, number, until, times, answers) for number in range(clients)))
    return times, answers


def started(port: int, tenant: str) -> subprocess.Popen[bytes]:
    """A server that is ready."""
    options = ["--no-auth", "--tenant", tenant, "--port", str(port), "--rate", "0", "--drain", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "htm_core.cli", "serve", *options], env=os.environ, stderr=subprocess.DEVNULL
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
    try:
        asyncio.run(load(url, min(options.clients, 10), 2.0))  # what is loaded once
        before = server.memory_info().rss
        times, answers = asyncio.run(load(url, options.clients, options.seconds))
        after = server.memory_info().rss
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    times.sort()
    errors = sum(count for answer, count in answers.items() if answer != "200")
    print(f"clients      {options.clients}")
    print(f"requests     {len(times):,} in {options.seconds:g} s: {len(times) / options.seconds:,.0f} a second")
    print(f"errors       {errors}  {dict(answers)}")
    print(f"p50, p95     {1000 * times[len(times) // 2]:,.0f} ms, {1000 * times[int(len(times) * 0.95)]:,.0f} ms")
    print(f"memory       {before / 1e6:,.0f} MB before, {after / 1e6:,.0f} MB after")


if __name__ == "__main__":
    main()
