"""Facts before echoes: what only asks, or says nothing, stands below what answers."""

from __future__ import annotations

from htm_core import Memory, Settings, Signals
from htm_core.models.minilm.model import MiniLM
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


def test_a_question_asked_before_stands_below_the_answer_that_it_got(
    make: Make, real_embedder: MiniLM
) -> None:
    with make(embedder=real_embedder) as memory:
        talk(memory, "s1", QUESTION, ANSWER)
        talk(memory, "s2", "Shall we cook?", "Pasta, please.")
        memory.flush()
        hits = memory.recall(QUESTION, reader=True, explain=True)
        assert hits[0].content == ANSWER
        question = next(hit for hit in hits if hit.content == QUESTION)
        assert question.signals["echo"] < 0
    with make(embedder=real_embedder, settings=silent(echo=0.0)) as memory:
        assert memory.recall(QUESTION)[0].content == QUESTION


def test_many_wordings_of_one_question_leave_room_for_the_fact(
    make: Make, real_embedder: MiniLM
) -> None:
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
            hit.content for hit in memory.recall("The port for the API?", limit=3, reader=True)
        ]


def test_relevance_is_the_same_in_one_session_and_in_many(
    make: Make, real_embedder: MiniLM
) -> None:
    facts = [
        "I work as a nurse.",
        "The boat lies in Split.",
        "Clara is nine.",
        "The rent is due on Monday.",
    ]
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
        memory.remember_many(
            [{"content": f"Message {at} of the day, about nothing."} for at in range(300)]
        )
        memory.flush()
    with make(settings=SETTINGS.model_copy(update={"worker": "off"})) as memory:
        memory.remember("My sister Clara came by.", session="s", role="user")
        hits = memory.recall("What does Clara avoid eating?")
        assert "Clara" in hits[0].content
        assert hits[0].score > 0.05
        assert hits[0].relevance == max(hit.relevance for hit in hits) > 0.02


def test_what_says_nothing_stays_below_the_fact_beside_it(
    make: Make, real_embedder: MiniLM
) -> None:
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
            assert (
                memory.recall(question, reader=True)[0].content
                == "My sister Clara is allergic to shellfish."
            )


def test_an_assistant_who_did_not_know_yields_to_what_the_user_said(
    make: Make, real_embedder: MiniLM
) -> None:
    unknowing = "I have no information about your boat."
    with make(embedder=real_embedder) as memory:
        memory.remember("My boat is the Nixe.", session="told", role="user")
        for session in ("s1", "s2"):
            talk(memory, session, "What is my boat called?", unknowing)
        memory.flush()
        for question in ("boat", "What's my boat's name again?"):
            assert memory.recall(question, reader=True)[0].content == "My boat is the Nixe."
        assert unknowing in [hit.content for hit in memory.recall("boat")]
