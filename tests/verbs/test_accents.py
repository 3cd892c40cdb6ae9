"""Words are found with and without their accents, in what is new, in what was stored before accents were folded, and in documents."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from htm_core import Collection, CollectionItem, Memory, NotFound
from htm_core.db.database import Database
from htm_core.db.owner_claims import EVERYBODY
from htm_core.jobs.reindex import reindex
from tests.conftest import SETTINGS, Make

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("accents.jsonl").read_text("utf-8").splitlines()
]
OTHER_LETTERS = str.maketrans({"ß": "ss", "ł": "l", "ø": "o", "Ł": "L", "Ø": "O"})

# How a passage was indexed before accents were folded.
BEFORE = """
update passages p set lexemes = with_prefix(w, l.prefix), weights = bm25_weights(w, lexeme_count(w), l.k1, l.b, l.average_length)
from lexicon l, nodes n, lateral (select to_tsvector(l.config, lower(n.content)) w) c
where p.tenant = this_tenant() and l.tenant = p.tenant and n.tenant = p.tenant and n.id = p.node_id
"""
DOCUMENTS_BEFORE = """
update document_passages p set lexemes = with_prefix(w, c.id || ':'), weights = bm25_weights(w, lexeme_count(w), 0.9, 0.4, 12)
from collections c, documents d, lateral (select to_tsvector(c.config, lower(d.content)) w) x
where p.tenant = this_tenant() and c.tenant = p.tenant and c.id = p.collection and d.tenant = p.tenant and d.uid = p.document
"""


def without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.translate(OTHER_LETTERS))
    return "".join(character for character in parts if not unicodedata.combining(character))


def found(memory: Memory, query: str) -> list[str]:
    return [hit.content for hit in memory.recall(query, mode="text", hold=False)]


@pytest.mark.parametrize("language", ["english", "german", "french", "spanish"])
@pytest.mark.parametrize("facts_typed", ["with", "without"])
@pytest.mark.parametrize("questions_typed", ["with", "without"])
def test_it_does_not_matter_who_typed_the_accents(
    make: Make, language: str, facts_typed: str, questions_typed: str
) -> None:
    rows = [row for row in ROWS if row["language"] == language]
    facts = [row["fact"] if facts_typed == "with" else without_accents(row["fact"]) for row in rows]
    asked = [
        row["question"] if questions_typed == "with" else without_accents(row["question"])
        for row in rows
    ]
    with make(settings=SETTINGS.model_copy(update={"language": language})) as memory:
        memory.remember_many([{"content": fact} for fact in facts])
        first = [
            found(memory, question)[:1] == [fact]
            for question, fact in zip(asked, facts, strict=True)
        ]
    assert len(rows) == 12
    assert sum(first) >= 11


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Ingrid Lindqvist-Öberg signs.", "lindqvist-oberg"),
        ("Ingrid Lindqvist-Oberg signs.", "Öberg"),
        ("We met at the CAFÉ.", "cafe"),
        ("The office is in Main Straße.", "strasse"),
        ("Ask Søren and Łukasz.", "soren lukasz"),
        ("Æsop told it.", "aesop"),
        ("Смотри на ёлку", "елку"),
        ("Καλημέρα Ελλάδα", "ελλαδα"),
    ],
)
def test_letters_with_and_without_marks_are_one_word(memory: Memory, said: str, asked: str) -> None:
    memory.remember(said)
    memory.remember("Nothing of this is here.")
    assert found(memory, asked) == [said]


def test_marks_that_make_another_letter_stay(memory: Memory) -> None:
    memory.remember_many([{"content": "мой дом"}, {"content": "мои окна"}, {"content": "ガス"}])
    assert found(memory, "мой") == ["мой дом"]
    assert found(memory, "カス") == []


def test_what_is_noise_with_its_accents_is_not_indexed_and_what_is_noise_without_them_is(
    make: Make,
) -> None:
    with make(settings=SETTINGS.model_copy(update={"language": "spanish"})) as memory:
        memory.remember("Bebe té con limón.")
        memory.remember("Él no está aquí también.")
        assert found(memory, "té") == ["Bebe té con limón."]
        assert found(memory, "¿Está él en Lugo?") == []


def test_a_memory_of_an_older_version_is_found_as_before_and_after_reindexing_without_its_accents(
    memory: Memory, database: Database
) -> None:
    with_accents = "Ingrid Lindqvist-Öberg likes the café."
    memory.remember_many(
        [{"content": with_accents}, {"content": "Bob likes the bar."}, {"content": "東京都に住む"}]
    )
    before = memory.recall("Lindqvist-Öberg", mode="text", hold=False)[0].score
    with database.transaction(memory.tenant, claim=EVERYBODY) as connection:
        connection.execute(BEFORE)
    assert found(memory, "oberg") == []
    old = memory.recall("Lindqvist-Öberg", mode="text", hold=False)
    assert [hit.content for hit in old] == [with_accents]
    assert old[0].score == pytest.approx(before, abs=0.02)
    seen: list[int] = []
    done = reindex(database, tenant=memory.tenant, progress=seen.append)
    assert (done.passages, done.renewed, seen) == (3, 1, [3])
    assert found(memory, "cafe oberg") == [with_accents]
    assert memory.recall("Lindqvist-Öberg", mode="text", hold=False)[0].score == pytest.approx(
        before, abs=0.02
    )
    assert reindex(database, tenant=memory.tenant).renewed == 0


def test_an_old_and_a_new_passage_weigh_alike_until_the_old_one_is_renewed(
    memory: Memory, database: Database
) -> None:
    memory.remember("Öberg signs the lease.")
    with database.transaction(memory.tenant, claim=EVERYBODY) as connection:
        connection.execute(BEFORE)
    memory.remember("Öberg signs the deed.")
    memory.remember("Nobody signs.")
    hits = memory.recall("Öberg", mode="text", hold=False)
    assert {hit.content for hit in hits} == {"Öberg signs the lease.", "Öberg signs the deed."}
    assert hits[0].score == pytest.approx(hits[1].score)


def test_a_tenant_that_nobody_knows_is_not_reindexed(database: Database) -> None:
    with pytest.raises(NotFound, match="nobody-here"):
        reindex(database, tenant="nobody-here")


def test_documents_are_found_without_their_accents_also_those_of_an_older_version(
    memory: Memory, database: Database
) -> None:
    collection: Collection = memory.collection("papers")
    collection.put(
        [
            CollectionItem(id=str(n), content=text)
            for n, text in enumerate(["Crème brûlée", "Apple pie"])
        ]
    )

    def ids(query: str) -> list[str | None]:
        return [hit.item.id for hit in collection.query(query, mode="text")]

    assert ids("creme") == ids("crème BRÛLÉE") == ["0"]
    with database.transaction(memory.tenant, claim=EVERYBODY) as connection:
        connection.execute(DOCUMENTS_BEFORE)
    assert (ids("creme"), ids("crème")) == ([], ["0"])
    assert reindex(database, tenant=memory.tenant).renewed == 1
    assert ids("creme brulee") == ids("crème") == ["0"]


FORMS = [
    ("مُحَمَّد", "محمد"), ("أحمد", "احمد"), ("إبراهيم", "ابراهيم"), ("آمال", "امال"), ("المستشفى", "المستشفي"), ("المدرسة", "المدرسه"),
    ("محـــمد", "محمد"), ("کتاب", "كتاب"), ("٤٧", "47"), ("۴۷", "47"), ("שָׁלוֹם", "שלום"), ("הַמַּפְתֵּחַ", "המפתח"), ("बाज़ार", "बाजार"), ("४७", "47"),
    ("カタカナ", "かたかな"), ("ﾊﾝｶｸ", "ハンカク"), ("ガレージ", "がれーじ"), ("학점인정", "학점인정"), ("IŞIK", "işik"), ("İstanbul", "ISTANBUL"),
    ("Mül\u00adler", "Müller"), ("pass\u200bword", "password"), ("καφέ", "ΚΑΦΕ"), ("ёжик", "ежик"),
]  # fmt: skip


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_the_forms_of_a_word_in_any_script_find_each_other(make: Make, form: str) -> None:
    """By words alone, whichever of the two was said and which is asked for."""
    missed = list[tuple[str, str]]()
    settings = SETTINGS.model_copy(update={"spelling": False})
    for number, pair in enumerate(FORMS):
        for said, asked in (pair, pair[::-1]):
            with make(tenant=f"{form} {number} {said}", settings=settings) as memory:
                memory.remember(f"{unicodedata.normalize(form, said)} stands here.")
                if len(found(memory, asked)) != 1:
                    missed.append((said, asked))
    assert missed == []
