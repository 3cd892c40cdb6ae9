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
    "said_before", "said_after", "by_user", "by_assistant",
)  # fmt: skip
TRAITS = tuple(str(trait.name).lower() for trait in Trait)  # by their bits

# From this weight of wishes and standing instructions on, they are candidates whatever the question is about.
WISHES_FROM = 0.1

# By feature or trait; "kind:feature" counts for questions of that kind, beside.
WEIGHTS: Mapping[str, float] = {
    "below_best": 0.0086, "nearness": -0.0025, "nearness_of_best": 0.0575, "coverage": -0.1138,
    "coverage_of_best": 0.0195, "share_of_words": 0.0001, "by_words_alone": -0.0197, "by_vector_alone": -0.0119,
    "log_place": -0.0227, "first_places": 0.0083, "context": -0.1623, "speaker": 0.0928, "time": 0.1799,
    "hits_of_conversation": 0.0188, "count_of_conversation": -0.0007, "said_before": 0.098, "said_after": 0.0947,
    "by_user": 0.0242, "by_assistant": -0.0242, "only_asks": -0.0606, "question": -0.0638, "number": -0.0002,
    "first_person": 0.042, "second_person": -0.0236, "time_named": 0.0252, "name": 0.035, "names": 0.0019,
    "wish": -0.0069, "code": 0.0475, "list": -0.0542, "standing": 0.0679, "when:time_named": 0.0296,
    "when:only_asks": -0.0408, "when:coverage": 0.0089, "number:number": 0.0003, "where:name": 0.0785,
    "who:name": 0.0613, "list:name": -0.019, "list:names": 0.0272, "list:nearness": -0.0199, "course:by_user": 0.0348,
    "course:nearness": -0.2114, "course:coverage": -0.4758, "course:first_person": -0.0233, "own:by_user": 0.0583,
    "own:by_assistant": -0.0596, "own:first_person": 0.0051, "own:wish": 0.006, "advice:wish": 0.1396,
    "advice:by_user": 0.006, "inference:nearness": -0.0477,
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
