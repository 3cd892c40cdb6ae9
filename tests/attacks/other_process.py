"""A process of another tenant, with a client of the same name: it works until nothing is due, and prints what it was sent."""

from __future__ import annotations

import json
import sys

from htm_core import Memory, Settings
from tests.attacks.recorder import Recorder, recording_tagger
from tests.conftest import SETTINGS


def main(url: str | None, tenant: str, name: str) -> None:
    """Open a memory of a tenant, do all that is due, and print every text that its clients received."""
    settings = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
    embedder, tagged = Recorder(name), list[str]()
    memory = Memory(
        url=url,
        tenant=tenant,
        embedder=embedder,
        tagger=recording_tagger(name, tagged),
        settings=settings,
    )
    memory.remember(f"{tenant} works in its own process.")
    memory.flush(10)
    memory._runtime.worker.drain()
    sys.stdout.write(json.dumps([*embedder.seen, *tagged]))


if __name__ == "__main__":
    main(sys.argv[1] or None, sys.argv[2], sys.argv[3])
