"""`htm tags` draws, counts, finds, gives and takes tags."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Htm


@pytest.fixture
def node(htm: Htm) -> str:
    htm("remember", "Ben drinks tea.", "--tags", "food:tea")
    return str(
        htm("remember", "Ann likes coffee.", "--tags", "food:coffee,person:ann", "--json").json[
            "id"
        ]
    )


def test_the_tree_is_printed_nested_and_drawn(htm: Htm, node: str) -> None:
    assert htm("tags").out.splitlines()[:3] == [
        "├── food (2)",
        "│   ├── coffee (1)",
        "│   └── tea (1)",
    ]
    assert htm("tags", "tree", "person").out == "person (1)\n└── ann (1)\n"
    assert htm("tags", "--as", "mermaid").out.startswith("flowchart LR\n")
    assert htm("tags", "--as", "svg").out.startswith("<svg ")
    [food, person] = htm("tags", "--json").json["children"]
    assert (food["tag"], food["nodes"], person["children"][0]["tag"]) == ("food", 2, "person:ann")


def test_tags_are_popular_found_and_related(htm: Htm, node: str) -> None:
    assert {each["tag"] for each in htm("tags", "popular", "--json").json} == {
        "food:tea",
        "food:coffee",
        "person:ann",
    }
    assert htm("tags", "search", "cofee", "--json").json[0]["tag"] == "food:coffee"
    assert htm("tags", "related", "food", "--json").json == [
        {"tag": "person:ann", "shared": 1, "weight": 0.5}
    ]
    assert "food:coffee" in htm("tags", "search", "coffee").out
    assert htm("tags", "popular", "--timeframe", "last year").code == 3


def test_tags_are_given_and_taken(htm: Htm, node: str) -> None:
    assert htm("tags", "add", node, "place:oslo", "--json").json["tags"] == [
        "food:coffee",
        "person:ann",
        "place:oslo",
    ]
    assert "person:ann" not in htm("tags", "remove", node, "person:ann", "place:oslo").out
    assert htm("tags", "add", node, "no good!").code == 2
    assert htm("tags", "add", "nobody", "a").code == 3


@pytest.mark.parametrize(
    "words",
    [["add", "x"], ["search"], ["related"], ["popular", "x"], ["tree", "a", "b"], ["dance"]],
)
def test_what_is_missing_or_too_much_is_a_mistake_of_usage(htm: Htm, words: list[str]) -> None:
    assert htm("tags", *words).code == 2


def test_without_tags_there_is_nothing(htm: Htm) -> None:
    assert htm("tags").code == 3
    assert htm("tags", "search", "x").code == 3
