"""Every Python block of the README and of docs/*.md runs, top to bottom, one namespace for each page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.conftest import Run
from tests.docs.markdown import EVERYTHING, PAGES, README, ROOT, blocks, program

WITH_PYTHON = [
    page for page in [README, *PAGES] if any(block.language == "python" and not block.skipped for block in blocks(page))
]


FIRST_PAGES = (README, ROOT / "docs" / "quickstart.md")  # a newcomer runs these again, and one after the other


@pytest.mark.parametrize(
    "page", [page for page in WITH_PYTHON if page not in FIRST_PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_examples_of_a_page_run_as_they_stand(page: Path, run: Run) -> None:
    done = run(program(page), page)
    assert done.returncode == 0, f"{done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"


def test_the_readme_and_the_quickstart_run_twice_over_one_database(run: Run) -> None:
    for page in FIRST_PAGES * 2:
        done = run(program(page), page)
        assert done.returncode == 0, f"{page.name}: {done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"


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
