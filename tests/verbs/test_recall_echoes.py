"""Facts before echoes: a hit that only asks yields its place, and the answer that followed it takes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from htm_core import Memory, Settings, Signals
from htm_core.models.minilm.model import MiniLM
from htm_core.operations.echoes import facts_before_neighbours
from htm_core.rules.text.small_talk import is_small_talk
from tests.conftest import SETTINGS, Make

QUESTION = "Which port does our API listen on?"
ANSWER = "That would be 8080, as far as I know."


def talk(memory: Memory, session: str, *said: str) -> None:
    """A conversation of a user and an assistant, who take turns."""
    memory.remember_many(
        [
            {"content": text, "session": session, "role": ("user", "assistant")[number % 2]}
            for number, text in enumerate(said)
        ]
    )


def silent(**signals: float) -> Settings:
    return SETTINGS.model_copy(update={"signals": Signals(**signals)})


def test_a_question_asked_before_yields_to_the_answer_that_it_got(make: Make, real_embedder: MiniLM) -> None:
    with make(embedder=real_embedder) as memory:
        talk(memory, "s1", QUESTION, ANSWER)
        talk(memory, "s2", "Shall we cook?", "Pasta, please.")
        memory.flush()
        hits = memory.recall(QUESTION, explain=True)
        assert [hit.content for hit in hits][:1] == [ANSWER]
        question = next(hit for hit in hits if hit.content == QUESTION)
        assert question.signals["echo"] < 0
    with make(embedder=real_embedder, settings=silent(echo=0.0)) as memory:
        assert memory.recall(QUESTION)[0].content == QUESTION


@pytest.mark.parametrize("reply", ["Noted.", "Okay, thanks!", "I don't know, you never told me.", "Let me check."])
def test_a_reply_that_answers_nothing_does_not_take_the_place_of_the_question(
    make: Make, real_embedder: MiniLM, reply: str
) -> None:
    with make(embedder=real_embedder) as memory:
        talk(memory, "s1", QUESTION, reply)
        memory.remember("The gateway of the API answers at 8080.", session="told", role="user")
        talk(memory, "s2", "Shall we cook?", "Pasta, please.")
        memory.flush()
        hits = memory.recall(QUESTION, limit=3, explain=True)
    assert hits[0].content == "The gateway of the API answers at 8080."
    brought = [hit.content for hit in hits if hit.signals.get("echo", 0.0) > 0]
    assert brought == []
    assert not [hit.content for hit in hits if is_small_talk(hit.content)]


def test_many_wordings_of_one_question_leave_room_for_the_fact(make: Make, real_embedder: MiniLM) -> None:
    wordings = [
        QUESTION,
        "What port is the API on?",
        "What's the port of our API?",
        "API port?",
        "Which port is it, the API's?",
    ]
    with make(embedder=real_embedder) as memory:
        for at, wording in enumerate(wordings):
            talk(memory, f"s{at}", wording, "Let me look.")
        memory.remember("The gateway answers at 8080.", session="told", role="user")
        memory.flush()
        assert "The gateway answers at 8080." in [
            hit.content for hit in memory.recall("The port for the API?", limit=3)
        ]


def test_a_query_about_questions_finds_them(make: Make, real_embedder: MiniLM) -> None:
    with make(embedder=real_embedder) as memory:
        talk(memory, "s1", QUESTION, ANSWER)
        memory.flush()
        assert memory.recall("What did I ask about the port of the API?")[0].content == QUESTION


def test_an_answer_is_not_brought_past_a_filter(make: Make, real_embedder: MiniLM) -> None:
    with make(embedder=real_embedder) as memory:
        memory.remember(QUESTION, session="s1", role="user", metadata={"kind": "question"})
        memory.remember(ANSWER, session="s1", role="assistant", metadata={"kind": "answer"})
        memory.flush()
        found = memory.recall(QUESTION, where={"kind": "question"})
        assert [hit.content for hit in found] == [QUESTION]


def test_relevance_is_the_same_in_one_session_and_in_many(make: Make, real_embedder: MiniLM) -> None:
    facts = ["I work as a nurse.", "The boat lies in Split.", "Clara is nine.", "The rent is due on Monday."]
    seen = []
    for spread in (1, len(facts)):
        with make(user=f"of-{spread}", embedder=real_embedder) as memory:
            for at, fact in enumerate(facts):
                memory.remember(fact, session=f"s{at % spread}", role="user")
            memory.flush()
            found = memory.recall("What is my job?")
            seen.append({hit.content: round(hit.relevance, 6) for hit in found})
    assert seen[0] == seen[1]


def test_a_lone_rare_word_counts_while_the_vector_is_not_there(make: Make) -> None:
    with make() as memory:
        memory.remember_many([{"content": f"Message {at} of the day, about nothing."} for at in range(300)])
        memory.flush()
    with make(settings=SETTINGS.model_copy(update={"worker": "off"})) as memory:
        memory.remember("My sister Clara came by.", session="s", role="user")
        hits = memory.recall("What does Clara avoid eating?")
        assert "Clara" in hits[0].content
        assert hits[0].score > 0.1
        assert hits[0].relevance == max(hit.relevance for hit in hits) > 0.02


def test_what_says_nothing_stays_below_the_fact_beside_it(make: Make, real_embedder: MiniLM) -> None:
    with make(embedder=real_embedder) as memory:
        talk(
            memory,
            "s1",
            "Good morning!",
            "Hello.",
            "My sister Clara is allergic to shellfish.",
            "Noted.",
            "Thanks.",
            "I do not know yet.",
        )
        memory.flush()
        for question in ("What does Clara avoid eating?", "Clara"):
            assert memory.recall(question)[0].content == "My sister Clara is allergic to shellfish."


def test_an_assistant_who_did_not_know_yields_to_what_the_user_said(make: Make, real_embedder: MiniLM) -> None:
    unknowing = "I have no information about your boat."
    with make(embedder=real_embedder) as memory:
        memory.remember("My boat is the Nixe.", session="told", role="user")
        for session in ("s1", "s2"):
            talk(memory, session, "What is my boat called?", unknowing)
        memory.flush()
        for question in ("boat", "What's my boat's name again?"):
            assert memory.recall(question)[0].content == "My boat is the Nixe."
        assert unknowing in [hit.content for hit in memory.recall("boat")]


def test_hits_that_have_the_whole_score_stay_in_the_order_of_the_search(make: Make) -> None:
    with make() as memory:
        memory.remember("On day two I ran five kilometres.", session="runs", role="user")
        memory.remember("On day one I ran four kilometres.", session="runs", role="user")
        memory.remember("I noted that.", session="runs", role="assistant")
        found = {hit.content: hit for hit in memory.recall("day two ran four noted", mode="text")}
    searched = [
        replace(found["On day two I ran five kilometres."], score=1.0, relevance=0.84),
        replace(found["I noted that."], score=1.0, relevance=0.0001),
        replace(found["On day one I ran four kilometres."], score=1.0, relevance=0.86),
    ]
    ordered = [hit.content for hit in facts_before_neighbours(searched)]
    assert ordered == ["On day two I ran five kilometres.", "On day one I ran four kilometres.", "I noted that."]
