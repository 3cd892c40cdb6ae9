"""Recall: by meaning and by words, within filters, with scores that compare; and what happens when a model is down."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from htm_core import InvalidInput, Memory, ModelError, Settings, Window
from tests.conftest import Make
from tests.stand_ins import HashEmbedder

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture
def embedder() -> HashEmbedder:
    """A model that only this test's memories have: no worker of other settings in this process does its jobs meanwhile."""
    return HashEmbedder(name=f"hash-{uuid.uuid4().hex[:8]}")


SAME = {"automobile": "car", "auto": "car", "vehicle": "car"}


class Synonyms(HashEmbedder):
    """A stand-in for meaning: some words are others' synonyms."""

    def _vector(self, text: str) -> list[float]:
        return super()._vector(" ".join(SAME.get(word, word) for word in text.lower().split()))


def test_pure_meaning_and_pure_words_are_both_found(make: Make) -> None:
    with make(embedder=Synonyms(name="synonyms")) as memory:
        memory.remember("automobile")
        memory.remember("the zx81 manual of 1981 in a box under the stairs")
        memory.flush()
        meaning = memory.recall("vehicle")[0]
        assert (meaning.content, meaning.text_rank) == ("automobile", None)
        assert memory.recall("zx81")[0].text_rank == 1


def test_any_word_of_a_question_is_enough(memory: Memory) -> None:
    memory.remember("Caroline went to the aquarium with her sister.")
    memory.remember("Lunch was late.")
    hits = memory.recall("Which animals did Caroline see at the aquarium last summer?", mode="text")
    assert [hit.content for hit in hits] == ["Caroline went to the aquarium with her sister."]


def test_rare_words_count_more_than_common_ones(memory: Memory) -> None:
    memory.remember_many([{"content": f"the meeting about budget number {n}"} for n in range(30)])
    memory.remember("the meeting about penguins")
    assert (
        memory.recall("meeting about penguins", mode="text")[0].content
        == "the meeting about penguins"
    )


def test_scores_are_between_nought_and_one_and_compare_between_questions(memory: Memory) -> None:
    memory.remember("The boiler was serviced in March by Henrik.")
    memory.remember("Kites fly.")
    memory.flush()
    exact = memory.recall("The boiler was serviced in March by Henrik.")[0].score
    vague = memory.recall("Who was in the garden by March?")[0].score
    assert 0 <= vague < exact <= 1


def test_words_are_found_before_the_vector_is_there(make: Make, embedder: HashEmbedder) -> None:
    embedder.down = True
    with make() as memory:
        memory.remember("The spare key is under the third flower pot.")
        answer = memory.recall("Where is the spare key?")
        assert answer[0].content == "The spare key is under the third flower pot."
        assert answer.degraded is not None
        assert "words" in answer.degraded
        assert memory.stats().pending_jobs == 1


def test_vectors_arrive_by_themselves_when_the_model_is_back(
    make: Make, embedder: HashEmbedder
) -> None:
    embedder.down = True
    with make() as memory:
        memory.remember("Nothing is lost.")
        assert memory.flush(timeout=5) is False
        embedder.down = False
        assert memory.flush(timeout=60) is True
        assert memory.recall("lost nothing", mode="vector")[0].content == "Nothing is lost."
        assert memory.recall("lost nothing").degraded is None


@pytest.mark.parametrize("answer", ["count", "length", "nan"])
def test_an_invalid_answer_of_the_model_costs_a_vector_and_never_a_memory(
    make: Make, embedder: HashEmbedder, answer: str
) -> None:
    with make() as memory:
        memory.remember("first, so that the length is known")
        memory.flush()
        embedder.invalid_answer = answer  # type: ignore[assignment]
        memory.remember("second")
        memory.flush(timeout=3)
        assert memory.recall("second", mode="text")[0].content == "second"
        embedder.invalid_answer = None
        assert memory.flush(timeout=60)
        assert memory.recall("second", mode="vector")[0].content == "second"


def test_mode_vector_without_a_model_is_an_error_that_says_so(
    make: Make, embedder: HashEmbedder
) -> None:
    with make() as memory:
        memory.remember("x")
        embedder.down = True
        with pytest.raises(ModelError, match="mode='hybrid'"):
            memory.recall("x", mode="vector")


def test_what_waits_for_its_vector_scores_by_its_words_alone(make: Make) -> None:
    """So that a lowest score which it will pass does not keep it back meanwhile."""
    with make(settings=Settings(worker="off")) as memory:
        memory.remember("Something else with a vector.")
        memory.flush()
        memory.remember("The pin of Ann is 1111.")
        memory._runtime.fresh_nodes.renew()  # as if another process had said it
        waiting = memory.recall("What is the pin? asks Ann", hold=False)[0]
        by_words = memory.recall("What is the pin? asks Ann", mode="text", hold=False)[0]
        assert (waiting.content, waiting.vector_rank) == ("The pin of Ann is 1111.", None)
        assert waiting.score >= by_words.score


class SlowAndCounting(HashEmbedder):
    """Embeds as slowly as a busy machine, and keeps each text that it was given to store."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.given: list[str] = []
        self.stores = True

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.given += texts
        time.sleep(0.2)
        if not self.stores:
            raise ConnectionError("only questions are embedded now")
        return super().embed_documents(texts)


def test_recalls_at_once_embed_what_was_just_said_once_and_all_find_it_by_meaning(
    make: Make,
) -> None:
    counting = SlowAndCounting(f"slow-{uuid.uuid4().hex[:8]}")
    with (
        make(embedder=counting, settings=Settings(worker="off")) as memory,
        ThreadPoolExecutor(6) as pool,
    ):
        said = [f"The {thing} is in the cellar." for thing in ("violin", "boiler", "lamp")]
        for text in said:
            memory.remember(text)
        answers = list(
            pool.map(
                lambda n: memory.recall(f"where is it, {n}?", mode="vector", hold=False), range(6)
            )
        )
    assert sorted(counting.given) == sorted(said)
    assert all({hit.content for hit in answer} == set(said) for answer in answers)


def test_a_recall_whose_turn_it_was_to_embed_and_that_failed_keeps_no_other_waiting(
    make: Make,
) -> None:
    embedder = SlowAndCounting(f"slow-{uuid.uuid4().hex[:8]}")
    with (
        make(embedder=embedder, settings=Settings(worker="off")) as memory,
        ThreadPoolExecutor(4) as pool,
    ):
        memory.remember("The spare key is under the flower pot.")
        embedder.stores = False
        began = time.monotonic()
        answers = list(pool.map(lambda n: memory.recall(f"spare key {n}", hold=False), range(4)))
        assert time.monotonic() - began < 10
        assert all(
            answer[0].content == "The spare key is under the flower pot." for answer in answers
        )
        embedder.stores = True
        assert memory.flush(timeout=60)
        assert (
            memory.recall("spare key", mode="vector")[0].content
            == "The spare key is under the flower pot."
        )


def test_embed_now_has_the_vector_before_the_verb_returns(make: Make) -> None:
    with make(embed="now") as memory:
        memory.remember("At once.")
        assert memory.stats().vectors == 1
        assert memory.recall("at once", mode="vector")[0].content == "At once."


def test_embed_now_with_a_dead_model_still_remembers(make: Make, embedder: HashEmbedder) -> None:
    embedder.down = True
    with make(embed="now") as memory:
        memory.remember("Kept all the same.")
        assert memory.stats().pending_jobs == 1
        assert memory.recall("kept")[0].content == "Kept all the same."


@pytest.mark.parametrize("text", ["\x1f\x1b", "\x1b\x1f", "\t?!\n", "\u00a0\u2014\u2003"])
def test_signs_between_white_space_of_any_kind_are_found_by_themselves(
    memory: Memory, text: str
) -> None:
    memory.remember(text)
    assert memory.recall(text, mode="text")[0].content == text


def test_long_texts_are_found_by_any_of_their_passages(memory: Memory) -> None:
    text = " ".join(f"Filler sentence number {n} about nothing much." for n in range(400))
    memory.remember(
        text[:9000] + " The treasure lies beneath the crooked lighthouse. " + text[9000:]
    )
    memory.remember("A short note.")
    memory.flush()
    hit = memory.recall("crooked lighthouse treasure")[0]
    assert "crooked lighthouse" in hit.passage
    assert len(hit.passage) < 2_000


def test_filters_must_hold_for_one_and_the_same_mention(make: Make) -> None:
    with make("a") as a, make("b") as b:
        a.remember("It rains", session="s1", metadata={"place": "Oslo"}, at=NOW)
        b.remember(
            "It rains", session="s2", metadata={"place": "Bergen"}, at=NOW - timedelta(days=30)
        )
        day = Window(start=NOW - timedelta(hours=1), stop=NOW + timedelta(hours=1))
        assert (
            len(a.recall("rain", robot="a", session="s1", timeframe=day, where={"place": "Oslo"}))
            == 1
        )
        assert len(a.recall("rain", robot="b", timeframe=day)) == 0
        assert len(a.recall("rain", session="s1", where={"place": "Bergen"})) == 0
        assert (
            len(
                a.recall("rain", robot=["a", "b"], where={"place": {"$in": ["Bergen"]}})[0].mentions
            )
            == 1
        )


def test_timeframes_are_those_of_people(make: Make) -> None:
    with make(clock=lambda: NOW) as memory:
        memory.remember("paid the rent in April", at=NOW - timedelta(days=20))
        memory.remember("paid the rent in May", at=NOW - timedelta(days=1))
        assert [h.content for h in memory.recall("rent", timeframe="yesterday")] == [
            "paid the rent in May"
        ]
        assert [h.content for h in memory.recall("rent", timeframe="last month")] == [
            "paid the rent in April"
        ]
        assert [h.content for h in memory.recall("rent paid yesterday", timeframe="auto")] == [
            "paid the rent in May"
        ]
        with pytest.raises(InvalidInput):
            memory.recall("rent", timeframe="when the moon was blue")


def test_tags_are_found_with_all_below_them_and_nothing_beside(memory: Memory) -> None:
    memory.remember("about flying", tags=["ai"])
    memory.remember("about wings", tags=["ai:llm"])
    memory.remember("about jets", tags=["aircraft"])
    memory.flush()
    assert {h.content for h in memory.recall("about", tags=["ai"])} == {
        "about flying",
        "about wings",
    }
    assert {h.content for h in memory.recall("about", tags=["ai:llm"])} == {"about wings"}
    assert len(memory.recall("about", tags=["ai", "aircraft"])) == 0


def test_the_scope_of_a_session_sees_that_session(make: Make) -> None:
    with make(session="s1") as one, make(session="s2") as two:
        one.remember("alpha in one")
        two.remember("alpha in two")
        assert [h.content for h in one.recall("alpha", scope="session")] == ["alpha in one"]
        assert len(one.recall("alpha")) == 2
    with make() as none, pytest.raises(InvalidInput, match="session"):
        none.recall("alpha", scope="session")


def test_a_budget_keeps_the_best_whole_hits(memory: Memory) -> None:
    memory.remember_many(
        [{"content": f"penguin fact number {n} " + "waddle " * n} for n in range(20)]
    )
    memory.flush()
    everything = memory.recall("penguin fact", limit=20)
    some = memory.recall("penguin fact", limit=20, budget=40)
    assert 0 < len(some) < len(everything)
    assert sum(hit.node.tokens for hit in some) <= 40
    assert some[0].node.id == everything[0].node.id or everything[0].node.tokens > 40


def test_recalled_nodes_are_held_unless_it_is_said_otherwise(make: Make) -> None:
    with make("writer") as writer, make("reader") as reader:
        writer.remember("The boat is called Svala.")
        reader.recall("boat", hold=False)
        assert len(reader.working) == 0
        reader.recall("boat")
        assert [item.content for item in reader.working.items] == ["The boat is called Svala."]


def test_recalling_counts_the_access(memory: Memory) -> None:
    node = memory.remember("counted")
    memory.recall("counted")
    memory.recall("counted")
    memory.flush()
    assert memory.get(node.id).access_count == 2


def test_near_and_far_arms_have_ranks_from_one(memory: Memory) -> None:
    memory.remember_many([{"content": f"red apple {n}"} for n in range(5)])
    memory.flush()
    hits = memory.recall("red apple 3")
    assert {hit.vector_rank for hit in hits} == {1, 2, 3, 4, 5}
    assert hits[0].content == "red apple 3"


def test_an_explained_score_is_the_sum_of_its_signals(memory: Memory) -> None:
    memory.remember("green parrots talk")
    memory.flush()
    for mode in ("hybrid", "vector", "text"):
        hit = memory.recall("talking parrots", mode=mode, explain=True)[0]
        assert hit.score == pytest.approx(sum(hit.signals.values()))
    assert memory.recall("talking parrots")[0].signals == {}


def test_timings_say_where_the_time_went(memory: Memory) -> None:
    memory.remember("x")
    assert memory.recall("x").timings.sql > 0


@pytest.mark.parametrize(
    "options",
    [{"mode": "psychic"}, {"scope": "world"}, {"limit": 0}, {"limit": True}, {"min_score": 2}, {"budget": -1},
     {"where": {"a": {"$near": 1}}}, {"tags": "a"}, {"tags": ["a::b"]}, {"timeframe": "sometime"}, {"budget": float("nan")}],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_a_message(
    memory: Memory, options: dict[str, object]
) -> None:
    memory.remember("x")
    with pytest.raises(InvalidInput) as error:
        memory.recall("x", **options)  # type: ignore[arg-type]
    assert len(str(error.value)) > 20


def test_odd_questions_do_no_harm(memory: Memory) -> None:
    memory.remember("It's a 'quoted' \\ & | ! : * <-> text (really)")
    for question in [
        "'",
        "\\",
        "& | !",
        "a\x00b",
        "\ud800",
        "x" * 50_000,
        "(((",
        ":*",
        "'; drop table nodes; --",
        "%s %(x)s",
    ]:
        memory.recall(question)
    assert memory.recall("'quoted' \\ & | ! :*", mode="text")[0].text_rank == 1
    with pytest.raises(InvalidInput):
        memory.recall("   ")


def test_another_model_is_refused_with_the_command_that_mends_it(make: Make) -> None:
    with make() as memory:
        memory.remember("embedded with one model")
        memory.flush()
    from htm_core import DimensionMismatch

    with make(embedder=HashEmbedder(dimension=32, name="other")) as other:
        with pytest.raises(DimensionMismatch, match="htm reembed"):
            other.remember("another")
        with pytest.raises(DimensionMismatch, match="htm reembed"):
            other.recall("one model")


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_filters_on_tags_and_on_mentions_hold_together(make: Make, mode: str) -> None:
    days = [datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=number) for number in range(24)]
    with make() as memory:
        for number, at in enumerate(days):
            tags = ["fruit", "red:dark"] if number % 2 else ["fruit"]
            memory.remember(f"apple {number}", tags=tags, session=f"s{number % 3}", at=at)
        memory.flush()
        for tags, session, first in product(
            (["fruit"], ["red"], ["fruit", "red:dark"], None), (None, "s1"), (None, 12)
        ):
            when = None if first is None else (days[first], days[-1] + timedelta(days=1))
            hits = memory.recall(
                "apple",
                mode=mode,
                limit=100,
                tags=tags,
                session=session,
                timeframe=when,
                hold=False,
            )
            expected = {
                f"apple {number}"
                for number in range(24)
                if (tags in (None, ["fruit"]) or number % 2)
                and (session is None or number % 3 == 1)
                and number >= (first or 0)
            }
            assert {hit.content for hit in hits} == expected


class Zeros(HashEmbedder):
    """An embedder that answers some texts with zeros."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors = super().embed_documents(texts)
        return [
            [0.0] * self.dimension if "???" in text else each
            for text, each in zip(texts, vectors, strict=True)
        ]

    def embed_query(self, text: str) -> list[float]:
        return [0.0] * self.dimension if "???" in text else super().embed_query(text)


def test_a_text_that_the_embedder_answers_with_zeros_does_not_wait_for_its_vector(
    make: Make,
) -> None:
    with make(embedder=Zeros(name="zeros"), embed="now") as memory:
        memory.remember("The boat ??? lies in the harbour.")
        memory.remember_many(
            [{"content": f"The train {number} leaves at noon."} for number in range(60)]
        )
        found = memory.recall("Where is the boat?", hold=False)
        assert found[0].content.startswith("The boat")
        assert (
            found.degraded
            == "1 memory was found by its words alone: the embedder answered it with zeros"
        )
        blind = memory.recall("boat ???", hold=False)
        assert blind[0].content.startswith("The boat")
        assert blind.degraded is not None
        assert blind.degraded.endswith("answered the question with zeros")
        assert memory.recall("When does the train leave?", hold=False, limit=1).degraded is None
