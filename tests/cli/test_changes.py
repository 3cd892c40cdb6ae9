"""`htm changes` shows what newer sayings replaced, takes a change back, and confirms it."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Htm

OLDER, NEWER = (
    "We deploy the shop with Jenkins.",
    "We switched the shop from Jenkins to GitHub Actions.",
)


@pytest.mark.usefixtures("real_embedder")
def test_changes_are_listed_undone_confirmed_and_audited(htm: Htm) -> None:
    for text in (OLDER, NEWER):
        htm("remember", text)
    htm("worker", "--once")
    [change] = htm("changes", "--json").json
    assert (change["older"]["content"], change["newer"]["content"]) == (OLDER, NEWER)
    assert "Jenkins" in htm("changes").out
    assert (
        htm("changes", "undo", change["id"], "--reason", "both", "--json").json[0]["state"]
        == "undone"
    )
    assert htm("changes", "confirm", change["id"], "--json").json[0]["state"] == "confirmed"
    assert [row["action"] for row in htm("changes", "audit", change["id"], "--json").json] == [
        "made",
        "undone",
        "confirmed",
    ]
    assert "both" in htm("changes", "audit", change["id"]).out
    assert (
        htm("changes", "list", change["newer"]["node_id"], "--json").json[0]["id"] == change["id"]
    )


def test_an_id_is_needed_for_what_changes_something(htm: Htm) -> None:
    assert htm("changes", "undo").code != 0
