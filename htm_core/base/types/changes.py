"""Effects of newer sayings on older ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .memories import Mention
from .options import SupersessionRelation, SupersessionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersession:
    """Effect of a newer saying on an older one: it "supersedes" it, or it "contradicts" it and
    nothing says which holds.

    `newer` and `older` are the latest mentions of both. `confidence` is from 0 to 1, `reason` says
    why in words, and `judge` who said so: "reader" or the name of a model. It holds from
    `holds_from` on, when the newer one was said. `state` is "standing", "confirmed", or "undone";
    what is undone has no effect and is not made again. Of what is forgotten there is none.
    """

    id: str
    relation: SupersessionRelation
    newer: Mention
    older: Mention
    confidence: float
    reason: str
    judge: str
    state: SupersessionState
    holds_from: datetime
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersessionChange:
    """A row of the audit of a supersession: it was "made", "confirmed" or "undone", `by` whom, why
    and when.
    """

    action: Literal["made", "confirmed", "undone"]
    by: str
    reason: str
    at: datetime
