"""All errors, as one tree.

    HTMError
    ├── InvalidInput (ValueError)       an argument makes no sense
    ├── NotFound (LookupError)          there is no such memory
    ├── StorageError                    PostgreSQL could not do the work
    │   ├── DatabaseUnavailable
    │   ├── SchemaOutdated
    │   ├── DimensionMismatch
    │   └── QueryTimeout
    ├── ModelError                      a model failed, or gave an impossible answer
    └── Ungrounded                      an answer was refused, since evidence is missing

Every message says what was expected, what came, and what to do next.
"""

from __future__ import annotations


class HTMError(Exception):
    """Anything that htm-memory raises on purpose."""


class InvalidInput(HTMError, ValueError):
    """An argument that makes no sense; nothing was written."""


class NotFound(HTMError, LookupError):
    """There is no such memory for this owner."""


class StorageError(HTMError):
    """PostgreSQL could not do the work."""


class DatabaseUnavailable(StorageError):
    """The database cannot be reached, or it refused the login."""


class SchemaOutdated(StorageError):
    """The schema, an extension, a role or a privilege is missing, or of another version."""


class DimensionMismatch(StorageError):
    """A vector has another dimension than those stored, or comes from another model."""


class QueryTimeout(StorageError):
    """A statement took longer than `Settings.statement_timeout`."""


class ModelError(HTMError):
    """A model cannot be reached, failed, or gave an impossible answer."""


class Ungrounded(HTMError):
    """A source that an answer needs could not be read, so no answer is allowed."""
