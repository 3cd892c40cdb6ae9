"""The ranker's rules: what a passage is like, which kind a question is of, and the weights that follow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.rules import ranking
from htm_core.rules.ranking import FEATURES, TRAITS, weights_for
from htm_core.rules.text.question_kinds import KINDS, kinds_of
from htm_core.rules.text.traits import Trait, traits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Trait(0)),
        ("What is it called?", Trait.ONLY_ASKS | Trait.QUESTION),
        ("I painted it in 2019. And you?", Trait.QUESTION | Trait.NUMBER | Trait.FIRST_PERSON | Trait.SECOND_PERSON | Trait.TIME_NAMED),
        ("They went to Ghent.", Trait.NAME),
        ("They went to Ghent with Clara and Boris.", Trait.NAME | Trait.NAMES),
        ("Please always show the plan.", Trait.WISH | Trait.STANDING),
        ("Whenever we talk of money, show both sums.", Trait.WISH | Trait.STANDING | Trait.FIRST_PERSON),
        ("Always put the units behind the numbers.", Trait.WISH | Trait.STANDING),
        ("One request for all that comes: no tables.", Trait.WISH | Trait.STANDING),
        ("The boss never uses the lift, and she is always late.", Trait.WISH),
        ("I have always loved the sea.", Trait.WISH | Trait.FIRST_PERSON),
        ("As few steps as possible.", Trait.WISH),
        ("I don't want plots, tables are easier for me.", Trait.WISH | Trait.FIRST_PERSON),
        ("Tea is my favourite.", Trait.WISH | Trait.FIRST_PERSON),
        ("I'd rather have few dependencies.", Trait.WISH | Trait.FIRST_PERSON),
        ("So it is:\n```\nselect 1\n```", Trait.CODE | Trait.NUMBER),
        ("- apples\n- pears", Trait.LIST),
        ("No bullet points please.", Trait.WISH | Trait.STANDING),
        ("Could you always use metric units?", Trait.WISH | Trait.STANDING | Trait.ONLY_ASKS | Trait.QUESTION | Trait.SECOND_PERSON),
        ("Please use metric units when you answer.", Trait.WISH | Trait.STANDING | Trait.SECOND_PERSON),
        ("And keep your answers short.", Trait.WISH | Trait.STANDING | Trait.SECOND_PERSON),
        ("There were no bullet points in the letter.", Trait(0)),
        ("Sunday is fine.", Trait.TIME_NAMED),
    ],
)  # fmt: skip
def test_the_traits_of_a_text_are_what_its_words_say(text: str, expected: Trait) -> None:
    assert traits(text) == expected


@given(st.text())
def test_every_text_has_traits_that_fit_into_an_integer_of_the_database(text: str) -> None:
    assert 0 <= int(traits(text)) < 2**31


def test_a_bit_never_changes_its_meaning() -> None:
    """Passages keep theirs: a new trait gets a new bit."""
    assert [(trait.name, int(trait)) for trait in Trait] == [
        ("ONLY_ASKS", 1), ("QUESTION", 2), ("NUMBER", 4), ("FIRST_PERSON", 8), ("SECOND_PERSON", 16), ("TIME_NAMED", 32), ("NAME", 64),
        ("NAMES", 128), ("WISH", 256), ("CODE", 512), ("LIST", 1024), ("STANDING", 2048),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did Clara move?", "when"),
        ("On which day is the exam?", "when"),
        ("How many boats are there?", "number"),
        ("Where does Boris live?", "where"),
        ("Who painted the fence?", "who"),
        ("Which books has Clara read?", "list"),
        ("Can you summarize how the harbour was rebuilt?", "course"),
        ("In which order did I bring up the topics?", "course"),
        ("Which database do I use?", "own"),
        ("What library would you recommend for charts?", "advice"),
        ("How could we store the pictures?", "advice"),
        ("Please write me a statement for the sums.", "advice"),
        ("I'm planning a trip to Ghent, any ideas?", "advice"),
        ("Would Clara enjoy the opera?", "inference"),
    ],
)
def test_a_question_is_of_the_kinds_that_its_words_say(question: str, kind: str) -> None:
    assert kind in kinds_of(question)


def test_a_plain_question_is_of_no_kind() -> None:
    assert kinds_of("What is the dog called?") == []


def test_the_weights_of_a_kind_count_for_its_questions_alone_and_a_share_scales_them_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        ranking, "WEIGHTS", {"nearness": 0.5, "time_named": 0.1, "when:time_named": 0.2, "when:nearness": -0.1}
    )
    plain, when = weights_for("What is the dog called?"), weights_for("When was the dog ill?")
    nearness, named = FEATURES.index("nearness"), TRAITS.index("time_named")
    assert (plain.features[nearness], plain.traits[named]) == (0.5, 0.1)
    assert (when.features[nearness], when.traits[named]) == (0.4, pytest.approx(0.3))
    assert weights_for("When was the dog ill?", share=0.5).traits[named] == pytest.approx(0.15)


def test_every_weight_is_of_a_feature_or_a_trait_and_of_a_kind_that_there_is() -> None:
    names = {*FEATURES, *TRAITS}
    for name in ranking.WEIGHTS:
        kind, _, feature = name.rpartition(":")
        assert feature in names
        assert kind == "" or kind in KINDS
