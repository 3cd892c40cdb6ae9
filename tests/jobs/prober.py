"""A process whose worker calls a model that is away, or that never answers, until it is killed or done."""

from __future__ import annotations

import sys
import threading

from htm_core import Settings
from htm_core.jobs import rate_limits
from htm_core.memory.process import runtime
from htm_core.models.embedders import resolve
from tests.conftest import SETTINGS
from tests.stand_ins import HashEmbedder

LEASE = 1.0  # seconds


def never(texts: list[str]) -> list[list[float]]:
    """Take a question and never answer it."""
    say("asked")
    threading.Event().wait()
    return []


def main(url: str | None, tenant: str, name: str, way: str) -> None:
    """Work once with a model that is "down", or ask one that is "silent" until killed."""
    rate_limits.FIRST_PAUSE = 100.0  # so that the test, which may be slow, finds it open
    settings = Settings(
        **SETTINGS.model_dump(by_alias=True)
        | {"worker": "off", "worker_lease": LEASE, "worker_batch": 1}
    )
    embedder = HashEmbedder(name=name)
    embedder.down = way == "down"
    if way == "silent":
        embedder.embed_documents = never  # type: ignore[method-assign]
    worker = runtime(url, settings).worker
    worker.add_embedder(resolve(embedder), tenant=tenant)
    worker.retry_models_now(tenant)
    worker.drain()
    say(" ".join(f"{model}={state}" for model, state in worker.breakers(tenant).items()))


def say(words: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1] or None, sys.argv[2], sys.argv[3], sys.argv[4])
