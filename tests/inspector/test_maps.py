"""The map of memories: it is drawn again only where it shows others, never shows what was forgotten, and is each user's own."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from htm_core.inspector import maps as maps_module
from htm_core.inspector.maps import Maps
from htm_core.inspector.pages.memory_map import drawn
from htm_core.serve.contents import MapPoint, MemoryMap, map_of
from tests.conftest import Make
from tests.inspector.conftest import SignIn, whole


def made_map(size: int, stamp: str = "") -> MemoryMap:
    point = MapPoint("id", "text", datetime(2026, 5, 1, tzinfo=UTC), 0.5, 0.5, 0)
    return MemoryMap((point,) * size, ((),), 0.5, size, stamp)


def test_a_map_is_drawn_again_only_where_it_shows_other_memories(make: Make) -> None:
    with make() as memory:
        nodes = memory.remember_many(
            [{"content": f"The boat leaks {number}."} for number in range(20)]
        )
        memory.flush()
        first = map_of(memory, limit=100)
        assert (len(first.points), first.nodes, first.without_vector) == (20, 20, 0)
        assert map_of(memory, limit=100, known=first) is first
        memory.forget(nodes[3].id)
        second = map_of(memory, limit=100, known=first)
        assert second is not first
        assert nodes[3].id not in {each.id for each in second.points}
        memory.restore(nodes[3].id)
        assert map_of(memory, limit=100, known=second).points == first.points
        memory.remember("It waits for its vector.")
        waiting = map_of(memory, limit=100, known=first)
        assert (len(waiting.points), waiting.without_vector) in ((20, 1), (21, 0))
        memory.flush()
        assert map_of(memory, limit=100, known=waiting).without_vector == 0


def test_points_are_the_newest_of_the_owner_with_the_tags_oldest_first(make: Make) -> None:
    with make(user="ann") as ann, make(user="bob") as bob:
        for number in range(6):
            at = datetime(2026, 5, 1 + number, tzinfo=UTC)
            ann.remember(
                f"Ann {number}", at=at, tags=["even:two" if number % 2 == 0 else "odd:one"]
            )
        bob.remember("Bob's own", tags=["even:two"])
        ann.flush()
        bob.flush()
        assert [each.text for each in map_of(ann, limit=4).points] == [
            "Ann 2",
            "Ann 3",
            "Ann 4",
            "Ann 5",
        ]
        assert [each.text for each in map_of(ann, tags=["even"], limit=4).points] == [
            "Ann 0",
            "Ann 2",
            "Ann 4",
        ]
        assert [each.text for each in map_of(bob, limit=4).points] == ["Bob's own"]


def test_a_forgotten_memory_leaves_the_page_at_once_and_no_user_gets_anothers_map(
    make: Make, sign_in: SignIn
) -> None:
    with make(user="ann") as ann, make(user="bob") as bob:
        secret = ann.remember("Ann's own secret.")
        ann.remember_many([{"content": f"Ann {number}"} for number in range(3)])
        bob.remember("Bob's own.")
        ann.flush()
        bob.flush()
        of_ann, of_bob = sign_in(user="ann"), sign_in(user="bob")
        assert "own secret" in whole(of_ann, "/ui/map")
        assert "own secret" not in whole(of_bob, "/ui/map")
        ann.forget(secret.id)
        assert "own secret" not in whole(of_ann, "/ui/map")


def test_points_are_escaped_and_lie_within_the_picture() -> None:
    hostile = "</title><script>alert(1)</script>\"'"
    corners = [
        MapPoint(str(number), hostile, datetime(2026, 5, 1, tzinfo=UTC), x, y, 0)
        for number, (x, y) in enumerate([(0.0, 0.0), (1.0, 1.0)])
    ]
    svg = drawn([(each, 3) for each in corners], '/ui/"onload="/')
    assert "<script" not in svg
    assert '"onload' not in svg
    places = [tuple(map(float, found)) for found in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', svg)]
    assert places == [(20, 620), (980, 20)]
    assert svg.count('class="q3"') == 2


def test_the_maps_that_are_kept_have_a_limit_and_the_least_lately_asked_for_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(maps_module, "MOST", 10)
    maps = Maps()
    seen: list[MemoryMap | None] = []

    def draw(size: int) -> MemoryMap:
        def make(known: MemoryMap | None) -> MemoryMap:
            seen.append(known)
            return made_map(size)

        return maps.of((f"of {size}",), make)

    for size in (3, 4, 3, 5, 4, 3):
        draw(size)
    assert [each is None for each in seen] == [True, True, False, True, True, True]
    draw(99)  # one that is larger than all may be is kept alone
    draw(99)
    assert seen[-1] is not None
