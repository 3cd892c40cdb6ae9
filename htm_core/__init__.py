"""Memory that never forgets: a token-budgeted working memory in front of PostgreSQL + pgvector."""

from __future__ import annotations

from .collections.collection import Collection
from .errors import (
    DatabaseUnavailable,
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
from .handles.jobs import Jobs
from .handles.log import Log
from .handles.tags import Tags
from .memory import Memory
from .models.chat import ChatPropositioner, ChatTagger
from .operations.files import File, Loaded
from .rules.identity import anonymous, is_anonymous
from .rules.text.tag_tree import TagTree
from .runtime.process import shutdown
from .settings import Settings, Signals
from .types import (
    CollectionHit,
    CollectionItem,
    Conflict,
    Context,
    Draft,
    Embedder,
    EmbedderLike,
    Event,
    Eviction,
    GroupStatus,
    Hit,
    Item,
    Job,
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
    Robot,
    Role,
    Scope,
    Stats,
    TagCount,
    TagFound,
    Tagger,
    TaggerLike,
    TagRelated,
    Window,
)

__version__ = "0.1.0"

__all__ = [
    "ChatPropositioner",
    "ChatTagger",
    "Collection",
    "CollectionHit",
    "CollectionItem",
    "Conflict",
    "Context",
    "DatabaseUnavailable",
    "DimensionMismatch",
    "Draft",
    "Embedder",
    "EmbedderLike",
    "Event",
    "Eviction",
    "File",
    "Group",
    "GroupStatus",
    "HTMError",
    "Hit",
    "InvalidInput",
    "Item",
    "Job",
    "Jobs",
    "Loaded",
    "Log",
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
    "Robot",
    "Role",
    "SchemaOutdated",
    "Scope",
    "Settings",
    "Signals",
    "Stats",
    "StorageError",
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
