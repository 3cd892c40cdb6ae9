"""The marks that ChatGPT leaves in its texts for its own page: a reader of the page sees a name or
a link there, or nothing.
"""

from __future__ import annotations

import json
import re

# A mark begins with U+E200, its parts are set apart by U+E202, and it ends with U+E201; older ones
# are 【4:0†source】.
_MARK = re.compile("(?P<blank> ?)\ue200(?P<kind>[a-z_]*+)(?P<parts>[^\ue200\ue201]*+)\ue201")
_CUT_OFF = re.compile("\ue200[a-z_]*+(?:\ue202[^\\s\ue200-\ue20f]*+)*+")
_OTHER = re.compile("[\ue200-\ue20f]")
_SOURCE = re.compile("(?P<blank> ?)【[0-9]+(?::[0-9]+)?†[^【】\n]*+】")
_SHOWN_BY_PART = frozenset({"url", "link_title", "link"})  # whose first part is what a reader sees
_CLOSES = frozenset(" \t\n.,;:!?)]}\"'")


def as_read(text: str, *, own: bool) -> str:
    """A text as a reader of the page sees it. `own` texts are the program's, in which nothing else
    uses these characters.
    """
    if "\ue200" in text:
        text = _MARK.sub(_shown, text)
    if own:
        text = _SOURCE.sub(_left_out, text)
        text = _OTHER.sub("", _CUT_OFF.sub("", text))
    return text


def _shown(mark: re.Match[str]) -> str:
    parts = [each for each in mark["parts"].split("\ue202") if each]
    name = (
        _name(parts)
        if mark["kind"] == "entity"
        else parts[0]
        if mark["kind"] in _SHOWN_BY_PART and parts
        else ""
    )
    return mark["blank"] + name if name else _left_out(mark)


def _name(parts: list[str]) -> str:
    """The name of a thing: of its kind, its name, and more about it, as JSON or, in older texts, as
    it is.
    """
    if not parts:
        return ""
    try:
        value = json.loads(parts[0])
    except (ValueError, RecursionError):
        return parts[0]
    if isinstance(value, list):
        words = [each for each in value if isinstance(each, str)]
        return words[1] if len(words) > 1 else words[0] if words else ""
    return value if isinstance(value, str) else ""


def _left_out(mark: re.Match[str]) -> str:
    """Nothing, and no second blank where the mark stood between two."""
    rest = mark.string[mark.end() : mark.end() + 1]
    return "" if not rest or rest in _CLOSES else mark["blank"]
