"""Check digits: whether digits can be a payment card, and whether a text can be an IBAN."""

from __future__ import annotations

from itertools import cycle

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
    doubled = (int(digit) * factor for digit, factor in zip(reversed(digits), cycle((1, 2)), strict=False))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def is_card(digits: str) -> bool:
    """True if digits can be the number of a payment card: a known network, its length, and the check digit."""
    return len(set(digits)) > 1 and luhn(digits) and any(
        len(digits) in lengths and any(first <= digits[: len(first)] <= last for first, last in ranges)
        for ranges, lengths in _NETWORKS
    )  # fmt: skip


def is_iban(text: str) -> bool:
    """True if a text without spaces is an IBAN: its country's length, and the check digits (ISO 13616)."""
    text = text.upper()
    if IBAN_LENGTHS.get(text[:2]) != len(text) or not (text.isascii() and text.isalnum() and text[2:4].isdigit()):
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1
