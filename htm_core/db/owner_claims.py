"""Claims: for which owners a transaction works, signed, so that the wall between users can ask.
Why: docs/why/walls.md.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ..base.identity import ANONYMOUS
from ..base.places import note_owner_prefix

__all__ = ["EVERYBODY", "NOBODY", "OwnerClaim", "claim_of", "sign"]


@dataclass(frozen=True, slots=True)
class OwnerClaim:
    """The owners that a transaction may see and change: these, and all whose names begin with one
    of `prefixes`.
    """

    owners: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()

    def __or__(self, other: OwnerClaim) -> OwnerClaim:
        return OwnerClaim(self.owners | other.owners, self.prefixes | other.prefixes)

    def __bool__(self) -> bool:
        return bool(self.owners or self.prefixes)


NOBODY = OwnerClaim()
# For what concerns a whole tenant: its workers, its backups, recall with scope="tenant".
EVERYBODY = OwnerClaim(prefixes=frozenset({""}))


@lru_cache(maxsize=1024)  # each transaction asks for its own
def claim_of(*owners: str) -> OwnerClaim:
    """Return the claim of memories of these owners: what is theirs, what everyone shares, and the
    notes of their own sessions.

    What everyone shares is the owner "". A memory without a user also works with sessions whose
    users are not known.
    """
    return OwnerClaim(frozenset({*owners, ""}), frozenset(_prefixes(owners)))


def _prefixes(owners: Iterable[str]) -> Iterable[str]:
    for owner in owners:
        yield note_owner_prefix(owner)
        if not owner:
            yield ANONYMOUS


def sign(claim: OwnerClaim, *, key: bytes, tenant: str, backend: str, started: str) -> str:
    """The value of the setting htm.claim: an HMAC-SHA-256 in hexadecimal digits, and then what is
    signed.

    `backend` and `started` name the transaction, as `claim_terms` of the database has told them.
    """
    body = json.dumps(
        {
            "tenant": tenant,
            "backend": backend,
            "started": started,
            "owners": sorted(claim.owners),
            "prefixes": sorted(claim.prefixes),
        }
    )
    return hmac.new(key, body.encode(), hashlib.sha256).hexdigest() + body
