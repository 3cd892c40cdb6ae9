"""The words that options take. `typing.get_args` lists them, for checks at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Mode = Literal["hybrid", "vector", "text"]
Scope = Literal["user", "session", "tenant"]
Role = Literal["user", "assistant", "system", "tool"]
Source = Literal["user", "assistant", "tool", "file", "web", "import"]
Embed = Literal["queue", "now"]
PolicyName = Literal["importance", "lfu_lru", "lru", "fifo"]
OrderName = Literal["balanced", "balanced:access", "recent", "important", "frequent"]
GroupRole = Literal["active", "passive"]
RelationKind = Literal["related", "supports", "contradicts", "derived"]
RelationOrigin = Literal["tags", "proposition", "link"]
JobKind = Literal["embed", "tag", "propose", "relate", "supersede", "judge", "count", "profile", "merge", "summarize"]
SupersessionRelation = Literal["supersedes", "contradicts"]
SaidWhen = Literal["last", "earlier"]
SupersessionState = Literal["standing", "confirmed", "undone"]
TidyKind = Literal["profile", "merge", "summarize"]
ProfileSection = Literal["about", "instructions", "preferences", "people", "places", "work", "plans"]
JobState = Literal["waiting", "claimed", "parked"]
CollectionKind = Literal["documents", "langgraph", "langchain", "llamaindex"]
FilterTarget = Literal["metadata", "value"]

Metadata = Mapping[str, Any]

DEFAULT_IMPORTANCE = 1.0
