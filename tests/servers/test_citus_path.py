"""The path of docs/scaling.md: from the private server with memories in it to three nodes, by the commands of the page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from htm_core import Memory, shutdown
from htm_core.embedded.server import release
from tests.docs.markdown import ROOT, blocks
from tests.servers import programs
from tests.servers.authority import Certificate
from tests.servers.citus_cluster import CitusCluster
from tests.servers.cluster import ADMIN, HOST, PASSWORD

PAGE, SECTION = ROOT / "docs/scaling.md", "From the private server to three nodes"
BIRDS = ("heron", "swan", "coot", "grebe", "kingfisher", "wagtail", "dipper", "bittern")
PLACES = ("by the river", "in the reeds", "under the bridge", "behind the mill", "on the island")


@dataclass(frozen=True, slots=True)
class Terminal:
    """A shell in a folder of its own, with `htm`, `psql` and the passwords of a person who follows the page."""

    folder: Path
    environment: dict[str, str]

    def run(self, script: str) -> str:
        """Run commands until one fails, and give what they printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"
        return done.stdout

    def json(self, name: str) -> list[dict[str, object]]:
        """The hits in a file that `htm recall --json` wrote."""
        found: list[dict[str, object]] = json.loads((self.folder / name).read_text("utf-8"))["hits"]
        return found

    def working_items(self, name: str) -> list[str]:
        """What a backup has of working memories, without the ids of these."""
        rows = [json.loads(line) for line in (self.folder / name).read_text("utf-8").splitlines()]
        return sorted(
            str(each["row"] | {"set_id": ""})
            for each in rows
            if each.get("part") == "working_items"
        )


def commands() -> list[str]:
    """The shell blocks of the section, in order."""
    lines = PAGE.read_text("utf-8").splitlines()
    first = lines.index(f"## {SECTION}")
    last = next(
        number for number, line in enumerate(lines) if number > first and line.startswith("## ")
    )
    return [
        block.text
        for block in blocks(PAGE)
        if block.language == "sh" and first < block.line <= last
    ]


def addressed(command: str, citus: CitusCluster) -> str:
    """A command of the page with the addresses of the tests' servers, as a url and as Citus have them."""
    for number, node in enumerate(citus.nodes):
        name = f"db{number}.example"
        command = command.replace(f"'{name}', 5432", f"'{HOST}', {node.port}").replace(
            name, f"{HOST}:{node.port}"
        )
    assert ".example" not in command
    return command


@pytest.fixture
def citus(premises: Path, trusted: Certificate) -> Iterator[CitusCluster]:
    """Three servers that know nothing of each other, each with an empty database."""
    made = CitusCluster.servers(programs.citus(), premises, trusted, database="memories", safe=True)
    yield made
    made.remove()


@pytest.fixture
def terminal(
    citus: CitusCluster,
    premises: Path,
    tmp_path: Path,
    weights_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Terminal]:
    """A home with a private server, and what a person has set up beside it."""
    home, of = premises / "home", citus.coordinator.programs
    home.mkdir(mode=0o755)
    psql, passwords = tmp_path / "bin" / "psql", tmp_path / "pgpass"
    psql.parent.mkdir()
    libraries = of.environment()["LD_LIBRARY_PATH"]
    psql.write_text(
        f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {of.bin / "psql"} -v ON_ERROR_STOP=1 -X -q "$@"\n'
    )
    psql.chmod(0o755)
    secret = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    passwords.write_text(f"*:*:*:{ADMIN}:{secret}\n*:*:*:chatbot:…\n", "utf-8")
    passwords.chmod(0o600)
    folder = tmp_path / "work"
    folder.mkdir()
    path = f"{psql.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {
        "PATH": path, "HTM_HOME": str(home), "HTM_MODEL_DIR": str(weights_dir), "PGPASSFILE": str(passwords), "PGSSLMODE": "verify-full",
        "PGSSLROOTCERT": str(citus.coordinator.authority.certificate),
    }  # fmt: skip
    environment.pop("HTM_DATABASE_URL", None)
    for name in ("HTM_HOME", "HTM_MODEL_DIR"):
        monkeypatch.setenv(name, environment[name])
    with Memory() as memory:
        memory.remember_many([
            {"content": f"The {bird} nests {place} in spring.", "session": "walks", "tags": ["birds:nests"], "metadata": {"seen": number}}
            for number, (bird, place) in enumerate(zip(BIRDS, PLACES * 2, strict=False))
        ])  # fmt: skip
        memory.of(user="ann").remember(
            "The key of the boathouse hangs behind the door.", key="boathouse", importance=9
        )
        memory.collection("guides").put(
            [{"id": "one", "content": "How to tell a coot from a moorhen."}]
        )
        assert memory.flush(timeout=60)
    shutdown()
    yield Terminal(folder, environment)
    release(home)


def test_the_commands_of_the_page_bring_all_memories_to_three_nodes(
    citus: CitusCluster, terminal: Terminal
) -> None:
    """In one shell, as somebody would type them; then what was recalled, kept and found is the same everywhere."""
    script = "\n".join(addressed(command, citus) for command in commands())
    assert len(re.findall(r"^ *(?:htm|psql) ", script, flags=re.M)) == 14
    said = terminal.run(script)
    assert "3 nodes, of which 2 hold tables" in said
    before, after, moved = (
        terminal.json(name) for name in ("before.json", "after.json", "moved.json")
    )
    assert before[0]["content"] == "The heron nests by the river in spring."
    assert (
        [hit["content"] for hit in before]
        == [hit["content"] for hit in after]
        == [hit["content"] for hit in moved]
    )
    digests = re.findall(r"^([0-9a-f]{64})  -$", said, flags=re.M)
    assert len(digests) == 2
    assert digests[0] == digests[1]
    assert terminal.working_items("memories.jsonl") == terminal.working_items("copy.jsonl") != []
    assert len((terminal.folder / "copy.jsonl").read_text("utf-8").splitlines()) > 80
    assert citus.home().port == citus.nodes[2].port
