"""Every Python block of the guides runs, one namespace for each page, all pages in one process that is started once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import new_database
from tests.docs import ollama_server
from tests.docs.markdown import GUIDES, ROOT, blocks, program

WITH_PYTHON = [
    page for page in GUIDES if any(block.language == "python" and not block.skipped for block in blocks(page))
]
STAND_INS = Path(__file__).parent / "stand_ins"  # of what is too large to install for one page
RUN = """
import json, os, sys, traceback, types
from htm_core import shutdown
from tests.docs.steps import Steps

folder, outcomes = os.getcwd(), {}
for name, source in json.load(open("pages.json", encoding="utf-8")):
    os.makedirs(os.path.join(folder, name))
    os.chdir(os.path.join(folder, name))
    page = sys.modules["guide"] = types.ModuleType("guide")  # where what inspects annotations looks for their names
    page.__steps__ = steps = Steps(source, name)
    try:
        exec(steps.code, vars(page))
        outcomes[name] = "; ".join(steps.missed)
    except BaseException:
        outcomes[name] = traceback.format_exc()
    os.chdir(folder)
    shutdown()
    if "streamlit" in sys.modules:
        outcomes["streamlit: shown"] = sys.modules["streamlit"].shown
    json.dump(outcomes, open("outcomes.json", "w", encoding="utf-8"))
"""


def relative(page: Path) -> str:
    return page.relative_to(ROOT / "docs").as_posix()


@pytest.fixture(scope="module")
def outcomes(database_url: str, weights_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of each page: an empty text, what of it was missed (`Steps.missed`), or the traceback.

    Importing two frameworks once for all pages saves most of the time. The pages share a database, so each has users of its own.
    """
    folder = tmp_path_factory.mktemp("guides")
    (folder / "pages.json").write_text(json.dumps([(relative(page), program(page)) for page in WITH_PYTHON]))
    with new_database(database_url) as dsn, ollama_server.serving() as ollama:
        own = {
            "HTM_DATABASE_URL": dsn,
            "HTM_HOME": str(folder),
            "HTM_MODEL_DIR": str(weights_dir),
            "OLLAMA_HOST": ollama,
        }
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            env={**os.environ, **own, "PYTHONPATH": f"{STAND_INS}{os.pathsep}{ROOT}"}, cwd=folder, capture_output=True, text=True, timeout=280,
        )  # fmt: skip
    assert (folder / "outcomes.json").exists(), done.stderr[-4_000:]
    found: dict[str, Any] = json.loads((folder / "outcomes.json").read_text())
    return found


@pytest.mark.parametrize("page", WITH_PYTHON, ids=relative)
def test_the_examples_of_a_guide_run_as_they_stand_to_what_they_take_away(page: Path, outcomes: dict[str, Any]) -> None:
    assert outcomes.get(relative(page), "it was not reached") == ""


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
