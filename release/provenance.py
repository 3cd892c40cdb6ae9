"""Where the archives come from: an in-toto statement with SLSA's provenance, and a bill of materials beside it.

The statement is not signed. What signs is the package index's trusted publishing: the workflow that publishes has an identity,
by which it attests each archive. This statement says the same for whoever builds by hand, so that digests can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

REPOSITORY = "https://github.com/htm-memory/htm-memory"


def statement(
    archives: Sequence[Path], *, commit: str, tag: str, began: datetime, ended: datetime
) -> dict[str, Any]:
    """The statement about these archives: their digests, the commit they were built from, and by what."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": path.name, "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}
            for path in sorted(archives)
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{REPOSITORY}/blob/main/docs/publishing.md",
                "externalParameters": {"command": ".ci/build-check", "ref": f"refs/tags/{tag}"},
                "resolvedDependencies": [
                    {"uri": f"git+{REPOSITORY}@refs/tags/{tag}", "digest": {"gitCommit": commit}},
                ],
            },
            "runDetails": {
                "builder": {"id": f"{REPOSITORY}/blob/main/.ci/build-check"},
                "metadata": {"startedOn": began.isoformat(), "finishedOn": ended.isoformat()},
            },
        },
    }
