"""The ranker: what was learned of how the parts of a score go together, with what stands beside a message, and who said it.

A linear model over what recall computes in any case: `rules/scoring.py` computes its features, `python -m benchmarks.train_ranker`
fits the weights on this project's own chats, docs/why/reader.md has the measurement. What it weighs to is added to the score.
"""

from __future__ import annotations

# Beside the weights, so that what is added is about 0 on average: below 0 a score has no room for an order.
CONSTANT = 0.25
WEIGHTS = {
    "nearness": -0.0756, "coverage": -0.3425, "share_of_words": 0.1688, "by_words_alone": -0.0172, "by_vector_alone": -0.0649,
    "log_place": -0.0516, "first_places": -0.0748, "context": -1.281, "speaker": 0.9238, "by_assistant": -0.2139,
    "said_before": -0.1514, "said_after": 0.1166, "near_before": 0.3099, "covered_before": 0.1377, "hits_of_conversation": 0.0439,
    "count_of_conversation": -0.0034,
}  # fmt: skip
