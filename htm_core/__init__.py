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
from .relation_types import Related, Relation, TagCount, TagFound, TagRelated
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
    Event,
    Eviction,
    GroupStatus,
    Hit,
    Item,
    Job,
    Member,
    Mention,
    Node,
    Propositioner,
    Recall,
    Receipt,
    Robot,
    Stats,
    Tagger,
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
    "ModelError",
    "Node",
    "NotFound",
    "Propositioner",
    "QueryTimeout",
    "Recall",
    "Receipt",
    "Related",
    "Relation",
    "Robot",
    "SchemaOutdated",
    "Settings",
    "Signals",
    "Stats",
    "StorageError",
    "TagCount",
    "TagFound",
    "TagRelated",
    "TagTree",
    "Tagger",
    "Tags",
    "Ungrounded",
    "Window",
    "anonymous",
    "is_anonymous",
    "shutdown",
]
