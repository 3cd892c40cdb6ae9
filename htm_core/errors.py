"""Everything that can go wrong, as one tree.

    HTMError
    ├── InvalidInput (ValueError)       what was asked for could not be meant
    ├── NotFound (LookupError)          there is no such memory
    ├── StorageError                    PostgreSQL could not do it
    │   ├── DatabaseUnavailable
    │   ├── SchemaOutdated
    │   ├── DimensionMismatch
    │   └── QueryTimeout
    ├── ModelError                      an embedder or tagger failed or lied
    └── Ungrounded                      an answer was refused for want of evidence

Every message says what was expected, what came and what to do next.
"""

from __future__ import annotations


class HTMError(Exception):
    """Anything that htm-memory raises on purpose."""


class InvalidInput(HTMError, ValueError):
    """An argument that cannot be meant; nothing was written."""


class NotFound(HTMError, LookupError):
    """There is no such memory for this owner."""


class StorageError(HTMError):
    """PostgreSQL could not do what was asked."""


class DatabaseUnavailable(StorageError):
    """The database cannot be reached, or refused the login."""


class SchemaOutdated(StorageError):
    """The schema, an extension, a role or a privilege is missing or of another version."""


class DimensionMismatch(StorageError):
    """A vector has another dimension, or comes from another model, than those stored."""


class QueryTimeout(StorageError):
    """A statement took longer than the statement time-out."""


class ModelError(HTMError):
    """A model is unreachable, failed, or answered something impossible."""


class Ungrounded(HTMError):
    """A layer that had to be consulted could not be, so no answer is allowed."""
