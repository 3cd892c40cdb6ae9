"""The kinds of a question that change what a good answer looks like. It reads English."""

from __future__ import annotations

import re

from .answer_kinds import in_first_person

_AUXILIARY = r"(?:is|was|does|has|are|were|do|did|have|had|can|could|would|will|should|this|his)\b"
_KINDS = {
    "when": r"^\W*when\b|\bwhat (?:date|day|month|year|time)\b|\b(?:on|in) (?:what|which) (?:date|day|month|year)\b"
    r"|\bhow long (?:ago|since|before|after)\b|\bhow many (?:days|weeks|months|years)\b",
    "number": r"\bhow (?:many|much|long|often|old|far|big|high)\b",
    "where": r"^\W*where\b|\b(?:which|what) (?:city|country|place|town|state)\b",
    "who": r"^\W*(?:who|whose|whom)\b",
    "list": rf"^\W*(?:what|which) (?:(?:are|were) )?(?:(?!{_AUXILIARY})\w+ ){{0,2}}?(?!{_AUXILIARY})\w{{3,}}s\b"
    r"|\bhow (?:many|often)\b|\blist\b|\ball (?:the|my|of)\b"
    r"|\b(?:kind|type|sort)s? of\b",
    "course": r"\bsummar|\boverview\b|\brecap\b|\bwalk me through\b|\bover time\b|\bhow (?:did|has|have) .{0,200}"
    r"(?:develop|evol|chang|progress|grow|come along|go|gone)\b|\bwhole (?:project|story)\b|\bin (?:what|which) order\b"
    r"|\border in which\b|\bsequence\b|\bfrom (?:start|beginning|the start|the beginning)\b",
    "advice": r"\b(?:should|would you|could you|can you|recommend|suggest|advice|advise|help me|best way|how to|any (?:ideas?|tips)"
    r"|how (?:do|can|would|could|must|might) (?:i|we|you|one)|what (?:can|could|must) (?:i|we)|where (?:can|could) (?:i|we)"
    r"|i(?:['\u2019]m| am) (?:planning|thinking of|looking for|about to)|i (?:want|need|plan|would like) (?:a|an|to|some)"
    r"|i['\u2019]d like)\b"
    r"|^\W*(?:please |now |next |then )*(?:write|show me|give me|explain|draft|propose|plan|make|create|find|sketch|compare|check"
    r"|review|translate|estimate|calculate|compute|design|set up|implement|build|choose|pick|prepare)\b",
    "inference": r"\b(?:would|might|could|likely|probably)\b",
}
OWN = "own"  # about the one who asks
KINDS = (*_KINDS, OWN)
_PATTERNS = {kind: re.compile(pattern, re.I) for kind, pattern in _KINDS.items()}


def kinds_of(question: str) -> list[str]:
    """The kinds of a question; most have none or one."""
    kinds = [kind for kind, pattern in _PATTERNS.items() if pattern.search(question)]
    return [*kinds, OWN] if in_first_person(question) else kinds
