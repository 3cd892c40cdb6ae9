"""The suite uses all cores well: each process is given whole files, and the slowest come first."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from tests.conftest import SLOW, SLOWEST

ROOT = Path(__file__).parent.parent


def test_the_tests_of_a_file_run_in_one_process() -> None:
    """Else each process makes the fixtures of each file: its servers, its databases."""
    files = ["tests/rules/test_tags.py", "tests/rules/test_planning.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-vv", "-n", "2", "-p", "no:cacheprovider", *files],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=True,
    )  # fmt: skip
    ran = re.findall(r"^\[(gw\d)\] .*PASSED (\S+?)::", done.stdout, flags=re.M)
    processes: dict[str, set[str]] = defaultdict(set)
    for process, file in ran:
        processes[file].add(process)
    assert {file: len(found) for file, found in processes.items()} == dict.fromkeys(files, 1)
    assert len(ran) > 10
    assert len(set.union(*processes.values())) == 2


def test_what_is_named_as_slow_is_there() -> None:
    assert [name for name in SLOWEST + SLOW if not (ROOT / name.partition("::")[0]).exists()] == []
