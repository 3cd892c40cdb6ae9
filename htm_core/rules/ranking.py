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
    "below_best": 0.0132, "nearness": -0.1217, "nearness_of_best": 0.0594, "coverage": -0.2214,
    "coverage_of_best": 0.0805, "share_of_words": -0.0178, "by_words_alone": 0.0072, "by_vector_alone": -0.0057,
    "log_place": -0.0527, "first_places": -0.0769, "context": -0.4761, "speaker": 0.8117, "time": 0.0024,
    "hits_of_conversation": 0.0585, "count_of_conversation": -0.0044, "said_before": -0.1178, "said_after": 0.107,
    "by_user": 0.0273, "by_assistant": -0.0273, "near_before": 0.1573, "covered_before": -0.0277,
    "near_question_before": 0.2354, "covered_question_before": 0.1826, "only_asks": -0.1123, "question": -0.0375,
    "number": 0.0268, "first_person": 0.0723, "second_person": -0.004, "time_named": 0.0236, "name": 0.0462,
    "names": -0.0026, "wish": 0.0221, "code": 0.1016, "list": -0.1368, "standing": 0.1185, "when:time_named": 0.0919,
    "when:only_asks": -0.0728, "when:coverage": 0.0328, "number:number": 0.0235, "where:name": 0.0964,
    "who:name": 0.0706, "list:name": -0.003, "list:names": 0.0657, "list:nearness": -0.1103, "course:by_user": 0.0431,
    "course:nearness": -0.3042, "course:coverage": -0.8184, "course:first_person": -0.0131, "own:by_user": 0.1388,
    "own:by_assistant": -0.1476, "own:first_person": -0.0379, "own:wish": -0.0605, "advice:wish": 0.2558,
    "advice:by_user": -0.0548, "inference:nearness": -0.1473, "interaction": 0.7105,
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
