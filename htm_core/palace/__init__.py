"""The memory palace: recall before generation.

from htm_core.palace import Enforcer, Palace

palace = Palace(memory)
palace.file("The API listens on port 8080.", room="projects", drawer="api")
print(Enforcer(palace).consult("Which port does our API listen on?").text)
"""

from __future__ import annotations

from ..rules.detection.detect import Detection, Detector, detect
from ..rules.grounding.grounding import MISS, Contradiction, Evidence, Grounding, Layer
from ..rules.places import Drawer, Placed, Room
from .audit import Against, Consultation, Decision
from .before_answer import GROUNDING_KEY, WAKE, Consulted, Enforce, before_answer, checked_enforce, checked_palace
from .contradiction import ChatJudge, Judge, by_rules
from .enforcer import Enforcer
from .folder import Exported, FolderConflict, Imported
from .layout import Layout, for_code_review, for_health_check, for_issue_analysis
from .palace import Palace
from .promote import Duplicate, Promoted, PromotionConflict
from .reader import ChatReader, Reader
from .tool_replies import PalaceToolReplies
from .wake import WakeUp

# Public names of earlier versions. `Conflict` is not `htm_core.Conflict`, which `Memory.revise` returns.
Conflict = PromotionConflict
Hands = PalaceToolReplies

__all__ = [
    "GROUNDING_KEY",
    "MISS",
    "WAKE",
    "Against",
    "ChatJudge",
    "ChatReader",
    "Conflict",
    "Consultation",
    "Consulted",
    "Contradiction",
    "Decision",
    "Detection",
    "Detector",
    "Drawer",
    "Duplicate",
    "Enforce",
    "Enforcer",
    "Evidence",
    "Exported",
    "FolderConflict",
    "Grounding",
    "Hands",
    "Imported",
    "Judge",
    "Layer",
    "Layout",
    "Palace",
    "PalaceToolReplies",
    "Placed",
    "Promoted",
    "PromotionConflict",
    "Reader",
    "Room",
    "WakeUp",
    "before_answer",
    "by_rules",
    "checked_enforce",
    "checked_palace",
    "detect",
    "for_code_review",
    "for_health_check",
    "for_issue_analysis",
]
