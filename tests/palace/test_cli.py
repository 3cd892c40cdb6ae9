"""`htm palace` from the command line, with and without --json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from htm_core.base.errors import InvalidInput, NotFound
from htm_core.cli.palace_sources import Tracker, fetcher_of
from tests.cli.conftest import Htm, environment, htm, models
from tests.palace import trackers

__all__ = ["environment", "htm", "models"]

WHERE = ("--room", "projects", "--drawer", "heron")


def test_a_palace_is_furnished_looked_at_and_consulted(htm: Htm) -> None:
    assert htm("palace", "init", "I am Atlas.").code == 0
    filed = htm("palace", "file", "The heron project ships in May.", *WHERE, "--json").json
    assert (filed["room"], filed["drawer"]) == ("projects", "heron")
    assert "ships in May" in htm("palace", "look").out
    said = htm("palace", "consult", "When does our heron project ship?", "--threshold", "0.1").out
    assert "ships in May" in said
    assert "L1" in said
    missing = htm("palace", "consult", "What is my sister's name?", "--threshold", "0.9")
    assert "I don't have this in my memory palace." in missing.out
    assert "I am Atlas." in htm("palace", "wake").out
    assert {"grounded", "miss"} <= set(htm("palace", "audit").out.split())


def test_the_check_of_persons_can_be_switched_off(htm: Htm) -> None:
    htm("palace", "file", "Ann: The key to the red boat hangs in the kitchen.", *WHERE)
    ask = (
        "palace",
        "consult",
        "Where did Bob say the key to the red boat hangs?",
        "--threshold",
        "0.1",
    )
    assert "does not speak of Bob" in htm(*ask).out
    assert "hangs in the kitchen" in htm(*ask, "--no-persons").out


def test_a_note_is_promoted_with_a_reason_and_a_summary(htm: Htm) -> None:
    note = htm("palace", "note", "The heron was seen.", "--session", "s", "--json").json
    refused = htm("palace", "promote", note["id"], *WHERE, "--session", "s")
    assert refused.code != 0
    assert "--reason" in refused.err
    options = (*WHERE, "--session", "s", "--reason", "Asked for.", "--summary")
    assert (
        "Promoted" in htm("palace", "promote", note["id"], *options, "The heron ships in May.").out
    )
    assert (
        "Duplicate" in htm("palace", "promote", note["id"], *options, "The heron ships in May.").out
    )
    assert (
        "contradicts"
        in htm("palace", "promote", note["id"], *options, "The heron ships in June.").out
    )


def test_a_palace_goes_to_a_folder_and_back(htm: Htm, tmp_path: Path) -> None:
    htm("palace", "file", "The heron project ships in May.", *WHERE)
    assert "1 memories in 1 drawers" in htm("palace", "export", tmp_path / "out").out
    file = tmp_path / "out" / "rooms" / "projects" / "heron.md"
    file.write_text(file.read_text().replace("May", "June"))
    assert "1 edited" in htm("palace", "import", tmp_path / "out").out
    assert "June" in htm("palace", "look").out


def test_wrong_arguments_are_explained(htm: Htm) -> None:
    assert "--room" in htm("palace", "file", "Somewhere.").err
    assert "expected words" in htm("palace", "note").err
    assert "expected no words" in htm("palace", "look", "here").err


def test_after_a_change_of_the_model_the_palace_is_consulted_with_the_new_one(htm: Htm) -> None:
    htm("palace", "file", "The heron project ships in May.", *WHERE)
    assert htm("reembed", "--embedder", "other").code == 0
    said = htm("palace", "consult", "When does our heron project ship?", "--json").json
    assert (said["verdict"], said["layers"][1]["state"]) == ("grounded", "hit")
    assert htm("palace", "file", "The ibis project ships in June.", *WHERE).code == 0


@pytest.fixture
def gitea(monkeypatch: pytest.MonkeyPatch) -> Iterator[trackers.StandIn]:
    """A Gitea with two issues, whose token is in the environment."""
    with trackers.stand_in() as server:
        server.answer = trackers.Tracker(
            "gitea",
            {7: "Rotate the keys", 42: "Login fails since Monday"},
            ["A restart helps."],
            {"On-call": "Ann."},
        )
        monkeypatch.setenv("GITEA_TOKEN", trackers.TOKEN)
        monkeypatch.setenv("GITEA_HOST", server.url)
        yield server


def test_issues_are_registered_and_fetched_when_a_question_names_one(
    htm: Htm, gitea: trackers.StandIn
) -> None:
    source = f"{gitea.url}/team/api"
    told = htm("palace", "register", source, "--tracker", "gitea", "--json").json
    assert (told["listed"], told["added"], told["complete"]) == (3, 3, True)
    assert "3 listed, 0 new" in htm("palace", "register", source, "--tracker", "gitea").out
    ask = ("palace", "consult", "What is the status of issue 42?")
    found = htm(*ask, "--source", source, "--tracker", "gitea", "--json").json
    assert (found["verdict"], found["layers"][3]["state"]) == ("grounded", "hit")
    assert "A restart helps." in found["layers"][3]["evidence"][0]["content"]
    assert (
        "--source" in htm(*ask, "--json").out
    )  # another process has no fetcher, and its layer says what to do


def test_one_thing_is_fetched_as_it_is_now_and_nothing_is_stored(
    htm: Htm, gitea: trackers.StandIn, tmp_path: Path
) -> None:
    told = htm("palace", "fetch", f"{gitea.url}/team/api/issues/42", "--tracker", "gitea")
    assert "Issue #42: Login fails since Monday" in told.out
    assert (
        htm("palace", "fetch", f"{gitea.url}/team/api/wiki/On-call", "--tracker", "gitea", "--json")
        .json["text"]
        .endswith("Ann.")
    )
    missing = htm("palace", "fetch", f"{gitea.url}/team/api/issues/43", "--tracker", "gitea")
    assert (missing.code, missing.out) == (3, "")
    (tmp_path / "holidays.md").write_text("# Holidays\n\nThirty days.\n")
    assert "Thirty days." in htm("palace", "fetch", tmp_path / "holidays.md").out
    assert htm("stats", "--json").json["nodes"] == 0


def test_a_token_is_sent_only_to_the_host_that_it_is_for(
    htm: Htm, gitea: trackers.StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address may come from a list that anybody has written."""
    monkeypatch.setenv("GITEA_HOST", "git.example.org")
    for kind, below in (("gitea", "issues"), ("github", "issues"), ("gitlab", "-/issues")):
        monkeypatch.setenv(f"{kind.upper()}_TOKEN", trackers.TOKEN)
        assert (
            htm("palace", "fetch", f"{gitea.url}/team/api/{below}/42", "--tracker", kind).code != 0
        )
    assert len(gitea.asked) >= 3
    assert not any(trackers.TOKEN in str(request.headers) for request in gitea.asked)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("https://github.com/owner/name", "github:github.com/owner/name/issues"),
        ("https://github.com/owner/name.git", "github:github.com/owner/name/issues"),
        ("https://github.com/owner/name/issues/42", "github:github.com/owner/name/issues"),
        ("https://codeberg.org/owner/name/wiki/Home", "gitea:codeberg.org/owner/name/issues+wiki"),
        (
            "https://gitlab.example.org/group/sub/project/-/issues/42",
            "gitlab:gitlab.example.org/group/sub/project/issues+wiki",
        ),
        (
            "https://forgejo.example.org/below/owner/name/issues",
            "gitea:forgejo.example.org/below/owner/name/issues+wiki",
        ),
    ],
)
def test_an_address_of_something_stands_for_its_repository(source: str, name: str) -> None:
    assert fetcher_of(source).name == name


def test_what_is_no_source_is_refused_with_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--tracker gitea, github or gitlab"):
        fetcher_of("https://git.example.org/team/api")
    with pytest.raises(InvalidInput, match="such as https"):
        fetcher_of("ftp://git.example.org/team/api")
    with pytest.raises(InvalidInput, match="expected repository to be such as 'owner/name'"):
        fetcher_of("https://git.example.org/team", tracker=Tracker.gitea)
    with pytest.raises(NotFound, match="expected a folder"):
        fetcher_of(str(tmp_path / "none"))
