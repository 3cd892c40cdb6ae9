"""The redactor: a text without its secrets, and how many of which kind there were."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...base.errors import InvalidInput, RedactionError
from .kinds import FINDERS, KINDS, Kind, Span

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MARKER = re.compile(r"\[redacted:([a-z][a-z0-9_-]{0,39})\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A text without what was redacted, and how many of which kind that was, such as
    {"card": 1}.
    """

    text: str
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redactor:
    """Rules for what is taken out of a text before it is stored; each part is replaced by a marker
    such as `[redacted:card]`.

        Memory("atlas", redactor=Redactor(kinds=("api_key", "password", "card"),
        patterns={"employee": r"E-[0-9]{6}"}))

    - `kinds`: "private_key", "password" (in URLs, `password=…`, PINs), "api_key", "token" (bearer
      tokens, JSON web tokens), "iban" and "card" (both with their check digits), "email" and
      "phone". All of them unless given.
    - `patterns`: your own regular expressions, by the word that stands in their marker. A group of
      the name `secret` is what is replaced, where there is one; else the whole match.
    - `call`: a function of your own, text -> text or `Redaction`, that gets what the others have
      left. It must leave its own answers as they are.

    Raises `InvalidInput` for unknown kinds and for patterns that are none.
    """

    kinds: Sequence[Kind] = KINDS
    patterns: Mapping[str, str | re.Pattern[str]] = field(default_factory=dict)
    call: Callable[[str], str | Redaction] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.kinds, str) or not set(self.kinds) <= set(KINDS):
            raise InvalidInput(
                f"expected kinds to be a list of {', '.join(KINDS)}, got {self.kinds!r:.80}"
            )
        object.__setattr__(self, "kinds", tuple(kind for kind in KINDS if kind in self.kinds))
        for name, pattern in self.patterns.items():
            _compiled(name, pattern)
        if self.call is not None and not callable(self.call):
            raise InvalidInput(
                f"expected call to be a function of a text, got {type(self.call).__name__}"
            )

    def redact(self, text: str) -> Redaction:
        """A text without what this redactor finds. Raises `RedactionError` when your own function
        or pattern fails.
        """
        return self._redacted(text, self.kinds)

    def redact_words(self, text: str, *, besides: Iterable[Kind]) -> Redaction:
        """The same without some of the kinds, for texts that look like numbers but are ids."""
        left = frozenset(besides)
        return self._redacted(text, [kind for kind in self.kinds if kind not in left])

    def _redacted(self, text: str, kinds: Iterable[Kind]) -> Redaction:
        counts: Counter[str] = Counter()
        for kind in kinds:
            text = _replaced(text, list(FINDERS[kind](text)), kind, counts)
        try:
            for name, written in self.patterns.items():
                pattern = re.compile(written)
                group = "secret" if "secret" in pattern.groupindex else 0
                spans = [
                    match.span(group)
                    for match in pattern.finditer(text)
                    if match.start(group) < match.end(group)
                ]
                text = _replaced(text, spans, name, counts)
            if self.call is not None:
                text = _answered(self.call(text), text, counts)
        except Exception as error:
            raise _refusal(text, error) from None  # the error may quote the text
        return Redaction(text=text, counts=dict(counts))


RedactorLike: TypeAlias = str | Redactor | Callable[[str], str | Redaction]


def resolve_redactor(option: RedactorLike | None) -> Redactor | None:
    """The redactor that an option means: None, "default", a `Redactor`, or a function. Raises
    `InvalidInput`.
    """
    if option is None or isinstance(option, Redactor):
        return option
    if option == "default":
        return Redactor()
    if callable(option):
        return Redactor(kinds=(), call=option)
    raise InvalidInput(
        f'expected redactor to be "default", a Redactor or a function of a text, got {option!r:.80}'
    )


def marker(kind: str) -> str:
    """Return the marker that stands in place of something redacted."""
    return f"[redacted:{kind}]"


def _replaced(text: str, spans: list[Span], kind: str, counts: Counter[str]) -> str:
    """A text with a marker in place of each span; of spans that overlap, one marker in place of
    all.
    """
    parts, at = list[str](), 0
    for start, stop in _merged(spans):
        parts += [text[at:start], marker(kind)]
        counts[kind] += 1
        at = stop
    return "".join([*parts, text[at:]]) if parts else text


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged


def _answered(answer: object, text: str, counts: Counter[str]) -> str:
    if isinstance(answer, Redaction):
        counts.update(answer.counts)
        answer = answer.text
    elif isinstance(answer, str) and answer != text:
        counts["custom"] += 1
    if not isinstance(answer, str):
        raise TypeError(
            f"a redactor answers with a text or a Redaction, and not with {type(answer).__name__}"
        )
    return answer


def _compiled(name: Any, pattern: Any) -> tuple[str, re.Pattern[str]]:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            f"expected the names of patterns to be words such as 'employee', got {name!r:.80}"
        )
    try:
        made = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InvalidInput(
            f"expected the pattern {name!r} to be a regular expression, but {error}"
        ) from None
    if not isinstance(made.pattern, str):
        raise InvalidInput(f"expected the pattern {name!r} to be of text, got one of bytes")
    return name, made


def _refusal(text: str, error: Exception) -> RedactionError:
    return RedactionError(
        f"expected the redactor to answer for a text of {len(text):,} characters, but it raised "
        f"{type(error).__name__}"
        f"{_where(error)}; nothing was stored, since it might have held a secret. Correct the "
        "redactor, and remember it again"
    )


def _where(error: Exception) -> str:
    """The line that raised an error, which says more than nothing and quotes no text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" at {trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
