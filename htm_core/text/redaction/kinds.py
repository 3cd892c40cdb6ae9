"""The kinds of secrets and personal data that are looked for, and where in a text each stands.

Each takes time in proportion to the length of the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle
from typing import Literal, get_args

from ...base.lazy_pattern import LazyPattern

Kind = Literal["private_key", "password", "api_key", "token", "iban", "card", "email", "phone"]
# In the order in which they are looked for: what is longer, and what is more certain, comes first.
KINDS: tuple[Kind, ...] = get_args(Kind)

Span = tuple[int, int]
_DONE = r"(?!\[redacted:)"  # what was redacted before stays as it is

# -- private keys ----------------------------------------------------------------------------------

_KEY_BEGINS = LazyPattern(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = LazyPattern(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINES = LazyPattern(r"(?:\s|\\[nr])*+(?:[A-Za-z0-9+/=]{16,}+(?:\s|\\[nr])*+)*+")
_OTHER_KEYS = LazyPattern(
    r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b|\bPuTTY-User-Key-File-\d: [^\n]{0,200}\n(?:[^\n]*\n){1,80}?Private-MAC: \w+"
)


def private_keys(text: str) -> Iterator[Span]:
    """Private keys as PEM, OpenPGP, PuTTY and age write them; of one without an end, the lines that
    can be of it.
    """
    if "KEY" not in text and "Key-File" not in text:
        return
    at, has_end = 0, True
    while begin := _KEY_BEGINS.search(text, at):
        end = _KEY_ENDS.search(text, begin.end()) if has_end else None
        has_end = end is not None
        lines = end or _KEY_LINES.match(text, begin.end())
        at = lines.end() if lines else begin.end()
        yield begin.start(), at
    for match in _OTHER_KEYS.finditer(text):
        yield match.span()


# -- passwords -------------------------------------------------------------------------------------

_IN_URL = LazyPattern(
    rf"\b[A-Za-z][A-Za-z0-9+.-]{{1,30}}://[^\s/:@\"'<>]{{0,200}}:{_DONE}([^\s/\"'<>]{{1,200}})@(?=[\w\[.-])"
)
SECRET_NAMES = (
    r"pass(?:word|wd|phrase|code)|passwd|pwd|secret[_-]?(?:access[_-]?)?key|client[_-]?secret|app[_-]?secret|consumer[_-]?secret|"
    r"signing[_-]?secret|webhook[_-]?secret|api[_-]?(?:key|secret|token)|apikey|auth[_-]?token|access[_-]?token|refresh[_-]?token|"
    r"bearer[_-]?token|bot[_-]?token|session[_-]?token|account[_-]?key|shared[_-]?access[_-]?(?:key|signature)|private[_-]?key|"
    r"encryption[_-]?key|credentials?"
)
_NAMED = LazyPattern(
    rf"(?<![A-Za-z0-9])(?P<name>(?:[A-Za-z0-9]{{1,20}}[_-]){{0,4}}(?:{SECRET_NAMES}))(?![A-Za-z0-9])"
    rf"[\"'`]?[ \t]{{0,3}}(?P<sign>:=|=>|=|:(?!=))[ \t]{{0,3}}{_DONE}"
    r"(?:\"(?P<double>[^\"\n]{1,500})\"|'(?P<single>[^'\n]{1,500})'|`(?P<tick>[^`\n]{1,500})`|(?P<bare>[^\s\"'`,;)}\]<>|]{1,500}))",
    re.I,
)
_SAID = LazyPattern(
    rf"\b(?:pass(?:word|wd|phrase|code)|pwd)\b[^\n.?!:=]{{0,40}}?\s(?:is|was|has been|to)(?: now)?"
    rf"(?: (?:set|changed|reset|updated) to)?:?\s{{1,3}}{_DONE}"
    r"(?:\"(?P<double>[^\"\n]{1,200})\"|'(?P<single>[^'\n]{1,200})'|`(?P<tick>[^`\n]{1,200})`|(?P<bare>[^\s,;]{1,200}))",
    re.I,
)
_PIN = LazyPattern(
    r"\bpin(?: code| number)?(?:\s+(?:is|was)|\s?[:=])\s{1,3}(\d{4,8})(?![\w-]|[.,:]\d)", re.I
)
# Written where a secret would stand: an example, a variable, or a word about the secret.
_NO_SECRET = LazyPattern(
    r"(?:none|null|nil|true|false|undefined|empty|optional|required|str(?:ing)?|bytes|int|any|text|value|secret|password|passwd|pwd|"
    r"token|key|hidden|redacted|wrong|incorrect|invalid|missing|expired|weak|strong|safe|secure|unsafe|not|no|yes|please|the|a|an|my|your|his|"
    r"her|our|their|in|on|at|too|very|still|same|different|changed|reset|stored|saved|kept|needed|unknown|lost|forgotten|example|"
    r"sample|placeholder|changeme|todo|tbd|n/?a|what|where|how|who|[x*.•_#-]{2,}|your[_-].*|my[_-](?:secret|password|token|key)|"
    r"[$%{<(\[].*|[A-Za-z_][\w.]*[(\[].*|(?:self|os|env|process|config|settings|cfg|args|secrets|this|request|req|credentials)\.[\w.]+|"
    r"get[A-Z_]\w*|[A-Z][A-Z0-9]*_[A-Z0-9_]+)[.,;:!?]*",
    re.I | re.S,
    longest=500,
)
# one of which is in each of the names above
_NAMES = ("pass", "pwd", "secret", "key", "token", "access", "credential")
_UPPER_NAME = LazyPattern(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
_WORD = LazyPattern(r"[A-Za-z]+[.!?:]*")


def passwords(text: str) -> Iterator[Span]:
    """Passwords in URLs, what is given to a name such as `password` or `api_key`, what a password
    is said to be, and PINs.
    """
    for match in _IN_URL.finditer(text) if "://" in text else ():
        yield match.span(1)
    lowered = text.lower()
    for match in _NAMED.finditer(text) if _has(lowered, _NAMES) else ():
        group = next(
            name for name in ("double", "single", "tick", "bare") if match[name] is not None
        )
        start, stop = match.span(group)
        if group == "bare" and "=" in match["sign"]:
            stop = start + len(match[group].partition("&")[0])  # the next parameter of a URL
        value = text[start:stop]
        in_sentence = (
            group == "bare" and match["sign"] == ":" and not _stands_alone(text, stop, value)
        )
        if value and not _is_placeholder(value) and not in_sentence:
            yield start, stop
    for match in _SAID.finditer(text) if _has(lowered, ("pass", "pwd")) else ():
        group = next(
            name for name in ("double", "single", "tick", "bare") if match[name] is not None
        )
        value = match[group]
        if not _is_placeholder(value) and (group != "bare" or not _WORD.fullmatch(value)):
            start, stop = match.span(group)
            yield start, stop - (len(value) - len(value.rstrip(".!?"))) if group == "bare" else stop
    for match in _PIN.finditer(text) if "pin" in lowered else ():
        yield match.span(1)


def _has(text: str, words: Iterable[str]) -> bool:
    """True if a text has one of these words: much cheaper to see than a pattern, and most texts
    have none.
    """
    return any(word in text for word in words)


def _is_placeholder(value: str) -> bool:
    match = _NO_SECRET.fullmatch(value.strip())
    # Letter case tells a name of the environment from a password that has an underscore.
    return match is not None and not ("_" in value and _only_by_case(value.strip()))


def _only_by_case(value: str) -> bool:
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]+", value) is not None and not (
        _UPPER_NAME.fullmatch(value) or re.match(r"(?:your|my|get)_", value, re.I)
    )


def _stands_alone(text: str, end: int, value: str) -> bool:
    """True if a value behind a colon is no word of a sentence: it is no plain word, or the last of
    its line.
    """
    return (
        not _WORD.fullmatch(value)
        or re.match(r"[ \t]{0,20}(?:[\n,;}\]]|\\n|$)", text[end : end + 24]) is not None
    )


# -- keys and tokens -------------------------------------------------------------------------------

_API_KEY = LazyPattern(
    r"(?<![A-Za-z0-9_-])(?:"
    r"sk-(?:proj|svcacct|admin|ant|or|lf)-[A-Za-z0-9_-]{16,300}|sk-[A-Za-z0-9]{20,100}|pplx-[A-Za-z0-9]{32,64}|gsk_[A-Za-z0-9]{32,64}|"
    r"xai-[A-Za-z0-9]{40,100}|hf_[A-Za-z0-9]{30,40}|r8_[A-Za-z0-9]{30,45}|"  # models
    # clouds
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,300}|GOCSPX-[A-Za-z0-9_-]{28}|"
    r"do[opr]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|hv[sbr]\.[A-Za-z0-9_-]{20,200}|dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9_.]{30,60}|"
    r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}|gl(?:pat|ptt|dt|rt|soat)-[A-Za-z0-9_.-]{20,60}|ATATT3[A-Za-z0-9_=-]{30,300}|"
    r"npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,300}|rubygems_[a-f0-9]{48}|"  # code
    # chats
    r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{10,250}|\d{8,10}:AA[A-Za-z0-9_-]{33}|"
    r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}|"
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,247}|whsec_[A-Za-z0-9+/=]{24,60}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}|"
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|EAAA[A-Za-z0-9_-]{60}|"
    r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}|key-[a-f0-9]{32}|(?:SK|AC)[a-f0-9]{32}|"
    r"re_[A-Za-z0-9]{8,12}_[A-Za-z0-9]{20,30}|"  # payments and mail
    r"lin_api_[A-Za-z0-9]{40}|ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|NRAK-[A-Z0-9]{27}|"
    # others
    r"sntrys_[A-Za-z0-9_=/+-]{40,300}|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|figd_[A-Za-z0-9_-]{40}|tvly-[A-Za-z0-9-]{20,60}|"
    r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}|llx-[A-Za-z0-9]{40,60}|pcsk_[A-Za-z0-9_]{40,90}"
    r")(?![A-Za-z0-9])"
)
_JWT = (
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{0,2000}"
)
_TOKEN = LazyPattern(
    rf"{_JWT}|\bbearer\s{{1,3}}{_DONE}(?P<bearer>(?=[A-Za-z._~+/-]{{0,200}}\d)[A-Za-z0-9._~+/-]{{16,4000}}={{0,2}})|"
    rf"\bauthorization[\"']?\s?[:=]\s?[\"']?(?:basic|token|digest|apikey|negotiate)\s{{1,3}}{_DONE}(?P<given>[A-Za-z0-9._~+/-]{{6,4000}}={{0,2}})",
    re.I,
)


def api_keys(text: str) -> Iterator[Span]:
    """Keys that are known by how they begin: of model providers, clouds, code hosts, chats,
    payments and mail.
    """
    for match in _API_KEY.finditer(text):
        yield match.span()


def tokens(text: str) -> Iterator[Span]:
    """Bearer tokens, what stands in an Authorization header, and JSON web tokens."""
    if not _has(text.lower(), ("eyj", "bearer", "authorization")):
        return
    for match in _TOKEN.finditer(text):
        if match["bearer"] or match["given"]:
            yield match.span("bearer" if match["bearer"] else "given")
        elif match[0].startswith("eyJ"):
            yield match.span()


# -- numbers with check digits ---------------------------------------------------------------------

_CARD = LazyPattern(
    r"(?<![\w=+-])(?<!\d[.,])(?:\d{13,19}|\d{4}(?P<a>[ -])\d{4}(?P=a)\d{4}(?P=a)\d{4}(?:(?P=a)\d{1,3})?|"
    r"\d{4}(?P<b>[ -])\d{6}(?P=b)\d{4,5})"
    r"(?![\w=+]|[.,-]\d|-\w)"
)
IN_FOURS = len("4111 1111 1111 1111")
_LONG = LazyPattern(r"\d{4}[ -]?\d{4}")
_IBAN_BEGINS = LazyPattern(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?=[ -]?[A-Za-z0-9])")


def cards(text: str) -> Iterator[Span]:
    """Numbers of payment cards, also in groups."""
    for match in _CARD.finditer(text) if _LONG.search(text) else ():
        # the short group after four others may be no part of it
        for number in (match[0], match[0][:IN_FOURS]):
            if is_card(number.replace(" ", "").replace("-", "")):
                yield match.start(), match.start() + len(number)
                break


def ibans(text: str) -> Iterator[Span]:
    """IBANs, also in groups."""
    for match in _IBAN_BEGINS.finditer(text):
        length = IBAN_LENGTHS.get(match[0][:2].upper())
        stop = None if length is None else _after(text, match.start(), length)
        if stop is None or (stop < len(text) and text[stop].isalnum()):
            continue
        candidate = text[match.start() : stop]
        if is_iban(candidate.replace(" ", "").replace("-", "")):
            yield match.start(), stop


def _after(text: str, start: int, count: int) -> int | None:
    """The place after so many letters and digits, between which single spaces or hyphens may stand;
    None if there are fewer.
    """
    at, separated = start, False
    while count and at < len(text):
        if text[at].isascii() and text[at].isalnum():
            count, separated = count - 1, False
        elif text[at] in " -" and not separated:
            separated = True
        else:
            return None
        at += 1
    return None if count else at


# -- e-mail and phone ------------------------------------------------------------------------------

_FILES = "png|jpe?g|gif|svg|webp|ico|css|scss|js|mjs|ts|tsx|jsx|json|ya?ml|toml|xml|html?|py|rs|go|java|md|txt|sh|lock|zip|gz|pdf"
_EMAIL = LazyPattern(
    r"(?<![\w.+%'-])(?!git@)[\w.+%'-]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}"
    rf"(?!(?:{_FILES})\b)[A-Za-z\u00a1-\uffff]{{2,24}}(?![\w@])",
)
_PHONE = LazyPattern(
    r"(?<![\w+/=.@-])(?:"
    r"\+[1-9]\d{0,2}(?:[ .\-/()]{0,2}\d){6,13}|"  # +47 22 12 34 56
    r"00[1-9]\d{0,2}[ .\-/](?:[ .\-/()]{0,2}\d){6,12}|"  # 0049 170 1234567
    r"(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}|"  # (212) 555-0187
    r"\(0\d{1,4}\) ?\d(?:[ -]?\d){4,9}|"  # (020) 7946 0958
    r"0[1-9]\d{0,3}[ /-]\d(?:[ -]?\d){4,9}"  # 07700 900123, 030/1234567
    r")(?![\w=+]|[./:-]\d)"
)
_CALLED = LazyPattern(
    r"\b(?:phone|tel|telephone|mobile|cell|cellphone|fax|call|text|ring|whatsapp|sms|signal)(?:'s)?\b[^\d\n+]{0,24}(?<![\w.,/])"
    r"(\d(?:[ .\-/()]{0,2}\d){6,13})(?![\w%]|[.,:/-]\d)",
    re.I,
)
_CALLS = (
    "phone",
    "tel",
    "mobile",
    "cell",
    "fax",
    "call",
    "text",
    "ring",
    "whatsapp",
    "sms",
    "signal",
)
_DIGITS = LazyPattern(r"\d[ .\-/()]{0,3}\d[ .\-/()]{0,3}\d[ .\-/()]{0,3}\d")
_DATE = LazyPattern(
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:\d{4}|\d{2}(?!\d))|(?:19|20)\d{2}\s?[-/]\s?(?:19|20)\d{2}"
)


def emails(text: str) -> Iterator[Span]:
    """E-mail addresses, but for names of files such as icon@2x.png and `git@` of a repository."""
    for match in _EMAIL.finditer(text) if "@" in text else ():
        yield match.span()


def phones(text: str) -> Iterator[Span]:
    """Phone numbers: with a country code, in the groups of North America or behind a 0, and plain
    ones where the words say so.
    """
    if _DIGITS.search(text) is None:
        return
    for match in _PHONE.finditer(text):
        if not _DATE.match(match[0]) and 8 <= sum(map(str.isdigit, match[0])) <= 15:
            yield match.span()
    for match in _CALLED.finditer(text) if _has(text.lower(), _CALLS) else ():
        if not _DATE.search(match[1]):
            yield match.span(1)


FINDERS: Mapping[Kind, Callable[[str], Iterator[Span]]] = {
    "private_key": private_keys,
    "password": passwords,
    "api_key": api_keys,
    "token": tokens,
    "iban": ibans,
    "card": cards,
    "email": emails,
    "phone": phones,
}


# -- check digits ----------------------------------------------------------------------------------

# What numbers of each network begin with, as ranges of their first digits, and how long they are.
_NETWORKS: tuple[tuple[tuple[tuple[str, str], ...], frozenset[int]], ...] = (
    ((("4", "4"),), frozenset({13, 16, 19})),  # Visa
    ((("51", "55"), ("2221", "2720")), frozenset({16})),  # Mastercard
    ((("34", "34"), ("37", "37")), frozenset({15})),  # American Express
    ((("6011", "6011"), ("644", "649"), ("65", "65")), frozenset(range(16, 20))),  # Discover
    ((("300", "305"), ("36", "36"), ("38", "39")), frozenset({14, 16, 19})),  # Diners Club
    ((("3528", "3589"),), frozenset(range(16, 20))),  # JCB
    ((("62", "62"), ("81", "81")), frozenset(range(16, 20))),  # UnionPay
    ((("5018", "5018"), ("5020", "5020"), ("5038", "5038"), ("5893", "5893"), ("6304", "6304"), ("6759", "6763")),
     frozenset(range(13, 20))),  # Maestro
    ((("2200", "2204"),), frozenset(range(16, 20))),  # Mir
    ((("508", "508"), ("60", "60"), ("353", "353"), ("356", "356")), frozenset({16})),  # RuPay
)  # fmt: skip

# How long an IBAN of each country is, by the registry of SWIFT.
_IBANS = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18
FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24
SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
"""
IBAN_LENGTHS = {each[:2]: int(each[2:]) for each in _IBANS.split()}


def luhn(digits: str) -> bool:
    """True if the last of these digits is the check digit of the others (ISO/IEC 7812-1)."""
    doubled = (
        int(digit) * factor for digit, factor in zip(reversed(digits), cycle((1, 2)), strict=False)
    )
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def is_card(digits: str) -> bool:
    """True if digits can be the number of a payment card: a known network, its length, and the
    check digit.
    """
    return (
        len(set(digits)) > 1
        and luhn(digits)
        and any(
            len(digits) in lengths
            and any(first <= digits[: len(first)] <= last for first, last in ranges)
            for ranges, lengths in _NETWORKS
        )
    )


def is_iban(text: str) -> bool:
    """True if a text without spaces is an IBAN: its country's length, and the check digits (ISO
    13616).
    """
    text = text.upper()
    if IBAN_LENGTHS.get(text[:2]) != len(text) or not (
        text.isascii() and text.isalnum() and text[2:4].isdigit()
    ):
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1
