"""The score of what a search has found: how well each candidate answers, by itself and by what
stands around it.

A score does not depend on what else was found, so that scores compare between queries: a cosine
counts in full from 0.8 on, and words count against the best score that any passage could have for
this query. The parts of a score add up to it, and it is from 0 to 1:

    (vector + words + context + sum of weight * signal) / (1 + sum of weights) + ranker

over the signals that this query can have; what the ranker adds counts less and less towards 1, so
that the score stays in its range and no two good ones are equal. docs/why/reader.md says what each
part is for, and has their measurements.

Arrays have one row for each node or each mention, and one column for each term of the query; column
0 stands for the phrases that it quotes, as one more term.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt

from ..base.settings import Signals
from ..base.types import Window

Array: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Booleans: TypeAlias = npt.NDArray[np.bool_]

# The cosine that counts in full.
FULL_COSINE = 0.8
# How loud a message is at the places around it: one and two after it, and one before it.
LOUDNESS = ((1, 0.9), (2, 0.8), (-1, 0.7))
# The length, in words, from which on a text takes little from what stands around it, and gives
# little to it.
LONG = 50.0
# So much of a query the heaviest word alone covers only when other words corroborate it. Never all,
# which would divide by nothing.
ALONE, ALMOST_ALL = 0.3, 0.999
# What counts against a node leaves it this share of its score: nothing that was found looks like
# what a copy is worth.
LEAST_SHARE = 0.1
# From here on what is added counts less and less: two scores never meet at 1, where their order
# would be lost.
ADDED_IN_FULL_TO = 0.9
BELOW = 0.99  # times the score of what has all words of a query, at most, for what has none of them
WEEK = 7 * 86_400.0  # seconds
# The ranker: what was learned of how the parts of a score go together, with what stands beside a
# message, and who said it. It is a linear model over what recall computes in any case;
# `python -m benchmarks.train_ranker` fits it on this project's own chats, and docs/why/reader.md
# has the measurement. What it weighs to is added to the score. Beside the weights, so that what is
# added is about 0 on average: below 0 a score has no room for an order.
CONSTANT = 0.25
WEIGHTS = {
    "nearness": -0.0756, "coverage": -0.3425, "share_of_words": 0.1688, "by_words_alone": -0.0172,
    "by_vector_alone": -0.0649, "log_place": -0.0516, "first_places": -0.0748, "context": -1.281,
    "speaker": 0.9238, "by_assistant": -0.2139, "said_before": -0.1514, "said_after": 0.1166,
    "near_before": 0.3099, "covered_before": 0.1377, "hits_of_conversation": 0.0439,
    "count_of_conversation": -0.0034,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The candidates of a query: nodes, each with its best passage, and the mentions in which they
    were said.

    All lists of nodes belong together, and so do those of mentions; `node_of` has the place of each
    mention's node. Ranks and cosines are NaN where there is none. `term_weights` (nodes, 1 + terms)
    is how much of the best score each term of the query makes in a passage. `passes` says whether a
    node passes the filters itself, or only stands beside one that does. `uses` is the importance
    and use of each node, where they count. `conversations` numbers the sessions of mentions,
    `times` are in seconds since 1970.
    """

    vector_weight: float
    query_words: int
    nodes: Sequence[UUID]
    passages: Sequence[UUID]
    vector_ranks: Array
    text_ranks: Array
    cosines: Array
    vector_scores: Array
    text_scores: Array
    node_lengths: Array
    term_weights: Array
    passes: Booleans | None = None
    uses: Array | None = None
    node_of: Integers
    conversations: Integers
    has_session: Booleans
    seqs: Integers
    roles: npt.NDArray[np.object_]
    names: Sequence[str | None]
    times: Array
    in_conversation: Booleans

    def without_direction(self) -> frozenset[str]:
        """The ids of nodes whose vector an embedder made of zeros: what still waits for its vector
        has a score in its place.
        """
        undirected = np.isnan(self.cosines) & (self.vector_scores == 0) & (self.text_scores > 0)
        return frozenset(str(self.nodes[place]) for place in undirected.nonzero()[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringQuery:
    """The parts of a query beside its meaning and its words.

    `by_meaning` and `by_words` say what was searched for, `speaker` is the one speaker that it
    names, `moments` are the times. So much of what the ranker says counts as `ranker` says, from 0
    to 1. With `words_alone` a candidate without any of the words is none.
    """

    by_meaning: bool
    by_words: bool
    signals: Signals
    speaker: str | None = None
    moments: Sequence[Window] = ()
    ranker: float = 0.0
    min_score: float = 0.0
    words_alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A candidate with its score; `place` is its place among the candidates' nodes, `parts` what
    the score is made of.

    `features` is what the ranker weighed, in the order of its weights; None where it says nothing.
    """

    place: int
    score: float
    parts: Mapping[str, float]
    matched: int
    features: Sequence[float] | None


def best_candidates(candidates: Candidates, query: ScoringQuery, *, limit: int) -> list[Scored]:
    """The best candidates, best first; of equal ones the nearer comes first, then the one that
    comes first in the list.
    """
    if not candidates.nodes:
        return []
    mention_parts = _score_mentions(candidates, query)
    best = _best_of_nodes(candidates, _total(mention_parts))
    if candidates.passes is not None:
        best = best[candidates.passes[candidates.node_of[best]]]
    place = candidates.node_of[best]
    # The weights of all signals that this query can have, with the 1 of meaning and words.
    signals = query.signals
    speaker = signals.speaker if query.speaker is not None else 0.0
    total_weight = (
        1 + signals.session + speaker + (signals.time if query.moments else 0.0) + signals.prior
    )
    parts = {name: values[best] / total_weight for name, values in mention_parts.items()}
    parts["prior"] = (
        np.zeros(len(place))
        if candidates.uses is None
        else signals.prior * np.nan_to_num(candidates.uses[place]) / total_weight
    )
    scores = _total(parts)
    matched = (candidates.term_weights[:, 1:] > 0).sum(axis=1)[place]
    distance = np.where(np.isnan(candidates.cosines), math.inf, -candidates.cosines)[place]
    features = _features(candidates, query, best, scores, parts, matched, distance)
    raised = scores
    if features is not None:  # BLAS would wake its threads for these small sums
        raised = scores + query.ranker * (
            CONSTANT + (features * list(WEIGHTS.values())).sum(axis=1)
        )
    whole = scores if features is None else _bounded(raised, scores)
    parts["ranker"] = whole - scores
    final = _below_all_words(
        whole, matched, asked=min(candidates.query_words, candidates.term_weights.shape[1] - 1)
    )
    parts["words"] = parts["words"] + final - whole
    if query.words_alone:
        scores = np.where(matched > 0, scores, 0.0)
    counts = scores > 0 if query.by_words else np.ones(len(scores), dtype=np.bool_)
    order = np.lexsort((place, distance, -raised, -final))
    kept = order[(counts & (final >= query.min_score))[order]][:limit]
    names, chosen = list(parts), np.column_stack(list(parts.values()))[kept].tolist()
    return [
        Scored(
            place=int(place[row]),
            score=float(final[row]),
            parts=dict(zip(names, values, strict=True)),
            matched=int(matched[row]),
            features=None if features is None else features[row].tolist(),
        )
        for row, values in zip(kept.tolist(), chosen, strict=True)
    ]


def nearness(cosine: float) -> float:
    """Return a cosine as a score from 0 to 1: 1 from 0.8 on."""
    return min(1.0, max(0.0, cosine) / FULL_COSINE)


def corroborated(weights: Array, strictness: float | Array) -> Array:
    """The share of a query that terms cover, when a single word may be there by chance.

    The heaviest term counts, up to three tenths, only when others corroborate it. `weights` is
    (rows, terms), and `strictness`, from 0 to 1, says how much less it counts alone.
    """
    lone = ALMOST_ALL * strictness * np.minimum(ALONE, weights.max(axis=1))
    covered: Array = np.maximum(0.0, np.minimum(1.0, weights.sum(axis=1)) - lone) / (1 - lone)
    return covered


def context_share(lengths: Array) -> Array:
    """Return the share that texts of so many words take from their context, and give to it: short
    ones all, long ones little.
    """
    share: Array = 1 / (1 + (lengths / LONG) ** 4)
    return share


def weeks_outside(times: Array, windows: Sequence[Window]) -> Array:
    """Weeks between moments, in seconds since 1970, and the nearest of some windows of time; 0
    within one.
    """
    nearest = np.full(len(times), math.inf)
    for window in windows:
        before = 0.0 if window.start is None else window.start.timestamp() - times
        after = 0.0 if window.stop is None else times - window.stop.timestamp()
        np.minimum(nearest, np.maximum(0.0, np.maximum(before, after)), out=nearest)
    return nearest / WEEK


def _total(parts: Mapping[str, Array]) -> Array:
    return reduce(np.add, parts.values())


def _score_mentions(candidates: Candidates, query: ScoringQuery) -> dict[str, Array]:
    """Score each mention by itself, by what stands around it, and by who said it when; not divided
    by the weights yet.
    """
    signals, node_of = query.signals, candidates.node_of
    by_words, nothing = 1 - candidates.vector_weight, np.zeros(len(node_of))
    # Where there is no vector, nothing else can corroborate a lone word: it counts.
    no_vector = np.isnan(candidates.cosines) & query.by_meaning
    own = corroborated(candidates.term_weights, np.where(no_vector, 0.0, signals.corroboration))[
        node_of
    ]
    around = nothing
    if signals.context:
        heard = _with_context(candidates, candidates.term_weights[node_of], signals.context)
        around = np.where(
            candidates.in_conversation, corroborated(heard, signals.corroboration), 0.0
        )
    parts = {
        "vector": candidates.vector_weight * candidates.vector_scores[node_of],
        "words": by_words * own,
        "context": by_words * np.maximum(0.0, around - own),
    }
    alone = _total(parts)
    parts["session"] = (
        signals.session * _session_scores(candidates, alone) if signals.session else nothing
    )
    parts["speaker"] = nothing
    if query.speaker is not None:
        # of "Ann" what "Ann" says, and what "Ann Lee" says
        known = query.speaker, f"{query.speaker} "
        is_theirs = [
            name is not None and (name == known[0] or name.startswith(known[1]))
            for name in candidates.names
        ]
        parts["speaker"] = signals.speaker * np.array(is_theirs)
    parts["time"] = nothing
    if query.moments:
        parts["time"] = signals.time * np.exp(
            -np.minimum(weeks_outside(candidates.times, query.moments), 100.0)
        )
    return parts


def _with_context(candidates: Candidates, terms: Array, weight: float) -> Array:
    """The terms of each mention (mentions, terms): as said there, and as said around it, a little
    lower.
    """
    share = context_share(candidates.node_lengths)[candidates.node_of][:, None]
    # One row more, of silence, is what stands where nothing was said.
    spoken = np.vstack([terms * share, np.zeros((1, terms.shape[1]))])
    places = _places(candidates)
    conversing = np.flatnonzero(candidates.in_conversation)
    nearby = np.zeros_like(terms)
    ordered = _in_order(places, conversing)
    for distance, loudness in LOUDNESS:
        beside = _at(places - distance, ordered)
        np.maximum(nearby, loudness * spoken[beside], out=nearby)
    heard: Array = np.maximum(terms, weight * share * nearby)
    return heard


def _places(candidates: Candidates) -> Integers:
    """A number for each mention's place in its conversation: neighbours have neighbouring ones, and
    conversations are far apart.
    """
    first = candidates.seqs.min()
    room = int(candidates.seqs.max() - first) + 8
    places: Integers = candidates.conversations * room + (candidates.seqs - first)
    return places


def _in_order(places: Integers, among: Integers) -> tuple[Integers, Integers]:
    """The mentions `among` all in the order of their places, and these."""
    known = among[places[among].argsort()]
    return known, places[known]


def _at(wanted: Integers, ordered: tuple[Integers, Integers]) -> Integers:
    """Find the mention at each of the wanted places; -1 where there is none."""
    known, places = ordered
    if not len(known):
        return np.full(len(wanted), -1)
    nearest = np.minimum(places.searchsorted(wanted), len(known) - 1)
    mentions: Integers = np.where(places[nearest] == wanted, known[nearest], -1)
    return mentions


def _session_scores(candidates: Candidates, alone: Array) -> Array:
    """Score the session of each mention: the geometric mean of the mention's own score and the best
    of its session.

    So a session supports what has something of its own, and lifts nothing above what answers better
    than all that it has. What was said in no session is its own.
    """
    order = np.lexsort((-alone, candidates.conversations))
    begins = _begins(candidates.conversations[order])
    best = np.empty(len(alone))
    best[order] = alone[order[begins]][begins.cumsum() - 1]
    scores: Array = np.where(candidates.has_session, np.sqrt(np.maximum(0.0, alone * best)), alone)
    return scores


def _best_of_nodes(candidates: Candidates, scores: Array) -> Integers:
    """The best mention of each node that has one; of equal ones the latest."""
    order = np.lexsort((-candidates.times, -scores, candidates.node_of))
    best: Integers = order[_begins(candidates.node_of[order])]
    return best


def _begins(ordered: Integers) -> Booleans:
    """Where in ordered numbers another one begins."""
    begins = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return begins


def _features(
    candidates: Candidates,
    query: ScoringQuery,
    best: Integers,
    scores: Array,
    parts: Mapping[str, Array],
    matched: Integers,
    distance: Array,
) -> Array | None:
    """Return what the ranker weighs of each node (nodes, features), in the order of its weights.

    That is what it has in common with the query, its place, what stands beside it, and who said it.
    The ranker was learned from
    conversations: where none was found it has nothing to say.
    """
    spoken = candidates.in_conversation[best]
    if not query.ranker or not spoken.any():
        return None
    place = candidates.node_of[best]
    first = np.empty(len(place))
    first[np.lexsort((place, distance, -scores))] = np.arange(1, len(place) + 1)
    near, coverage = FULL_COSINE * candidates.vector_scores[place], candidates.text_scores[place]
    conversation, places = candidates.conversations[best], _places(candidates)[best]
    ordered = _in_order(places, np.arange(len(place)))
    before, after = _at(places - 1, ordered), _at(places + 1, ordered)
    features: dict[str, npt.NDArray[Any]] = {
        "nearness": near,
        "coverage": coverage,
        "share_of_words": matched / max(1, candidates.query_words),
        "by_words_alone": np.isnan(candidates.vector_ranks[place]),
        "by_vector_alone": np.isnan(candidates.text_ranks[place]),
        "log_place": np.log(first),
        "first_places": 1 / first,
        "context": parts["context"],
        "speaker": parts["speaker"],
        "by_assistant": candidates.roles[best] == "assistant",
        "said_before": spoken * _beside(scores, before),
        "said_after": spoken * _beside(scores, after),
        "near_before": spoken * _beside(near, before),
        "covered_before": spoken * _beside(coverage, before),
        "hits_of_conversation": spoken * np.bincount(conversation, weights=1 / first)[conversation],
        "count_of_conversation": spoken * np.bincount(conversation)[conversation],
    }
    # With so few numbers this takes half the time of numpy's own function.
    table = np.empty((len(place), len(WEIGHTS)))
    for column, name in enumerate(WEIGHTS):
        table[:, column] = features[name]
    return table


def _beside(values: Array, at: Integers) -> Array:
    """Return the values at other places; 0 where there is none, at -1."""
    picked: Array = np.append(values, 0.0)[at]
    return picked


def _bounded(raised: Array, scores: Array) -> Array:
    """A score with what was added to it, in its range and in its order: what comes to more scores
    higher, however high it is.
    """
    room = 1 - ADDED_IN_FULL_TO
    beyond = np.maximum(0.0, raised - ADDED_IN_FULL_TO)
    high = np.minimum(raised, ADDED_IN_FULL_TO) + room * (1 - np.exp(-beyond / room))
    bounded: Array = np.maximum(LEAST_SHARE * scores, high)
    return bounded


def _below_all_words(scores: Array, matched: Integers, *, asked: int) -> Array:
    """The scores with those of nodes that have none of the query's words below the best of those
    that have all of them.

    In a script that a model does not know, unrelated texts are near to each other; words are words
    in any.
    """
    complete = matched >= max(1, asked)
    if not complete.any():
        return scores
    below: Array = np.where(
        matched == 0, np.minimum(scores, BELOW * scores[complete].max()), scores
    )
    return below
