"""Verbs that meet: nobody waits for ever, nothing fails that could be tried again, and nothing erased stays behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from htm_core import Draft, HTMError, InvalidInput, Memory, NotFound, Settings
from htm_core.db.database import Connection, Database
from htm_core.writing import keys
from tests.conftest import SETTINGS, Make

IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
ROUNDS = 25


def at_once(*calls: Callable[[int], object]) -> list[BaseException]:
    """Run each call in a thread of its own, so many rounds, and give what they raised."""
    raised: list[BaseException] = []

    def run(call: Callable[[int], object]) -> None:
        for number in range(ROUNDS):
            try:
                call(number)
            except NotFound:
                pass  # somebody else was quicker to forget it
            except BaseException as error:
                raised.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


@pytest.fixture
def two(make: Make) -> Iterator[tuple[Memory, Memory]]:
    with make("a", settings=IDLE) as a, make("b", settings=IDLE) as b:
        yield a, b


def test_the_same_words_in_different_sessions_at_once(two: tuple[Memory, Memory]) -> None:
    a, b = two
    a.remember("ok")
    assert (
        at_once(
            *(
                lambda n, m=m, s=s: m.remember("ok", session=s)
                for m, s in ((a, "1"), (b, "2"), (a, "3"), (b, "4"))
            )
        )
        == []
    )  # type: ignore[misc]
    assert len(a.who_said("ok")) == 4 * ROUNDS + 1


def test_remembering_and_revising_one_key_at_once(two: tuple[Memory, Memory]) -> None:
    a, b = two
    raised = at_once(
        lambda n: a.remember(f"a{n}", key="k", session="s"),
        lambda n: b.revise("k", f"b{n}", session="s"),
    )
    assert raised == []
    assert len(a.history("k")) == 2 * ROUNDS


def test_one_text_said_with_an_id_and_without_at_once(two: tuple[Memory, Memory]) -> None:
    a, b = two
    raised = at_once(
        lambda n: a.remember(f"text {n}", session="s", id=f"a{n}"),
        lambda n: b.remember(f"text {n}", session="s"),
    )
    assert raised == []
    assert [m.seq for m in a.timeline(session="s", limit=1000)] == list(range(1, 2 * ROUNDS + 1))


def test_remembering_while_it_is_forgotten_and_purged(two: tuple[Memory, Memory]) -> None:
    a, b = two
    node = a.remember("again and again")

    def forget_and_purge(number: int) -> None:
        b.forget(node.id)
        b.purge(timedelta(0), confirm="confirmed")

    raised = at_once(
        lambda n: a.remember("again and again", session="s", tags=["t"]), forget_and_purge
    )
    raised += at_once(
        lambda n: a.recall("again and again"),
        lambda n: a.remember("again and again"),
        forget_and_purge,
    )
    assert raised == []
    a.remember("again and again")
    assert a.recall("again and again")[0].content == "again and again"


def test_erasing_a_session_while_it_is_written_to(two: tuple[Memory, Memory]) -> None:
    a, b = two
    raised = at_once(
        lambda n: a.remember(f"line {n}", session="s"),
        lambda n: b.erase(session="s", confirm="confirmed"),
    )
    assert raised == []
    a.remember("the last line", session="s")
    seqs = [m.seq for m in a.timeline(session="s", limit=1000)]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))


def test_words_that_an_edit_replaced_are_gone_and_not_merely_hidden(
    make: Make, database: Database, tenant: str
) -> None:
    with make(user="ann") as memory:
        memory.remember("my secret diagnosis", id="m", session="s")
        memory.remember("(edited)", id="m", session="s")
        memory.erase(user="ann", confirm="confirmed")
    with database.transaction(tenant) as connection:
        assert connection.execute("select count(*) as n from nodes").fetchone() == {"n": 0}
        assert connection.execute("select count(*) as n from passages").fetchone() == {"n": 0}


def test_a_forgotten_mentions_id_said_again_is_an_answer_and_stays_forgotten(
    memory: Memory,
) -> None:
    node = memory.remember("my secret", id="m", session="s", payload=b"1")
    memory.forget(node.id)
    assert memory.remember("my secret", id="m", session="s", payload=b"2").id == node.id
    both = memory.remember_many(
        [{"content": "my secret", "id": "m", "session": "s"}, {"content": "other"}]
    )
    assert [each.content for each in both] == ["my secret", "other"]
    assert memory.timeline(session="s") == []
    assert [item.content for item in memory.working.items] == ["other"]


def test_a_value_that_was_superseded_leaves_working_memory(memory: Memory) -> None:
    memory.remember("lives in Paris", key="home")
    memory.revise("home", "lives in Rome")
    assert [item.content for item in memory.working.items] == ["lives in Rome"]


def test_one_long_memory_does_not_hide_the_others(memory: Memory) -> None:
    memory.remember(
        " ".join(f"The boat log of day {n} tells of wind and sails." for n in range(900))
    )
    facts = [f"A short boat fact, number {n}, of sails." for n in range(12)]
    memory.remember_many([{"content": fact} for fact in facts])
    memory.flush()
    for mode in ("hybrid", "vector", "text"):
        assert len(memory.recall("boat wind and sails", mode=mode, limit=10)) == 10


def test_anothers_vectors_do_not_stand_in_front_of_ones_own(
    make: Make, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is shared by tenants of one model; the search still looks at one's own."""
    import random

    from htm_core.db import indexes
    from htm_core.db.queries import load
    from tests.stand_ins import HashEmbedder

    # The index gives up after so many of another's: few here, so that few need to be written.
    entering = (
        load("db/transactions")["enter"] + ", set_config('hnsw.max_scan_tuples', '1000', true)"
    )
    monkeypatch.setitem(load("db/transactions"), "enter", entering)
    dice = random.Random(5)
    embedder = HashEmbedder(dimension=24, name=f"crowd-{tenant}")
    near = embedder.embed_query("pressing question")
    far = [[dice.gauss(0, 1) for _ in near] for _ in range(5_200)]
    close = [[x + dice.gauss(0, 0.01) for x in near] for _ in range(2_500)]
    with (
        make(tenant=f"{tenant}-loud", embedder=embedder, budget=100) as loud,
        make(embedder=embedder, budget=100) as mine,
    ):
        for memory, vectors in ((mine, far), (loud, close)):
            drafts = [Draft(content=f"note {n}", vector=vector) for n, vector in enumerate(vectors)]
            for start in range(0, len(drafts), 500):
                memory.remember_many(drafts[start : start + 500])
        indexes.build_due(database, threshold=5_000)
        assert len(mine.recall("pressing question", mode="vector", limit=20, hold=False)) >= 15


def test_filters_find_words_before_anything_was_counted(make: Make) -> None:
    with make(settings=IDLE) as memory:
        memory.remember_many(
            [{"content": f"note {n} on turtles", "session": "s"} for n in range(5_200)]
        )
        assert len(memory.recall("turtles", mode="text", session="s", limit=20)) == 20


def test_a_batch_with_metadata_is_not_quadratic(make: Make) -> None:
    with make(settings=IDLE, budget=100) as memory:
        nodes = memory.remember_many(
            [{"content": f"text {n % 900}", "metadata": {"n": n}} for n in range(2_000)]
        )
        assert nodes[0].metadata == {"n": 1800}


def test_a_clock_without_a_zone_is_refused_before_anything_is_written(make: Make) -> None:
    from datetime import datetime

    with make(clock=datetime.now) as memory, pytest.raises(InvalidInput, match="time zone"):
        memory.remember("x")


def test_an_observer_that_fails_undoes_nothing(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("observer")

    with make(
        on_event=fail, on_evict=fail, budget=3, tokenizer=lambda text: len(text.split())
    ) as memory:
        memory.remember("one two three")
        memory.remember("four five six")
        assert memory.recall("four", mode="text")[0].content == "four five six"
    assert "observer" in caplog.text


def test_a_version_that_is_no_number_is_refused(memory: Memory) -> None:
    memory.remember("x", key="k")
    with pytest.raises(InvalidInput, match="version"):
        memory.revise("k", "y", if_version="1")  # type: ignore[arg-type]


def test_metadata_filters_of_a_list_hold_for_one_mention(memory: Memory) -> None:
    memory.remember("same", metadata={"a": 1})
    memory.remember("same", metadata={"b": 2, "a": 3})
    assert len(memory.list(where={"a": 1})) == 1
    assert memory.list(where={"a": 1, "b": 2}) == []


def test_who_said_finds_parts_of_words_and_noise(memory: Memory) -> None:
    memory.remember("It is  the\ncode of the house")
    for part in ("of the", "cod", "It is the code", "E HOUSE"):
        assert len(memory.who_said(part)) == 1
    assert memory.who_said("mouse") == []


def test_errors_of_contention_are_of_this_project() -> None:
    from htm_core.db.errors import is_retryable

    assert not is_retryable(HTMError("x"))


def test_a_key_that_is_revised_while_it_is_read_comes_with_a_version(
    two: tuple[Memory, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one, `revise(if_version=…)` would compare nothing, and overwrite what it has not seen."""
    a, b = two
    a.remember("first", key="plan")
    look_up, looked = keys.find, []

    def slow(connection: Connection, key: str, *, owners: Sequence[str]) -> UUID | None:
        found = look_up(connection, key, owners=owners)
        if not looked:
            looked.append(key)
            b.revise("plan", "second")
        return found

    monkeypatch.setattr(keys, "find", slow)
    read = a.get("plan")
    assert (read.content, read.version) == ("second", 2)
