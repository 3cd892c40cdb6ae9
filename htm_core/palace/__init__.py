"""The memory palace: recall before generation.

from htm_core.palace import Enforcer, Palace

palace = Palace(memory)
palace.file("The API listens on port 8080.", room="projects", drawer="api")
print(Enforcer(palace).consult("Which port does our API listen on?").text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy_names import lazily

if TYPE_CHECKING:
    from ..base.places import Drawer, Placed, Room
    from .audit import Against, Consultation, Decision
    from .consult import before_answer, checked_palace
    from .consulted import GROUNDING_KEY, WAKE, Consulted, Enforce, checked_enforce
    from .contradiction import ChatJudge, Judge, by_rules
    from .enforcer import THRESHOLD as THRESHOLD
    from .enforcer import Enforcer, detect
    from .fetchers.folders import FolderFetcher
    from .fetchers.frameworks import DocumentsFetcher, RetrieverFetcher
    from .fetchers.trackers import GiteaFetcher, GitHubFetcher, GitLabFetcher
    from .folder import Exported, FolderConflict, Imported
    from .grounding.detection import Detection, Detector
    from .grounding.grounding import MISS, Contradiction, Evidence, Grounding, Layer
    from .layout import Layout, for_code_review, for_health_check, for_issue_analysis
    from .palace import Palace
    from .promote import Duplicate, Promoted, PromotionConflict
    from .promote import PromotionConflict as Conflict
    from .promotion import check_reason as check_reason
    from .promotion import check_summary as check_summary
    from .reader import ChatReader, Reader
    from .register import Registered
    from .sources import Fetch, Fetcher, FetchFailed, Listed, time_left
    from .tool_replies import NO_PALACE as NO_PALACE
    from .tool_replies import PalaceToolReplies
    from .tool_replies import PalaceToolReplies as Hands
    from .wake import WakeUp

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
    "DocumentsFetcher",
    "Drawer",
    "Duplicate",
    "Enforce",
    "Enforcer",
    "Evidence",
    "Exported",
    "Fetch",
    "FetchFailed",
    "Fetcher",
    "FolderConflict",
    "FolderFetcher",
    "GitHubFetcher",
    "GitLabFetcher",
    "GiteaFetcher",
    "Grounding",
    "Hands",
    "Imported",
    "Judge",
    "Layer",
    "Layout",
    "Listed",
    "Palace",
    "PalaceToolReplies",
    "Placed",
    "Promoted",
    "PromotionConflict",
    "Reader",
    "Registered",
    "RetrieverFetcher",
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
    "time_left",
]

# Each name with the module that has it: an agent without a palace does not pay for one.
_MODULES = {
    "GROUNDING_KEY": "consulted",
    "MISS": "grounding.grounding",
    "NO_PALACE": "tool_replies",
    "THRESHOLD": "enforcer",
    "WAKE": "consulted",
    "Against": "audit",
    "ChatJudge": "contradiction",
    "ChatReader": "reader",
    "Conflict": "promote",
    "Consultation": "audit",
    "Consulted": "consulted",
    "Contradiction": "grounding.grounding",
    "Decision": "audit",
    "Detection": "grounding.detection",
    "Detector": "grounding.detection",
    "DocumentsFetcher": "fetchers.frameworks",
    "Drawer": ".base.places",
    "Duplicate": "promote",
    "Enforce": "consulted",
    "Enforcer": "enforcer",
    "Evidence": "grounding.grounding",
    "Exported": "folder",
    "Fetch": "sources",
    "FetchFailed": "sources",
    "Fetcher": "sources",
    "FolderConflict": "folder",
    "FolderFetcher": "fetchers.folders",
    "GitHubFetcher": "fetchers.trackers",
    "GitLabFetcher": "fetchers.trackers",
    "GiteaFetcher": "fetchers.trackers",
    "Grounding": "grounding.grounding",
    "Hands": "tool_replies",
    "Imported": "folder",
    "Judge": "contradiction",
    "Layer": "grounding.grounding",
    "Layout": "layout",
    "Listed": "sources",
    "Palace": "palace",
    "PalaceToolReplies": "tool_replies",
    "Placed": ".base.places",
    "Promoted": "promote",
    "PromotionConflict": "promote",
    "Reader": "reader",
    "Registered": "register",
    "RetrieverFetcher": "fetchers.frameworks",
    "Room": ".base.places",
    "WakeUp": "wake",
    "before_answer": "consult",
    "by_rules": "contradiction",
    "checked_enforce": "consulted",
    "check_reason": "promotion",
    "check_summary": "promotion",
    "checked_palace": "consult",
    "detect": "enforcer",
    "for_code_review": "layout",
    "for_health_check": "layout",
    "for_issue_analysis": "layout",
    "time_left": "sources",
}
# Public names of earlier versions. `Conflict` is not `htm_core.Conflict`, which `Memory.revise`
# returns.
_RENAMED = {"Conflict": "PromotionConflict", "Hands": "PalaceToolReplies"}


if not TYPE_CHECKING:  # a type checker goes by the imports above, and knows what is not there
    __getattr__ = lazily(__name__, _MODULES, renamed=_RENAMED)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
