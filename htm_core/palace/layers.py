"""The layers' evidence for a prompt: rooms and drawers, this session's notes, artifacts,
procedures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..base import time_limit
from ..base.errors import ModelError
from ..base.places import Placed, PlaceKind
from ..base.types import Hit
from ..text.questions import SENTENCE, about_oneself, about_questions, only_asks
from .context import Survey
from .grounding.grounding import Evidence
from .grounding.names import content_words, has_a_name
from .palace import Palace
from .sources import MAX_ARTIFACT_LENGTH, FetchFailed

MAX_HITS = 20  # of a recall, among which evidence is looked for
# What a text is worth that has every word of a question, at least so many, where no reader reads
# it; the second is also what a sentence of the identity is worth that has them.
ALL_WORDS, RELEVANCE_OF_ALL_WORDS = 3, 0.6
MAX_FETCHED = 3  # artifacts that are fetched for one prompt
# A title is about a question without answering it: where none is named, an artifact is fetched from
# this share of the threshold on.
SHARE_TO_FETCH = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class PalaceQuestion:
    """A prompt on its way through the layers: what there is to ask, which drawers it names, and
    what counts as evidence.

    Evidence has a relevance of at least `floor`, and one of the `names`, if any; from `threshold`
    on it is certain.
    """

    text: str
    names: Sequence[str]
    survey: Survey
    named: tuple[tuple[str, str], ...]
    floor: float
    threshold: float
    limit: int


@dataclass(frozen=True, slots=True)
class LayerAnswer:
    """The answer of one layer: evidence, best first, or `why` there is none, or why it could not be
    asked (`failed`).

    `caveat` says what went wrong although there is evidence.
    """

    evidence: tuple[Evidence, ...] = ()
    why: str = ""
    failed: str = ""
    caveat: str = ""


def oneself(palace: Palace, prompt: str, identity: str) -> LayerAnswer:
    """L0: the sentences of the identity that a question about the robot itself is about; all of
    them for "Who am I?".

    They answer where they have every word of the question, and may answer where they have more than
    half of its words.
    """
    wanted = content_words(prompt)
    sentences = [each for each in SENTENCE.split(identity) if each.strip()]
    shared = [wanted & content_words(each) for each in sentences]
    share = len(set[str]().union(*shared)) / len(wanted) if wanted else 1.0
    if not about_oneself(prompt) or share <= 1 / 2:
        return LayerAnswer(why="it is not about who I am")
    matching = [each for each, words in zip(sentences, shared, strict=True) if words or not wanted]
    placed = palace.context.placed_identity()
    if placed is None:
        return LayerAnswer(why="who I am was not set by identify")
    return LayerAnswer(
        (_evidence("L0", placed, RELEVANCE_OF_ALL_WORDS * share, content="\n".join(matching)),)
    )


def filed(palace: Palace, question: PalaceQuestion) -> LayerAnswer:
    """L1: what is filed in rooms and drawers. A text in a drawer that the prompt names is worth
    more.
    """
    if not question.survey.names:
        return LayerAnswer(why="nothing is filed")
    return _recalled(palace, question, "L1", kind="filed")


def notes(palace: Palace, question: PalaceQuestion) -> LayerAnswer:
    """L2: what was noted in this session and has not expired."""
    if not question.survey.notes:
        return LayerAnswer(why="nothing is noted in this session")
    return _recalled(palace, question, "L2", kind="note")


def artifacts(palace: Palace, question: PalaceQuestion) -> LayerAnswer:
    """L3: the artifacts that the prompt names or is about, each fetched from its source."""
    registered = {each.node_id: each for each in question.survey.artifacts}
    if not registered:
        return LayerAnswer(why="no artifact is registered")
    named = {id for id, each in registered.items() if _names(question.text, each.uri or "")}
    hits, degraded = palace.context.recall(question.text, kind="artifact", limit=MAX_HITS)
    scores = {
        each.node_id: hit.relevance
        for each, hit in hits
        if hit.relevance
        >= question.threshold * (SHARE_TO_FETCH if each.facts.get("about") and not named else 1.0)
    }
    scores.update(dict.fromkeys(named, 1.0))
    known = sorted((id for id in scores if id in registered), key=lambda id: -scores[id])
    chosen = known[: min(question.limit, MAX_FETCHED)]
    evidence, failures = [], []
    for id in chosen:
        artifact = registered[id]
        try:
            with time_limit.uncounted():  # it has a time-out of its own
                content = palace.context.sources.fetch(
                    artifact.uri or "",
                    owner=(palace.memory.tenant, artifact.owner),
                    question=question.text,
                )
        except FetchFailed as error:
            failures.append(f"{artifact.uri}: {error}")
            continue
        if content is not None:
            evidence.append(
                _evidence("L3", artifact, scores[id], content=content[:MAX_ARTIFACT_LENGTH])
            )
    return LayerAnswer(
        tuple(evidence),
        failed="; ".join(failures) or ("" if chosen else degraded or ""),
        why="the sources have no such thing" if chosen else "no artifact is named or near enough",
        caveat=f"; but {'; '.join(failures)}" if failures else "",
    )


def procedures(palace: Palace, question: PalaceQuestion) -> LayerAnswer:
    """L4: how something is done, found by a trigger that the prompt contains or by what the steps
    say.
    """
    known = question.survey.procedures
    triggered = tuple(
        _evidence("L4", each, 1.0) for each in known if _triggers(each, question.text)
    )
    if triggered or not known:
        return LayerAnswer(triggered[: question.limit], why="no procedure is written down")
    return _recalled(palace, question, "L4", kind="procedure")


def triggers_a_procedure(survey: Survey, text: str) -> bool:
    """True if a prompt contains a trigger of a procedure."""
    return any(_triggers(each, text) for each in survey.procedures)


def _triggers(procedure: Placed, text: str) -> bool:
    return any(_contains(text, trigger) for trigger in procedure.facts.get("triggers", ()))


def _contains(text: str, phrase: str) -> bool:
    """True if a text has a phrase as whole words. Letter case and white space do not matter."""
    pattern = r"\s+".join(map(re.escape, phrase.split()))
    return re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE) is not None


def _names(text: str, uri: str) -> bool:
    """True if a text names a uri: the whole of it, or its last part; a number only with the word
    before, as in "issue 42".
    """
    parts = [part for part in re.split(r"[/#?=]+", uri) if part and not part.endswith(":")]
    last = parts[-1] if parts else uri
    if _contains(text, uri) or (not last.isdigit() and len(last) >= 4 and _contains(text, last)):
        return True
    before = parts[-2].rstrip("s") if len(parts) > 1 else ""
    return (
        last.isdigit()
        and bool(before)
        and re.search(
            rf"(?<!\w){re.escape(before)}s?\s*+(?:no\.?|number|#|/)?\s*+#?{last}(?!\w)",
            text,
            re.IGNORECASE,
        )
        is not None
    )


def _recalled(
    palace: Palace, question: PalaceQuestion, layer: str, *, kind: PlaceKind
) -> LayerAnswer:
    """Recall one kind of place as evidence: what is relevant enough, or lies in a drawer that the
    prompt names.
    """
    recalled, degraded = palace.context.recall(question.text, kind=kind, limit=MAX_HITS)
    texts = [(each, hit.match.cosine) for each, hit in recalled]
    relevance = {each.id: _relevance(hit) for each, hit in recalled}
    if kind == "filed":
        newest = [
            each for each in palace.context.newest_in(question.named) if each.id not in relevance
        ]
        texts += [(each, None) for each in newest[: question.limit]]
    caveat = f"; {degraded}" if degraded else ""
    try:
        relevance |= palace.context.read(question.text, texts)
    except ModelError as error:
        caveat += f"; not read: {error}"
    hits = [(each, relevance.get(each.id, 0.0)) for each, _ in texts]
    hits.sort(key=lambda pair: -pair[1])  # hits of equal relevance stay in the order of recall
    near = [
        each
        for each in hits
        if each[1] >= question.floor or (each[0].room, each[0].drawer) in question.named
    ]
    asks_back = about_questions(question.text)
    telling = [each for each in near if asks_back or not only_asks(each[0].content)]
    evidence = tuple(
        _evidence(layer, each, score)
        for each, score in telling
        if _has_a_name(each, question.names)
    )
    if telling:
        why = f"what fits it does not speak of {', '.join(question.names)}"
    elif near:
        why = "what has to do with it only asks"
    elif hits:
        why = f"the best is relevant by {hits[0][1]:.2f}, below {question.floor:g}"
    else:
        why = "nothing is there that has to do with it"
    return LayerAnswer(evidence[: question.limit], why=why, failed=degraded or "", caveat=caveat)


def _relevance(hit: Hit) -> float:
    """The relevance of a hit that nobody has read."""
    words = hit.match.query_words
    every = hit.match.matched_words == words >= ALL_WORDS
    return max(hit.relevance, RELEVANCE_OF_ALL_WORDS) if every else hit.relevance


def _has_a_name(placed: Placed, names: Sequence[str]) -> bool:
    return has_a_name(f"{placed.content} {placed.room} {placed.drawer} {placed.robot}", names)


def _evidence(layer: str, placed: Placed, score: float, *, content: str | None = None) -> Evidence:
    return Evidence(
        layer=layer,
        content=placed.content if content is None else content,
        score=min(1.0, score),
        id=placed.id,
        node_id=placed.node_id,
        room=placed.room,
        drawer=placed.drawer,
        uri=placed.uri,
        robot=placed.robot,
        session=placed.session,
        at=placed.at,
    )
