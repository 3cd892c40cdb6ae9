"""LangGraph's long-term store on a memory's collections."""

from .store import AsyncHTMStore, HTMStore

__all__ = ["AsyncHTMStore", "HTMStore"]
