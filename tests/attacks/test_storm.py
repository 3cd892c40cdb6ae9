"""Writers that meet wait for each other or run again: no deadlock and no lost parent row ever reaches a caller."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from htm_core import Memory
from tests.attacks.storm import KEPT, Storm

ROOT = Path(__file__).parents[2]
# All of them take some minutes on two cores: HTM_STORM=10000.
OPERATIONS = int(os.environ.get("HTM_STORM") or 240)


def kept_in(memory: Memory) -> Iterator[str]:
    """Everything that the session of what nobody erases has, page by page."""
    page = memory.timeline(session=KEPT, limit=1_000)
    while page:
        yield from (mention.content for mention in page)
        page = memory.timeline(session=KEPT, limit=1_000, before=page[0])


@pytest.mark.timeout(1200)
def test_all_verbs_at_once_in_two_processes_give_no_raw_error_and_lose_nothing(
    url: str | None, tenant: str
) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.attacks.storm",
        "--tenant",
        tenant,
        "--operations",
        str(OPERATIONS // 2),
        "--seed",
        "2",
    ]
    environment = os.environ | ({} if url is None else {"HTM_DATABASE_URL": url})
    storm = Storm(tenant=tenant, url=url, seed=1)
    storm.memory.remember("warm", session=KEPT)
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as other:
        storm.run(OPERATIONS // 2)
        said, _ = other.communicate(timeout=900)
    reports = [storm.report(), json.loads(said.splitlines()[-1])]
    assert [error for report in reports for error in report["errors"]] == []
    assert sum(sum(report["done"].values()) for report in reports) == OPERATIONS // 2 * 2
    assert {verb for report in reports for verb in report["done"]} == set(
        storm._verbs(random.Random(0), 0)
    )  # each was there
    assert storm.memory.flush(timeout=60)
    there = set(kept_in(storm.memory))
    assert {text for report in reports for text in report["kept"]} <= there
    assert storm.memory.stats().parked_jobs == 0
