"""The ranker: what was learned of how the parts of a score, and what a passage is like, go together.

A linear model over what recall computes in any case: `rules/scoring.py` computes its features, `python -m benchmarks.train_ranker`
fits the weights on this project's own chats, docs/why/ranker.md has the measurement. What it weighs to is added to the score.
Some weights depend on the kind of question, so they are put together for each question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .text.question_kinds import kinds_of
from .text.traits import Trait

# In the order in which `rules/scoring.py` computes them.
FEATURES = (
    "below_best", "nearness", "nearness_of_best", "coverage", "coverage_of_best", "share_of_words", "by_words_alone",
    "by_vector_alone", "log_place", "first_places", "context", "speaker", "time", "hits_of_conversation", "count_of_conversation",
    "said_before", "said_after", "by_user", "by_assistant", "near_before", "covered_before", "near_question_before",
    "covered_question_before",
)  # fmt: skip
TRAITS = tuple(str(trait.name).lower() for trait in Trait)  # by their bits

# From this weight of wishes and standing instructions on, they are candidates whatever the question is about.
WISHES_FROM = 0.14

# By feature or trait; "kind:feature" counts for questions of that kind, beside.
WEIGHTS: Mapping[str, float] = {
    "below_best": 0.0091, "nearness": -0.0159, "nearness_of_best": 0.0728, "coverage": -0.1745, "coverage_of_best": 0.0518,
    "share_of_words": 0.0192, "by_words_alone": -0.0107, "by_vector_alone": -0.0143, "log_place": -0.038,
    "first_places": -0.035, "context": -0.4655, "speaker": 0.409, "time": -0.0079, "hits_of_conversation": 0.0348,
    "count_of_conversation": -0.0027, "said_before": -0.0189, "said_after": 0.0971, "by_user": 0.0229,
    "by_assistant": -0.0229, "near_before": 0.0723, "covered_before": -0.0112, "near_question_before": 0.128,
    "covered_question_before": 0.0874, "only_asks": -0.0875, "question": -0.0403, "number": 0.0132, "first_person": 0.0579,
    "second_person": -0.008, "time_named": 0.023, "name": 0.0415, "names": -0.0023, "wish": 0.0111, "code": 0.0796,
    "list": -0.0898, "standing": 0.0856, "when:time_named": 0.0618, "when:only_asks": -0.0535, "when:coverage": 0.0389,
    "number:number": 0.0166, "where:name": 0.0841, "who:name": 0.0564, "list:name": -0.0086, "list:names": 0.0456,
    "list:nearness": -0.0583, "course:by_user": 0.0336, "course:nearness": -0.2535, "course:coverage": -0.6132,
    "course:first_person": -0.0164, "own:by_user": 0.0942, "own:by_assistant": -0.0992, "own:first_person": -0.0156,
    "own:wish": -0.0271, "advice:wish": 0.1835, "advice:by_user": -0.0272, "inference:nearness": -0.0965,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature, and each trait by its bit, adds to the score."""

    features: list[float]
    traits: list[float]

    @property
    def wishes_count(self) -> bool:
        """Whether what somebody wants once and for all counts, however far its words are from the question."""
        return sum(self.traits[bit.bit_length() - 1] for bit in (Trait.WISH, Trait.STANDING)) >= WISHES_FROM


def weights_for(question: str, *, share: float = 1.0) -> Weights:
    """The weights for a question, of which `share` counts."""
    kinds = kinds_of(question)

    def weight(name: str) -> float:
        return share * (WEIGHTS.get(name, 0.0) + sum(WEIGHTS.get(f"{kind}:{name}", 0.0) for kind in kinds))

    return Weights([weight(name) for name in FEATURES], [weight(name) for name in TRAITS])
