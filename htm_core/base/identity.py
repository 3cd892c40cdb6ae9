"""Ids: a node's from its content, a mention's from its time, and the user name of a session without
a known user.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from uuid import UUID

from .folding import normal_form
from .limits import NAME_LENGTH

# The prefix of the users of sessions without a known user.
ANONYMOUS = "htm:session:"


def node_id(owner: str, content: str) -> UUID:
    """The id of one owner's text: the first 122 bits of a SHA-256, as a UUID of version 8 (RFC
    9562).

    The same text of the same owner has the same id, so no look-up is needed when it is remembered
    again.
    """
    owner_bytes = owner.encode()
    digest = hashlib.sha256(
        len(owner_bytes).to_bytes(4, "big") + owner_bytes + content.encode()
    ).digest()
    number = int.from_bytes(digest[:16], "big")
    number &= ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=number | 8 << 76 | 0b10 << 62)


def moment_id(seconds: float, random: bytes) -> UUID:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds since the epoch, then 74 bits of
    `random`, ten bytes.
    """
    number = (int(seconds * 1000) & (1 << 48) - 1) << 80 | int.from_bytes(random, "big")
    number &= ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=number | 7 << 76 | 0b10 << 62)


def anonymous(session: str) -> str:
    """The user name for a session whose user is not known, for `Memory(user=…)`; no other session
    shares this owner.

    What a memory without a user holds is shared by everyone in the tenant, so an unknown user's
    words do not belong there.
    """
    session = normal_form(session)
    name = ANONYMOUS + session
    return (
        name
        if len(name) <= NAME_LENGTH
        else ANONYMOUS + hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()
    )


def is_anonymous(user: str) -> bool:
    """True if a user name is that of a session without a known user."""
    return user.startswith(ANONYMOUS)


def looks_like_id(text: str) -> bool:
    """True if a text can be read as a node id; a key must not look like one."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def document_id(collection: str, namespace: Sequence[str], id: str) -> UUID:
    """The internal id of a document, from its collection, namespace and id: the same kind of UUID
    as `node_id`'s.
    """
    names = [name.encode() for name in (collection, *namespace, id)]
    digest = hashlib.sha256(
        b"".join(len(name).to_bytes(4, "big") + name for name in names)
    ).digest()
    number = int.from_bytes(digest[:16], "big") & ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=number | 8 << 76 | 0b10 << 62)
