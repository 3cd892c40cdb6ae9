"""Reads of a replica that lags, and fail-over under writers: what is stale, what is lost, how long it takes.

    python -m benchmarks.replicas --pairs 10000 --kills 50 --writers 8
    python -m benchmarks.replicas --pairs 0 --kills 50 --writers 8 --patroni haproxy

It needs the servers that `.ci/servers` obtains, in the directory of HTM_TEST_SERVERS or where that script puts them; with
`--patroni` also the packages patroni, etcd-server and haproxy.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import SecretStr

from htm_core import Memory, Settings, shutdown
from htm_core.db.cluster import replicas
from tests.servers import programs
from tests.servers.authority import authority
from tests.servers.cluster import Cluster
from tests.servers.failover import Pair, write_under_fire
from tests.servers.patroni import PatroniCluster
from tests.servers.replica import await_replay, replica_of
from tests.stand_ins import HashEmbedder

LAGS = ("0", "2ms", "20ms", "200ms")


def main() -> None:
    """Run both measurements and print their tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--pairs",
        type=int,
        default=2000,
        help="writes that are read at once, for all lags together",
    )
    parser.add_argument(
        "--reads", type=int, default=1000, help="recalls for the comparison of times"
    )
    parser.add_argument(
        "--kills",
        type=int,
        default=5,
        help="primaries that are killed, with and without synchronous commit",
    )
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument(
        "--pause", type=float, default=0.02, help="seconds between two sayings of a writer"
    )
    parser.add_argument(
        "--patroni",
        choices=("haproxy", "hosts"),
        help="three servers under Patroni with etcd, reached through HAProxy or by naming all three; else two, promoted by hand",
    )
    parser.add_argument(
        "--ttl",
        type=int,
        default=20,
        help="with --patroni: seconds after which the primary's key ends",
    )
    parser.add_argument(
        "--replication", choices=("both", "synchronous", "asynchronous"), default="both"
    )
    chosen = parser.parse_args()
    logging.disable(logging.WARNING)  # each kill is logged by whoever notices it
    with tempfile.TemporaryDirectory(prefix="htm-replicas-") as folder:
        premises = Path(folder)
        premises.chmod(0o755)
        if chosen.pairs:
            primary = _primary(premises)
            replica = replica_of(primary, premises)
            try:
                _causal(primary, replica, pairs=chosen.pairs)
                _times(primary, replica, reads=chosen.reads)
            finally:
                replica.remove()
                primary.remove()
        if chosen.kills:
            _fail_over(premises, chosen)


def _fail_over(premises: Path, chosen: argparse.Namespace) -> None:
    """Kill primaries under writers, with and without synchronous replication."""
    names = (
        "kills",
        "acknowledged",
        "repeated",
        "lost",
        "doubled",
        "no vector",
        "jobs left",
        "embedded again",
        "group",
    )
    print(
        f"\n{'replication':14}"
        + "".join(f"{name:>15}" for name in names)
        + f"{'recovery p50':>15}{'p95':>9}{'max':>9}"
    )
    asked = (
        ("synchronous", "asynchronous") if chosen.replication == "both" else (chosen.replication,)
    )
    for replication in asked:
        with _servers(premises, chosen, synchronous=replication == "synchronous") as (servers, url):
            outcome = write_under_fire(
                servers, url, kills=chosen.kills, writers=chosen.writers, pause=chosen.pause
            )
        middle, late = _percentiles(outcome.recovery_seconds)
        figures = (
            chosen.kills, outcome.acknowledged, outcome.refused, len(outcome.lost), len(outcome.doubled), outcome.vectors_missing,
            outcome.jobs_left, outcome.embedded_again, "goes on" if outcome.group_goes_on else "ended",
        )  # fmt: skip
        print(
            f"{replication:14}" + "".join(f"{each:>15}" for each in figures)
            + f"{middle:13.2f} s{late:7.2f} s{max(outcome.recovery_seconds):7.2f} s",
            flush=True,
        )  # fmt: skip


@contextlib.contextmanager
def _servers(
    premises: Path, chosen: argparse.Namespace, *, synchronous: bool
) -> Iterator[tuple[Pair | PatroniCluster, str]]:
    """The servers to kill, and the url of an application."""
    if chosen.patroni is None:
        pair = Pair(programs.modern(), premises, authority(premises), synchronous=synchronous)
        try:
            yield pair, pair.dsn
        finally:
            pair.remove()
        return
    cluster = PatroniCluster(
        programs.oldest(), premises, authority(premises), synchronous=synchronous, ttl=chosen.ttl
    )
    try:
        cluster.start()
        yield cluster, cluster.proxy_dsn if chosen.patroni == "haproxy" else cluster.hosts_dsn
    finally:
        cluster.remove()


def _primary(premises: Path) -> Cluster:
    folder = Path(tempfile.mkdtemp(dir=premises))
    made = Cluster(programs.modern(), folder, authority(premises), {"shared_buffers": "256MB"})
    made.build()
    made.start()
    made.prepare()
    return made


def _opened(primary: Cluster, replica: Cluster | None) -> Memory:
    read_url = None if replica is None else SecretStr(replica.dsn())
    return Memory(
        url=primary.dsn(),
        tenant="bench",
        embedder=HashEmbedder(),
        settings=Settings(read_url=read_url),
    )


def _causal(primary: Cluster, replica: Cluster, *, pairs: int) -> None:
    """Write and read at once, while the replica applies commits later and later."""
    answered = {"replica": 0, "primary": 0}
    run = replicas.Replicas.run

    def counted(self: replicas.Replicas, work: object) -> object:
        """Count who answers."""
        try:
            result = run(self, work)  # type: ignore[arg-type]
        except replicas.NoReplica:
            answered["primary"] += 1
            raise
        answered["replica"] += 1
        return result

    replicas.Replicas.run = counted  # type: ignore[method-assign,assignment]
    print(f"{'lag':>8}{'pairs':>8}{'stale':>7}{'by the replica':>16}{'read p50':>10}{'p95':>9}")
    chance, total = random.Random(7), 0
    with _opened(primary, replica) as memory:
        for lag in LAGS:
            with replica.admin("postgres") as admin:
                admin.execute(f"alter system set recovery_min_apply_delay = '{lag}'")
                admin.execute("select pg_reload_conf()")
            time.sleep(0.5)
            stale, seconds = 0, []
            answered.update(replica=0, primary=0)
            for _ in range(pairs // len(LAGS)):
                total += 1
                text = f"value {total}"
                memory.revise("key", text) if total > 1 else memory.remember(text, key="key")
                time.sleep(chance.choice((0, 0, 0.002)))
                began = time.perf_counter()
                stale += memory.get("key").content != text
                seconds.append(time.perf_counter() - began)
            share = answered["replica"] / max(1, sum(answered.values()))
            middle, late = _percentiles([1000 * each for each in seconds])
            print(
                f"{lag:>8}{len(seconds):8,}{stale:7}{share:15.0%} {middle:7.1f} ms{late:6.1f} ms",
                flush=True,
            )
        with replica.admin("postgres") as admin:
            admin.execute("alter system reset recovery_min_apply_delay")
            admin.execute("select pg_reload_conf()")
    replicas.Replicas.run = run  # type: ignore[method-assign]
    shutdown()


def _times(primary: Cluster, replica: Cluster, *, reads: int) -> None:
    """Recall on the primary, and on the replica, in turns."""
    with _opened(primary, None) as memory:
        memory.remember_many(
            [
                {"content": f"Saying {number} of the heron, {number * 7919 % 1000}."}
                for number in range(2000)
            ]
        )
        memory.flush()
    await_replay(primary, replica)
    seconds: dict[str, list[float]] = {"primary": [], "replica": []}
    with _opened(primary, None) as plain, _opened(primary, replica) as spread:
        for number in range(reads):
            for name, memory in (("primary", plain), ("replica", spread)):
                began = time.perf_counter()
                memory.recall(f"What of the heron and {number % 1000}?", hold=False)
                seconds[name].append(1000 * (time.perf_counter() - began))
    print(f"\n{'recall on the':>14}{'p50':>9}{'p95':>9}")
    for name, times in seconds.items():
        middle, late = _percentiles(times)
        print(f"{name:>14}{middle:6.1f} ms{late:6.1f} ms")
    shutdown()


def _percentiles(times: list[float]) -> tuple[float, float]:
    """The median, and what 95 % do not exceed."""
    ranked = sorted(times)
    return ranked[len(ranked) // 2], ranked[int(len(ranked) * 0.95)]


if __name__ == "__main__":
    main()
