"""`htm import` of files, as a process: Ctrl-C ends it within a second whenever it comes, and after any end the next one goes on."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from htm_core import Memory
from tests.cli.conftest import ROOT, bare
from tests.conftest import SETTINGS

TURNS = 500
NOTES = 64
# Of the time that a whole import takes; Ctrl-C and SIGKILL in turn. They are other moments in each run.
MOMENTS = 2


def transcript(folder: Path) -> Path:
    """A long talk, which is remembered a hundred turns at a time."""
    file = folder / "talk.jsonl"
    turns = (
        {"role": "user", "content": f"Turn {n} of the talk.", "session": f"s{n % 3}"}
        for n in range(TURNS)
    )
    file.write_text("".join(json.dumps(each) + "\n" for each in turns))
    return file


def vault(folder: Path) -> Path:
    """A vault whose notes link to each other."""
    top = folder / "vault"
    (top / ".obsidian").mkdir(parents=True)
    for n in range(NOTES):
        (top / f"Note {n}.md").write_text(
            f"# Note {n}\n\nIt leads to [[Note {n * 7 % NOTES}]]. #kind/{n}\n"
        )
    return top


class Importing:
    """`htm import SOURCE --no-wait` for one tenant, again and again."""

    def __init__(self, source: Path, tenant: str) -> None:
        self._words = [
            sys.executable,
            "-m",
            "htm_core.cli",
            "import",
            str(source),
            "--tenant",
            tenant,
            "--no-wait",
            "--json",
        ]

    def start(self) -> subprocess.Popen[str]:
        """A process that answers to Ctrl-C as one from a terminal."""
        return subprocess.Popen(
            self._words, cwd=ROOT, env=bare(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    def whole(self) -> Any:
        """What an import says that nobody interrupts."""
        with self.start() as running:
            out, err = running.communicate(timeout=120)
        assert running.returncode == 0, err
        [file] = json.loads(out)["files"]
        return file

    def end_after(self, seconds: float, number: signal.Signals) -> None:
        """Send a signal after this time."""
        with self.start() as running:
            time.sleep(seconds)
            sent = time.monotonic()
            running.send_signal(number)
            _, err = running.communicate(timeout=60)
            took = time.monotonic() - sent
        if running.returncode == 0:  # it was ready before
            return
        assert running.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL), err
        assert "Traceback" not in err
        assert took < 15  # less than a second where nothing else runs


def said(url: str | None, tenant: str) -> Any:
    """All that is remembered: the mentions by session, and where the links of some notes lead.

    Edges of shared tags are made by jobs, which a worker may have done for one tenant and not for the other.
    """
    with Memory(
        url=url, tenant=tenant, settings=SETTINGS.model_copy(update={"worker": "off"})
    ) as memory:
        mentions = sorted(
            (each.session, each.content, each.role) for each in memory.timeline(limit=1_000)
        )
        notes = [each for each in memory.list(limit=1_000) if each.content.startswith("# Note 1")]
        links = {
            note.content: {
                edge.node.content
                for edge in memory.related(note.id, hops=1, limit=1_000)
                if edge.path[0].origin == "link"
            }
            for note in notes
        }
    return mentions, links


@pytest.mark.parametrize("source", [transcript, vault], ids=lambda made: made.__name__)
def test_ended_at_any_moments_it_goes_on_and_all_is_as_without_an_end(
    environment: None, url: str | None, tenant: str, tmp_path: Path, source: Callable[[Path], Path]
) -> None:
    made = source(tmp_path)
    unbroken, broken = Importing(made, f"{tenant}-whole"), Importing(made, tenant)
    began = time.monotonic()
    turns = unbroken.whole()["imported"]
    whole = time.monotonic() - began
    for place in range(MOMENTS):
        after = whole * random.uniform(place, place + 1) / MOMENTS
        broken.end_after(after, signal.SIGINT if place % 2 else signal.SIGKILL)
    assert broken.whole()["imported"] <= turns
    mentions, links = said(url, tenant)
    assert (mentions, links) == said(url, f"{tenant}-whole")
    assert len(mentions) == turns
    assert all(links.values())
