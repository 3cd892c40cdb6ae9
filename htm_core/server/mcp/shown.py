"""What memories look like to a client: marked with their origin, and never such that they could pass for something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ... import Hit, HTMError, Memory, Mention, Node
from ...errors import Advice
from ...integration.origin import TAG, WARNING, mentions_of, origin_of, said_by, shown_mention
from ...integration.prompt_block import Fence, label_of, new_token
from ...integration.tool_replies import OPENING
from ...rules.text.excerpts import excerpt
from ...rules.text.fence import indented, label, one_line

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
    """Where a hit can be looked at: the page that it is from, else its resource here."""
    said = said_by(hit)
    origin = origin_of(said) if said else None
    if origin is not None and origin.source == "web" and origin.place and not origin.place.endswith("…"):
        return origin.place
    return uri_of("memories", hit.node.id)


def title_of(hit: Hit) -> str:
    """Who said it and when, and how it begins, in one line."""
    words = one_line(excerpt(hit.content, "", longest=TITLE))
    about = _about(said_by(hit))
    return f"({about}) {words}" if about else words


def memory_text(memory: Memory, node: Node, words: str) -> dict[str, Any]:
    """A memory as fetch answers it; its words are escaped, in a fence, and after a warning."""
    said = shown_mention(mentions_of(memory, node))
    about = _about(said)
    text = Fence(TAG, new_token()).enclose(WARNING, f"[{about or 'noted'}]", indented(words, by=4))
    metadata: dict[str, Any] = {
        "created_at": node.created_at.isoformat(), "importance": node.importance, "tags": list(node.tags),
        "keys": list(node.keys), "tokens": node.tokens,
    }  # fmt: skip
    if node.version is not None:
        metadata["version"] = node.version
    if said is not None:
        metadata |= {
            "source": said.source, "role": said.role, "name": said.name, "session": said.session,
            "said_at": said.at.isoformat(), "trust": said.trust,
        }  # fmt: skip
    title = (
        f"({about}) {one_line(excerpt(words, '', longest=TITLE))}"
        if about
        else one_line(excerpt(words, "", longest=TITLE))
    )
    return {"id": node.id, "title": title, "text": text, "url": uri_of("memories", node.id), "metadata": metadata}


def _about(said: Mention | None) -> str:
    """When and by whom, for a label."""
    return "" if said is None else label(label_of(said.at.date().isoformat(), origin_of(said).words() or "noted"))
