"""Present values first: of two hits the one that was superseded yields its place to the one that
superseded it.

A stage of recall after its searches. It reads the edges among the hits and what is joined to them,
in one statement, and only where the tenant has any; docs/why/supersession.md says what that costs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from uuid import UUID

from ..base.types import Hit, Node, Recall, Supersession, Window
from ..change import supersession
from ..engine.engine import Engine
from ..writing import nodes
from .complete_query import ANSWERS, held_during
from .hits import moved
from .search import RecallQuery

FORMERLY = 5  # former values that a hit shows
COMPARED_HITS = 100  # the best hits that edges are looked for


def present_values_first(engine: Engine, query: RecallQuery, recall: Recall) -> Recall:
    """A recall in which what was superseded stands below what superseded it, and each says so of
    the other.

    Where a query asks about a time that is over, what held at its end stands first. Nothing is left
    out but for what no longer fits the limit. Where something held in the times that a recall
    names, it does not say that nothing is from them.
    """
    edges: Sequence[Supersession] = ()
    threshold = engine.settings.supersession
    if (
        threshold is not None
        and recall.hits
        and engine.database.superseding.known(engine.tenant) is not False
    ):
        edges, known = _edges_around(engine, query, recall, threshold=threshold)
        if edges:
            hits = reordered(
                recall.hits, edges, known, former=_shows_former(query), then=query.then
            )
            recall = replace(recall, hits=tuple(hits))
    applied = recall.timeframe
    if applied is not None and applied.outside and _held_then(recall.hits, edges, applied.windows):
        return replace(recall, timeframe=replace(applied, outside=False))
    return recall


def _edges_around(
    engine: Engine, query: RecallQuery, recall: Recall, *, threshold: float
) -> tuple[Sequence[Supersession], Mapping[str, Node]]:
    """The edges around the hits of a recall, the latest first, and the newer sayings that are no
    hit themselves.

    It is one short look where there are none. Where only the older one was found, the newer one is
    read too, unless the query has filters on who said something, when, where or with which tags, or
    finds words alone: these the newer one may not satisfy. In a recall of what was known or held at
    a time, an edge holds from when its newer saying was said.
    """
    moment = min(filter(None, (query.filters.as_of, query.filters.valid_at)), default=None)
    ids = [UUID(hit.node.id) for hit in recall.hits[:COMPARED_HITS]]
    read = partial(engine.read, everybody=query.of_everybody)
    edges = supersession.around(
        read, ids, owners=query.filters.owners, threshold=threshold, moment=moment
    )
    alone = query.mode == "text" or _is_filtered(query)
    wanted = set[UUID]() if alone else {UUID(each.newer.node_id or "") for each in edges} - set(ids)
    owners = engine.owners if query.filters.owners is None else query.filters.owners
    known = nodes.read(read, sorted(wanted), owners=owners) if wanted else {}
    return edges, {str(id): node for id, node in known.items()}


def reordered(
    hits: Sequence[Hit],
    edges: Sequence[Supersession],
    known: Mapping[str, Node],
    *,
    former: bool = True,
    then: Sequence[Window] = (),
) -> list[Hit]:
    """Hits with present values first. `edges` are the latest first, `known` are the nodes that may
    be brought in.

    Without `former` no hit shows what it superseded. What held at the end of the times `then`
    stands above what came later.
    """
    end = max((each.stop for each in then if each.stop), default=None)
    later = [each for each in edges if end is not None and each.older.at < end <= each.holds_from]
    # of several the latest
    newer_of = {each.older.node_id: each for each in reversed(edges) if each not in later}
    ended_by = _ended_by(edges)
    order = list(hits)
    for hit in hits:
        present = _present(hit.node.id, newer_of)
        if present is None:
            continue
        there = {each.node.id: place for place, each in enumerate(order)}
        place = there[hit.node.id]
        if present.newer.node_id in there:
            _exchange(order, place, there[present.newer.node_id])
        elif (node := known.get(present.newer.node_id or "")) is not None:
            order.insert(place, _brought(node, present, hit))
    held = [hit.node.id for hit in order if ended_by.get(hit.node.id) in later]
    for id in held:
        _lift(order, id, above=_after(id, edges))
    older_of: dict[str | None, list[Supersession]] = {}
    for edge in edges:
        # what held then stands above, and not beside the newer one
        if edge.older.node_id not in held:
            older_of.setdefault(edge.newer.node_id, []).append(edge)
    return [
        replace(
            hit,
            formerly=tuple(_former(hit.node.id, older_of, ended_by)[:FORMERLY]) if former else (),
            superseded_by=ended_by.get(hit.node.id),
        )
        for hit in order
    ]


def _ended_by(edges: Sequence[Supersession]) -> dict[str | None, Supersession]:
    """The edge by which each superseded node came to its end: of several the first after it was
    said.
    """
    endings: dict[str | None, Supersession] = {}
    for edge in edges:  # the latest first
        if edge.older.node_id not in endings or edge.holds_from > edge.older.at:
            endings[edge.older.node_id] = edge
    return endings


def _held_then(
    hits: Sequence[Hit], edges: Sequence[Supersession], windows: Sequence[Window]
) -> bool:
    """True if something that probably answers held at these times, by its own words or by what
    superseded it.
    """
    answers = {
        hit.node.id for place, hit in enumerate(hits) if place == 0 or hit.relevance >= ANSWERS
    }
    mentions = [mention for hit in hits if hit.node.id in answers for mention in hit.mentions]
    spans = [
        (each.valid.start or each.at, each.valid.stop)
        for each in mentions
        if each.valid is not None
    ]
    spans += [
        (each.older.at, each.holds_from)
        for each in _ended_by(edges).values()
        if not answers.isdisjoint((each.older.node_id, each.newer.node_id))
    ]
    return any(held_during(windows, start, stop) for start, stop in spans)


def _after(id: str, edges: Sequence[Supersession]) -> set[str | None]:
    """The ids of all that came after a node, over all between."""
    later, ahead = set[str | None](), [id]
    while ahead:
        older = ahead.pop()
        ahead += [
            each.newer.node_id or ""
            for each in edges
            if each.older.node_id == older and each.newer.node_id not in later
        ]
        later.update(ahead)
    return later - {id}


def _lift(order: list[Hit], id: str, *, above: Collection[str | None]) -> None:
    """Put a hit right above the first of these, if it stands below. What it passes gets the scores
    of the places below.
    """
    place = next(at for at, hit in enumerate(order) if hit.node.id == id)
    first = next((at for at, hit in enumerate(order[:place]) if hit.node.id in above), place)
    there = order[first : place + 1]
    relevance = max(there[0].relevance, there[-1].relevance)
    lifted = moved(there[-1], score=there[0].score, relevance=relevance, by="supersession")
    lower = [
        moved(hit, score=below.score, relevance=hit.relevance, by="supersession")
        for hit, below in pairwise(there)
    ]
    order[first : place + 1] = [lifted, *lower]


def _present(id: str, newer_of: Mapping[str | None, Supersession]) -> Supersession | None:
    """The edge to the present value of a node, over all between; None where it is the present one,
    or where it goes round.
    """
    seen, edge = {id}, None
    while (step := newer_of.get(id)) is not None:
        id, edge = step.newer.node_id or "", step
        if id in seen:
            return None
        seen.add(id)
    return edge


def _former(
    id: str,
    older_of: Mapping[str | None, Sequence[Supersession]],
    ended_by: Mapping[str | None, Supersession],
) -> list[Supersession]:
    """All that a node has superseded, the latest first, each by the edge that ended it."""
    former: dict[str | None, Supersession] = {}
    ahead = list(older_of.get(id, ()))
    while ahead:
        edge = ahead.pop(0)
        if edge.older.node_id not in former and edge.older.node_id != id:
            former[edge.older.node_id] = ended_by[edge.older.node_id]
            ahead += older_of.get(edge.older.node_id, ())
    return sorted(former.values(), key=lambda edge: edge.holds_from, reverse=True)


def _exchange(order: list[Hit], older: int, newer: int) -> None:
    """Let two hits change places where the older one stands first. Each gets the score of its new
    place, as with a reranker.
    """
    if older < newer:
        one, other = order[older], order[newer]
        order[older] = moved(
            other, score=one.score, relevance=max(one.relevance, other.relevance), by="supersession"
        )
        order[newer] = moved(one, score=other.score, relevance=one.relevance, by="supersession")


def _brought(node: Node, edge: Supersession, older: Hit) -> Hit:
    """A present value that the search did not find, in the place of the one that it superseded."""
    return Hit(
        node=node,
        score=older.score,
        relevance=older.relevance,
        vector_rank=None,
        text_rank=None,
        passage=node.content,
        mentions=(edge.newer,),
        signals={**dict.fromkeys(older.signals, 0.0), "supersession": older.score}
        if older.signals
        else {},
    )


def _is_filtered(query: RecallQuery) -> bool:
    f = query.filters
    return f.as_of is not None or f.valid_at is not None or not _shows_former(query)


def _shows_former(query: RecallQuery) -> bool:
    """True if what a hit superseded may be shown: under these filters it may be just what is not
    wanted.
    """
    f = query.filters
    filters = (f.robots, f.session, f.sources, f.min_trust)
    return all(each is None for each in filters) and not (
        f.windows or f.tags or f.equal or f.metadata
    )
