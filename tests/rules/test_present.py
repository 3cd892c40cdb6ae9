"""Questions about the present: which they are, what a hit is like for them, and which hit the trees put first."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

import numpy as np
import pytest

from htm_core.operations.present import said_when
from htm_core.rules.present.features import FEATURES, features
from htm_core.rules.present.matters import MATTERS
from htm_core.rules.present.model import CONFIDENT, installed, likelier, present_answer
from htm_core.rules.present.pairs import PAIR_FEATURES, pairs
from htm_core.rules.present.questions import asks_the_present
from htm_core.types import Hit, Match, Mention, Node

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)


def hit(text: str, *, day: int, score: float, cosine: float, role: str = "user") -> Hit:
    at = BEGIN + timedelta(days=day)
    mention = Mention(
        id=f"m{day}", node_id=f"n{day}", robot="r", session=f"s{day}", role=role, name=None, seq=1, at=at, content=text
    )
    node = Node(id=f"n{day}", content=text, created_at=at, accessed_at=at)
    return Hit(
        node=node,
        score=score,
        relevance=score / 2,
        vector_rank=1,
        text_rank=None,
        passage=text,
        match=Match(cosine=cosine, word_coverage=0.1, matched_words=1, query_words=2, passage_length=8),
        mentions=(mention,),
    )


@pytest.mark.parametrize(
    "question",
    [
        "Where does she live?",
        "What is my phone number?",
        "Who's my manager these days?",
        "Hey, which car do I have?",
        "Tell me where I work now.",
        "Does Nils still eat meat?",
        "How many books have I read by now?",
        "My current address, please",
        "When is the release of version 4?",
        "Under which licence is our project?",
        "What breed is our dog?",
        "What need is there?",
        "Where do I currently keep my old sneakers?",
        "Where did Rachel move to after her recent relocation?",
        "whats my best friend called",
        "Who lives in my flat?",
    ],
)
def test_a_question_for_a_state_asks_for_the_present(question: str) -> None:
    assert asks_the_present(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where did she live before?",
        "What was my first dog called?",
        "Who is my former boss?",
        "Where did I live?",
        "Who drew the cover?",
        "Which team painted the wall?",
        "What came of the toaster?",
        "What was the amount?",
        "Should I sell it now?",
        "Where is my old car?",
        "Where have I been to?",
        "What would you suggest for dinner?",
        "How do I get a scratch out of the paint?",
        "Where was I last summer?",
        "What colour will the kitchen be?",
        "the harbour crane",
    ],
)
def test_a_question_about_the_past_the_future_or_what_to_do_does_not(question: str) -> None:
    assert not asks_the_present(question)


def test_each_hit_has_one_finite_number_for_each_feature_whatever_its_text_is() -> None:
    texts = [
        "",
        "?",
        "\u2019 \u2019",
        "A" * 5_000,
        "Yes! No? 12:30, in Rome.",
        "\U0001f600",
        "I moved to Ghent on 3 May, Ann's flat.",
    ]
    hits = [hit(text, day=day, score=0.0, cosine=0.0) for day, text in enumerate(texts)]
    for question in ("Where do I live?", "", "Who is Ann's boss now?"):
        rows = features(question, hits)
        assert [len(row) for row in rows] == [len(FEATURES)] * len(texts)
        assert all(math.isfinite(value) for row in rows for value in row)
    assert len(set(FEATURES)) == len(FEATURES)


def test_what_a_hit_is_like_tells_its_age_its_speaker_and_whether_it_can_be_an_answer() -> None:
    hits = [
        hit("I live in Leeds, near the canal.", day=0, score=0.6, cosine=0.6),
        hit("Is it nice to live there?", day=3, score=0.5, cosine=0.5),
        hit("Our new flat is in Bristol.", day=9, score=0.3, cosine=0.3),
        hit("Bristol, how lovely.", day=10, score=0.2, cosine=0.2, role="assistant"),
    ]
    old, question, new, echo = (dict(zip(FEATURES, row, strict=True)) for row in features("Where do I live?", hits))
    assert old["recency"] < question["recency"] < new["recency"] < echo["recency"] == 1
    assert new["newer_than_best"] == 1, "a statement of the user that is newer than the best one"
    assert question["newer_than_best"] == echo["newer_than_best"] == 0, "these state nothing for the user"
    assert new["where_and_place"] == old["where_and_place"] == 1
    assert question["only_asks"] == 1
    assert new["other_value_older"] == pytest.approx(1), "another place than that of the best older statement"
    assert old["other_value_older"] == 0
    assert new["says_now"] == 1
    assert echo["by_user"] == 0


def test_a_question_knows_the_words_of_its_matter_and_who_it_is_about() -> None:
    hits = [
        hit("My sister Franzi lives in Graz, she is a baker.", day=0, score=0.6, cosine=0.6),
        hit("Could you order flowers for Tom?", day=5, score=0.5, cosine=0.2),
        hit("Franzi unpacked forty boxes, from the balcony one sees the river.", day=9, score=0.1, cosine=0.1),
    ]
    first, other, new = (dict(zip(FEATURES, row, strict=True)) for row in features("Where does my sister live?", hits))
    assert new["near_words"] > other["near_words"] == 0, "boxes, a balcony and a river are near to where somebody lives"
    assert (first["speaks_of_subject"], new["speaks_of_subject"], other["speaks_of_subject"]) == (1, 1, 0)
    assert new["unseen_words"] > 0.8 > 0 == first["older_statements"]


def test_another_value_of_the_same_matter_is_known_without_a_common_word() -> None:
    hits = [
        hit("I practise the violin in the bathroom.", day=0, score=0.6, cosine=0.6),
        hit("My lips hurt from the trumpet since Monday.", day=90, score=0.2, cosine=0.2),
    ]
    old, new = (dict(zip(FEATURES, row, strict=True)) for row in features("Which instrument do I play?", hits))
    assert new["other_matter_value_older"] == pytest.approx(1)
    assert old["other_matter_value_newer"] == pytest.approx(1 / 3)
    assert old["other_matter_value_older"] == 0


@pytest.mark.parametrize("name", list(MATTERS))
def test_the_words_of_a_matter_are_single_words_in_lower_case(name: str) -> None:
    matter = MATTERS[name]
    for word in matter.near | matter.values:
        assert word == word.lower(), word
        assert " " not in word, word
    assert matter.near


def test_the_installed_trees_are_those_of_the_features() -> None:
    model = installed()
    for trees, names in ((model.order, FEATURES), (model.beside, PAIR_FEATURES)):
        assert trees.features.max() < len(names)
        assert np.isfinite(trees.score(np.zeros((2, len(names))))).all()


def test_a_statement_is_looked_at_beside_the_first_hit_and_what_only_asks_is_not() -> None:
    rows = np.array(features("Who is my dentist?", moved()))
    places, beside = pairs(rows)
    assert places.tolist() == [2]
    [numbers] = beside.tolist()
    named = dict(zip(PAIR_FEATURES, numbers, strict=True))
    assert named["newer"] == 1
    assert named["cosine"] == pytest.approx(0.3)
    assert named["first_cosine"] == pytest.approx(0.6)
    assert named["more_cosine"] == pytest.approx(-0.3)
    assert pairs(rows[:2])[1].shape == (0, len(PAIR_FEATURES))


def test_nothing_is_likelier_than_the_first_hit_than_itself_and_all_are_within_their_bounds() -> None:
    found = likelier("Who is my dentist?", moved())
    assert found[0] == 0
    assert all(-1 <= each <= 1 for each in found)


def answer(question: str, hits: list[Hit], *, share: float = 1.0) -> int:
    return present_answer(likelier(question, hits), share=share)


def moved() -> list[Hit]:
    """A fact, talk about it, and the change in passing."""
    return [
        hit("Dr Weber has been my dentist for years.", day=0, score=0.6, cosine=0.6),
        hit("I hate looking for a dentist, how does one do it?", day=20, score=0.4, cosine=0.4),
        hit("Can you move my meeting? The new dentist, Dr Osei, only had Thursday.", day=60, score=0.3, cosine=0.3),
    ]


def test_a_change_said_in_passing_comes_before_the_fact_that_is_nearer_to_the_question() -> None:
    assert answer("Who is my dentist?", moved()) == 2


def test_a_change_that_is_said_outright_comes_before_the_former_value_and_what_else_is_said() -> None:
    hits = [
        hit("I drive a Honda Civic.", day=0, score=0.6, cosine=0.6),
        hit("I sold the Honda Civic, I drive a Tesla now.", day=60, score=0.5, cosine=0.5),
        hit("How often does a car need oil?", day=20, score=0.4, cosine=0.4),
        hit("Parking is a nightmare here.", day=70, score=0.2, cosine=0.2),
    ]
    assert answer("Which car do I drive?", hits) == 1


def test_with_less_weight_the_trees_have_to_be_surer() -> None:
    share = CONFIDENT / 1.1  # not even the surest could move anything
    assert answer("Who is my dentist?", moved(), share=share) == 0


def test_what_never_changed_stays_first_whatever_else_was_said_later() -> None:
    hits = [
        hit("My phone number is 0171 555 0142.", day=0, score=0.7, cosine=0.7),
        hit("Is it safe to give one's phone number to a shop?", day=30, score=0.5, cosine=0.5),
        hit("I hate talking on the phone.", day=60, score=0.3, cosine=0.3),
    ]
    assert answer("What is my phone number?", hits) == 0
    assert answer("What is my phone number?", hits[:1]) == 0


def test_trees_of_other_features_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from htm_core.rules.present import model

    monkeypatch.setattr(model, "FEATURES", cast("tuple[str, ...]", ("other",)))
    with pytest.raises(ValueError, match="--fit"):
        installed.__wrapped__()


def test_what_was_said_later_about_something_else_leaves_the_mark_to_what_is_about_the_matter() -> None:
    question = "Which car do I drive?"
    first = hit("I drive a Honda Civic.", day=0, score=0.9, cosine=0.7)
    elsewhere = replace(hit("The dog wants to be out.", day=2, score=0.3, cosine=0.1), relevance=0.0001)
    of_its_words = replace(hit("Somebody bought the Civic.", day=1, score=0.2, cosine=0.1), relevance=0.0001)
    near_enough = replace(hit("Got a Tesla!", day=1, score=0.2, cosine=0.3), relevance=0.01)
    assert said_when(question, [first, elsewhere], [0.0, -0.1], 0) == {}
    assert said_when(question, [first, elsewhere, of_its_words], [0.0, -0.1, -0.2], 0) == {2: "later"}
    assert said_when(question, [first, elsewhere, near_enough], [0.0, -0.1, -0.2], 0) == {2: "later"}
