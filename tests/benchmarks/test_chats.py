"""The project's own chats: each file is in the form, and what is not says in which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import chats
from benchmarks.retrieval_sets import SESSION, TURN

GOOD = """\
# Two people.
kind: dialogue
half: training

== 2026-03-02 18:40
Mara: The clinic called, they moved me to the ninth.
Ivo [hike]: We did the whole ridge on Sunday.
  It took eleven hours.

== 2026-03-09 18:40
Mara [ninth]: It was nothing in the end.

== questions, 2026-06-01
fact: How long did they need for the ridge? -> hike
several: What came of the clinic? -> ninth, hike
"""


@pytest.mark.parametrize("path", chats.paths(), ids=lambda path: path.stem)
def test_each_chat_has_questions_whose_answers_are_in_it(path: Path) -> None:
    case = chats.read(path)
    assert len(case.messages) >= 50
    assert len(case.questions) >= 20
    units = {message.unit for message in case.messages}
    for question in case.questions:
        assert question.gold[TURN] <= units
    assert max(message.at for message in case.messages if message.at) < case.now


def test_there_are_chats_of_both_kinds_in_both_halves() -> None:
    for kind in (chats.DIALOGUE, chats.TECHNICAL):
        for half in (chats.TRAINING, chats.TEST):
            assert chats.paths(kind=kind, half=half)


def test_every_chat_is_of_one_kind_and_one_half_whatever_its_messages_say() -> None:
    chosen = [
        p
        for kind in (chats.DIALOGUE, chats.TECHNICAL)
        for half in (chats.TRAINING, chats.TEST)
        for p in chats.paths(kind=kind, half=half)
    ]
    assert sorted(chosen) == chats.paths()


def test_no_chat_of_the_test_half_is_in_the_training_half() -> None:
    said = {half: _said(half) for half in (chats.TRAINING, chats.TEST)}
    assert said[chats.TRAINING].isdisjoint(said[chats.TEST])


def _said(half: str) -> set[str]:
    """What is said, but for remarks that anybody may make, such as "Thanks!", and what is asked."""
    cases = list(chats.chats(half=half))
    said = {
        message.content for case in cases for message in case.messages if len(message.content) > 40
    }
    return said | {question.text for case in cases for question in case.questions}


def test_a_chat_is_read_with_its_speakers_sessions_and_evidence(tmp_path: Path) -> None:
    path = tmp_path / "ridge.txt"
    path.write_text(GOOD)
    case = chats.read(path)
    assert [(m.name, m.session) for m in case.messages] == [
        ("Mara", "ridge:1"),
        ("Ivo", "ridge:1"),
        ("Mara", "ridge:2"),
    ]
    assert case.messages[1].content == "We did the whole ridge on Sunday.\nIt took eleven hours."
    assert case.questions[1].gold == {
        TURN: frozenset({"ridge:1", "ridge:2"}),
        SESSION: frozenset({"ridge:1", "ridge:2"}),
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("fact: How", "facts: How"), "line 14: expected a kind among"),
        (("-> hike\n", "-> walk\n"), "line 14: expected a label of a message, got 'walk'"),
        (("[ninth]", "[hike]"), "line 11: expected each label once"),
        (("== 2026-03-09", "== 2026-03-01"), "line 10: expected a session after the one before"),
        (("Mara: The", "The"), "line 6: expected"),
        (("kind: dialogue\n", ""), "expected a header with kind and half"),
        (("kind: dialogue", "kind: technical"), "line 6: expected"),
    ],
)
def test_a_chat_that_is_not_in_the_form_is_refused_with_its_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    path = tmp_path / "ridge.txt"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(chats.BadChat, match=message.replace("(", r"\(")):
        chats.read(path)
