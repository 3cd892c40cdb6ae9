"""A robot in its own process: it reads commands from stdin, one JSON list a line, and answers on stdout."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from htm_core import DatabaseUnavailable, Memory, NotFound, Settings
from tests.stand_ins import HashEmbedder

ROOT = Path(__file__).parents[2]
SETTINGS = Settings(worker="off", pool_timeout=20.0, statement_timeout=20.0)
BUDGET = 60


def count(text: str) -> int:
    return len(text.split())


def answer(value: object) -> None:
    """Write one line of JSON to the process that sent the command."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def until_there(verb: Callable[[], Any]) -> Any:
    """Try a verb until the server is there again."""
    for _ in range(200):
        try:
            return verb()
        except DatabaseUnavailable:
            time.sleep(0.05)
    raise TimeoutError("the server did not come back")


class Robot:
    """The commands, by name."""

    def __init__(self, url: str, tenant: str, name: str) -> None:
        self.memory = Memory(
            name, url=url or None, tenant=tenant, embedder=HashEmbedder(), settings=SETTINGS, budget=BUDGET,
            policy="lfu_lru", tokenizer=count,
        )  # fmt: skip

    def join(self, group: str, role: str, lease: float) -> str | None:
        self.group = self.memory.group(group, role=role, lease=lease)
        return self.group.role

    def work(self, number: int, seed: int) -> dict[str, int]:
        """So many additions, recalls, removals and forgettings, drawn by a seed; an addition has an id, to be said again."""
        rng, done = random.Random(seed), dict.fromkeys(("add", "recall", "remove", "forget"), 0)
        for step in range(number):
            action = rng.choices(list(done), weights=(5, 2, 1, 1))[0]
            word = f"word{rng.randrange(40)}"
            until_there(
                lambda action=action, word=word, step=step: self._act(
                    action, word, f"{seed}-{step}"
                )
            )
            done[action] += 1
        return done

    def _act(self, action: str, word: str, id: str) -> None:
        memory = self.memory
        if action == "add":
            memory.remember(f"{word} came up {len(word)} times", id=id, session="talk")
        elif action == "recall":
            memory.recall(word, mode="text", limit=3)
        elif held := memory._engine.working.memory.items:
            item = held[len(held) // 2]
            if action == "remove":
                memory._engine.working.memory.remove(item.id)
            else:
                self._forget(item.id)

    def _forget(self, id: str) -> None:
        with contextlib.suppress(NotFound):  # the other robot was quicker
            self.memory.forget(id)

    def remember(self, *texts: str) -> list[str]:
        return [self.memory.remember(text).id for text in texts]

    def endless(self) -> None:
        """Remember on and on, each time acknowledged, until killed."""
        number = 0
        while True:
            answer(self.memory.remember(f"{self.memory.robot} said number {number}").id)
            number += 1

    def say(self, texts: list[str]) -> int:
        """Remember each text and recall it, so that it is accessed once; give the errors that reached this caller."""
        errors = 0
        for text in texts:
            try:
                self.memory.remember(text)
                self.memory.recall(text, mode="text", limit=1)
            except Exception as error:
                sys.stderr.write(f"{error!r}\n")
                errors += 1
        return errors

    def write(self) -> None:
        """Write what was gathered of access counts."""
        until_there(self.memory._runtime.write_behind.write)

    def holds(self) -> list[list[Any]]:
        """What is in this process's working memory, without a look at the table."""
        return [
            [i.id, i.tokens, i.access_count, i.added_at, i.accessed_at]
            for i in self.memory._engine.working.memory.items
        ]

    def context(self) -> list[str]:
        return [item.id for item in self.memory.context().items]

    def role(self) -> str | None:
        return self.group.role


class Process:
    """A robot in another process, which gets its commands from here."""

    def __init__(self, url: str | None, tenant: str, name: str) -> None:
        self.running = subprocess.Popen(
            [sys.executable, "-m", "tests.groups.member", url or "", tenant, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def send(self, command: str, *arguments: object) -> None:
        """Send a command, to be answered later."""
        assert self.running.stdin is not None
        self.running.stdin.write(json.dumps([command, *arguments]) + "\n")
        self.running.stdin.flush()

    def answer(self) -> Any:
        """The next line of the other process."""
        assert self.running.stdout is not None
        line = self.running.stdout.readline()
        assert line, "the other process ended"
        return json.loads(line)

    def do(self, command: str, *arguments: object) -> Any:
        """Send a command and wait for its answer."""
        self.send(command, *arguments)
        return self.answer()

    def kill(self) -> None:
        """End it as kill -9 does."""
        self.running.kill()
        self.running.wait()

    def end(self) -> None:
        """End it, whatever it does."""
        if self.running.poll() is None:
            self.kill()
        for pipe in (self.running.stdin, self.running.stdout):
            if pipe is not None:
                pipe.close()


def main() -> None:
    robot = Robot(*sys.argv[1:])
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        answer(getattr(robot, command)(*arguments))


if __name__ == "__main__":
    main()
