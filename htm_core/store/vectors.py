"""pgvector's two types of vector, wherever its version has them: peers pin it against each other, so both must do."""

from __future__ import annotations

try:
    from pgvector import HalfVector, Vector
except ImportError:  # before 0.4
    from pgvector.psycopg import HalfVector, Vector  # type: ignore[attr-defined,no-redef]

__all__ = ["HalfVector", "Vector"]
