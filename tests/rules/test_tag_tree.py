"""A tree of tags counts, prints and draws every tag once, whatever its name."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput
from htm_core.tags.tag_tree import grow
from htm_core.text.tags import ancestors, closure

LEVELS = st.text(alphabet="abz09é東_.+#&-", min_size=1, max_size=5).filter(
    lambda level: any(c.isalnum() for c in level)
)
COUNTS = st.dictionaries(
    st.lists(LEVELS, min_size=1, max_size=4).map(":".join), st.integers(1, 10_000), max_size=12
)


def test_it_prints_as_people_draw_trees() -> None:
    tree = grow(
        {
            "user": 3,
            "user:preference": 2,
            "user:preference:colour": 1,
            "user:name": 1,
            "work": 1_200,
        }
    )
    assert str(tree) == (
        "├── user (3)\n│   ├── name (1)\n│   └── preference (2)\n│       └── colour (1)\n└── work (1,200)"
    )


def test_a_branch_has_its_tag_at_the_root() -> None:
    tree = grow({"user": 3, "user:name": 1}, prefix="user")
    assert str(tree) == "user (3)\n└── name (1)"
    assert (tree.tag, tree.nodes, tree.level) == ("user", 3, "user")


def test_mermaid_has_every_tag_and_every_edge() -> None:
    chart = grow({"a": 2, "a:b": 1, "c&d#": 1}).mermaid()
    assert (
        chart == 'flowchart LR\n  t0["a (2)"]\n  t1["b (1)"]\n  t2["c#amp;d#35; (1)"]\n  t0 --> t1'
    )
    assert grow({"a": 2}).mermaid(direction="TD").startswith("flowchart TD\n")
    with pytest.raises(InvalidInput, match="direction to be one of LR, TD, RL, BT, got 'up'"):
        grow({"a": 2}).mermaid(direction="up")


@given(COUNTS)
def test_a_tree_has_each_tag_and_each_ancestor_once_below_its_parent(
    counts: dict[str, int],
) -> None:
    tree = grow(counts)
    walked = list(tree)
    assert sorted(each.tag for each in walked) == sorted(closure(counts))
    for each in [tree, *walked]:
        assert each.nodes == counts.get(each.tag, 0)
        assert [child.tag for child in each.children] == sorted(
            child.tag for child in each.children
        )
        for child in each.children:
            assert each.tag == "" or ancestors(child.tag)[-2] == each.tag
    assert len(str(tree).splitlines()) == len(walked) or not walked


@given(COUNTS)
def test_drawings_are_well_formed_and_have_a_label_for_each_tag(counts: dict[str, int]) -> None:
    tree = grow(counts)
    drawing = ElementTree.fromstring(tree.svg(title="Tags & <more>"))
    labels = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert labels == [f"{each.level} ({each.nodes:,})" for each in tree]
    elbows = list(drawing.iter("{http://www.w3.org/2000/svg}path"))
    assert len(elbows) == sum(":" in each.tag for each in tree)
    lines = tree.mermaid().splitlines()[1:]
    assert sum("-->" in line for line in lines) == len(elbows)
    assert all(re.fullmatch(r'  t\d+(\["[^"]+"\]| --> t\d+)', line) for line in lines)


def test_a_drawing_of_a_branch_has_its_root() -> None:
    drawing = grow({"a:b": 2, "a:b:c": 1}, prefix="a:b").svg()
    assert drawing.count("<text") == 2
