"""How retrieval is measured: by hand-counted examples, and by readers of the published layouts."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.retrieval_measures import CUTS, interval, measured, merged
from benchmarks.retrieval_sets import beir, locomo, longmemeval, paraphrases


def test_measures_of_a_ranking_counted_by_hand() -> None:
    values = measured(frozenset("abc"), [["x"], ["a"], ["y"], ["b", "a"], *([["z"]] * 20), ["c"]])
    assert values["any@1"] == 0
    assert (values["any@5"], values["all@5"], values["fraction@5"]) == (1, 0, pytest.approx(2 / 3))
    assert (values["fraction@20"], values["all@50"]) == (pytest.approx(2 / 3), 1)
    assert values["mrr"] == 0.5
    ideal = 1 + 1 / log2(3) + 1 / log2(4)
    assert values["ndcg@10"] == pytest.approx((1 / log2(3) + 1 / log2(5)) / ideal)


def test_the_ideal_is_over_all_gold_however_short_the_ranking() -> None:
    assert measured(frozenset("ab"), [["a"]])["ndcg@10"] < 0.7
    assert measured(frozenset("a"), [])["mrr"] == 0


def test_graded_gold_counts_by_its_grade() -> None:
    best = measured(frozenset("ab"), [["a"], ["b"]], weights={"a": 2, "b": 1})
    worse = measured(frozenset("ab"), [["b"], ["a"]], weights={"a": 2, "b": 1})
    assert best["ndcg@10"] == pytest.approx(1)
    assert worse["ndcg@10"] < 0.9


@given(
    st.sets(st.sampled_from("abcdef"), min_size=1),
    st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=2), max_size=60),
)
def test_more_hits_never_find_less(gold: set[str], ranking: list[list[str]]) -> None:
    values = measured(frozenset(gold), ranking)
    for name in ("any", "all", "fraction"):
        shares = [values[f"{name}@{cut}"] for cut in CUTS]
        assert shares == sorted(shares)
    assert all(0 <= value <= 1 + 1e-9 for value in values.values())


def test_sessions_rank_by_their_best_hit() -> None:
    assert merged([["a1"], ["b1"], ["a2", "c1"]], {"a1": "a", "a2": "a", "b1": "b", "c1": "c"}) == [
        ["a"],
        ["b"],
        ["c"],
    ]


def test_an_interval_holds_its_mean_and_is_the_same_each_time() -> None:
    mean, low, high = interval([0.0, 1.0] * 50)
    assert low < mean == 0.5 < high
    assert interval([0.0, 1.0] * 50) == (mean, low, high)


def test_conversations_are_read_with_their_odd_evidence(tmp_path: Path) -> None:
    turns = [{"speaker": "Ann", "dia_id": f"D1:{n}", "text": f"text {n}"} for n in (1, 2)]
    turns[1]["blip_caption"] = "a kite"
    sample = {
        "sample_id": "s",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": turns,
        },
        "qa": [
            {"question": "one?", "category": 4, "evidence": ["D1:02; D:1:1"]},
            {"question": "nothing?", "category": 5, "evidence": ["D1:1"]},
            {"question": "dangling?", "category": 1, "evidence": ["D9:9"]},
        ],
    }
    path = tmp_path / "set.json"
    path.write_text(json.dumps([sample]))
    [case] = locomo(path)
    assert [message.content for message in case.messages] == [
        "text 1",
        "text 2 [shares a photo: a kite]",
    ]
    [question] = case.questions
    assert question.gold == {"turn": {"D1:1", "D1:2"}, "session": {"1"}}


def test_haystacks_are_read_with_their_evidence(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "I bought a kite.", "has_answer": True},
        {"role": "assistant", "content": "Nice."},
    ]
    row = {
        "question_id": "q_abs", "question_type": "multi-session", "question": "what?", "question_date": "2023/05/30 (Tue) 23:40",
        "answer_session_ids": ["s1"], "haystack_session_ids": ["s1"], "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [turns],
    }  # fmt: skip
    path = tmp_path / "set.json"
    path.write_text(json.dumps([row]))
    [case] = longmemeval(path)
    assert case.now.isoformat() == "2023-05-30T23:40:00+00:00"
    assert case.questions[0].kind == "abstention"
    assert case.questions[0].gold == {"session": {"s1"}, "turn": {"s1:0"}}


def test_a_folder_of_documents_is_read(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "Kites", "text": "They fly."}\n')
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "what flies?"}\n{"_id": "q2", "text": "unjudged"}\n'
    )
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    [case] = beir(tmp_path)
    assert case.messages[0].content == "Kites\n\nThey fly."
    assert [(asked.id, asked.weights) for asked in case.questions] == [("q1", {"d1": 2})]


def test_our_paraphrases_are_many_and_share_almost_no_words() -> None:
    [case] = paraphrases()
    assert len(case.questions) >= 200
    assert len({message.content for message in case.messages}) == len(case.messages)
    small = {
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "she",
        "so",
        "that",
        "the",
        "their",
        "them",
        "they",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "any",
        "more",
        "can",
        "may",
        "must",
        "one",
        "us",
    }
    shared = sum(
        bool((words(asked.text) & words(message.content)) - small)
        for asked, message in zip(case.questions, case.messages, strict=True)
    )
    assert shared <= len(case.questions) // 100


def words(text: str) -> set[str]:
    return {word.strip(".,?!'").lower() for word in text.replace("'s", "").split()}
