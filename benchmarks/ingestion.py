"""Compare the speed of writing memories with the speed of the embedding model alone.

    python -m benchmarks.ingestion
    python -m benchmarks.ingestion --passages 2000 --batch 250
    python -m benchmarks.ingestion --passages 600 --batch 100 --sentences 30 --characters 3000
    python -m benchmarks.ingestion --embedder minilm:int8

The same texts are processed in three ways: by the model alone, with one call for each batch; by `remember_many` and `flush`,
where the worker embeds; and by `remember_many` of a memory that embeds at once (`embed="now"`). The three take turns batch
by batch, so that other work on the machine affects all of them alike. The result is in vectors and tokens a second, in tokens for
each second of CPU time of this process and the server together, and in milliseconds of CPU time a vector: of this process, which
is mostly the model, and of the server. The shares are of the speed of the model alone.

Nothing is tidied: once a minute a worker would read for the profile what came in, which costs more than its embedding and would
fall on one batch. Each text has one to `--sentences` sentences of the sample conversation, of `--characters` at most, and no two
texts are equal. A text of more than 900 characters has several passages, each with a vector, as long chat messages have; the
model alone gets the same passages.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.progress import track
from rich.table import Table

from htm_core import Memory, Settings, shutdown
from htm_core.models.embedders import resolve
from htm_core.models.minilm import weights
from htm_core.models.tokenizers import default_tokens
from htm_core.text.passages import split

SAMPLE = Path(__file__).resolve().parents[1] / "htm_core/cli/samples/conversation.jsonl"
MODEL, QUEUE, NOW = "the model alone", "remember_many, flush", 'remember_many, embed="now"'


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--passages", type=int, default=10_000, help="texts, each of one passage or more"
    )
    parser.add_argument("--batch", type=int, default=1_000, help="texts of one call")
    parser.add_argument("--sentences", type=int, default=6, help="of a text at most")
    parser.add_argument("--characters", type=int, default=800, help="of a text at most")
    parser.add_argument("--embedder", default="minilm", help="minilm or minilm:int8")
    args = parser.parse_args()
    os.environ["HTM_MODEL_DIR"] = str(weights.obtain())
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o755)
        os.environ["HTM_HOME"] = home
        batches = list(texts(args.passages, args.batch, args.sentences, args.characters))
        spent = measured(batches, args.embedder)
        shutdown()
    Console(width=120).print(table(batches, spent))


def texts(passages: int, batch: int, sentences: int, characters: int) -> Iterator[list[str]]:
    """Give batches of different texts."""
    lines = [json.loads(line)["content"] for line in SAMPLE.read_text("utf-8").splitlines()]
    rng, seen = random.Random(7), set[str]()
    while len(seen) < passages:
        made: list[str] = []
        while len(made) < batch and len(seen) < passages:
            text = (
                " ".join(rng.sample(lines, min(len(lines), rng.randint(1, sentences))))[
                    :characters
                ].strip()
                + f" ({len(seen)})"
            )
            seen.add(text)
            made.append(text)
        yield made


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds since some moment, and CPU seconds of this process and of the server."""

    seconds: float
    own: float
    server: float

    @property
    def cpu(self) -> float:
        """CPU seconds of both."""
        return self.own + self.server

    @classmethod
    def now(cls, server: psutil.Process) -> Spent:
        """Read all three."""
        total = 0.0
        for process in server.children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it has just ended: its parent has its time
                times = process.cpu_times()
                total += times.user + times.system
        times = server.cpu_times()
        total += times.user + times.system + times.children_user + times.children_system
        return cls(time.perf_counter(), time.process_time(), total)

    def since(self, before: Spent) -> Spent:
        """Return the difference from an earlier moment."""
        return Spent(
            self.seconds - before.seconds, self.own - before.own, self.server - before.server
        )


def measured(batches: Sequence[Sequence[str]], model: str) -> dict[str, list[Spent]]:
    """Give what each way takes for each batch; the order of the ways changes from batch to batch."""
    embedder = resolve(model)
    embedder.documents(["ready"])
    settings = Settings(max_drafts=1_000_000, tidy=())
    queued = Memory("bench", tenant="queued", embedder=model, settings=settings)
    at_once = Memory("bench", tenant="at-once", embedder=model, settings=settings, embed="now")
    ways: dict[str, Callable[[Sequence[str]], object]] = {
        MODEL: lambda batch: embedder.documents(pieces(batch)), QUEUE: remembering(queued), NOW: remembering(at_once),
    }  # fmt: skip
    for say in (ways[QUEUE], ways[NOW]):
        say(["The server is there, and the tenant."])
    lock = next(Path(os.environ["HTM_HOME"]).rglob("postmaster.pid"))
    server = psutil.Process(int(lock.read_text().split()[0]))
    spent: dict[str, list[Spent]] = {name: [] for name in ways}
    for number, batch in enumerate(track(batches, transient=True, console=Console(stderr=True))):
        names = list(ways)
        for name in names[number % 3 :] + names[: number % 3]:
            began = Spent.now(server)
            ways[name](batch)
            spent[name].append(Spent.now(server).since(began))
    for memory in (queued, at_once):
        stats = memory.stats()
        if stats.vectors != sum(len(pieces(batch)) for batch in batches) + 1:
            raise SystemExit(
                f"expected a vector for each passage, got {stats.vectors}: see the log"
            )
    return spent


def pieces(batch: Sequence[str]) -> list[str]:
    """Give the passages of texts."""
    return [text[span.start : span.stop] for text in batch for span in split(text)]


def remembering(memory: Memory) -> Callable[[Sequence[str]], object]:
    """Give a function that remembers texts and waits until they are embedded."""

    def say(batch: Sequence[str]) -> object:
        memory.remember_many([{"content": text} for text in batch])
        return memory.flush()

    return say


def table(batches: Sequence[Sequence[str]], spent: dict[str, list[Spent]]) -> Table:
    """Give the vectors a second of each way, its share of the model's speed, and the CPU time of a vector."""
    passages = [piece for batch in batches for piece in pieces(batch)]
    count, tokens = len(passages), sum(map(default_tokens().count, passages))
    texts = f"{sum(map(len, batches)):,} texts in {len(batches)} batches"
    drawn = Table(title=f"{texts}, {count:,} passages, {tokens:,} tokens, {os.cpu_count()} cores")
    columns = (
        "way",
        "vectors / s",
        "tokens / s",
        "share",
        "median of batches",
        "tokens / CPU s",
        "median of batches",
        "CPU ms, here",
        "CPU ms, server",
    )
    for column in columns:
        drawn.add_column(column, justify="left" if column == "way" else "right")
    model = sum(each.seconds for each in spent[MODEL])
    for name, taken in spent.items():
        seconds, cpu = sum(batch.seconds for batch in taken), sum(batch.cpu for batch in taken)
        pairs = list(zip(spent[MODEL], taken, strict=True))
        drawn.add_row(
            name,
            f"{count / seconds:,.0f}",
            f"{tokens / seconds:,.0f}",
            f"{model / seconds:.0%}",
            f"{statistics.median(alone.seconds / own.seconds for alone, own in pairs):.0%}",
            f"{tokens / cpu:,.0f}",
            f"{statistics.median(alone.cpu / own.cpu for alone, own in pairs):.0%}",
            f"{1e3 * sum(batch.own for batch in taken) / count:.2f}",
            f"{1e3 * sum(batch.server for batch in taken) / count:.2f}",
        )
    return drawn


if __name__ == "__main__":
    main()
