"""Robots and groups from the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.conftest import Htm
from tests.conftest import Make
from tests.groups.test_groups import fall_silent


@pytest.fixture(autouse=True)
def apart() -> Iterator[None]:
    """No heart of this test beats in the next."""
    yield
    fall_silent()


def test_robots_are_listed_with_what_they_said_and_their_groups(htm: Htm, make: Make) -> None:
    htm("remember", "hello there", "--robot", "ada")
    with make("bella") as bella:
        bella.group("support", lease=60)
        found = {robot["name"]: robot for robot in htm("robots", "--json").json}
        assert (found["ada"]["mentions"], found["ada"]["working_items"]) == (1, 1)
        assert found["bella"]["groups"] == ["support"]
        shown = htm("robots").out
        assert "ada" in shown
        assert "support" in shown


def test_groups_are_listed_with_who_is_active_and_who_stands_by(htm: Htm, make: Make) -> None:
    assert "no groups" in htm("groups").err
    with make("ada") as ada, make("bella") as bella:
        ada.group("support", lease=60)
        bella.group("support", role="passive")
        ada.remember("hello there")
        found = htm("groups", "--json").json
        assert [(each["name"], each["lease"], each["working_items"]) for each in found] == [
            ("support", 60.0, 1)
        ]
        assert {m["robot"]: (m["role"], m["live"]) for m in found[0]["members"]} == {
            "ada": ("active", True),
            "bella": ("passive", True),
        }
        assert "ada" in htm("groups", "support").out
        assert (
            htm("groups", "support", "--session", "elsewhere", "--json").json[0]["working_items"]
            == 0
        )


def test_an_unknown_group_is_not_found(htm: Htm) -> None:
    asked = htm("groups", "nobody")
    assert asked.code == 3
    assert "expected a group" in asked.err


def test_a_member_that_is_lost_is_shown_as_lost(htm: Htm, make: Make) -> None:
    with make("ada") as ada:
        ada.group("support", lease=0.2)
        ada._runtime.heartbeat.stop()
        for _ in range(400):
            if "lost at" in (shown := " ".join(htm("groups").out.split())):
                break
        assert "ada (lost at" in shown
