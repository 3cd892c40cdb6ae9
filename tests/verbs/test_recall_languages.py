"""Words are found in the tenant's language: by its stemmer, by pairs of characters, or by the beginnings of words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from htm_core.models.minilm.model import MiniLM
from tests.conftest import SETTINGS, Make

INFLECTIONS = Path(__file__).with_name("inflections.jsonl")


@pytest.mark.parametrize(
    ("language", "said", "question", "found"),
    [
        (
            "german",
            ["Die Heizungen wurden gewartet.", "Das Boot liegt im Hafen."],
            "Wer wartet die Heizung?",
            0,
        ),
        (
            "french",
            ["Les chaudières ont été réparées.", "Le bateau est au port."],
            "réparer la chaudière",
            0,
        ),
        ("simple", ["東京都に住んでいます。", "猫が好きです。"], "東京のどこに住んで", 0),
        ("simple", ["彼女は毎朝海で泳ぐ。", "私は猫を飼っている。"], "猫を飼う", 1),
        ("simple", ["她每天早上在海里游泳。", "我家里有一只猫。"], "猫", 1),
        ("simple", ["우리 집에 고양이가 있다.", "바다에서 헤엄친다."], "집", 0),
        ("english", ["她每天早上在海里游泳。", "我家里有一只猫。"], "海", 0),
    ],
)
def test_words_are_found_in_the_tenants_language(
    make: Make, language: str, said: list[str], question: str, found: int
) -> None:
    with make(settings=SETTINGS.model_copy(update={"language": language})) as memory:
        memory.remember_many([{"content": text} for text in said])
        assert [hit.content for hit in memory.recall(question, mode="text", hold=False)][:1] == [
            said[found]
        ]


@pytest.mark.parametrize("language", ["polish", "czech", "finnish"])
def test_inflected_words_are_found_without_a_stemmer(make: Make, language: str) -> None:
    rows = [
        row
        for row in map(json.loads, INFLECTIONS.read_text("utf-8").splitlines())
        if row["language"] == language
    ]
    with make(settings=SETTINGS.model_copy(update={"language": "simple"})) as memory:
        memory.remember_many([{"content": row["fact"]} for row in rows])
        first = sum(
            memory.recall(row["question"], mode="text", hold=False)[0].content == row["fact"]
            for row in rows
        )
    assert len(rows) == 12
    assert first >= 11


def test_numbers_and_short_words_are_whole_words_without_a_stemmer(make: Make) -> None:
    with make(settings=SETTINGS.model_copy(update={"language": "simple"})) as memory:
        memory.remember("Kod do bramy: 471100.")
        memory.remember("Dom stoi.")
        assert not memory.recall("471199", mode="text", hold=False)
        assert not memory.recall("domy", mode="text", hold=False)


class Unlettered:
    """An embedder to which all texts are alike, as texts of a language are that a model has not learned."""

    model = "unlettered"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [
            [0.0, 0.0, 1.0] if text == "OK." else [1.0, 0.1 * (len(text) % 7), 1.5]
            for text in texts
        ]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0, 0.0]

    def readable(self, text: str) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("remark", "fact", "question"),
    [
        (
            "Heute war das Wetter in Ort {} recht mild.",
            "Der Schlüssel liegt unter der Regentonne.",
            "Wo liegt denn mein Schlüssel?",
        ),
        (
            "كان الطقس اليوم في البلدة {} معتدلاً.",
            "مفتاح المخزن تحت أصيص الريحان.",
            "أين مفتاح المخزن الآن",
        ),
    ],
)
def test_conversations_about_other_things_do_not_bury_what_has_the_words(
    make: Make, remark: str, fact: str, question: str
) -> None:
    with make(embedder=Unlettered(), embed="now") as memory:
        memory.remember(fact, role="user", session="fact")
        memory.remember("OK.", role="assistant", session="fact")
        for number in range(20):
            memory.remember(remark.format(number), role="user", session=f"remarks {number // 5}")
        assert memory.recall(question, hold=False)[0].content == fact


@pytest.mark.parametrize("reader", [False, True])
@pytest.mark.parametrize(
    ("facts", "question"),
    [
        (["备用钥匙在花盆下面", "猫每天早上吃鱼", "会议改到周四下午", "屋顶上个月漏水了", "女儿喜欢弹钢琴", "车停在河边的停车场"], "备用钥匙"),
        (["Запасной ключ под горшком", "Кошка ест рыбу", "Встреча в четверг", "Крыша протекла", "Дочь играет на рояле"], "Запасной ключ"),
    ],
)  # fmt: skip
def test_exact_words_outrank_vectors_of_a_script_that_the_model_cannot_read(
    make: Make, real_embedder: MiniLM, facts: list[str], question: str, reader: bool
) -> None:
    with make(embedder=real_embedder, embed="now") as memory:
        for fact in facts:
            memory.remember(fact, session="s", role="user")
        assert memory.recall(question, reader=reader)[0].content == facts[0]


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("Where is my bike?", 0.99, 1.0), ("naïve café", 0.99, 1.0), ("8080?", 1.0, 1.0), ("Wie heißt meine Schwester?", 0.5, 1.0),
        ("备用钥匙", 0.0, 0.0), ("Где лежит мой паспорт?", 0.0, 0.2), ("मेरी चाबी कहाँ है?", 0.0, 0.2), ("worker 队列", 0.5, 0.9),
    ],
)  # fmt: skip
def test_a_model_reads_a_script_whose_words_its_vocabulary_has(
    real_embedder: MiniLM, text: str, least: float, most: float
) -> None:
    assert least <= real_embedder.readable(text) <= most
