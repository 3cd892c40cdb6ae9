"""Memory that never forgets: a token-budgeted working memory in front of PostgreSQL + pgvector.

A name of this package is imported when it is first used, so that a program pays for what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .collections.collection import Collection
    from .errors import (
        DatabaseUnavailable,
        DeadlineExceeded,
        DimensionMismatch,
        HTMError,
        InvalidInput,
        ModelError,
        NotFound,
        QueryTimeout,
        SchemaOutdated,
        StorageError,
        Ungrounded,
    )
    from .groups.group import Group
    from .handles.changes import Changes
    from .handles.jobs import Jobs
    from .handles.log import Log
    from .handles.tags import Tags
    from .memory import Memory
    from .models.chat import ChatExpander, ChatPropositioner, ChatReranker, ChatTagger
    from .operations.files import File, Loaded
    from .rules.identity import anonymous, is_anonymous
    from .rules.text.tag_tree import TagTree
    from .runtime.process import shutdown
    from .settings import Settings, Signals
    from .types import (
        AppliedTimeframe,
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
        Mode,
        Node,
        Propositioner,
        PropositionerLike,
        Recall,
        Receipt,
        Related,
        Relation,
        Reranker,
        RerankerLike,
        Robot,
        Role,
        Scope,
        Stats,
        Supersession,
        SupersessionChange,
        TagCount,
        TagFound,
        Tagger,
        TaggerLike,
        TagRelated,
        Window,
    )

__version__ = "0.1.0"

__all__ = [
    "AppliedTimeframe",
    "Changes",
    "ChatExpander",
    "ChatPropositioner",
    "ChatReranker",
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
    "Mode",
    "ModelError",
    "Node",
    "NotFound",
    "Propositioner",
    "PropositionerLike",
    "QueryTimeout",
    "Recall",
    "Receipt",
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
    "Stats",
    "StorageError",
    "Supersession",
    "SupersessionChange",
    "TagCount",
    "TagFound",
    "TagRelated",
    "TagTree",
    "Tagger",
    "TaggerLike",
    "Tags",
    "Ungrounded",
    "Window",
    "anonymous",
    "is_anonymous",
    "shutdown",
]

# Each name with the module that has it.
_MODULES = {
    "AppliedTimeframe": "types",
    "ChatExpander": "models.chat",
    "ChatPropositioner": "models.chat",
    "ChatReranker": "models.chat",
    "ChatTagger": "models.chat",
    "Changes": "handles.changes",
    "Collection": "collections.collection",
    "CollectionHit": "types",
    "CollectionItem": "types",
    "Conflict": "types",
    "Context": "types",
    "DatabaseUnavailable": "errors",
    "DeadlineExceeded": "errors",
    "DimensionMismatch": "errors",
    "Draft": "types",
    "Embedder": "types",
    "EmbedderLike": "types",
    "Event": "types",
    "Eviction": "types",
    "Expander": "types",
    "ExpanderLike": "types",
    "File": "operations.files",
    "Group": "groups.group",
    "GroupStatus": "types",
    "HTMError": "errors",
    "Hit": "types",
    "InvalidInput": "errors",
    "Item": "types",
    "Job": "types",
    "Jobs": "handles.jobs",
    "JudgeLike": "types",
    "Loaded": "operations.files",
    "Log": "handles.log",
    "Match": "types",
    "Member": "types",
    "Memory": "memory",
    "Mention": "types",
    "Mode": "types",
    "ModelError": "errors",
    "Node": "types",
    "NotFound": "errors",
    "Propositioner": "types",
    "PropositionerLike": "types",
    "QueryTimeout": "errors",
    "Recall": "types",
    "Receipt": "types",
    "Related": "types",
    "Relation": "types",
    "Reranker": "types",
    "RerankerLike": "types",
    "Robot": "types",
    "Role": "types",
    "SchemaOutdated": "errors",
    "Scope": "types",
    "Settings": "settings",
    "Signals": "settings",
    "Stats": "types",
    "StorageError": "errors",
    "Supersession": "types",
    "SupersessionChange": "types",
    "TagCount": "types",
    "TagFound": "types",
    "TagRelated": "types",
    "TagTree": "rules.text.tag_tree",
    "Tagger": "types",
    "TaggerLike": "types",
    "Tags": "handles.tags",
    "Ungrounded": "errors",
    "Window": "types",
    "anonymous": "rules.identity",
    "is_anonymous": "rules.identity",
    "shutdown": "runtime.process",
}


if not TYPE_CHECKING:  # a type checker goes by the imports above, and knows what is not there

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
        value = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
