"""Health: counts of what there is, what is pending, the breakers of the models, and what this
machine has.
"""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from ...base.settings import home
from ...base.types import Stats
from ...db.doctor import OLD_JOB_SECONDS
from ...db.findings import MIN_FREE, Finding, free_space
from ...models.tokenizers import default_tokens
from ..visit import Visit


async def show(visit: Visit) -> Response:
    """The counts and the findings."""
    counted = await visit.counted("stats", lambda memory: memory.aio.stats())
    findings = [*(_of(counted.value) if counted else ()), *await asyncio.to_thread(_of_machine)]
    return visit.page("health.html", counted=counted, findings=findings)


def _of(stats: Stats) -> list[Finding]:
    missing = stats.passages - stats.vectors
    findings = [Finding("database", "well", f"PostgreSQL {stats.server} answers")]
    if missing > 0:
        says = (
            f"{missing:,} of {stats.passages:,} passages have no vector yet: they are found by "
            "their words"
        )
        findings.append(Finding("vectors", "note", says, "htm worker"))
    else:
        findings.append(
            Finding("vectors", "well", f"all {stats.passages:,} passages have their vector")
        )
    if stats.parked_jobs:
        findings.append(
            Finding("jobs", "wrong", f"{stats.parked_jobs:,} jobs were given up", "htm jobs retry")
        )
    elif (stats.oldest_job_seconds or 0.0) > OLD_JOB_SECONDS:
        findings.append(
            Finding(
                "jobs", "wrong", f"one waits since {stats.oldest_job_seconds:,.0f} s", "htm worker"
            )
        )
    else:
        findings.append(Finding("jobs", "well", f"{stats.pending_jobs:,} are pending"))
    for model, state in stats.breakers.items():
        if state == "closed":
            findings.append(Finding(f"breaker of {model}", "well", "closed: the model is asked"))
        else:
            says = f"{state}: the model has failed, and is left alone for a while"
            findings.append(Finding(f"breaker of {model}", "wrong", says, "htm doctor"))
    return findings


def _of_machine() -> list[Finding]:
    tokens, free = default_tokens(), free_space(home())
    return [
        Finding(
            "tokenizer",
            "well" if tokens.exact else "note",
            f"{tokens.name}, {'exact' if tokens.exact else 'estimated'}",
        ),
        Finding("disk", "well" if free >= MIN_FREE else "wrong", f"{free / 1e9:.1f} GB are free"),
    ]
