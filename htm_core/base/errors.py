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

from collections.abc import Mapping
from typing import Literal

LONGEST_MESSAGE = 2_000  # characters; of a longer one the beginning and the end are said
# What somebody may do next, by what helps. Each surface has words of its own for it: a model has no
# Python, and a shell neither.
Advice = Literal[
    "memories",
    "listing",
    "forgotten",
    "files",
    "audit",
    "merges",
    "changes",
    "notes",
    "decisions",
    "filed",
    "filed or noted",
    "palace folder",
    "load folder",
    "folder register",
    "groups",
    "session",
    "exact bytes",
    "log",
    "longest content",
]
IN_PYTHON: Mapping[Advice, str] = {
    "memories": "Memory.list() shows what there is",
    "listing": "to list memories use Memory.list()",
    "forgotten": "see timeline(forgotten=True)",
    "files": "Memory.files() lists them",
    "audit": "see Memory.audit()",
    "merges": "Memory.merges() lists them",
    "changes": "memory.changes.list() shows what there is",
    "notes": "see Palace.notes()",
    "decisions": "see Palace.decisions()",
    "filed": "see Palace.look()",
    "filed or noted": "see Palace.look() and Palace.notes()",
    "palace folder": "make one with Palace.export(folder)",
    "load folder": "load the folder first with Palace.load, or export to another one",
    "folder register": "remove it to take all texts as new",
    "groups": "memory.group(name) creates one",
    "session": "pass session= here or to Memory(...)",
    "exact bytes": "payload= keeps the exact bytes",
    "log": "a message without text belongs in a log: Memory.log(session)",
    "longest content": "Settings.max_content allows more",
}


class HTMError(Exception):
    """Anything that htm-memory raises on purpose.

    - `advice`: what helps, where that is another call. `str` says it in Python; other surfaces say
      it in their own words.
    """

    def __init__(self, *args: object, advice: Advice | None = None) -> None:
        super().__init__(*args)
        self.advice = advice

    def __str__(self) -> str:
        return self._told(IN_PYTHON)

    def _told(self, words: Mapping[Advice, str]) -> str:
        """The message with what to do next in the words of a surface; without it where the surface
        has nothing that helps.
        """
        message = super().__str__()
        if len(message) > LONGEST_MESSAGE:  # it quotes what was given
            message = f"{message[: LONGEST_MESSAGE // 2]} … {message[-LONGEST_MESSAGE // 4 :]}"
        what_next = words.get(self.advice) if self.advice else None
        return f"{message}; {what_next}" if what_next else message


class InvalidInput(HTMError, ValueError):
    """An argument that makes no sense; nothing was written."""


class NotFound(HTMError, LookupError):
    """There is no such memory for this owner."""


class StorageError(HTMError):
    """PostgreSQL could not do the work.

    `outcome_unknown` is True when the connection was lost, or the time was over, while a
    transaction was being committed: it may have been written or not. Repeat the call then with the
    same `id`s, or look. Otherwise nothing was written.
    """

    outcome_unknown: bool = False


class DatabaseUnavailable(StorageError):
    """The database cannot be reached, or it refused the login."""


class DeadlineExceeded(DatabaseUnavailable):
    """A verb was not done within `Settings.verb_timeout`: the server, the network, a lock or a
    model kept it waiting.
    """


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
