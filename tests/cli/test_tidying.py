"""`htm profile` shows what is known of a user; `htm tidy` merges, shows beforehand what it would do, and undoes."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Htm


def remember(htm: Htm, text: str, session: str) -> str:
    return str(
        htm("remember", text, "--user", "ann", "--session", session, "--no-wait", "--json").json[
            "id"
        ]
    )


@pytest.mark.usefixtures("real_embedder")
def test_a_profile_is_shown_with_where_it_was_said_or_as_a_model_gets_it(htm: Htm) -> None:
    assert htm("profile", "--user", "ann").code == 3
    remember(htm, "I live in Lisbon.", "old")
    remember(htm, "I moved from Lisbon to Porto.", "new")
    shown = htm("profile", "--user", "ann")
    assert "I moved from Lisbon to Porto. (before: I live in Lisbon.)" in shown.out
    assert "new" in shown.out
    assert htm("profile", "--user", "ann", "--text").out.startswith(
        'Places: "I moved from Lisbon to Porto." (said '
    )
    [line] = htm("profile", "--user", "ann", "--json").json["lines"]
    assert line["key"] == "profile:places:i-moved-from-lisbon-to-porto"
    assert line["former"][0]["value"] == "I live in Lisbon."
    assert htm("profile", "--user", "bob").code == 3


def test_a_dry_run_shows_what_tidying_then_does_and_undo_takes_it_back(htm: Htm) -> None:
    first = remember(htm, "My sister Clara works at a bakery.", "a")
    second = remember(htm, "my sister Clara works at a bakery!", "b")
    would = htm("tidy", "--user", "ann", "--dry-run")
    assert "1 memories would be merged" in would.out
    assert "Nothing was changed." in would.out
    assert "says the same as" in would.out
    done = htm("tidy", "--user", "ann", "--kind", "merge", "--json").json
    assert [(each["node_id"], each["into_id"]) for each in done["merges"]] == [(second, first)]
    assert done["lines"] == []
    assert "0 memories merged" in htm("tidy", "--user", "ann").out
    assert (
        htm("tidy", "--user", "ann", "--undo", first).out
        == "1 memories stand for themselves again.\n"
    )
    assert htm("tidy", "--user", "ann", "--undo", first).code != 0
    assert htm("tidy", "--user", "ann", "--undo", second, "--json").code != 0


def test_a_summarizer_that_is_none_is_refused(htm: Htm) -> None:
    refused = htm("tidy", "--user", "ann", "--summarizer", "gpt")
    assert refused.code != 0
    assert "summarizer" in refused.err
