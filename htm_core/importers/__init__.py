"""Moving in: what other packages keep in PostgreSQL, read there and written here.

from htm_core.importers import import_database

with Memory("atlas") as memory:
    print(import_database(memory, "postgresql://localhost/rag", dry_run=True))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy_names import lazily

if TYPE_CHECKING:
    from . import conversations as conversations
    from .foreign.database import is_address as is_address
    from .foreign.database import open_foreign as open_foreign
    from .parts import NotUnderstood
    from .run import KINDS, DatabaseImport, ImportedTable, import_database
    from .run import recognised as recognised
    from .sources.mempalace import database_of as database_of
    from .sources.sources import Source as Source
    from .sources.sources import source_of as source_of
    from .sources.sources import transcripts_in as transcripts_in
    from .sources.tables import TableOptions as TableOptions
    from .transcripts.gemini_cli import drafts_of as drafts_of
    from .transcripts.read import Transcript as Transcript
    from .transcripts.read import read as read
    from .transcripts.turns import FAULTS as FAULTS
    from .transcripts.turns import LINK_TO_NOTHING as LINK_TO_NOTHING
    from .transcripts.turns import NO_TAG as NO_TAG
    from .transcripts.turns import NOT_STORED as NOT_STORED
    from .transcripts.turns import NOT_UNDERSTOOD as NOT_UNDERSTOOD
    from .transcripts.turns import OF_AN_OLDER_EXPORT as OF_AN_OLDER_EXPORT
    from .transcripts.turns import Omissions as Omissions
    from .transcripts.turns import Skip as Skip
    from .transcripts.turns import iso_time as iso_time
    from .transcripts.turns import not_understood as not_understood

__all__ = ["KINDS", "DatabaseImport", "ImportedTable", "NotUnderstood", "import_database"]

# Each name with the module that has it: whoever reads files does not pay for databases.
_MODULES = {
    "DatabaseImport": "run",
    "FAULTS": "transcripts.turns",
    "ImportedTable": "run",
    "KINDS": "run",
    "LINK_TO_NOTHING": "transcripts.turns",
    "NOT_STORED": "transcripts.turns",
    "NOT_UNDERSTOOD": "transcripts.turns",
    "NO_TAG": "transcripts.turns",
    "NotUnderstood": "parts",
    "OF_AN_OLDER_EXPORT": "transcripts.turns",
    "Omissions": "transcripts.turns",
    "Skip": "transcripts.turns",
    "Source": "sources.sources",
    "TableOptions": "sources.tables",
    "Transcript": "transcripts.read",
    "database_of": "sources.mempalace",
    "drafts_of": "transcripts.gemini_cli",
    "import_database": "run",
    "is_address": "foreign.database",
    "iso_time": "transcripts.turns",
    "not_understood": "transcripts.turns",
    "open_foreign": "foreign.database",
    "read": "transcripts.read",
    "recognised": "run",
    "source_of": "sources.sources",
    "transcripts_in": "sources.sources",
}


if not TYPE_CHECKING:  # a type checker goes by the imports above
    __getattr__ = lazily(__name__, _MODULES)
