"""`htm import` in small batches, which stops inside one of the tables until it is told to go on.

    python -m tests.importers.stopping PART import postgresql://…

It prints "stopped" before the second batch of the table of that number, and reads a line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count

from htm_core.cli import main
from htm_core.importers import run
from htm_core.importers.parts import ForeignRow

BATCH = 20


def stop_in(part: int) -> None:
    """Stop in the part of this number, counted from 0."""
    batches, parts = run._batches, count()

    def stopping(rows: Iterator[ForeignRow]) -> Iterator[list[ForeignRow]]:
        """The batches of the next part."""
        is_here = next(parts) == part
        for place, batch in enumerate(batches(rows)):
            if is_here and place == 1:
                sys.stdout.write("stopped\n")
                sys.stdout.flush()
                sys.stdin.readline()
            yield batch

    run._batches, run.BATCH = stopping, BATCH


if __name__ == "__main__":
    stop_in(int(sys.argv.pop(1)))
    main()
