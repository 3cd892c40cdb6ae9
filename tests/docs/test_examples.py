"""Every Python block of the README and of docs/*.md runs, top to bottom, one namespace for each page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs.conftest import MISSED, Run
from tests.docs.markdown import EVERYTHING, PAGES, README, ROOT, blocks, program

WITH_PYTHON = [
    page for page in [README, *PAGES] if any(block.language == "python" and not block.skipped for block in blocks(page))
]


BY_A_MODEL = "weather "  # a tool that the stand-in of a model does not call
FIRST_PAGES = (README, ROOT / "docs" / "quickstart.md")  # a newcomer runs these again, and one after the other


@pytest.mark.parametrize(
    "page", [page for page in WITH_PYTHON if page not in FIRST_PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_examples_of_a_page_run_as_they_stand_to_what_they_take_away(page: Path, run: Run, tmp_path: Path) -> None:
    done = run(program(page), page)
    assert done.returncode == 0, f"{done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"
    missed = json.loads((tmp_path / MISSED).read_text())
    assert [each for each in missed if not each.startswith(BY_A_MODEL)] == []


def test_the_readme_and_the_quickstart_run_twice_over_one_database(run: Run, tmp_path: Path) -> None:
    for number, page in enumerate(FIRST_PAGES * 2):
        done = run(program(page), page)
        assert done.returncode == 0, f"{page.name}: {done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"
        missed = json.loads((tmp_path / MISSED).read_text())
        assert missed == [] or number >= len(FIRST_PAGES), page.name  # what is known already is not embedded again


def test_an_example_that_stops_short_of_what_it_takes_away_is_noticed(run: Run, tmp_path: Path) -> None:
    page = (
        "from htm_core import Memory",
        "def shortest(item, now): return item.tokens",
        "with Memory('atlas', policy=shortest) as memory:",
        "    node = memory.remember('Nothing leaves working memory.')",
        "    memory.forget(node.id)",
        "    memory.sweep()",
    )
    assert run("\n".join(page), Path("short.md")).returncode == 0
    missed = json.loads((tmp_path / MISSED).read_text())
    assert missed == ["shortest (line 2) never ran", ".sweep() never took anything away"]


def test_the_readme_and_the_quickstart_have_examples() -> None:
    assert {README.name, "quickstart.md", "concepts.md", "langchain.md"} <= {page.name for page in WITH_PYTHON}


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_is_fenced_as_python_so_that_it_is_run(page: Path) -> None:
    for block in blocks(page):
        assert block.language not in ("py", "python3", "pycon"), f"{page.name}:{block.line}"


def test_the_first_screen_of_the_readme_has_two_commands_of_one_line() -> None:
    first_screen = README.read_text(encoding="utf-8").split("\n## ")[0]
    commands = [block for block in blocks(README) if block.language == "sh" and block.text in first_screen]
    assert len(commands) == 2
    assert all(len(block.text.splitlines()) == 1 for block in commands)
    assert commands[0].text.endswith("htm demo")


def test_the_continuous_build_runs_the_readmes_test_command() -> None:
    command = next(block.text for block in blocks(README) if block.language == "sh" and "pytest" in block.text)
    run = (ROOT / ".ci" / "run").read_text()
    assert all(part in run for part in (".[dev]", command.split("&&")[1].strip()))
