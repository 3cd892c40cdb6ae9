"""Parts of the whole suite, run once more on another server with a login that has no rights to define anything."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from tests.servers.cluster import ADMIN, MIGRATOR, ROOT, Cluster

LONGEST = 840  # seconds, on a machine that is busy with other things
# The same for all files of a suite on a cluster, which take 25 minutes in all on two cores, with every one of them for themselves.
LONGEST_WHOLE = 3_600
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0")


def run_suite(
    paths: Sequence[str],
    url: str,
    server: Cluster,
    *,
    out: Sequence[str] = (),
    owner: str | None = None,
    longest: float = LONGEST,
    **besides: str,
) -> str:
    """Run files or folders below tests/ by a login's url, without what is `out`, and give what pytest said; failures are the caller's.

    `server` is where an administrator finds the tables, `owner` the url of their owner, `longest` the seconds that it may take, of
    which each test may take a quarter, `besides` more of the environment.
    """
    environment = {
        "HTM_TEST_URL": url,
        "HTM_TEST_ADMIN_URL": server.dsn(ADMIN),
        "HTM_TEST_OWNER_URL": owner or server.dsn(MIGRATOR),
    }
    done = subprocess.run(
        [*PYTEST, f"--timeout={max(300, longest / 4):.0f}", *(f"tests/{path}" for path in paths), *out],
        cwd=ROOT, env=os.environ | environment | besides, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=longest, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8_000:]
    assert " passed" in done.stdout or "[100%]" in done.stdout
    return done.stdout
