"""Needs of a number of users: pure arithmetic on measured costs. `benchmarks.growth` prints it and checks it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

SECONDS_A_DAY = 86_400
GB = 1e9
EXACT = 1e-9  # what sums of fractions may be off by


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured costs of one operation. Each name is followed by its unit, where it comes from, and the command.

    Times of a processor are those of the two cores that all pages of docs/why were measured on.
    """

    # docs/why/latency.md, "A recall in one conversation": python -m benchmarks.conversation --locomo locomo10.json
    recall_cpu_ms: float = 6.1  # of the server, hybrid, in a memory of 680 messages
    # docs/why/latency.md, "What is written": python -m benchmarks.writing --nodes 20000 --blocks 3 --calls 50
    # Of the server, embedding queued, by a process that has the user's working memory. The check of docs/why/scale.md found 2.6.
    remember_cpu_ms: float = 3.47
    # docs/why/scale.md, "The check": python -m benchmarks.growth --check 100000. More, where the process reads the user's working
    # memory first: it is new to the user, or begins a conversation.
    meet_cpu_ms: float = 1.4
    # docs/why/latency.md, the same section, `remember_many` with vectors, of the server: what storing a vector and its job's end
    # cost, and a little more
    store_vector_cpu_ms: float = 1.78
    # docs/why/scale.md: python -m benchmarks.sizes --nodes 10000 100000 1000000 --shape one
    bytes_a_memory: float = 4_991.0  # on the disk, with all indexes
    hnsw_bytes_a_memory: float = 1_169.0  # of these, the index of vectors
    # docs/why/jobs.md, "Whose turn it is": python -m benchmarks.first_minute --jobs 100000, 20 to 30 vectors a second on two cores
    embed_cpu_ms: float = 40.0
    # docs/why/latency.md, the table of all verbs: python -m benchmarks.latency --nodes 10000 100000, without embedding the question
    recall_p95_ms: float = 11.1  # hybrid, with nobody else
    # docs/why/scale.md, lag 0: python -m benchmarks.replicas --pairs 10000
    read_by_replica: float = (
        0.72  # of reads right after a write of the same process; the primary answers the others
    )


@dataclass(frozen=True, slots=True)
class Use:
    """Use of an installation."""

    memories_a_user: float = 500.0
    active_a_day: float = 0.1  # share of the users
    turns_a_day: float = 20.0  # of each active user
    recalls_a_turn: float = 1.0
    remembers_a_turn: float = 2.0  # what was asked, and what was answered
    elsewhere: float = 0.5  # of it, by a process that has not had the user: of two, the first, where they go anywhere
    peak: float = 3.0  # the busiest hour, as a multiple of the mean
    warm_hours: float = 4.0  # for so long what somebody has used should stay in memory
    index_share: float = 1.0  # of the index of vectors, in memory; 0.3 with binary quantization (docs/why/vectors.md)

    def turns_a_second(self, users: float) -> float:
        """Turns in the busiest hour."""
        return users * self.active_a_day * self.turns_a_day * self.peak / SECONDS_A_DAY

    @property
    def warm(self) -> float:
        """The share of the users who were there lately, at the busiest time."""
        return self.active_a_day * min(1.0, self.peak * self.warm_hours / 24)


@dataclass(frozen=True, slots=True)
class Machines:
    """Rented machines and their prices, which are round figures without any discount: give your own."""

    node_cores: int = 16
    node_memory_gb: float = 128.0
    node_disk_gb: float = 2_000.0  # of what is stored, besides the log
    node_price: float = 750.0  # a month
    disk_price_gb: float = 0.10  # a month
    worker_cores: int = 8
    worker_price: float = 200.0  # a month
    utilisation: float = 0.6  # of all cores in the busiest hour, at most
    most_replicas: int = 5  # of one primary
    standbys: int = 1  # copies of each primary that fail-over needs; they answer reads as well
    replay: float = 0.3  # what a write costs a replica, as a share of what it costs the primary: assumed, not measured


@dataclass(frozen=True, slots=True)
class Plan:
    """Needs of so many users."""

    users: float
    memories: float
    recalls_a_second: float  # in the busiest hour
    remembers_a_second: float
    cells: int  # primaries, each with tenants of its own
    replicas: int  # of each primary, those that may take over among them
    nodes: int
    workers: int  # machines that embed
    disk_gb: float  # of each node
    hot_gb: float  # of each node: what should stay in memory
    utilisation: float  # of the busiest node
    limit: str  # what a cell ran out of first: "processor", "memory" or "disk"
    p95_ms: float  # of a hybrid recall in the busiest hour
    price: float  # a month

    @property
    def price_of_thousand(self) -> float:
        """A month, for a thousand users."""
        return 1_000 * self.price / self.users

    @property
    def step(self) -> str:
        """The largest step of docs/scaling.md that it needs."""
        if self.cells > 1:
            return "7 cells"
        if self.replicas:
            return "6 fail-over" if self.replicas == 1 else "5 replicas"
        return "4 workers" if self.workers > 1 else "2 your own PostgreSQL"


def plan(
    users: float,
    *,
    use: Use | None = None,
    costs: Costs | None = None,
    machines: Machines | None = None,
) -> Plan:
    """The least nodes that hold so many users, and answer them in the busiest hour.

    A cell is as large as the processor, the memory or the disk of its nodes allows, whichever ends first. Replicas are added for
    reading; once the primary has no room for what only it can do, there are more cells. Raises `ValueError` for numbers that
    mean nothing.
    """
    use, costs, machines = use or Use(), costs or Costs(), machines or Machines()
    _check(users, use, machines)
    memories = users * use.memories_a_user
    recalls = use.turns_a_second(users) * use.recalls_a_turn
    remembers = use.turns_a_second(users) * use.remembers_a_turn
    load = Load(
        reading=recalls * costs.recall_cpu_ms / 1_000,
        writing=remembers
        * (costs.remember_cpu_ms + use.elsewhere * costs.meet_cpu_ms + costs.store_vector_cpu_ms)
        / 1_000,
    )
    disk, hot = memories * costs.bytes_a_memory / GB, _hot_gb(memories, use, costs)
    needs = {
        "processor": _cells_for(load, costs, machines),
        "memory": math.ceil(
            hot / (machines.node_memory_gb / 2) - EXACT
        ),  # the other half: sessions, builds, the system
        "disk": math.ceil(disk / machines.node_disk_gb - EXACT),
    }
    limit = max(needs, key=lambda name: needs[name])
    cells = max(1, needs[limit])
    replicas = _replicas(load.of(cells), costs, machines)
    assert replicas is not None, "the processor's need is one of those that were met"
    utilisation = _busiest(load.of(cells), replicas, costs, machines)
    embedding = remembers * costs.embed_cpu_ms / 1_000
    workers = max(1, math.ceil(embedding / (machines.worker_cores * machines.utilisation) - EXACT))
    nodes = cells * (1 + replicas)
    return Plan(
        users=users,
        memories=memories,
        recalls_a_second=recalls,
        remembers_a_second=remembers,
        cells=cells,
        replicas=replicas,
        nodes=nodes,
        workers=workers,
        disk_gb=disk / cells,
        hot_gb=hot / cells,
        utilisation=utilisation,
        limit=limit,
        p95_ms=costs.recall_p95_ms
        + waiting_ms(utilisation, servers=machines.node_cores, service_ms=costs.recall_cpu_ms),
        price=nodes * (machines.node_price + disk / cells * machines.disk_price_gb)
        + workers * machines.worker_price,
    )


def waiting_ms(
    utilisation: float, *, servers: int, service_ms: float, share: float = 0.95
) -> float:
    """Return the wait for a free core that this share of all calls does not exceed, in milliseconds: Erlang's formula C (M/M/c).

    Calls come at random, and take random times about `service_ms`. Raises `ValueError` where more comes than can be done.
    """
    if not 0 <= utilisation < 1:
        raise ValueError(
            f"expected a utilisation from 0 to below 1, got {utilisation:.3g}: more comes than can be done"
        )
    offered = utilisation * servers
    blocked = 1.0  # Erlang's formula B, core by core
    for number in range(1, servers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    waits = blocked / (1 - utilisation * (1 - blocked))
    if waits <= 1 - share:
        return 0.0
    return math.log(waits / (1 - share)) * service_ms / (servers * (1 - utilisation))


@dataclass(frozen=True, slots=True)
class Load:
    """Load of processors in the busiest hour, in cores."""

    reading: float
    writing: float

    def of(self, cells: int) -> Load:
        """The load of one of so many cells."""
        return Load(self.reading / cells, self.writing / cells)


def _hot_gb(memories: float, use: Use, costs: Costs) -> float:
    """Return the gigabytes that should stay in memory: all of the users who were there lately, and the index of vectors.

    Users of less than 10,000 passages are searched without that index. But each new vector finds its place in it by a walk, which
    goes anywhere.
    """
    rows = (costs.bytes_a_memory - costs.hnsw_bytes_a_memory) * use.warm
    return memories * (rows + costs.hnsw_bytes_a_memory * use.index_share) / GB


def _primary(load: Load, replicas: int, costs: Costs) -> float:
    """The cores that a primary needs: for all writing, and for the reads that no replica answers."""
    return load.writing + load.reading * (1 - costs.read_by_replica if replicas else 1.0)


def _replica(load: Load, replicas: int, costs: Costs, machines: Machines) -> float:
    """The cores that each of its replicas needs."""
    return (
        load.writing * machines.replay + load.reading * costs.read_by_replica / replicas
        if replicas
        else 0.0
    )


def _busiest(load: Load, replicas: int, costs: Costs, machines: Machines) -> float:
    """Return the utilisation of the busiest node of a cell."""
    needed = max(_primary(load, replicas, costs), _replica(load, replicas, costs, machines))
    return needed / machines.node_cores


def _replicas(load: Load, costs: Costs, machines: Machines) -> int | None:
    """The least replicas with which no node of a cell is too busy; None where no number of them helps."""
    for replicas in range(machines.standbys, max(machines.standbys, machines.most_replicas) + 1):
        if _busiest(load, replicas, costs, machines) <= machines.utilisation + EXACT:
            return replicas
    return None


def _cells_for(load: Load, costs: Costs, machines: Machines) -> int:
    """The least cells in which no node is too busy, by halving: more cells are never worse."""
    most = 1
    while _replicas(load.of(most), costs, machines) is None:
        most *= 2
    least = most // 2  # too few, or none
    while most - least > 1:
        middle = (least + most) // 2
        if _replicas(load.of(middle), costs, machines) is None:
            least = middle
        else:
            most = middle
    return most


def _check(users: float, use: Use, machines: Machines) -> None:
    if not (math.isfinite(users) and users >= 1):
        raise ValueError(f"expected a number of users from 1, got {users}")
    for options in (use, machines):
        for field in fields(options):
            value = getattr(options, field.name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"expected {field.name} to be a number from 0, got {value}")
    if not 0 < machines.utilisation < 1:
        raise ValueError(f"expected utilisation between 0 and 1, got {machines.utilisation}")
    for name, share in (
        ("active_a_day", use.active_a_day),
        ("index_share", use.index_share),
        ("elsewhere", use.elsewhere),
        ("replay", machines.replay),
    ):
        if share > 1:
            raise ValueError(f"expected {name} to be a share up to 1, got {share}")
    for name in ("node_cores", "node_memory_gb", "node_disk_gb", "worker_cores"):
        if getattr(machines, name) <= 0:
            raise ValueError(f"expected {name} above 0, got {getattr(machines, name)}")
