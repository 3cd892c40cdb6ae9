"""`htm link` joins memories and `htm related` shows what hangs together with one."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Htm


@pytest.fixture
def nodes(htm: Htm) -> tuple[str, str, str]:
    ids = [
        htm("remember", text, "--json").json["id"]
        for text in ("The boiler is broken.", "The cellar is flooded.", "Aker was here in May.")
    ]
    return (ids[0], ids[1], ids[2])


def test_what_was_linked_is_related_with_its_path(htm: Htm, nodes: tuple[str, str, str]) -> None:
    boiler, cellar, aker = nodes
    made = htm("link", cellar, boiler, "--type", "supports", "--weight", "0.5", "--json").json
    assert made == {
        "source": cellar,
        "target": boiler,
        "kind": "supports",
        "origin": "link",
        "weight": 0.5,
    }
    assert htm("link", boiler, aker).out == f"{boiler} → {aker}  related by 1\n"
    [near, far] = htm("related", aker, "--json").json
    assert (near["node"]["id"], near["weight"], len(near["path"])) == (boiler, 1.0, 1)
    assert (far["node"]["id"], far["weight"], far["path"][1]) == (cellar, 0.5, made)
    assert "related, ← supports" in htm("related", aker).out
    assert "supports →" in htm("related", cellar).out
    assert [each["node"]["id"] for each in htm("related", aker, "--hops", "1", "--json").json] == [
        boiler
    ]


def test_related_keeps_to_types_weights_and_a_limit(htm: Htm, nodes: tuple[str, str, str]) -> None:
    boiler, cellar, aker = nodes
    htm("link", boiler, cellar, "--kind", "contradicts", "--weight", "0.4")
    htm("link", boiler, aker)
    assert len(htm("related", boiler, "--json").json) == 2
    assert [
        each["node"]["id"]
        for each in htm("related", boiler, "--type", "contradicts", "--json").json
    ] == [cellar]
    assert [
        each["node"]["id"] for each in htm("related", boiler, "--min-weight", "0.5", "--json").json
    ] == [aker]
    assert [
        each["node"]["id"] for each in htm("related", boiler, "--limit", "1", "--json").json
    ] == [aker]


def test_a_link_is_taken_away_by_a_weight_of_nothing(htm: Htm, nodes: tuple[str, str, str]) -> None:
    boiler, cellar, _ = nodes
    htm("link", boiler, cellar)
    assert htm("link", boiler, cellar, "--weight", "0").out.endswith("related no longer\n")
    answer = htm("related", boiler, "--json")
    assert (answer.code, answer.json) == (3, [])


def test_a_key_names_a_memory_as_well(htm: Htm, nodes: tuple[str, str, str]) -> None:
    htm("remember", "lives in Rome", "--key", "home")
    htm("link", "home", nodes[0])
    assert [each["node"]["id"] for each in htm("related", "home", "--json").json] == [nodes[0]]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["link", "{0}", "{0}"], 2),
        (["link", "{0}", "{1}", "--type", "loves"], 2),
        (["link", "{0}", "{1}", "--weight", "2"], 2),
        (["link", "{0}"], 2),
        (["link", "{0}", "nobody"], 3),
        (["related", "nobody"], 3),
        (["related", "{0}", "--hops", "0"], 2),
        (["related", "{0}"], 3),
    ],
)
def test_what_cannot_be_meant_or_is_not_there_has_its_exit_code(
    htm: Htm, nodes: tuple[str, str, str], words: list[str], code: int
) -> None:
    assert htm(*(word.format(*nodes) for word in words)).code == code
