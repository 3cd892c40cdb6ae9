"""Recognise raw output of a tool: listings, tables, configuration, code, logs, replies of servers.
A summary is in words.

A text is measured: how many of its pieces are marks, such as paths, hashes, options, calls, columns
and pairs of a name and a value, and how many are words. What a sentence quotes as code counts as
neither, and so do addresses. Beside the measure there are a few shapes that no note has, whatever
its words are: a prompt, lines that begin with a time to the second, a file of settings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Of marks and words together: so many marks make raw output where sentences or points of a list
# are, or a single line; and so many where lines follow each other without a stop, as a tool writes.
SHARE, SHARE_WITHOUT_STOPS = 1 / 2, 1 / 5
MIN_NAMES = 6  # lines of one piece each: so many are a listing

# In these "^" and "$" are the ends of a line.
_SIGNS = [
    (re.compile(pattern, re.M), kind)
    for pattern, kind in (
        (r"\A\s*[\[{]\s*[\"'\d{(](?s:.*)[\]}]\s*\Z", "JSON"),
        (r"^(?:\$|>>>) [A-Za-z./]|^\[?[\w.-]+@[\w.-]+[: ][^\s$#]*[$#] \S|^(?:stdout|stderr):", "a terminal's transcript"),
        (r"^Traceback \(|^Exception in thread |^goroutine \d+ \[|^[^\S\n]+at \S*[.(:/\[]|^[^\S\n]*\^[~^]*$", "a stack trace"),
        (r"^@@ -\d|^\d+(?:,\d+)?[acd]\d+(?:,\d+)?$", "a diff"),
        # "file:line:", "file(line,column):"
        (r"^[^\s\d:(][^\s:(]*(?::[^\s:]+:|\(\d+,\d+\):)", "output of a tool"),
        (r"^commit [0-9a-f]{40}$|^On branch \S+$|^Cloning into '|^remote: ", "output of git"),
        (r"^npm (?:WARN|ERR!|warn|error)\b|^(?:added|audited) \d+ packages?\b|^# (?:HELP|TYPE) \S", "output of a tool"),
        (r"^(?:Collecting|Successfully installed) \S+$|^Requirement already satisfied: ", "output of a tool"),
        (r"^[dlcbps-](?:[r-][w-][xsStT-]){3}|^={9,} .+ ={9,}$", "output of a tool"),
        (r"^(?:< )?HTTP/\d\S* \d{3}\b", "a reply of a server"),
        (r"^#!/|^[^\S\n]*(?:async )?def \w+\(|^from [\w.]+ import \S|^import [\w.]+$", "code"),
        (r"\A\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WITH)\b(?s:.*)\b(?:FROM|INTO|SET|TABLE|INDEX|VIEW)\b", "SQL"),
        (r"^-----BEGIN |[A-Za-z0-9+/]{100,}|^[A-Za-z0-9+/]{60,}={0,2}$", "encoded data"),
    )
]  # fmt: skip
_FENCED = re.compile(r"^```(?s:.*?)(?:^```|\Z)", re.M)
_BRACED = re.compile(r"\{[^{}]*\}")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_QUOTED = re.compile(r"`[^`\n]*`|https?://\S+|(?<![\w.+-])[\w.+-]++@[\w.-]+\.[A-Za-z]{2,}\b")
_PIECE = re.compile(r"[!-~]+|[\u2500-\u259f]+")
_EDGES = ".,;:!?\"'()[]<>*_"  # which a word may have around it, as an emphasis of Markdown
_MARK = re.compile(
    r"[{}<>|\\]|\w=|=\w|=>|^[^\w=]?={1,2}$|\^\^|\+\+|&&|::|\w_\w|\w@\w|\$[A-Za-z]"
    # names with dots, versions, times
    r"|[A-Za-z]\.[A-Za-z]{2}|\d\.\d+\.\d+\.\d|[A-Za-z]-\d+\.\d|\bv\d+\.\d|\d:\d\d:\d\d"
    r"|[A-Za-z]{3}/[A-Za-z]{3}|^[~.]{0,2}/\w|/[\w-]+[/.]\w|://"  # paths
    r"|[A-Za-z]\d+[A-Za-z]|\d[A-Za-z]+\d"  # hashes and other ids
    # no space where words have one
    r"|[,;:][A-Za-z\"'/(\[]|[A-Za-z\"')\]][,;:]\w|\w\(\)|\w[(\[](?![A-Za-z]{1,5}[)\]])"
    r"|^--[A-Za-z]|^-[A-Za-z0-9]$|^-[A-Z]\w"  # options
)
_MARKED_END = re.compile(r"[\"']:|[)\]\"'}];$")  # a key of JSON, the end of a statement
_GAP = re.compile(r"[^\s.!?](?: {2,}|\t+ *)(?=\S)")  # between columns
# Outside of ASCII each letter counts as a word, since many scripts have no spaces. Capitals are
# frequent in code and in talk.
_WORD = re.compile(r"[^\W\d_A-Za-z]|[A-Za-z][^\W\d_A-Z]+")
_STOP = re.compile(
    r"(?<!\w)(?:[^\W\d_]+[,;]?\s){3}[^\W\d_]++[.!?…]|[。！？।؟]"  # noqa: RUF001
    r"|^[^\S\n]*(?:[-*•–]|\d{1,2}[.)]) (?:\S+ ){2}\S",  # noqa: RUF001
    re.M,
)
_LETTER = re.compile(r"[^\W\d_]")
_STAMP = re.compile(r"\d\d:\d\d:\d\d")
# a word, but no short name of a day or a month
_BEFORE_NO_STAMP = re.compile(r"(?![A-Z][a-z]{2}$)[A-Za-z]?[a-z]+")
# seconds, or a level
_STAMP_OF_A_LOG = re.compile(r"\[ *\d+\.\d+\]|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)[\]\[]")
_HASH = re.compile(r"(?=[a-f]*\d)[0-9a-f]{7,40} \S")
_SETTING = re.compile(r"\s*(?:- )?[a-z][\w.-]*:(?: \S+)?")
_FIELD = re.compile(r"\s+[A-Za-z][\w ()/-]{0,40}:(?: |$)")
_NO_WORD = re.compile(r"[\d./_]")


def raw_output(text: str) -> str | None:
    """The kind of raw tool output that a text looks like; None when it looks like words."""
    for pattern, kind in _SIGNS:
        if pattern.search(text):
            return kind
    lines = [line for line in text.splitlines() if line.strip()]
    if 2 * sum(map(_is_stamped, lines)) > len(lines):
        return "a log"
    if len(lines) >= 3 and _is_settings(lines):
        return "a file of settings"
    if _is_listing(lines):
        return "a listing"
    marks, words = _count(text)
    if not words:
        return (
            "data"
            if marks or (len(lines) > 1 and not _LETTER.search(_QUOTED.sub("", text)))
            else None
        )
    share = SHARE if len(lines) == 1 or _STOP.search(text) else SHARE_WITHOUT_STOPS
    return "data or code" if marks > 1 and marks > share * (marks + words) else None


def _count(text: str) -> tuple[int, int]:
    """Count the marks and the words of a text. In a block of code, and in braces, every piece is a
    mark.
    """
    marked = _BRACED.sub(_as_marks, _QUOTED.sub("`", _FENCED.sub(_as_marks, text)))
    if "</" in marked:  # else a word in angle brackets is only a word
        marked = _TAG.sub(_as_marks, marked)
    rest = _PIECE.sub(lambda match: "\0" if _is_mark(match[0]) else match[0], marked)
    return rest.count("\0") + len(_GAP.findall(marked)), len(_WORD.findall(rest))


def _as_marks(match: re.Match[str]) -> str:
    return "\0 " * len(match[0].split())


def _is_mark(piece: str) -> bool:
    return piece[0] > "~" or bool(_MARKED_END.search(piece) or _MARK.search(piece.strip(_EDGES)))


def _is_stamped(line: str) -> bool:
    """True if a line begins with a time to the second, after nothing but figures, a level, a day, a
    month or an address.
    """
    if _STAMP_OF_A_LOG.match(line):
        return True
    head = [piece.strip(":,") for piece in line.split(maxsplit=5)[:5]]
    at = next((at for at, piece in enumerate(head) if _STAMP.search(piece)), None)
    return at is not None and not any(map(_BEFORE_NO_STAMP.fullmatch, head[:at]))


def _is_settings(lines: Sequence[str]) -> bool:
    """Lines of "key: value" with values of one piece, or mostly fields that are set in."""
    return all(map(_SETTING.fullmatch, lines)) or 2 * sum(
        bool(_FIELD.match(line)) for line in lines
    ) > len(lines)


def _is_listing(lines: Sequence[str]) -> bool:
    """Names, one in a line, which are not all words, or lines that begin with a hash."""
    alone = len(lines) >= MIN_NAMES and all(len(line.split()) == 1 for line in lines)
    return (alone and any(map(_NO_WORD.search, lines))) or (
        len(lines) > 1 and all(map(_HASH.match, lines))
    )
