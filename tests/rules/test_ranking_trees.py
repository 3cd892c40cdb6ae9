"""The ranker's trees: what they look at, that they fit it, and what they never do."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

from htm_core.rules import ranking, ranking_trees
from htm_core.rules.ranking import OF_A_KIND, weights_for
from htm_core.rules.ranking_trees import COLUMNS, TREE_FEATURES, installed, tree_rows
from htm_core.rules.text.question_kinds import KINDS

STORED = json.loads(files(ranking.__package__).joinpath("ranking_trees.json").read_text("utf-8"))
RANDOM = np.random.default_rng(5)


def test_the_stored_trees_are_those_of_the_features_and_look_at_what_there_is() -> None:
    trees = installed()
    assert tuple(STORED["features"]) == TREE_FEATURES
    assert 0 <= trees.features.min() <= trees.features.max() < len(TREE_FEATURES)
    assert trees.values.any()


@pytest.mark.parametrize("features", [TREE_FEATURES[1:], (*TREE_FEATURES[1:], TREE_FEATURES[0]), ()])
def test_trees_for_other_features_are_refused_with_how_to_grow_them(features: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"for the features of this version; run python -m benchmarks\.train_ranker"):
        ranking_trees.read({**STORED, "features": features})


def test_a_better_score_all_else_equal_is_never_put_below_a_worse_one() -> None:
    """Of candidates that are alike in all but their score the trees leave the order, for any likeness."""
    for row in RANDOM.random((200, len(COLUMNS))) - 0.2:
        ranked = np.sort(RANDOM.random(30))[::-1]
        after = ranked + installed().score(tree_rows(np.tile(row, (30, 1)), ranked))
        assert (np.diff(after) < 0).all()


def test_what_they_add_is_small_beside_a_score() -> None:
    rows = tree_rows(RANDOM.random((500, len(COLUMNS))) - 0.2, RANDOM.random(500))
    assert np.abs(installed().score(rows)).max() < 0.5


def test_a_candidate_is_seen_with_its_place_and_its_distance_to_the_best() -> None:
    columns = RANDOM.random((3, len(COLUMNS)))
    rows = tree_rows(columns, np.array([0.4, 0.9, 0.6]))
    assert rows[:, :-3].tolist() == columns.tolist()
    assert rows[:, -3].tolist() == [0.4, 0.9, 0.6]
    assert rows[:, -2].tolist() == pytest.approx([-0.5, 0.0, -0.3])
    assert rows[:, -1].tolist() == [2, 0, 1]


def test_what_counts_for_a_kind_of_question_is_seen_for_these_alone() -> None:
    columns = RANDOM.random((4, len(COLUMNS)))
    when = ranking_trees.crossed(columns, weights_for("When did Ann move?", words=True).of_a_kind)
    for place, name in enumerate(OF_A_KIND):
        kind, _, feature = name.partition(":")
        assert kind in KINDS
        expected = columns[:, COLUMNS.index(feature)] if kind == "when" else np.zeros(4)
        assert when[:, place].tolist() == expected.tolist()


def test_the_trees_count_as_much_as_the_ranker_and_not_at_all_without_words() -> None:
    assert weights_for("Who is Ann?", share=0.3, words=True).trees == 0.3
    assert weights_for("Who is Ann?", share=0.3).trees == 0.0
