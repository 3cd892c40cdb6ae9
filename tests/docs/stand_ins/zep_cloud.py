"""A stand-in for zep-cloud 4: the calls that docs/migrate/zep.md makes, with one user, one thread and two facts.

The names are those of the package; the service itself cannot be asked from a test.
"""

from __future__ import annotations

from types import SimpleNamespace as Row
from typing import Any


class _Users:
    def list(self) -> list[Any]:
        """All users."""
        return [Row(uuid_="7a", user_id="eve")]


class _Threads:
    def list(self, *, user_uuid: str) -> list[Any]:
        """The threads of a user."""
        return [Row(uuid_="7b", thread_id="thread-1", user_uuid=user_uuid)]

    def list_messages(self, thread_uuid: str, *, order: str) -> list[Any]:
        """The messages of a thread; times are texts in ISO 8601."""
        assert (thread_uuid, order) == ("7b", "asc")
        said = [
            (
                "7c",
                "user",
                "Eve",
                "I have worked at the harbour since May.",
                "2026-05-04T09:00:00Z",
            ),
            ("7d", "assistant", None, "Noted.", "2026-05-04T09:00:05Z"),
        ]
        return [
            Row(
                uuid_=id,
                role=role,
                name=name,
                content=content,
                reference_time=at,
                created_at=at,
                metadata=None,
            )
            for id, role, name, content, at in said
        ]


class _Edges:
    def list(self, graph_uuid: str) -> list[Any]:
        """The facts of a graph; a user's graph is found by the user's id as well."""
        assert graph_uuid == "7a"
        return [
            Row(uuid_="7e", fact="Eve works at the mill.", valid_at="2024-02-01T00:00:00Z", invalid_at="2026-05-01T00:00:00Z"),
            Row(uuid_="7f", fact="Eve works at the harbour.", valid_at="2026-05-01T00:00:00Z", invalid_at=None),
        ]  # fmt: skip


class Zep:
    """The client."""

    def __init__(self, *, api_key: str | None = None) -> None:
        self.user = _Users()
        self.thread = _Threads()
        self.graph = Row(edge=_Edges())
