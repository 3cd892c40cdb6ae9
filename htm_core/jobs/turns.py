"""Whose turn it is: what a worker remembers of its last claims, so that the next one goes on from
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..base.last_used import LastUsed
from ..db.jobs import ClaimedJob

# of so many claims one takes bulk work first, so that it goes on however much is being said
BULK_EVERY = 4
# whose last owner is remembered; more have their turns, too, but begin with their first owner
TENANTS = 128


@dataclass(slots=True)
class Turns:
    """The turns of one kind of job with one model, in one worker."""

    _claims: int = 0
    _tenants: dict[bool, str] = field(default_factory=dict)
    _owners: LastUsed[str, str] = field(default_factory=lambda: LastUsed(TENANTS))

    def classes(self) -> tuple[bool, bool]:
        """In which order the next claim takes what somebody may wait for (False) and bulk work
        (True).
        """
        bulk_first = self._claims % BULK_EVERY == BULK_EVERY - 1
        return (bulk_first, not bulk_first)

    def after_tenants(self) -> tuple[str, str]:
        """The tenant that had the last turn in each class, in the order of `classes`; "" before the
        first turn.
        """
        first, second = self.classes()
        return (self._tenants.get(first, ""), self._tenants.get(second, ""))

    def after_owners(self) -> dict[str, str]:
        """The owner that had the last turn in each tenant."""
        return dict(self._owners)

    def took(self, claimed: Sequence[ClaimedJob]) -> None:
        """Remember a claim: its jobs in the order in which they were claimed."""
        self._claims += bool(claimed)
        for bulk in (False, True):
            visited = dict.fromkeys((job.tenant, job.owner) for job in claimed if job.bulk == bulk)
            for tenant, owner in visited:
                self._owners[tenant] = owner
            if visited:
                self._tenants[bulk] = list(dict.fromkeys(tenant for tenant, _ in visited))[-1]
