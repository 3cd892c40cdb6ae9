"""Moving in: what other packages keep in PostgreSQL, read there and written here.

from htm_core.importers import import_database

with Memory("atlas") as memory:
    print(import_database(memory, "postgresql://localhost/rag", dry_run=True))
"""

from __future__ import annotations

from .parts import NotUnderstood
from .run import KINDS, DatabaseImport, ImportedTable, import_database

__all__ = ["KINDS", "DatabaseImport", "ImportedTable", "NotUnderstood", "import_database"]
