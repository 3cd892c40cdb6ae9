"""Which memory a component was made with: kept by a name in this process, since an address may hold a password.

A component serialises the name. Where the process does not know it, the environment says which database is meant.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from htm_core import InvalidInput, Memory

_lock = threading.Lock()
_memories: WeakValueDictionary[str, Memory] = WeakValueDictionary()
_urls: dict[str, str] = {}


def check_alone(
    memory: Memory | None, *, robot: str = "default", tenant: str = "default", url: str | None = None
) -> None:
    """Refuse a memory together with what would make another one."""
    given = [
        name for name, there in (("robot", robot != "default"), ("tenant", tenant != "default"), ("url", url)) if there
    ]
    if memory is not None and given:
        raise InvalidInput(f"expected memory= alone, got {' and '.join(given)} too; give them to Memory(...) itself")
    if memory is not None and not isinstance(memory, Memory):
        raise InvalidInput(f"expected memory to be an htm_core.Memory, got {type(memory).__name__}; make one first")


def handle_of(memory: Memory | None, url: str | None) -> str | None:
    """A name for a memory or a url, the same for the same; None for neither."""
    with _lock:
        if memory is not None:
            known = next((name for name, each in _memories.items() if each is memory), None)
            name = known or f"memory-{secrets.token_hex(8)}"
            _memories[name] = memory
            return name
        if url is not None:
            known = next((name for name, each in _urls.items() if each == url), None)
            name = known or f"url-{secrets.token_hex(8)}"
            _urls[name] = url
            return name
    return None


def memory_of(handle: str | None) -> Memory | None:
    """The memory of a name, if that is one and this process still holds it."""
    return _memories.get(handle or "")


def opened(
    given: Memory | None,
    handle: str | None,
    *,
    robot: str = "default",
    tenant: str = "default",
    tokenizer: Callable[[str], Any] | None = None,
) -> Memory:
    """The memory that was given, else the one of a handle, else a new one at the handle's url."""
    known = given or memory_of(handle)
    return known or Memory(robot, url=url_of(handle), tenant=tenant, tokenizer=tokenizer)


def url_of(handle: str | None) -> str | None:
    """The url of a name; None leaves it to the environment. Raises `InvalidInput` where that would be a guess."""
    if handle is None or handle in _urls:
        return _urls.get(handle or "")
    if os.environ.get("HTM_DATABASE_URL"):
        return None
    raise InvalidInput(
        "expected to find the memory that this was made with, but it belongs to another process and addresses are never "
        "serialised; set HTM_DATABASE_URL, or make it anew with memory= or url="
    )
