"""Memories as a client sees them: marked with their origin, and never such that they could pass for
something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ... import Hit, HTMError, Memory, Mention, Node
from ...base.errors import Advice
from ...prompt.origin import TAG, WARNING, mentions_of, origin_of, shown_mention
from ...prompt.recalled_block import Fence, label_of, new_token
from ...prompt.tool_replies import OPENING
from ...text.excerpts import excerpt
from ...text.fence import indented, is_slug, label, one_line, source

SCHEME = "htm"
TITLE = 100  # characters
# What helps a client, by its tools and resources.
WHAT_NEXT: Mapping[Advice, str] = {
    "memories": "recall, search and timeline show ids",
    "listing": "to see what was said use timeline",
    "files": "the list of resources has them",
    "filed": "the resources of rooms show what is filed",
    "filed or noted": "the resources of rooms show what is filed",
}


def told(error: HTMError) -> str:
    """The message of an error, with the tool that helps."""
    return error._told(WHAT_NEXT)


def said_text(lines: Sequence[str]) -> str:
    """Lines of what was said, after the warning and in a fence; nothing for none."""
    return f"{OPENING}\n{Fence(TAG, new_token()).enclose(*lines)}" if lines else ""


def uri_of(kind: str, name: str) -> str:
    """The address of a resource, such as `htm://sessions/monday`."""
    return f"{SCHEME}://{kind}/{quote(name, safe='')}"


def address_of(hit: Hit) -> str:
    """Where a hit can be looked at: its resource here. A page chooses its address, and could say
    anything in it.
    """
    return uri_of("memories", hit.node.id)


def title_of(mention: Mention | None, words: str) -> str:
    """Who said it and when, and how it begins, in one line and in a fence."""
    begins = one_line(excerpt(words, "", longest=TITLE))
    about = _about(mention)
    return Fence(TAG, new_token()).enclose_inline(
        f"({source(about)}) {begins}" if about else begins
    )


def memory_text(memory: Memory, node: Node, words: str) -> dict[str, Any]:
    """A memory as fetch answers it; its words are escaped, in a fence, and after a warning."""
    mention = shown_mention(mentions_of(memory, node))
    about = _about(mention)
    text = Fence(TAG, new_token()).enclose(
        WARNING, f"[{label(about) or 'noted'}]", indented(words, by=4)
    )
    metadata: dict[str, Any] = {
        "created_at": node.created_at.isoformat(),
        "importance": node.importance,
        "tags": [_name(each) for each in node.tags],
        "keys": [_name(each) for each in node.keys],
        "tokens": node.tokens,
    }
    if node.version is not None:
        metadata["version"] = node.version
    if mention is not None:
        metadata |= {
            "source": mention.source,
            "role": mention.role,
            "name": _name(mention.name),
            "session": _name(mention.session),
            "said_at": mention.at.isoformat(),
            "trust": mention.trust,
        }
    return {
        "id": node.id,
        "title": title_of(mention, words),
        "text": text,
        "url": uri_of("memories", node.id),
        "metadata": metadata,
    }


def _name(name: str | None) -> str | None:
    """A name that somebody chose: as it is where it is short enough to say nothing else, else in a
    fence.
    """
    if name is None or is_slug(name):
        return name
    return Fence(TAG, new_token()).enclose_inline(one_line(name))


def _about(mention: Mention | None) -> str:
    """When and by whom, not escaped."""
    return (
        ""
        if mention is None
        else label_of(mention.at.date().isoformat(), origin_of(mention).words() or "noted") or ""
    )
