"""Memory that never forgets: a token-budgeted working memory in front of PostgreSQL + pgvector.

A name of this package is imported when it is first used, so that a program pays for what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base.version import VERSION

if TYPE_CHECKING:
    from .base.errors import (
        DatabaseUnavailable,
        DeadlineExceeded,
        DimensionMismatch,
        HTMError,
        InvalidInput,
        ModelError,
        NotFound,
        QueryTimeout,
        RedactionError,
        SchemaOutdated,
        StorageError,
        Ungrounded,
    )
    from .base.identity import anonymous, is_anonymous
    from .base.settings import Settings, Signals
    from .base.types import (
        AppliedTimeframe,
        Attachment,
        AuditEntry,
        AuditReport,
        CollectionHit,
        CollectionItem,
        Conflict,
        Context,
        Draft,
        Embedder,
        EmbedderLike,
        Event,
        Eviction,
        Expander,
        ExpanderLike,
        GroupStatus,
        Hit,
        Item,
        Job,
        JudgeLike,
        Match,
        Member,
        Mention,
        Merge,
        Mode,
        ModelsLike,
        Node,
        Profile,
        ProfileLine,
        ProfileSource,
        Propositioner,
        PropositionerLike,
        ReaderLike,
        Recall,
        RecallOptions,
        Receipt,
        Related,
        Relation,
        Reranker,
        RerankerLike,
        Robot,
        Role,
        Scope,
        Source,
        Stats,
        Summarizer,
        SummarizerLike,
        Summary,
        Supersession,
        SupersessionChange,
        TagCount,
        TagFound,
        Tagger,
        TaggerLike,
        TagRelated,
        Tidied,
        TidyKind,
        Window,
    )
    from .change.changes import Changes
    from .collections.collection import Collection
    from .engine.groups.group import Group
    from .engine.log import Log
    from .files.files import File, Loaded
    from .jobs.jobs import Jobs
    from .memory.cells import Cell, Cells, PendingMove, TenantMove, TenantRows
    from .memory.memory import Memory
    from .memory.process import shutdown
    from .models.chat import (
        ChatExpander,
        ChatPropositioner,
        ChatReranker,
        ChatSummarizer,
        ChatTagger,
    )
    from .tags.tag_tree import TagTree
    from .tags.tags import Tags
    from .text.redaction.redactor import Redaction, Redactor

__version__ = VERSION

__all__ = [
    "AppliedTimeframe",
    "Attachment",
    "AuditEntry",
    "AuditReport",
    "Cell",
    "Cells",
    "Changes",
    "ChatExpander",
    "ChatPropositioner",
    "ChatReranker",
    "ChatSummarizer",
    "ChatTagger",
    "Collection",
    "CollectionHit",
    "CollectionItem",
    "Conflict",
    "Context",
    "DatabaseUnavailable",
    "DeadlineExceeded",
    "DimensionMismatch",
    "Draft",
    "Embedder",
    "EmbedderLike",
    "Event",
    "Eviction",
    "Expander",
    "ExpanderLike",
    "File",
    "Group",
    "GroupStatus",
    "HTMError",
    "Hit",
    "InvalidInput",
    "Item",
    "Job",
    "Jobs",
    "JudgeLike",
    "Loaded",
    "Log",
    "Match",
    "Member",
    "Memory",
    "Mention",
    "Merge",
    "Mode",
    "ModelError",
    "ModelsLike",
    "Node",
    "NotFound",
    "PendingMove",
    "Profile",
    "ProfileLine",
    "ProfileSource",
    "Propositioner",
    "PropositionerLike",
    "QueryTimeout",
    "ReaderLike",
    "Recall",
    "RecallOptions",
    "Receipt",
    "Redaction",
    "RedactionError",
    "Redactor",
    "Related",
    "Relation",
    "Reranker",
    "RerankerLike",
    "Robot",
    "Role",
    "SchemaOutdated",
    "Scope",
    "Settings",
    "Signals",
    "Source",
    "Stats",
    "StorageError",
    "Summarizer",
    "SummarizerLike",
    "Summary",
    "Supersession",
    "SupersessionChange",
    "TagCount",
    "TagFound",
    "TagRelated",
    "TagTree",
    "Tagger",
    "TaggerLike",
    "Tags",
    "TenantMove",
    "TenantRows",
    "Tidied",
    "TidyKind",
    "Ungrounded",
    "Window",
    "anonymous",
    "is_anonymous",
    "shutdown",
]

# The module of each name; what is not here is of base.types.
_MODULES = {
    "Cell": "memory.cells",
    "Cells": "memory.cells",
    "PendingMove": "memory.cells",
    "TenantMove": "memory.cells",
    "TenantRows": "memory.cells",
    "Collection": "collections.collection",
    "DatabaseUnavailable": "base.errors",
    "DeadlineExceeded": "base.errors",
    "DimensionMismatch": "base.errors",
    "HTMError": "base.errors",
    "InvalidInput": "base.errors",
    "ModelError": "base.errors",
    "NotFound": "base.errors",
    "QueryTimeout": "base.errors",
    "RedactionError": "base.errors",
    "SchemaOutdated": "base.errors",
    "StorageError": "base.errors",
    "Ungrounded": "base.errors",
    "Group": "engine.groups.group",
    "Changes": "change.changes",
    "Jobs": "jobs.jobs",
    "Log": "engine.log",
    "Tags": "tags.tags",
    "Memory": "memory.memory",
    "ChatExpander": "models.chat",
    "ChatPropositioner": "models.chat",
    "ChatReranker": "models.chat",
    "ChatSummarizer": "models.chat",
    "ChatTagger": "models.chat",
    "File": "files.files",
    "Loaded": "files.files",
    "anonymous": "base.identity",
    "is_anonymous": "base.identity",
    "Redaction": "text.redaction.redactor",
    "Redactor": "text.redaction.redactor",
    "TagTree": "tags.tag_tree",
    "shutdown": "memory.process",
    "Settings": "base.settings",
    "Signals": "base.settings",
}


if not TYPE_CHECKING:  # a type checker goes by the imports above, and knows what is not there

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(
                f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
            )
        value = globals()[name] = getattr(
            import_module(f".{_MODULES.get(name, 'base.types')}", __name__), name
        )
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
