"""What memory knows reaches the model: in its request, with the defaults, asked as people ask."""

from __future__ import annotations

from langchain.agents import create_agent

from htm_core.models.minilm.model import MiniLM
from htm_core.prompt.recalled_block import TAG
from htm_langchain import HTMMemoryMiddleware
from tests.conftest import Make
from tests.langchain.models import scripted, texts

# A fact, told in a thread of its own, and the question that is asked in another one.
TOLD = (
    ("I work as a nurse at the children's hospital.", "What is my job?"),
    ("I moved to Lisbon in May.", "Where do I live?"),
    ("My sister Clara is allergic to shellfish.", "What can't Clara eat?"),
    ("We called the puppy Biscuit.", "What's the name of our dog?"),
    (
        "The landlord wants the rent on the first of each month.",
        "When do I have to pay for the flat?",
    ),
    ("I'm reading The Master and Margarita right now.", "Which book am I in the middle of?"),
    ("My flight to Oslo leaves at 6:40 on Friday.", "How early do I have to be at the airport?"),
    ("I can't stand coriander.", "Which herb should you leave out of my recipes?"),
    ("Our API listens on port 8080.", "Which port do I have to open for the API?"),
    ("I parked the car on level 3, next to the lift.", "Where did I leave the car?"),
    ("Please always answer me in short sentences.", "How do I like my answers?"),
    ("My passport expires in March 2027.", "Until when can I travel with my passport?"),
)


def test_each_of_twelve_facts_told_in_their_threads_is_in_the_request_of_a_fresh_thread(
    make: Make, real_embedder: MiniLM
) -> None:
    with make(user="ann", embedder=real_embedder) as memory:
        model = scripted()
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory)])
        for at, (fact, _) in enumerate(TOLD):
            agent.invoke({"messages": [("user", fact)]}, _thread(f"told-{at}"))
        memory.flush()
        missed = []
        for at, (fact, question) in enumerate(TOLD):
            agent.invoke({"messages": [("user", question)]}, _thread(f"asked-{at}"))
            recalled = [text for text in texts(model.seen[-1]) if f"<{TAG}-" in text]
            if not any(fact in text for text in recalled):
                missed.append((question, recalled))
        assert missed == []


def test_the_ninth_wording_of_a_question_is_shown_the_fact_and_not_the_earlier_questions(
    make: Make, real_embedder: MiniLM
) -> None:
    wordings = (
        "Which port does our API listen on?", "What port is the API on?", "On which port does the API listen?",
        "What's the port of our API?", "API port?", "Tell me which port our API uses?", "Which port do we use for the API?",
        "Do you know the port that the API listens on?",
    )  # fmt: skip
    with make(user="ann", embedder=real_embedder) as memory:
        model = scripted(then="I am not sure.")
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory)])
        agent.invoke(
            {"messages": [("user", "The service for billing answers at 8080.")]}, _thread("told")
        )
        for at, wording in enumerate(wordings):
            agent.invoke({"messages": [("user", wording)]}, _thread(f"asked-{at}"))
        memory.flush()
        agent.invoke({"messages": [("user", "What is the port for billing?")]}, _thread("ninth"))
        recalled = next(text for text in texts(model.seen[-1]) if f"<{TAG}-" in text)
        items = recalled.split("\n- [")[1:]
        assert "8080" in items[0]


def test_the_question_of_the_readme_is_shown_its_answer(make: Make, real_embedder: MiniLM) -> None:
    with make(embedder=real_embedder) as memory:
        memory.remember("The user prefers dark mode.", tags=["user:preference"], importance=8)
        memory.flush()
        model = scripted()
        create_agent(model, middleware=[HTMMemoryMiddleware(memory)]).invoke(
            {"messages": [("user", "what does the user like?")]}, _thread("t")
        )
        assert any("dark mode" in text for text in texts(model.seen[-1]))


def _thread(name: str) -> dict[str, dict[str, str]]:
    return {"configurable": {"thread_id": name, "user_id": "ann"}}
