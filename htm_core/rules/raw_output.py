"""Recognise raw output of a tool: listings, tables, configuration, code, logs, replies of servers. A summary is in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

# In these "^" and "$" are the ends of a line.
_IN = r"^[^\S\n]"  # where a line begins with blanks: "\s" would go on through empty lines, from each of them again
_KINDS = (
    (r"\A\s*[\[{](?s:.*)[\]}]\s*\Z", "JSON"),
    (r"[\[{]\s*[\"'][\w .$/-]+[\"']\s*:", "JSON"),
    (r"(?i)^[^\S\n]*<(?:\?xml|!doctype|html|[a-z]+[ >])", "markup"),
    (r"(?i)</[a-z][\w-]*>(?s:.*)</[a-z][\w-]*>", "markup"),
    (r"^Traceback \(most recent call last\)|^Exception in thread ", "a stack trace"),
    (rf"{_IN}+File \".+\", line \d+|{_IN}+at [\w.$]+\(", "a stack trace"),
    (r"^```", "a block of code"),
    (rf"{_IN}*(?:async )?def \w+\((?>.*\)).*:\s*$|{_IN}*class \w+(?:\(.*\))?:\s*$|{_IN}*function \w+\(", "code"),
    (r"^(?:import [\w.]+|from [\w.]+ import .+)\s*$|^#include [<\"]", "code"),
    (r"\A(?>(?s:.*?)\{\s*$)(?s:.*)^[^\S\n]*\}", "code"),
    (r"\bfunction\s*\w*\([\w, ]*\)\s*\{|=>\s*\{|\b(?:var|let|const) \w+\s*=.{0,300};", "code"),
    *((rf"\A(?>(?s:.*?)^[^\S\n]*{one}\b)(?s:.+)\b{other}\b", "SQL")
      for one, other in (("SELECT", "FROM"), ("INSERT INTO", "VALUES"), ("UPDATE", "SET"))),
    (r"^[^\S\n]*(?:DELETE FROM|CREATE TABLE|CREATE INDEX)\b", "SQL"),
    (r"^\[?[A-Z]\w+\(\w+=['\"\[{(]", "a dump of objects"),
    (r"(?i)^HTTP/\d(?:\.\d)? \d{3}|^(?:content-type|date|server):\s|^[<>] HTTP/|^> [A-Z]+ /", "a raw reply of a server"),
    (r"^(?:\$|>>>|#) \S", "a terminal's transcript"),
    (r"^(?:diff --git|@@ -\d+)", "a diff"),
    (r"^commit [0-9a-f]{40}$|^On branch \S+$|^[^\S\n]+(?:modified|deleted|new file|renamed):\s", "output of git"),
    (r"^[dlcbps-](?:[rwxsStT-]){9}[.+@]?\s|^[^\S\n]*+[│ ]*+[├└]── ", "a listing of files"),
    (r"^\d+ bytes from |^PING \S+ \(|\bicmp_seq=\d", "output of a terminal"),
    (r"^npm (?:WARN|ERR)|^[^\S\n]+\d+:\d+\s+(?:error|warning)\s", "output of a terminal"),
    (r"^=+ .+ =+$|^collected \d+ items?|^Collecting \S+$|^Successfully installed \S", "output of a terminal"),
    (r"\"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) /\S* HTTP/\d|^[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d \S+ \S+:", "a log"),
)  # fmt: skip
_PATTERNS = [(re.compile(pattern, re.M), kind) for pattern, kind in _KINDS]
_ENCODED = re.compile(
    r"(?<![A-Za-z0-9+/=_-])(?=[A-Za-z0-9+/=_-]*\d)(?=[A-Za-z0-9+/=_-]*[a-z])(?=[A-Za-z0-9+/=_-]*[A-Z])[A-Za-z0-9+/=_-]{100,}"
)
_ENCODED_LONG = re.compile(r"[A-Za-z0-9+/=_-]{200,}")
_LOG_LINE = re.compile(
    r"^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|^\s*\[?\d\d:\d\d:\d\d|\b(?:DEBUG|INFO|WARN(?:ING)?|ERROR)\b[:\]| ]"
)
_SETTING = re.compile(r"^\s*(?:export )?[\w.-]+\s*=")
_SECTION = re.compile(r"^\[[\w.:\" -]+\]$")
_KEY = re.compile(r"^\s*(?:- )?[\w.\"'/-]+:(?:\s|$)")
_NESTING = re.compile(r"^\s*(?:- )?[\w.\"'/-]+:\s*$")
_HASH = re.compile(r"^[0-9a-f]{7,40} \S")
_PAIR = re.compile(r"^[^\t]+\t[^\t]+$|^[\w -]+: {2,}\S")
_COLUMNS = re.compile(r"\S(?: {2,}|\t)\S")

MIN_NAMES = 6  # lines of one word each: so many are a listing


def raw_output(text: str) -> str | None:
    """The kind of raw tool output that a text looks like; None when it looks like words."""
    for pattern, kind in _PATTERNS:
        if pattern.search(text):
            return kind
    if _ENCODED.search(text) or _ENCODED_LONG.search(text):
        return "encoded data"
    lines = [line for line in text.splitlines() if line.strip()]
    return next((kind for looks_like, kind in _SHAPES if looks_like(lines)), None)


def _is_log(lines: Sequence[str]) -> bool:
    return len(lines) >= 3 and sum(bool(_LOG_LINE.search(line)) for line in lines) * 2 > len(lines)


def _is_table(lines: Sequence[str]) -> bool:
    """Cells between bars or tabs, or columns: at least two gaps of two spaces in most of the lines."""
    bars = sum(line.count("|") >= 2 or line.count("\t") >= 2 for line in lines)
    columns = sum(len(_COLUMNS.findall(line.strip())) >= 2 for line in lines)
    pairs = sum(bool(_PAIR.match(line)) for line in lines)
    if len(lines) >= 3 and pairs == len(lines):
        return True
    return (len(lines) >= 4 and bars * 2 > len(lines)) or (len(lines) >= 2 and columns * 2 > len(lines))


def _is_separated(lines: Sequence[str]) -> bool:
    """Values between commas or semicolons without a space after them: as many in each line, which is no sentence."""
    for separator in ",;":
        counts = {line.count(separator) for line in lines}
        spaced = sum(line.count(f"{separator} ") for line in lines)
        whole = sum(line.count(separator) for line in lines)
        if len(lines) >= 3 and len(counts) == 1 and counts != {0} and spaced * 2 < whole:
            return True
    return False


def _is_settings(lines: Sequence[str]) -> bool:
    """Lines of name=value, or keys of YAML with one that holds others."""
    settings = sum(bool(_SETTING.match(line)) for line in lines)
    sections = sum(bool(_SECTION.match(line.strip())) for line in lines)
    if settings >= 2 and settings + sections == len(lines):
        return True
    keys = sum(bool(_KEY.match(line)) for line in lines)
    nested = any(
        _NESTING.match(line) and following[:1].isspace() and _KEY.match(following)
        for line, following in pairwise(lines)
    )
    return len(lines) >= 3 and nested and keys * 10 >= len(lines) * 7


def _is_listing(lines: Sequence[str]) -> bool:
    names = sum(len(line.split()) == 1 for line in lines)
    hashes = sum(bool(_HASH.match(line)) for line in lines)
    return (len(lines) >= MIN_NAMES and names == len(lines)) or (len(lines) >= 2 and hashes == len(lines))


_SHAPES: tuple[tuple[Callable[[Sequence[str]], bool], str], ...] = (
    (_is_log, "a log"),
    (_is_table, "a table of a tool"),
    (_is_separated, "separated values"),
    (_is_settings, "a file of settings"),
    (_is_listing, "a listing"),
)
