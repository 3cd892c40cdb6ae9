"""Everything that a caller gives has a limit: at the limit it works, and one more is refused with the number that was expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from htm_core import Draft, InvalidInput, Memory, Settings
from htm_core.base import limits, validation
from htm_core.base.filters.filters import compile_where
from htm_core.engine.engine import new_id
from htm_core.text.tags import from_model, normalize, normalize_all
from htm_core.timeframes.parse import parse
from htm_core.writing import tags as store
from htm_core.writing.entries import Preparer
from htm_langchain import create_remember_tool
from tests.conftest import Make

ROOT = Path(__file__).parents[2]


def numbers() -> dict[str, int]:
    return {
        name: value
        for name, value in vars(limits).items()
        if name.isupper() and isinstance(value, int)
    }


def test_the_page_of_limits_has_every_limit_with_its_number() -> None:
    rows = re.findall(
        r"^\| (.+?) \| ([\d,]+)[^|]* \| `([A-Z_]+)` \|$",
        (ROOT / "docs/limits.md").read_text(),
        re.M,
    )
    assert {name: int(number.replace(",", "")) for _, number, name in rows} == numbers()


def test_the_page_of_limits_says_what_the_settings_allow() -> None:
    text = (ROOT / "docs/limits.md").read_text()
    settings = Settings()
    assert f"| {settings.max_content:,} characters | `Settings(max_content=…)` |" in text
    assert f"| {settings.max_drafts:,} | `Settings(max_drafts=…)` |" in text


def refused(act: Callable[[], object], number: int, advice: str = "") -> str:
    """What a call is refused with: the number that was expected is in it, and what to do."""
    with pytest.raises(InvalidInput) as error:
        act()
    message = str(error.value)
    assert f"{number:,}" in message, message
    assert advice in message, message
    assert len(message) < 1_000, "a model or a person must be able to read it"
    return message


# -- names ----------------------------------------------------------------------------------------------------------------

NAMED = ("id", "key", "session", "name")


@pytest.mark.parametrize("field", NAMED)
def test_a_name_may_have_255_characters(memory: Memory, field: str) -> None:
    fits = "n" * limits.NAME_LENGTH
    memory.remember("at the limit", **{field: fits})
    refused(
        lambda: memory.remember("over it", **{field: fits + "n"}),
        limits.NAME_LENGTH,
        "shorten or hash",
    )
    assert [each.content for each in memory.timeline()] == ["at the limit"]


@pytest.mark.parametrize("field", ["robot", "tenant", "user", "session"])
def test_the_names_of_a_memory_may_have_255_characters(make: Make, field: str) -> None:
    fits = f"limits-{field}-".ljust(limits.NAME_LENGTH, "n")
    with make(**{field: fits}) as memory:
        memory.remember("at the limit")
        assert memory.recall("at the limit")[0].content == "at the limit"
    refused(lambda: make(**{field: fits + "n"}), limits.NAME_LENGTH, "shorten or hash")


# -- tags -----------------------------------------------------------------------------------------------------------------


def tags(count: int, start: int = 0) -> list[str]:
    return [f"tag-{number}" for number in range(start, start + count)]


def test_a_memory_may_have_a_thousand_tags_in_one_call_and_in_several(memory: Memory) -> None:
    most = limits.TAGS_PER_MEMORY
    node = memory.remember("tagged", tags=tags(most - 1))
    assert len(memory.remember("tagged", tags=tags(1, start=most)).tags) == most
    refused(lambda: memory.remember("tagged", tags=["one-more"]), most, "metadata")
    refused(lambda: memory.tags.add(node.id, ["one-more"]), most, "metadata")
    refused(lambda: memory.remember("another", tags=tags(most + 1)), most, "metadata")
    split = [
        Draft(content="split", tags=tags(most)),
        Draft(content="split", tags=tags(1, start=most)),
    ]
    refused(lambda: memory.remember_many(split), most, "metadata")
    assert len(memory.get(node.id).tags) == most
    assert len(memory.remember("tagged", tags=tags(most - 1)).tags) == most, (
        "tags that it has are no new ones"
    )
    assert [each.content for each in memory.list()] == ["tagged"]
    assert memory.tags.remove(node.id, tags(most)).tags == (f"tag-{most}",)


def test_a_filter_may_name_a_thousand_tags(memory: Memory) -> None:
    memory.remember("tagged", tags=tags(limits.TAGS_PER_MEMORY))
    everything = tags(limits.TAGS_PER_MEMORY)
    assert [each.content for each in memory.list(tags=everything)] == ["tagged"]
    assert [each.content for each in memory.recall("tagged", tags=everything)] == ["tagged"]
    refused(lambda: memory.recall("tagged", tags=[*everything, "one-more"]), limits.TAGS_PER_MEMORY)


def test_a_tag_has_255_characters_and_8_levels_at_most() -> None:
    assert normalize("x" * limits.TAG_LENGTH)
    refused(lambda: normalize("x" * (limits.TAG_LENGTH + 1)), limits.TAG_LENGTH, "shorten")
    assert normalize(":".join("a" * limits.TAG_LEVELS))
    refused(lambda: normalize(":".join("a" * (limits.TAG_LEVELS + 1))), limits.TAG_LEVELS, "fewer")
    assert from_model(":".join("abcd"))
    refused(lambda: from_model(":".join("abcde")), limits.MODEL_TAG_LEVELS, "leave some out")


@pytest.mark.parametrize(
    "text",
    ["x" * 5_000_000, " " * 5_000_000, ":" * 5_000_000, "\u0130" * 3_000_000, "!" * 5_000_000],
)
def test_a_tag_of_millions_of_characters_is_refused_with_a_short_message(text: str) -> None:
    for act in (normalize, from_model, lambda tag: normalize_all(tag)):
        with pytest.raises(InvalidInput) as error:
            act(text)
        assert len(str(error.value)) < 400


@pytest.fixture
def preparer() -> Preparer:
    return Preparer(owner="", session="", settings=Settings(), count=len, new_id=new_id)


def test_a_call_may_have_a_million_tags(
    preparer: Preparer, monkeypatch: pytest.MonkeyPatch, clock: Any
) -> None:
    monkeypatch.setattr("htm_core.writing.entries.TAGS_PER_CALL", 4)
    drafts = [Draft(content=name, tags=("one", "two")) for name in "abc"]
    assert len(preparer.entries(drafts[:2], now=clock)) == 2
    refused(lambda: preparer.entries(drafts, now=clock), 4, "batches")


@pytest.fixture
def clock() -> Any:
    return datetime(2026, 11, 23, tzinfo=UTC)


# -- metadata, payloads, contents -------------------------------------------------------------------------------------------


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"in": value}
    return value


def test_metadata_may_be_64_levels_deep(memory: Memory) -> None:
    deep = nested(limits.METADATA_LEVELS)
    assert memory.remember("deep", metadata=deep).metadata == deep
    refused(
        lambda: memory.remember("deeper", metadata=nested(limits.METADATA_LEVELS + 1)),
        limits.METADATA_LEVELS,
        "flatten",
    )


def test_metadata_may_have_a_hundred_thousand_values(memory: Memory) -> None:
    most = {
        "list": list(range(limits.METADATA_VALUES - 2))
    }  # the mapping and the list are values, too
    assert memory.remember("many values", metadata=most).metadata == most
    more = {"list": list(range(limits.METADATA_VALUES - 1))}
    refused(
        lambda: memory.remember("more values", metadata=more), limits.METADATA_VALUES, "payload"
    )


def test_metadata_may_have_four_megabytes(memory: Memory) -> None:
    room = limits.METADATA_BYTES - len('{"text":""}')
    assert len(memory.remember("large", metadata={"text": "x" * room}).metadata["text"]) == room
    refused(
        lambda: memory.remember("larger", metadata={"text": "x" * (room + 1)}),
        limits.METADATA_BYTES,
        "payload",
    )
    refused(
        lambda: memory.remember("larger", metadata={"text": "é" * (room // 2 + 1)}),
        limits.METADATA_BYTES,
    )


def test_metadata_that_names_one_value_many_times_is_refused_before_it_grows() -> None:
    bomb: Any = ["x" * 1_000]
    for _ in range(40):
        bomb = [bomb, bomb]
    refused(lambda: validation.check_metadata({"bomb": bomb}), limits.METADATA_BYTES)
    letters: Any = {"a": 1}
    for _ in range(40):
        letters = {"a": letters, "b": letters}
    refused(lambda: validation.check_metadata(letters), limits.METADATA_VALUES)


def test_an_integer_may_have_a_thousand_digits() -> None:
    largest = 10**limits.INTEGER_DIGITS - 1
    assert validation.check_metadata({"n": largest, "m": -largest}) == {"n": largest, "m": -largest}
    refused(lambda: validation.check_metadata({"n": largest + 1}), limits.INTEGER_DIGITS, "string")
    refused(lambda: validation.check_metadata({"n": -largest - 1}), limits.INTEGER_DIGITS, "string")


def test_an_items_value_may_be_larger_than_metadata(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = memory.collection("values")
    large = {"text": "x" * (limits.METADATA_BYTES + 1), "list": [0] * (limits.METADATA_VALUES + 1)}
    collection.put([{"id": "a", "content": "a", "value": large}])
    assert collection.get(["a"])[0].value == large
    monkeypatch.setattr("htm_core.collections.items.VALUE_BYTES", 20)
    monkeypatch.setattr("htm_core.collections.items.VALUE_VALUES", 3)
    collection.put(
        [{"content": "b", "value": {"a": "x" * 12}}, {"content": "c", "value": {"a": [1]}}]
    )
    refused(lambda: collection.put([{"content": "b", "value": {"a": "x" * 13}}]), 20, "payload")
    refused(lambda: collection.put([{"content": "c", "value": {"a": [1, 2]}}]), 3, "payload")


def test_a_payload_may_have_64_megabytes(make: Make) -> None:
    fits = bytes(limits.PAYLOAD_BYTES)
    memory = make(settings=Settings(statement_timeout=120.0, verb_timeout=240.0))
    memory.remember("with a payload", payload=fits)
    assert memory.timeline()[0].payload == fits
    refused(
        lambda: memory.remember("with a larger one", payload=fits + b"x"),
        limits.PAYLOAD_BYTES,
        "object store",
    )
    refused(
        lambda: memory.collection("large").put([{"content": "x", "payload": fits + b"x"}]),
        limits.PAYLOAD_BYTES,
    )
    refused(
        lambda: memory.log("s").append([Draft(content="", payload=fits + b"x")]),
        limits.PAYLOAD_BYTES,
    )


def test_a_call_may_have_256_megabytes(preparer: Preparer, clock: Any) -> None:
    quarter = bytes(limits.CALL_BYTES // 4 - 4)
    fits = [
        Draft(content="ab", payload=quarter)
    ] * 4  # metadata that is empty is written as two bytes
    assert len(preparer.entries(fits, now=clock)) == 4
    more = [*fits[:3], Draft(content="abc", payload=quarter)]
    refused(lambda: preparer.entries(more, now=clock), limits.CALL_BYTES, "batches")


def test_a_call_of_a_collection_may_have_256_megabytes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("htm_core.collections.items.CALL_BYTES", 10)
    collection = memory.collection("small")
    collection.put([{"content": "123456"}])
    refused(lambda: collection.put([{"content": "1234567"}]), 10, "batches")


def test_a_vector_may_have_sixteen_thousand_numbers(memory: Memory) -> None:
    collection = memory.collection("wide", dim=limits.DIMENSIONS)
    wide = [1.0] * limits.DIMENSIONS
    collection.put([{"id": "w", "content": "wide", "vector": wide}], model="wide")
    assert collection.query(vector=wide, model="wide", mode="vector")[0].item.id == "w"
    refused(
        lambda: collection.put([{"content": "wider", "vector": [*wide, 1.0]}]), limits.DIMENSIONS
    )
    refused(lambda: memory.collection("wider", dim=limits.DIMENSIONS + 1), limits.DIMENSIONS)


def test_the_settings_limit_contents_and_drafts(make: Make) -> None:
    memory = make(settings=Settings(max_content=20, max_drafts=3))
    memory.remember("x" * 20)
    refused(lambda: memory.remember("x" * 21), 20, "max_content")
    three = [Draft(content=f"draft {number}") for number in range(3)]
    memory.remember_many(three)
    refused(lambda: memory.remember_many([*three, Draft(content="one more")]), 3, "batches")
    log = memory.log("talk")
    log.append(three)
    four = [*three, Draft(content="one more")]
    refused(lambda: log.append(four), 3, "several calls")
    refused(lambda: log.replace(four), 3, "several calls")
    collection = memory.collection("few")
    collection.put([{"content": "x"}] * 3)
    refused(lambda: collection.put([{"content": "x"}] * 4), 3, "batches")


# -- queries ----------------------------------------------------------------------------------------------------------------


def test_what_a_query_has_beyond_8000_characters_is_left_out(memory: Memory) -> None:
    memory.remember("The red bicycle stands in the shed.")
    padding = "bicycle " * (limits.QUERY_LENGTH // 8)
    assert len(padding) == limits.QUERY_LENGTH
    assert validation.check_query(padding[:-1] + "x") == padding[:-1] + "x"
    assert validation.check_query(padding + "more") == padding.strip()
    for timeframe in (None, "auto"):
        found = memory.recall(
            "since yesterday " + padding + "z" * 5_000_000, timeframe=timeframe, mode="text"
        )
        assert found[0].content == "The red bicycle stands in the shed."
    assert memory.tags.search("x" * 5_000_000) == []


def test_an_answer_may_have_a_thousand_results(memory: Memory) -> None:
    memory.remember("only one")
    for act in (
        lambda limit: memory.recall("only one", limit=limit),
        lambda limit: memory.list(limit=limit),
        lambda limit: memory.timeline(limit=limit),
        lambda limit: memory.tags.popular(limit=limit),
        lambda limit: memory.jobs.list(limit=limit),
    ):
        act(limits.RESULTS)
        refused(lambda act=act: act(limits.RESULTS + 1), limits.RESULTS)  # type: ignore[misc]


def test_a_search_in_a_collection_ranks_ten_thousand(memory: Memory) -> None:
    collection = memory.collection("deep")
    collection.put([{"content": "deep"}])
    assert len(collection.query("deep", limit=limits.RANKED)) == 1
    assert collection.query("deep", limit=1, offset=limits.RANKED - 1) == []
    refused(
        lambda: collection.query("deep", limit=2, offset=limits.RANKED - 1),
        limits.RANKED,
        "filters",
    )


def test_a_timeframe_may_have_200_characters_and_a_list_a_thousand_of_them(
    memory: Memory, clock: Any
) -> None:
    spaced = "last" + " " * (limits.TIMEFRAME_LENGTH - 8) + "week"
    assert parse(spaced, now=clock) == parse("last week", now=clock)
    refused(lambda: parse(spaced + " ", now=clock), limits.TIMEFRAME_LENGTH)
    memory.remember("said today")
    assert (
        memory.recall("said today", timeframe=["today"] * limits.TIMEFRAMES)[0].content
        == "said today"
    )
    refused(
        lambda: memory.timeline(timeframe=["today"] * (limits.TIMEFRAMES + 1)),
        limits.TIMEFRAMES,
        "unite",
    )


def test_a_query_may_name_a_thousand_robots(memory: Memory) -> None:
    memory.remember("said by atlas")
    robots = ["atlas", *(f"robot-{number}" for number in range(limits.ROBOTS_PER_QUERY - 1))]
    assert memory.recall("said", robot=robots)[0].content == "said by atlas"
    refused(lambda: memory.recall("said", robot=[*robots, "one-more"]), limits.ROBOTS_PER_QUERY)


# -- filters ----------------------------------------------------------------------------------------------------------------


def has(levels: int, key: str = "in") -> dict[str, Any]:
    where: dict[str, Any] = {"deepest": {"$exists": False}}
    for _ in range(levels):
        where = {key: {"$has": where}}
    return where


FILTERS: dict[str, tuple[int, Callable[[int], dict[str, Any]]]] = {
    "conditions": (
        limits.WHERE_CONDITIONS,
        lambda most: {"$or": [{"a": {"$exists": True}}] * most},
    ),
    "values": (limits.WHERE_BYTES, lambda most: {"a": {"$in": ["x" * (most - 10)]}}),
    "substring": (limits.SUBSTRING_LENGTH, lambda most: {"a": {"$contains": "x" * most}}),
    "any case": (limits.SUBSTRING_ANY_CASE_LENGTH, lambda most: {"a": {"$icontains": "x" * most}}),
    "like": (limits.LIKE_LENGTH, lambda most: {"a": {"$like": "x" * most}}),
    "wildcards": (limits.LIKE_WILDCARDS, lambda most: {"a": {"$like": "x%" * most}}),
    "path": (
        limits.WHERE_PATH_LENGTH,
        lambda most: {"x" * (most - len('strict (exists($.""))')): {"$exists": True}},
    ),
}


@pytest.mark.parametrize("kind", FILTERS)
def test_a_filter_works_at_each_of_its_limits_and_not_beyond(memory: Memory, kind: str) -> None:
    most, made = FILTERS[kind]
    memory.remember("filtered", metadata={"b": 1})
    assert memory.list(where=made(most)) == []
    refused(lambda: memory.list(where=made(most + 1)), most)


def test_a_filter_of_too_many_levels_or_of_dotted_keys_within_each_other_is_refused_at_once(
    memory: Memory,
) -> None:
    memory.remember("filtered", metadata={"b": 1})
    deepest = max(levels for levels in range(1, 65) if fits(has(levels)))
    assert memory.list(where=has(deepest)) == []
    refused(lambda: compile_where(has(deepest + 1)), limits.WHERE_LEVELS, "flatten")
    dotted = [{".": {"$exists": True}}] * (limits.WHERE_CONDITIONS // 2)
    with pytest.raises(
        InvalidInput, match="characters as a JSON path"
    ):  # as many conditions as may be, but too long
        compile_where({"$or": dotted})
    refused(lambda: compile_where({"$or": [*dotted, *dotted[:1]]}), limits.WHERE_CONDITIONS)
    refused(lambda: compile_where(has(deepest, key="a.b")), limits.WHERE_CONDITIONS, "$in")


def fits(where: dict[str, Any]) -> bool:
    try:
        compile_where(where)
    except InvalidInput:
        return False
    return True


# -- ids --------------------------------------------------------------------------------------------------------------------


def test_a_call_may_name_a_hundred_thousand_ids(memory: Memory) -> None:
    collection = memory.collection("many")
    collection.put([{"id": "7", "content": "seven"}])
    ids = [str(number) for number in range(limits.IDS_PER_CALL)]
    more = [*ids, "one-more"]
    assert [each.content for each in collection.get(ids)] == ["seven"]
    refused(lambda: collection.get(more), limits.IDS_PER_CALL, "several calls")
    refused(lambda: collection.query(ids=more), limits.IDS_PER_CALL)
    refused(lambda: collection.delete(more), limits.IDS_PER_CALL)
    refused(lambda: collection.delete(references=more), limits.IDS_PER_CALL)
    assert collection.delete(ids) == 1
    jobs = ["00000000-0000-4000-8000-000000000000"] * limits.IDS_PER_CALL
    assert memory.jobs.retry(jobs) == 0
    refused(lambda: memory.jobs.retry([*jobs, jobs[0]]), limits.IDS_PER_CALL)
    memory.log("talk").append([Draft(content="hello")])
    said = memory.log("talk").tail()
    assert memory.log("talk").archive(said * limits.IDS_PER_CALL)
    refused(
        lambda: memory.log("talk").remove(said * (limits.IDS_PER_CALL + 1)), limits.IDS_PER_CALL
    )


def test_an_items_id_may_have_ten_thousand_characters_and_its_labels_fifteen_hundred_bytes(
    memory: Memory,
) -> None:
    collection = memory.collection("long")
    fits = "i" * limits.ITEM_ID_LENGTH
    assert collection.put([{"id": fits, "content": "x"}]) == [fits]
    refused(lambda: collection.get([fits + "i"]), limits.ITEM_ID_LENGTH, "hash")
    labels = tuple("n" * 242 for _ in range(6))
    assert sum(len(label) + 8 for label in labels) == limits.NAMESPACE_BYTES
    collection.put([{"content": "x", "namespace": labels}])
    assert collection.namespaces() == [(), labels]
    refused(
        lambda: collection.get([fits], namespace=(*labels[1:], "n" * 243)),
        limits.NAMESPACE_BYTES,
        "shorter",
    )


# -- tools of an agent ------------------------------------------------------------------------------------------------------


def test_a_model_that_gives_too_many_tags_reads_how_many_it_may_give(memory: Memory) -> None:
    tool = create_remember_tool(memory, user="ann")
    call = {"name": "remember", "id": "1", "type": "tool_call"}
    fits = {"content": "tagged", "tags": tags(limits.TAGS_PER_MEMORY)}
    assert tool.invoke(call | {"args": fits}).status == "success"
    reply = tool.invoke(call | {"args": {"content": "more", "tags": tags(100_000)}})
    assert (reply.status, "at most 1,000 tags" in reply.content) == ("error", True)
    reply = tool.invoke(call | {"args": {"content": "long", "tags": ["x" * 1_000_000]}})
    assert (reply.status, "at most 255 characters" in reply.content, len(reply.content) < 300) == (
        "error",
        True,
        True,
    )
    assert [each.content for each in memory.of(user="ann").list()] == ["tagged"]


def test_a_tagger_that_finds_more_than_a_memory_has_room_for_fills_the_room(memory: Memory) -> None:
    node = memory.remember("tagged", tags=tags(limits.TAGS_PER_MEMORY - 2))
    with memory._engine.transaction() as connection:
        store.add_from_model(connection, UUID(node.id), ["found-1", "found-2", "found-3"])
    found = memory.get(node.id).tags
    assert (len(found), "found-2" in found, "found-3" in found) == (
        limits.TAGS_PER_MEMORY,
        True,
        False,
    )


# -- nothing is quadratic ---------------------------------------------------------------------------------------------------


class Counted(str):
    """A text that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.fixture
def counted() -> type[Counted]:
    Counted.compared = 0
    return Counted


def test_tags_are_compared_a_few_times_each_however_many_there_are(
    memory: Memory, counted: type[Counted]
) -> None:
    node = memory.remember("tagged")
    given = {counted(f"tag-{number}") for number in range(20_000)}
    with memory._engine.transaction() as connection:
        store.add(connection, [(UUID(node.id), given)])
    assert counted.compared < 10 * len(given)


def test_keys_are_compared_a_few_times_each_however_many_there_are(
    memory: Memory, counted: type[Counted]
) -> None:
    drafts = [
        Draft(content=f"value {number}", key=counted(f"key-{number}")) for number in range(1_000)
    ]
    memory.remember_many(drafts)
    assert counted.compared < 20 * len(drafts)
    assert memory.get("key-999").content == "value 999"
