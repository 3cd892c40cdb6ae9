"""The ranker: what was learned of how the parts of a score, and what a passage is like, go together.

A linear model over what recall computes in any case: `recall.sql` computes its features, `python -m benchmarks.train_ranker`
fits the weights on this project's own chats, docs/why/ranker.md has the measurement. What it weighs to is added to the score.
Some weights depend on the kind of question, so they are put together for each question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .text.question_kinds import kinds_of
from .text.traits import Trait

# In the order in which `recall.sql` computes them.
FEATURES = (
    "below_best", "nearness", "nearness_of_best", "coverage", "coverage_of_best", "share_of_words", "by_words_alone",
    "by_vector_alone", "log_place", "first_places", "context", "speaker", "time", "hits_of_conversation", "count_of_conversation",
    "said_before", "said_after", "by_user", "by_assistant",
)  # fmt: skip
TRAITS = tuple(str(trait.name).lower() for trait in Trait)  # by their bits

# By feature or trait; "kind:feature" counts for questions of that kind, beside.
WEIGHTS: Mapping[str, float] = {
    "below_best": 0.0085, "nearness": -0.0054, "nearness_of_best": 0.0535, "coverage": -0.1141,
    "coverage_of_best": 0.0212, "share_of_words": 0.0104, "by_words_alone": -0.0254, "by_vector_alone": -0.0107,
    "log_place": -0.0233, "first_places": 0.0121, "context": -0.0861, "speaker": 0.079, "time": 0.1627,
    "hits_of_conversation": 0.0173, "count_of_conversation": -0.0013, "said_before": 0.1, "said_after": 0.0645,
    "by_user": 0.019, "by_assistant": -0.019, "only_asks": -0.0564, "question": -0.0572, "number": -0.0046,
    "first_person": 0.0451, "second_person": -0.0279, "time_named": 0.0253, "name": 0.0396, "names": 0.0002,
    "wish": -0.0118, "code": 0.0412, "list": -0.0486, "standing": 0.0521, "when:time_named": 0.0249,
    "when:only_asks": -0.0384, "when:coverage": 0.0088, "number:number": -0.0039, "where:name": 0.0718,
    "who:name": 0.0558, "list:name": -0.0217, "list:names": 0.0357, "list:nearness": -0.0268, "course:by_user": 0.0278,
    "course:nearness": -0.198, "course:coverage": -0.4601, "course:first_person": -0.0259, "own:by_user": 0.0585,
    "own:by_assistant": -0.0586, "own:first_person": 0.0213, "own:wish": 0.015, "advice:wish": 0.1474,
    "advice:by_user": -0.0036, "inference:nearness": 0.0341,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature, and each trait by its bit, adds to the score."""

    features: list[float]
    traits: list[float]


def weights_for(question: str, *, share: float = 1.0) -> Weights:
    """The weights for a question, of which `share` counts."""
    kinds = kinds_of(question)

    def weight(name: str) -> float:
        return share * (WEIGHTS.get(name, 0.0) + sum(WEIGHTS.get(f"{kind}:{name}", 0.0) for kind in kinds))

    return Weights([weight(name) for name in FEATURES], [weight(name) for name in TRAITS])
