"""A quoted phrase lifts what has it, word for word, and filters nothing."""

from __future__ import annotations

import pytest

from htm_core import Memory
from tests.conftest import SETTINGS, Make

FACTS = [
    "The harbour wall was painted blue; a nice phrase for a poem, said Ann.",
    "We met at the blue harbour.",
    "Blue is the colour that Ann likes, and the harbour is near.",
    "Bob keeps bees.",
]


def found(memory: Memory, query: str, **options: object) -> list[str]:
    return [hit.content for hit in memory.recall(query, hold=False, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "question",
    [
        'What was the phrase "blue harbour" about, Ann?',
        "What was the phrase “Blue Harbour” about, Ann?",
        "What was the phrase 'blue harbour' about, Ann?",
    ],
)
@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_a_hit_with_the_phrase_comes_first_and_the_others_stay(
    memory: Memory, question: str, mode: str
) -> None:
    memory.remember_many([{"content": fact} for fact in FACTS])
    memory.flush()
    plain = question.translate(str.maketrans("", "", "\"'“”"))
    assert found(memory, plain, mode="text")[0] != FACTS[1]
    quoted = found(memory, question, mode=mode)
    assert quoted[0] == FACTS[1]
    assert set(quoted) >= set(FACTS[:3])


def test_a_phrase_is_found_over_line_breaks_without_accents_and_not_inside_other_words(
    memory: Memory,
) -> None:
    said = "We met at the Café\n   du Nord."
    memory.remember_many(
        [{"content": said}, {"content": "The cafe in the north (du nord) was closed by du."}]
    )
    assert found(memory, 'Was it "cafe du nord"?', mode="text")[0] == said
    art = "Art is long."
    memory.remember_many([{"content": "The smart issue is art, is it?"}, {"content": art}])
    assert found(memory, 'who wrote "art is" in an issue', mode="text")[0] == art


def test_a_phrase_that_nobody_has_said_changes_nothing(memory: Memory) -> None:
    memory.remember_many([{"content": fact} for fact in FACTS])
    plain = memory.recall("harbour blue and bees", mode="text", hold=False)
    quoted = memory.recall('"harbour blue and bees"', mode="text", hold=False)
    assert [(hit.content, hit.score) for hit in quoted] == [
        (hit.content, hit.score) for hit in plain
    ]


def test_a_phrase_is_found_among_many_texts_that_have_its_words(make: Make) -> None:
    with make(settings=SETTINGS) as memory:
        memory.remember_many(
            [
                {
                    "content": f"The harbour {n} is blue. Blue harbour, harbour blue {n}?"[
                        : 22 + n % 3
                    ]
                }
                for n in range(300)
            ]
        )
        memory.remember(
            "In the year of the long rain and of the great fire they said of the blue harbour that it was not."
        )
        hits = memory.recall('"the blue harbour"', mode="text", limit=3, hold=False, explain=True)
    assert "great fire" in hits[0].content
    assert sum(hits[0].signals.values()) == pytest.approx(hits[0].score)
    assert 0 <= hits[0].score <= 1


def test_signs_in_a_phrase_are_signs(memory: Memory) -> None:
    memory.remember_many([{"content": "Set x.y (z*) = 3 [ok]."}, {"content": "Set xay z = 3 ok."}])
    assert (
        found(memory, 'what about "x.y (z*) = 3 [ok]"', mode="text")[0] == "Set x.y (z*) = 3 [ok]."
    )
    assert found(memory, r'and "a\d+(" or "(?=" "[[:" ' + "'* +'", mode="text") == []


def test_a_phrase_respects_filters_and_owners(memory: Memory, make: Make) -> None:
    with make(user="eve", tenant=memory.tenant) as eve:
        eve.remember("We met at the blue harbour, said Eve.")
    memory.remember(FACTS[1], tags=["place"])
    memory.remember(FACTS[0], tags=["poem"])
    assert found(memory, '"blue harbour"', tags=["poem"], mode="text") == [FACTS[0]]
    assert set(found(memory, '"blue harbour"', mode="text")) == set(FACTS[:2])


def test_a_phrase_in_a_script_without_spaces_is_one(memory: Memory) -> None:
    memory.remember_many([{"content": "都東京と京都に行く。"}, {"content": "東京都に住む。"}])
    assert found(memory, "「東京都」に行く", mode="text")[0] == "東京都に住む。"
