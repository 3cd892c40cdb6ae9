"""Late interaction in recall: vectors of words are stored beside those of passages, and what they say is a part of the score."""

from __future__ import annotations

import io

import pytest

from htm_core import Draft, Memory
from htm_core.jobs.reembed import reembed
from htm_core.models.embedders import resolve
from htm_core.store.database import Database
from htm_core.store.owner_claims import EVERYBODY
from tests.conftest import SETTINGS, Make
from tests.stand_ins import WordEmbedder

# "vessel" stands in no text, and has the vector of "boat".
SYNONYMS = {"vessel": "boat"}
SAID = ["The boat has a new anchor.", "The garden has a new fence.", "The kitchen has a new stove."]
QUESTION = "Which vessel has something new?"
WITHOUT = SETTINGS.model_copy(update={"word_vectors": False})


def says(memory: Memory, texts: list[str] = SAID) -> None:
    memory.remember_many([Draft(content=text, session="talk", role="user") for text in texts])
    memory.flush()


def stored(database: Database, tenant: str) -> dict[str, int | None]:
    """How many bytes of words each passage has."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        rows = connection.execute(
            "select n.content, length(v.words) as bytes from vectors v join nodes n on n.tenant = v.tenant and n.id = v.node_id"
        ).fetchall()
    return {row["content"]: row["bytes"] for row in rows}


@pytest.fixture
def words() -> WordEmbedder:
    return WordEmbedder(SYNONYMS)


def added(memory: Memory, **signals: float) -> dict[str, float]:
    hits = memory.recall(QUESTION, signals=signals or None, explain=True, hold=False)
    for hit in hits:
        assert sum(hit.signals.values()) == pytest.approx(hit.score)
        assert 0 <= hit.score <= 1
    return {hit.content: hit.signals["interaction"] for hit in hits}


def test_a_word_that_means_what_the_question_says_raises_its_memory(make: Make, words: WordEmbedder) -> None:
    with make(embedder=words) as memory:
        says(memory)
        found = added(memory)
        assert set(found) == set(SAID)
        assert max(found, key=lambda text: found[text]) == SAID[0]
        assert found[SAID[0]] > found[SAID[1]]
        assert memory.recall(QUESTION, hold=False)[0].content == SAID[0]


def test_the_weight_scales_what_is_added_and_nothing_switches_it_off(make: Make, words: WordEmbedder) -> None:
    with make(embedder=words) as memory:
        says(memory)
        whole, half = added(memory), added(memory, interaction=0.5)
        assert any(whole.values())
        for text, value in whole.items():
            assert half[text] == pytest.approx(value / 2, abs=1e-6)
        assert set(added(memory, interaction=0.0).values()) == {0.0}


@pytest.mark.parametrize("mode", ["vector", "text"])
def test_the_other_modes_are_left_as_they_are(make: Make, words: WordEmbedder, mode: str) -> None:
    with make(embedder=words) as memory:
        says(memory)
        hits = memory.recall("a new vessel", mode=mode, explain=True, hold=False)  # type: ignore[arg-type]
        assert hits
        assert {hit.signals["interaction"] for hit in hits} == {0.0}


def test_facts_of_no_conversation_are_compared_word_by_word_too(make: Make, words: WordEmbedder) -> None:
    with make(embedder=words) as memory:
        memory.remember_many([{"content": text} for text in SAID])
        memory.flush()
        assert any(added(memory).values())


def test_an_embedder_without_words_stores_none_and_recall_works_as_ever(
    make: Make, database: Database, tenant: str
) -> None:
    with make() as memory:
        says(memory)
        assert stored(database, tenant) == dict.fromkeys(SAID)
        assert set(added(memory).values()) == {0.0}


def test_the_setting_switches_off_storing_and_comparing(
    make: Make, words: WordEmbedder, database: Database, tenant: str
) -> None:
    with make(embedder=words, settings=WITHOUT) as memory:
        says(memory)
        assert stored(database, tenant) == dict.fromkeys(SAID)
    with make(embedder=words) as memory:
        assert set(added(memory).values()) == {0.0}, "from before: there is nothing to compare"
    with make(embedder=words, settings=WITHOUT) as memory:
        assert set(added(memory).values()) == {0.0}


def test_words_are_compared_once_most_of_what_is_found_has_them(
    make: Make, words: WordEmbedder, database: Database, tenant: str
) -> None:
    """What has none, as memories from before, is neither raised nor lowered by that."""
    with make(embedder=words, settings=WITHOUT) as memory:
        says(memory, ["The boat has a new sail.", "The shed has something old."])
    with make(embedder=words) as memory:
        says(memory, SAID[1:2])
        assert set(added(memory).values()) == {0.0}, "of three, one has words"
        says(memory, [SAID[0], SAID[2]])
        found = added(memory)
        assert stored(database, tenant)["The boat has a new sail."] is None
        assert min(found.values()) < found["The boat has a new sail."] < max(found.values())
        assert found["The boat has a new sail."] == pytest.approx(found["The shed has something old."])


@pytest.mark.parametrize("embed", ["queue", "now"])
def test_whoever_makes_a_vector_makes_those_of_its_words(
    make: Make, words: WordEmbedder, database: Database, tenant: str, embed: str
) -> None:
    """The worker, the writer itself, and the recall that comes before the worker."""
    with make(embedder=words, embed=embed) as memory:
        says(memory)
        assert all(stored(database, tenant).values())
    off = SETTINGS.model_copy(update={"worker": "off"})
    with make(embedder=words, settings=off) as memory:
        memory.remember("The boat has a captain.")
        memory.recall("captain", hold=False)
        assert stored(database, tenant)["The boat has a captain."]


def test_reembed_makes_the_words_of_vectors_from_before(
    make: Make, words: WordEmbedder, database: Database, tenant: str
) -> None:
    with make(embedder=words, settings=WITHOUT) as memory:
        says(memory)
    done = reembed(database, tenant=tenant, embedder=resolve(words))
    assert (done.embedded, done.owed) == (len(SAID), 0)
    assert all(stored(database, tenant).values())
    assert reembed(database, tenant=tenant, embedder=resolve(words)).embedded == 0
    with make(embedder=words) as memory:
        assert any(added(memory).values())


def test_a_long_memory_has_the_words_of_each_of_its_passages(
    make: Make, words: WordEmbedder, database: Database, tenant: str
) -> None:
    with make(embedder=words) as memory:
        says(memory, ["The boat needs paint. " * 200])
        with database.transaction(tenant, claim=EVERYBODY) as connection:
            rows = connection.execute("select words from vectors").fetchall()
        assert len(rows) > 1
        assert all(row["words"] for row in rows)


def test_words_go_with_their_memory(make: Make, words: WordEmbedder, database: Database, tenant: str) -> None:
    with make(embedder=words, user="ann") as memory:
        says(memory)
        memory.erase(user="ann", confirm="confirmed")
    assert stored(database, tenant) == {}


def test_a_backup_brings_words_back(make: Make, words: WordEmbedder, database: Database, tenant: str) -> None:
    file = io.StringIO()
    with make(embedder=words) as memory:
        says(memory)
        before = stored(database, tenant)
        memory.backup.write(file)
        calls = words.calls
    other = f"{tenant}-other"
    with make(embedder=words, tenant=other) as memory:
        memory.backup.read(file.getvalue().splitlines())
        assert stored(database, other) == before
        assert words.calls == calls, "nothing was embedded again"
        assert any(added(memory).values())
