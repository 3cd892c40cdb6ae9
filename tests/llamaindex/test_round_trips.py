"""A database that is far away: a turn of a chat waits for few round trips to it, one after the other."""

from __future__ import annotations

from functools import partial

from htm_core import Memory
from htm_llamaindex import HTMMemory
from tests.langchain import test_round_trips as agents
from tests.langchain.test_round_trips import QUESTIONS, TURN, far, network, trips
from tests.llamaindex.models import calls, result, said
from tests.proxy import Proxy

__all__ = ["far", "network"]

pytestmark = agents.pytestmark


def test_a_warm_turn_waits_for_a_dozen_answers_of_the_server(network: Proxy, far: Memory) -> None:
    chat = HTMMemory.from_defaults(session_id="s1", memory=far, user="ann")

    def turn(words: str) -> None:
        chat.put(said(words, "user"))
        chat.get(words)
        chat.put(said("Noted."))

    turn("My boat is called Selene and lies in Kiel.")
    assert max(trips(network, partial(turn, words)) for words in QUESTIONS) <= TURN


def test_a_call_of_a_tool_and_its_result_are_six_round_trips(network: Proxy, far: Memory) -> None:
    chat = HTMMemory.from_defaults(session_id="s1", memory=far, user="ann")
    chat.put(said("My boat is called Selene and lies in Kiel.", "user"))

    def step() -> None:
        chat.put(calls("kitchen"))
        chat.put(result("kitchen: 21 degrees"))

    assert max(trips(network, step) for _ in range(3)) <= agents.STEP
