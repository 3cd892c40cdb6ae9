"""The signals beside meaning and words: what they bring up, that they can be switched off, and that they add up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from htm_core import InvalidInput, Memory, Mode, Settings, Signals
from htm_core.db.known_speakers import NAMES, READERS, KnownSpeakers
from htm_core.recall import search
from htm_core.recall.searches import ranked_search
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder

NOW = datetime(2026, 5, 14, 12, tzinfo=UTC)
PARTS = {
    "vector",
    "words",
    "context",
    "session",
    "speaker",
    "time",
    "prior",
    "diversity",
    "echo",
    "ranker",
}


def without(*names: str) -> Settings:
    """The tests' settings without these signals."""
    return SETTINGS.model_copy(update={"signals": Signals(**dict.fromkeys(names, 0.0))})


def talk(memory: Memory, session: str, *said: str, at: datetime = NOW) -> None:
    """A conversation of Ann and Bo, who take turns."""
    memory.remember_many(
        [
            {
                "content": text,
                "session": session,
                "role": "user",
                "name": ("Ann", "Bo")[number % 2],
                "at": at,
            }
            for number, text in enumerate(said)
        ]
    )


def by_words(embedder: HashEmbedder) -> None:
    """Let recall have words and their neighbours alone: what was said has vectors, and a question gets none."""
    embedder.down = True


def contents(memory: Memory, question: str, **options: object) -> list[str]:
    memory.flush()
    return [hit.content for hit in memory.recall(question, hold=False, **options)]  # type: ignore[arg-type]


def test_the_parts_of_a_score_add_up_to_it(make: Make) -> None:
    with make(
        clock=lambda: NOW, settings=SETTINGS.model_copy(update={"signals": Signals(prior=0.3)})
    ) as memory:
        talk(
            memory,
            "s1",
            "Which colour is the new bicycle?",
            "Blue, with a bell.",
            "Lovely, I like blue.",
        )
        memory.remember("Bicycles need oil in May.", importance=9)
        memory.flush()
        for mode in ("hybrid", "vector", "text"):
            hits = memory.recall(
                "What did Bo say about the bicycle in May 2026?", mode=mode, explain=True
            )
            assert hits
            for hit in hits:
                assert set(hit.signals) == PARTS
                assert all(
                    part >= 0
                    for name, part in hit.signals.items()
                    if name not in ("echo", "ranker")
                )
                assert sum(hit.signals.values()) == pytest.approx(hit.score)
                assert 0 < hit.score <= 1
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_nothing_is_explained_unless_asked(memory: Memory) -> None:
    memory.remember("The boiler hums.")
    assert memory.recall("boiler")[0].signals == {}


def test_an_answer_is_found_by_the_words_of_its_question(
    make: Make, embedder: HashEmbedder
) -> None:
    with make() as memory:
        talk(
            memory,
            "s1",
            "Which colour did you choose for the bicycle in the end?",
            "Blue, like the old one.",
        )
        talk(memory, "s2", "Shall we cook?", "Pasta, please.")
        memory.flush()
        by_words(embedder)
        assert contents(memory, "colour of the bicycle")[:2] == [
            "Blue, like the old one.",
            "Which colour did you choose for the bicycle in the end?",
        ]
        alone = ["Which colour did you choose for the bicycle in the end?"]
        assert contents(memory, "colour of the bicycle", mode="text") == alone
    embedder.down = False
    with make(settings=without("context", "echo")) as memory:
        assert "Blue, like the old one." not in contents(
            memory, "colour of the bicycle", mode="text"
        )


def test_context_does_not_cross_sessions_nor_owners(make: Make) -> None:
    with make(user="ann") as ann, make(user="bo") as bo:
        talk(ann, "s1", "Which colour did you choose for the bicycle?")
        talk(bo, "s1", "Blue, like the old one.")
        talk(ann, "s2", "Red as always.")
        assert contents(ann, "colour of the bicycle", mode="text") == [
            "Which colour did you choose for the bicycle?"
        ]
        assert contents(bo, "colour of the bicycle", mode="text") == []


def test_what_was_forgotten_is_no_context_any_more(make: Make, embedder: HashEmbedder) -> None:
    with make() as memory:
        talk(
            memory, "s1", "Which colour did you choose for the bicycle?", "Blue, like the old one."
        )
        memory.flush()
        by_words(embedder)
        [answer, question] = memory.recall("colour of the bicycle")
        memory.forget(question.node.id)
        assert contents(memory, "colour of the bicycle") == []
        assert contents(memory, "blue", mode="text") == [answer.content]


def test_facts_outside_of_any_conversation_have_no_context(memory: Memory) -> None:
    memory.remember("Which colour did you choose for the bicycle?")
    memory.remember("Blue, like the old one.")
    assert contents(memory, "colour of the bicycle", mode="text") == [
        "Which colour did you choose for the bicycle?"
    ]


def test_neighbours_are_hits_only_where_the_filters_let_them(
    make: Make, embedder: HashEmbedder
) -> None:
    with make() as memory:
        said = [
            {
                "content": "Which colour did you choose for the bicycle?",
                "metadata": {"kind": "question"},
                "tags": ["a"],
            },
            {"content": "Blue, like the old one.", "metadata": {"kind": "answer"}, "tags": ["b"]},
        ]
        memory.remember_many([each | {"session": "s1", "role": "user"} for each in said])
        memory.flush()
        by_words(embedder)
        assert len(contents(memory, "colour of the bicycle")) == 2
        assert len(contents(memory, "colour of the bicycle", where={"kind": "question"})) == 1
        assert len(contents(memory, "colour of the bicycle", tags=["a"])) == 1


def test_a_long_text_speaks_for_itself(make: Make, embedder: HashEmbedder) -> None:
    long = " ".join(f"word{n} thing{n} place{n}" for n in range(60))
    with make() as memory:
        talk(
            memory,
            "s1",
            "Which colour did you choose for the bicycle?",
            long,
            "Blue, like the old one.",
        )
        memory.flush()
        by_words(embedder)
        hits = memory.recall("colour of the bicycle", explain=True)
        context = {hit.content: hit.signals["context"] for hit in hits}
        assert context["Blue, like the old one."] > 2 * context.get(long, 0.0)


def test_whoever_is_asked_about_comes_first(make: Make) -> None:
    with make() as memory:
        talk(memory, "s1", "I go swimming on Mondays.", "I go climbing on Mondays.")
        assert contents(memory, "What does Ann do on Mondays?")[0] == "I go swimming on Mondays."
        assert contents(memory, "What does Bo do on Mondays?")[0] == "I go climbing on Mondays."
        assert contents(memory, "what does bo do on mondays?")[0] == "I go climbing on Mondays."


def test_a_first_name_is_enough_and_two_speakers_are_no_one(make: Make) -> None:
    with make() as memory:
        for name, sport in (("Ann Lee", "swimming"), ("Bo", "climbing")):
            memory.remember(f"I go {sport} on Mondays.", session="s1", role="user", name=name)
        memory.flush()

        def speaker(question: str) -> list[float]:
            return [hit.signals["speaker"] for hit in memory.recall(question, explain=True)]

        assert max(speaker("What does Ann do on Mondays?")) > 0
        assert max(speaker("What does Ann Lee do on Mondays?")) > 0
        assert max(speaker("What do Ann and Bo do on Mondays?")) == 0
        assert max(speaker("What does Zoe do on Mondays?")) == 0


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
@pytest.mark.parametrize("wrong", [[], ["Ann", "Ann Lee", "Zoe", "Mondays"], ["Zoe"]])
def test_what_a_process_believes_of_speakers_changes_no_answer(
    make: Make, mode: Mode, wrong: list[str]
) -> None:
    """Another process may have brought a speaker, or erased one, since this one last asked: the search itself notices."""
    with make() as memory:
        for name, sport in (("Ann Lee", "swimming"), ("Bo", "climbing")):
            memory.remember(f"I go {sport} on Mondays.", session="s1", role="user", name=name)
        memory.flush()
        seen = memory._engine.database.known_speakers
        for question in (
            "What does Ann do on Mondays?",
            "What does Zoe do on Mondays?",
            "what do bo and ann do?",
        ):
            right = memory.recall(question, mode=mode, explain=True)
            seen.learn(memory._engine.tenant, [""], ["Ann", "Bo", "ann", "bo"], wrong)
            found = memory.recall(question, mode=mode, explain=True)
            assert [(hit.content, hit.score, hit.signals) for hit in found] == [
                (hit.content, hit.score, hit.signals) for hit in right
            ]
            assert not memory.recall(question, mode=mode, min_score=0.999)


def test_the_names_that_a_process_keeps_in_mind_are_limited_and_those_of_each_reader_apart() -> (
    None
):
    seen = KnownSpeakers()
    seen.learn("t", ["ann", ""], ["Bo", "Zoe"], ["Bo"])
    assert seen.guess("t", ["ann", ""], ["Bo", "Zoe"]) == ["Bo"]
    assert (
        seen.guess("t", ["ann"], ["Bo"])
        == seen.guess("u", ["ann", ""], ["Bo"])
        == seen.guess("t", None, ["Bo"])
        == []
    )
    seen.learn("t", ["ann", ""], ["Bo"], [])
    assert seen.guess("t", ["ann", ""], ["Bo", "Zoe"]) == []
    names = [f"Name{n}" for n in range(2 * NAMES)]
    seen.learn("t", [""], names, names)
    assert seen.guess("t", [""], names) == names[-NAMES:]
    for n in range(READERS):
        seen.learn("t", [str(n)], [], [])
    assert seen.guess("t", [""], names) == []


def test_another_users_speakers_are_not_known(make: Make) -> None:
    with make(user="one") as one, make(user="two") as two:
        one.remember("I go swimming on Mondays.", session="s1", name="Ann")
        two.remember("I go climbing on Mondays.", session="s1", name="Bo")
        two.flush()
        [hit] = two.recall("What does Ann do on Mondays?", explain=True)
        assert hit.signals["speaker"] == 0


def test_a_time_in_the_question_draws_what_was_said_then_and_excludes_nothing(make: Make) -> None:
    with make(clock=lambda: NOW) as memory:
        for days in (10, 75, 400):
            text = f"We went to the lake, {days}."
            memory.remember(text, session=f"s{days}", role="user", at=NOW - timedelta(days=days))
        assert (
            contents(memory, "When did we go to the lake in March 2026?")[0]
            == "We went to the lake, 75."
        )
        assert len(contents(memory, "When did we go to the lake in March 2026?")) == 3
    with make(clock=lambda: NOW, settings=without("time")) as memory:
        memory.flush()
        hits = memory.recall("When did we go to the lake in March 2026?", explain=True)
        assert {hit.signals["time"] for hit in hits} == {0.0}


def test_the_conversation_that_is_about_it_lifts_what_was_said_in_it(make: Make) -> None:
    with make() as memory:
        talk(
            memory,
            "sailing",
            "The sailing course begins.",
            "Bring a jacket.",
            "The sailing course ends at six.",
        )
        talk(memory, "cooking", "The course was salty.", "Then we left.", "Nothing else.")
        memory.flush()
        hits = memory.recall("sailing course", explain=True)
        lifted = {hit.content: hit.signals["session"] for hit in hits}
        assert lifted["The sailing course begins."] > lifted["The course was salty."]


def test_one_word_in_common_may_be_chance_and_two_are_none(make: Make) -> None:
    question = "violet tiger lantern harvest meadow copper"
    with make() as memory:
        memory.remember("A violet stone, flat and round, on the beach.")
        memory.remember("A tiger and a lantern, seen at night, far away.")
        memory.flush()
        words = {
            hit.content: hit.signals["words"]
            for hit in memory.recall(question, mode="text", explain=True)
        }
    one, two = (
        words["A violet stone, flat and round, on the beach."],
        words["A tiger and a lantern, seen at night, far away."],
    )
    assert 0 < one < two / 20


def test_importance_counts_only_where_it_was_asked_to(make: Make) -> None:
    with make() as memory:
        memory.remember("The gate code is 4711.", importance=1)
        memory.remember("The gate code was 4712.", importance=10)
        memory.flush()
        assert {hit.signals["prior"] for hit in memory.recall("gate code", explain=True)} == {0.0}
    with make(settings=SETTINGS.model_copy(update={"signals": Signals(prior=0.5)})) as memory:
        assert contents(memory, "gate code")[0] == "The gate code was 4712."


def test_without_any_signal_the_arms_are_what_counts(make: Make) -> None:
    with make(settings=without(*Signals.model_fields)) as memory:
        talk(
            memory, "s1", "Which colour did you choose for the bicycle?", "Blue, like the old one."
        )
        memory.flush()
        [hit] = memory.recall(
            "What did Bo say of the bicycle in May 2026?", mode="text", explain=True
        )
        assert hit.score == pytest.approx(hit.signals["words"])


def test_a_lesser_candidate_that_stands_beside_a_better_one_scores_as_it_would_alone(
    make: Make, embedder: HashEmbedder
) -> None:
    """Only the best candidates go on; one that does not, but was said beside one that does, is heard with what it has."""
    question = "the of and to a by on dog cat river boat"
    off = SETTINGS.model_copy(update={"worker": "off"})
    with (
        make(session="s", embed="now", settings=off) as memory,
        make(session="s", settings=off) as later,
    ):
        memory.remember_many(
            [
                {"content": f"filler{number} nothing{number}", "session": "z"}
                for number in range(300)
            ]
        )
        for number in range(60):
            memory.remember(f"the of and to a by on dog {number}", role="user")
            later.remember(f"boat pending{number}", role="user", name="Mel")
        silent = Signals(
            **dict.fromkeys(Signals.model_fields, 0.0) | {"context": 1.0, "speaker": 1.0}
        )
        found = []
        for most in (30, 60):  # of sixty candidates, half of them go on, or all
            query = search.RecallQuery(
                query=question, text=question, words=question, embedding=embedder.embed_query(question),
                model=memory._engine.embedder.name, filters=search.Filters(owners=[""]), pool=30, limit=most,
                vector_share=0.4, speakers=["Mel"], signal_weights=silent, explain=True,
            )  # fmt: skip
            hits = ranked_search(memory._engine.read, query).hits
            found.append({hit.content: hit for hit in hits if "pending" in hit.content})
        both = found[0].keys() & found[1].keys()
        assert both
        for content in both:
            few, all_ = found[0][content], found[1][content]
            assert few.score == pytest.approx(all_.score)
            assert few.signals["vector"] == pytest.approx(all_.signals["vector"])
            assert few.text_rank == all_.text_rank


def test_one_recall_may_weigh_signals_in_its_own_way(make: Make) -> None:
    with (
        make(clock=lambda: NOW) as memory,
        make(clock=lambda: NOW, settings=without("context", "session")) as other,
    ):
        talk(
            memory,
            "s1",
            "Which colour is the new bicycle?",
            "Blue, with a bell.",
            "Lovely, I like blue.",
        )
        memory.flush()

        def scores(asked: Memory, **options: Any) -> list[tuple[str, float]]:
            found = asked.recall("Which colour has the bicycle?", hold=False, **options)
            return [(hit.content, hit.score) for hit in found]

        alone = scores(memory, signals={"context": 0, "session": 0.0})
        assert alone == scores(other)
        assert alone != scores(memory)  # and the next one weighs as ever
        assert scores(memory, signals={}) == scores(memory)


@pytest.mark.parametrize(
    "given",
    [
        {"contxt": 0},
        {"context": -1},
        {"context": 2},
        {"time": "soon"},
        {"time": float("nan")},
        {1: 0},
        ["context"],
    ],
)
def test_weights_that_there_cannot_be_are_refused(memory: Memory, given: Any) -> None:
    with pytest.raises(InvalidInput, match="expected signals to be weights by name"):
        memory.recall("anything", signals=given)
