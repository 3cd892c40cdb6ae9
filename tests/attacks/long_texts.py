"""A process that works on texts of the largest size, made of what expressions and loops repeat; it prints each step that it has done.

It is a process of its own, since an expression that holds the interpreter's lock can only be ended from outside.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress

from htm_core import InvalidInput, Memory, Settings
from htm_core.importers.transcripts.read import read
from htm_core.palace import Enforcer, Palace
from htm_core.prompt.tool_replies import recall_reply
from tests.conftest import SETTINGS
from tests.stand_ins import HashEmbedder

LARGEST = 1_000_000  # characters, as `Settings.max_content` has it
PUMPS = (
    " ", "\n", "\r\n\r\n", "a", "a ", "A b ", "I like a ", "1", "1st ", "2026-01-01 ", ". ", "?!", "- ", "> ", "|a", "`", "```\n", "[", "[[", "[a](",
    "(", "<a>", "</think>", "'", '"', "\\", "http://a.", "a@b.", "#a/", "*a*", "0" * 16, "password: ", "\u2764\ufe0f", "\u200b", "e\u0301", "\u65e5",
)  # fmt: skip
TEXTS = 6
PARTS = -(-len(PUMPS) // TEXTS)


def text(number: int) -> str:
    """A text of the largest size: some words, and a long run of each of some pumps."""
    pumps = PUMPS[number * PARTS : (number + 1) * PARTS]
    words = f"I like the boat {number} at pier seven. "
    each = (LARGEST - len(words)) // len(pumps) - 1
    return words + "x".join((pump * each)[:each] for pump in pumps)


def main(url: str | None, tenant: str) -> None:
    """Remember, recall, show, profile, consult and import them."""
    settings = Settings(
        **SETTINGS.model_dump(by_alias=True) | {"worker": "off", "verb_timeout": 600.0}
    )
    memory = Memory(
        "atlas", url=url, tenant=tenant, user="ann", embedder=HashEmbedder(), settings=settings
    )
    began = time.process_time()

    def done(step: str) -> None:
        nonlocal began
        now = time.process_time()
        sys.stdout.write(f"{step} {now - began:.2f}\n")
        sys.stdout.flush()
        began = now

    Palace(memory).file("The boat lies at pier seven.", room="projects", drawer="boat")
    for number in range(TEXTS):
        memory.remember(text(number), role="user")
        done(f"remember-{number}")
        found = memory.recall(text(number), limit=TEXTS)
        assert found
        done(f"recall-{number}")
        recall_reply(memory, found)
        memory.context(budget=4_000)
        done(f"show-{number}")
        Enforcer(Palace(memory)).consult(text(number))
        with suppress(InvalidInput):
            Palace(memory).submit(text(number), room="projects", drawer="api", reason="asked")
        with suppress(InvalidInput):
            read(json.dumps({"role": "assistant", "content": text(number)}), format="jsonl")
        done(f"palace-and-import-{number}")
    memory.profile()
    done("profile")
    memory.tidy()
    done("tidy")
    sys.stdout.write("all\n")


if __name__ == "__main__":
    main(sys.argv[1] or None, sys.argv[2])
