"""Handles: names under which this process finds the memory that a component was made with.

A component serialises the handle and never the address, which may hold a password. In a process
that does not know the handle, the environment says which database to use; or, for a memory on a
private server, it is the private server of the same `HTM_HOME`.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from pydantic import SecretStr

from htm_core import InvalidInput, Memory
from htm_core.prompt.scope import private_place

_lock = threading.Lock()
_memories: WeakValueDictionary[str, Memory] = WeakValueDictionary()
_urls: dict[str, SecretStr] = {}
# How the handle of a memory on a private server starts. The name of its place follows.
PRIVATE = "private-"
# The handle of a memory at the environment's url. After a place: of one that was made there without
# memory= and url=.
ENVIRONMENT = "environment"


def handle_of(memory: Memory | None, url: SecretStr | None) -> str | None:
    """The handle of a memory or a url, always the same one; None for neither."""
    with _lock:
        if memory is not None:
            known = next((name for name, each in _memories.items() if each is memory), None)
            place = private_place(memory)
            kind = "memory-" if place is None else f"{PRIVATE}{place}-"
            name = known or f"{kind}{secrets.token_hex(8)}"
            _memories[name] = memory
            return name
        if url is not None:
            known = next((name for name, each in _urls.items() if each == url), None)
            name = known or f"url-{secrets.token_hex(8)}"
            _urls[name] = url
            return name
    return None


def written(handle: str | None, memory: Callable[[], Memory]) -> str:
    """The handle as it is serialised. Without one it says where the environment led to, so that no
    other place is taken for it.
    """
    if handle is not None:
        return handle
    place = private_place(memory())
    return ENVIRONMENT if place is None else f"{PRIVATE}{place}-{ENVIRONMENT}"


def memory_of(handle: str | None) -> Memory | None:
    """The memory of a handle, if it is one and this process still uses it."""
    return _memories.get(handle or "")


def open_memory(
    memory: Memory | None,
    handle: str | None,
    *,
    robot: str = "default",
    tenant: str = "default",
    tokenizer: Callable[[str], Any] | None = None,
) -> Memory:
    """The given memory, else the one of the handle, else a new one at the handle's url."""
    known = memory or memory_of(handle)
    if known is not None:
        return known
    made = Memory(robot, url=url_of(handle), tenant=tenant, tokenizer=tokenizer)
    if _is_private(handle) and private_place(made) not in (None, str(handle).split("-")[1]):
        raise InvalidInput(
            "expected the private server that this was made on, but this process has another "
            "HTM_HOME; set HTM_HOME as it was "
            "there, or make this anew with memory="
        )
    return made


def url_of(handle: str | None) -> SecretStr | None:
    """The url of a handle; None for the environment's, or the private server. Raises `InvalidInput`
    when neither is known.
    """
    if handle is None or handle in _urls:
        return _urls.get(handle or "")
    if os.environ.get("HTM_DATABASE_URL") or _is_private(handle):
        return None
    raise InvalidInput(
        "expected to find the memory that this was made with, but it belongs to another process "
        "and addresses are never "
        "serialised; set HTM_DATABASE_URL, or make it anew with memory= or url="
    )


def _is_private(handle: str | None) -> bool:
    return (handle or "").startswith(PRIVATE)
