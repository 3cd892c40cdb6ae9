"""Draw where the time of a recall goes, or of a turn, in this process and in the server: a flame graph as SVG.

    python -m benchmarks.flame --out flame.svg
    python -m benchmarks.flame --rows 100000 --mode vector --out flame.svg
    python -m benchmarks.flame --turn --rows 5000 --calls 40 --out turn.svg

A temporary PostgreSQL over TCP is filled with the rows of `benchmarks.peers`. Then questions are asked, once while a timer notes
the Python stack each millisecond, and once while PostgreSQL counts the time of its functions (`track_functions`), which makes
them a little slower. While this process waits for the server, the functions of the server stand in the place of the wait, by
their shares. The embedder is a stand-in that answers at once. With `--turn` it is the turn of an agent with
`HTMMemoryMiddleware`, an instant model and the embedded models, as in `benchmarks.turn`.

A box is as wide as its share of the time; what stands on it was called by it. The number is milliseconds a recall. Boxes under a
two hundredth of the whole are left out.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from types import FrameType
from typing import get_args

import psycopg

from benchmarks.peers import SERVER, Data
from benchmarks.peers_systems import DENSE, HYBRID, HTMSystem, database, filled
from benchmarks.tcp_server import temporary_server
from htm_core import Memory, Mode, shutdown

WARM_UP, INTERVAL = 100, 0.001
WAITS, DOES = "time_limit.within", "time_limit._do"
WAIT = "_await_batch"  # the function of htm_core/db/connection.py in which this process waits for an answer
# Which function of the server calls which; one that is not here is called by what the client calls.
CALLED_BY = {
    "filtered_nodes": "plan_search", "nearest_in_index": "vector_search", "filtered_in_index": "vector_search",
    "exact_vector_search": "vector_search", "exact_filtered_search": "vector_search", "driving_queries": "text_search",
    "exact_text_search": "text_search", "to_lexemes": "weigh_query",
}  # fmt: skip
CALLED_BY_CLIENT = ("recall_candidates", "recall_nearest", "recall_hits")
WIDTH, ROW, LEAST, LETTER = 1200.0, 19, 0.005, 6.7  # pixels, pixels, share of the whole, pixels


@dataclass(slots=True)
class Box:
    """A function with what it called; milliseconds of one recall, with those of what it called."""

    name: str
    milliseconds: float = 0.0
    called: dict[str, Box] = field(default_factory=dict)

    def grow(self, path: Sequence[str], milliseconds: float) -> None:
        """Add the time of a stack, outermost function first."""
        self.milliseconds += milliseconds
        if path:
            self.called.setdefault(path[0], Box(path[0])).grow(path[1:], milliseconds)

    def depth(self) -> int:
        """Return the most boxes that stand on each other here."""
        return 1 + max((each.depth() for each in self.called.values()), default=0)


def main() -> None:
    """Fill, ask, and write the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--mode", choices=get_args(Mode), default="hybrid")
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path("flame.svg"))
    parser.add_argument("--turn", action="store_true", help="draw a turn of an agent")
    args = parser.parse_args()
    whole, stacks = turn(args) if args.turn else recall(args)
    what = "turn" if args.turn else f"recall, {args.mode}"
    title = f"One {what}, {args.rows:,} rows: {whole.milliseconds:.1f} ms"
    args.out.write_text(drawn(whole, title=title))
    print(f"{args.out}: {whole.milliseconds:.2f} ms, {sum(stacks.values()):,} samples")


Stacks = Counter[tuple[str, ...]]


def turn(args: argparse.Namespace) -> tuple[Box, Stacks]:
    """Take turns of an agent; what the server does is counted in recalls alone."""
    from langchain.agents import create_agent

    from benchmarks import turn as turns
    from htm_langchain import HTMMemoryMiddleware

    asked, stacks = turns.questions(), Stacks()
    with temporary_server(settings=SERVER) as server:
        dsn = database(server, "flame")
        turns.filled(dsn, args.rows)
        memory = Memory("ferry", url=dsn, tenant=turns.TENANT)
        agent = create_agent(turns.instant(), middleware=[HTMMemoryMiddleware(memory)])
        take = turns.langchain_turn(agent)
        for _ in range(turns.WARM):
            take(turns.USER, next(asked))
        took = 0.0
        for _ in range(args.calls):
            time.sleep(turns.BEHIND)
            with sampled(stacks):
                took += turns.timed(take, turns.USER, next(asked))
        with counted(dsn) as functions:
            for _ in range(args.calls):
                memory.of(user=turns.USER).recall(next(asked), hold=False)
        shutdown()
    return grown(stacks, took / args.calls, functions), stacks


def recall(args: argparse.Namespace) -> tuple[Box, Stacks]:
    """Recall from the rows of `benchmarks.peers`."""
    data = Data(args.rows, "one")
    questions = list(data.questions(0, warm=args.calls + WARM_UP))
    with temporary_server(settings=SERVER) as server:
        dsn = database(server, "flame")
        system = HTMSystem(dsn, data.embedder, {})
        filled(dsn, system, data.rows)
        search = system.ways[DENSE if args.mode == "vector" else HYBRID]
        for question in questions[:WARM_UP]:
            search(question.text, question.owner, None)
        asked = questions[WARM_UP:]
        stacks = Stacks()
        began = time.perf_counter()
        with sampled(stacks):
            for question in asked:
                search(question.text, question.owner, None)
        milliseconds = (time.perf_counter() - began) * 1e3 / len(asked)
        with counted(dsn) as functions:
            for question in asked:
                search(question.text, question.owner, None)
        system.close()
        shutdown()
    return grown(stacks, milliseconds, functions), stacks


@contextmanager
def sampled(stacks: Stacks) -> Iterator[None]:
    """Note the stack of this thread each millisecond of the clock, waits included; where it waits for work in a thread
    of `time_limit`, with the stack of that.
    """

    def note(_: int, frame: FrameType | None) -> None:
        """Note the functions of these packages in the running stack."""
        stack, frames = names_of(frame), sys._current_frames()
        working = [
            names_of(frames.get(thread.ident or 0))
            for thread in threading.enumerate()
            if thread.name == "htm-turn"
        ]
        # those that wait for another one first
        for names in sorted(working, key=lambda names: names[-1:] != [WAITS]):
            if stack[-1:] == [WAITS] and DOES in names:
                stack += names[names.index(DOES) + 1 :]
        stacks[tuple(stack)] += 1

    before = signal.signal(signal.SIGALRM, note)
    signal.setitimer(signal.ITIMER_REAL, INTERVAL, INTERVAL)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def names_of(frame: FrameType | None) -> list[str]:
    """The functions of these packages in a stack, outermost first."""
    names: list[str] = []
    while frame is not None:
        code = frame.f_code
        if "/htm_" in code.co_filename and not code.co_name.startswith("<"):
            names.append(f"{Path(code.co_filename).stem}.{code.co_name}")
        frame = frame.f_back
    return names[::-1]


@contextmanager
def counted(dsn: str) -> Iterator[dict[str, tuple[float, float]]]:
    """Have the server count its functions; afterwards there is the time of each, with and without what it called."""
    functions: dict[str, tuple[float, float]] = {}
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("alter system set track_functions = 'all'")
        connection.execute("select pg_reload_conf(), pg_stat_reset()")
        yield functions
        connection.execute("select pg_stat_force_next_flush()")
        time.sleep(2)  # sessions that rest send what they have counted within a second
        rows = connection.execute(
            "select funcname, total_time, self_time from pg_stat_user_functions where schemaname <> 'pgvector' and calls > 0"
        )
        functions.update({name: (total, alone) for name, total, alone in rows})


def grown(
    stacks: Mapping[tuple[str, ...], int],
    milliseconds: float,
    functions: Mapping[str, tuple[float, float]],
) -> Box:
    """The stacks as one box, with the server's functions where this process waits for them."""
    whole, samples = Box("all"), sum(stacks.values())
    for stack, count in stacks.items():
        place = next((at for at, name in enumerate(stack) if name.endswith("." + WAIT)), None)
        time_of_it = milliseconds * count / samples
        if place is None:
            whole.grow(stack, time_of_it)
        else:
            for path, share in waited_for(stack, functions):
                whole.grow([*stack[: place + 1], *path], share * time_of_it)
    return whole


def waited_for(
    stack: Sequence[str], functions: Mapping[str, tuple[float, float]]
) -> Iterator[tuple[tuple[str, ...], float]]:
    """The server's functions that a stack waits for, with the share of each in what is called there."""
    first = {"search.hit_fields": "recall_hits", "search.nearest": "recall_nearest"}
    first["candidates.find"] = "recall_candidates"
    outermost = next((first[name] for name in stack if name in first), "")
    if outermost not in functions:
        yield (), 1.0
        return
    whole = functions[outermost][0]
    if outermost == "recall_nearest":
        inside = {name for name in functions if name != "recall_candidates"}
    elif outermost == "recall_candidates":
        inside = {name for name in functions if name not in ("recall_hits", "recall_nearest")}
    else:
        inside = {outermost}
    alone = {name: functions[name][1] for name in inside}
    total = max(whole, sum(alone.values()))
    for name, taken in alone.items():
        path = [name]
        while (caller := CALLED_BY.get(path[0])) is not None:
            path.insert(0, caller)
        if path[0] != outermost:
            path.insert(0, outermost)
        yield tuple(f"{each}()" for each in path), taken / total


def drawn(whole: Box, *, title: str) -> str:
    """The picture: readable on light and dark pages, without a script."""
    height = (whole.depth() + 2) * ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height}" font-family="sans-serif" font-size="11.5">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH:.0f}" height="{height}" fill="#fbfaf7"/>',
        f'<text x="6" y="14" font-size="13" font-weight="bold">{escape(title)}. Orange: this process. Blue: the server.</text>',
        *boxes(
            whole,
            left=0.0,
            scale=WIDTH / whole.milliseconds,
            bottom=height - ROW,
            least=LEAST * whole.milliseconds,
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def boxes(box: Box, *, left: float, scale: float, bottom: float, least: float) -> Iterator[str]:
    """The elements of a box and of all that stand on it."""
    width, on_server = box.milliseconds * scale, box.name.endswith("()")
    label = f"{box.name} {box.milliseconds:.2f}"
    colour = "#9cc3e6" if on_server else "#f4b97a" if "." in box.name else "#ddd6c8"
    yield (
        f'<g><title>{escape(label)} ms</title><rect x="{left:.1f}" y="{bottom:.1f}" width="{max(0.5, width - 0.6):.1f}" '
        f'height="{ROW - 1.5}" rx="2" fill="{colour}"/>'
    )
    letters = int((width - 6) / LETTER)
    if letters > 3:
        shown = label if len(label) <= letters else label[: letters - 1] + "…"
        yield f'<text x="{left + 3:.1f}" y="{bottom + 12.5:.1f}">{escape(shown)}</text>'
    yield "</g>"
    for part in sorted(box.called.values(), key=lambda called: -called.milliseconds):
        if part.milliseconds >= least:
            yield from boxes(part, left=left, scale=scale, bottom=bottom - ROW, least=least)
        left += part.milliseconds * scale


if __name__ == "__main__":
    main()
