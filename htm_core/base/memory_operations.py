"""Verbs as OpenTelemetry's conventions for generative AI call them: which memory operation each one
is, and its attributes.

The conventions are at the status Development; docs/telemetry.md says which of their attributes are
sent, and when.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Sized
from typing import Any, get_args

from .identity import looks_like_id
from .telemetry import Figure, store_id
from .types import (
    CollectionHit,
    Conflict,
    Context,
    GroupRole,
    Hit,
    Mode,
    OrderName,
    Recall,
    RelationKind,
    Scope,
)

SEARCH, CREATE, UPDATE, UPSERT, DELETE = (
    "search_memory",
    "create_memory",
    "update_memory",
    "upsert_memory",
    "delete_memory",
)

# The operation of each verb that reads or writes memories, by the name that it has among ours. A
# verb that is in neither this nor `OTHERS` fails a test: whoever adds one decides.
OPERATIONS: Mapping[str, str] = {
    "htm.remember": CREATE, "htm.remember_many": CREATE, "htm.revise": UPSERT, "htm.recall": SEARCH,
    "htm.context": SEARCH, "htm.get": SEARCH, "htm.history": SEARCH, "htm.list": SEARCH,
    "htm.timeline": SEARCH, "htm.who_said": SEARCH, "htm.related": SEARCH, "htm.forget": DELETE,
    "htm.restore": UPDATE, "htm.erase": DELETE, "htm.erase_tenant": DELETE, "htm.load": UPSERT,
    "htm.log.append": CREATE, "htm.log.append_and_read": CREATE, "htm.log.tail": SEARCH, "htm.log.entries": SEARCH,
    "htm.log.archive": CREATE, "htm.tags.add": UPDATE, "htm.tags.remove": UPDATE,
    "htm.collection.put": UPSERT, "htm.collection.get": SEARCH, "htm.collection.query": SEARCH,
    "htm.collection.delete": DELETE, "htm.collection.clear": DELETE, "htm.palace.identify": UPSERT,
    "htm.palace.file": CREATE, "htm.palace.file_many": CREATE, "htm.palace.note": CREATE,
    "htm.palace.artifact": CREATE, "htm.palace.register": UPSERT, "htm.palace.procedure": UPSERT,
    "htm.palace.look": SEARCH, "htm.palace.notes": SEARCH, "htm.palace.artifacts": SEARCH,
    "htm.palace.procedures": SEARCH, "htm.palace.move": UPDATE, "htm.palace.forget": DELETE,
    "htm.palace.promote": CREATE, "htm.palace.submit": CREATE, "htm.palace.consult": SEARCH,
}  # fmt: skip
# Verbs that read or write something else than memories: counts, jobs, groups, backups, or a part of
# a store by a condition. The conventions know no deletion of a part: `delete_memory` without a
# record's id reads as the end of a whole store.
OTHERS = frozenset((
    "htm.robots", "htm.sessions", "htm.link", "htm.unload", "htm.files", "htm.purge", "htm.sweep",
    "htm.audit", "htm.verify_audit", "htm.profile", "htm.tidy", "htm.merges", "htm.unmerge",
    "htm.summaries", "htm.stats", "htm.flush", "htm.close", "htm.group", "htm.log.remove",
    "htm.log.replace", "htm.log.clear", "htm.tags.tree", "htm.tags.search", "htm.tags.popular",
    "htm.tags.related", "htm.changes.list", "htm.changes.undo", "htm.changes.confirm",
    "htm.changes.audit", "htm.jobs.list", "htm.jobs.retry", "htm.backup.write", "htm.backup.read",
    "htm.group.leave", "htm.group.promote", "htm.group.demote", "htm.group.failover",
    "htm.group.status", "htm.collection.namespaces", "htm.collection.count", "htm.collection.ids",
    "htm.collection.server_time", "htm.collection.sweep", "htm.collection.check",
    "htm.palace.identity", "htm.palace.rooms", "htm.palace.sweep", "htm.palace.undo",
    "htm.palace.wake_up", "htm.palace.decisions", "htm.palace.consultations", "htm.palace.export",
    "htm.palace.load",
))  # fmt: skip

# Verbs whose first argument is what is searched for, and those whose first argument is a memory or
# its key.
_ASKING = frozenset(("htm.recall", "htm.who_said", "htm.collection.query", "htm.palace.consult"))
_OF_ONE = frozenset((
    "htm.get", "htm.history", "htm.related", "htm.forget", "htm.restore", "htm.tags.add",
    "htm.tags.remove", "htm.revise", "htm.palace.move", "htm.palace.forget",
))  # fmt: skip
# The words of options. No other text of an argument is told, since it may be content.
_WORDS = frozenset(
    word
    for option in (GroupRole, Mode, OrderName, RelationKind, Scope)
    for word in get_args(option)
)
MOST_RECORDS = 50  # whose content stands on a span, by opt-in
LONGEST = 2_000  # characters of each


def operation_of(name: str, options: Mapping[str, Any], *, subject: Any = None) -> str | None:
    """The memory operation that a call of a verb is; None for one that the conventions do not have.

    `subject` is the verb's first argument.
    """
    if name == "htm.remember" and options.get("key") is not None:
        return UPSERT
    if name == "htm.erase" and options.get("user") is None:
        return None
    if name == "htm.collection.delete" and len(_ids(subject, options)) != 1:
        return None
    return OPERATIONS.get(name)


def figures_of(options: Mapping[str, Any]) -> dict[str, Figure]:
    """The numbers and the known words among the options of a call."""
    return {
        f"htm.{name}": value
        for name, value in options.items()
        if isinstance(value, int | float) or (isinstance(value, str) and value in _WORDS)
    }


def described_call(
    name: str, subject: Any, options: Mapping[str, Any], *, store: Sequence[str], content: bool
) -> dict[str, Figure]:
    """Describe a call as the conventions do: the store, the record if there is one, and by opt-in
    the query.
    """
    figures: dict[str, Figure] = {"gen_ai.memory.store.id": store_id(*store)}
    if name in _OF_ONE and (record := _record_id(subject)):
        figures["gen_ai.memory.record.id"] = record
    if name == "htm.collection.delete" and (ids := _ids(subject, options)):
        figures["gen_ai.memory.record.id"] = _record_id(ids[0]) or ""
    query = None
    if name in _ASKING:
        query = next(
            (options[each] for each in ("query", "text", "prompt") if each in options), subject
        )
    if content and isinstance(query, str):
        figures["gen_ai.memory.query.text"] = query[:LONGEST]
    return figures


def described_answer(answer: Any, *, content: bool) -> dict[str, Figure]:
    """Describe an answer as the conventions do: how many records, the id of a single one, and by
    opt-in what they say.
    """
    figures: dict[str, Figure] = {}
    # of a palace, which answers with evidence
    if isinstance(verdict := getattr(answer, "verdict", None), str):
        figures["htm.verdict"] = verdict
        answer = answer.evidence
    records = list(_records(answer))
    if isinstance(answer, Conflict):
        figures["htm.conflict"] = True
    if isinstance(answer, int) and not isinstance(answer, bool):
        figures["gen_ai.memory.record.count"] = answer
    if not _is_countable(answer) and not records:
        return figures
    figures["gen_ai.memory.record.count"] = len(records)
    if len(records) == 1 and not _is_countable(answer) and isinstance(records[0].get("id"), str):
        figures["gen_ai.memory.record.id"] = records[0]["id"]
    if isinstance(answer, Recall):
        figures |= {
            "htm.degraded": answer.degraded is not None,
            "htm.fallback": answer.fallback is not None,
        }
    if content and records:
        cut = [
            each | {"content": each["content"][:LONGEST]}
            for each in records[:MOST_RECORDS]
            if "content" in each
        ]
        figures["gen_ai.memory.records"] = json.dumps(cut, ensure_ascii=False, default=str)
    return figures


def count_of(answer: Any) -> int | None:
    """The number of results, where an answer is a sequence of them."""
    return len(answer) if _is_countable(answer) else None


def _is_countable(answer: Any) -> bool:
    return (
        isinstance(answer, Sized)
        and isinstance(answer, Sequence)
        and not isinstance(answer, str | bytes)
    )


def _records(answer: Any) -> Iterator[dict[str, Any]]:
    """The records in an answer, each with its id, its text and its score, as far as it has them."""
    if isinstance(answer, Context):
        answer = answer.items
    for item in answer if _is_countable(answer) else [answer]:
        if isinstance(item, tuple):  # a caller's own id and the message
            item = item[-1]
        score = item.score if isinstance(item, Hit | CollectionHit) else None
        record = (
            item.item if isinstance(item, CollectionHit) else getattr(item, "node", None) or item
        )
        record = getattr(record, "placed", None) or record
        if isinstance(record, str):
            if _is_countable(answer):  # the ids of what was put
                yield {"id": record}
        elif isinstance(id := getattr(record, "id", None), str) and isinstance(
            getattr(record, "content", None), str
        ):
            yield {"id": id, "content": record.content} | (
                {} if score is None else {"score": round(score, 4)}
            )
        elif _is_countable(answer):
            yield {}


def _record_id(subject: Any) -> str | None:
    """The id of a memory; of a key or a caller's own id a digest, since it may name somebody."""
    if isinstance(id := getattr(subject, "id", None), str):
        return id
    if isinstance(subject, str):
        return (
            subject if looks_like_id(subject) else f"key:{store_id(subject).removeprefix('htm:')}"
        )
    return None


def _ids(subject: Any, options: Mapping[str, Any]) -> Sequence[Any]:
    ids = options.get("ids", subject)
    return ids if _is_countable(ids) else ()
