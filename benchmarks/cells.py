"""Moves of tenants between cells under writers and readers, while movers are killed at random points: what is lost, who waits.

    python -m benchmarks.cells --moves 200 --tenants 12 --writers 4
    python -m benchmarks.cells --splits 10 --tenants 12 --writers 4

The second splits a hot cell, and moves all tenants of the other one back, in turns.

It runs on the private server of HTM_HOME, or on that of HTM_DATABASE_URL as its owner, in a schema of its own that it drops again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from benchmarks.moving_writers import MovingWriters
from htm_core import Cells, Memory, Settings, StorageError, shutdown
from tests.stand_ins import HashEmbedder

CELLS = ("home", "b", "c")
MOVER = "mover"


def main() -> None:
    """Run the moves and print what became of the memories."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moves", type=int, default=40)
    parser.add_argument(
        "--splits", type=int, default=0, help="instead: splits of a hot cell, and as many ways back"
    )
    parser.add_argument("--tenants", type=int, default=6)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument(
        "--kills", type=float, default=0.5, help="the share of attempts whose process is killed"
    )
    parser.add_argument(
        "--memories", type=int, default=300, help="memories that each tenant has at the beginning"
    )
    parser.add_argument(
        "--seconds", type=float, default=1e9, help="begin no further move after so long"
    )
    parser.add_argument(f"--{MOVER}", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    logging.disable(logging.WARNING)
    if chosen.mover:
        _move_as_told(chosen.mover)
        return
    schema = f"cells_bench_{uuid.uuid4().hex[:6]}"
    try:
        _Run(schema, chosen).run()
    finally:
        _drop(schema)
        shutdown()


def _settings(schema: str) -> Settings:
    roles = None if os.environ.get("HTM_DATABASE_URL") else "htm"
    # Nothing is compared with what was said before: sentences that are alike would give each memory hundreds of edges.
    return Settings(schema=schema, roles=roles, cells=True, supersession=None)


def _move_as_told(schema: str) -> None:
    """The process that moves, and is killed: what to move, and where, on each line of stdin, what it did on stdout."""
    cells = Cells(settings=_settings(schema).model_copy(update={"worker": "off"}))
    for line in sys.stdin:
        what, name, cell = line.split()
        began = time.monotonic()
        try:
            answer = _done(cells, what, name, cell)
        except (
            StorageError
        ) as error:  # its server ended what an earlier mover had begun a moment ago
            answer = {"error": str(error)}
        print(json.dumps(answer | {"seconds": time.monotonic() - began}), flush=True)


def _done(cells: Cells, what: str, name: str, cell: str) -> dict[str, Any]:
    """Move a tenant, split a cell, or move all of its tenants; gives the figures of the move, or how many have moved."""
    if what == "tenant":
        done = cells.move(name, cell)
        return {"waited": done.waited, "passes": done.passes, "rows": sum(done.rows.values())}
    if what == "split":
        return {"tenants": len(cells.split(name, cell))}
    for move in cells.pending_moves():
        cells.move(move.tenant, cell)
    tenants = [each.tenant for each in cells.tenants(name)]
    for tenant in tenants:
        cells.move(tenant, cell)
    return {"tenants": len(tenants)}


class _Run:
    def __init__(self, schema: str, chosen: argparse.Namespace) -> None:
        self.schema, self.chosen = schema, chosen
        self.settings = _settings(schema)
        self.tenants = [f"tenant{number}" for number in range(chosen.tenants)]
        self.chance = random.Random(18)
        self.embedder = HashEmbedder(name="bench")
        self.mover: subprocess.Popen[str] | None = None
        self.spare: subprocess.Popen[str] | None = None
        self.writers = MovingWriters(self.memory, self.tenants)

    def memory(self, tenant: str) -> Memory:
        return Memory("atlas", tenant=tenant, embedder=self.embedder, settings=self.settings)

    def run(self) -> None:
        """Fill, move under fire, and compare."""
        cells = Cells(settings=self.settings)
        for name in CELLS[1:]:
            cells.create(name)
        for tenant in self.tenants:
            self.writers.fill(tenant, self.chosen.memories)
        with self.writers.running(self.chosen.writers):
            moves, kills, answers = (
                self._splits(cells) if self.chosen.splits else self._moves(cells)
            )
        self._report(cells, moves, kills, answers)

    def _moves(self, cells: Cells) -> tuple[int, int, list[dict[str, float]]]:
        kills, answers, moves = 0, list[dict[str, float]](), 0
        end = time.monotonic() + self.chosen.seconds
        while moves < self.chosen.moves and time.monotonic() < end:
            tenant = self.chance.choice(self.tenants)
            cell = self.chance.choice([name for name in CELLS if name != cells.where(tenant)])
            usual = statistics.median(each["seconds"] for each in answers[-20:]) if answers else 1.0

            def is_done(tenant: str = tenant, cell: str = cell) -> bool:
                """True if a move had ended when its process was killed."""
                return not cells.pending_moves() and cells.where(tenant) == cell

            killed, answer = self._until_done(
                f"tenant {tenant} {cell}", usual=usual, is_done=is_done
            )
            kills += killed
            answers += [answer] if answer else []
            moves += 1
            if moves % 10 == 0:
                self._say(f"{moves} moves, {kills} kills")
        self._end_movers()
        return moves, kills, answers

    def _splits(self, cells: Cells) -> tuple[int, int, list[dict[str, float]]]:
        """Split home into b, and move all tenants of b back home."""
        kills, answers = 0, list[dict[str, float]]()
        for number in range(2 * self.chosen.splits):
            what, source, target = (
                ("split", "home", "b") if number % 2 == 0 else ("drain", "b", "home")
            )
            usual = statistics.median(each["seconds"] for each in answers) if answers else 5.0
            killed, answer = self._until_done(
                f"{what} {source} {target}", usual=usual, is_done=lambda: False
            )
            kills += killed
            answers += [answer] if answer else []
            here = {cell: sum(each.rows for each in cells.tenants(cell)) for cell in ("home", "b")}
            assert bool(here["b"]) == (what == "split"), here
            self._say(f"{number + 1}: {what}, {answer}, rows {here}, {kills} kills")
        self._end_movers()
        return 2 * self.chosen.splits, kills, answers

    def _until_done(
        self, line: str, *, usual: float, is_done: Callable[[], bool]
    ) -> tuple[int, dict[str, float]]:
        """Tell a mover, kill it at a random moment or not, and then tell the next one; gives the kills and what was answered."""
        kills = 0
        while True:
            mover = self.mover = self.mover or self._next_mover()
            assert mover.stdin is not None
            assert mover.stdout is not None
            mover.stdin.write(f"{line}\n")
            mover.stdin.flush()
            timer = None
            if self.chance.random() < self.chosen.kills:
                timer = threading.Timer(
                    self.chance.uniform(0, 1.1 * usual), mover.send_signal, [signal.SIGKILL]
                )
                timer.start()
            reply = mover.stdout.readline()
            if timer is not None:
                timer.cancel()
            if not reply:
                kills += 1
                mover.wait()
                self.mover = None
                if is_done():
                    return kills, {}
                continue
            answer = json.loads(reply)
            if "error" not in answer:
                return kills, answer
            if "where it is already" in answer["error"]:
                return kills, {}

    def _say(self, text: str) -> None:
        print(f"{text}, {self.writers.said:,} memories", file=sys.stderr, flush=True)

    def _end_movers(self) -> None:
        for process in (self.mover, self.spare):
            if process is not None:
                process.kill()
                process.wait()

    def _next_mover(self) -> subprocess.Popen[str]:
        """A process that moves, begun before it is needed: what is killed is not its start."""
        ready, self.spare = self.spare or self._start_mover(), self._start_mover()
        return ready

    def _start_mover(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.cells", f"--{MOVER}", self.schema],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def _report(
        self, cells: Cells, moves: int, kills: int, answers: list[dict[str, float]]
    ) -> None:
        left = sum(
            each.tenant == tenant
            for tenant in self.tenants
            for name in CELLS
            if name != cells.where(tenant)
            for each in cells.tenants(name)
        )
        print(
            f"moves {moves}, of which movers were killed {kills} times; {len(cells.pending_moves())} are not done"
        )
        print(f"tenants of which something was left behind: {left}")
        print(*self.writers.report(), sep="\n")
        for what in ("seconds", "waited", "passes", "rows", "tenants"):
            values = sorted(each[what] for each in answers if what in each)
            if not values:
                continue
            print(
                f"{what}: p50 {values[len(values) // 2]:.2f}, p95 {values[int(len(values) * 0.95)]:.2f}, most {values[-1]:.2f}"
            )


def _drop(schema: str) -> None:
    cells = Cells(settings=_settings(schema))
    with contextlib.suppress(Exception), cells._home.owner() as connection:
        for name in ("", *(f"_{cell}" for cell in CELLS[1:])):
            connection.execute(f'drop schema if exists "{schema}{name}" cascade')  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
