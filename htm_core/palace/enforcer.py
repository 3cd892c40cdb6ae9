"""The enforcer: recall before generation. It decides whether a prompt asks for something remembered, asks the layers of the
palace in order, and records what it consulted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..aio import _Twin, awaited
from ..engine.engine import new_id
from ..errors import HTMError, InvalidInput, Ungrounded
from ..rules.detection.detect import Detection, Detector, detect
from ..rules.grounding.grounding import Grounding, Layer, verdict
from ..rules.validation import check_query
from ..store import places
from .layers import LayerAnswer, artifacts, filed, notes, procedures, triggers_a_procedure
from .palace import Palace

# A memory is evidence from this score on; docs/why/palace.md has the measurement.
THRESHOLD = 0.24
MAX_EVIDENCE = 5  # pieces
MAX_PROMPT_LENGTH = 2_000  # characters of a prompt that the audit keeps
MAX_WHY_LENGTH = 500

Ask = Callable[[Palace, str, float, int], LayerAnswer]
LAYERS: tuple[tuple[str, Ask], ...] = (("L1", filed), ("L2", notes), ("L3", artifacts), ("L4", procedures))


class Enforcer:
    """Consults a palace before anything is generated.

        question = "Which port does our API listen on?"
        grounding = Enforcer(palace).consult(question)
        if grounding.answer:        # there is no evidence: this is the honest answer
            reply = grounding.answer
        else:                       # give the evidence to a model
            reply = model.invoke(f"{grounding.text}\\n\\n{question}")

    - `detector`: says whether a prompt asks for something remembered. Any callable from the prompt to a `Detection` or a bool;
      default: rules for English.
    - `threshold`: a memory is evidence from this score on, above 0 and at most 1.
    - `strict`: when a layer could not be asked, `consult` raises `Ungrounded` instead of answering with what it has.
    - `limit`: how many pieces of evidence a layer gives, from 1 to 100.
    - `persons`: whether a layer has no evidence when the question names one person and what fits it best was said of another.
    """

    def __init__(
        self, palace: Palace, *, detector: Detector = detect, threshold: float = THRESHOLD, strict: bool = False,
        limit: int = MAX_EVIDENCE, persons: bool = True,
    ) -> None:  # fmt: skip
        number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not number or not math.isfinite(threshold) or not 0 < threshold <= 1:
            raise InvalidInput(f"expected threshold to be a number above 0 and at most 1, got {threshold!r}")
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 100:
            raise InvalidInput(f"expected limit to be a whole number from 1 to 100, got {limit!r}")
        if not isinstance(palace, Palace) or not callable(detector):
            raise InvalidInput(
                f"expected a Palace and a callable detector, got {type(palace).__name__} and {type(detector).__name__}; use "
                "Enforcer(Palace(memory))"
            )
        self.palace = palace
        self.detector = detector
        self.threshold = float(threshold)
        self.strict = strict
        self.limit = limit
        self.persons = persons

    @property
    def aio(self) -> AsyncEnforcer:
        """The same verb, awaitable."""
        return AsyncEnforcer(self, self.palace.context.threads)

    def consult(self, prompt: str) -> Grounding:
        """Ask the layers, in order, what an answer to this prompt may rest on, and record what they said in the audit.

        A layer costs about one `Memory.recall`; the first with evidence ends the walk. Raises `InvalidInput` for an empty
        prompt, and with `strict` `Ungrounded` when a layer could not be asked.
        """
        text = check_query(prompt)
        said = self.detector(text)
        detection = said if isinstance(said, Detection) else Detection(bool(said), "the given detector")
        identity, first = self._identity()
        if not detection.recall and triggers_a_procedure(self.palace, text):
            detection = Detection(True, "names a procedure's trigger", text[:80])
        layers = [first, *(self._ask_layers(text) if detection.recall else _skipped("it asks for nothing remembered"))]
        layers.append(_free_generation(detection.recall, layers))
        grounding = self._recorded(
            Grounding(
                prompt=text, detection=detection, verdict=verdict(detection.recall, layers), layers=tuple(layers),
                identity=identity,
            )
        )  # fmt: skip
        if self.strict and detection.recall and grounding.failures:
            failures = "; ".join(f"{layer.layer} ({layer.name}): {layer.why}" for layer in grounding.failures)
            raise Ungrounded(
                f"expected every layer to be asked before an answer, but {failures}. Make sure that it can be asked, and try "
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

    def _ask_layers(self, text: str) -> list[Layer]:
        """L1 to L4, in order; those after the first with evidence are not asked."""
        layers: list[Layer] = []
        found_in = ""
        for layer, ask in LAYERS:
            if found_in:
                layers.append(Layer(layer=layer, state="skipped", why=f"{found_in} has evidence"))
                continue
            layers.append(self._ask(layer, ask, text))
            found_in = layer if layers[-1].state == "hit" else ""
        return layers

    def _ask(self, layer: str, ask: Ask, text: str) -> Layer:
        try:
            answer = ask(self.palace, text, self.threshold, self.limit)
        except HTMError as error:
            return _failed(layer, error)
        evidence, why = answer.evidence, answer.why
        if evidence and answer.person and self.persons:
            evidence, why = (), f"what fits it is about somebody else than {answer.person}"
        if evidence:
            best = max(each.score for each in evidence)
            why = f"scored {best:.2f} of at least {self.threshold:g}{answer.caveat}"
            return Layer(layer=layer, state="hit", why=why, evidence=evidence)
        if answer.failed:
            return Layer(layer=layer, state="failed", why=answer.failed)
        return Layer(layer=layer, state="miss", why=why)

    def _recorded(self, grounding: Grounding) -> Grounding:
        """The same with the id of its row in the audit. When it cannot be written, L5 stays closed: that is no miss."""
        engine = self.palace.context.engine
        row = _row(grounding) | {
            "id": new_id(), "owner": engine.owner, "robot": engine.robot, "session": engine.session or "", "at": engine.clock(),
        }  # fmt: skip
        try:
            with engine.transaction() as connection:
                places.add_consultation(connection, row)
        except HTMError as error:
            why = f"the consultation could not be written down: {error}"
            last = Layer(layer="L5", state="failed", why=why)
            asks = grounding.verdict in ("miss", "free") and grounding.detection.recall
            state = "failed" if asks else grounding.verdict
            return replace(grounding, layers=(*grounding.layers[:-1], last), verdict=state)
        engine.emit(
            "consult", evidence=len(grounding.evidence), failures=len(grounding.failures), verdict=grounding.verdict
        )
        return replace(grounding, id=str(row["id"]))


def _skipped(why: str) -> list[Layer]:
    return [Layer(layer=layer, state="skipped", why=why) for layer, _ in LAYERS]


def _failed(layer: str, error: HTMError) -> Layer:
    return Layer(layer=layer, state="failed", why=f"{type(error).__name__}: {error}")


def _free_generation(recall: bool, layers: Sequence[Layer]) -> Layer:
    """L5: whether free generation is allowed after these layers."""
    said = verdict(recall, layers)
    if said == "grounded":
        return Layer(layer="L5", state="skipped", why="there is evidence")
    if said == "failed":
        return Layer(layer="L5", state="skipped", why="a layer could not be asked, which is not a miss")
    return Layer(
        layer="L5", state="allowed", why="every layer was asked" if recall else "it asks for nothing remembered"
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
        "prompt": grounding.prompt[:MAX_PROMPT_LENGTH], "recall": grounding.detection.recall, "rule": grounding.detection.rule,
        "verdict": grounding.verdict, "layers": layers,
    }  # fmt: skip


class AsyncEnforcer(_Twin[Enforcer]):
    """`Enforcer`, awaited."""

    consult = awaited(Enforcer.consult)
