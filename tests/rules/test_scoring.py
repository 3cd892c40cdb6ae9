"""The score of what a search has found: its range, what it is made of, and what it does not depend on."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.settings import Signals
from htm_core.base.types import Window
from htm_core.recall.scoring import (
    ADDED_IN_FULL_TO,
    WEIGHTS,
    Candidates,
    ScoringQuery,
    best_candidates,
    context_share,
    corroborated,
    nearness,
    weeks_outside,
)

MAY = Window(start=datetime(2026, 5, 1, tzinfo=UTC), stop=datetime(2026, 6, 1, tzinfo=UTC))
SILENT = Signals(**dict.fromkeys(Signals.model_fields, 0.0))


@st.composite
def candidates(draw: st.DrawFn) -> Candidates:
    """Some nodes, said in some conversations, with any weights and with or without vectors."""
    count = draw(st.integers(1, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    said = draw(st.integers(count, 2 * count))
    weights = random.random((count, 5)) * (random.random((count, 5)) < 0.4)
    weights[:, 0] = 0
    conversations = random.integers(0, 3, said)
    seqs = np.array(
        [1 + np.count_nonzero(conversations[:at] == conversations[at]) for at in range(said)],
        dtype=np.int64,
    )
    cosines = np.where(random.random(count) < 0.8, random.random(count), math.nan)
    return Candidates(
        vector_weight=0.4,
        query_words=4,
        nodes=[UUID(int=n) for n in range(count)],
        passages=[UUID(int=100 + n) for n in range(count)],
        vector_ranks=np.where(random.random(count) < 0.5, np.arange(1.0, count + 1), math.nan),
        text_ranks=np.where(random.random(count) < 0.5, np.arange(1.0, count + 1), math.nan),
        cosines=cosines,
        vector_scores=np.nan_to_num(np.minimum(1, cosines / 0.8)),
        text_scores=np.minimum(1.0, weights.sum(axis=1)),
        node_lengths=random.integers(1, 300, count).astype(float),
        term_weights=weights,
        node_of=np.concatenate([np.arange(count), random.integers(0, count, said - count)]),
        conversations=conversations,
        has_session=conversations > 0,
        seqs=seqs,
        roles=np.array(
            [draw(st.sampled_from(["user", "assistant", None])) for _ in range(said)],
            dtype=np.object_,
        ),
        names=[draw(st.sampled_from(["Ann", "Ann Lee", "Bo", None])) for _ in range(said)],
        times=1.77e9 + 1e6 * random.random(said),
        in_conversation=random.random(said) < 0.8,
    )


def asked(*, ranked: bool = True, **options: object) -> ScoringQuery:
    given: dict[str, object] = {
        "by_meaning": True, "by_words": True, "signals": Signals(), "speaker": "Ann", "moments": [MAY],
        "ranker": float(ranked),
    }  # fmt: skip
    return ScoringQuery(**(given | options))  # type: ignore[arg-type]


@given(candidates())
def test_a_score_is_from_0_to_1_and_its_parts_add_up_to_it(found: Candidates) -> None:
    for each in best_candidates(found, asked(), limit=50):
        assert 0 <= each.score <= 1
        assert each.score == pytest.approx(sum(each.parts.values()))
        assert all(
            part >= 0 for name, part in each.parts.items() if name not in ("ranker", "words")
        )
        assert each.parts["words"] >= 0 or not each.matched


@given(candidates(), st.floats(1, 2))
def test_the_best_hits_keep_their_order_however_much_is_added_to_them(
    found: Candidates, times: float
) -> None:
    """With weights so many times as large, more would come to 1 and more. No score reaches it, and none meets another one there."""
    best = best_candidates(found, asked(ranker=times), limit=50)
    high = [
        each.score for each in best if each.features is not None and each.score > ADDED_IN_FULL_TO
    ]
    assert all(one > other for one, other in pairwise(high))
    assert all(score < 1 for score in high)


@given(candidates())
def test_where_nothing_is_added_a_score_is_what_its_parts_come_to(found: Candidates) -> None:
    full = replace(
        found,
        term_weights=np.ones_like(found.term_weights),
        vector_scores=np.ones(len(found.nodes)),
    )
    query = asked(ranked=False, signals=SILENT, speaker=None, moments=())
    assert [each.score for each in best_candidates(full, query, limit=50)] == [1.0] * len(
        found.nodes
    )


@given(candidates(), st.integers(1, 5))
def test_the_best_come_first_each_once_and_no_more_than_asked_for(
    found: Candidates, limit: int
) -> None:
    best = best_candidates(found, asked(), limit=limit)
    assert len(best) <= limit
    assert len({each.place for each in best}) == len(best)
    assert all(one.score >= other.score for one, other in pairwise(best))
    everything = best_candidates(found, asked(), limit=50)
    assert [each.place for each in best] == [each.place for each in everything][:limit]


@given(candidates())
def test_nothing_below_the_minimum_is_a_hit(found: Candidates) -> None:
    kept = best_candidates(found, asked(min_score=0.3), limit=50)
    everything = best_candidates(found, asked(), limit=50)
    assert [each.place for each in kept] == [each.place for each in everything if each.score >= 0.3]


@given(candidates())
def test_what_only_stands_beside_what_passes_the_filters_is_no_hit(found: Candidates) -> None:
    passes = np.arange(len(found.nodes)) % 2 == 0
    kept = best_candidates(replace(found, passes=passes), asked(), limit=50)
    assert all(passes[each.place] for each in kept)


@given(candidates())
def test_without_signals_a_score_depends_on_the_passage_alone(found: Candidates) -> None:
    query = asked(ranked=False, signals=SILENT, speaker=None, moments=())
    for each in best_candidates(found, query, limit=50):
        own = 0.6 * found.term_weights[each.place].sum()
        expected = 0.4 * found.vector_scores[each.place] + min(0.6, own)
        assert each.score == pytest.approx(min(1.0, expected))


@given(candidates())
def test_a_conversation_far_away_changes_no_score_without_the_ranker(found: Candidates) -> None:
    """Scores compare between queries and memories: what else was found does not count."""
    query = asked(ranked=False)
    before = {each.place: each.score for each in best_candidates(found, query, limit=50)}
    first = np.concatenate([found.node_of, found.node_of[:1]])
    extended = replace(
        found,
        node_of=np.concatenate([found.node_of, [len(found.nodes)]]),
        nodes=[*found.nodes, UUID(int=999)],
        passages=[*found.passages, UUID(int=999)],
        **{
            name: np.append(getattr(found, name), getattr(found, name)[0])
            for name in (
                "vector_ranks",
                "text_ranks",
                "cosines",
                "vector_scores",
                "text_scores",
                "node_lengths",
            )
        },
        term_weights=np.vstack([found.term_weights, found.term_weights[:1]]),
        conversations=np.append(found.conversations, 77),
        has_session=np.append(found.has_session, True),
        seqs=np.append(found.seqs, 1),
        roles=np.append(found.roles, None),
        names=[*found.names, None],
        times=np.append(found.times, 1.8e9),
        in_conversation=np.append(found.in_conversation, True),
    )
    assert len(first) == len(extended.node_of)
    after = {each.place: each.score for each in best_candidates(extended, query, limit=50)}
    assert {place: after[place] for place in before} == pytest.approx(before)


@given(candidates())
def test_the_ranker_weighs_what_was_said_in_conversations_and_by_what_stands_beside_it(
    found: Candidates,
) -> None:
    """Each node said once, one after the other: "near_before" is the nearness of the message before."""
    count = len(found.nodes)
    spoken = bool(found.in_conversation[0])
    found = replace(
        found, node_of=np.arange(count), conversations=np.zeros(count, dtype=np.int64), seqs=np.arange(1, count + 1),
        in_conversation=np.full(count, spoken),
        **{name: getattr(found, name)[:count] for name in ("has_session", "roles", "names", "times")},
    )  # fmt: skip
    for each in best_candidates(found, asked(), limit=50):
        assert (each.features is not None) == spoken
        if each.features is None:
            assert each.parts["ranker"] == 0
            continue
        weighed = dict(zip(WEIGHTS, each.features, strict=True))
        before = each.place - 1
        assert weighed["near_before"] == pytest.approx(
            0.8 * float(found.vector_scores[before]) if each.place else 0.0
        )
        assert weighed["covered_before"] == pytest.approx(
            float(found.text_scores[before]) if each.place else 0.0
        )
        assert weighed["by_assistant"] == (found.roles[each.place] == "assistant")


def test_a_lone_word_counts_less_than_the_same_weight_of_two() -> None:
    one, two = corroborated(np.array([[0.3, 0.0], [0.15, 0.15]]), 1.0)
    assert one < 0.01 < two
    assert corroborated(np.array([[0.3, 0.0]]), 0.0) == pytest.approx([0.3])
    assert corroborated(np.array([[0.7, 0.6]]), 1.0) == pytest.approx([1.0])


def test_short_texts_take_all_of_what_stands_around_them_and_long_ones_little() -> None:
    short, middle, long = context_share(np.array([5.0, 50.0, 158.0]))
    assert (round(short, 2), middle) == (1.0, 0.5)
    assert long < 0.01  # from here on recall does not even read what stands around


def test_a_cosine_counts_in_full_from_eight_tenths_on() -> None:
    assert [nearness(cosine) for cosine in (-0.5, 0.0, 0.4, 0.8, 1.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]


def test_weeks_outside_of_windows_are_those_to_the_nearest() -> None:
    moments = [
        datetime(2026, 4, 17, tzinfo=UTC),
        datetime(2026, 5, 9, tzinfo=UTC),
        datetime(2026, 6, 8, tzinfo=UTC),
    ]
    times = np.array([each.timestamp() for each in moments])
    assert weeks_outside(times, [MAY]) == pytest.approx([2.0, 0.0, 1.0])
    assert weeks_outside(times, [MAY, Window(start=moments[2], stop=None)]) == pytest.approx(
        [2.0, 0.0, 0.0]
    )


@given(candidates())
def test_a_conversation_lifts_nothing_above_what_answers_better_than_all_that_it_has(
    found: Candidates,
) -> None:
    count = len(found.nodes)
    once = replace(
        found, node_of=np.arange(count), conversations=found.conversations[:count], has_session=found.has_session[:count],
        seqs=found.seqs[:count], roles=found.roles[:count], names=found.names[:count], times=found.times[:count],
        in_conversation=found.in_conversation[:count], query_words=10,
    )  # fmt: skip
    query = asked(ranked=False, speaker=None, moments=())
    best = best_candidates(once, query, limit=50)
    own = {
        each.place: sum(each.parts[name] for name in ("vector", "words", "context"))
        for each in best
    }
    score = {each.place: each.score for each in best}
    for one in own:
        for other in own:
            beside = [
                own[place]
                for place in own
                if once.conversations[place] == once.conversations[other]
            ]
            if own[one] > max(beside) + 1e-9:  # by more than sums of the same parts differ in
                assert score[one] > score[other]


@given(candidates())
def test_what_has_none_of_the_words_stays_below_what_has_all_of_them(found: Candidates) -> None:
    words = found.term_weights.copy()
    words[0, 1:] = 0.1
    best = best_candidates(replace(found, term_weights=words), asked(), limit=50)
    complete = max((each.score for each in best if each.matched == 4), default=1.0)
    assert all(each.score < complete for each in best if each.matched == 0)
