"""Cost of claiming jobs while very many wait, of one tenant or of many, alone and beside other workers.

    python -m benchmarks.claims --waiting 1000 100000 1000000 --tenants 1 10000 --workers 1 4

Jobs are inserted by SQL on a private server. Each worker is a process of its own, which claims up to 64 jobs, finishes them
without any model, each tenant's in a transaction of its own, and claims again. The table has the time of a claim, the pages
of 8 KB that one reads before all of this and after it, how many jobs two workers had both, and how long the metrics of all
lanes take. `--snapshot` keeps a transaction open meanwhile, as a long backup does: what is finished then cannot be cleaned
away. `--explain` prints what `explain (analyze, buffers)` says of one claim.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from htm_core import Settings, shutdown
from htm_core.db import jobs
from htm_core.db.connection import Connection
from htm_core.db.database import Database
from htm_core.db.queries import load
from htm_core.jobs.turns import Turns
from htm_core.memory.process import runtime

LANE = ("embed", "bench")
BATCH = 64  # jobs of a claim, as a worker's first
CLAIMS = 50  # of each worker
SETTINGS = Settings(worker="off", verb_timeout=300.0, statement_timeout=290.0)

FILL = """
insert into jobs (tenant, kind, model, node_id, owner, run_at, created_at)
select 'tenant ' || (n %% %(tenants)s), %(kind)s, %(model)s, gen_random_uuid(), 'owner ' || (n %% 7),
       now() - make_interval(secs => n * 0.01), now() - make_interval(secs => n * 0.01)
from generate_series(1, %(waiting)s) n
"""


@dataclass(frozen=True, slots=True)
class Claimed:
    """Record of one worker: the seconds of each claim and of each batch's end, and the jobs that it had."""

    claiming: list[float]
    finishing: list[float]
    jobs: list[str]


def main() -> None:
    """Measure each number of jobs, tenants and workers, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--waiting", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--tenants", type=int, nargs="+", default=[1, 10_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--snapshot", action="store_true", help="keep a transaction open meanwhile")
    parser.add_argument("--explain", action="store_true", help="print the plan of the last claim")
    args = parser.parse_args()
    table = Table(
        title=f"claims of {BATCH} jobs, {os.cpu_count()} cores"
        + (", beside a long transaction" if args.snapshot else "")
    )
    for column in (
        "waiting",
        "tenants",
        "workers",
        "claim p50",
        "p95",
        "finish p50",
        "pages at first",
        "at last",
        "jobs a second",
        "had twice",
        "metrics",
    ):
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o755)
        os.environ["HTM_HOME"] = home
        database = runtime(None, SETTINGS).database
        for waiting in args.waiting:
            for tenants in args.tenants:
                for workers in args.workers:
                    row = _row(
                        database, waiting, min(tenants, waiting), workers, snapshot=args.snapshot
                    )
                    print(*row, sep="\t", file=sys.stderr, flush=True)
                    table.add_row(*row)
        Console(width=150).print(table)
        if args.explain:
            print(_explained(database, "text"))
        shutdown()


def _row(
    database: Database, waiting: int, tenants: int, workers: int, *, snapshot: bool
) -> list[str]:
    with database.owner() as connection:
        connection.execute("truncate jobs")
        # The jobs are of no nodes. A claim and its end read none either.
        connection.execute("alter table jobs drop constraint if exists jobs_tenant_node_id_fkey")
        connection.execute(
            FILL, {"tenants": tenants, "waiting": waiting, "kind": LANE[0], "model": LANE[1]}
        )
    with _long_transaction(database, begun=snapshot):
        first = _pages(database)
        began = time.perf_counter()
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            done = list(pool.map(_work, [min(CLAIMS, waiting // (BATCH * workers) or 1)] * workers))
        took = time.perf_counter() - began
        last = _pages(database)
    began = time.perf_counter()
    with database.transaction("", role="htm_worker") as connection:
        jobs.backlog(connection)
    metrics = time.perf_counter() - began
    claiming = sorted(1000 * each for worker in done for each in worker.claiming)
    finishing = [1000 * each for worker in done for each in worker.finishing]
    had = Counter(job for worker in done for job in worker.jobs)
    busy = max(sum(worker.claiming) + sum(worker.finishing) for worker in done)
    assert took >= busy / 2
    return [
        f"{waiting:,}", f"{tenants:,}", str(workers), f"{statistics.median(claiming):.1f} ms",
        f"{claiming[int(len(claiming) * 0.95)]:.1f} ms", f"{statistics.median(finishing):.1f} ms", f"{first:,}", f"{last:,}",
        f"{sum(had.values()) / busy:,.0f}", str(sum(count > 1 for count in had.values())), f"{1000 * metrics:.0f} ms",
    ]  # fmt: skip


def _work(claims: int) -> Claimed:
    """Claim and finish, in a process of its own."""
    database, turns, did = runtime(None, SETTINGS).database, Turns(), Claimed([], [], [])
    with database.transaction("", role="htm_worker") as connection:
        _claim(connection, turns, limit=1)  # plans are made in the first one of a session
        connection.rollback()
    for _ in range(claims):
        began = time.perf_counter()
        with database.transaction("", role="htm_worker") as connection:
            claimed = _claim(connection, turns)
        turns.took(claimed)
        did.claiming.append(time.perf_counter() - began)
        began = time.perf_counter()
        by_tenant: dict[str, list[jobs.ClaimedJob]] = {}
        for job in claimed:
            by_tenant.setdefault(job.tenant, []).append(job)
        for tenant, group in by_tenant.items():
            with database.transaction(tenant, role="htm_worker") as connection:
                jobs.finish(connection, group)
        did.finishing.append(time.perf_counter() - began)
        did.jobs.extend(str(job.id) for job in claimed)
    shutdown()
    return did


def _claim(connection: Connection, turns: Turns, *, limit: int = BATCH) -> list[jobs.ClaimedJob]:
    return jobs.claim(
        connection, LANE, limit=limit, lease=30.0, classes=turns.classes(), after_tenants=turns.after_tenants(),
        after_owners=turns.after_owners(),
    )  # fmt: skip


def _pages(database: Database) -> int:
    """The pages that a claim reads, in memory or from the disk; the claim is undone."""
    (plan,) = json.loads(_explained(database, "json"))
    return int(plan["Plan"]["Shared Hit Blocks"]) + int(plan["Plan"]["Shared Read Blocks"])


def _explained(database: Database, form: str) -> str:
    values = {
        "kind": LANE[0], "model": LANE[1], "limit": BATCH, "lease": 30.0, "classes": [False, True], "after_tenants": ["", ""],
        "after_owners": "{}", "only": None, "besides": [],
    }  # fmt: skip
    with database.transaction("", role="htm_worker") as connection:
        with connection.transaction(force_rollback=True):
            connection.execute(
                load("db/jobs")["claim"], values
            )  # a session's first one plans its statements
        rows = connection.execute(
            f"explain (analyze, buffers, format {form}) " + load("db/jobs")["claim"], values
        ).fetchall()
        connection.rollback()
    lines = [row["QUERY PLAN"] for row in rows]
    return json.dumps(lines[0]) if form == "json" else "\n".join(lines)


@contextmanager
def _long_transaction(database: Database, *, begun: bool) -> Iterator[None]:
    """A transaction that has looked at the database before all that follows, where one is asked for."""
    if not begun:
        yield
        return
    with database.owner() as connection:
        connection.execute("begin isolation level repeatable read")
        connection.execute("select count(*) from robots")
        yield


if __name__ == "__main__":
    main()
