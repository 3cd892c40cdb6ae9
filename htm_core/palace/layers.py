"""What each layer has to say to a prompt: rooms and drawers, this session's notes, artifacts, procedures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from ..memory import Memory
from ..rules.grounding.grounding import Evidence
from ..rules.grounding.persons import Told, somebody_else
from ..rules.grounding.questions import about_questions, only_asks
from ..rules.places import Placed
from ..store import places
from ..types import Recall
from .sources import FetchFailed

if TYPE_CHECKING:
    from .palace import Palace

POOL = 20  # hits that are looked at for evidence
COMPARED = 10  # hits by which it is seen whether they speak of whom the prompt names
MOST_FETCHED = 3  # artifacts that one prompt may have fetched
LONGEST_ARTIFACT = 8_000  # characters of what a source answered that are given on


@dataclass(frozen=True, slots=True)
class Answer:
    """A layer's evidence; or why there is none, or why that cannot be said. `but` is what evidence came without.

    `whom` is who was asked about, where what fits the question was said of somebody else.
    """

    evidence: tuple[Evidence, ...] = ()
    why: str = ""
    failed: str = ""
    but: str = ""
    whom: str = ""


def filed(palace: Palace, text: str, threshold: float, limit: int) -> Answer:
    """L1: what is filed in rooms and drawers."""
    return _recalled(palace, palace.memory, text, "L1", kind="filed", threshold=threshold, limit=limit)


def notes(palace: Palace, text: str, threshold: float, limit: int) -> Answer:
    """L2: what was noted in this session and has not expired."""
    palace.sweep()
    return _recalled(palace, palace.scratchpad(), text, "L2", kind="note", threshold=threshold, limit=limit)


def artifacts(palace: Palace, text: str, threshold: float, limit: int) -> Answer:
    """L3: the sources that the prompt names or is about, each asked for the actual thing."""
    registered = {each.node_id: each for each in palace.artifacts()}
    if not registered:
        return Answer(why="no artifact is registered")
    found, recall = _placed_hits(palace, palace.memory, text, kind="artifact")
    scores = {each.node_id: score for each, score in found if score >= threshold}
    scores.update({id: 1.0 for id, each in registered.items() if _names(text, each.uri or "")})
    chosen = sorted((id for id in scores if id in registered), key=lambda id: -scores[id])[: min(limit, MOST_FETCHED)]
    evidence, failures = [], []
    for id in chosen:
        each = registered[id]
        try:
            said = palace._sources.ask(each.uri or "")
        except FetchFailed as error:
            failures.append(f"{each.uri}: {error}")
            continue
        if said is not None:
            evidence.append(_evidence("L3", each, scores[id], content=said[:LONGEST_ARTIFACT]))
    return Answer(
        tuple(evidence), failed="; ".join(failures) or ("" if chosen else recall.degraded or ""),
        why="the sources have no such thing" if chosen else "no artifact is named or near enough",
        but=f"; but {'; '.join(failures)}" if failures else "",
    )  # fmt: skip


def procedures(palace: Palace, text: str, threshold: float, limit: int) -> Answer:
    """L4: how something is done, by a trigger that the prompt contains or by what the steps say."""
    known = palace.procedures()
    named = tuple(_evidence("L4", each, 1.0) for each in known if _triggers(each, text))
    if named or not known:
        return Answer(named[:limit], why="no procedure is written down")
    return _recalled(palace, palace.memory, text, "L4", kind="procedure", threshold=threshold, limit=limit)


def triggered(palace: Palace, text: str) -> bool:
    """Whether a prompt contains a procedure's trigger."""
    return any(_triggers(each, text) for each in palace.procedures())


def _triggers(procedure: Placed, text: str) -> bool:
    return any(_contains(text, trigger) for trigger in procedure.facts.get("triggers", ()))


def _contains(text: str, phrase: str) -> bool:
    """Whether a text has a phrase as whole words, whatever the letter case and white space."""
    pattern = r"\s+".join(map(re.escape, phrase.split()))
    return re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE) is not None


def _names(text: str, uri: str) -> bool:
    """Whether a text names a uri: the whole, or its last part with what stands before it, as in "issues/42"."""
    parts = [part for part in re.split(r"[/#?=]+", uri) if part and not part.endswith(":")]
    last = parts[-1] if parts else uri
    if _contains(text, uri) or (not last.isdigit() and len(last) >= 4 and _contains(text, last)):
        return True
    before = parts[-2].rstrip("s") if len(parts) > 1 else ""
    return last.isdigit() and bool(before) and re.search(
        rf"(?<!\w){re.escape(before)}s?\s*(?:no\.?|number|#|/)?\s*#?{last}(?!\w)", text, re.IGNORECASE
    ) is not None  # fmt: skip


def _recalled(
    palace: Palace, memory: Memory, text: str, layer: str, *, kind: str, threshold: float, limit: int
) -> Answer:
    found, recall = _placed_hits(palace, memory, text, kind=kind)
    said = found if about_questions(text) else [each for each in found if not only_asks(each[0].content)]
    enough = tuple(_evidence(layer, each, score) for each, score in said if score >= threshold)[:limit]
    best = max((score for _, score in said), default=None)
    why = "nothing is there that has to do with it" if not found else "what has to do with it only asks"
    if best is not None:
        why = f"the best scored {best:.2f}, below {threshold:g}"
    degraded = recall.degraded or ""
    told = [Told(each.content, f"{each.room} {each.drawer} {each.robot}") for each, _ in said[:COMPARED]]
    return Answer(
        enough, why=why, failed=degraded, but=f"; {degraded}" if degraded else "", whom=somebody_else(text, told) or ""
    )


def _placed_hits(
    palace: Palace, memory: Memory, text: str, *, kind: str
) -> tuple[Sequence[tuple[Placed, float]], Recall]:
    """The hits that have a place of a kind, best first, and the recall that they come from."""
    recall = memory.recall(text, where={"palace": kind}, limit=POOL, hold=False)
    if not recall.hits:
        return (), recall
    engine = memory._engine
    owners = [engine.owner] if kind == "note" else engine.owners
    with engine.transaction() as connection:
        ids = [UUID(hit.node.id) for hit in recall]
        known: Mapping[str, Placed] = places.by_nodes(connection, ids, owners=owners, kinds=[kind], now=palace._now())
    return [(known[hit.node.id], hit.score) for hit in recall if hit.node.id in known], recall


def _evidence(layer: str, placed: Placed, score: float, *, content: str | None = None) -> Evidence:
    return Evidence(
        layer=layer, content=placed.content if content is None else content, score=min(1.0, score), id=placed.id,
        node_id=placed.node_id, room=placed.room, drawer=placed.drawer, uri=placed.uri, robot=placed.robot,
        session=placed.session, at=placed.at,
    )  # fmt: skip
