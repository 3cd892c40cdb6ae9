"""HTMRecordManager: `index()` loads each document once, deletes what its source has no longer, and trusts one clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, RecordManager, aindex, index
from langchain_core.vectorstores import InMemoryVectorStore

from htm_core import InvalidInput, Memory
from htm_langchain import HTMRecordManager, HTMVectorStore
from tests.conftest import Make
from tests.stand_ins import HashEmbedder

KEYS = ["key1", "key2", "key3"]


@pytest.fixture
def records(memory: Memory) -> HTMRecordManager:
    return HTMRecordManager("kittens", memory=memory)


def at(records: RecordManager, moment: float) -> Any:
    """What the clock says."""
    return patch.object(records, "get_time", return_value=moment)


# -- the manager itself -----------------------------------------------------------------------------------------------


def steps(records: RecordManager) -> list[Any]:
    """What a manager answers, step by step, with a clock of the test's own."""
    with at(records, 100.0):
        records.update(["a", "b", "c"], group_ids=["g1", "g2", None])
    with at(records, 200.5):
        records.update(["b", "d"], group_ids=["g2", "g1"], time_at_least=200.5)
    answers: list[Any] = [records.exists(["a", "none", "d"]), records.exists([])]
    for bounds in (
        {},
        {"before": 200.5},
        {"before": 200.6},
        {"after": 100.0},
        {"after": 99.9, "before": 101.0},
    ):
        answers.append(sorted(records.list_keys(**bounds)))  # type: ignore[arg-type]
    answers += [
        sorted(records.list_keys(group_ids=groups))
        for groups in (["g1"], ["g2", "g1"], ["none"], [])
    ]
    answers += [len(records.list_keys(limit=limit)) for limit in (2, 10, None)]
    answers.append(records.list_keys(group_ids=["g1"], before=150.0))
    for wrong in ({"group_ids": ["g1"]}, {"time_at_least": time.time() + 3_600}):
        with pytest.raises(ValueError, match=r"."):
            records.update(["a", "x"], **wrong)  # type: ignore[arg-type]
    records.delete_keys(["a", "none"])
    records.delete_keys([])
    return [*answers, sorted(records.list_keys())]


def test_it_answers_as_langchains_own_manager_does(records: HTMRecordManager) -> None:
    records.create_schema()
    assert steps(records) == steps(InMemoryRecordManager("kittens"))


def test_awaited_it_does_the_same(records: HTMRecordManager) -> None:
    async def all_of_it() -> None:
        await records.acreate_schema()
        start = await records.aget_time()
        await records.aupdate(KEYS, group_ids=["a", "a", "b"], time_at_least=start)
        assert await records.aexists(["key1", "none"]) == [True, False]
        assert await records.alist_keys(group_ids=["a"], after=start - 1) == ["key1", "key2"]
        await records.adelete_keys(["key1"])
        assert await records.alist_keys() == ["key2", "key3"]

    asyncio.run(all_of_it())


def test_times_are_the_databases_and_not_this_processs(
    records: HTMRecordManager, make: Make
) -> None:
    wrong = HTMRecordManager(
        "kittens", memory=make(clock=lambda: pytest.fail("nobody asks this clock for the time"))
    )
    assert records.get_time() <= wrong.get_time() <= records.get_time()
    assert abs(records.get_time() - time.time()) < 60


def test_a_clock_that_was_set_back_is_an_error_and_notes_nothing(records: HTMRecordManager) -> None:
    with pytest.raises(InvalidInput, match="set back"):
        records.update(KEYS, time_at_least=records.get_time() + 100)
    with pytest.raises(InvalidInput, match="each of the 3 keys, got 1"):
        records.update(KEYS, group_ids=["a"])
    assert records.list_keys() == []


def test_an_update_without_groups_keeps_those_that_are_known(records: HTMRecordManager) -> None:
    """`index()` notes so what is unchanged; were it interrupted then, LangChain's own managers would have lost the source."""
    records.update(KEYS[:2], group_ids=["", "b"])
    records.update(KEYS)
    assert records.list_keys(group_ids=[""]) == ["key1"]
    assert records.list_keys(group_ids=["b"]) == ["key2"]


def test_managers_of_other_names_and_tenants_are_apart(
    records: HTMRecordManager, make: Make
) -> None:
    records.update(KEYS)
    for other in (
        HTMRecordManager("puppies", memory=records.memory),
        HTMRecordManager("kittens", memory=make(tenant="t-x")),
    ):
        assert other.exists(KEYS) == [False] * 3
        other.delete_keys(KEYS)
    assert records.exists(KEYS) == [True] * 3


# -- index() ----------------------------------------------------------------------------------------------------------


def document(text: str, source: str = "1") -> Document:
    return Document(text, metadata={"source": source})


def counts(added: int, updated: int, skipped: int, deleted: int) -> dict[str, int]:
    return {
        "num_added": added,
        "num_updated": updated,
        "num_skipped": skipped,
        "num_deleted": deleted,
    }


Run = Callable[..., dict[str, Any]]


@pytest.fixture(params=[False, True], ids=["index", "aindex"])
def run(request: pytest.FixtureRequest, records: HTMRecordManager) -> Run:
    store = HTMVectorStore(memory=records.memory)

    def indexed(*documents: Document, **options: Any) -> dict[str, Any]:
        given: dict[str, Any] = {"source_id_key": "source", "key_encoder": "sha256"} | options
        if request.param:
            done = asyncio.run(aindex(list(documents), records, store, **given))
        else:
            done = index(list(documents), records, store, **given)
        held = {each.page_content for each in store.similarity_search("", k=100)}
        return {**done, "held": held}

    return indexed


def test_without_clean_up_nothing_is_loaded_twice(run: Run) -> None:
    assert run(document("a"), document("b"), document("a")) == {
        **counts(2, 0, 1, 0),
        "held": {"a", "b"},
    }
    assert run(document("a"), document("c")) == {**counts(1, 0, 1, 0), "held": {"a", "b", "c"}}
    assert run(document("a"), force_update=True) == {**counts(0, 1, 0, 0), "held": {"a", "b", "c"}}


def test_full_clean_up_deletes_all_that_was_not_loaded_again(run: Run) -> None:
    run(document("a"), document("b", "2"), cleanup="full")
    assert run(document("b", "2"), document("c", "2"), cleanup="full") == {
        **counts(1, 0, 1, 1),
        "held": {"b", "c"},
    }
    assert run(cleanup="full") == {**counts(0, 0, 0, 2), "held": set()}


def test_incremental_clean_up_deletes_what_its_source_has_no_longer(run: Run) -> None:
    run(document("a1"), document("a2"), document("b1", "2"), cleanup="incremental")
    again = run(document("a1"), document("a3"), cleanup="incremental", batch_size=2)
    assert again == {**counts(1, 0, 1, 1), "held": {"a1", "a3", "b1"}}
    assert run(cleanup="incremental") == {**counts(0, 0, 0, 0), "held": {"a1", "a3", "b1"}}


def test_scoped_full_clean_up_deletes_at_the_end_within_the_sources_that_came(run: Run) -> None:
    run(document("a1"), document("a2"), document("b1", "2"), cleanup="scoped_full")
    again = run(document("a2"), document("a3"), cleanup="scoped_full", batch_size=1)
    assert again == {**counts(1, 0, 1, 1), "held": {"a2", "a3", "b1"}}


def test_a_process_whose_clock_is_wrong_deletes_nothing_too_much(
    records: HTMRecordManager, make: Make
) -> None:
    """A record is old by the database's clock alone, whoever wrote it."""
    store = HTMVectorStore(memory=records.memory)
    index(
        [document("a")],
        records,
        store,
        cleanup="full",
        source_id_key="source",
        key_encoder="sha256",
    )
    with patch("time.time", return_value=0.0):
        done = index(
            [document("a")],
            records,
            store,
            cleanup="full",
            source_id_key="source",
            key_encoder="sha256",
        )
    assert done == counts(0, 0, 1, 0)


def test_it_keeps_the_records_of_any_vector_store(records: HTMRecordManager) -> None:
    class Vectors(HashEmbedder):
        pass

    store = InMemoryVectorStore(Vectors())  # type: ignore[arg-type]  # it has what the store calls
    for added in (1, 0):
        assert index([document("a")], records, store, key_encoder="sha256")["num_added"] == added
