"""What each layer finds for a prompt: rooms and drawers, this session's notes, artifacts, procedures."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .. import time_limit
from ..rules.grounding.asking import Asking, named_places
from ..rules.grounding.grounding import Evidence
from ..rules.grounding.persons import FoundText, content_words, person_without_evidence
from ..rules.grounding.questions import SENTENCE, about_oneself, about_questions
from ..rules.grounding.telling import tells
from ..rules.places import Placed, PlaceKind
from ..rules.relevance import DOUBTFUL
from ..types import Hit
from .context import Survey
from .palace import Palace
from .sources import MAX_ARTIFACT_LENGTH, FetchFailed

MAX_HITS = 20  # of a recall, among which evidence is looked for
MAX_COMPARED = 10  # hits in which it is checked of which person they speak
MAX_FETCHED = 3  # artifacts that are fetched for one prompt
# A title is about a question without answering it: where none is named, an artifact is fetched from this share of the threshold on.
SHARE_TO_FETCH = 0.75
# What a text in a drawer that the prompt names is worth: so much more, in log-odds, and less where the text has the name itself.
# A text of such a drawer that recall did not find begins with a low relevance. Chosen on development data; docs/why/palace.md.
# What reaches the threshold only so is certain where no word of the question is missing in the text and its place; else it stays
# just below.
NAMED, NAMED_IN_TEXT_TOO, UNFOUND = 1.5, 0.5, 0.05
JUST_BELOW = 0.99  # of the threshold
# A text that has every word of a question, at least so many, answers by its words alone, whatever the vectors of a model say: so
# many where its drawer is named, too, and so many where it is not. Its relevance is then at least the last of the three.
ALL_WORDS_NAMED, ALL_WORDS, RELEVANCE_OF_ALL_WORDS = 2, 3, 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class PalaceQuestion:
    """A prompt on its way through the layers: what there is to ask, which drawers it names, and what counts as evidence.

    Evidence has a relevance of at least `floor`; from `threshold` on it is certain.
    """

    text: str
    survey: Survey
    named: tuple[tuple[str, str], ...]
    asked: Asking
    floor: float
    threshold: float
    limit: int


@dataclass(frozen=True, slots=True)
class LayerAnswer:
    """What one layer answers: evidence, best first, or `why` there is none, or why it could not be asked (`failed`).

    `caveat` says what went wrong although there is evidence. `person` is who was asked about, when what fits the question best
    was said of somebody else.
    """

    evidence: tuple[Evidence, ...] = ()
    why: str = ""
    failed: str = ""
    caveat: str = ""
    person: str = ""


def oneself(palace: Palace, prompt: str, identity: str) -> LayerAnswer:
    """L0: the sentences of the identity that a question about the robot itself is about; all of them for "Who am I?".

    They answer where they have every word of the question, and may answer where they have more than half of its words.
    """
    wanted = content_words(prompt)
    sentences = [each for each in SENTENCE.split(identity) if each.strip()]
    shared = [wanted & content_words(each) for each in sentences]
    share = len(set[str]().union(*shared)) / len(wanted) if wanted else 1.0
    if not about_oneself(prompt) or share <= 1 / 2:
        return LayerAnswer(why="it is not about who I am")
    told = [each for each, words in zip(sentences, shared, strict=True) if words or not wanted]
    placed = palace.context.placed_identity()
    if placed is None:
        return LayerAnswer(why="who I am was not set by identify")
    return LayerAnswer((_evidence("L0", placed, RELEVANCE_OF_ALL_WORDS * share, content="\n".join(told)),))


def filed(palace: Palace, question: PalaceQuestion) -> LayerAnswer:
    """L1: what is filed in rooms and drawers. A text in a drawer that the prompt names is worth more."""
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
    scores, degraded = dict[str, float](), None
    if question.asked != "does not ask":
        hits, degraded = palace.context.recall(question.text, kind="artifact", limit=MAX_HITS)
        scores = {
            each.node_id: hit.relevance
            for each, hit in hits
            if hit.relevance >= question.threshold * (SHARE_TO_FETCH if each.facts.get("about") and not named else 1.0)
        }
    scores.update(dict.fromkeys(named, 1.0))
    known = sorted((id for id in scores if id in registered), key=lambda id: -scores[id])
    chosen = known[: min(question.limit, MAX_FETCHED)]
    evidence, failures = [], []
    for id in chosen:
        each = registered[id]
        try:
            with time_limit.uncounted():  # it has a time-out of its own
                content = palace.context.sources.fetch(
                    each.uri or "", owner=(palace.memory.tenant, each.owner), question=question.text
                )
        except FetchFailed as error:
            failures.append(f"{each.uri}: {error}")
            continue
        if content is not None:
            evidence.append(_evidence("L3", each, scores[id], content=content[:MAX_ARTIFACT_LENGTH]))
    return LayerAnswer(
        tuple(evidence), failed="; ".join(failures) or ("" if chosen else degraded or ""),
        why="the sources have no such thing" if chosen else "no artifact is named or near enough",
        caveat=f"; but {'; '.join(failures)}" if failures else "",
    )  # fmt: skip


def procedures(palace: Palace, question: PalaceQuestion) -> LayerAnswer:
    """L4: how something is done, found by a trigger that the prompt contains or by what the steps say."""
    known = question.survey.procedures
    triggered = tuple(_evidence("L4", each, 1.0) for each in known if _triggers(each, question.text))
    if triggered or not known:
        return LayerAnswer(triggered[: question.limit], why="no procedure is written down")
    return _recalled(palace, question, "L4", kind="procedure")


def triggers_a_procedure(survey: Survey, text: str) -> bool:
    """Whether a prompt contains a trigger of a procedure."""
    return any(_triggers(each, text) for each in survey.procedures)


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
        rf"(?<!\w){re.escape(before)}s?\s*+(?:no\.?|number|#|/)?\s*+#?{last}(?!\w)", text, re.IGNORECASE
    ) is not None  # fmt: skip


def _recalled(palace: Palace, question: PalaceQuestion, layer: str, *, kind: PlaceKind) -> LayerAnswer:
    """What is recalled of one kind of place, as evidence: what is relevant enough and does not merely ask."""
    found, degraded = palace.context.recall(question.text, kind=kind, limit=MAX_HITS)
    hits = [(each, _relevance(each, hit, question)) for each, hit in found]
    if kind == "filed" and question.asked != "does not ask":
        known = {each.id for each, _ in hits}
        newest = palace.context.newest_in(question.named)
        hits += [(each, _lift(each, UNFOUND, question)) for each in newest if each.id not in known]
    hits.sort(key=lambda each: -each[1])  # hits of equal relevance stay in the order of recall
    asks_back = about_questions(question.text)
    telling = [each for each in hits if asks_back or tells(question.text, each[0].content)]
    evidence = tuple(_evidence(layer, each, score) for each, score in telling if score >= question.floor)
    shares = {each.id for each, hit in found if hit.match.matched_words}
    if not telling:
        why = "what has to do with it only asks" if hits else "nothing is there that has to do with it"
    elif evidence and not any(_may_answer(each, score, question, shares) for each, score in telling):
        evidence, why = (), f"the best is relevant by {telling[0][1]:.3f}, and none has a word of it"
    else:
        why = f"the best is relevant by {telling[0][1]:.2f}, below {question.floor:g}"
    compared = [
        FoundText(each.content, f"{each.room} {each.drawer} {each.robot}") for each, _ in telling[:MAX_COMPARED]
    ]
    return LayerAnswer(
        evidence[: question.limit], why=why, failed=degraded or "", caveat=f"; {degraded}" if degraded else "",
        person=person_without_evidence(question.text, compared) or "",
    )  # fmt: skip


def _may_answer(placed: Placed, relevance: float, question: PalaceQuestion, shares: set[str]) -> bool:
    """Whether a text may answer: by its relevance, by a word that it shares, or by its drawer. Where none may, it is a miss."""
    here = (placed.room, placed.drawer) in question.named
    return here or placed.id in shares or relevance >= min(DOUBTFUL, question.threshold)


def _relevance(placed: Placed, hit: Hit, question: PalaceQuestion) -> float:
    """The relevance of a hit: more in a drawer that the prompt names, and more where it has every word of the prompt."""
    named = (placed.room, placed.drawer) in question.named and question.asked != "does not ask"
    relevance = _lift(placed, hit.relevance, question) if named else hit.relevance
    words = hit.match.query_words
    every = hit.match.matched_words == words and words >= (ALL_WORDS_NAMED if named else ALL_WORDS)
    return max(relevance, RELEVANCE_OF_ALL_WORDS) if every else relevance


def _lift(placed: Placed, relevance: float, question: PalaceQuestion) -> float:
    """The relevance of a text in a drawer that the prompt names."""
    here = [(placed.room, placed.drawer)]
    more = NAMED_IN_TEXT_TOO if named_places(placed.content, here) else NAMED
    within = min(max(relevance, 1e-6), 1 - 1e-6)
    lifted = 1 / (1 + (1 - within) / within * math.exp(-more))
    if relevance >= question.threshold or lifted < question.threshold:
        return lifted
    missing = content_words(question.text) - content_words(f"{placed.content} {placed.room} {placed.drawer}")
    return JUST_BELOW * question.threshold if missing else lifted


def _evidence(layer: str, placed: Placed, score: float, *, content: str | None = None) -> Evidence:
    return Evidence(
        layer=layer, content=placed.content if content is None else content, score=min(1.0, score), id=placed.id,
        node_id=placed.node_id, room=placed.room, drawer=placed.drawer, uri=placed.uri, robot=placed.robot,
        session=placed.session, at=placed.at,
    )  # fmt: skip
