"""The strict rule of merging: a canonical form that two texts share only when they say the same
thing in other dress.

Two texts may differ in letter case, in punctuation that changes nothing, in fillers ("by the way"),
in contractions and spellings ("don't", "colour"), in how a number is written ("two", "2"), in the
place of a time ("tomorrow I fly", "I fly tomorrow") and in the order of a list ("bread and
butter"). Whatever else differs keeps them apart: another number, name, negation, date, place,
modality, person. In doubt they are two. It reads English; of texts in other languages only case and
punctuation may differ.
"""

# ruff: noqa: E501 - lists of words and patterns
from __future__ import annotations

import re
from dataclasses import dataclass

from ..base.folding import words

VERSION = 1  # one more when the canonical form changes: what was said is then compared again
FEWEST = 3  # words: "yes, the blue one" means something else each time, and "thanks" nothing
LONGEST = 2_000  # characters: longer texts are documents rather than sayings, and are left alone

_APOSTROPHES = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "}
)
# Words that are another word with a capital letter: these are compared as they are written.
_CASED = words("""may march august april june will bill mark rose frank jack grace hope faith joy art rich sue pat drew dean grant
    polish us it turkey china chile reading nice bath cork swift python ruby go rust java apple amazon oracle word excel
    shell windows teams slack target gap mustang jaguar puma mercury mars earth sun job nancy jerry lima hamburger orange
    green brown black white young long short king cook baker smith cooper page field stone wood woods rock summer autumn
    dawn eve ray sandy amber crystal ruby pearl jean gene will chuck don rob chip chase miles penny ginger basil olive
    violet lily iris daisy ivy heather hazel holly who pole finn dane turk welsh scot lent easter god ai or in me id ok hi
    oh pa ma de la""")
_SPELLING = {
    "colour": "color", "colours": "colors", "favourite": "favorite", "favourites": "favorites",
    "neighbour": "neighbor", "neighbours": "neighbors", "neighbourhood": "neighborhood",
    "organise": "organize", "organised": "organized", "organising": "organizing",
    "realise": "realize", "realised": "realized", "theatre": "theater", "centre": "center",
    "grey": "gray", "travelling": "traveling", "travelled": "traveled", "cancelled": "canceled",
    "flavour": "flavor", "behaviour": "behavior", "labour": "labor", "humour": "humor",
    "jewellery": "jewelry", "pyjamas": "pajamas", "yoghurt": "yogurt", "moustache": "mustache",
    "aluminium": "aluminum", "programme": "program", "e-mail": "email", "e-mails": "emails",
    "okay": "ok", "mum": "mom", "gonna": "going to", "wanna": "want to", "gotta": "got to",
    "cannot": "can not", "percent": "%", "two": "2", "three": "3", "four": "4", "five": "5",
    "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "kilos": "kg",
    "kilograms": "kg", "kilogram": "kg", "kilometres": "km", "kilometers": "km", "metres": "meters",
    "mins": "minutes", "hrs": "hours", "litres": "liters", "twelve": "12", "thirteen": "13",
    "fourteen": "14", "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18",
    "nineteen": "19", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60",
    "seventy": "70", "eighty": "80", "ninety": "90",
}  # fmt: skip
_CONTRACTED = (
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bshan't\b"), "shall not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\b(it|he|she|that|there|here|what|who|where)'s\b"), r"\1 is"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'ve\b"), " have"),
)
# What may begin or end a sentence and adds nothing to it. Not "yes" and "no", which answer, nor
# "maybe", "also", "only".
_FILLER = (
    r"(?:u+m+|u+h+|e+r+m*|hm+|well|oh|ah|hey|hi|hello|ok|okay|so|anyway|anyways|basically|honestly|frankly|btw|fyi|psst|look|listen|"
    r"actually|yeah|yep|haha|right|to be honest|truth be told|for what it's worth|in case you're wondering|in case you wondered|"
    r"in case i forgot to mention|in case i didn't mention it|just a reminder|a reminder|reminder|quick reminder|note to self|"
    r"just a note|quick note|one more thing|just to let you know|just letting you know|i should mention that|i should mention|"
    r"hi there|hey there|hello there|good morning|good evening|good afternoon|did i mention that|you see|i'll say it again|"
    r"let me repeat|to repeat|once more|as i was saying|like i was saying|and|oh and|"
    r"by the way|you know|i mean|just so you know|for your information|for the record|just to be clear|to be clear|as i said|"
    r"like i said|as i mentioned|as mentioned|as you know|as i told you|like i told you|please note that|please note|note that|"
    r"let me say that|let me tell you|i just wanted to say that|just wanted to say that|i wanted to say that|"
    r"i just want you to know that|i want you to know that|remember that|please remember that)"
)
_OPENING = re.compile(
    rf"^(?:{_FILLER}(?:\s*[,:;.!\u2014-]+\s+|\s+(?=(?:i|we|my|our|the)\b)))+", re.IGNORECASE
)
_CLOSING = re.compile(
    r"(?:(?:(?<!\s)\s++)?(?<![,;.!\u2014-])[,;.!\u2014-]++\s*+(?:btw|by the way|fyi|you know|just so you know|for the record|thanks|thank you|thx|ok|okay|as i said|"
    r"like i said|as you know)){1,9}\s*$",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    rf"^(?:{_FILLER}|thanks|thank you|thx|thanks a lot|many thanks|cheers|lol|haha|hi there|hello there|hey there|good morning|good evening|"
    r"good afternoon)$",
    re.IGNORECASE,
)
# The same between two commas, and "that" where a clause with its own subject follows.
_INSIDE = re.compile(
    r"(?:(?<!\s)\s++)?,\s*+(?:um+|uh+|er+|you know|you see|i mean|like|well|actually|by the way|btw|of course|as i said|like i said|as you know)\s*,\s*",
    re.IGNORECASE,
)
_THAT = re.compile(
    r"\b(think|thinks|believe|believes|hope|hopes|guess|know|knows|sure|glad|afraid|said|says|feel|feels) that "
    r"(?=(?:i|you|he|she|we|they|it|my|our)\b)",
    re.IGNORECASE,
)
_MONEY = (
    (re.compile(r"\$\s?(\d[\d.]*\d|\d)(?![\d.]*[kKmM]\b)"), r"\1 dollars"),
    (re.compile(r"\u20ac\s?(\d[\d.]*\d|\d)(?![\d.]*[kKmM]\b)"), r"\1 euros"),
    (re.compile(r"(\d)\s?\u20ac"), r"\1 euros"),
    (re.compile(r"(\d)\s?eur\b", re.IGNORECASE), r"\1 euros"),
)
_SHORT_MONTHS = {
    name[:3]: name
    for name in [
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
}
_SHORT_MONTHS["sept"] = "september"
_SHORT_MONTH = re.compile(
    r"\b(?:(?<=\d )|(?<=\dst )|(?<=\dnd )|(?<=\drd )|(?<=\dth ))(jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\b\.?"
    r"|\b(jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\b\.?(?= \d)",
    re.IGNORECASE,
)
_UNIT = re.compile(r"(?<=\d)(kg|km)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?\u2026])[\"')\]]*\s+(?=[A-Z\d\"'(\u00c0-\u024f])|\n+")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,]|\.\d)")
_CLOCK = re.compile(r"\b(\d{1,2})(?:[:.](\d{2}))?\s?([ap])\.?\s?m\b\.?", re.IGNORECASE)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAY_MONTH = re.compile(
    rf"\b(?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTHS})\b", re.IGNORECASE
)
_MONTH_DAY = re.compile(
    rf"\b({_MONTHS}) (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.]\d)", re.IGNORECASE
)
# A word with what belongs to it, a number with its sign and its parts, or any other sign that is
# not mere punctuation.
_TOKEN = re.compile(
    r"[:;=8xX]['-]?[()DPpO/\\|\]\[](?!\w)|[-+\u2212]?\d[\d.,:/\u2013-]*\w*|(?<!\w)-{1,2}[^\W\d_]\w*|[^\W\d_][\w]*(?:['.&/@-][\w]+)*[+#]*|\w+|[^\w\s]"
)
_PUNCTUATION = frozenset(".,;:!\u2026\u2013\u2014-'()[]{}*_`\u00ab\u00bb\u3001\u3002|~")
_DASH = str.maketrans("\u2212\u2013", "--")

# What a text may mean only where or when it was said.
_POINTS_AT = words("""he she they him her them his hers their theirs it its this that these those there here then one ones same other others
    such else above below former latter""")
_RELATIVE = words("""today tomorrow yesterday tonight now ago last next this since until till later soon recently just currently lately
    already yet still monday tuesday wednesday thursday friday saturday sunday morning afternoon evening night noon week
    weekend month year day days weeks months years hours minutes january february march april may june july august
    september october november december spring summer autumn winter before after again""")

_TIME_PHRASE = (
    r"(?:today|tomorrow|yesterday|tonight|(?:tomorrow|yesterday|this) (?:morning|afternoon|evening|night)|"
    r"on (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?|(?:last|next|this) (?:week|weekend|month|year|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday)|every (?:day|morning|evening|night|week|month|year|monday|tuesday|wednesday|thursday|"
    rf"friday|saturday|sunday)|in (?:{_MONTHS})|on \d{{1,2}}/(?:{_MONTHS})|at \d[\d:]*[ap]?m?)"
)
_TIME_FIRST = re.compile(
    rf"^({_TIME_PHRASE}(?: at \d[\d:]*[ap]?m?)?) ((?:i|we|you|he|she|they|my|our|the) .+)$",
    re.IGNORECASE,
)
# Clauses to which a time at the beginning and one at the end may belong differently.
_CLAUSES = words("""that who which because when while if unless although though said says say told tell think thinks thought know knew
    believe hope wish want wants asked ask where why how whether before after until since and but or so than as promised
    agreed decided plan plans planned going remember remind heard""")
# Where the order of what is joined may matter.
_ORDERED = words("""then first second third before after from to over than versus vs respectively respective between into instead not no
    nor neither never without unless until if because so because while when later next finally""")
_LIST = re.compile(
    r"(?<![\w/])([^\W\d_][\w'-]{0,60}(?: , [^\W\d_][\w'-]{0,60}){0,30}) (?:, )?and ([^\W\d_][\w'-]*)(?!\w)"
)
_VERBISH = re.compile(r"(?:ed|ing)$")


@dataclass(frozen=True, slots=True)
class SameFacts:
    """The canonical form of a text, and what else must be the same for it to mean the same.

    `needs_day`: it names a time by what it is from the day of saying. `needs_session`: it points at
    something said before.
    """

    form: str
    needs_day: bool
    needs_session: bool


def same_facts(text: str) -> SameFacts | None:
    """The canonical form of a text; None where it is too short or too long to be merged with
    anything.

    Takes time in proportion to its length: about 40 microseconds for a sentence.
    """
    if len(text) > LONGEST or "```" in text:
        return None
    plain = (
        " ".join(text.translate(_APOSTROPHES).split())
        if "\n" not in text
        else text.translate(_APOSTROPHES)
    )
    sentences = [form for each in _SENTENCE.split(plain) if (form := _sentence(each))]
    form = " | ".join(sentences)
    tokens = form.split()
    if sum(word[0].isalnum() for word in tokens) < FEWEST:
        return None
    known = {word.lower() for word in tokens}
    return SameFacts(form, bool(known & _RELATIVE), bool(known & _POINTS_AT))


def is_same(one: str, other: str) -> bool:
    """True if two texts of one speaker, of one day and one session say the same."""
    mine, others = same_facts(one), same_facts(other)
    return mine is not None and others is not None and mine.form == others.form


def _sentence(text: str) -> str:
    """The canonical form of one sentence; empty for one that says nothing."""
    before = None
    core = text.strip()
    asks = core.rstrip("\"')] ").endswith("?")
    while core != before:  # a filler may follow another
        before = core
        core = _CLOSING.sub("", _OPENING.sub("", core).rstrip(" .!?\u2026")).strip()
    if _NOTHING.match(core.strip(" .,!?")):
        return ""
    core = _THAT.sub(r"\1 ", _INSIDE.sub(" ", core)).replace(" & ", " and ")
    core = _SHORT_MONTH.sub(lambda match: _SHORT_MONTHS[(match[1] or match[2]).lower()], core)
    core = _CLOCK.sub(_clock, _THOUSANDS.sub(lambda match: match[0].replace(",", ""), core))
    for pattern, plain in _MONEY:
        core = pattern.sub(plain, core)
    core = _UNIT.sub(r" \1", core)
    core = _MONTH_DAY.sub(r"\2/\1", _DAY_MONTH.sub(r"\1/\2", core))
    shouted = core.isupper()
    quiet = _lower(core)
    for pattern, plain in _CONTRACTED:
        quiet = pattern.sub(plain, quiet)
    tokens = _TOKEN.findall(quiet.translate(_DASH))
    listed = [*_spelled([each.rstrip(".,:") or each for each in tokens])]
    joined = " ".join(each for each in listed if each == "," or each not in _PUNCTUATION)
    ordered = _without_commas(_sorted_list(_time_last(joined)))
    return (
        (("? " if asks else "") + ("^ " if shouted and _has_cased(ordered) else "") + ordered)
        if ordered
        else ""
    )


def _clock(match: re.Match[str]) -> str:
    minutes = "" if match[2] in (None, "00") else f":{match[2]}"
    return f"{int(match[1])}{minutes}{match[3].lower()}m"


def _lower(text: str) -> str:
    """The text in lower case, but for words that are another word with a capital letter; those that
    begin it too.
    """
    return re.sub(
        r"[^\W\d_]+", lambda match: match[0] if _is_cased(match[0]) else match[0].casefold(), text
    )


def _is_cased(word: str) -> bool:
    return (
        word.casefold() in _CASED
        and not word.islower()
        and word not in ("It", "Will", "In", "Or", "Who", "Me", "Hi", "Oh", "Go")
    )


def _has_cased(text: str) -> bool:
    """True if a text that was all in capitals has a word whose capital letter would have told."""
    return any(word.casefold() in _CASED for word in text.split())


def _spelled(tokens: list[str]) -> list[str]:
    return [part for word in tokens for part in _SPELLING.get(word, word).split(" ") if part]


def _time_last(text: str) -> str:
    """A sentence of one clause with the time that it begins with at its end."""
    bare = text.replace(" ,", "")
    match = _TIME_FIRST.match(bare)
    if match is None or set(match[2].lower().split()) & _CLAUSES:
        return text
    return f"{match[2]} {match[1]}"


def _sorted_list(text: str) -> str:
    """A sentence with the words of its only list in order: "bread and butter" as "butter and
    bread".
    """
    tokens = text.split()
    if (
        tokens.count("and") != 1
        or {word.lower() for word in tokens} & _ORDERED
        or any(word[0].isdigit() for word in tokens)
    ):
        return text
    match = _LIST.search(text)
    if match is None:
        return text
    items = [*match[1].split(" , "), match[2]]
    # The last of what is before and the first of what is behind may be parts of longer phrases,
    # which must not be torn apart.
    before, after = text[: match.start()].split(), text[match.end() :].split()
    if after and after[0] != ",":
        return text
    if not before or before[-1] not in _BEFORE_LIST or any(_VERBISH.search(item) for item in items):
        return text
    return " ".join([*before, " and ".join(sorted(items)), *after])


# Words after which a list of single words stands whole: verbs and prepositions, not adjectives and
# articles.
_BEFORE_LIST = words("""like likes love loves hate hates prefer prefers enjoy enjoys have has had bought buy need needs eat eats drink drinks
    speak speaks with for about play plays know knows use uses visit visited met meet invite invited ordered order want
    wants cook cooks grow grows teach teaches study studies""")


def _without_commas(text: str) -> str:
    return " ".join(word for word in text.split() if word != ",")
