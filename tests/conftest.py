"""The server that the tests touch: the embedded one, or the one named by HTM_TEST_URL.

`HTM_TEST_URL` may be a login that is a member of htm_app and htm_worker and has no other rights. What only others may do is
then done with `HTM_TEST_ADMIN_URL` (a superuser) and `HTM_TEST_OWNER_URL` (`Settings.migrate_url`: a member of htm_owner). With
`HTM_TEST_CITUS=1` the server is a Citus cluster, where tests marked `not_on_citus` must fail.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from htm_core import HTMError, Memory, ModelError, Settings, shutdown
from htm_core.base import time_limit
from htm_core.db.database import Database
from htm_core.db.jobs import Lane
from htm_core.embedded.server import release, start
from htm_core.jobs.clients import Clients
from htm_core.memory import process
from htm_core.memory.process import Runtime, runtime
from htm_core.models.minilm import weights
from htm_core.models.minilm.model import MiniLM
from htm_core.prompt import deadline
from htm_core.reading import readers
from tests.crash_safety import set_crash_safety
from tests.stand_ins import HashEmbedder

# What is compiled once need not be compiled again by each of the processes that run tests, and that tests start.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A gate is repeatable: with CI set the same examples come each time. Without it every run looks elsewhere, so that few examples
# are many in the end. Neither looks at the time that an example takes, which on a busy machine says nothing of the code.
hypothesis.settings.register_profile(
    "search",
    max_examples=40,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "gate", hypothesis.settings.get_profile("search"), derandomize=True
)
hypothesis.settings.load_profile("gate" if os.environ.get("CI") else "search")

SETTINGS = Settings(
    statement_timeout=20.0,
    pool_timeout=20.0,
    worker_lease=3.0,
    user_walls=os.environ.get("HTM_TEST_USER_WALLS")
    == "1",  # the whole product behind the second wall
    migrate_url=os.environ.get("HTM_TEST_OWNER_URL"),  # type: ignore[arg-type]  # pydantic makes a secret of it
)


# What takes longest begins first, so that no process is left with a long file at the end. Each test of the slowest is by itself;
# all others stay with their file, whose fixtures they share.
SLOWEST = ("tests/servers/test_matrix.py",)
SLOW = (  # in the order in which they begin: those that mostly wait before those that work
    "tests/attacks/test_hanging_server.py",
    "tests/servers/",
    "tests/llamaindex/test_engines.py",
    "tests/langchain/test_agents.py",
    "tests/attacks/test_model_clients.py",
    "tests/cli/test_program.py",
    "tests/importers/test_installed_peers.py",
    "tests/cli/test_import_signals.py",
    "tests/store/test_survival.py",
    "tests/jobs/test_turns.py",
    "tests/patterns/",
    "tests/attacks/test_definer_functions.py",
    "tests/docs/test_examples.py",
    "tests/docs/test_notebooks.py",
    "tests/docs/test_site.py",
    "tests/attacks/test_roles.py",
    "tests/attacks/test_erasure.py",
    "tests/attacks/test_redaction.py",
    "tests/store/test_embedded_faults.py",
    "tests/attacks/test_campaign.py",
    "tests/attacks/test_storm.py",
    "tests/attacks/test_fence.py",
    "tests/groups/test_groups_processes.py",
    "tests/langchain/test_middleware.py",
    "tests/palace/test_wake.py",
    "tests/palace/test_verdicts.py",
    "tests/verbs/test_backup.py",
    "tests/cli/test_demo.py",
    "tests/llamaindex/test_conversations.py",
    "tests/verbs/test_recall_nearest.py",
    "tests/verbs/test_written_behind.py",
    "tests/upgrades/",
    "tests/store/",
    "tests/verbs/",  # the last ones by name
)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two processes for each core when the whole is run, since most tests wait; one, this one, for a part of it."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return 0
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected, where a third of the time went, nor later among what stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest first. On a cluster, what is marked as failing there has to fail: a mark that is out of date is an error."""
    items.sort(key=lambda item: rank(item.nodeid))
    if os.environ.get("HTM_TEST_CITUS") == "1":
        for item in items:
            if (mark := item.get_closest_marker("not_on_citus")) is not None:
                run = mark.kwargs.get("run", True)
                item.add_marker(pytest.mark.xfail(reason=mark.args[0], run=run, strict=True))


def rank(nodeid: str) -> int:
    """0 for the slowest, then the slow ones in their order, then all others."""
    return next(
        (place for place, name in enumerate((SLOWEST, *SLOW)) if nodeid.startswith(name)),
        len(SLOW) + 1,
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process whole files, whose fixtures are then made once, in the order of collection.

    The marks that `--dist loadgroup` goes by are lost on their way with pytest 9.2: there each process makes all fixtures.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):
        """By file, but for the slowest, each test of which is by itself."""

        def _split_scope(self, nodeid: str) -> str:
            return nodeid if rank(nodeid) == 0 else nodeid.partition("::")[0]

    return Files(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_report_header() -> str:
    return f"htm server: {'HTM_TEST_URL' if os.environ.get('HTM_TEST_URL') else 'embedded'}"


@pytest.fixture(scope="session", autouse=True)
def home(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home of the test session's own, so that nobody's memories are touched.

    It lies where an unprivileged account may enter, which pytest's own directories do not allow: as root the embedded
    server runs as such a one.
    """
    path = Path(os.environ.get("HTM_TEST_HOME") or tempfile.mkdtemp(prefix="htm-tests-"))
    path.mkdir(exist_ok=True)
    path.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTM_HOME", str(path))
        patch.delenv("HTM_DATABASE_URL", raising=False)
        if not os.environ.get("HTM_TEST_URL") and any(
            "url" in _fixtures(item) for item in request.session.items
        ):
            set_crash_safety(start(path).dsn("htm_root"), on=False)
            release(path)
        yield path
        shutdown()
        release(path)
    if "HTM_TEST_HOME" not in os.environ:
        shutil.rmtree(path, ignore_errors=True)


def _fixtures(item: pytest.Item) -> tuple[str, ...]:
    """The fixtures that a test uses, and those that these use."""
    return tuple(getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def url() -> str | None:
    """The DSN of the server under test; None is the embedded one."""
    return os.environ.get("HTM_TEST_URL")


@pytest.fixture
def settings() -> Settings:
    return SETTINGS


@pytest.fixture
def database(url: str | None, settings: Settings) -> Database:
    """The database under test, with its schema."""
    found = runtime(url, settings).database
    found.open()
    return found


@pytest.fixture(scope="module")
def database_url(url: str | None) -> str:
    """A DSN that may make tables of its own, in the database under test.

    Each file asks anew: the embedded server ends when an earlier file has ended with `shutdown`, and is started again here.
    """
    found = runtime(url, SETTINGS).database
    found.open()
    return os.environ.get("HTM_TEST_ADMIN_URL") or found.dsn("htm_root").get_secret_value()


@pytest.fixture(scope="module")
def crash_safe_server(url: str | None, home: Path) -> Iterator[None]:
    """The server of the session as users have it, for files that kill it, or ask whether it is set well.

    It is asked for anew at the end: a test may have ended it, or have closed all that held it.
    """
    if url is None:
        set_crash_safety(start(home).dsn("htm_root"), on=True)
    yield
    if url is None:
        set_crash_safety(start(home).dsn("htm_root"), on=False)


@pytest.fixture
def empty_database(database_url: str) -> Iterator[str]:
    """The DSN of a new database on the server under test, dropped afterwards."""
    with new_database(database_url) as dsn:
        yield dsn


@contextmanager
def new_database(database_url: str, *, like: str | None = None) -> Iterator[str]:
    """A new database on a server, a copy of another one or empty, for as long as the block lasts; gives its DSN."""
    name = f"htm_empty_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(database_url, autocommit=True) as connection:
        template = f" template {conninfo_to_dict(like)['dbname']}" if like else ""
        connection.execute(f"create database {name}{template}")
        yield make_conninfo(database_url, dbname=name)
        connection.execute(f"drop database {name} with (force)")


@pytest.fixture(scope="module", autouse=True)
def few_connections() -> Iterator[None]:
    """Close what a file has opened elsewhere, or with settings of its own: a server has room for the connections of some fifty settings.

    Elsewhere may be a server that is gone, which its worker and its listener would go on asking for.
    """
    yield
    kept = runtime(
        os.environ.get("HTM_TEST_URL"), SETTINGS
    )  # not by `url`: who asks for that has a server started
    for each in list(process._runtimes.values()):
        if each.database.opened:
            forget_closed_clients(each)
            if each is not kept:
                each.worker.stop()
                each.heartbeat.stop()
                each.listener.stop()
                each.write_behind.stop()
                each.database.close()


def forget_closed_clients(of: Runtime) -> None:
    """Let a worker forget the clients of closed memories, but for those with jobs that are still to be done.

    Many tests have a tenant and an embedder of their own, and a worker asks before each batch which of its clients' tenants have
    due jobs: with a thousand of them remembering, recalling and flushing took about six times as long. A server that does not answer
    soon is gone.
    """
    clients = of.worker.clients
    if not any(_closed(clients).values()):
        return
    with (
        contextlib.suppress(HTMError),
        time_limit.limited(time_limit.TimeLimit(2.0)),
        of.database.transaction("", role="htm_worker") as connection,
    ):
        owed = {
            row["tenant"]
            for row in connection.execute("select distinct tenant from jobs").fetchall()
        }
        _forget(clients, owed)


def _closed(clients: Clients) -> dict[Lane, list[str]]:
    """The tenants that have clients of their own, which no open memory was given."""
    with clients._lock:
        return {
            lane: [
                name for name, choice in choices.items() if name is not None and not choice.is_open
            ]
            for lane, choices in clients._choices.items()
        }


def _forget(clients: Clients, owed: set[str]) -> None:
    """Forget the clients of closed memories, but for those of these tenants."""
    with clients._lock:
        for lane, tenants in _closed(clients).items():
            for tenant in set(tenants) - owed:
                clients._choices[lane].pop(tenant).duty.handlers.pop(tenant, None)
        clients._forget_found()


@pytest.fixture(autouse=True)
def well() -> None:
    """No breaker is open since an earlier test: those of a database are the whole process's."""
    deadline.forget_failures()


@pytest.fixture
def tenant() -> str:
    """A tenant that no other test has."""
    return _new_tenant()


def _new_tenant() -> str:
    return f"tenant-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def embedder() -> Iterator[HashEmbedder]:
    """A stand-in for a model: deterministic, offline, and able to fail; well again after its test.

    Workers that still know it then do what is owed: else they would keep its breaker open, which all tests share.
    """
    made = HashEmbedder()
    yield made
    made.down, made.invalid_answer = False, None


@pytest.fixture
def alone() -> None:
    """No worker of an earlier test is awake in this process: jobs that need no model, it would do for anybody."""
    for each in list(process._runtimes.values()):
        each.worker.stop()


Make = Callable[..., Memory]


@pytest.fixture
def make(url: str | None, tenant: str, embedder: HashEmbedder, settings: Settings) -> Make:
    """Makes memories of this test's tenant."""

    return _makes(url, tenant, embedder, settings)


@pytest.fixture(scope="module")
def make_for_all(url: str | None) -> Make:
    """Makes memories of one tenant for all tests of a file, for what they only read."""
    return _makes(url, _new_tenant(), HashEmbedder(), SETTINGS)


def _makes(url: str | None, tenant: str, embedder: HashEmbedder, settings: Settings) -> Make:
    def memory(robot: str = "atlas", **options: Any) -> Memory:
        return Memory(
            robot,
            **{
                "url": url,
                "tenant": tenant,
                "embedder": embedder,
                "settings": settings,
                "reader": False,
            }
            | options,
        )

    return memory


@pytest.fixture(autouse=True)
def reader_where_asked_for(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded reader reads by default only in tests with the embedded model, whatever others have fetched before."""
    if "real_embedder" not in request.fixturenames:
        monkeypatch.setattr(readers, "is_here", lambda: False)


@pytest.fixture(scope="session")
def real_embedder() -> MiniLM:
    """The embedded model, for tests of what only its vectors can tell."""
    found = weights.find()
    if found is None:
        try:
            found = weights.fetch()
        except ModelError as error:
            pytest.skip(f"this needs the embedded model: {error}")
    return MiniLM(found)


@pytest.fixture
def memory(make: Make) -> Iterator[Memory]:
    """One memory of this test's tenant."""
    with make() as made:
        yield made
