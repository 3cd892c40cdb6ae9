"""Importing: run twice, imported once; interrupted, it goes on; broken, nothing came of it."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import sqlite3
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from htm_core import Memory
from htm_core.cli import importing
from htm_core.importers.sources import archives, sources
from tests.cli.conftest import Htm
from tests.pdfs import pdf_of
from tests.stand_ins import HashEmbedder

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts"
COUNTS = ("imported", "changed", "known", "skipped")


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A transcript of 25 turns, two of which say the same words."""
    return write(tmp_path / "talk.jsonl", [turn(n) for n in range(24)] + [turn(0)])


def turn(n: int, **more: Any) -> dict[str, Any]:
    return {
        "session": "june",
        "role": "user",
        "name": "Ines",
        "content": f"Turn number {n}.",
    } | more


def write(file: Path, turns: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(each) + "\n" for each in turns))
    return file


def counts(htm: Htm, *words: object) -> tuple[int, ...]:
    """What an import says became of one file."""
    [file] = htm("import", *words, "--json").json["files"]
    return tuple(file[name] for name in COUNTS)


def test_run_twice_it_is_imported_once(htm: Htm, talk: Path) -> None:
    assert counts(htm, talk) == (25, 0, 0, 0)
    assert counts(htm, talk) == (0, 0, 25, 0)
    stats = htm("stats", "--json").json
    assert (stats["mentions"], stats["nodes"], stats["vectors"], stats["pending_jobs"]) == (
        25,
        24,
        24,
        0,
    )


def test_a_file_that_has_grown_adds_what_is_new(htm: Htm, talk: Path) -> None:
    counts(htm, talk)
    with talk.open("a") as file:
        file.write(json.dumps(turn(99)) + "\n")
    assert counts(htm, talk) == (1, 0, 25, 0)


@contextlib.contextmanager
def interrupted_in_the_second_batch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ctrl-C when the second batch is about to be written."""
    remember, calls = Memory.remember_many, []

    def stopping(self: Memory, drafts: Any) -> Any:
        calls.append(len(drafts))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return remember(self, drafts)

    with monkeypatch.context() as patch:
        patch.setattr(Memory, "remember_many", stopping)
        yield


def test_interrupted_it_goes_on_where_it_was(
    htm: Htm, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 10)
    with interrupted_in_the_second_batch(monkeypatch):
        ended = htm("import", talk)
    assert (ended.code, ended.err.splitlines()[-1]) == (
        130, "htm: interrupted; what was imported is kept, and the same command goes on where it was"
    )  # fmt: skip
    assert counts(htm, talk) == (15, 0, 10, 0)


def test_a_turn_that_says_something_else_under_its_id_is_changed(htm: Htm, tmp_path: Path) -> None:
    file = write(tmp_path / "talk.jsonl", [turn(1, id="a"), turn(2, id="b")])
    assert counts(htm, file) == (2, 0, 0, 0)
    write(file, [turn(1, id="a"), turn(3, id="b")])
    assert counts(htm, file) == (0, 1, 1, 0)
    assert [each["content"] for each in htm("timeline", "--json").json] == [
        "Turn number 1.",
        "Turn number 3.",
    ]


def test_a_broken_line_is_named_and_keeps_up_nothing_else_of_any_file(
    htm: Htm, talk: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(
        b'{"content": "fine"}\n{"content": \n{"content": "caf\xe9"}\n{"content": "too"}\n{"content": 5}\n'
    )
    none = tmp_path / "picture.png"
    none.write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    done = htm("import", talk, broken, none)
    assert done.code == 1
    said = " ".join(done.out.split())
    assert "skipped 3: not understood (3)" in said
    assert "broken.jsonl, line 2: column 13: expected JSON" in said
    assert "broken.jsonl, line 3: expected UTF-8; byte 0xe9 came" in said
    assert "broken.jsonl, line 5: expected 'content' to be text" in said
    assert "picture.png: expected a transcript; it looks like a PNG picture" in said
    assert [
        each["content"] for each in htm("timeline", "--json", "--session", "broken.jsonl").json
    ] == ["fine", "too"]
    assert htm("stats", "--json").json["mentions"] == 27
    alone = htm("import", none)
    assert (alone.code, alone.out) == (2, "")


def test_what_is_left_out_is_counted_with_its_reason(htm: Htm, tmp_path: Path) -> None:
    file = write(tmp_path / "talk.jsonl", [turn(1), turn(2, content="  "), turn(3, content=None)])
    [told] = htm("import", file, "--json").json["files"]
    assert (told["imported"], told["skipped"], told["reasons"]) == (1, 2, {"no text in it": 2})
    assert "no text in it (2)" in htm("import", file).out


@pytest.mark.parametrize("file", sorted(FIXTURES.iterdir()), ids=lambda file: file.name)
def test_every_kind_of_transcript_is_imported(htm: Htm, file: Path) -> None:
    [told] = htm("import", file, "--json").json["files"]
    assert told["imported"] == told["turns"] > 0
    assert counts(htm, file)[2] == told["turns"]


@pytest.mark.parametrize(
    "file",
    [each for each in sorted(FIXTURES.iterdir()) if each.name != "doorstep.txt"],
    ids=lambda file: file.name,
)
def test_every_kind_goes_on_where_it_was_interrupted(
    htm: Htm, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 1)
    with interrupted_in_the_second_batch(monkeypatch):
        assert htm("import", file, "--no-wait").code == 130
    turns = htm("import", file, "--dry-run", "--json").json["files"][0]["turns"]
    assert counts(htm, file, "--no-wait")[:3] == (turns - 1, 0, 1)
    assert counts(htm, file, "--no-wait")[:3] == (0, 0, turns)


def conversation(id: str, *texts: str) -> dict[str, Any]:
    """A conversation as Claude exports it."""
    messages = [
        {
            "uuid": f"{id}-{n}",
            "sender": "human",
            "content": [{"type": "text", "text": text}],
            "created_at": "2026-01-04T10:00:00Z",
        }
        for n, text in enumerate(texts)
    ]
    return {"uuid": id, "name": f"About {id}", "chat_messages": messages}


def archive(file: Path, **members: str) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return file


def test_a_newer_export_as_it_is_downloaded_adds_only_what_is_new(htm: Htm, tmp_path: Path) -> None:
    older = [conversation("apples", "Which apples keep?", "ok"), conversation("pears", "ok")]
    first = archive(
        tmp_path / "data-2026-01.zip",
        **{"users.json": "[]", "conversations.json": json.dumps(older)},
    )
    assert counts(htm, first) == (3, 0, 0, 0)
    newer = [conversation("plums", "And plums?"), conversation("pears", "ok", "thanks"), older[0]]
    second = archive(tmp_path / "data-2026-02.zip", **{"conversations.json": json.dumps(newer)})
    assert counts(htm, second) == (2, 0, 3, 0)
    folder = tmp_path / "unpacked"
    folder.mkdir()
    (folder / "conversations.json").write_text(json.dumps(newer))
    assert counts(htm, folder) == counts(htm, folder / "conversations.json") == (0, 0, 5, 0)
    [told] = htm("import", second, "--json").json["files"]
    assert (told["format"], told["sessions"], told["titles"][0]) == ("claude", 3, "About plums")


def test_an_export_cut_into_files_is_read_in_their_order(htm: Htm, tmp_path: Path) -> None:
    parts = {
        f"export/conversations-00{n}.json": json.dumps([conversation(f"c{n}", f"Words {n}")])
        for n in (1, 0)
    }
    assert counts(htm, archive(tmp_path / "chatgpt.zip", **parts)) == (2, 0, 0, 0)
    assert [each["content"] for each in htm("timeline", "--json").json] == ["Words 0", "Words 1"]


def zip_bomb(file: Path) -> Path:
    return archive(file, **{"conversations.json": "[" + " " * 3_000_000})


def path_that_leads_out(file: Path) -> Path:
    return archive(
        file,
        **{"../../evil/conversations.json": json.dumps([conversation("c", "Harmless words.")])},
    )


def test_a_zip_bomb_is_refused_before_it_is_unpacked(
    htm: Htm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "ARCHIVE_SMALL", 1_000_000)
    done = htm("import", zip_bomb(tmp_path / "bomb.zip"))
    assert done.code == 2
    assert "looks like a zip bomb" in done.err
    monkeypatch.setattr(archives, "ARCHIVE_BYTES", 2_000_000)
    monkeypatch.setattr(archives, "ARCHIVE_RATIO", 10_000)
    assert "in one archive, got more" in htm("import", tmp_path / "bomb.zip").err


def test_a_path_in_an_archive_leads_nowhere(htm: Htm, tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert counts(htm, path_that_leads_out(inner / "export.zip")) == (1, 0, 0, 0)
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a", "b", "export.zip"]


def cut_off(file: Path) -> Path:
    whole = archive(
        file, **{"conversations.json": json.dumps([conversation("c", *map(str, range(999)))])}
    )
    file.write_bytes(whole.read_bytes()[:-200])
    return file


def damaged(file: Path) -> Path:
    content = bytearray(
        archive(
            file, **{"conversations.json": json.dumps([conversation("c", *map(str, range(999)))])}
        ).read_bytes()
    )
    content[200:260] = b"x" * 60
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (cut_off, "got a broken one"),
        (damaged, "broken"),
        (lambda file: archive(file, **{"word/document.xml": "<w/>"}), "looks like a Word document"),
        (lambda file: archive(file, **{"a.txt": "hi"}), "a zip archive of other files (a.txt)"),
        (lambda file: archive(file, **{"conversations.json": "[]"}), "an empty JSON list"),
    ],
)
def test_an_archive_that_is_no_export_is_refused_with_what_it_is(
    htm: Htm, tmp_path: Path, made: Callable[[Path], Path], words: str
) -> None:
    done = htm("import", made(tmp_path / "export.zip"))
    assert done.code == 2
    assert words in done.err
    assert htm("timeline").code == 3


@pytest.mark.parametrize("content", ["", " \n", "[]", "\ufeff"])
def test_an_empty_file_is_an_error_that_says_what_is_understood(
    htm: Htm, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text(content)
    done = htm("import", file)
    assert done.code == 2
    assert "got an empty file. Understood are exports of ChatGPT and Claude" in done.err


def test_a_folder_of_sessions_is_read_and_what_is_none_is_named(htm: Htm, tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "2026" / "02"
    folder.mkdir(parents=True)
    shutil.copy(FIXTURES / "rollout.jsonl", folder / "rollout-1.jsonl")
    (folder / "other.jsonl").write_text('{"weather": "fine"}\n')
    (folder / "notes.txt").write_text("not read")
    [told] = htm("import", tmp_path / "sessions", "--json").json["files"]
    assert (told["format"], told["imported"], told["reasons"]["not understood"]) == ("codex", 4, 1)
    assert "2026/02/other.jsonl" in [each["where"] for each in told["examples"]]
    assert counts(htm, tmp_path / "sessions")[:3] == (0, 0, 4)


def test_a_transcript_comes_through_stdin_in_the_format_that_is_named(htm: Htm) -> None:
    done = htm(
        "import", "-", "--format", "text", "--json", input="Ines: good morning\nJonas: hello\n"
    )
    assert done.json["files"][0]["imported"] == 2
    assert [each["name"] for each in htm("timeline", "--json").json] == ["Ines", "Jonas"]


def test_a_long_file_is_read_line_by_line_with_the_same_outcome(
    htm: Htm, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts(htm, talk)
    monkeypatch.setattr(sources, "LONG_FILE", 10)
    assert counts(htm, talk) == (0, 0, 25, 0)


def test_without_waiting_the_vectors_are_owed(htm: Htm, talk: Path) -> None:
    apart = (
        "--embedder",
        f"apart-{uuid.uuid4().hex[:8]}",
    )  # a model that no other test's worker knows
    done = htm("import", talk, "--no-wait", *apart)
    assert done.code == 0
    assert "htm worker" in done.err
    assert htm("stats", "--json", *apart).json["pending_jobs"] == 24


def test_a_model_that_is_down_does_not_keep_an_import_up(
    htm: Htm, talk: Path, models: dict[str, HashEmbedder]
) -> None:
    name = f"away-{uuid.uuid4().hex[:8]}"
    models[name] = HashEmbedder(name=name)
    models[name].down = True
    done = htm("import", talk, "--embedder", name)
    assert done.code == 0
    assert "by their words only" in done.err
    assert (
        htm("recall", "turn number 7", "--json", "--embedder", name).json["hits"][0]["content"]
        == "Turn number 7."
    )


def test_what_a_user_imports_is_theirs(htm: Htm, talk: Path) -> None:
    counts(htm, talk, "--user", "ines")
    assert htm("recall", "turn", "--user", "jonas").code == 3
    assert counts(htm, talk, "--user", "jonas") == (25, 0, 0, 0)


# -- what is said about it ------------------------------------------------------------------------------------------------


def test_a_dry_run_says_what_would_be_imported_and_imports_nothing(htm: Htm, talk: Path) -> None:
    done = htm("import", talk, "--dry-run")
    assert "to import 25" in done.out
    assert "nothing was imported" in done.out
    assert htm("timeline").code == 3
    counts(htm, talk)
    with talk.open("a") as file:
        file.write(json.dumps(turn(99)) + "\n")
    assert counts(htm, talk, "--dry-run") == (1, 0, 25, 0)
    assert htm("stats", "--json").json["mentions"] == 25


@pytest.mark.parametrize("width", [60, 80])
def test_the_report_fits_the_terminal_and_shows_titles_and_what_was_not_understood(
    htm: Htm, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = htm("import", FIXTURES / "claude.json", "--dry-run").out
    monkeypatch.setenv("COLUMNS", "1000")
    wide = htm("import", FIXTURES / "claude.json", "--dry-run").out
    assert max(map(len, narrow.splitlines())) <= width
    assert narrow.split() == wide.split()  # lines are broken between words
    assert narrow.startswith("claude.json (claude: 2 conversations, 4 turns)\n")
    assert "about “Apples” and 1 more" in narrow
    said = " ".join(narrow.split())
    assert "claude.json, conversation 1, message 6: expected `at` in ISO 8601" in said
    assert "'yesterday' came" in said


def test_the_timeline_shows_a_title_and_not_the_id_of_its_conversation(htm: Htm) -> None:
    htm("import", FIXTURES / "claude.json")
    out = htm("timeline").out
    assert "Apples" in out
    assert "conv-1" not in out
    assert "conv-2" in out  # which has no title


def test_a_turn_that_cannot_be_stored_keeps_up_no_others(htm: Htm, tmp_path: Path) -> None:
    file = write(tmp_path / "talk.jsonl", [turn(1), turn(2, content="x" * 1_000_001), turn(3)])
    done = htm("import", file)
    assert done.code == 1
    assert "skipped 1: cannot be stored (1)" in done.out
    assert "talk.jsonl, line 2: expected content of at most" in " ".join(done.out.split())
    assert "expected content of at most 1,000,000 characters, got 1,000,001" in " ".join(
        done.out.split()
    )
    assert [each["content"] for each in htm("timeline", "--json").json] == [
        "Turn number 1.",
        "Turn number 3.",
    ]
    write(file, [turn(1, session="y" * 300)])
    assert "at most 255 characters" in htm("import", file).err


def test_what_a_redactor_has_changed_is_known_when_it_comes_again(
    htm: Htm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTM_REDACTOR", "default")
    file = write(tmp_path / "talk.jsonl", [turn(1, content="Write to ines@example.org, please.")])
    assert counts(htm, file) == (1, 0, 0, 0)
    assert counts(htm, file) == (0, 0, 1, 0)


# -- mem0 and MemPalace ---------------------------------------------------------------------------------------------------


def test_a_memory_of_mem0_that_came_from_a_message_keeps_its_role_and_who_said_it(
    htm: Htm, tmp_path: Path
) -> None:
    made = {
        "id": "a1",
        "memory": "Likes tea.",
        "role": "user",
        "actor_id": "cleo",
        "user_id": "ann",
        "metadata": None,
    }
    file = tmp_path / "export.json"
    file.write_text(
        json.dumps(
            {
                "results": [
                    made | {"created_at": "2026-03-01T10:00:00+00:00", "attributed_to": "user"}
                ]
            }
        )
    )
    assert counts(htm, file) == (1, 0, 0, 0)
    [said] = htm("timeline", "--json").json
    assert (said["content"], said["role"], said["name"]) == ("Likes tea.", "user", "cleo")
    assert said["metadata"]["attributed_to"] == "user"


def test_memories_of_mem0_are_imported_once_and_those_of_one_user_alone(
    htm: Htm, tmp_path: Path
) -> None:
    ann = {
        "id": "a1",
        "memory": "Likes plums.",
        "user_id": "ann",
        "created_at": "2026-01-05T10:00:00-08:00",
        "metadata": {"page": 3},
    }
    bob = {
        "id": "b1",
        "memory": "Likes pears.",
        "user_id": "bob",
        "created_at": "2026-01-06T10:00:00-08:00",
        "run_id": "r7",
    }
    file = tmp_path / "export.json"
    file.write_text(json.dumps({"count": 2, "results": [ann, bob]}))
    [told] = htm("import", file, "--user", "ann", "--json").json["files"]
    assert (told["format"], told["imported"], told["reasons"]) == (
        "mem0",
        1,
        {"of another user": 1},
    )
    assert counts(htm, file) == (2, 0, 0, 0)
    assert counts(htm, file) == (0, 0, 2, 0)
    file.write_text(
        json.dumps(
            [
                ann | {"memory": "Likes plums and quinces.", "updated_at": "2026-02-01T00:00:00Z"},
                bob,
            ]
        )
    )
    assert counts(htm, file) == (0, 1, 1, 0)
    first, second = htm("timeline", "--json").json
    assert (first["content"], first["session"], first["metadata"]) == (
        "Likes plums and quinces.", "mem0", {"page": 3, "user_id": "ann"},
    )  # fmt: skip
    assert (second["content"], second["session"], second["at"][:10]) == (
        "Likes pears.",
        "r7",
        "2026-01-06",
    )


CHROMA = """
create table collections (id text primary key, name text not null);
create table segments (id text primary key, type text not null, scope text not null, collection text not null);
create table embeddings (id integer primary key, segment_id text not null, embedding_id text not null, seq_id blob not null);
create table embedding_metadata (id integer, key text not null, string_value text, int_value integer, float_value real,
                                 bool_value integer, primary key (id, key));
insert into collections values ('c1', 'mempalace_drawers'), ('c2', 'mempalace_closets');
insert into segments values ('s1', 'sqlite', 'METADATA', 'c1'), ('s2', 'sqlite', 'METADATA', 'c2');
"""


def palace_of_mempalace(folder: Path, *texts: str) -> Path:
    """The tables of Chroma that a palace uses, as Chroma 1.x makes them."""
    (folder / "palace").mkdir(parents=True, exist_ok=True)
    (folder / "identity.txt").write_text("I am Atlas, who tends the garden.")
    file = folder / "palace" / "chroma.sqlite3"
    file.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript(CHROMA)
        for number, text in enumerate((*texts, "an index of the drawers"), 1):
            segment = "s1" if number <= len(texts) else "s2"
            connection.execute(
                "insert into embeddings values (?, ?, ?, '')",
                (number, segment, f"drawer_{text[:5]}"),
            )
            fields = {
                "chroma:document": text, "wing": "wing:garden", "room": "trees", "source_file": "notes.md",
                "filed_at": "2026-02-01T10:00:00", "chunk_index": 0,
            }  # fmt: skip
            for name, value in fields.items():
                kind = "int_value" if isinstance(value, int) else "string_value"
                connection.execute(
                    f"insert into embedding_metadata (id, key, {kind}) values (?, ?, ?)",
                    (number, name, value),
                )
        connection.commit()
    return folder


def test_a_palace_of_mempalace_keeps_its_rooms_and_is_imported_once(
    htm: Htm, tmp_path: Path
) -> None:
    folder = palace_of_mempalace(tmp_path / ".mempalace", "The plum tree is old.", "Boskoop keeps.")
    [told] = htm("import", folder, "--timezone", "UTC", "--json").json["files"]
    assert (told["format"], told["imported"]) == ("mempalace", 2)
    assert counts(htm, folder / "palace") == (0, 0, 2, 0)
    palace_of_mempalace(folder, "The plum tree is old.", "Boskoop keeps.", "Pears do not.")
    assert counts(htm, folder) == (1, 0, 2, 0)
    filed = htm("palace", "look", "--json").json
    assert {(each["room"], each["drawer"]) for each in filed} == {("wing_garden", "trees")}
    assert sorted(each["content"] for each in filed) == [
        "Boskoop keeps.",
        "Pears do not.",
        "The plum tree is old.",
    ]
    assert {each["at"][:13] for each in filed} == {"2026-02-01T10"}
    assert "Atlas" in htm("palace", "wake", "--json").json["text"]
    assert (folder / "palace" / "chroma.sqlite3").exists()


def test_a_palace_whose_database_is_none_is_refused(htm: Htm, tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"no database" * 99)
    done = htm("import", tmp_path)
    assert done.code == 2
    assert "expected chroma.sqlite3 as MemPalace writes it" in done.err


def test_a_folder_says_how_much_is_forgotten_since_it_is_there_no_more(
    htm: Htm, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("one", "two"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nThe boat {name} is blue.\n")
    assert "2 files" in htm("import", notes, "--no-wait").out
    (notes / "two.md").unlink()
    out = htm("import", notes, "--no-wait").out
    assert "markdown: 1 file, " in out
    assert "known 1, forgotten as no longer there 1" in out
    assert "forgotten" not in htm("import", notes, "--no-wait").out


def test_a_vault_of_obsidian_says_which_links_and_tags_were_not_understood(
    htm: Htm, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Rome.md").write_text("The port of [[Ostia]] is near. #trip #🎉\n")
    dry = htm("import", vault, "--dry-run", "--no-wait").out
    assert "to import 1" in dry
    assert "nothing was imported" in dry
    out = htm("import", vault, "--no-wait").out
    assert (
        "skipped 2: what cannot be a tag (1), a link to a note that is not there (1)"
        in " ".join(out.split())
    )
    assert "Rome.md: the link [[Ostia]]" in out
    assert "trip" in htm("tags").out
    assert counts(htm, vault, "--no-wait") == (0, 0, 1, 0)


def test_the_files_of_messages_are_attached_with_their_pages(htm: Htm, tmp_path: Path) -> None:
    pdf = base64.b64encode(pdf_of("Herons nest in trees.", "Storks nest on chimneys.")).decode()
    block = {"type": "file", "mime_type": "application/pdf", "base64": pdf, "filename": "birds.pdf"}
    words = {"type": "text", "text": "Here you are."}
    file = tmp_path / "said.json"
    file.write_text(
        json.dumps([{"type": "human", "data": {"content": [words, block], "id": "m1"}}])
    )
    assert counts(htm, file) == (1, 0, 0, 0)
    assert counts(htm, file) == (0, 0, 1, 0)
    pages = {
        each["content"]: each["metadata"].get("page") for each in htm("timeline", "--json").json
    }
    assert pages == {
        "Here you are.": None,
        "Herons nest in trees.": 1,
        "Storks nest on chimneys.": 2,
    }
