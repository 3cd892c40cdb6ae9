"""The layouts of published sets: BEIR's, byte for byte and with its graded measure, and BEAM's; and chats without names."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from math import isclose, log2
from pathlib import Path

import pytest

from benchmarks.retrieval_measures import measured
from benchmarks.retrieval_sets import (
    ASKED_BACK,
    DOCUMENT,
    SESSION,
    TURN,
    Case,
    Message,
    Question,
    asking_back,
    beam,
    beir,
    joined,
    shortened,
    without_names,
)

CORPUS = [
    {
        "_id": "4983",
        "title": "Microstructural development of newborn brain",
        "text": "Alterations…",
        "metadata": {},
    },
    {
        "_id": "5836",
        "title": "",
        "text": "Myelodysplastic syndromes are age-dependent.",
        "metadata": {},
    },
    {"_id": "MED-10", "title": "Statins", "text": "", "metadata": {"url": "http://example.org/10"}},
    {"_id": "empty", "title": "", "text": ""},
]
QUERIES = [
    {"_id": "0", "text": "0-dimensional biomaterials show inductive properties.", "metadata": {}},
    {
        "_id": "PLAIN-2",
        "text": "Do statins cause breast cancer?",
        "metadata": {"url": "http://example.org/2"},
    },
    {"_id": "7", "text": "asked in another split", "metadata": {}},
]
QRELS = "query-id\tcorpus-id\tscore\n0\t4983\t1\nPLAIN-2\tMED-10\t2\nPLAIN-2\t5836\t1\nPLAIN-2\t4983\t0\n7\t4983\t0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    for split, text in (
        ("test", QRELS),
        ("train", QRELS.replace("\n0\t4983\t1", "") + "7\t5836\t1\n"),
    ):
        (tmp_path / "qrels" / f"{split}.tsv").write_text(text, encoding="utf-8", newline="")
    return tmp_path


def test_documents_questions_and_grades_are_read(folder: Path) -> None:
    [case] = beir(folder)
    assert [message.unit for message in case.messages] == ["4983", "5836", "MED-10", "empty"]
    assert (
        case.messages[0].content == "Microstructural development of newborn brain\n\nAlterations…"
    )
    assert case.messages[1].content == "Myelodysplastic syndromes are age-dependent."
    assert all(message.content.strip() for message in case.messages)
    first, second = case.questions
    assert (first.id, dict(first.weights)) == ("0", {"4983": 1})
    assert (second.id, dict(second.weights)) == ("PLAIN-2", {"MED-10": 2, "5836": 1})
    assert (first.gold[DOCUMENT], second.gold[DOCUMENT]) == (
        frozenset(["4983"]),
        frozenset(["MED-10", "5836"]),
    )


def test_a_question_without_evidence_in_the_split_is_not_asked(folder: Path) -> None:
    assert [question.id for case in beir(folder) for question in case.questions] == ["0", "PLAIN-2"]
    assert [question.id for case in beir(folder, "train") for question in case.questions] == [
        "PLAIN-2",
        "7",
    ]


def test_grades_count_in_the_gain_and_in_its_ideal(folder: Path) -> None:
    question = next(beir(folder)).questions[1]
    gold, grades = question.gold[DOCUMENT], question.weights
    ideal = 2 / log2(2) + 1 / log2(3)
    for ranking, gain in (
        (["MED-10", "5836"], ideal),
        (["5836", "MED-10"], 1 / log2(2) + 2 / log2(3)),
        (["4983", "MED-10"], 2 / log2(3)),
        (["5836"], 1.0),
        (["4983"], 0.0),
    ):
        values = measured(gold, [[unit] for unit in ranking], weights=grades)
        assert isclose(values["ndcg@10"], gain / ideal, abs_tol=1e-12)


def test_the_ideal_has_ten_places_and_all_of_the_gold() -> None:
    grades = {str(number): 1 + number % 3 for number in range(15)}
    best = sorted(grades, key=lambda unit: -grades[unit])
    assert isclose(
        measured(frozenset(grades), [[unit] for unit in best], weights=grades)["ndcg@10"], 1.0
    )
    assert (
        measured(frozenset(grades), [[unit] for unit in best[:5]], weights=grades)["ndcg@10"] < 1.0
    )


def test_a_beam_chat_is_read_with_its_sessions_times_and_nested_evidence(tmp_path: Path) -> None:
    folder = tmp_path / "100K" / "7"
    (folder / "probing_questions").mkdir(parents=True)
    chat = [
        {"batch_number": 1, "turns": [[
            {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "I use Flask."},
            {"role": "assistant", "id": 1, "content": "Noted."},
        ]]},
        {"batch_number": 2, "turns": [[
            {"role": "user", "id": 2, "time_anchor": "April-02-2024", "content": "I moved to Django."},
            {"role": "assistant", "id": 3, "content": " "},
        ]]},
    ]  # fmt: skip
    asked = {
        "knowledge_update": [
            {
                "question": "Which framework?",
                "source_chat_ids": {"original_info": [0], "updated_info": [2]},
            }
        ],
        "event_ordering": [{"question": "In which order?", "source_chat_ids": [[0, 2], 99]}],
        "abstention": [{"question": "Which database?"}],
    }
    (folder / "chat.json").write_text(json.dumps(chat))
    (folder / "probing_questions" / "probing_questions.json").write_text(json.dumps(asked))
    [case] = beam(tmp_path / "100K")
    assert [(m.unit, m.session, m.role) for m in case.messages] == [
        ("0", "1", "user"),
        ("1", "1", "assistant"),
        ("2", "2", "user"),
    ]
    assert [m.at.isoformat()[:16] for m in case.messages if m.at] == [
        "2024-03-15T00:00",
        "2024-03-15T00:01",
        "2024-04-02T00:00",
    ]
    update, order, unknown = case.questions
    assert (update.kind, update.gold[TURN], update.gold[SESSION]) == (
        "knowledge update",
        {"0", "2"},
        {"1", "2"},
    )
    assert order.gold[TURN] == {"0", "2"}, "an id that no message has is no evidence"
    assert unknown.gold[TURN] == frozenset()


def test_names_go_out_of_messages_and_questions_alike() -> None:
    case = Case(
        name="a",
        messages=[Message(unit="1", content="Hi Ann, Bob's boat is green.", name="Bob"), Message(unit="2", content="Annual?", name="Ann")],
        questions=[Question(id="q", text="Which boat has Bob?", kind="fact", gold={TURN: frozenset("1")})],
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    bare = without_names(case)
    assert [(m.content, m.name, m.role) for m in bare.messages] == [
        ("Hi, boat is green.", None, "assistant"),
        ("Annual?", None, "user"),
    ]
    assert bare.questions[0].text == "Which boat has?"


def test_joined_chats_are_one_of_the_first_two_people_in_the_order_of_time() -> None:
    def chat(who: str, other: str, day: int) -> Case:
        return Case(
            name=who,
            messages=[
                Message(unit=f"{who}1", content=f"Hi {other}, {who}ette is here.", name=who, at=datetime(2026, 1, day, tzinfo=UTC)),
                Message(unit=f"{who}2", content="Good.", name=other, at=datetime(2026, 1, day + 9, tzinfo=UTC)),
            ],
            questions=[Question(id=who, text=f"Where is {who}'s boat?", kind="fact", gold={TURN: frozenset([f"{who}1"])})],
            now=datetime(2026, 2, day, tzinfo=UTC),
        )  # fmt: skip

    long = joined([chat("Ann", "Bob", 1), chat("Cleo", "Dan", 2)], name="long")
    assert [(m.unit, m.name, m.content) for m in long.messages] == [
        ("Ann1", "Ann", "Hi Bob, Annette is here."),
        ("Cleo1", "Ann", "Hi Bob, Cleoette is here."),
        ("Ann2", "Bob", "Good."),
        ("Cleo2", "Bob", "Good."),
    ]
    assert [question.text for question in long.questions] == [
        "Where is Ann's boat?",
        "Where is Ann's boat?",
    ]
    assert long.now == datetime(2026, 2, 2, tzinfo=UTC)


def test_half_of_what_asks_nothing_asks_back_and_the_same_in_every_run() -> None:
    messages = [
        Message(unit=str(n), content=f"I saw {n} gulls{'?' if n % 5 == 0 else '.'}")
        for n in range(200)
    ]
    case = Case(name="a", messages=messages, questions=[], now=datetime(2026, 1, 1, tzinfo=UTC))
    asking = asking_back(case)
    assert asking == asking_back(case)
    changed = [
        (one.content, two.content)
        for one, two in zip(messages, asking.messages, strict=True)
        if one != two
    ]
    assert 60 < len(changed) < 100
    for before, after in changed:
        assert "?" not in before
        assert after.removeprefix(f"{before} ") in ASKED_BACK


def test_a_shortened_case_keeps_its_evidence_and_so_many_other_sessions() -> None:
    case = Case(
        name="a",
        messages=[Message(unit=f"{n}", content="So.", session=str(n // 2)) for n in range(40)],
        questions=[
            Question(id="q", text="When?", kind="fact", gold={SESSION: frozenset(["3", "11"])})
        ],
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )
    short = shortened(case, others=4)
    kept = {message.session for message in short.messages}
    assert {"3", "11"} < kept
    assert len(kept) == 6
    assert len(short.messages) == 12
    assert short == shortened(case, others=4)
