"""The enforcer: recall before generation. It asks the layers of a palace about every prompt, judges
what they found together with whether the prompt asks for something remembered, and records what it
consulted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any
from uuid import UUID

from ..base.errors import HTMError, InvalidInput, ModelError, Ungrounded
from ..base.validation import check_query
from ..db.errors import attempts
from ..db.verbs import names_in, verbs
from ..engine.engine import new_id
from ..memory.aio import _Twin, awaited
from ..reading import readers
from ..writing import places
from .contradiction import contradictions_of
from .grounding.detection import Detection, Detector, detection
from .grounding.grounding import Grounding, Layer, Verdict, verdict
from .grounding.names import capitalised, named_places
from .layers import (
    LayerAnswer,
    PalaceQuestion,
    artifacts,
    filed,
    notes,
    oneself,
    procedures,
    triggers_a_procedure,
)
from .palace import Palace
from .reader import Reader, read, resolve_reader


def detect(prompt: str) -> Detection:
    """Say whether a prompt asks a question, such as memory may answer.

    It asks where it has a question mark or the embedded reader says so, and where it is no task,
    instruction, acknowledgement or pasted output. It does not tell a question about the world from
    one about what was said: both ask.

    Args:
        prompt: The words of the user or an agent. Any text, of any length; the reader reads its
            beginning.

    Returns:
        The decision and why. Where the reader is not here, or fails, the question mark decides, and
        the reason says so.
    """
    if not readers.is_here():
        return detection(prompt, None)
    try:
        return detection(prompt, readers.embedded_reader().kinds([prompt])[0])
    except ModelError:
        return detection(prompt, None)


# Evidence is certain from this relevance on: of the questions that a text only seems to answer, one
# in seven has as much. Below that it is shown with a doubt, down to a share of it: nine of ten
# right texts have it, and one in ten questions of another memory find one. docs/why/palace.md has
# the figures.
THRESHOLD = 0.6
FLOOR = 1 / 12
MAX_EVIDENCE = 6  # pieces
MAX_NAMES = 2_000  # drawers whose names are looked for in a prompt
MAX_PROMPT_LENGTH = 2_000  # characters of a prompt that the audit keeps
MAX_WHY_LENGTH = 500

Ask = Callable[[Palace, PalaceQuestion], LayerAnswer]
LAYERS: tuple[tuple[str, Ask], ...] = (
    ("L1", filed),
    ("L2", notes),
    ("L3", artifacts),
    ("L4", procedures),
)


@verbs(
    "htm.palace",
    telemetry_of=attrgetter("palace.context.engine.telemetry"),
    settings_of=attrgetter("palace.context.engine.settings"),
    store_of=attrgetter("palace.context.engine.tenant", "palace.context.engine.owner"),
    names_of=lambda self: names_in(self.palace.context.engine),
)
class Enforcer:
    """Consults a palace before anything is generated.

        question = "Which port does our API listen on?"
        grounding = Enforcer(palace).consult(question)
        if grounding.answer:        # there is no evidence: this is the honest answer
            reply = grounding.answer
        else:                       # give the evidence to a model
            reply = model.invoke(f"{grounding.text}\\n\\n{question}")

    - `detector`: says whether a prompt asks for something remembered. Any callable from the prompt
      to a `Detection` or a bool;
      default: `detect`, which says whether it asks a question. The layers are asked whatever it
          says.
    - `threshold`: evidence is certain from this relevance on, above 0 and at most 1. What is less
      relevant is shown with a doubt, down to a floor in proportion to it.
    - `strict`: when a layer could not be asked, `consult` raises `Ungrounded` instead of answering
      with what it has.
    - `limit`: how many pieces of evidence a layer gives, from 1 to 100.
    - `persons`: True if a text is no evidence for a question with names that has none of them, in
      itself or its place.
    - `reader`: reads the evidence and says whether it answers: a chat model of LangChain, an LLM of
      LlamaIndex, or a callable `(question, texts) -> bool | reason | None`. Default: the palace's
      own, else none. See `Reader`.
    """

    def __init__(
        self,
        palace: Palace,
        *,
        detector: Detector = detect,
        threshold: float = THRESHOLD,
        strict: bool = False,
        limit: int = MAX_EVIDENCE,
        persons: bool = True,
        reader: Reader | Any | None = None,
    ) -> None:
        number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not number or not math.isfinite(threshold) or not 0 < threshold <= 1:
            raise InvalidInput(
                f"expected threshold to be a number above 0 and at most 1, got {threshold!r}"
            )
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 100:
            raise InvalidInput(f"expected limit to be a whole number from 1 to 100, got {limit!r}")
        if not isinstance(palace, Palace) or not callable(detector):
            raise InvalidInput(
                f"expected a Palace and a callable detector, got {type(palace).__name__} and "
                f"{type(detector).__name__}; use "
                "Enforcer(Palace(memory))"
            )
        self.palace = palace
        self.detector = detector
        self.threshold = float(threshold)
        self.strict = strict
        self.limit = limit
        self.persons = persons
        self.reader = resolve_reader(reader) or palace.context.reader

    @property
    def aio(self) -> AsyncEnforcer:
        """The same verb, awaitable."""
        return AsyncEnforcer(self, self.palace.context.threads)

    def consult(self, prompt: str) -> Grounding:
        """Ask the layers, in order, what an answer to this prompt may rest on, and record what they
        said in the audit.

        Every prompt is looked up, whatever the detector says of it. One survey of what there is,
        and about one `Memory.recall` for each layer that has anything, until one has certain
        evidence. A question about the robot itself is answered from its identity, too. Raises
        `InvalidInput` for an empty prompt, `DeadlineExceeded` when all of it takes longer than
        `Settings.verb_timeout` and its readers and fetchers, and with `strict` `Ungrounded` when a
        layer could not be asked for a prompt that asks for something remembered.
        """
        text = check_query(prompt, what="question")
        detected = self.detector(text)
        detection = (
            detected
            if isinstance(detected, Detection)
            else Detection(bool(detected), "the given detector")
        )
        identity, first = self._identity()
        detection, walked = self._walk(text, detection)
        asks = detection.recall
        if identity and asks:
            known = self._ask("L0", asks, text, lambda: oneself(self.palace, text, identity))
            first = known if known.evidence or known.state == "failed" else first
        layers = [first, *walked]
        outcome = verdict(asks, layers)
        layers.append(_free_generation(asks, outcome))
        grounding = self._recorded(
            Grounding(
                prompt=text,
                detection=detection,
                verdict=outcome,
                layers=tuple(layers),
                identity=identity,
            )
        )
        if self.strict and detection.recall and grounding.failures:
            failures = "; ".join(
                f"{layer.layer} ({layer.name}): {layer.why}" for layer in grounding.failures
            )
            raise Ungrounded(
                f"expected every layer to be asked before an answer, but {failures}. Make sure "
                "that it can be asked, and try "
                "again; without strict the other layers answer, and the grounding says what failed"
            )
        return grounding

    def _identity(self) -> tuple[str | None, Layer]:
        """L0: who the robot is."""
        try:
            identity = self.palace.identity()
        except HTMError as error:
            return None, _failed("L0", error)
        why = "who I am" if identity else "nobody has said who I am"
        return identity, Layer(layer="L0", state="loaded", why=why)

    def _walk(self, text: str, detection: Detection) -> tuple[Detection, list[Layer]]:
        """L1 to L4, in order, with what the palace itself adds to the detection; layers after
        certain evidence are not asked.
        """
        try:
            survey = self.palace.context.survey(limit=MAX_NAMES)
        except HTMError as error:
            return detection, [_failed(layer, error) for layer, _ in LAYERS]
        if not detection.recall and triggers_a_procedure(survey, text):
            detection = Detection(True, "names a procedure's trigger", text[:80])
        named = tuple(named_places(text, survey.names))
        question = PalaceQuestion(
            text=text,
            names=capitalised(text) if self.persons else (),
            survey=survey,
            named=named,
            floor=FLOOR * self.threshold,
            threshold=self.threshold,
            limit=self.limit,
        )
        layers: list[Layer] = []
        found_in = ""
        for layer, ask in LAYERS:
            if found_in:
                layers.append(
                    Layer(layer=layer, state="skipped", why=f"{found_in} has certain evidence")
                )
                continue
            layers.append(
                self._ask(layer, detection.recall, text, partial(ask, self.palace, question))
            )
            found_in = layer if layers[-1].state == "hit" else ""
        return detection, self._with_contradictions(layers)

    def _ask(self, layer: str, asks: bool, prompt: str, ask: Callable[[], LayerAnswer]) -> Layer:
        """Return what a layer says, once a reader, if any, has said whether it finds an answer in
        it.
        """
        try:
            answer = ask()
        except HTMError as error:
            return _failed(layer, error)
        evidence, why, caveat = answer.evidence, answer.why, answer.caveat
        if not evidence:
            return Layer(
                layer=layer, state="failed" if answer.failed else "miss", why=answer.failed or why
            )
        marked = tuple(replace(each, certain=each.score >= self.threshold) for each in evidence)
        is_hit = marked[0].certain and asks
        why = f"relevant by {marked[0].score:.2f}, certain from {self.threshold:g} on{caveat}"
        if self.reader is None or not asks:
            return Layer(
                layer=layer, state="hit" if is_hit else "uncertain", why=why, evidence=marked
            )
        try:
            reading = read(self.reader, prompt, [each.content for each in marked])
        except ModelError as error:
            why, reading = f"{why}; judged without the reader: {error}", None
        if reading is False:
            return Layer(
                layer=layer, state="miss", why=f"{why}; but the reader finds no answer in it"
            )
        if reading is None:
            return Layer(
                layer=layer, state="hit" if is_hit else "uncertain", why=why, evidence=marked
            )
        reason = f": {reading}" if isinstance(reading, str) and reading.strip() else ""
        read_by = (replace(marked[0], certain=True), *marked[1:])
        return Layer(
            layer=layer,
            state="hit",
            why=f"{why}; the reader finds an answer{reason}",
            evidence=read_by,
        )

    def _with_contradictions(self, layers: Sequence[Layer]) -> list[Layer]:
        """The layers, their evidence with what contradicts it: by a relation that is known, or by
        the rules among each other.
        """
        evidence = [each for layer in layers for each in layer.evidence]
        if not evidence:
            return list(layers)
        try:
            known = self.palace.context.contradictions([UUID(each.node_id) for each in evidence])
        except HTMError:
            known = {}  # the evidence stands without them
        conflicts = {
            each.id: contradictions_of(each, evidence, known.get(each.node_id, ()))
            for each in evidence
        }
        return [
            replace(
                layer,
                evidence=tuple(
                    replace(each, contradictions=conflicts[each.id]) for each in layer.evidence
                ),
            )
            for layer in layers
        ]

    def _recorded(self, grounding: Grounding) -> Grounding:
        """The same with the id of its row in the audit. When it cannot be written, L5 stays closed:
        that is no miss.
        """
        engine = self.palace.context.engine
        row = self.palace.context.redacted(_row(grounding)) | {
            "id": new_id(),
            "owner": engine.owner,
            "robot": engine.robot,
            "session": engine.session or "",
            "at": engine.clock(),
        }
        try:
            for attempt in attempts():
                with attempt:
                    engine.in_one_message(partial(places.add_consultation, row=row))
        except HTMError as error:
            why = f"the consultation could not be written down: {error}"
            last = Layer(layer="L5", state="failed", why=why)
            outcome: Verdict = "failed" if grounding.verdict == "miss" else grounding.verdict
            return replace(grounding, layers=(*grounding.layers[:-1], last), verdict=outcome)
        engine.emit(
            "consult",
            evidence=len(grounding.evidence),
            failures=len(grounding.failures),
            verdict=grounding.verdict,
        )
        return replace(grounding, id=str(row["id"]))


def _failed(layer: str, error: HTMError) -> Layer:
    return Layer(layer=layer, state="failed", why=f"{type(error).__name__}: {error}")


def _free_generation(asks: bool, outcome: Verdict) -> Layer:
    """L5: whether free generation is allowed after this verdict."""
    if outcome == "failed":
        return Layer(
            layer="L5", state="skipped", why="a layer could not be asked, which is not a miss"
        )
    if outcome == "grounded" or (outcome == "uncertain" and asks):
        return Layer(layer="L5", state="skipped", why="there is evidence")
    return Layer(
        layer="L5",
        state="allowed",
        why="every layer was asked" if asks else "it asks for nothing remembered",
    )


def _row(grounding: Grounding) -> dict[str, Any]:
    """A consultation as the audit keeps it: where the evidence is, not its words."""
    layers = [
        {
            "layer": each.layer,
            "state": each.state,
            "why": each.why[:MAX_WHY_LENGTH],
            "evidence": [evidence.where for evidence in each.evidence],
        }
        for each in grounding.layers
    ]
    return {
        "prompt": grounding.prompt[:MAX_PROMPT_LENGTH],
        "recall": grounding.detection.recall,
        "rule": grounding.detection.rule,
        "verdict": grounding.verdict,
        "layers": layers,
    }


class AsyncEnforcer(_Twin[Enforcer]):
    """`Enforcer`, awaited."""

    consult = awaited(Enforcer.consult)
