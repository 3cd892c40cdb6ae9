"""kill -9 in the middle of a promotion: nothing is half filed, no drawer stays locked, and the session's notes are there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from htm_core.palace import Conflict, Duplicate, Promoted
from tests.palace.conftest import Build, Clock

ROOT = Path(__file__).parents[2]
SUMMARY = "The sluice is open by day."
PLACE = {"room": "river", "drawer": "sluice", "reason": "Needed by who rows."}
CHILD = """
import sys, time
from datetime import datetime, timedelta
from htm_core import Memory, Settings
from htm_core.palace import Palace
from htm_core.writing import places
from tests.stand_ins import HashEmbedder

url, tenant, moment, now, note = sys.argv[1:]

def forever(*_, **__):
    print("there", flush=True)
    time.sleep(600)

memory = Memory("child", url=url or None, tenant=tenant, session="today", embed="now", embedder=HashEmbedder(),
                settings=Settings(worker="off"), clock=lambda: datetime.fromisoformat(now))
palace = Palace(memory, judge=forever if moment == "judged" else None)
if moment == "written down":
    places.add_decision = forever
palace.note("A note of the robot that was killed.")
palace.promote(note, room="river", drawer="sluice", reason="Needed.", summary="The sluice is open by day.")
"""


@pytest.mark.parametrize("moment", ["judged", "written down"])
def test_a_promotion_that_is_killed_leaves_the_palace_as_it_was(
    build: Build, clock: Clock, url: str | None, moment: str
) -> None:
    palace = build("borg")
    palace.file("The weir is old.", room="river", drawer="sluice")
    note = palace.note("The sluice was open at nine.")
    code = [
        sys.executable,
        "-c",
        CHILD,
        url or "",
        palace.memory.tenant,
        moment,
        clock().isoformat(),
        note.id,
    ]
    with subprocess.Popen(code, stdout=subprocess.PIPE, text=True, cwd=ROOT,
                          env=os.environ | {"PYTHONPATH": str(ROOT)}) as child:  # fmt: skip
        assert child.stdout is not None
        assert child.stdout.readline() == "there\n"
        child.kill()
    assert [each.content for each in palace.look()] == ["The weir is old."]
    assert palace.decisions() == []
    kept = {each.content: each.promoted_at for each in palace.notes()}
    assert kept == {
        "The sluice was open at nine.": None,
        "A note of the robot that was killed.": None,
    }
    outcome: Promoted | Duplicate | Conflict = palace.promote(note, summary=SUMMARY, **PLACE)
    assert isinstance(outcome, Promoted)
    assert {each.content for each in palace.look()} == {"The weir is old.", SUMMARY}
    assert kept.keys() == {each.content for each in palace.notes()}
