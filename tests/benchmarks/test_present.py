"""The dialogues in which a fact changes: what they hold, and that they are the same each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.present.dialogues import (
    CONSTANT,
    PAST,
    PRESENT,
    Dialogue,
    by_others,
    made,
    together,
    topics,
    written,
)
from htm_core.text.questions import asks_the_present


@pytest.fixture(scope="module")
def dialogues() -> list[Dialogue]:
    return [*written(), *made(count=2)]


def test_each_question_is_answered_by_a_message_of_its_kind_that_a_user_said(
    dialogues: list[Dialogue],
) -> None:
    assert len(dialogues) > 100
    for dialogue in dialogues:
        assert {each.kind for each in dialogue.asked} >= {PRESENT, CONSTANT}
        for question in dialogue.asked:
            assert question.gold, (dialogue.id, question.text)
            assert {dialogue.messages[place].role for place in question.gold} == {"user"}


def test_dialogues_of_other_authors_have_messages_that_answer_and_none_of_the_fifth_is_among_those_that_are_grown_on() -> (
    None
):
    known, unknown = (list(by_others(held_out=held_out)) for held_out in (False, True))
    assert len(known) > 500
    assert len(unknown) > 140
    for dialogue in (*known, *unknown):
        for question in dialogue.asked:
            assert {dialogue.messages[place].role for place in question.gold} == {"user"}, (
                dialogue.id,
                question.text,
            )
    said = {tuple(each.content for each in dialogue.messages) for dialogue in known}
    assert not said & {tuple(each.content for each in dialogue.messages) for dialogue in unknown}


def test_dialogues_in_one_memory_keep_their_messages_in_order_and_what_answers_their_questions() -> (
    None
):
    alone = list(by_others(held_out=True))
    groups = list(together(alone))
    assert sum(len(each.messages) for each in groups) == sum(len(each.messages) for each in alone)
    answers = {
        (question.text, tuple(sorted(each.messages[place].content for place in question.gold)))
        for each in alone
        for question in each.asked
        if question.kind != PAST
    }
    for group in groups:
        assert [each.at for each in group.messages] == sorted(each.at for each in group.messages)
        topics_in = [name.partition("-")[0] for name in group.id.split("+")]
        assert len(set(topics_in)) == len(topics_in) <= 5
        for question in group.asked:
            assert (
                question.text,
                tuple(sorted(group.messages[place].content for place in question.gold)),
            ) in answers


def test_the_present_value_is_said_after_every_former_one(dialogues: list[Dialogue]) -> None:
    for dialogue in dialogues:
        present, former = (
            [each.at for each in dialogue.messages if each.mark == mark] for mark in (PRESENT, PAST)
        )
        assert max(former) < min(present), dialogue.id
        times = [each.at for each in dialogue.messages]
        assert times == sorted(times), dialogue.id


def test_questions_about_the_past_are_told_from_those_about_the_present(
    dialogues: list[Dialogue],
) -> None:
    kinds = {
        kind: [each.text for d in dialogues for each in d.asked if each.kind == kind]
        for kind in (PRESENT, PAST)
    }
    assert not [text for text in kinds[PAST] if asks_the_present(text)]
    found = [asks_the_present(text) for text in kinds[PRESENT]]
    assert sum(found) / len(found) > 0.9, (
        "but for how one does something, which asks for advice as well"
    )


def test_dialogues_that_are_made_are_the_same_for_one_seed_and_others_for_another() -> None:
    one, same, other = (next(made(count=1, seed=seed)).messages for seed in (1, 1, 2))
    assert one == same != other


def test_every_topic_has_all_its_parts() -> None:
    for topic in topics():
        assert set(topic.parts) == {"?", "<", "-", "+", "*", "~", "~<", "~>"}, topic.name
        assert len(topic.values) >= 6, topic.name


def test_a_file_is_read_with_its_marks_its_sessions_and_its_questions(tmp_path: Path) -> None:
    path = tmp_path / "written.txt"
    path.write_text(
        "A head.\n\n== one\n? Where now?\n< Where before?\n@2024-01-02\n- user: In Rome.\nassistant: Noted: ok.\n"
        "@2024-02-02\n+ user: In Ghent.\n"
    )
    [dialogue] = written([path])
    assert [(each.role, each.content, each.session, each.mark) for each in dialogue.messages] == [
        ("user", "In Rome.", 1, PAST),
        ("assistant", "Noted: ok.", 1, None),
        ("user", "In Ghent.", 2, PRESENT),
    ]
    assert [(each.text, each.kind, each.gold) for each in dialogue.asked] == [
        ("Where now?", PRESENT, frozenset({2})),
        ("Where before?", PAST, frozenset({0})),
    ]
