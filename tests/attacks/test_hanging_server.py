"""A server that stops answering in the middle keeps no verb longer than its time, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import io
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import psycopg
import pytest

from htm_core import (
    Collection,
    DeadlineExceeded,
    Group,
    HTMError,
    Log,
    Memory,
    NotFound,
    Settings,
    shutdown,
)
from htm_core.base import time_limit
from htm_core.change.changes import Changes
from htm_core.db import address, installation
from htm_core.db.connection import Connection
from htm_core.db.transactions import Transactions
from htm_core.forgetting.backup import Backup
from htm_core.jobs.jobs import Jobs
from htm_core.memory import process
from htm_core.palace import DocumentsFetcher, Palace
from htm_core.prompt.deadline import Deadline, forget_failures
from htm_core.tags.tags import Tags
from tests.proxy import Proxy
from tests.stand_ins import HashEmbedder

SECONDS = 1.0  # Settings.verb_timeout here
GRACE = 1.0
WORLDS = 4  # that wait at the same time
LONGEST = 200.0  # for the verbs of all worlds together, which take 25 s

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGSTOP"), reason="this system cannot stop a process"
)


class Server:
    """A private PostgreSQL of these tests' own, which they may stop."""

    def __init__(self, home: Path) -> None:
        [self.postmaster] = [
            psutil.Process(int(file.read_text().split()[0]))
            for file in home.rglob("postmaster.pid")
        ]

    def freeze(self) -> None:
        """Stop every process of the server; its sockets stay open, and the kernel goes on accepting for it."""
        self.postmaster.suspend()  # first, so that no new ones come
        for each in self.postmaster.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                each.suspend()

    def thaw(self) -> None:
        """Let it go on."""
        for each in [*self.postmaster.children(recursive=True), self.postmaster]:
            with suppress(psutil.NoSuchProcess):
                each.resume()


class World:
    """Something of everything, for each verb to work on."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.embedder = HashEmbedder()  # a tenant has one client of a name
        # What is done while the server is well may take its time, on a busy machine.
        self.calm = self.opened(Settings(worker="off"))
        memory, self.folder = self.calm, home / "notes"
        self.folder.mkdir()
        (self.folder / "note.md").write_text("# Tea\n\nThe tea is in the blue tin.\n")
        self.node = memory.remember("The ferry leaves at nine.", key="ferry", tags=["travel:sea"])
        self.other = memory.remember("The cat sleeps.")
        memory.forget(memory.remember("A mistake.").id)
        self.log = memory.log()
        self.message = self.log.append([{"role": "user", "content": "hello"}])[0]
        self.collection = memory.collection("pages")
        self.collection.put([{"id": "one", "content": "A page about harbours."}])
        self.palace = Palace(memory)
        self.note = self.palace.note("It may rain.")
        self.placed = self.palace.file("Rent is due on the first.", room="home", drawer="rent")
        self.decision = self.palace.submit(
            "Oslo is north.", room="facts", drawer="cities", reason="said by Ann"
        )
        self.palace.procedure("tea", ["boil water", "wait"])
        memory.load(self.folder)
        backup = io.StringIO()
        memory.backup.write(backup)
        self.backup = backup.getvalue()
        self.server = Server(home)
        self.host = psycopg.conninfo.conninfo_to_dict(
            memory._engine.database.dsn("htm_app").get_secret_value()
        )["host"]
        self.acknowledged: list[str] = []
        self.memory = self.opened(Settings(verb_timeout=SECONDS, worker="off", pool_max=4))
        self.log, self.collection, self.palace = (
            self.memory.log(),
            self.memory.collection("pages"),
            Palace(self.memory),
        )
        self.group = self.memory.of(session="team").group("crew")

    def opened(self, settings: Settings) -> Memory:
        """A memory of Ann's with these settings; for as long as it takes, it is connected."""
        memory = Memory(
            "atlas", user="ann", session="chat", embedder=self.embedder, settings=settings
        )
        self.wait_until_well(memory)
        return memory

    def wait_until_well(self, memory: Memory | None = None) -> None:
        """Wait until verbs work again: after a stop the pool opens new connections in its own time."""
        for _ in range(20):
            with suppress(HTMError):
                (memory or self.memory).get("ferry")
            with suppress(HTMError):
                (memory or self.memory).context()
                break

    def lost(self) -> set[str]:
        """What was acknowledged and is not there."""
        return set(self.acknowledged) - {node.content for node in self.calm.list(limit=1000)}


@contextmanager
def new_world() -> Iterator[World]:
    """A world with a server of its own, which `HTM_HOME` names until the next one is made."""
    home = Path(tempfile.mkdtemp(prefix="htm-hanging-"))
    home.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTM_HOME", str(home))
        patch.delenv("HTM_DATABASE_URL", raising=False)
        yield World(home)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def worlds() -> Iterator[list[World]]:
    """Several, so that what waits for the server of one does not wait for that of another."""
    shutdown()
    with ExitStack() as opened:
        made = [opened.enter_context(new_world()) for _ in range(WORLDS)]
        yield made
        for each in made:
            each.server.thaw()
        shutdown()


@pytest.fixture(scope="module")
def world(worlds: list[World]) -> World:
    """The one that `HTM_HOME` names."""
    return worlds[-1]


def said(world: World, *, calmly: bool = False) -> None:
    text = f"said at {time.monotonic_ns()}"
    (world.calm if calmly else world.memory).remember(text)
    world.acknowledged.append(text)


def recalled(world: World) -> None:
    """What a recall leaves to be written, without asking the server."""
    engine = world.memory._engine
    engine.write_behind.accesses.add(engine.working.key, [world.node.id], at=datetime.now(UTC))


UNKNOWN = "00000000-0000-4000-8000-000000000000"


def unknown(verb: Callable[[], object]) -> None:
    """A verb on something that is not there is over when it says so."""
    with suppress(NotFound):
        verb()


Verb = Callable[[World], object]
VERBS: dict[str, Verb] = {
    "Memory.remember": said,
    "Memory.remember_many": lambda w: w.memory.remember_many([{"content": f"one of many {n}"} for n in range(50)]),
    "Memory.revise": lambda w: w.memory.revise("ferry", f"The ferry leaves at {time.monotonic_ns()}."),
    "Memory.recall": lambda w: w.memory.recall("when does the ferry leave"),
    "Memory.context": lambda w: w.memory.context(),
    "Memory.get": lambda w: w.memory.get("ferry"),
    "Memory.history": lambda w: w.memory.history("ferry"),
    "Memory.list": lambda w: w.memory.list(),
    "Memory.timeline": lambda w: w.memory.timeline(),
    "Memory.sessions": lambda w: w.memory.sessions(),
    "Memory.who_said": lambda w: w.memory.who_said("ferry"),
    "Memory.related": lambda w: w.memory.related(w.node),
    "Memory.link": lambda w: w.memory.link(w.node, w.other),
    "Memory.robots": lambda w: w.memory.robots(),
    "Memory.group": lambda w: w.memory.of(session="other team").group("second crew"),
    "Memory.load": lambda w: [loaded(each) for each in w.memory.load(w.folder, force=True)],
    "Memory.unload": lambda w: w.memory.unload(w.folder),
    "Memory.files": lambda w: w.memory.files(),
    "Memory.forget": lambda w: w.memory.forget(w.other.id),
    "Memory.restore": lambda w: w.memory.restore(w.other.id),
    "Memory.purge": lambda w: w.memory.purge(timedelta(0), confirm="confirmed"),
    "Memory.erase": lambda w: w.memory.erase(session="nowhere", confirm="confirmed"),
    "Memory.erase_tenant": lambda w: unknown(lambda: w.memory.of(tenant="nowhere").erase_tenant(confirm="nowhere")),
    "Memory.sweep": lambda w: w.memory.sweep(),
    "Memory.audit": lambda w: w.memory.audit(),
    "Memory.verify_audit": lambda w: w.memory.verify_audit(),
    "Memory.profile": lambda w: w.memory.profile(),
    "Memory.tidy": lambda w: w.memory.tidy(),
    "Memory.merges": lambda w: w.memory.merges(),
    "Memory.unmerge": lambda w: unknown(lambda: w.memory.unmerge(UNKNOWN)),
    "Memory.summaries": lambda w: w.memory.summaries(),
    "Changes.list": lambda w: w.memory.changes.list(),
    "Changes.audit": lambda w: w.memory.changes.audit(UNKNOWN),
    "Changes.undo": lambda w: unknown(lambda: w.memory.changes.undo(UNKNOWN)),
    "Changes.confirm": lambda w: unknown(lambda: w.memory.changes.confirm(UNKNOWN)),
    "Memory.stats": lambda w: w.memory.stats(),
    "Memory.flush": lambda w: w.memory.flush(),
    "Memory.close": lambda w: (recalled(w), w.memory.close()),
    "Memory.working": lambda w: w.memory.working,
    "WorkingMemory.remove": lambda w: w.memory.working.remove(w.node.id),
    "WorkingMemory.clear": lambda w: w.memory.working.clear(),
    "Log.append": lambda w: w.log.append([{"role": "user", "content": "again"}]),
    "Log.tail": lambda w: w.log.tail(3),
    "Log.append_and_read": lambda w: w.log.append_and_read([{"role": "user", "content": "again"}], 5),
    "Log.entries": lambda w: w.log.entries(),
    "Log.archive": lambda w: w.log.archive([w.message]),
    "Log.remove": lambda w: w.log.remove([w.message]),
    "Log.replace": lambda w: w.log.replace([{"role": "user", "content": "instead"}], forget=True),
    "Log.clear": lambda w: w.log.clear(),
    "Tags.add": lambda w: w.memory.tags.add(w.node.id, ["a:b"]),
    "Tags.remove": lambda w: w.memory.tags.remove(w.node.id, ["a:b"]),
    "Tags.tree": lambda w: w.memory.tags.tree(),
    "Tags.search": lambda w: w.memory.tags.search("travel"),
    "Tags.popular": lambda w: w.memory.tags.popular(),
    "Tags.related": lambda w: w.memory.tags.related("travel:sea"),
    "Jobs.list": lambda w: w.memory.jobs.list(),
    "Jobs.retry": lambda w: w.memory.jobs.retry(),
    "Backup.write": lambda w: w.memory.backup.write(io.StringIO()),
    "Backup.read": lambda w: w.memory.backup.read(w.backup.splitlines()),
    "Collection.put": lambda w: w.collection.put([{"id": "two", "content": "Another page."}]),
    "Collection.get": lambda w: w.collection.get(["one"]),
    "Collection.query": lambda w: w.collection.query("harbours"),
    "Collection.delete": lambda w: w.collection.delete(["nothing"]),
    "Collection.clear": lambda w: w.memory.collection("empty").clear(),
    "Collection.namespaces": lambda w: w.collection.namespaces(),
    "Collection.count": lambda w: w.collection.count(),
    "Collection.ids": lambda w: w.collection.ids(),
    "Collection.server_time": lambda w: w.collection.server_time(),
    "Collection.sweep": lambda w: w.collection.sweep(),
    "Collection.check": lambda w: w.collection.check(),
    "Group.status": lambda w: w.group.status(),
    "Group.promote": lambda w: w.group.promote(),
    "Group.demote": lambda w: w.group.demote(),
    "Group.failover": lambda w: w.group.failover(),
    "Group.leave": lambda w: w.group.leave(),
    "Palace.identify": lambda w: w.palace.identify("I am Atlas."),
    "Palace.identity": lambda w: w.palace.identity(),
    "Palace.file": lambda w: w.palace.file("The key is under the mat.", room="home", drawer="keys"),
    "Palace.file_many": lambda w: w.palace.file_many(["one thing", "another"], room="home", drawer="keys"),
    "Palace.note": lambda w: w.palace.note("Buy milk."),
    "Palace.artifact": lambda w: w.palace.artifact("file:///x", fetch=lambda _: "x"),
    "Palace.register": lambda w: w.palace.register(DocumentsFetcher(str, name="docs", uris={"doc:x": "what x says"})),
    "Palace.procedure": lambda w: w.palace.procedure("coffee", ["grind", "pour"]),
    "Palace.look": lambda w: w.palace.look(),
    "Palace.rooms": lambda w: w.palace.rooms(),
    "Palace.notes": lambda w: w.palace.notes(),
    "Palace.artifacts": lambda w: w.palace.artifacts(),
    "Palace.procedures": lambda w: w.palace.procedures(),
    "Palace.move": lambda w: w.palace.move(w.placed, room="home", drawer="bills"),
    "Palace.forget": lambda w: w.palace.forget(w.note),
    "Palace.sweep": lambda w: w.palace.sweep(),
    "Palace.promote": lambda w: w.palace.promote(
        w.note, room="home", drawer="rain", reason="it was said", summary="It may rain."
    ),
    "Palace.submit": lambda w: w.palace.submit("Rome is south.", room="facts", drawer="cities", reason="said by Ann"),
    "Palace.undo": lambda w: w.palace.undo(w.decision.decision_id),
    "Palace.wake_up": lambda w: w.palace.wake_up(topic="tea"),
    "Palace.decisions": lambda w: w.palace.decisions(),
    "Palace.consultations": lambda w: w.palace.consultations(),
    "Palace.export": lambda w: w.palace.export(str(w.folder.parent / f"export {time.monotonic_ns()}")),
    "Palace.load": lambda w: w.palace.load(str(w.folder)),
}  # fmt: skip
# What opens nothing, and so cannot hang.
NO_WORK = {
    "Memory.of", "Memory.log", "Memory.collection", "Palace.of", "Palace.checked_room", "Palace.scratchpad",
}  # fmt: skip


def loaded(file: Any) -> None:
    """A file that failed says so in its answer."""
    if file.error is not None:
        raise HTMError(file.error)


def test_every_verb_is_here() -> None:
    kinds = (Memory, Log, Tags, Jobs, Changes, Backup, Collection, Group, Palace)
    verbs = {
        f"{kind.__name__}.{name}"
        for kind in kinds
        for name, verb in vars(kind).items()
        if not name.startswith("_") and callable(verb) and not isinstance(verb, staticmethod)
    }
    assert verbs - NO_WORK <= VERBS.keys()


class Stops:
    """Servers that stop right after the next message to them is answered, each for one verb at a time."""

    def __init__(self, patch: pytest.MonkeyPatch, worlds: list[World]) -> None:
        self._stopping, self._worlds = threading.Lock(), worlds
        self._due: set[World] = set()
        self._stopped: set[World] = set()
        answered = Connection._exchange

        def exchange(connection: Connection, *given: Any, **options: Any) -> Any:
            """Send a message, which begins a transaction or is all of one."""
            answers = answered(connection, *given, **options)
            self._stop(connection)
            return answers

        patch.setattr(Connection, "_exchange", exchange)

    def _stop(self, connection: Connection) -> None:
        with self._stopping:
            for world in self._worlds:
                # Not when it is over: a heartbeat that waited through the stop would stop the server for good.
                if world in self._due and world.host == connection.info.host:
                    self._stopped.add(world)
                    world.server.freeze()

    @contextmanager
    def due(self, world: World) -> Iterator[None]:
        """The server of this world stops in the next transaction, and goes on afterwards."""
        with self._stopping:
            self._stopped.discard(world)
            self._due.add(world)
        try:
            yield
        finally:
            with self._stopping:
                self._due.remove(world)
                world.server.thaw()

    def has_stopped(self, world: World) -> bool:
        """Whether it did, since it was last due."""
        return world in self._stopped


@pytest.fixture
def frozen_in_the_middle(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The server stops right after the next message is answered, which begins a transaction."""
    with monkeypatch.context() as patch, Stops(patch, [world]).due(world):
        yield world


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a verb ended whose server stopped in the middle of its transaction."""

    seconds: float
    has_stopped: bool
    error: BaseException | None


@pytest.fixture(scope="module")
def outcomes(worlds: list[World]) -> dict[str, Outcome]:
    """Those of all verbs, one after another in each of the worlds: nearly all of their time is spent waiting."""
    verbs, found = iter(VERBS.items()), dict[str, Outcome]()
    home = ContextVar[Path](
        "home"
    )  # what opens a memory reads it from the environment, which all threads share

    def work(world: World) -> None:
        home.set(world.home)
        for name, verb in verbs:  # each takes the next one
            world.wait_until_well()
            found[name] = outcome(world, verb)

    def outcome(world: World, verb: Verb) -> Outcome:
        error, began = None, time.monotonic()
        with stops.due(world):
            try:
                verb(world)
            except BaseException as caught:
                error = caught
            return Outcome(time.monotonic() - began, stops.has_stopped(world), error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "home", home.get)
        stops = Stops(patch, worlds)
        threads = [threading.Thread(target=work, args=(world,), daemon=True) for world in worlds]
        for thread in threads:
            thread.start()
        end = time.monotonic() + LONGEST
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_ends_in_time_when_the_server_stops_in_the_middle_of_its_transaction(
    outcomes: dict[str, Outcome], verb: str
) -> None:
    assert verb in outcomes, (
        f"it had not ended after {LONGEST:.0f} s, or waited for another that had not"
    )
    outcome = outcomes[verb]
    assert outcome.has_stopped
    assert outcome.seconds < SECONDS + GRACE
    # What needs no more of the server than it has had may succeed.
    assert outcome.error is None or isinstance(outcome.error, HTMError)


def test_what_was_acknowledged_before_the_server_stopped_is_there_when_it_goes_on(
    world: World,
) -> None:
    """All verbs at once, with too few connections for them, before, while and after the server stands still."""
    late: dict[str, float] = {}
    errors: dict[str, BaseException] = {}

    def run(name: str, verb: Verb) -> None:
        began = time.monotonic()
        try:
            verb(world)
        except HTMError:
            pass
        except BaseException as error:
            errors[name] = error
        took = time.monotonic() - began
        if took > SECONDS + GRACE:
            late[name] = took

    for _ in range(10):
        said(world, calmly=True)
    threads = [threading.Thread(target=run, args=each) for each in VERBS.items()]
    for number, thread in enumerate(threads):
        thread.start()
        if number == len(threads) // 2:
            world.server.freeze()
    for thread in threads:
        thread.join()
    world.server.thaw()
    for _ in range(10):
        said(world, calmly=True)
    assert not late
    assert not errors
    assert not world.lost()


def test_the_awaited_verbs_end_in_time_too_even_when_all_threads_are_taken(world: World) -> None:
    async def ask() -> list[object]:
        verbs = [world.memory.aio.recall("tea") for _ in range(40)]
        return await asyncio.gather(*verbs, return_exceptions=True)

    world.wait_until_well()
    world.server.freeze()
    try:
        began = time.monotonic()
        answers = asyncio.run(ask())
        took = time.monotonic() - began
    finally:
        world.server.thaw()
    assert took < SECONDS + GRACE
    assert all(isinstance(answer, HTMError) for answer in answers)


def test_a_stop_while_committing_says_that_the_outcome_is_unknown(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Connection.commit

    def stop_first(connection: Connection) -> None:
        world.server.freeze()
        commit(connection)

    world.wait_until_well()
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "commit", stop_first)
        with pytest.raises(DeadlineExceeded, match="unknown: repeat it with the same id") as caught:
            world.memory.remember("maybe", id="maybe")
    world.server.thaw()
    assert caught.value.outcome_unknown
    world.calm.remember("maybe", id="maybe")
    assert [mention.content for mention in world.calm.timeline(limit=1000)].count("maybe") == 1


def test_a_stop_before_the_commit_says_that_nothing_was_written(
    frozen_in_the_middle: World,
) -> None:
    with pytest.raises(DeadlineExceeded, match="nothing was written") as caught:
        frozen_in_the_middle.memory.remember("never said", tags=["said:never"])
    assert not caught.value.outcome_unknown
    frozen_in_the_middle.server.thaw()


@pytest.mark.parametrize(("module", "step"), [(address, "connect"), (installation, "choose")])
@pytest.mark.timeout(60)
def test_the_first_verb_of_a_process_ends_in_time_when_the_server_stops_while_it_looks_at_the_schema(
    world: World, monkeypatch: pytest.MonkeyPatch, module: ModuleType, step: str
) -> None:
    """The start of a private server may take its time. What is asked of it afterwards may not: its version, and then its roles."""
    world.wait_until_well()
    take, taken = getattr(module, step), 0

    def take_and_freeze(*args: Any, **options: Any) -> Any:
        nonlocal taken
        made = take(*args, **options)
        taken += 1
        world.server.freeze()
        return made

    settings = Settings(
        verb_timeout=SECONDS, worker="off", pool_max=4 + len(step)
    )  # so that nothing is shared
    memory = Memory("first", embedder=HashEmbedder(), settings=settings)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(module, step, take_and_freeze)
            began = time.monotonic()
            with pytest.raises(DeadlineExceeded):
                memory.get("ferry")
        assert time.monotonic() - began < SECONDS + GRACE
        assert taken == 1
    finally:
        world.server.thaw()
    world.wait_until_well()
    memory.remember("The server goes on.")


def test_a_lock_that_somebody_holds_ends_a_verb_in_time(world: World) -> None:
    world.wait_until_well()
    engine = world.memory._engine
    with (
        psycopg.connect(engine.database.dsn("htm_owner").get_secret_value()) as other,
        other.cursor() as cursor,
    ):
        cursor.execute("lock table htm.nodes in access exclusive mode")
        began = time.monotonic()
        with pytest.raises(HTMError, match="nothing was written"):
            world.memory.remember("into a lock")
        assert time.monotonic() - began < SECONDS + GRACE
    world.calm.remember("out of the lock")


def test_a_network_that_swallows_everything_ends_a_verb_in_time(world: World) -> None:
    with Proxy(world.memory._engine.database.dsn("htm_app").get_secret_value()) as proxy:
        settings = Settings(verb_timeout=SECONDS, worker="off", auto_migrate=False)
        memory = Memory(url=proxy.dsn, embedder=HashEmbedder(), settings=settings)
        for hang in (lambda: None, proxy.hang):
            hang()
            began = time.monotonic()
            with suppress(HTMError):
                memory.remember(f"said {began}")
            assert time.monotonic() - began < SECONDS + GRACE


class HangingEmbedder(HashEmbedder):
    """Answers once it is let go."""

    def __init__(self) -> None:
        super().__init__(name="hash")
        self.let_go = threading.Event()

    def _answer(self) -> None:
        self.let_go.wait(30)


@pytest.mark.parametrize("embed", ["queue", "now"])
def test_a_model_that_hangs_keeps_no_verb_and_loses_nothing(world: World, embed: Any) -> None:
    world.wait_until_well()
    embedder = HangingEmbedder()
    settings = world.memory._options.settings
    memory = Memory(
        "other", tenant=f"hanging {embed}", embedder=embedder, embed=embed, settings=settings
    )
    try:
        for verb in (
            lambda: memory.remember("The tea is in the tin."),
            lambda: memory.recall("where is the tea"),
        ):
            began = time.monotonic()
            answer = verb()
            assert time.monotonic() - began < SECONDS + GRACE
        assert answer.degraded is not None
        assert [hit.content for hit in answer] == ["The tea is in the tin."]
    finally:
        embedder.let_go.set()


def test_a_tenants_models_that_hang_fail_no_call_of_another_tenants(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One tenant has as many calls that hang as it may have, in verbs and in turns; the other's are as they were."""
    monkeypatch.setattr(time_limit, "MAX_LATE", 3)
    world.wait_until_well()
    embedder, settings = HangingEmbedder(), world.memory._options.settings
    stuck = Memory("one", tenant="stuck", embedder=embedder, settings=settings)
    well = Memory("two", tenant="well", embedder=HashEmbedder(name="hash"), settings=settings)
    deadline = partial(Deadline, timeout=0.05)
    try:
        well.remember("The tea is in the tin.", importance=8)
        stuck.remember("The boat is in the bay.")
        with time_of_a_verb():
            for _ in range(3):  # calls of the model
                with suppress(HTMError), time_limit.limited(time_limit.TimeLimit(0.1)):
                    stuck.recall("where is the boat")
        for _ in range(3):  # steps of turns
            with suppress(TimeoutError, HTMError):
                deadline(stuck).run(lambda: embedder.let_go.wait(30), step="recall")
            forget_failures()
        began = time.monotonic()
        assert stuck.recall("where is the boat").degraded is not None
        assert time.monotonic() - began < SECONDS / 2  # at once, without asking the model
        with pytest.raises(TimeoutError, match="3 steps are past their time still"):
            Deadline(stuck).run(lambda: None)
        forget_failures()
        assert well.recall("where is the tea").degraded is None
        assert (
            Deadline(well).run(lambda: well.recall("where is the tea"), step="recall").degraded
            is None
        )
    finally:
        embedder.let_go.set()
        forget_failures()


def test_flush_returns_when_its_time_is_over(world: World) -> None:
    world.wait_until_well()
    embedder = HangingEmbedder()
    settings = world.memory._options.settings
    memory = Memory("other", tenant="flushed", embedder=embedder, settings=settings)
    try:
        memory.remember("The tea is in the tin.")
        began = time.monotonic()
        assert memory.flush(timeout=0.5) is False
        assert time.monotonic() - began < 0.5 + GRACE
    finally:
        embedder.let_go.set()


@pytest.mark.parametrize("number", [3, 5, 8])
def test_flush_without_a_timeout_waits_no_longer_than_a_verb_for_a_server_that_stops_while_it_does_jobs(
    world: World, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Jobs have the time of statements elsewhere, which is 30 seconds here."""
    world.wait_until_well()
    said(world, calmly=True)
    begun, me, count = Transactions.begin, threading.get_ident(), 0

    def begin(*given: Any) -> None:
        nonlocal count
        begun(*given)
        if threading.get_ident() == me:
            count += 1
            if count == number:
                world.server.freeze()

    try:
        with monkeypatch.context() as patch:
            patch.setattr(Transactions, "begin", begin)
            began = time.monotonic()
            with pytest.raises(DeadlineExceeded):
                world.memory.flush()
        assert time.monotonic() - began < SECONDS + GRACE
    finally:
        world.server.thaw()


def test_flush_without_a_timeout_waits_once_for_another_thread_and_then_for_the_server(
    world: World,
) -> None:
    world.wait_until_well()
    said(world, calmly=True)
    writing = world.memory._engine.write_behind.accesses._writing
    writing.acquire()

    def stop() -> None:
        world.server.freeze()
        writing.release()

    timer = threading.Timer(SECONDS * 0.85, stop)
    timer.start()
    try:
        began = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            world.memory.flush()
        assert time.monotonic() - began < SECONDS + GRACE
    finally:
        timer.join()
        world.server.thaw()


def test_flush_without_a_timeout_lets_a_model_take_longer_than_a_verb(world: World) -> None:
    world.wait_until_well()
    embedder = HangingEmbedder()
    memory = Memory(
        "other", tenant="slow model", embedder=embedder, settings=world.memory._options.settings
    )
    memory.remember("The tea is in the tin.")
    timer = threading.Timer(SECONDS + GRACE, embedder.let_go.set)
    timer.start()
    assert memory.flush() is True
    timer.join()
    assert memory.recall("where is the tea").degraded is None


def test_the_server_ends_the_transaction_of_a_client_that_is_frozen(world: World) -> None:
    """Else it would hold its locks for as long as it stands still."""
    with world.memory._engine.database.transaction("default") as connection:
        row = connection.execute(
            "select current_setting('idle_in_transaction_session_timeout') as idle, current_setting('server_version_num')::int "
            "as version, current_setting('transaction_timeout', true) as whole"
        ).fetchone()
    assert row is not None
    assert row["idle"] == "2s"
    with time_of_a_verb(), world.memory._engine.database.transaction("default") as connection:
        whole = connection.execute(
            "select current_setting('transaction_timeout', true) as whole"
        ).fetchone()
    assert whole is not None
    if row["version"] >= 170000:
        assert whole["whole"] in ("2s", "1999ms")


def time_of_a_verb() -> Any:
    return time_limit.limited(time_limit.TimeLimit(SECONDS))


def test_shutdown_ends_the_threads_of_awaited_verbs() -> None:
    memory = Memory(
        "short", embedder=HashEmbedder(), settings=Settings(aio_threads=7, worker="off")
    )
    asyncio.run(memory.aio.remember("hello"))
    assert any(thread.name.startswith("htm-aio") for thread in threading.enumerate())
    shutdown()
    end = time.monotonic() + 5
    while (
        any(thread.name.startswith("htm-aio") for thread in threading.enumerate())
        and time.monotonic() < end
    ):
        time.sleep(0.01)
    assert not [
        thread.name for thread in threading.enumerate() if thread.name.startswith("htm-aio")
    ]
