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


# The same where the words of passages are compared with those of the question, too: how near they come is "interaction".
WEIGHTS_WITH_WORDS: Mapping[str, float] = {
    "below_best": 0.0158, "nearness": -0.1474, "nearness_of_best": 0.0828, "coverage": -0.2303,
    "coverage_of_best": 0.0827, "share_of_words": 0.028, "by_words_alone": 0.0041, "by_vector_alone": -0.0019,
    "log_place": -0.0672, "first_places": -0.1078, "context": -0.4949, "speaker": 0.9864, "time": 0.1736,
    "hits_of_conversation": 0.0678, "count_of_conversation": -0.0055, "said_before": -0.1577, "said_after": 0.1372,
    "by_user": 0.0263, "by_assistant": -0.0263, "near_before": 0.1838, "covered_before": -0.0185,
    "near_question_before": 0.2687, "covered_question_before": 0.1812, "only_asks": -0.1362, "question": -0.0493,
    "number": 0.0345, "first_person": 0.0856, "second_person": 0.0075, "time_named": 0.0225, "name": 0.0447,
    "names": 0.0009, "wish": 0.0126, "code": 0.1066, "list": -0.1642, "standing": 0.1282, "interaction": 0.7278,
    "when:time_named": 0.0968, "when:only_asks": -0.0856, "when:coverage": 0.0713, "number:number": 0.04,
    "where:name": 0.108, "who:name": 0.0853, "list:name": -0.0126, "list:names": 0.0713, "list:nearness": -0.1073,
    "course:by_user": 0.0256, "course:nearness": -0.285, "course:coverage": -0.8895, "course:first_person": -0.0037,
    "own:by_user": 0.1594, "own:by_assistant": -0.1718, "own:first_person": -0.0324, "own:wish": -0.0414,
    "advice:wish": 0.259, "advice:by_user": -0.0358, "inference:nearness": -0.0956,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature, and each trait by its bit, adds to the score, and how near the words of a passage come."""

    features: list[float]
    traits: list[float]
    interaction: float = 0.0

    @property
    def wishes_count(self) -> bool:
        """Whether what somebody wants once and for all counts, however far its words are from the question."""
        return sum(self.traits[bit.bit_length() - 1] for bit in (Trait.WISH, Trait.STANDING)) >= WISHES_FROM


def weights_for(question: str, *, share: float = 1.0, words: bool = False) -> Weights:
    """The weights for a question, of which `share` counts; `words` says whether words are compared, too."""
    kinds = kinds_of(question)
    table = WEIGHTS_WITH_WORDS if words else WEIGHTS

    def weight(name: str) -> float:
        return share * (table.get(name, 0.0) + sum(table.get(f"{kind}:{name}", 0.0) for kind in kinds))

    return Weights([weight(name) for name in FEATURES], [weight(name) for name in TRAITS], weight("interaction"))
