"""Cost of a distributed schema: verbs on a Citus cluster beside a plain PostgreSQL of the same version, in turns.

    python -m benchmarks.citus PLAIN_URL CLUSTER_URL [THROUGH_URL] --memories 5000 --turns 300

The urls are of logins that may serve verbs; `htm migrate` has run. THROUGH_URL is the cluster through something that stands
between, such as a PgBouncer beside another node, with HTM_NODE_ADDRESSES for it. Turns alternate, so that what else the machine
does falls on all.

    python -m benchmarks.citus --here --memories 1000 --turns 120
    python -m benchmarks.citus --nodes 1 2 3 --clients 6 --seconds 8
    python -m benchmarks.citus --moves 20

These start a cluster of three nodes on this machine, of what `.ci/servers` has obtained. The first compares it, directly and
through a PgBouncer beside another node, with a plain server that it starts; the second puts three installations on one, two and
three of the nodes, and counts what clients remember and recall a second; the third moves one installation while three threads use
it, by `citus_schema_move` and by `citus_rebalance_start` in turns.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from htm_core import Memory, Settings, shutdown
from htm_core.db.migrate import migrate
from tests.servers import programs
from tests.servers.authority import authority
from tests.servers.citus_cluster import SETTINGS, CitusCluster
from tests.servers.cluster import ADMIN, HOST, Cluster
from tests.servers.pooler import Pooler
from tests.servers.talk import KEPT, talking
from tests.stand_ins import HashEmbedder

WORDS = (
    "harbour", "lighthouse", "ferry", "gull", "rope", "anchor", "tide", "storm", "captain", "letter", "garden", "bridge",
)  # fmt: skip
INSTALLATIONS = ("north", "south", "west")
TICKS = os.sysconf("SC_CLK_TCK")


def sentence(chance: random.Random) -> str:
    """Something to remember."""
    return " ".join(chance.choice(WORDS) for _ in range(12)) + f" {chance.randrange(10_000)}."


def filled(url: str, memories: int, addresses: str) -> Memory:
    """A memory of a tenant of its own with so many memories, and their vectors."""
    settings = Settings(worker="thread", node_addresses=addresses or ())  # type: ignore[arg-type]  # pydantic makes pairs of it
    memory = Memory(
        "atlas",
        url=url,
        tenant=f"bench-{uuid4().hex[:8]}",
        embedder=HashEmbedder(),
        settings=settings,
    )
    chance = random.Random(1)
    for start in range(0, memories, 500):
        memory.remember_many(
            [{"content": sentence(chance)} for _ in range(min(500, memories - start))]
        )
    assert memory.flush(timeout=600)
    return memory


def verbs(memory: Memory, number: int) -> dict[str, Callable[[], object]]:
    """Return the verbs that are measured."""
    chance = random.Random(number)
    words = " ".join(chance.sample(WORDS, 3))
    return {
        "remember": lambda: memory.remember(sentence(chance) + f" {number}", session="s"),
        "recall": lambda: memory.recall(words, hold=False),
        "recall, held": lambda: memory.recall(words),
        "get": lambda: memory.list(limit=1),
    }


def compare_here(args: argparse.Namespace) -> None:
    """Compare with a plain server of the same version and settings, and through a PgBouncer, all of them on this machine."""
    with cluster() as citus, tempfile.TemporaryDirectory(prefix="htm-bench-plain-") as folder:
        premises = Path(folder)
        premises.chmod(0o755)
        trusted = citus.coordinator.authority
        settings = {
            name: value for name, value in SETTINGS.items() if "citus" not in f"{name} {value}"
        }
        plain = Cluster(programs.oldest(), Path(tempfile.mkdtemp(dir=premises)), trusted, settings)
        plain.build()
        plain.start()
        plain.prepare()
        pooler = Pooler(
            programs.pgbouncer(), citus.home(), Path(tempfile.mkdtemp(dir=premises)), sessions=8
        )
        pooler.start()
        try:
            # Another way to write the same url, so that the process keeps pools of its own for it.
            urls = [
                plain.dsn(),
                citus.coordinator.dsn(),
                citus.coordinator.dsn(application_name="through"),
            ]
            through = f"{HOST}:{citus.home().port}={HOST}:{pooler.port}"
            compare(args, urls, through, servers=[plain, citus.home()])
        finally:
            shutdown()
            pooler.stop()
            plain.remove()


def compare(
    args: argparse.Namespace, urls: Sequence[str], through: str, *, servers: Sequence[Cluster] = ()
) -> None:
    """Measure verbs by each url, and print the medians with their ratios to the first; `through` are the third one's addresses.

    The `servers` get the statistics that autovacuum would make, sooner on one of them than on the other.
    """
    addresses = ["", "", through]
    memories = [filled(url, args.memories, addresses[place]) for place, url in enumerate(urls)]
    for server in servers:
        with server.admin() as admin:
            admin.autocommit = True
            admin.execute("vacuum analyze")
    took: dict[str, list[list[float]]] = {}
    for turn in range(args.turns):
        for place in random.Random(turn).sample(range(len(memories)), len(memories)):
            for name, verb in verbs(memories[place], turn).items():
                begun = time.perf_counter()
                verb()
                took.setdefault(name, [[] for _ in memories])[place].append(
                    time.perf_counter() - begun
                )
    for name, places in took.items():
        warm = [sorted(times[len(times) // 10 :]) for times in places]
        halves = [statistics.median(times) for times in warm]
        print(
            f"{name:14}", *(f"{1000 * half:7.2f} ms ({half / halves[0]:.2f})" for half in halves),
            "p95", *(f"{1000 * times[int(0.95 * len(times))]:7.2f}" for times in warm),
        )  # fmt: skip


# -- a cluster of its own ------------------------------------------------------------------------------------------------


@contextmanager
def cluster() -> Iterator[CitusCluster]:
    """Three nodes on this machine, with the product's schema."""
    folder = Path(tempfile.mkdtemp(prefix="htm-bench-citus-"))
    folder.chmod(0o755)
    try:
        with CitusCluster.prepared(programs.citus(), folder, authority(folder)) as made:
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Client:
    """Work of one client process: one installation, until a moment."""

    url: str
    schema: str
    tenant: str
    seconds: float
    number: int

    def memory(self) -> Memory:
        """Its memory, which makes vectors before a verb returns."""
        settings = Settings(schema=self.schema, worker="off", auto_migrate=False)
        return Memory(
            "atlas",
            url=self.url,
            tenant=self.tenant,
            embedder=HashEmbedder(),
            embed="now",
            settings=settings,
        )

    def work(self, together: Callable[[], object]) -> tuple[list[float], list[float]]:
        """Remember and recall in turns; gives the seconds that each took."""
        chance, took = random.Random(self.number), ([], [])  # type: tuple[random.Random, tuple[list[float], list[float]]]
        with self.memory() as memory:
            memory.recall("warm", hold=False)
            together()
            end = time.monotonic() + self.seconds
            while (begun := time.monotonic()) < end:
                memory.remember(
                    f"{sentence(chance)} {self.number} {len(took[0])}", session=f"s{self.number}"
                )
                took[0].append(time.monotonic() - begun)
                begun = time.monotonic()
                memory.recall(" ".join(chance.sample(WORDS, 3)), hold=False)
                took[1].append(time.monotonic() - begun)
        return took


_barrier: Callable[[], object] = lambda: None  # noqa: E731  # a process of a pool gets the real one


def _take(wait: Callable[[], object]) -> None:
    global _barrier
    _barrier = wait


def _work(client: Client) -> tuple[list[float], list[float]]:
    return client.work(_barrier)


def server_seconds(nodes: Sequence[Cluster]) -> float:
    """The processor time that all servers have taken, with the sessions that have ended."""
    total = 0
    for node in nodes:
        postmaster = int((node.data / "postmaster.pid").read_text().split()[0])
        for process in (postmaster, *_below(postmaster)):
            try:
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            except FileNotFoundError:
                continue
            # The postmaster's children that have ended are counted in its own numbers of children.
            total += sum(map(int, fields[11:15] if process == postmaster else fields[11:13]))
    return total / TICKS


def _below(process: int) -> list[int]:
    return [
        int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def install(citus: CitusCluster, memories: int) -> list[Client]:
    """Three installations beside the first, each with so many memories of one tenant."""
    clients = []
    for schema in INSTALLATIONS:
        migrate(citus.coordinator.dsn(ADMIN), schema=schema, roles="htm")
        client = Client(citus.coordinator.dsn(), schema, "bench", 0, 0)
        chance = random.Random(1)
        with client.memory() as memory:
            for start in range(0, memories, 250):
                memory.remember_many(
                    [{"content": sentence(chance)} for _ in range(min(250, memories - start))]
                )
        clients.append(client)
    return clients


def spread(citus: CitusCluster, nodes: int) -> None:
    """Put the installations on so many nodes, evenly."""
    holders = [*citus.nodes[1:], citus.coordinator][:nodes]
    for place, schema in enumerate(INSTALLATIONS):
        target = holders[place % nodes]
        if citus.home(schema) is not target:
            citus.move(schema, target=target)


def throughput(args: argparse.Namespace) -> None:
    """Count what clients remember and recall while three installations are on so many nodes, in rounds."""
    context = multiprocessing.get_context("spawn")
    with cluster() as citus:
        citus.hold(citus.coordinator, shards=True)
        installed = install(citus, args.memories)
        for round_ in range(args.rounds):
            for nodes in args.nodes:
                spread(citus, nodes)
                clients = [
                    Client(of.url, of.schema, of.tenant, args.seconds, 100 * round_ + number)
                    for number, of in enumerate((installed * args.clients)[: args.clients])
                ]
                barrier = context.Barrier(args.clients)
                with context.Pool(args.clients, _take, (barrier.wait,)) as pool:
                    begun = server_seconds(citus.nodes)
                    answers = pool.map(_work, clients, chunksize=1)
                    used = server_seconds(citus.nodes) - begun
                remembered, recalled = (
                    sorted(itertools.chain(*(each[place] for each in answers))) for place in (0, 1)
                )
                count = len(remembered) + len(recalled)
                print(
                    f"round {round_ + 1}, {nodes} nodes: {len(remembered) / args.seconds:6.1f} remember/s, p50"
                    f" {1000 * statistics.median(remembered):6.1f} ms; {len(recalled) / args.seconds:6.1f} recall/s, p50"
                    f" {1000 * statistics.median(recalled):6.1f} ms; servers {1000 * used / count:5.2f} ms of CPU a verb",
                    flush=True,
                )  # fmt: skip


def moves(args: argparse.Namespace) -> None:
    """Move an installation under three threads, and say what they saw."""
    with cluster() as citus:
        settings = Settings(worker="off")
        with Memory(
            "atlas",
            url=citus.coordinator.dsn(),
            tenant="bench",
            embedder=HashEmbedder(),
            settings=settings,
        ) as memory:
            took: dict[str, list[float]] = {"citus_schema_move": [], "citus_rebalance_start": []}
            with talking(memory) as talk:
                for number in range(args.moves):
                    begun = time.monotonic()
                    way = list(took)[number % 2]
                    citus.move() if number % 2 == 0 else citus.drain()
                    took[way].append(time.monotonic() - begun)
            rows = citus.home_rows(KEPT, [memory.tenant])
            there = sorted(row[0] for row in rows)
            for way, times in took.items():
                print(
                    f"{len(times)} times {way}: {statistics.median(times):.1f} s in the middle, {max(times):.1f} s at most"
                )
            lost, doubled = len(set(talk.said) - set(there)), len(there) - len(set(there))
            print(
                f"{len(talk.said):,} memories acknowledged, {lost} lost, {doubled} twice, {len(talk.errors)} errors; the longest of"
                f" {2 * len(talk.said):,} calls took {talk.longest:.2f} s"
            )


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("urls", nargs="*")
    parser.add_argument("--memories", type=int, default=5_000)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--nodes", type=int, nargs="+", choices=(1, 2, 3))
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--moves", type=int)
    parser.add_argument("--here", action="store_true", help="compare servers that are started here")
    args = parser.parse_args()
    if args.nodes:
        throughput(args)
    elif args.moves:
        moves(args)
    elif args.here:
        compare_here(args)
    elif args.urls:
        compare(args, args.urls, os.environ.get("HTM_NODE_ADDRESSES", ""))
    else:
        parser.error("expected urls, --here, --nodes or --moves")


if __name__ == "__main__":
    main()
