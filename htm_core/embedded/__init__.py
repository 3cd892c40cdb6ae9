"""The embedded PostgreSQL: started on first use, shared by the processes of one home."""

from .server import release, start

__all__ = ["release", "start"]
