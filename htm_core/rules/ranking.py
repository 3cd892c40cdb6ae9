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
    "below_best": 0.0088, "nearness": -0.0026, "nearness_of_best": 0.057, "coverage": -0.1149,
    "coverage_of_best": 0.0228, "share_of_words": 0.009, "by_words_alone": -0.0249, "by_vector_alone": -0.0099,
    "log_place": -0.0238, "first_places": 0.0124, "context": -0.0695, "speaker": 0.0792, "time": 0.1642,
    "hits_of_conversation": 0.0171, "count_of_conversation": -0.0013, "said_before": 0.1065, "said_after": 0.0688,
    "by_user": 0.0196, "by_assistant": -0.0196, "only_asks": -0.0572, "question": -0.0592, "number": -0.006,
    "first_person": 0.0462, "second_person": -0.0285, "time_named": 0.0252, "name": 0.0392, "names": -0.0014, "wish": -0.0137,
    "code": 0.0444, "list": -0.0476, "when:time_named": 0.0256, "when:only_asks": -0.0389, "when:coverage": 0.0125,
    "number:number": -0.003, "where:name": 0.0731, "who:name": 0.0576, "list:name": -0.0209, "list:names": 0.0377,
    "list:nearness": -0.0256, "course:by_user": 0.0285, "course:nearness": -0.1998, "course:coverage": -0.4777,
    "course:first_person": -0.0263, "own:by_user": 0.0597, "own:by_assistant": -0.0598, "own:first_person": 0.0223,
    "own:wish": 0.0357, "advice:wish": 0.2166, "advice:by_user": -0.0192, "inference:nearness": 0.0353,
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
