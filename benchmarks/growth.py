"""Needs of ten thousand to a hundred million users: cells, replicas, workers, how long a recall takes, and what it costs a month.

    python -m benchmarks.growth
    python -m benchmarks.growth --users 250000 --memories-a-user 2000 --node-cores 32 --node-price 1100
    python -m benchmarks.growth --check 1000 10000 100000 --load 20
    python -m benchmarks.growth --check 1000 100000 --home FOLDER
    python -m benchmarks.growth --check 100000 --home FOLDER --load 20 --clients 2 8
    HTM_TEST_SERVERS=FOLDER python -m benchmarks.growth --check 1000 10000 --cluster

A simulation: arithmetic on measured costs, each of which `benchmarks/growth_model.py` names with its measurement. Every number of
its classes `Use` and `Machines` is an option. `--check` fills a private server with so many users of five memories each and
prints what was measured beside what was predicted: bytes, CPU time of the server, and with `--load` for so many seconds each how
long recalls take while as many come as keep the processor busy for a part of its time. With `--cluster` it is a cell on a node of a
Citus cluster of three that is started here, of what `.ci/servers` has put into the folder.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import os
import random
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import Any

import psutil
from pydantic import SecretStr
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import citus
from benchmarks.corpus import Corpus, RandomEmbedder
from benchmarks.growth_model import Costs, Machines, Plan, Use, plan, waiting_ms
from benchmarks.sizes import BYTES
from htm_core import Draft, Memory, Settings, shutdown
from htm_core.db import indexes
from htm_core.db.database import Database
from htm_core.db.owner_claims import EVERYBODY
from htm_core.memory.process import runtime
from htm_core.recall import search
from htm_core.working import working_sets
from tests.servers.cluster import ADMIN

USERS = (1e4, 1e5, 1e6, 1e7, 1e8)
TENANT = "company"
EACH = 5  # memories of a user of the check
WRITTEN = 1_000  # users whose memories are remembered; those of the others are copied, with ids of their own
CALLS = 300
BUSY = (0.2, 0.4, 0.6, 0.8)  # how busy the processor should be
ALL_BUSY = 0.99  # of which the formula says something still
CLIENTS, THREADS = 2, 32  # processes, and threads of all together, from which recalls come
WINDOW = 5.0  # seconds, of which each has a p95 of its own: an interruption makes many calls late, but in few of these
SETTINGS = Settings(worker="off", pool_max=16, verb_timeout=300.0, statement_timeout=290.0)

# What follows is no change of a cluster. To any other server this is a setting of nobody's.
ON_THIS_NODE = "set citus.enable_ddl_propagation = off"
# So many vectors are copied sooner without their index, which is built again afterwards.
WITHOUT_INDEX = """
do $$
declare graph regclass;
begin
  for graph in select i.indexrelid from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
               where a.amname = 'hnsw'
                 and c.relnamespace in (current_schema()::regnamespace, to_regnamespace(current_schema() || '_tables')) loop
    execute format('drop index %s', graph);
  end loop;
  update vector_spaces set indexed = false;
end $$
"""

# All of the first users again, as other users: each id is another one, the same in all tables.
COPIES = """
create function pg_temp.other(id uuid, n integer) returns uuid language sql immutable as 'select md5(id::text || n)::uuid';
create temp table copies as select n from generate_series(%(first)s::integer, %(last)s::integer) n;
insert into sessions select tenant, owner || '-' || n, session, last_seq, created_at from sessions, copies where owner !~ '-';
insert into nodes (tenant, id, owner, content, tokens, created_at, live)
  select tenant, pg_temp.other(id, n), owner || '-' || n, content, tokens, created_at, live from nodes, copies where owner !~ '-';
insert into node_state (tenant, node_id, importance, metadata, access_count, accessed_at)
  select s.tenant, pg_temp.other(node_id, n), importance, metadata, access_count, accessed_at
  from node_state s join nodes o on o.tenant = s.tenant and o.id = s.node_id and o.owner !~ '-', copies;
insert into mentions
  (tenant, id, node_id, owner, robot, session, seq, role, at, metadata, log_position, archived, withdrawn, purged)
  select tenant, pg_temp.other(id, n), pg_temp.other(node_id, n), owner || '-' || n, robot, session, seq, role, at, metadata,
         log_position, archived, withdrawn, purged from mentions, copies where owner !~ '-';
insert into passages (tenant, id, node_id, ordinal, owner, live, starts, stops, length, lexemes, weights, version, traits)
  select tenant, pg_temp.other(id, n), pg_temp.other(node_id, n), ordinal, owner || '-' || n, live, starts, stops, length, lexemes,
         weights, version, traits from passages, copies where owner !~ '-';
insert into vectors (tenant, space, passage_id, node_id, owner, live, embedding)
  select tenant, space, pg_temp.other(passage_id, n), pg_temp.other(node_id, n), owner || '-' || n, live, embedding
  from vectors, copies where owner !~ '-';
drop table copies; drop function pg_temp.other(uuid, integer)
"""


@dataclass(frozen=True, slots=True)
class Server:
    """The server that is filled: the private one, or the node of a cluster that the url leads to."""

    url: str | None = None
    settings: Settings = SETTINGS

    @property
    def database(self) -> Database:
        """The database of this process there."""
        return runtime(self.url, self.settings).database


@contextlib.contextmanager
def _cluster() -> Iterator[Server]:
    """A cell on a node of a Citus cluster."""
    with citus.cluster() as made:
        owner = SecretStr(made.coordinator.dsn(ADMIN))
        yield Server(made.coordinator.dsn(), SETTINGS.model_copy(update={"migrate_url": owner}))
        shutdown()


def main() -> None:
    """Print the table, or what was measured beside it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=float, nargs="+", default=list(USERS))
    parser.add_argument(
        "--check",
        type=int,
        nargs="+",
        metavar="USERS",
        help="measure with so many users, on this machine",
    )
    parser.add_argument(
        "--load",
        type=float,
        default=0.0,
        help="with --check: seconds for each load of the largest size",
    )
    parser.add_argument(
        "--clients",
        type=int,
        nargs="+",
        default=[CLIENTS],
        help="with --load: the processes that recall, in turns",
    )
    parser.add_argument(
        "--home",
        type=Path,
        help="with --check: a folder in which the server stays, filled, for the next time",
    )
    parser.add_argument(
        "--cluster",
        action="store_true",
        help="with --check: on a node of a Citus cluster that is started here",
    )
    for defaults in (Use(), Machines()):
        group = parser.add_argument_group(type(defaults).__name__)
        for field in fields(defaults):
            value = getattr(defaults, field.name)
            group.add_argument(
                f"--{field.name.replace('_', '-')}",
                type=type(value),
                default=value,
                help=f"{value:g}",
            )
    chosen = parser.parse_args()
    use = Use(**{each.name: getattr(chosen, each.name) for each in fields(Use)})
    machines = Machines(**{each.name: getattr(chosen, each.name) for each in fields(Machines)})
    if chosen.check:
        if any(
            users > WRITTEN and (users % WRITTEN or min(chosen.check) < WRITTEN)
            for users in chosen.check
        ):
            parser.error(
                f"expected --check to name multiples of {WRITTEN:,} users, or one number below, got {chosen.check}"
            )
        if chosen.cluster and (chosen.load or chosen.home):
            parser.error(
                "expected --cluster without --load and --home, which are of the private server"
            )
        with contextlib.ExitStack() as held:
            home = chosen.home or Path(
                held.enter_context(
                    tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True)
                )
            )
            server = held.enter_context(_cluster()) if chosen.cluster else Server()
            _check(
                server, sorted(chosen.check), load=chosen.load, clients=chosen.clients, home=home
            )
    else:
        try:
            plans = [plan(users, use=use, machines=machines) for users in chosen.users]
        except ValueError as error:
            parser.error(str(error))
        Console(width=175).print(table(plans, use=use, machines=machines))


def table(plans: list[Plan], *, use: Use, machines: Machines) -> Table:
    """Return the needs of each number of users as a table."""
    made = Table(
        title=f"{use.memories_a_user:,.0f} memories a user, {use.active_a_day:.0%} active a day, {use.turns_a_day:g} turns each",
        caption=f"nodes of {machines.node_cores} cores and {machines.node_memory_gb:g} GB for {machines.node_price:g} a month, "
        f"workers of {machines.worker_cores} cores for {machines.worker_price:g}; at most {machines.utilisation:.0%} busy",
    )
    names = ("users", "memories", "recalls/s", "remembers/s", "cells", "replicas", "nodes", "workers", "disk a node", "in memory",
             "busy", "limit", "p95", "a month", "of 1,000 users")  # fmt: skip
    for name in names:
        made.add_column(name, justify="right", no_wrap=True)
    for needs in plans:
        made.add_row(
            f"{needs.users:,.0f}", _short(needs.memories), f"{needs.recalls_a_second:,.1f}", f"{needs.remembers_a_second:,.1f}",
            f"{needs.cells:,}", str(needs.replicas), f"{needs.nodes:,}", f"{needs.workers:,}", f"{needs.disk_gb:,.0f} GB",
            f"{needs.hot_gb:,.1f} GB", f"{needs.utilisation:.1%}", needs.limit if needs.cells > 1 else "", f"{needs.p95_ms:.0f} ms",
            f"{needs.price:,.0f}", f"{needs.price_of_thousand:,.2f}",
        )  # fmt: skip
    return made


def _short(number: float) -> str:
    for unit, size in (("bn", 1e9), ("m", 1e6)):
        if number >= size:
            return f"{number / size:,.4g} {unit}"
    return f"{number:,.0f}"


# -- the check ----------------------------------------------------------------------------------------------------------


def _check(
    server: Server, sizes: list[int], *, load: float, clients: Sequence[int], home: Path
) -> None:
    costs, console = Costs(), Console(width=180)
    home.mkdir(exist_ok=True, parents=True)
    home.chmod(0o755)
    os.environ["HTM_HOME"] = str(home)
    database = server.database
    corpus, filled = Corpus(WRITTEN * EACH), home / "users"
    there = int(filled.read_text()) if filled.exists() else 0
    if not there:
        there = min(WRITTEN, sizes[0])
        _write(server, corpus, there)
    if there > sizes[0]:
        raise SystemExit(f"expected --home with at most {sizes[0]:,} users, got one with {there:,}")
    drawn = Table(
        title=f"measured, and in brackets predicted; {EACH} memories a user, {os.cpu_count()} cores"
    )
    for name in (
        "users",
        "memories",
        "bytes a memory",
        "recall: CPU of the server",
        "p50, p95",
        "remember: begins a conversation",
        "goes on",
        "in another process",
    ):
        drawn.add_column(name, justify="right")
    both, late = 0.0, 0.0
    for size in sizes:
        if size > there or not filled.exists():
            _copy(database, there, size)
        there = size
        filled.write_text(str(there))
        bytes_each = _bytes(database) / (size * EACH)
        recall, recall_times, here = _measured(
            database, partial(_recall, server, corpus, users=size)
        )
        begins, goes_on, comes_back = _remembered(server, corpus, users=size)
        both, late = recall + here, _late(recall_times)
        drawn.add_row(
            f"{size:,}", f"{size * EACH:,}", f"{bytes_each:,.0f} ({costs.bytes_a_memory:,.0f})",
            f"{recall:.1f} ms ({costs.recall_cpu_ms:.1f})", f"{statistics.median(recall_times):.1f}, {late:.1f} ms",
            f"{begins:.1f} ms", f"{goes_on:.1f} ms ({costs.remember_cpu_ms:.1f})",
            f"{comes_back:.1f} ms ({costs.remember_cpu_ms + costs.meet_cpu_ms:.1f})",
        )  # fmt: skip
    console.print(drawn)
    if load:
        console.print(
            _curve(sizes[-1], clients=clients, seconds=load, service_ms=both, alone_ms=late)
        )
    shutdown()


def _write(server: Server, corpus: Corpus, users: int) -> None:
    documents = corpus.documents()
    for number in track(range(users), description="remember", console=Console(stderr=True)):
        with _memory(server, corpus, f"user{number}") as memory:
            drafts = [
                Draft(content=each.content, vector=each.vector, at=each.at, role="user")
                for each, _ in zip(documents, range(EACH), strict=False)
            ]
            memory.remember_many(drafts)


def _copy(database: Database, there: int, users: int) -> None:
    """Copy the first users until there are so many, and give the tables the statistics and indexes of so many rows."""
    with database.owner() as connection:
        connection.execute(ON_THIS_NODE)
        connection.execute("delete from jobs")
        if users > there:
            connection.execute(WITHOUT_INDEX)
            copies = {"first": there // WRITTEN, "last": users // WRITTEN - 1}
            for statement in (COPIES % {name: str(value) for name, value in copies.items()}).split(
                ";\n"
            ):
                connection.execute(statement)
    with database.transaction(TENANT, claim=EVERYBODY) as connection:
        search.count_words(connection)
    indexes.build_due(database)
    with database.owner() as connection:
        connection.execute(ON_THIS_NODE)
        connection.execute("vacuum analyze")


def _memory(server: Server, corpus: Corpus, user: str, *, session: str | None = None) -> Memory:
    return Memory(
        "bench", url=server.url, tenant=TENANT, user=user, session=session, embedder=_embedder(corpus), settings=server.settings,
        budget=20_000,
    )  # fmt: skip


@cache
def _embedder(corpus: Corpus) -> RandomEmbedder:
    """The one model of this process."""
    return RandomEmbedder(corpus)


def _user(number: int, users: int) -> str:
    """One of the users, by chance but always the same one."""
    chosen = random.Random(number).randrange(users)
    return f"user{chosen % WRITTEN}" + (f"-{chosen // WRITTEN}" if chosen >= WRITTEN else "")


def _recall(server: Server, corpus: Corpus, number: int, *, users: int) -> None:
    with _memory(server, corpus, _user(number, users)) as memory:
        memory.recall(corpus.sentence(6), hold=False)


def _remembered(server: Server, corpus: Corpus, *, users: int) -> tuple[float, float, float]:
    """CPU time of the server for a `remember` that begins a conversation, for the next one, and for one by another process."""
    database = server.database
    session = f"conversation {random.random()}"
    open_memories: dict[int, Memory] = {}

    def known(number: int) -> Memory:
        """The memory of a user's conversation, which this process keeps open."""
        if number not in open_memories:
            open_memories[number] = _memory(server, corpus, _user(number, users), session=session)
        return open_memories[number]

    def say(memory: Memory) -> None:
        """Remember the next sentence."""
        memory.remember(corpus.sentence(), role="user")

    begins, _, _ = _measured(database, lambda number: say(known(number)))
    goes_on, _, _ = _measured(database, lambda number: say(known(number)))
    for memory in open_memories.values():
        memory.close()
    working_sets.forget_sets()
    comes_back, _, _ = _measured(
        database, lambda number: say(_memory(server, corpus, _user(number, users), session=session))
    )
    return begins, goes_on, comes_back


def _measured(database: Database, call: Callable[[int], None]) -> tuple[float, list[float], float]:
    """CPU time of the server a call, the time of each, and CPU time of this process a call; in milliseconds."""
    for number in range(CALLS // 10):
        call(-number)
    processes = _server(database)
    before, here, times = cpu_seconds(processes), time.process_time(), []
    for number in range(CALLS):
        began = time.perf_counter()
        call(number)
        times.append(1_000 * (time.perf_counter() - began))
    own = time.process_time() - here
    return 1_000 * (cpu_seconds(processes) - before) / CALLS, times, 1_000 * own / CALLS


def _server(database: Database) -> list[psutil.Process]:
    """The processes of the server: its sessions stay, since this process keeps them in its pool."""
    with database.owner() as connection:
        row = connection.execute("select pg_backend_pid() as pid").fetchone()
        assert row is not None
        postmaster = psutil.Process(row["pid"]).parent()
        assert postmaster is not None
        return [each for each in postmaster.children() if each.pid != row["pid"]]


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """Seconds of CPU that these have used; one that has ended counts no more."""
    total = 0.0
    for process in processes:
        try:
            used = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += used.user + used.system
    return total


def _bytes(database: Database) -> float:
    with database.owner() as connection:
        row = connection.execute(BYTES).fetchone()
    assert row is not None
    return float(row["disk"])


def _late(times: list[float]) -> float:
    return sorted(times)[int(0.95 * len(times))]


def _curve(
    users: int, *, clients: Sequence[int], seconds: float, service_ms: float, alone_ms: float
) -> Table:
    """Recalls that come at random, as many as keep all cores busy for a part of the time: measured beside predicted."""
    cores = os.cpu_count() or 1
    made = Table(
        title=f"{users:,} users, {service_ms:.1f} ms of processor a recall, server and clients on {cores} cores"
    )
    for name in (
        "busy by recalls",
        "by all",
        "processes",
        "recalls/s",
        "answered/s",
        "p50",
        "p95",
        f"of the middle {WINDOW:g} s",
        "predicted",
        "predicted of all",
    ):
        made.add_column(name, justify="right")
    with contextlib.ExitStack() as held:
        pools = {
            number: held.enter_context(
                ProcessPoolExecutor(number, multiprocessing.get_context("spawn"))
            )
            for number in clients
        }
        for number, pool in pools.items():  # plans and connections
            list(
                pool.map(
                    _load,
                    [users] * number,
                    [20.0] * number,
                    [3.0] * number,
                    [THREADS // number] * number,
                )
            )
        for busy, (number, pool) in itertools.product(BUSY, pools.items()):
            rate = busy * cores / (service_ms / 1_000)
            began, before = time.perf_counter(), psutil.cpu_times()
            parts = pool.map(
                _load,
                [users] * number,
                [rate / number] * number,
                [seconds] * number,
                [THREADS // number] * number,
            )
            calls = [each for part in parts for each in part]
            took, real = time.perf_counter() - began, _busy_share(before, psutil.cpu_times())
            times = [milliseconds for _, milliseconds in calls]
            # Others who work on this machine are waited for, too.
            predicted, of_all = (
                alone_ms + waiting_ms(min(each, ALL_BUSY), servers=cores, service_ms=service_ms)
                for each in (busy, real)
            )
            made.add_row(
                f"{busy:.0%}", f"{real:.0%}", str(number), f"{rate:,.0f}", f"{len(times) / took:,.0f}",
                f"{statistics.median(times):.1f} ms", f"{_late(times):.1f} ms", f"{_middle_late(calls):.1f} ms",
                f"{predicted:.1f} ms", f"{of_all:.1f} ms",
            )  # fmt: skip
    return made


def _middle_late(calls: Sequence[tuple[float, float]]) -> float:
    """The p95 of the middle one of all windows, each with the calls that were due in it."""
    windows: dict[int, list[float]] = defaultdict(list)
    for due, milliseconds in calls:
        windows[int(due // WINDOW)].append(milliseconds)
    return statistics.median(_late(each) for each in windows.values())


def _busy_share(before: Any, after: Any) -> float:
    """The share of all cores' time that was worked in, by whatever program."""
    spent = {
        name: getattr(after, name) - getattr(before, name)
        for name in after._fields
        if not name.startswith("guest")
    }
    return float(1 - (spent["idle"] + spent.get("iowait", 0.0)) / sum(spent.values()))


def _load(users: int, rate: float, seconds: float, threads: int) -> list[tuple[float, float]]:
    """Recall at random moments, so many a second; gives when each was due, in seconds, and how long it took from then, in ms."""
    corpus, chance, times, noting = (
        Corpus(WRITTEN * EACH, seed=os.getpid()),
        random.Random(os.getpid()),
        list[tuple[float, float]](),
        threading.Lock(),
    )

    def call(due: float, number: int) -> None:
        """One recall."""
        _recall(Server(), corpus, number, users=users)
        with noting:
            times.append((due - began, 1_000 * (time.perf_counter() - due)))

    with ThreadPoolExecutor(threads) as calls:
        due = began = time.perf_counter()
        while due - began < seconds:
            due += chance.expovariate(rate)
            time.sleep(max(0.0, due - time.perf_counter()))
            calls.submit(call, due, chance.randrange(1 << 30))
    return times


if __name__ == "__main__":
    main()
