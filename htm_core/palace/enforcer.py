"""The enforcer: recall before generation. It decides what was asked, walks the layers, and can prove what it consulted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..engine.engine import new_id
from ..errors import HTMError, InvalidInput, Ungrounded
from ..operations.recall import checked_query
from ..rules.detection.detect import Detection, Detector, detect
from ..rules.grounding.grounding import Grounding, Layer, verdict
from ..runtime import process
from ..store import places
from .layers import Answer, artifacts, filed, notes, procedures, triggered
from .palace import Palace

if TYPE_CHECKING:
    from .aio import AsyncEnforcer

# From this score on a memory is evidence; the trade-off is measured in docs/why/palace.md.
THRESHOLD = 0.24
MOST = 5  # pieces of evidence
LONGEST_PROMPT = 2_000  # characters of a prompt that the audit keeps

Ask = Callable[[Palace, str, float, int], Answer]
WALK: tuple[tuple[str, Ask], ...] = (("L1", filed), ("L2", notes), ("L3", artifacts), ("L4", procedures))


class Enforcer:
    """Consults a palace before anything is generated.

    `detector` says whether a prompt asks for something remembered: rules unless given; any callable that answers a
    `Detection` or a bool. Evidence is what scores at least `threshold` and does not merely ask; with `persons` no layer has
    any where what fits the question best was said of somebody else than it names. With `strict` a layer that could not be
    asked raises `Ungrounded`.
    """

    def __init__(
        self, palace: Palace, *, detector: Detector = detect, threshold: float = THRESHOLD, strict: bool = False,
        limit: int = MOST, persons: bool = True,
    ) -> None:  # fmt: skip
        number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not number or not math.isfinite(threshold) or not 0 < threshold <= 1:
            raise InvalidInput(f"expected threshold to be a number above 0 and at most 1, got {threshold!r}")
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 100:
            raise InvalidInput(f"expected limit to be a whole number from 1 to 100, got {limit!r}")
        if not isinstance(palace, Palace) or not callable(detector):
            raise InvalidInput(
                "expected a Palace, and a detector that can be called with a prompt; use Enforcer(Palace(memory))"
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
        from .aio import AsyncEnforcer  # made of this class, so it cannot be imported before it

        settings = self.palace.memory._options.settings
        return AsyncEnforcer(self, lambda: process.threads(settings))

    def consult(self, prompt: str) -> Grounding:
        """Ask the layers, in order, what an answer to this prompt may rest on, and write down what they said.

        Raises `InvalidInput` for an empty prompt, and with `strict` `Ungrounded` when a layer could not be asked.
        """
        text = checked_query(prompt)
        found = self._detected(text)
        identity, first = self._identity()
        asked = found.recall or triggered(self.palace, text)
        if asked and not found.recall:
            found = Detection(True, "names a procedure's trigger", text[:80])
        layers = [first, *(self._walk(text) if found.recall else _skipped("it asks for nothing remembered"))]
        layers.append(_last(found.recall, layers))
        grounding = Grounding(
            prompt=text, detection=found, verdict=verdict(found.recall, layers), layers=tuple(layers), identity=identity
        )
        return self._settled(self._recorded(grounding))

    def _detected(self, text: str) -> Detection:
        said = self.detector(text)
        return said if isinstance(said, Detection) else Detection(bool(said), "the given detector")

    def _identity(self) -> tuple[str | None, Layer]:
        try:
            identity = self.palace.identity()
        except HTMError as error:
            return None, _failed("L0", error)
        why = "who I am" if identity else "nobody has said who I am"
        return identity, Layer(layer="L0", state="loaded", why=why)

    def _walk(self, text: str) -> list[Layer]:
        """What L1 to L4 said; those after the first with evidence are not asked."""
        said: list[Layer] = []
        stopped = ""
        for layer, ask in WALK:
            if stopped:
                said.append(Layer(layer=layer, state="skipped", why=f"{stopped} has evidence"))
                continue
            said.append(self._asked(layer, ask, text))
            stopped = layer if said[-1].state == "hit" else ""
        return said

    def _asked(self, layer: str, ask: Ask, text: str) -> Layer:
        try:
            answer = ask(self.palace, text, self.threshold, self.limit)
        except HTMError as error:
            return _failed(layer, error)
        if answer.evidence and answer.whom and self.persons:
            answer = replace(answer, evidence=(), why=f"what fits it is about somebody else than {answer.whom}")
        if answer.evidence:
            best = max(each.score for each in answer.evidence)
            return Layer(layer=layer, state="hit", why=f"scored {best:.2f} of at least {self.threshold:g}{answer.but}",
                         evidence=answer.evidence)  # fmt: skip
        if answer.failed:
            return Layer(layer=layer, state="failed", why=answer.failed)
        return Layer(layer=layer, state="miss", why=answer.why)

    def _recorded(self, grounding: Grounding) -> Grounding:
        """The same, written down; where that fails it is no miss, and L5 stays closed."""
        engine = self.palace.memory._engine
        row = _row(grounding) | {
            "id": new_id(), "owner": engine.owner, "robot": engine.robot, "session": engine.session or "", "at": engine.clock(),
        }  # fmt: skip
        try:
            with engine.transaction() as connection:
                places.consulted(connection, row)
        except HTMError as error:
            why = f"the consultation could not be written down: {error}"
            last = Layer(layer="L5", state="failed", why=why)
            state = (
                "failed" if grounding.verdict in ("miss", "free") and grounding.detection.recall else grounding.verdict
            )
            return replace(grounding, layers=(*grounding.layers[:-1], last), verdict=state)
        engine.emit(
            "consult", evidence=len(grounding.evidence), failures=len(grounding.failures), verdict=grounding.verdict
        )
        return replace(grounding, id=str(row["id"]))

    def _settled(self, grounding: Grounding) -> Grounding:
        if self.strict and grounding.detection.recall and grounding.failures:
            said = "; ".join(f"{layer.layer} ({layer.name}): {layer.why}" for layer in grounding.failures)
            raise Ungrounded(
                f"expected every layer to be asked before an answer, but {said}. See that it can be, and ask again; without "
                "strict the other layers answer and the grounding says what failed"
            )
        return grounding


def _skipped(why: str) -> list[Layer]:
    return [Layer(layer=layer, state="skipped", why=why) for layer, _ in WALK]


def _failed(layer: str, error: HTMError) -> Layer:
    return Layer(layer=layer, state="failed", why=f"{type(error).__name__}: {error}")


def _last(recall: bool, layers: Sequence[Layer]) -> Layer:
    said = verdict(recall, layers)
    if said == "grounded":
        return Layer(layer="L5", state="skipped", why="there is evidence")
    if said == "failed":
        return Layer(layer="L5", state="skipped", why="a layer could not be asked, which is not a miss")
    return Layer(
        layer="L5", state="allowed", why="every layer was asked" if recall else "it asks for nothing remembered"
    )


def _row(grounding: Grounding) -> dict[str, Any]:
    """A consultation as the audit keeps it: where evidence lies, not its words."""
    layers = [
        {
            "layer": each.layer,
            "state": each.state,
            "why": each.why[:500],
            "evidence": [evidence.where for evidence in each.evidence],
        }
        for each in grounding.layers
    ]
    return {
        "prompt": grounding.prompt[:LONGEST_PROMPT], "recall": grounding.detection.recall, "rule": grounding.detection.rule,
        "verdict": grounding.verdict, "layers": layers,
    }  # fmt: skip
