"""Robots that share one working memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .options import GroupRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A robot in a group; `live` until its heartbeat is late."""

    robot: str
    role: GroupRole
    live: bool
    joined_at: datetime
    heartbeat_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatus:
    """The state of a group: its members in the order of joining, and what its working memory holds.

    `term` grows by one with each change of who is active. `listening` says whether this process is
    notified of changes at once; otherwise it looks for them with each heartbeat.
    """

    name: str
    lease: float
    term: int
    members: tuple[Member, ...]
    working_items: int
    working_tokens: int
    budget: int
    listening: bool

    @property
    def active(self) -> tuple[str, ...]:
        """The names of the active members."""
        return tuple(member.robot for member in self.members if member.role == "active")

    @property
    def passive(self) -> tuple[str, ...]:
        """The names of the passive members."""
        return tuple(member.robot for member in self.members if member.role == "passive")

    @property
    def utilization(self) -> float:
        """Share of the budget that is used, from 0 to 1."""
        return self.working_tokens / self.budget
