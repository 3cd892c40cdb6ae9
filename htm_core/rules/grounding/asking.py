"""Whether a prompt may ask for something that a palace holds: by its form, and by the names of rooms and drawers in it.

A detector reads the prompt alone. "Status of heron" asks for something remembered only where there is a drawer "heron". These
rules read English. They decide nothing by themselves: what was found has the last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from ..detection.detect import Detection
from ..text.folding import fold, words

# "asks": for something remembered; "may ask": it has the form of a question; "does not ask": it wants something done, or tells.
Asking = Literal["asks", "may ask", "does not ask"]

LIKELY = 0.1  # from this probability of a detector on, a prompt may ask whatever its form
MAX_NAME_WORDS = 5  # of the name of a room or a drawer
MAX_FRAGMENT_WORDS = 6  # a longer text without a question word is a statement

_WORD = re.compile(r"[^\W_]+")
_POLITE = re.compile(
    r"^(?:(?:please|hey|hi|hello|ok(?:ay)?|so|and|but|well|now|then|also|thanks|atlas)[,!.]?\s+)*"
    r"(?:(?:can|could|would|will) you (?:please )?|i(?:'d| would) like you to |i want you to |help me (?:to )?|let's )?",
    re.I,
)
_ASKS = re.compile(
    r"(?:what|when|where|which|who|whom|whose|why|how|is|are|was|were|am|do|does|did|has|have|had|can|could|should|shall|will|"
    r"would|may|might|must|isn't|aren't|wasn't|weren't|don't|doesn't|didn't|hasn't|haven't|any|status|tell|show|remind|list|"
    r"find|look|recall|give|name|explain|describe|check|know)\b",
    re.I,
)
_ASKS_INSIDE = re.compile(
    r"\b(?:i (?:forgot|forget|can't remember|cannot remember|don't remember|wonder|need to know)|remind me|tell me|do you "
    r"(?:know|remember|recall)|any idea|not sure (?:what|when|where|which|who|how|if|whether))\b",
    re.I,
)
_TO_DO = re.compile(
    r"(?:write|rewrite|draft|compose|create|make|generate|translate|summari[sz]e|build|design|code|implement|sing|draw|invent|"
    r"imagine|brainstorm|fix|refactor|add|remove|delete|store|save|remember|note|keep|forget|convert|compute|calculate|solve|"
    r"pretend|play|continue|improve|shorten|correct|proofread|format|sort|count|suggest|recommend|propose|file|put|send|book|"
    r"order|call|run|say|repeat|let|think|plan|turn|set|open|close)\b",
    re.I,
)
_TELLS = words("i i'm i've i'll we we're we've it it's he she they this that there the a an my our his her their")
# Names that say nothing about a prompt: their words are in every other question.
_EVERYDAY = words("""people person project facts fact notes note general misc other others thing things talk all new old
    day days time work home life today info information data question questions answer answers topic topics room drawer
    default main user users me you it""")


def asking(prompt: str, detection: Detection, *, named: bool) -> Asking:
    """Whether a prompt asks for something remembered.

    `detection` is what a detector says of the prompt alone; `named` says that the prompt names a room or a drawer.
    """
    if detection.recall:
        return "asks"
    wanted = _POLITE.sub("", prompt.strip(), count=1)
    if _ASKS_INSIDE.search(prompt):
        return "may ask"
    if _TO_DO.match(wanted):
        return "does not ask"
    likely = detection.probability is not None and detection.probability >= LIKELY
    if likely or "?" in prompt or _ASKS.match(wanted):
        return "may ask"
    said = wanted.split()
    statement = not said or said[0].lower().replace("\u2019", "'") in _TELLS or len(said) > MAX_FRAGMENT_WORDS
    return "may ask" if named and not statement else "does not ask"


def named_places(prompt: str, names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The places, as (room, drawer), whose drawer's name stands in a prompt, or else whose room's name does.

    Letter case, hyphens and a plural's s do not matter: "the heron config" names the drawer "heron-config". Everyday words
    such as "people" name nothing.
    """
    said = _runs(_stems(prompt))
    by_drawer, by_room = list[tuple[str, str]](), list[tuple[str, str]]()
    for room, drawer in names:
        if _is_named(drawer, said):
            by_drawer.append((room, drawer))
        elif _is_named(room, said):
            by_room.append((room, drawer))
    return by_drawer or by_room


def _is_named(name: str, said: set[tuple[str, ...]]) -> bool:
    stems = _stems(name)
    return bool(stems) and tuple(stems) in said and not all(stem in _EVERYDAY for stem in stems)


def _runs(stems: Sequence[str]) -> set[tuple[str, ...]]:
    """Every run of so many words that it can be a name."""
    return {
        tuple(stems[start : start + length]) for length in range(1, MAX_NAME_WORDS + 1) for start in range(len(stems))
    }


def _stems(text: str) -> list[str]:
    found = (word for word in _WORD.findall(fold(text.replace("\u2019s", "").replace("'s", ""))))
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found]
