"""A backup has everything that a tenant remembers, and reading it back gives the same memory, here or elsewhere."""

from __future__ import annotations

import asyncio
import io
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from htm_core import Conflict, Memory, Settings
from htm_core.base.errors import InvalidInput
from tests.stand_ins import HashEmbedder

Make = Callable[..., Memory]
AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def elsewhere() -> str:
    """A tenant that has never been."""
    return f"elsewhere-{uuid.uuid4().hex[:12]}"


def told(memory: Memory) -> Any:
    """What a user can see of a memory, in comparable form."""
    return {
        "nodes": [
            (n.id, n.content, n.importance, n.tags, n.metadata, n.keys, n.version)
            for n in memory.list(limit=1000)
        ],
        "timeline": memory.timeline(limit=1000, forgotten=True),
        "history": [(n.version, n.content) for n in memory.history("home")],
        "tags": [(each.tag, each.nodes) for each in memory.tags.popular()],
        "files": memory.files(),
        "recall": [
            (hit.content, round(hit.score, 5))
            for hit in memory.recall("dog boiler Rome", hold=False, limit=20)
        ],
    }


def filled(memory: Memory, folder: Path) -> Memory:
    memory.remember(
        "The dog is called Biscuit.",
        tags=["pet:dog"],
        importance=7,
        metadata={"n": 1.5, "deep": {"a": [1]}},
        at=AT,
    )
    memory.remember("lives in Paris", key="home")
    memory.revise("home", "lives in Rome")
    memory.remember(
        "\u201cquotes\u201d 'and' 東京 \U0001f642", session="s", role="user", name="Ines", id="m1"
    )
    memory.log("s").append([{"content": "", "role": "assistant", "payload": b"\x00\xff"}])
    forgotten = memory.remember("a forgotten thing")
    memory.forget(forgotten.id)
    dog = memory.recall("Biscuit", hold=False)[0].node
    memory.link(dog, memory.get("home"), kind="supports", weight=0.5)
    (folder / "boiler.md").write_text("---\ntags: [house]\n---\n# Boiler\n\nAker repairs it.")
    memory.load(folder)
    memory.flush()
    return memory


def written(memory: Memory) -> str:
    target = io.StringIO()
    memory.backup.write(target)
    return target.getvalue()


@pytest.mark.parametrize("user", [None, "ann"])
def test_what_is_read_back_under_another_name_is_the_same_memory(
    make: Make, tmp_path: Path, user: str | None
) -> None:
    with make(user=user) as memory, make(tenant=elsewhere(), user=user) as other:
        filled(memory, tmp_path)
        text = written(memory)
        done = other.backup.read(io.StringIO(text))
        assert done.counts["nodes"] == text.count('{"part":"nodes"')
        assert done.vectors_owed == 0
        assert told(other) == told(memory)
        assert [
            each.node.content for each in other.related(other.recall("Biscuit", hold=False)[0].node)
        ] == ["lives in Rome"]
        assert other.remember("The dog is called Biscuit.").is_new is False
        assert isinstance(other.revise("home", "x", if_version=1), Conflict)


def test_reading_the_same_backup_again_changes_nothing(make: Make, tmp_path: Path) -> None:
    with make() as memory:
        filled(memory, tmp_path)
        before, text = told(memory), written(memory)
        memory.backup.read(io.StringIO(text))
        memory.flush()
        assert told(memory) == before


def test_a_session_goes_on_counting_where_the_backup_ended(make: Make, tmp_path: Path) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        filled(memory, tmp_path)
        other.backup.read(io.StringIO(written(memory)))
        last = memory.timeline(session="s")[-1].seq
        other.remember("and on", session="s")
        assert other.timeline(session="s")[-1].seq == last + 1


def test_vectors_of_another_model_are_made_anew(make: Make, tmp_path: Path) -> None:
    with make() as memory:
        filled(memory, tmp_path)
        text = written(memory)
    with make(tenant=elsewhere(), embedder=HashEmbedder(dimension=32, name="other")) as other:
        done = other.backup.read(io.StringIO(text))
        assert done.vectors_owed > 0
        assert (
            other.recall("Biscuit", mode="text", hold=False)[0].content
            == "The dog is called Biscuit."
        )
        assert other.flush(timeout=30)
        assert other.recall("dog Biscuit", mode="vector", hold=False)


def test_a_tenant_with_other_messages_in_a_session_is_left_as_it_is(
    make: Make, tmp_path: Path
) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        filled(memory, tmp_path)
        other.remember("mine", session="s")
        with pytest.raises(InvalidInput, match="session 's' has nothing else"):
            other.backup.read(io.StringIO(written(memory)))
        assert [node.content for node in other.list()] == ["mine"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda lines: lines[1:], "first line"),
        (lambda lines: [], "first line"),
        (lambda lines: [lines[0].replace('"version":2', '"version":9'), *lines[1:]], "version"),
        (lambda lines: [*lines[:3], lines[3][:20], *lines[4:]], "line 4"),
        (lambda lines: [*lines[:3], '{"part":"pg_shadow","row":{}}', *lines[4:]], "line 4"),
    ],
)
def test_what_is_no_backup_is_refused_and_nothing_is_read(
    make: Make, tmp_path: Path, spoil: Callable[[list[str]], list[str]], reason: str
) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        lines = written(filled(memory, tmp_path)).splitlines()
        with pytest.raises(InvalidInput, match=reason):
            other.backup.read(spoil(lines))
        assert other.stats().mentions == 0


def test_words_cut_by_another_language_are_not_mixed(make: Make, tmp_path: Path) -> None:
    with (
        make() as memory,
        make(tenant=elsewhere(), settings=Settings(worker="off", language="german")) as other,
    ):
        filled(memory, tmp_path)
        other.remember("Der Hund heißt Keks.")
        with pytest.raises(InvalidInput, match="german"):
            other.backup.read(io.StringIO(written(memory)))


def test_a_tenants_backup_has_nothing_of_another_tenant(make: Make) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        memory.remember("mine")
        other.remember("theirs")
        assert "theirs" not in written(memory)


def test_every_line_is_json_and_progress_is_told(make: Make) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        memory.remember_many([{"content": f"fact {n}"} for n in range(200)])
        steps: list[int] = []
        target = io.StringIO()
        done = asyncio.run(memory.aio.backup.write(target, progress=steps.append))
        rows = [json.loads(line) for line in target.getvalue().splitlines()]
        assert len(rows) - 1 == sum(done.counts.values())
        assert steps == list(range(500, len(rows), 500))
        other.backup.read(target.getvalue().splitlines(), progress=steps.append)
        assert steps[-1] == len(rows) - 1


def rows(text: str, change: Callable[[str, dict[str, Any]], None]) -> io.StringIO:
    """The same backup with its rows changed."""
    head, *lines = map(json.loads, text.splitlines())
    for each in lines:
        change(each["part"], each["row"])
    return io.StringIO("\n".join(json.dumps(each) for each in [head, *lines]))


@pytest.mark.parametrize(
    ("part", "column", "value"),
    [
        ("nodes", "id", "zz"),
        ("nodes", "id", None),
        ("nodes", "content", "Other words under the same id."),
        ("nodes", "owner", "bob"),
        ("nodes", "created_at", "infinity"),
        ("nodes", "tokens", None),
        ("node_state", "importance", "NaN"),
        ("mentions", "robot", None),
        ("mentions", "owner", "bob"),
        ("mentions", "metadata", "a\0b"),
        ("passages", "lexemes", 12),
        ("passages", "lexemes", "'unclosed"),
        ("passages", "owner", "bob"),
        ("vectors", "embedding", "[1]"),
        ("vectors", "owner", "bob"),
        ("keys", "owner", "bob"),
        ("file_chunks", "headings", 3),
        ("relations", "owner", "bob"),
    ],
)
def test_rows_that_no_backup_has_are_refused_and_nothing_is_read(
    make: Make, tmp_path: Path, part: str, column: str, value: object
) -> None:
    with make(user="ann") as memory, make(tenant=memory.tenant + "-other") as other:
        text = written(filled(memory, tmp_path))

        def change(kind: str, row: dict[str, Any]) -> None:
            if kind == part:
                row[column] = value

        with pytest.raises(InvalidInput, match="nothing was read"):
            other.backup.read(rows(text, change))
        assert other.stats().nodes == 0
        assert other.backup.read(io.StringIO(text)).counts["nodes"]


def test_rows_that_name_another_tenant_are_read_into_this_one(make: Make) -> None:
    with (
        make() as memory,
        make(tenant=memory.tenant + "-walled") as other,
        make(tenant=memory.tenant + "-victim") as victim,
    ):
        memory.remember("The dog is called Biscuit.")
        memory.flush()
        other.backup.read(
            rows(written(memory), lambda _, row: row.update(tenant=victim.tenant, unknown=1))
        )
        assert [node.content for node in other.list()] == ["The dog is called Biscuit."]
        assert victim.list() == []


@pytest.mark.parametrize("name", ["language", "code", "model", "dimension"])
@pytest.mark.parametrize("value", [{}, [1], 1.5])
def test_a_first_line_that_no_backup_has_is_refused(make: Make, name: str, value: object) -> None:
    with make() as memory:
        memory.remember("The dog is called Biscuit.")
        head, *lines = written(memory).splitlines()
        with pytest.raises(InvalidInput, match=f"expected {name} in the first line"):
            memory.backup.read([json.dumps(json.loads(head) | {name: value}), *lines])


def test_a_memory_that_was_forgotten_here_is_seen_again_when_somebody_else_said_it(
    make: Make,
) -> None:
    with make() as there, make(tenant=there.tenant + "-here") as here:
        here.forget(here.remember("The dog is called Biscuit.", session="mine").id)
        there.remember(
            "The dog is called Biscuit.", session="theirs", metadata={"said": "there"}, tags=["pet"]
        )
        there.flush()
        here.backup.read(io.StringIO(written(there)))
        assert [(node.metadata, node.tags) for node in here.list()] == [
            ({"said": "there"}, ("pet",))
        ]
        assert [hit.content for hit in here.recall("Biscuit")] == ["The dog is called Biscuit."]


def test_what_was_forgotten_or_purged_since_does_not_come_back(make: Make) -> None:
    with make() as memory:
        memory.remember("The dog is called Biscuit.", key="dog")
        forgotten = memory.remember("lives in Paris")
        memory.flush()
        text = written(memory)
        memory.forget("dog")
        memory.purge(timedelta(0), confirm="confirmed")
        memory.forget(forgotten.id)
        memory.backup.read(io.StringIO(text))
        assert memory.list() == []
        assert "Biscuit" not in written(memory)
        assert not memory.recall("Biscuit Paris")
        assert memory.restore(forgotten.id).content == "lives in Paris"


def test_a_session_without_its_row_still_goes_on_counting(make: Make) -> None:
    with make() as memory, make(tenant=memory.tenant + "-rowless") as other:
        memory.remember("one", session="s")
        memory.remember("two", session="s")
        text = "\n".join(
            line for line in written(memory).splitlines() if '"part":"sessions"' not in line
        )
        other.backup.read(text.splitlines())
        other.remember("three", session="s")
        assert [each.seq for each in other.timeline(session="s")] == [1, 2, 3]


def test_an_observer_that_raises_stops_the_reading_and_nothing_is_read(make: Make) -> None:
    def fail(_: int) -> None:
        raise RuntimeError("full")

    with make() as memory, make(tenant=memory.tenant + "-stopped") as other:
        memory.remember("The dog is called Biscuit.")
        text = written(memory)
        with pytest.raises(RuntimeError, match="full"):
            other.backup.read(io.StringIO(text), progress=fail)
        assert other.stats().nodes == 0


def test_a_message_without_words_is_not_lost_in_silence(make: Make) -> None:
    with make() as memory, make(tenant=memory.tenant + "-taken") as other:
        for each, payload in ((memory, b"1"), (other, b"2")):
            each.log("s").append([{"content": "", "role": "assistant", "payload": payload}])
        with pytest.raises(InvalidInput, match="session 's'"):
            other.backup.read(io.StringIO(written(memory)))
        assert [each.payload for each in other.timeline(session="s")] == [b"2"]


# -- collections --------------------------------------------------------------------------------------------------------


def shelved(memory: Memory) -> Memory:
    """A memory beside which documents and items are kept, with everything that one may have."""
    books = memory.collection("it's: a \\ shelf")
    books.put(
        [
            {
                "id": "a",
                "content": "The cat sat on the mat.",
                "metadata": {"n": 1.5, "deep": {"a": [None, True]}},
            },
            {
                "id": "東京",
                "content": "Quotes 'and' \u201cmore\u201d 12:34",
                "reference": "file.md",
                "namespace": ("x", "y"),
            },
            {
                "id": "bytes",
                "content": "",
                "value": {"whole": 2**80, "text": "naïve"},
                "payload": b"\x00\xff",
            },
        ]
    )
    books.put([{"id": "late", "content": "A dog came later.", "ttl": timedelta(days=3)}])
    books.put([{"id": "a", "content": "The cat slept on the mat."}])
    memory.collection("words alone", embedder=None).put(
        [{"id": "w", "content": "Only words find this."}]
    )
    toys = memory.collection("toys", dim=3)
    toys.put([{"id": "t", "content": "toy", "vector": [0.1, -0.2, 0.3]}], model="given:3")
    return memory


def on_the_shelves(memory: Memory) -> Any:
    """What can be seen of those collections."""
    books, toys = memory.collection("it's: a \\ shelf"), memory.collection("toys", dim=3)
    return [
        [(hit.item, hit.vector) for hit in books.query(limit=None, with_vectors=True)],
        [
            (hit.item.id, round(hit.score, 6), hit.vector_rank, hit.text_rank)
            for hit in books.query("a cat on mats")
        ],
        [(hit.item.id, round(hit.score, 6)) for hit in books.query("quotes 12:34", mode="text")],
        books.namespaces(),
        [hit.item for hit in memory.collection("words alone").query("words", mode="text")],
        [
            (hit.item, hit.vector, hit.cosine)
            for hit in toys.query(vector=[0.1, -0.2, 0.2], with_vectors=True)
        ],
    ]


def test_collections_are_read_back_with_their_documents_words_and_vectors(make: Make) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        text = written(shelved(memory))
        other.collection("made here before").put(
            [{"id": "x", "content": "so that its number is another"}]
        )
        done = other.backup.read(io.StringIO(text))
        assert (done.counts["collections"], done.counts["documents"]) == (3, 6)
        assert on_the_shelves(other) == on_the_shelves(memory)
        assert len(on_the_shelves(memory)[1]) > 1
        assert {json.loads(line).get("part") for line in text.splitlines()} >= {
            "collections",
            "documents",
        }


def test_reading_collections_again_changes_nothing_and_what_changed_here_stays(make: Make) -> None:
    with make() as memory:
        text = written(shelved(memory))
        before = on_the_shelves(memory)
        memory.backup.read(io.StringIO(text))
        assert on_the_shelves(memory) == before
        books = memory.collection("it's: a \\ shelf")
        books.put([{"id": "a", "content": "A bird."}])
        memory.backup.read(io.StringIO(text))
        assert [hit.item.content for hit in books.query("bird cat mat", mode="text")] == ["A bird."]
        assert len(books.query(limit=None)) == 4


def test_a_collection_that_is_another_here_is_refused_and_nothing_is_read(make: Make) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        text = written(shelved(memory))
        other.collection("toys", dim=2).put(
            [{"id": "t", "content": "toy", "vector": [1.0, 2.0]}], model="given:2"
        )
        with pytest.raises(InvalidInput, match="collection 'toys' is as it was written"):
            other.backup.read(io.StringIO(text))
        assert other.collection("it's: a \\ shelf").query(limit=None) == []


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("documents", {"uid": "00000000-0000-8000-8000-000000000000"}),
        ("documents", {"collection": "nobody's"}),
        ("documents", {"content": None}),
        ("documents", {"namespace": None}),
        ("documents", {"updated_at": "infinity"}),
        ("documents", {"passages": [{"ordinal": 0, "length": 1, "words": ["a"], "weights": "{}/268435456",
                                     "embedding": "[1,2]", "exact": None}]}),
        ("documents", {"passages": [{"ordinal": 0}]}),
        ("documents", {"passages": 3}),
        ("collections", {"name": None}),
        ("collections", {"dimension": None}),
        ("collections", {"language": "klingon"}),
    ],
)  # fmt: skip
def test_documents_that_no_backup_has_are_refused_and_nothing_is_read(
    make: Make, part: str, change: dict[str, Any]
) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        text = written(shelved(memory))

        def spoil(kind: str, row: dict[str, Any]) -> None:
            if kind == part and row.get("name") != "words alone":
                row.update(change)

        with pytest.raises(InvalidInput, match=r"nothing was read|klingon"):
            other.backup.read(rows(text, spoil))
        assert other.collection("it's: a \\ shelf").query(limit=None) == []


def test_items_that_a_framework_keeps_are_read_back(make: Make) -> None:
    from htm_langchain import HTMStore

    with make() as memory, make(tenant=elsewhere()) as other:
        HTMStore(memory=memory).put(("users", "ann"), "likes", {"what": "tea", "cups": 3})
        other.backup.read(io.StringIO(written(memory)))
        item = HTMStore(memory=other).get(("users", "ann"), "likes")
        assert item is not None
        assert item.value == {"what": "tea", "cups": 3}
        assert [found.key for found in HTMStore(memory=other).search(("users",), query="tea")] == [
            "likes"
        ]


def test_what_is_written_comes_a_few_hundred_rows_at_a_time(make: Make) -> None:
    """However much there is, no more of it is in memory than that."""
    with make() as memory:
        memory.collection("many").put(
            [{"id": str(n), "content": f"document {n}"} for n in range(1_200)]
        )
        target, steps = io.StringIO(), []
        memory.backup.write(target, progress=steps.append)
        assert steps[:2] == [500, 1000]
