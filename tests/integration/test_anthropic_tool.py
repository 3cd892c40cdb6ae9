"""Claude's memory tool: its commands and replies, as the reference implementation has them; and what only a memory can do."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

from htm_core import Memory
from htm_core.anthropic_tool import AsyncHTMMemoryTool, HTMMemoryTool
from tests.conftest import Make


def call(tool: Any, command: str, **arguments: Any) -> str:
    """What a model reads: the reply, or the error."""
    try:
        return str(tool.call({"command": command, **arguments}))
    except ToolError as error:
        return f"error: {error}"


@pytest.fixture
def tool(memory: Memory) -> HTMMemoryTool:
    return HTMMemoryTool(memory)


SCRIPT: list[dict[str, Any]] = [
    {
        "command": "create",
        "path": "/memories/notes.md",
        "file_text": "one\ntwo\nthree\ntwo words\n",
    },
    {"command": "create", "path": "/memories/notes.md", "file_text": "again"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "view", "path": "/memories/notes.md", "view_range": [2, 3]},
    {"command": "view", "path": "/memories/notes.md", "view_range": [3, -1]},
    {"command": "view", "path": "/memories/none.md"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "two", "new_str": "2"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "four", "new_str": "4"},
    {
        "command": "str_replace",
        "path": "/memories/notes.md",
        "old_str": "three",
        "new_str": "3\nIII",
    },
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "x", "new_str": "y"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 0, "insert_text": "zero\n"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 6, "insert_text": "last"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 99, "insert_text": "x"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "create", "path": "/memories/people/ann.md", "file_text": ""},
    {"command": "view", "path": "/memories/people/ann.md"},
    {
        "command": "insert",
        "path": "/memories/people/ann.md",
        "insert_line": 0,
        "insert_text": "Likes tea.",
    },
    {"command": "view", "path": "/memories/people/ann.md"},
    {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/persons"},
    {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/other"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/persons/ann.md"},
    {"command": "str_replace", "path": "/memories/persons", "old_str": "x", "new_str": "y"},
    {"command": "delete", "path": "/memories/none.md"},
    {"command": "delete", "path": "/memories"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
    {"command": "delete", "path": "/memories/persons"},
    {"command": "view", "path": "/memories/persons/ann.md"},
    {"command": "view", "path": "/etc/passwd"},
    {"command": "view", "path": "/memories/../etc/passwd"},
]


def test_replies_are_those_of_the_reference_implementation(
    tool: HTMMemoryTool, tmp_path: Path
) -> None:
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for step in SCRIPT:
        assert call(tool, **step) == call(theirs, **step), step


def test_a_directory_is_listed_two_levels_deep_with_sizes(tool: HTMMemoryTool) -> None:
    for path, text in (
        ("a.md", "x" * 1536),
        ("d/b.md", "xy"),
        ("d/e/c.md", "x"),
        ("d/e/f/g.md", "x"),
        (".hidden", "x"),
    ):
        call(tool, "create", path=f"/memories/{path}", file_text=text)
    assert call(tool, "view", path="/memories").splitlines()[2:] == [
        "1.5K\t/memories/a.md", "4B\t/memories/d/", "2B\t/memories/d/b.md", "2B\t/memories/d/e/",
    ]  # fmt: skip
    assert "/memories/d/e/c.md" in call(tool, "view", path="/memories/d")


@pytest.mark.parametrize(
    "path",
    ["/memories/../x", "/memories/%2e%2e/x", "/memories/%252e%252e/x", "/memories/a\x00b", "/memories/..\\x", "memories/x",
     "/memoriesx/a", "", "/memories/\ud800", "/memories/a/./b", "/memories/" + "x" * 300, "/etc/passwd"],
)  # fmt: skip
def test_no_path_leads_outside(tool: HTMMemoryTool, path: str) -> None:
    for step in (
        {"command": "view", "path": path}, {"command": "create", "path": path, "file_text": "x"},
        {"command": "delete", "path": path}, {"command": "rename", "old_path": "/memories/a", "new_path": path},
    ):  # fmt: skip
        assert call(tool, **step).startswith("error: ")
    assert tool.history("/memories/a") == []


@pytest.mark.parametrize(
    "given",
    [{"command": "explode"}, {"command": "view"}, {"command": "create", "path": "/memories/a"}, {},
     {"command": "create", "path": "/memories/a", "file_text": "a\x00b"}, {"command": "view", "path": 7},
     {"command": "create", "path": "/memories/a", "file_text": "\ud800"}],
)  # fmt: skip
def test_what_cannot_be_meant_is_an_error_that_a_model_reads(
    tool: HTMMemoryTool, given: dict[str, Any]
) -> None:
    with pytest.raises(ToolError):
        tool.call(given)


def test_every_version_stays_and_comes_back(tool: HTMMemoryTool) -> None:
    path = "/memories/plan.md"
    call(tool, "create", path=path, file_text="first")
    call(tool, "str_replace", path=path, old_str="first", new_str="second")
    call(tool, "delete", path=path)
    assert [each.text for each in tool.history(path)] == ["first", "second"]
    tool.undo(path)
    assert call(tool, "view", path=path).endswith("\tsecond")
    tool.undo(path, version=1)
    assert call(tool, "view", path=path).endswith("\tfirst")
    call(tool, "delete", path=path)
    assert call(tool, "create", path=path, file_text="anew").startswith("File created")
    call(tool, "delete", path=path)
    assert call(tool, "view", path=path).startswith("error: ")
    assert [each.text for each in tool.history(path)][-1] == "anew"


def test_two_files_of_the_same_text_are_two(tool: HTMMemoryTool) -> None:
    call(tool, "create", path="/memories/a.md", file_text="same")
    call(tool, "create", path="/memories/b.md", file_text="same")
    call(tool, "delete", path="/memories/a.md")
    assert call(tool, "view", path="/memories/b.md").endswith("\tsame")


def test_recall_finds_the_newest_version_as_the_assistants_word(
    tool: HTMMemoryTool, memory: Memory
) -> None:
    call(tool, "create", path="/memories/ann.md", file_text="Ann drinks oolong.")
    call(tool, "str_replace", path="/memories/ann.md", old_str="oolong", new_str="espresso")
    [hit] = memory.recall("What does Ann drink?", mode="text")
    assert "espresso" in hit.content
    assert "/memories/ann.md" in hit.content
    assert hit.mention is not None
    assert hit.mention.source == "assistant"
    call(tool, "delete", path="/memories/ann.md")
    assert not [
        hit for hit in memory.recall("deleted ann", mode="text") if "(deleted)" in hit.content
    ]


def test_tenants_and_users_have_files_of_their_own(make: Make) -> None:
    everyone, ann = HTMMemoryTool(make()), HTMMemoryTool(make(user="ann"))
    ben, other = (
        HTMMemoryTool(make(user="ben")),
        HTMMemoryTool(make(user="ann", tenant="a-tenant-of-tools")),
    )
    for tool, text in ((everyone, "shared"), (ann, "ann's"), (ben, "ben's")):
        assert call(tool, "create", path="/memories/x.md", file_text=text).startswith(
            "File created"
        )
    assert call(
        ann, "str_replace", path="/memories/x.md", old_str="ann's", new_str="hers"
    ).startswith("The memory file")
    assert call(ben, "view", path="/memories/x.md").endswith("\tben's")
    assert call(everyone, "view", path="/memories/x.md").endswith("\tshared")
    assert call(other, "view", path="/memories/x.md").startswith("error: ")
    assert len(call(ann, "view", path="/memories").splitlines()) == 3


def test_edits_at_once_lose_nothing(make: Make) -> None:
    tools = [HTMMemoryTool(make(f"robot{number}")) for number in range(4)]
    call(tools[0], "create", path="/memories/log.md", file_text="begin\n")

    def write(number: int) -> None:
        for turn in range(5):
            reply = call(
                tools[number],
                "insert",
                path="/memories/log.md",
                insert_line=1,
                insert_text=f"{number}.{turn}",
            )
            assert reply.endswith("has been edited.")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = {
        line.partition("\t")[2]
        for line in call(tools[0], "view", path="/memories/log.md").splitlines()[1:]
    }
    assert {f"{number}.{turn}" for number in range(4) for turn in range(5)} <= lines


def test_a_version_that_is_replaced_while_it_is_read_is_not_edited_blindly(
    tool: HTMMemoryTool, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(tool, "create", path="/memories/a.md", file_text="one")
    [stale] = memory.history(tool._commands.files._key("/memories/a.md"))
    call(tool, "str_replace", path="/memories/a.md", old_str="one", new_str="one two")
    read, given = Memory.get, [replace(stale, version=None, keys=())]
    monkeypatch.setattr(Memory, "get", lambda self, key: given.pop() if given else read(self, key))
    call(tool, "insert", path="/memories/a.md", insert_line=1, insert_text="three")
    assert call(tool, "view", path="/memories/a.md").splitlines()[1].endswith("\tone two")


WRITER = """
import sys
from htm_core import Memory, Settings
from htm_core.anthropic_tool import HTMMemoryTool
from tests.stand_ins import HashEmbedder
url, tenant, who = sys.argv[1:]
tool = HTMMemoryTool(Memory(who, url=url or None, tenant=tenant, embedder=HashEmbedder(), settings=Settings(worker="off")))
for turn in range(8):
    tool.call({"command": "insert", "path": "/memories/log.md", "insert_line": 0, "insert_text": f"{who}.{turn}"})
"""


def test_two_processes_lose_nothing(tool: HTMMemoryTool, tenant: str, url: str | None) -> None:
    call(tool, "create", path="/memories/log.md", file_text="")
    command = [sys.executable, "-c", WRITER, url or "", tenant]
    writers = [subprocess.Popen([*command, who]) for who in ("a", "b")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    lines = [
        line.partition("\t")[2]
        for line in call(tool, "view", path="/memories/log.md").splitlines()[1:]
    ]
    assert sorted(lines) == sorted(["", *(f"{who}.{turn}" for who in "ab" for turn in range(8))])
    assert len(tool.history("/memories/log.md")) == 17


def test_what_others_write_while_a_file_moves_moves_too(
    tool: HTMMemoryTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(tool, "create", path="/memories/a.md", file_text="one")
    files = tool._commands.files
    remove, late = files._remove, ["one more"]

    def interrupted(place: str, **options: Any) -> bool:
        if late:
            call(tool, "str_replace", path="/memories/a.md", old_str="one", new_str=late.pop())
        return remove(place, **options)

    monkeypatch.setattr(files, "_remove", interrupted)
    call(tool, "rename", old_path="/memories/a.md", new_path="/memories/b.md")
    assert call(tool, "view", path="/memories/b.md").endswith("\tone more")
    assert call(tool, "view", path="/memories/a.md").startswith("error: ")


def test_a_missing_extra_is_named() -> None:
    program = "import sys; sys.modules['anthropic'] = None; import htm_core.anthropic_tool"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert "pip install 'htm-memory[anthropic]'" in done.stderr


def test_the_awaited_tool_does_the_same(memory: Memory) -> None:
    tool = AsyncHTMMemoryTool(memory)

    async def work() -> list[str]:
        made = await tool.call({"command": "create", "path": "/memories/a.md", "file_text": "one"})
        await tool.call(
            {"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "two"}
        )
        seen = await tool.call({"command": "view", "path": "/memories/a.md"})
        with pytest.raises(ToolError):
            await tool.call({"command": "view", "path": "/etc/passwd"})
        await tool.clear_all_memory()
        await tool.undo("/memories/a.md")
        return [
            str(made),
            str(seen),
            *(str(each.text) for each in await tool.history("/memories/a.md")),
        ]

    assert asyncio.run(work())[2:] == ["one", "two", "two"]
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
