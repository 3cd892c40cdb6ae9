"""All errors, as one tree.

    HTMError
    ├── InvalidInput (ValueError)       an argument makes no sense
    ├── NotFound (LookupError)          there is no such memory
    ├── StorageError                    PostgreSQL could not do the work
    │   ├── DatabaseUnavailable
    │   │   └── DeadlineExceeded        the verb's time was over, whatever it waited for
    │   ├── SchemaOutdated
    │   ├── DimensionMismatch
    │   └── QueryTimeout
    ├── ModelError                      a model failed, or gave an impossible answer
    ├── RedactionError                  a redactor failed, so that nothing was stored
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
    """PostgreSQL could not do the work.

    `outcome_unknown` is True when the connection was lost, or the time was over, while a transaction was being committed: it
    may have been written or not. Repeat the call then with the same `id`s, or look. Otherwise nothing was written.
    """

    outcome_unknown: bool = False


class DatabaseUnavailable(StorageError):
    """The database cannot be reached, or it refused the login."""


class DeadlineExceeded(DatabaseUnavailable):
    """A verb was not done within `Settings.verb_timeout`: the server, the network, a lock or a model kept it waiting."""


class SchemaOutdated(StorageError):
    """The schema, an extension, a role or a privilege is missing, or of another version."""


class DimensionMismatch(StorageError):
    """A vector has another dimension than those stored, or comes from another model."""


class QueryTimeout(StorageError):
    """A statement took longer than `Settings.statement_timeout`."""


class ModelError(HTMError):
    """A model cannot be reached, failed, or gave an impossible answer."""


class RedactionError(HTMError):
    """A redactor failed; nothing was stored, since it might have held a secret."""


class Ungrounded(HTMError):
    """A source that an answer needs could not be read, so no answer is allowed."""
