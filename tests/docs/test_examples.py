"""Every Python block of the README, the pages and the guides runs, top to bottom, one namespace for each page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from htm_core.db.migrate import migrate
from tests.conftest import new_database
from tests.docs import ollama_server
from tests.docs.conftest import MISSED, Run
from tests.docs.markdown import EVERYTHING, GUIDES, PAGES, README, ROOT, blocks, program

WITH_PYTHON = [
    page
    for page in [README, *PAGES, *GUIDES]
    if any(block.language == "python" and not block.skipped for block in blocks(page))
]
LONGEST = 560  # seconds for all pages together, on a machine that is busy with other things
STAND_INS = Path(__file__).parent / "stand_ins"  # of what is too large to install for one page
RUN = """
import json, os, sys, traceback, types
from htm_core import shutdown
from tests.docs.steps import Steps

folder, outcomes = os.getcwd(), {}
for name, source, dsn in json.load(open("pages.json", encoding="utf-8")):
    environment = dict(os.environ)
    os.environ["HTM_DATABASE_URL"] = dsn
    os.makedirs(os.path.join(folder, name))
    os.chdir(os.path.join(folder, name))
    page = sys.modules["guide"] = types.ModuleType("guide")  # where what inspects annotations looks for their names
    page.__steps__ = steps = Steps(source, name)
    try:
        exec(steps.code, vars(page))
        outcomes[name] = steps.missed
    except BaseException:
        outcomes[name] = [traceback.format_exc()]
    os.chdir(folder)
    shutdown()
    os.environ.clear()
    os.environ.update(environment)
    if "streamlit" in sys.modules:
        outcomes["streamlit: shown"] = sys.modules["streamlit"].shown
    json.dump(outcomes, open("outcomes.json", "w", encoding="utf-8"))
"""

pytestmark = pytest.mark.timeout(LONGEST + 60)
BY_A_MODEL = "weather "  # a tool that the stand-in of a model does not call
FIRST_PAGES = (
    README,
    ROOT / "docs" / "quickstart.md",
)  # a newcomer runs these again, and one after the other
OTHERS = [page for page in WITH_PYTHON if page not in FIRST_PAGES]


def relative(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def outcomes(
    database_url: str, weights_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What became of each page: what of it was missed (`Steps.missed`), or the traceback.

    Importing two frameworks once for all pages saves most of the time. Each page has a database of its own, a copy of an empty one.
    """
    folder = tmp_path_factory.mktemp("pages")
    with ExitStack() as held:
        empty = held.enter_context(new_database(database_url))
        migrate(empty)
        pages = [
            (
                relative(page),
                program(page),
                held.enter_context(new_database(database_url, like=empty)),
            )
            for page in OTHERS
        ]
        (folder / "pages.json").write_text(json.dumps(pages), encoding="utf-8")
        ollama = held.enter_context(ollama_server.serving())
        own = {"HTM_HOME": str(folder), "HTM_MODEL_DIR": str(weights_dir), "OLLAMA_HOST": ollama}
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            env={**os.environ, **own, "PYTHONPATH": f"{STAND_INS}{os.pathsep}{ROOT}"}, cwd=folder, capture_output=True, text=True, timeout=LONGEST,
        )  # fmt: skip
    assert (folder / "outcomes.json").exists(), done.stderr[-4_000:]
    found: dict[str, Any] = json.loads((folder / "outcomes.json").read_text())
    return found


@pytest.mark.parametrize("page", OTHERS, ids=relative)
def test_the_examples_of_a_page_run_as_they_stand_to_what_they_take_away(
    page: Path, outcomes: dict[str, Any]
) -> None:
    missed = outcomes.get(relative(page), ["it was not reached"])
    assert [each for each in missed if not each.startswith(BY_A_MODEL)] == []


def test_the_readme_and_the_quickstart_run_twice_over_one_database(
    run: Run, tmp_path: Path
) -> None:
    for number, page in enumerate(FIRST_PAGES * 2):
        done = run(program(page), page)
        assert done.returncode == 0, f"{page.name}: {done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"
        missed = json.loads((tmp_path / MISSED).read_text())
        assert missed == [] or number >= len(FIRST_PAGES), (
            page.name
        )  # what is known already is not embedded again


def test_an_example_that_stops_short_of_what_it_takes_away_is_noticed(
    run: Run, tmp_path: Path
) -> None:
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
    assert {README.name, "quickstart.md", "concepts.md", "langchain.md"} <= {
        page.name for page in WITH_PYTHON
    }


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_is_fenced_as_python_so_that_it_is_run(page: Path) -> None:
    for block in blocks(page):
        assert block.language not in ("py", "python3", "pycon"), f"{page.name}:{block.line}"


def test_the_first_screen_of_the_readme_has_two_commands_of_one_line() -> None:
    first_screen = README.read_text(encoding="utf-8").split("\n## ")[0]
    commands = [
        block for block in blocks(README) if block.language == "sh" and block.text in first_screen
    ]
    assert len(commands) == 2
    assert all(len(block.text.splitlines()) == 1 for block in commands)
    assert commands[0].text.endswith("htm demo")


def test_the_continuous_build_runs_the_readmes_test_command() -> None:
    command = next(
        block.text for block in blocks(README) if block.language == "sh" and "pytest" in block.text
    )
    run = (ROOT / ".ci" / "run").read_text()
    assert all(part in run for part in (".[dev]", command.split("&&")[1].strip()))


# Pages about a program or a file format: nobody has lines of its code.
WITHOUT_CODE = {"index", "chatgpt-claude", "obsidian"}


def test_each_guide_to_move_has_lines_of_before_and_after() -> None:
    for page in GUIDES:
        if page.parent.name == "migrate" and page.stem not in WITHOUT_CODE:
            text = page.read_text(encoding="utf-8")
            assert "Before:" in text, page.name
            assert "After" in text, page.name


def test_the_chat_in_streamlit_shows_the_question_and_the_answer(outcomes: dict[str, Any]) -> None:
    *said, (where, known) = outcomes["streamlit: shown"]
    assert said == [["user", "I live on a boat at pier seven."], ["assistant", "Noted."]]
    assert where == "page"
    assert '"I live on a boat at pier seven."' in known
