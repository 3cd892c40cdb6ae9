"""Merged memories in recall: what says the same is one hit, with the mentions of all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from ..base.types import Hit, Mention
from ..base.types.memories import times_said
from ..change import store
from ..engine.engine import Engine
from ..writing import nodes
from .search import RecallQuery


def as_one(engine: Engine, query: RecallQuery, hits: Sequence[Hit]) -> list[Hit]:
    """Hits in which nothing stands twice that was merged: the best of what says the same keeps its place and its score.

    It is shown with the node that stands for all of it, as far as the filters let that be seen, and with the mentions of all that
    were found; each mention keeps its own words. It is one short query more.
    """
    if not hits:
        return []
    owners = query.filters.owners
    read = partial(engine.read, everybody=query.of_everybody)
    stands_for = store.merged_among(read, [UUID(hit.node.id) for hit in hits])
    if not stands_for:
        return list(hits)
    groups: dict[UUID, list[Hit]] = {}
    for hit in hits:
        node = UUID(hit.node.id)
        groups.setdefault(stands_for.get(node, node), []).append(hit)
    missing = [node for node, group in groups.items() if all(UUID(hit.node.id) != node for hit in group)]
    # Tags, metadata and words are a node's own: what stands for a hit may not have them.
    asked = query.filters
    is_open = not (asked.tags or asked.equal or asked.metadata or query.mode == "text")
    known = nodes.read(read, missing, owners=owners) if missing and owners and is_open else {}
    made = []
    for node, group in groups.items():
        best = group[0]
        standing = next((hit.node for hit in group if UUID(hit.node.id) == node), known.get(node, best.node))
        if len(group) > 1 or standing is not best.node:
            best = _as_one(group, replace(best, node=standing))
        made.append(best)
    return made


def _as_one(hits: Sequence[Hit], best: Hit) -> Hit:
    by_id: dict[str, Mention] = {mention.id: mention for hit in hits for mention in hit.mentions}
    mentions = sorted(by_id.values(), key=lambda mention: (mention.at, mention.seq), reverse=True)
    node = best.node
    if mentions:
        node = replace(node, times_said=times_said(mentions), last_said=mentions[0].at)
    keyed = [hit.node for hit in hits if hit.node.keys]
    if keyed and not node.keys:  # a key was given to what had been merged before
        keys = dict.fromkeys(key for each in keyed for key in each.keys)
        node = replace(node, keys=tuple(sorted(keys)), version=max(each.version or 0 for each in keyed))
    best = replace(best, node=node, mentions=tuple(mentions))
    return best if best.passage in node.content else replace(best, passage=node.content)
