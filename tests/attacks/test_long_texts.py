"""No text of the largest allowed size holds a process: what takes more than in proportion to it would take hours here."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.attacks import long_texts
from tests.cli.conftest import ROOT

WITHIN = (
    540.0  # seconds, after which the process is killed; on two cores it takes about a twentieth
)
A_STEP = 60.0  # seconds of processor time, of which a step takes three; with an expression that takes the square it takes minutes


def test_texts_of_the_largest_size_made_of_repeats_are_remembered_recalled_and_read(
    url: str | None, tenant: str, home: object
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.long_texts", url or "", tenant],
        cwd=ROOT, env={**os.environ, "HTM_HOME": str(home)}, capture_output=True, text=True, timeout=WITHIN, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-3_000:]
    *steps, last = done.stdout.splitlines()
    assert last == "all"
    assert all(float(each.rpartition(" ")[2]) < A_STEP for each in steps), done.stdout


def test_they_have_the_largest_size_and_all_repeats() -> None:
    texts = [long_texts.text(number) for number in range(long_texts.TEXTS)]
    assert all(long_texts.LARGEST - 100 < len(each) <= long_texts.LARGEST for each in texts)
    assert all(any(20 * pump in each for each in texts) for pump in long_texts.PUMPS)
