"""What each layer finds for a prompt: rooms and drawers, this session's notes, artifacts, procedures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from ..memory import Memory
from ..rules.grounding.grounding import Evidence
from ..rules.grounding.persons import FoundText, person_without_evidence
from ..rules.grounding.questions import about_questions, only_asks
from ..rules.places import Placed, PlaceKind
from ..types import Recall
from .palace import Palace
from .sources import FetchFailed

MAX_HITS = 20  # of a recall, among which evidence is looked for
MAX_COMPARED = 10  # hits in which it is checked of which person they speak
MAX_FETCHED = 3  # artifacts that are fetched for one prompt
MAX_ARTIFACT_LENGTH = 8_000  # characters of what a source answered


@dataclass(frozen=True, slots=True)
class LayerAnswer:
    """What one layer answers: evidence, or `why` there is none, or why it could not be asked (`failed`).

    `caveat` says what went wrong although there is evidence. `person` is who was asked about, when what fits the question best
    was said of somebody else.
    """

    evidence: tuple[Evidence, ...] = ()
    why: str = ""
    failed: str = ""
    caveat: str = ""
    person: str = ""


def filed(palace: Palace, text: str, threshold: float, limit: int) -> LayerAnswer:
    """L1: what is filed in rooms and drawers."""
    return _recalled(palace, palace.memory, text, "L1", kind="filed", threshold=threshold, limit=limit)


def notes(palace: Palace, text: str, threshold: float, limit: int) -> LayerAnswer:
    """L2: what was noted in this session and has not expired."""
    palace.sweep()
    return _recalled(palace, palace.scratchpad(), text, "L2", kind="note", threshold=threshold, limit=limit)


def artifacts(palace: Palace, text: str, threshold: float, limit: int) -> LayerAnswer:
    """L3: the artifacts that the prompt names or is about, each fetched from its source."""
    registered = {each.node_id: each for each in palace.artifacts()}
    if not registered:
        return LayerAnswer(why="no artifact is registered")
    hits, recall = _placed_hits(palace, palace.memory, text, kind="artifact")
    scores = {each.node_id: score for each, score in hits if score >= threshold}
    scores.update({id: 1.0 for id, each in registered.items() if _names(text, each.uri or "")})
    chosen = sorted((id for id in scores if id in registered), key=lambda id: -scores[id])[: min(limit, MAX_FETCHED)]
    evidence, failures = [], []
    for id in chosen:
        each = registered[id]
        try:
            content = palace.context.sources.fetch(each.uri or "")
        except FetchFailed as error:
            failures.append(f"{each.uri}: {error}")
            continue
        if content is not None:
            evidence.append(_evidence("L3", each, scores[id], content=content[:MAX_ARTIFACT_LENGTH]))
    return LayerAnswer(
        tuple(evidence), failed="; ".join(failures) or ("" if chosen else recall.degraded or ""),
        why="the sources have no such thing" if chosen else "no artifact is named or near enough",
        caveat=f"; but {'; '.join(failures)}" if failures else "",
    )  # fmt: skip


def procedures(palace: Palace, text: str, threshold: float, limit: int) -> LayerAnswer:
    """L4: how something is done, found by a trigger that the prompt contains or by what the steps say."""
    known = palace.procedures()
    triggered = tuple(_evidence("L4", each, 1.0) for each in known if _triggers(each, text))
    if triggered or not known:
        return LayerAnswer(triggered[:limit], why="no procedure is written down")
    return _recalled(palace, palace.memory, text, "L4", kind="procedure", threshold=threshold, limit=limit)


def triggers_a_procedure(palace: Palace, text: str) -> bool:
    """Whether a prompt contains a trigger of a procedure."""
    return any(_triggers(each, text) for each in palace.procedures())


def _triggers(procedure: Placed, text: str) -> bool:
    return any(_contains(text, trigger) for trigger in procedure.facts.get("triggers", ()))


def _contains(text: str, phrase: str) -> bool:
    """Whether a text has a phrase as whole words. Letter case and white space do not matter."""
    pattern = r"\s+".join(map(re.escape, phrase.split()))
    return re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE) is not None


def _names(text: str, uri: str) -> bool:
    """Whether a text names a uri: the whole of it, or its last part; a number only with the word before, as in "issue 42"."""
    parts = [part for part in re.split(r"[/#?=]+", uri) if part and not part.endswith(":")]
    last = parts[-1] if parts else uri
    if _contains(text, uri) or (not last.isdigit() and len(last) >= 4 and _contains(text, last)):
        return True
    before = parts[-2].rstrip("s") if len(parts) > 1 else ""
    return last.isdigit() and bool(before) and re.search(
        rf"(?<!\w){re.escape(before)}s?\s*(?:no\.?|number|#|/)?\s*#?{last}(?!\w)", text, re.IGNORECASE
    ) is not None  # fmt: skip


def _recalled(
    palace: Palace, memory: Memory, text: str, layer: str, *, kind: PlaceKind, threshold: float, limit: int
) -> LayerAnswer:
    """What a memory recalls of one kind of place, as evidence: what scores enough and does not merely ask."""
    hits, recall = _placed_hits(palace, memory, text, kind=kind)
    telling = hits if about_questions(text) else [each for each in hits if not only_asks(each[0].content)]
    evidence = tuple(_evidence(layer, each, score) for each, score in telling if score >= threshold)[:limit]
    if telling:
        why = f"the best scored {max(score for _, score in telling):.2f}, below {threshold:g}"
    else:
        why = "what has to do with it only asks" if hits else "nothing is there that has to do with it"
    degraded = recall.degraded or ""
    compared = [
        FoundText(each.content, f"{each.room} {each.drawer} {each.robot}") for each, _ in telling[:MAX_COMPARED]
    ]
    return LayerAnswer(
        evidence, why=why, failed=degraded, caveat=f"; {degraded}" if degraded else "",
        person=person_without_evidence(text, compared) or "",
    )  # fmt: skip


def _placed_hits(
    palace: Palace, memory: Memory, text: str, *, kind: PlaceKind
) -> tuple[Sequence[tuple[Placed, float]], Recall]:
    """The hits that have a place of one kind, with their scores, best first; and the recall that they come from."""
    recall = memory.recall(text, where={"palace": kind}, limit=MAX_HITS, hold=False)
    if not recall.hits:
        return (), recall
    known = palace.context.by_nodes([UUID(hit.node.id) for hit in recall], kind=kind)
    return [(known[hit.node.id], hit.score) for hit in recall if hit.node.id in known], recall


def _evidence(layer: str, placed: Placed, score: float, *, content: str | None = None) -> Evidence:
    return Evidence(
        layer=layer, content=placed.content if content is None else content, score=min(1.0, score), id=placed.id,
        node_id=placed.node_id, room=placed.room, drawer=placed.drawer, uri=placed.uri, robot=placed.robot,
        session=placed.session, at=placed.at,
    )  # fmt: skip
