"""Who has how much: users page by page for an admin, tenants for the operator alone, and days without a message."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import httpx
import pytest

from htm_core import Settings
from htm_core.cli.options import CommonOptions
from htm_core.cli.ui import visitor
from htm_core.db import tenants
from htm_core.db.database import Database
from htm_core.engine import read
from htm_core.serve.settings import Identity
from tests.conftest import SETTINGS, Make
from tests.inspector.conftest import SignIn, add_inspector, whole
from tests.server.conftest import Running

ALL = frozenset(("read", "write", "admin"))


@pytest.fixture(scope="module")
def operators(start: Callable[..., Running]) -> Iterator[httpx.Client]:
    """A browser of the operator."""
    running = start()
    who = Identity(tenant="operators", user=None, robot=None, scopes=ALL, operator=True)
    inspector = add_inspector(running, who)
    with httpx.Client(base_url=running.url, timeout=30) as client:
        client.get(inspector.link or "")
        yield client


def test_more_than_a_hundred_users_are_shown_page_by_page(make: Make, sign_in: SignIn) -> None:
    with make() as shared:
        shared.remember_many([{"content": f"For all {number}."} for number in range(3)])
        for number in range(104):
            with make(user=f"user {number:03}") as memory:
                memory.remember("It is fine.")
        sizes = read.users(shared._engine)
        rest = read.users(shared._engine, first=100)
        beyond = read.users(shared._engine, first=200)
    names = [each.user for each in (*sizes.shown, *rest.shown)]
    assert names == [None, *(f"user {number:03}" for number in range(104))]
    assert (sizes.users, sizes.nodes, sizes.mentions, len(rest.shown)) == (105, 107, 107, 5)
    assert (beyond.shown, beyond.users) == ([], 105)
    client = sign_in("admin")
    first, second = whole(client, "/ui/users"), whole(client, "/ui/users", page="2")
    assert "user 098" in first
    assert "user 099" not in first
    assert "user 099" in second
    assert "user 098" not in second
    assert "page=2" in first
    assert "page=3" not in second
    assert "no users on this page" in whole(client, "/ui/users", page="3")


def test_the_size_of_a_user_does_not_fetch_what_is_stored_beside_the_table(make: Make) -> None:
    with make(user="ann") as ann:
        ann.remember(" ".join(uuid.uuid4().hex for _ in range(3_000)))  # it does not compress well
        [size] = read.users(ann._engine).shown
    assert 60_000 < size.bytes < 300_000


@pytest.mark.parametrize(
    ("user", "read_only", "admin"),
    [(None, False, True), ("ann", False, False), (None, True, False), ("ann", True, False)],
)
def test_htm_ui_lets_only_its_operator_see_all_users_and_tenants(
    user: str | None, read_only: bool, admin: bool
) -> None:
    common = CommonOptions(user=user)
    who = visitor(common, read_only=read_only)
    assert (who.may("admin"), who.operator, who.may("write")) == (admin, admin, not read_only)


def test_htm_ui_for_one_user_shows_neither_users_nor_tenants(
    start: Callable[..., Running], make: Make, tenant: str
) -> None:
    with make(user="bob") as bob:
        bob.remember("Bob was here.")
    running = start()
    inspector = add_inspector(
        running, visitor(CommonOptions(tenant=tenant, user="ann"), read_only=False)
    )
    with httpx.Client(base_url=running.url) as client:
        home = client.get(inspector.link or "", follow_redirects=True)
        for path in ("/ui/users", "/ui/tenants"):
            assert client.get(path).status_code == 403
            assert "bob" not in client.get(path).text
        assert f'href="{path}"' not in home.text


def test_the_operator_sees_the_tenants_with_their_sizes_and_none_of_their_words(
    operators: httpx.Client, url: str | None, make: Make, tenant: str
) -> None:
    other = f"{tenant}-<b>other</b>"
    with make(user="ann") as ann, make() as shared, make(tenant=other, user="zoe") as zoe:
        ann.remember_many(
            [
                {"content": f"A secret of Ann {number}.", "session": f"s{number}"}
                for number in range(5)
            ]
        )
        gone = ann.remember("Forgotten by Ann.")
        ann.forget(gone.id)
        shared.remember("For all.")
        zoe.remember("A secret of Zoe.")
        found = {each.tenant: each for each in read.tenant_sizes(zoe._engine, limit=100_000).shown}
    one, two = found[tenant], found[other]
    assert (one.users, one.nodes, one.mentions, one.estimated) == (1, 6, 6, False)
    assert (two.users, two.nodes, two.mentions) == (1, 1, 1)
    assert one.bytes > two.bytes > 0
    page = whole(operators, "/ui/tenants", after=tenant[:-1])
    assert "<bdi>" + tenant + "</bdi>" in page
    assert "&lt;b&gt;other" in page
    assert "secret" not in page
    assert 'href="/ui/tenants"' in page


def test_tenants_come_page_by_page(operators: httpx.Client, database: Database) -> None:
    prefix = f"\U0010ffff{uuid.uuid4().hex[:8]}"  # the last by name
    with database.owner() as owner:
        for number in range(103):
            owner.execute("insert into tenants (tenant) values (%s)", [f"{prefix} {number:03}"])
    try:
        first = whole(operators, "/ui/tenants", after=prefix)
        second = whole(operators, "/ui/tenants", after=f"{prefix} 099")
    finally:
        with database.owner() as owner:
            owner.execute("delete from tenants where tenant ^@ %s", [prefix])
    assert f"{prefix} 099</bdi>" in first
    assert f"{prefix} 100</bdi>" not in first
    assert "Next" in first
    assert f"{prefix} 100</bdi>" in second
    assert "Next" not in second


@pytest.mark.parametrize("scopes", [("read",), ("read", "write"), ("admin",)])
def test_no_token_sees_which_tenants_there_are(sign_in: SignIn, scopes: tuple[str, ...]) -> None:
    client = sign_in(*scopes)
    refused = client.get("/ui/tenants")
    assert refused.status_code == 403
    assert "operator" in refused.text
    assert 'href="/ui/tenants"' not in client.get("/ui/").text


def test_the_role_of_the_verbs_is_told_of_no_tenant(
    make: Make, database: Database, tenant: str
) -> None:
    with make() as memory:
        memory.remember("Something.")
    with database.transaction(tenant) as connection:
        found = tenants.sizes(connection, after=None, limit=100)
    assert (found.shown, found.tenants) == ([], 0)


def test_of_many_rows_the_statistics_say_about_how_many_there_are(
    make: Make, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(settings=SETTINGS.model_copy(update={"worker": "off"})) as memory:
        memory.remember_many([{"content": f"Number {number}."} for number in range(300)])
        with database.owner() as owner:
            owner.execute("analyze nodes, mentions, passages")
        exact = read.tenant_sizes(memory._engine, after=tenant[:-1], limit=1).shown[0]
        monkeypatch.setattr(tenants, "COUNTED", 20)
        about = read.tenant_sizes(memory._engine, after=tenant[:-1], limit=1).shown[0]
    assert (exact.tenant, exact.nodes, exact.estimated) == (tenant, 300, False)
    assert about.estimated
    assert 21 <= about.nodes <= 600
    assert about.pending == 21


def test_days_without_a_message_are_zeros(make: Make) -> None:
    settings = Settings(**SETTINGS.model_dump(by_alias=True) | {"timezone": "Europe/Oslo"})
    with make(settings=settings) as memory:
        for day in (27, 30):  # the clocks are set forward on the 29th
            memory.remember(f"Said on the {day}th.", at=datetime(2026, 3, day, 23, 30, tzinfo=UTC))
        spans = read.growth(memory._engine, unit="day", limit=60)
        latest = read.growth(memory._engine, unit="day", limit=2)
    oslo = ZoneInfo("Europe/Oslo")
    assert [(each.begins.astimezone(oslo).isoformat(), each.mentions, each.nodes) for each in spans] == [
        ("2026-03-28T00:00:00+01:00", 1, 1), ("2026-03-29T00:00:00+01:00", 0, 0),
        ("2026-03-30T00:00:00+02:00", 0, 0), ("2026-03-31T00:00:00+02:00", 1, 1),
    ]  # fmt: skip
    assert [each.mentions for each in latest] == [0, 1]


def test_a_memory_without_messages_has_no_growth(make: Make) -> None:
    with make() as memory:
        assert read.growth(memory._engine, unit="week", limit=60) == []
