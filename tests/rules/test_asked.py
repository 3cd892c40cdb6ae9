"""What is asked in a long message is told from what is pasted into it, in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.recall.asked import GIST, LONG, MOST, SHORT, asked_in, asked_words

MAIL = (
    "Dear all, the roof of the garden house will be renewed in spring. Please send your estimates before Friday. "
    * 8
)
LOG = "2026-03-01 12:00:03 ERROR worker: queue full\n" * 30
TRACE = (
    "Traceback (most recent call last):\n"
    + '  File "a.py", line 3, in f\n    y = a if b else c\n' * 20
    + "ValueError: bad"
)
QUESTIONS = [
    "Who is my dentist?", "Wo steht mein Wagen?", "¿Dónde está la llave?", "أين مفتاح المخزن؟", "妹は何のアレルギーですか？",  # noqa: RUF001
    "Πού είναι το κλειδί;", "Ո՞րտեղ է բանալին՞", "मेरी गाड़ी कहाँ खड़ी है?", "Where is it?!", "And the boat? 🙂",
    "仓库的钥匙在哪里？",  # noqa: RUF001
]  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("pasted", [MAIL, LOG, TRACE, "会議の資料を送ります。" * 60])
def test_a_question_above_below_or_between_what_is_pasted_is_found(
    question: str, pasted: str
) -> None:
    pasted = pasted.strip()
    for text in (
        f"{pasted}\n\n{question}", f"{question}\n\n{pasted}", f"{pasted}\n\n{question}\n\n{pasted}", f"{pasted}\n{question}",
        f"{question}\n{pasted}", f"```\n{pasted}\n```\n{question}", f"{question}\n~~~\n{pasted}",
        "\n".join(f"> {line}" for line in pasted.splitlines() * 9) + f"\n{question}", f"{pasted * 40}\n\n{question}",
    ):  # fmt: skip
        asked = asked_in(text)
        assert asked is not None, text[:80]
        assert asked.parts == (question,)
        assert asked.surely
        assert 0 < len(asked.beside) <= 2 * GIST + 3


def test_a_question_without_a_mark_is_a_short_paragraph_of_its_own() -> None:
    asked = asked_in(f"{MAIL}\n\ntell me who my dentist is")
    assert asked is not None
    assert asked.parts == ("tell me who my dentist is",)
    assert not asked.surely  # so the rest counts as much


@pytest.mark.parametrize(
    "question", ["Who is my dentist?", "أين مفتاح المخزن؟", "Πού είναι το κλειδί;"]
)
def test_a_question_with_a_mark_inside_of_a_paragraph_is_found(question: str) -> None:
    asked = asked_in(f"{MAIL * 3}{question} {MAIL * 2}")
    assert asked is not None
    assert (asked.parts, asked.surely) == ((question,), True)


def test_several_questions_are_all_found() -> None:
    text = f"Who is my dentist? And where does Clara live?\n\n{MAIL}\n\nWhat do I drive?"
    asked = asked_in(text)
    assert asked is not None
    assert set(asked.parts) == {"What do I drive?", "Who is my dentist? And where does Clara live?"}
    assert asked_words(text) == asked.words


def test_the_users_words_in_a_template_are_among_the_parts() -> None:
    asked = asked_in(
        f"Use only the context.\n\nContext:\n{MAIL}\n\nQuestion: Who is my dentist?\n\nAnswer in three sentences."
    )
    assert asked is not None
    assert asked.parts[0] == "Question: Who is my dentist?"


def test_code_and_one_long_telling_ask_nothing() -> None:
    assert asked_in("x = min(a, b); y = 2; " * 40) is None
    assert asked_in("Then we went home and had some tea with milk. " * 30) is None
    assert asked_in(f"```\n{LOG}```") is None


@given(st.text(max_size=LONG - 1))
def test_a_message_of_ordinary_length_stays_as_it_is(text: str) -> None:
    assert asked_in(text) is None
    assert asked_words(text) == text


@given(
    st.lists(
        st.sampled_from(
            [*QUESTIONS, "\n", "\n\n", "```\n", "> ", MAIL[:200], LOG[:90], "?", ";", "\x00", "é"]
        ),
        max_size=60,
    )
)
def test_parts_are_few_short_and_the_messages_own_words(pieces: list[str]) -> None:
    text = " ".join(pieces)
    asked = asked_in(text)
    if asked is not None:
        assert 1 <= len(asked.parts) <= MOST
        assert all(0 < len(part) <= SHORT and part in text for part in asked.parts)
        assert asked.beside
