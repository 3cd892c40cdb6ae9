"""Counts behind the pages: what a page waits for, what it shows meanwhile, and that nobody else sees it."""

from __future__ import annotations

import asyncio
import re

import pytest

from htm_core import InvalidInput, Memory
from htm_core.inspector import counting as counting_module
from htm_core.inspector.counting import MOST, Counting
from tests.conftest import Make
from tests.inspector.conftest import SignIn


def test_what_is_counted_in_time_is_counted_for_each_page() -> None:
    async def run() -> None:
        counting, answers = Counting(), iter(range(9))

        async def count() -> int:
            return next(answers)

        for expected in range(3):
            counted = await counting.of(("x",), count)
            assert counted is not None
            assert (counted.value, counted.age) == (expected, 0.0)

    asyncio.run(run())


def test_a_page_shows_what_was_counted_before_and_how_long_ago() -> None:
    async def run() -> None:
        counting, gate, now = Counting(clock=lambda: now[0]), asyncio.Event(), [0.0]
        calls = 0

        async def count() -> int:
            nonlocal calls
            calls += 1
            mine = calls
            await gate.wait()
            return mine

        assert await counting.of(("x",), count, patience=0.01) is None
        assert await counting.of(("x",), count, patience=0.01) is None
        assert calls == 1  # one at a time
        gate.set()
        await asyncio.sleep(0.01)
        gate.clear()
        now[0] = 7.0
        former = await counting.of(("x",), count, patience=0.01)
        assert former is not None
        assert (former.value, former.age) == (1, 7.0)
        assert await counting.of(("y",), count, patience=0.01) is None  # of another key
        gate.set()
        await asyncio.sleep(0.01)

    asyncio.run(run())


def test_a_page_that_joins_a_count_says_how_long_ago_that_began() -> None:
    async def run() -> None:
        counting, gate, now = Counting(clock=lambda: now[0]), asyncio.Event(), [0.0]

        async def count() -> int:
            await gate.wait()
            return 1

        assert await counting.of(("x",), count, patience=0.01) is None
        now[0] = 40.0
        joined = asyncio.create_task(counting.of(("x",), count, patience=5.0))
        await asyncio.sleep(0.01)
        gate.set()
        counted = await joined
        assert counted is not None
        assert (counted.value, counted.age) == (1, 40.0)

    asyncio.run(run())


def test_a_failure_is_raised_once_and_counted_again() -> None:
    async def run() -> None:
        counting = Counting()

        async def broken() -> int:
            raise InvalidInput("no")

        async def whole() -> int:
            return 3

        with pytest.raises(InvalidInput):
            await counting.of(("x",), broken)
        await asyncio.sleep(0)
        counted = await counting.of(("x",), whole)
        assert counted is not None
        assert counted.value == 3

    asyncio.run(run())


def test_only_so_many_results_are_kept() -> None:
    async def run() -> None:
        counting = Counting()

        async def count() -> int:
            return 1

        for number in range(MOST + 5):
            await counting.of((number,), count)
        assert len(counting._done) == MOST
        assert not counting._running

    asyncio.run(run())


def test_a_page_that_is_not_counted_in_time_says_so_and_the_next_one_has_it(
    sign_in: SignIn, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make() as memory:
        memory.remember("The tea is green.", tags=["drink:tea"])
        client = sign_in()
        was = Counting.of
        monkeypatch.setattr(counting_module.Counting, "of", lambda *a: was(*a, patience=0.0))
        pages = [client.get(f"/ui{path}") for path in ("/health", "/tags")]
        assert all(page.status_code == 200 for page in pages)
        monkeypatch.undo()
        for page in pages:
            assert "is being counted" in page.text
            assert "data-again" in page.text
        assert "There are no tags" not in pages[1].text
        assert "<dt>Memories</dt><dd>1</dd>" in client.get("/ui/health").text
        assert "1 memory" in re.sub("<[^>]+>", "", client.get("/ui/tags").text)


def test_counts_of_one_tenant_or_user_are_no_others(sign_in: SignIn, make: Make) -> None:
    with make() as memory, make(user="ann") as ann:
        memory.remember("for all", tags=["shared:one"])
        ann.remember("for Ann alone", tags=["secret:ann"])
        assert isinstance(memory, Memory)
    assert "secret" in sign_in(user="ann").get("/ui/tags").text
    for client in (sign_in(user="bob"), sign_in(), sign_in(of="another-tenant")):
        assert "secret" not in client.get("/ui/tags").text
        assert "<dt>Memories</dt><dd>2</dd>" not in client.get("/ui/health").text
