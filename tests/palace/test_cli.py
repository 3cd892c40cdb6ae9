"""`htm palace` from the command line, with and without --json."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Htm, environment, htm, models

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
    htm("palace", "file", "Bob: I never row.", *WHERE)
    ask = ("palace", "consult", "Where did Bob say the key to the red boat hangs?", "--threshold", "0.1")
    assert "somebody else than Bob" in htm(*ask).out
    assert "hangs in the kitchen" in htm(*ask, "--no-persons").out


def test_a_note_is_promoted_with_a_reason_and_a_summary(htm: Htm) -> None:
    note = htm("palace", "note", "The heron was seen.", "--session", "s", "--json").json
    refused = htm("palace", "promote", note["id"], *WHERE, "--session", "s")
    assert refused.code != 0
    assert "--reason" in refused.err
    options = (*WHERE, "--session", "s", "--reason", "Asked for.", "--summary")
    assert "Promoted" in htm("palace", "promote", note["id"], *options, "The heron ships in May.").out
    assert "Duplicate" in htm("palace", "promote", note["id"], *options, "The heron ships in May.").out
    assert "contradicts" in htm("palace", "promote", note["id"], *options, "The heron ships in June.").out


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
