"""Measure how soon a memory is found that was just said, while many jobs of others wait for the same model.

    python -m benchmarks.first_minute --jobs 100000

Another tenant has so many memories that wait for their vectors, inserted by SQL, and the worker of this process is at work on
them. Then a user says facts, one after another, and asks for each at once in other words. Half of them are said by another
process, which leaves the vectors to this one. Printed is how long `remember` and the recall right after it take, how often that
recall has the fact among its first three hits, how often one for two of its words has, and how long it takes until the fact has its
vector. The last two rows are the same after another user pasted three texts of 28,000 words. Below the table is how many
vectors a second were made meanwhile.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from htm_core import Memory, Settings, shutdown
from htm_core.db.database import Database
from htm_core.models.embedders import resolve
from htm_core.models.minilm import weights

SAMPLE = Path(__file__).resolve().parents[1] / "htm_core/cli/samples/conversation.jsonl"
PARAPHRASES = Path(__file__).with_name("paraphrases.jsonl")
PASTED_WORDS = 28_000
PATIENCE = 120.0  # seconds after which a vector counts as never made

BACKLOG = """
with made as (
  insert into nodes (tenant, id, owner, content, tokens, created_at)
  select 'busy', gen_random_uuid(), '', concat_ws(' ', lines[1 + n %% count], lines[1 + n * 7 %% count], n), 40, now()
  from generate_series(1, %(jobs)s) n, (select %(lines)s::text[] as lines, %(count)s as count) given
  returning tenant, id, owner, content),
states as (
  insert into node_state (tenant, node_id, importance, accessed_at) select tenant, id, 5, now() from made),
texts as (
  insert into passages (tenant, id, node_id, ordinal, owner, starts, stops, length, lexemes, weights, version)
  select tenant, gen_random_uuid(), id, 1, owner, 0, length(content), 40, '', '{}/268435456', 1 from made)
insert into jobs (tenant, kind, model, node_id) select tenant, 'embed', %(model)s, id from made
"""


@dataclass(slots=True)
class Said:
    """Times of one fact, in seconds, and whether recalls right after it had it among the first three.

    The first recall asks in other words, the second with two words of the fact.
    """

    remembering: float
    recalling: float
    is_found: bool
    found_by_words: bool
    until_vector: float


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=100_000, help="that wait for another tenant")
    parser.add_argument("--facts", type=int, default=20, help="said by each process in each half")
    args = parser.parse_args()
    os.environ["HTM_MODEL_DIR"] = str(weights.obtain())
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o755)
        os.environ["HTM_HOME"] = home
        measure(args.jobs, args.facts)
        shutdown()


def measure(waiting: int, facts: int) -> None:
    """Fill the queue, say and ask, and print."""
    pairs = [
        json.loads(line) for line in PARAPHRASES.read_text("utf-8").splitlines() if line.strip()
    ]
    random.Random(7).shuffle(pairs)
    lines = [json.loads(line)["content"] for line in SAMPLE.read_text("utf-8").splitlines()]
    with (
        Memory("bench", tenant="busy") as busy,
        Memory("bench", tenant="quiet", user="ann") as memory,
    ):
        for opened in (busy, memory):
            opened.remember("The server is there, and the tenant.")
            opened.flush()
        busy._runtime.worker.stop()
        database = busy._runtime.database
        with database.owner() as connection:
            values = {
                "lines": lines,
                "count": len(lines),
                "jobs": waiting,
                "model": resolve(None).name,
            }
            connection.execute(BACKLOG, values)
        table = Table(
            title=f"{waiting:,} jobs of another tenant, {facts} facts a row, {os.cpu_count()} cores"
        )
        columns = (
            "remember",
            "recall after it",
            "at most",
            "found at once",
            "by two of its words",
            "until its vector",
            "at most",
        )
        for column in ("", *columns):
            table.add_column(column, justify="right" if column else "left")
        busy._runtime.worker.wake()
        begun, done = time.perf_counter(), vectors(database)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as elsewhere:
            elsewhere.submit(remember_elsewhere, "The other process is there, too.").result()

            def say_elsewhere(text: str) -> None:
                elsewhere.submit(remember_elsewhere, text).result()

            for after in ("", ", after three long texts"):
                if after:
                    paste(lines)
                for name, say in (
                    ("by this process", memory.remember),
                    ("by another", say_elsewhere),
                ):
                    results = [say_and_ask(memory, say, pairs.pop()) for _ in range(facts)]
                    table.add_row(name + after, *cells(results))
        seconds, made = time.perf_counter() - begun, vectors(database) - done
    console = Console(width=120)
    console.print(table)
    console.print(f"{made / seconds:,.0f} vectors a second, in {seconds:.0f} s")


def vectors(database: Database) -> int:
    """Count the vectors of all tenants."""
    with database.owner() as connection:
        row = connection.execute("select count(*) as total from vectors").fetchone()
    assert row is not None  # an aggregate has one row
    return int(row["total"])


def say_and_ask(memory: Memory, say: Callable[[str], object], pair: dict[str, str]) -> Said:
    """Say a fact, ask for it at once, then ask again until it has its vector."""
    began = time.perf_counter()
    say(pair["fact"])
    remembered = time.perf_counter()
    hits = memory.recall(pair["question"], hold=False)
    asked = time.perf_counter()
    is_shown = pair["fact"] in [hit.content for hit in hits[:3]]
    by_words = memory.recall(
        " ".join(sorted(pair["fact"].strip(".").split(), key=len)[-2:]), hold=False
    )
    found_by_words = pair["fact"] in [hit.content for hit in by_words[:3]]
    while not any(hit.content == pair["fact"] and hit.vector_rank is not None for hit in hits):
        if time.perf_counter() - remembered > PATIENCE:
            break
        time.sleep(0.02)
        hits = memory.recall(pair["fact"], hold=False)
    return Said(
        remembered - began,
        asked - remembered,
        is_shown,
        found_by_words,
        time.perf_counter() - remembered,
    )


def paste(lines: list[str]) -> None:
    """Let another user of the same tenant paste three long texts."""
    rng = random.Random(11)
    with Memory("bench", tenant="quiet", user="bob") as bob:
        for number in range(3):
            words: list[str] = [f"Text {number}."]
            while len(words) < PASTED_WORDS:
                words += rng.choice(lines).split()
            bob.remember(" ".join(words))


def remember_elsewhere(text: str) -> None:
    """Remember a text in a process that leaves the vectors to others."""
    with Memory("bench", tenant="quiet", user="ann", settings=Settings(worker="off")) as memory:
        memory.remember(text)


def cells(results: list[Said]) -> list[str]:
    """The figures of a row."""
    waits = [each.until_vector for each in results]
    return [
        f"{statistics.median(each.remembering for each in results) * 1e3:,.0f} ms",
        f"{statistics.median(each.recalling for each in results) * 1e3:,.0f} ms",
        f"{max(each.recalling for each in results) * 1e3:,.0f} ms",
        f"{sum(each.is_found for each in results)} of {len(results)}",
        f"{sum(each.found_by_words for each in results)} of {len(results)}",
        f"{statistics.median(waits):,.2f} s",
        f"{max(waits):,.2f} s" if max(waits) < PATIENCE else f"over {PATIENCE:.0f} s",
    ]


if __name__ == "__main__":
    main()
