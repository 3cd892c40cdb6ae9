"""`htm import` in small batches, once for each table, stopping inside that table until it is told to go on.

    python -m tests.importers.stopping TABLES import postgresql://…

Each import is a process, forked from this one, which has imported what they need and has opened nothing. It prints "stopped" and its
number before the second batch of its table, and reads a line. When it has ended, this one prints "ended" and its exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import count

from htm_core.cli import main
from htm_core.importers import run
from htm_core.importers.parts import ForeignRow

BATCH = 20


def stop_in(table: int) -> None:
    """Stop in the table of this number, counted from 0."""
    batches, tables = run._batches, count()

    def stopping(rows: Iterator[ForeignRow]) -> Iterator[list[ForeignRow]]:
        """The batches of the next table."""
        is_here = next(tables) == table
        for place, batch in enumerate(batches(rows)):
            if is_here and place == 1:
                say(f"stopped {os.getpid()}")
                sys.stdin.readline()
            yield batch

    run._batches, run.BATCH = stopping, BATCH


def say(words: str) -> None:
    """Print a line now."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for each in range(int(sys.argv.pop(1))):
        child = os.fork()
        if not child:
            stop_in(each)
            main()
        say(f"ended {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")
