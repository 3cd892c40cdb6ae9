"""The timeline of the inspector: what working memory did at each turn, for whom, and with which words."""

from __future__ import annotations

import re
from html import unescape

from tests.conftest import Make
from tests.inspector.conftest import SignIn

HOSTILE = "<script>alert(1)</script> boat"


def count(text: str) -> int:
    return len(text.split())


def turns(page: str) -> list[str]:
    """The text of each turn, without markup."""
    _, *found = page.partition("</main>")[0].split('class="turn ')
    return [" ".join(unescape(re.sub("^[^>]*>|<[^>]+>", " ", each)).split()) for each in found]


def test_each_turn_says_what_was_recalled_and_evicted_and_why(make: Make, sign_in: SignIn) -> None:
    make(session="before").remember(HOSTILE)
    memory = make(session="talk", budget=14, policy="fifo", tokenizer=count)
    memory.recall("boat", mode="text")
    memory.flush()
    memory.remember("the first of five words", role="user")
    memory.remember("the second with five words", role="assistant")
    page = sign_in().get("/ui/timeline?session=talk").text
    before, first, second = turns(page)
    assert before.startswith("Before the first message Recalled: <script>alert(1)</script> boat")
    assert "<script>alert" not in page
    assert "Evicted" not in first
    assert "Evicted: <script>alert(1)</script> boat 8 tokens" in second
    assert "by the policy fifo" in second


def test_the_timeline_of_all_sessions_has_each_turns_own_changes_and_a_robot_only_its_own(
    make: Make, sign_in: SignIn
) -> None:
    for robot, session in (("wren", "one"), ("robin", "two")):
        memory = make(robot, session=session, budget=5, policy="fifo", tokenizer=count)
        memory.remember(f"{robot} says five words first")
        memory.remember(f"{robot} says five words then")
    client = sign_in()
    seen = [turn for turn in turns(client.get("/ui/timeline").text) if "Evicted" in turn]
    assert len(seen) == 2
    assert sorted(("wren says" in turn, "robin says" in turn) for turn in seen) == [
        (False, True),
        (True, False),
    ]
    assert not any(
        "Evicted" in turn for turn in turns(client.get("/ui/timeline?session=one&robot=robin").text)
    )


def test_what_was_forgotten_since_is_named_without_its_words(make: Make, sign_in: SignIn) -> None:
    memory = make(session="talk", budget=5, policy="fifo", tokenizer=count)
    node = memory.remember("my secret has five words")
    memory.remember("and these are five too")
    memory.forget(node.id)
    page = sign_in().get("/ui/timeline?session=talk").text
    assert "one that was forgotten" in page
    assert "my secret" not in page


def test_a_user_sees_nothing_of_another_users_working_memory(make: Make, sign_in: SignIn) -> None:
    for user in ("ann", "bob"):
        memory = make(user=user, session="talk", budget=5, policy="fifo", tokenizer=count)
        memory.remember(f"{user} has four words")
        memory.remember(f"{user} has other four")
    page = sign_in(user="ann").get("/ui/timeline?session=talk").text
    assert "ann has four words" in page
    assert "Evicted" in page
    assert "bob" not in page
