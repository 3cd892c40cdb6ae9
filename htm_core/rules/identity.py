"""Names for things: a node is named by its words, a mention by its moment, an unknown user by the session."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from uuid import UUID

# With what the users of sessions without a known user begin, and how long any name may be.
ANONYMOUS = "htm:session:"
LONGEST = 255


def node_id(owner: str, content: str) -> UUID:
    """The id of a text of one owner: the first 122 bits of a SHA-256, as a UUID of version 8 (RFC 9562).

    The same words of the same owner have the same id, so saying them again needs no look-up.
    """
    owner_bytes = owner.encode()
    digest = hashlib.sha256(len(owner_bytes).to_bytes(4, "big") + owner_bytes + content.encode()).digest()
    number = int.from_bytes(digest[:16], "big")
    number &= ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=number | 8 << 76 | 0b10 << 62)


def moment_id(seconds: float, random: bytes) -> UUID:
    """A UUID of version 7: 48 bits of milliseconds since the epoch, then 74 of ten random bytes (RFC 9562)."""
    number = (int(seconds * 1000) & (1 << 48) - 1) << 80 | int.from_bytes(random, "big")
    number &= ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=number | 7 << 76 | 0b10 << 62)


def anonymous(session: str) -> str:
    """The user of a session in which nobody is known, for `Memory(user=…)`: an owner that no other session shares.

    A memory without a user is what everyone in the tenant shares, so what a stranger says must not be kept there.
    """
    name = ANONYMOUS + session
    return name if len(name) <= LONGEST else ANONYMOUS + hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()


def is_anonymous(user: str) -> bool:
    """Whether a user is a session's in which nobody is known."""
    return user.startswith(ANONYMOUS)


def looks_like_id(text: str) -> bool:
    """Whether a text reads as a node id, which a key may therefore not be."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def document_id(collection: str, namespace: Sequence[str], id: str) -> UUID:
    """The internal id of a document, from its collection, namespace and id: the same kind of UUID as `node_id`'s."""
    names = [name.encode() for name in (collection, *namespace, id)]
    digest = hashlib.sha256(b"".join(len(name).to_bytes(4, "big") + name for name in names)).digest()
    number = int.from_bytes(digest[:16], "big") & ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=number | 8 << 76 | 0b10 << 62)
