"""The path of docs/scaling.md: from the private server to a server of one's own, and to a replica that answers while it is down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from tests.servers.cluster import ROOT, Cluster
from tests.servers.replica import await_replay, replica_of


def htm(*arguments: str, well: bool = True, **environment: str) -> str:
    """One command, as the page shows it. A doctor may find what other tests have left on their server: then it ends with 1."""
    done = subprocess.run(
        [sys.executable, "-m", "htm_core.cli", *arguments], cwd=ROOT, env=os.environ | environment, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode in ((0,) if well else (0, 1)), done.stderr
    return done.stdout


def test_memories_move_from_the_private_server_to_ones_own_and_are_read_from_its_replica(
    modern: Cluster, premises: Path, tmp_path: Path
) -> None:
    tenant = f"growing-{uuid4().hex[:8]}"
    htm(
        "remember",
        "The heron nests by the river.",
        "--tenant",
        tenant,
        "--key",
        "heron",
        "--no-wait",
    )
    htm(
        "remember",
        "Bella feeds the swans at noon.",
        "--tenant",
        tenant,
        "--session",
        "park",
        "--no-wait",
    )
    target = tmp_path / "memories.jsonl"
    htm("export", str(target), "--tenant", tenant)
    own = {"HTM_DATABASE_URL": modern.dsn()}
    htm("import", str(target), "--tenant", tenant, "--no-wait", **own)
    replica = replica_of(modern, premises)
    try:
        await_replay(modern, replica)
        spread = own | {"HTM_READ_URL": replica.dsn()}
        said = json.loads(htm("timeline", "--tenant", tenant, "--json", **spread))
        assert {mention["content"] for mention in said} == {
            "The heron nests by the river.", "Bella feeds the swans at noon.",
        }  # fmt: skip
        found = json.loads(htm("doctor", "--json", "--tenant", tenant, well=False, **spread))[
            "findings"
        ]
        assert [each["state"] for each in found if each["about"] == "replica"] == ["well"]
    finally:
        replica.remove()
