"""The verbs from the command line: what was said is kept, found, shown, hidden, brought back and erased."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime

import pytest

from tests.cli.conftest import Htm
from tests.stand_ins import HashEmbedder


def said(htm: Htm, text: str, *options: object) -> str:
    """Remember a text and give its id."""
    return str(htm("remember", text, *options, "--json").json["id"])


def test_what_is_remembered_with_its_fields_comes_back_with_them(htm: Htm) -> None:
    options = [
        "--tags",
        "user:pet,dog",
        "--importance",
        "8",
        "--metadata",
        '{"age": 4}',
        "--name",
        "Ines",
        "--role",
        "user",
    ]
    node = htm(
        "remember",
        "The dog is called Biscuit.",
        *options,
        "--at",
        "2026-03-01T09:30:00+01:00",
        "--json",
    ).json
    assert (node["tags"], node["importance"], node["is_new"]) == (["dog", "user:pet"], 8.0, True)
    [hit] = htm(
        "recall", "dog", "--where", '{"age": {"$gte": 4}}', "--tags", "user", "--json"
    ).json["hits"]
    assert (hit["content"], hit["vector_rank"], hit["text_rank"]) == (
        "The dog is called Biscuit.",
        1,
        1,
    )
    assert hit["mentions"][0]["name"] == "Ines"
    assert datetime.fromisoformat(hit["mentions"][0]["at"]) == datetime(
        2026, 3, 1, 8, 30, tzinfo=UTC
    )
    assert htm("recall", "dog", "--where", '{"age": {"$gt": 4}}').code == 3


@pytest.mark.parametrize("piped", ["Two\nlines.", "Two\nlines.\n", "Two\nlines.\r\n"])
def test_a_text_is_read_from_stdin_without_the_end_of_its_last_line(htm: Htm, piped: str) -> None:
    typed = htm("remember", "Two\nlines.", "--json").json
    again = htm("remember", "-", "--json", input=piped).json
    assert (again["content"], again["id"]) == ("Two\nlines.", typed["id"])


@pytest.mark.usefixtures("real_embedder")
def test_what_a_note_replaces_is_known_when_the_command_ends(htm: Htm) -> None:
    said(htm, "I drive a Honda Civic.", "--at", "2026-03-01T09:00:00+01:00")
    said(htm, "I sold the Honda Civic, I drive a Tesla now.", "--at", "2026-03-02T09:00:00+01:00")
    [change] = htm("changes", "--json").json
    assert change["older"]["content"] == "I drive a Honda Civic."
    assert htm("jobs", "--json").json == []


def test_people_see_score_ranks_speaker_and_the_local_time(
    htm: Htm, monkeypatch: pytest.MonkeyPatch
) -> None:
    htm(
        "remember",
        "The dog is called Biscuit.",
        "--name",
        "Ines",
        "--at",
        "2026-03-01T23:30:00+00:00",
    )
    local = datetime(2026, 3, 1, 23, 30, tzinfo=UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    shown = htm("recall", "dog", "--explain").out
    for part in ("score", "meaning", "words", "Ines", local, "Biscuit", "ms for the search"):
        assert part in shown


def test_a_budget_shows_what_was_said_before_a_hit(htm: Htm) -> None:
    for name, text in (("Ines", "Which colour is the kite?"), ("Bo", "Blue, like the sea.")):
        htm("remember", text, "--name", name, "--session", "s")
    shown = htm("recall", "like the sea", "--limit", "1", "--budget", "200", "--session", "s").out
    assert "Ines: Which colour" in " ".join(shown.split())


def test_nothing_found_is_exit_code_3_and_an_empty_document(htm: Htm) -> None:
    done = htm("recall", "dog", "--json")
    assert (done.code, done.json["hits"]) == (3, [])
    assert htm("timeline", "--json").json == []
    assert htm("timeline").code == 3
    missing = htm("forget", "no-such-key")
    assert missing.code == 3
    assert missing.err.startswith("htm: ")


def test_a_vector_that_could_not_be_made_is_told_and_owed(
    htm: Htm, models: dict[str, HashEmbedder]
) -> None:
    name = f"away-{uuid.uuid4().hex[:8]}"  # no other test's worker knows it
    models[name] = HashEmbedder(name=name)
    models[name].down = True
    done = htm("remember", "The dog is called Biscuit.", "--embedder", name)
    assert done.code == 0
    assert "htm worker" in done.err
    assert htm("stats", "--json", "--embedder", name).json["pending_jobs"] == 1


def test_recall_takes_every_filter(htm: Htm) -> None:
    said(
        htm,
        "Tea at four.",
        "--robot",
        "atlas",
        "--session",
        "s1",
        "--at",
        "2026-01-05T12:00:00+00:00",
    )
    said(
        htm,
        "Tea at five.",
        "--robot",
        "hal",
        "--session",
        "s2",
        "--at",
        "2026-02-05T12:00:00+00:00",
    )

    def found(*options: object) -> set[str]:
        return {
            hit["content"]
            for hit in htm("recall", "tea", *options, "--no-hold", "--json").json["hits"]
        }

    assert found() == {"Tea at four.", "Tea at five."}
    assert found("--by", "atlas") == {"Tea at four."}
    assert found("--session", "s2") == {"Tea at five."}
    assert found("--session", "s2", "--scope", "tenant") == {"Tea at four.", "Tea at five."}
    assert found("--timeframe", "2026-01-01/2026-02-01") == {"Tea at four."}
    assert found("--mode", "text", "--limit", 1) <= {"Tea at four.", "Tea at five."}
    assert found("--budget", 0) == set()
    assert found("--min-score", 1) == set()


def test_users_see_their_own_and_what_is_shared(htm: Htm) -> None:
    said(htm, "Shared tea.")
    said(htm, "Ines's tea.", "--user", "ines")
    said(htm, "Jonas's tea.", "--user", "jonas")
    hits = htm("recall", "tea", "--user", "ines", "--json").json["hits"]
    assert {hit["content"] for hit in hits} == {"Shared tea.", "Ines's tea."}


def test_context_is_plain_text_within_its_budget_when_it_is_piped(htm: Htm) -> None:
    said(htm, "One thing.", "--robot", "atlas")
    said(htm, "Another thing.", "--robot", "atlas")
    assert set(htm("context", "--robot", "atlas").out.strip().split("\n\n")) == {
        "One thing.",
        "Another thing.",
    }
    made = htm("context", "--robot", "atlas", "--budget", 4, "--order", "recent", "--json").json
    assert made["tokens"] <= 4
    assert made["text"] == "Another thing."


def test_the_timeline_is_ascending_and_pages(htm: Htm) -> None:
    for day in (1, 2, 3):
        said(htm, f"Day {day}.", "--at", f"2026-05-0{day}T10:00:00+00:00", "--session", "may")
    said_then = htm("timeline", "--json").json
    assert [mention["content"] for mention in said_then] == ["Day 1.", "Day 2.", "Day 3."]
    before = htm("timeline", "--before", said_then[2]["id"], "--limit", 1, "--json").json
    assert [mention["content"] for mention in before] == ["Day 2."]
    after = htm("timeline", "--after", said_then[0]["id"], "--session", "may", "--json").json
    assert [mention["content"] for mention in after] == ["Day 2.", "Day 3."]
    assert htm("timeline", "--by", "nobody").code == 3


def test_forgotten_is_hidden_restored_is_back_purged_is_gone(htm: Htm) -> None:
    node = said(htm, "A secret about tea.")
    assert htm("forget", node).code == 0
    assert htm("recall", "tea").code == 3
    assert len(htm("timeline", "--forgotten", "--json").json) == 1
    assert "A secret about tea." in htm("restore", node).out
    assert htm("recall", "tea").code == 0
    htm("forget", node)
    assert htm("purge", "--older-than", "1 day", "--yes", "--json").json == {"purged": 0}
    assert htm("purge", "--older-than", "2999-01-01T00:00:00+00:00", "--yes", "--json").json == {
        "purged": 1
    }
    assert htm("restore", node).code == 3


def test_nothing_is_erased_without_a_yes(htm: Htm) -> None:
    node = said(htm, "Tea.", "--key", "drink")
    for words in (
        ("purge", "--older-than", "0 days"),
        ("erase", "--key", "drink"),
        ("erase", "--session", "s"),
    ):
        done = htm(*words)
        assert done.code == 2
        assert "--yes" in done.err
    assert htm("recall", "tea", "--json").json["hits"][0]["node"]["id"] == node


def test_a_key_a_session_and_a_user_are_erased_for_good(htm: Htm) -> None:
    said(htm, "Tea.", "--key", "drink")
    said(htm, "Tea in the morning.", "--session", "morning")
    said(htm, "Ines drinks tea.", "--user", "ines")
    assert htm("erase", "--key", "drink", "--yes", "--json").json["erased"]["nodes"] == 1
    assert "1 nodes" in htm("erase", "--session", "morning", "--yes").out
    assert htm("recall", "tea").code == 3
    assert htm("erase", "--user", "ines", "--yes", "--json").json["erased"]["nodes"] == 1
    assert htm("recall", "tea", "--scope", "tenant").code == 3


def test_stats_count_for_people_and_for_programs(htm: Htm) -> None:
    said(htm, "Tea.")
    counted = htm("stats", "--json").json
    assert (counted["nodes"], counted["mentions"], counted["vectors"]) == (1, 1, 1)
    assert counted["pending_jobs"] == 0  # it has its vector, and was compared
    assert re.search(r"nodes +1\b", htm("stats").out)


def test_a_model_that_is_not_the_tenants_is_refused_with_the_command(htm: Htm) -> None:
    said(htm, "Tea.")
    done = htm("recall", "tea", "--embedder", "another")
    assert done.code == 1
    assert "htm reembed --embedder" in done.err


def test_times_and_sources_are_options_of_remember(htm: Htm) -> None:
    htm(
        "remember",
        "The code is kingfisher.",
        "--valid",
        "until 12 May 2031",
        "--ttl",
        "30 days",
        "--source",
        "web",
    )
    [said] = htm("timeline", "--json").json
    assert said["source"] == "web"
    assert said["trust"] == 0
    assert said["valid_words"] == "until 12 May 2031"
    assert said["expires_at"] is not None
    assert htm("sweep", "--json").json == {"swept": 0}
    for words in (("--source", "rumour"), ("--ttl", "soon"), ("--valid", "some day")):
        assert htm("remember", "x", *words).code == 2


def test_who_names_no_user_and_finds_nothing_is_told_of_whom_there_are_memories(htm: Htm) -> None:
    alone = htm("recall", "Who is my vet?")
    assert (alone.code, alone.err.strip()) == (3, "Nothing was found.")
    said(htm, "My vet is Dr. Osei.", "--user", "nadia", "--role", "user")
    gone = said(htm, "My vet is Dr. Patel.", "--user", "bob")
    said(htm, "A note of nobody.", "--user", "\x1b[31mcle[/o]")
    htm("forget", gone, "--user", "bob")
    for command in (("recall", "Who is my vet?"), ("list",), ("timeline",), ("profile",)):
        answer = htm(*command)
        assert answer.code == 3
        assert " ".join(answer.err.split()).endswith(
            "there are memories of users: \ufffd[31mcle[/o], nadia"
        )
        assert answer.out == ""
    assert "of users" not in htm("recall", "Who is my vet?", "--user", "ben").err
    for number in range(6):
        said(htm, f"Note {number}.", "--user", f"user-{number}")
    assert htm("list").err.strip().endswith("nadia, user-0, user-1, user-2, …")


def test_one_memory_without_a_vector_is_one_memory(htm: Htm) -> None:
    assert (
        "1 memory is found by its words only"
        in htm("remember", "The dog is called Biscuit.", "--no-wait").err
    )
    assert (
        "2 memories are found by their words only"
        in htm("remember", "The cat is called Miso.", "--no-wait").err
    )
