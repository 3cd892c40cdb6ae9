"""Questions and requests that are written without a question mark, as people type them: "how many times did it page me".

Whoever takes a statement for a question loses what it says, so each form must be one that statements do not have. English is
read, and of German, Spanish and French what begins with a question word. "What helped was the melatonin" and "When I was in Paris I
met Ann" say something; "who moved the freeze" and "wann muss ich abgeben" do not.
"""

from __future__ import annotations

from ..lazy_pattern import LazyPattern

LONGEST = 120  # characters: a longer text says something as well

_BEFORE = r"(?i:(?:so|and|but|hey|hi|ok|okay|well|also|btw|please|und|y|et|oder|pero|mais|aber)\b[\s,]*)*"
_SUBJECT = (
    r"(?:(?i:i|you|we|they|he|she|it|the|a|an|my|your|our|his|her|their|its|there|this|that|these|those)\b|[A-Z]\w*)"
)
_NO_SUBJECT = r"(?!(?:i|you|we|they|he|she|it|the|my|your|our|his|her|their)\b)"
_BE = "(?:is|are|am|was|were)"
_AUXILIARY = rf"(?:{_BE}|do|does|did|has|have|had|can|could|will|would|should)(?:n?['\u2019]?t)?"
_ENGLISH = (
    # "what kind of dog do I have", "who is Lotte"
    rf"(?i:what|who|whom|whose|where|when|why|how)(?i:(?:\s+{_NO_SUBJECT}[\w'-]+){{0,3}}?)\s+(?i:{_AUXILIARY})\s+{_SUBJECT}",
    # "which race am I running", "which kid has a nut allergy", "which tool did grafana need"
    rf"(?i:which(?:\s+{_NO_SUBJECT}(?!{_BE}\b)[\w'-]+){{1,3}}?\s+{_AUXILIARY})\s+(?:{_SUBJECT}|\w)",
    # "what does wanjiru do", "where is pete", "since when is senta with us"
    rf"(?i:(?:(?:since|until|till)\s+when|(?:from|to)\s+where|(?:with|for|from|to|by|about)\s+whom|at\s+what\s+time|"
    rf"who|where|when|why|how|what)\s+{_AUXILIARY}\s+[\w'-]+)",
    # "how many times did redis page me", "how long does glue need"
    rf"(?i:(?:for\s+|since\s+)?how\s+(?:many|much|often|long|old|far|big|tall|high|late|soon)(?:\s+{_NO_SUBJECT}[\w'-]+){{0,4}}?"
    rf"\s+{_AUXILIARY}\s+[\w'-]+)",
    # "who moved the freeze", "what broke in september"
    r"(?i:(?:who|what(?:\s+(?:all|else|exactly))?)\s+(?:happen(?:s|d|ed)|changed|broke|failed|went|told|said|made|gave|took|sold|sent|"
    r"wrote|joined|moved|helped|asked|called|paid|bought|found|fixed|built|ordered|booked|recommended|suggested|invited|won))\b",
    r"(?i:(?:what|where|when|who|how)['\u2019]s\s+(?:my|the|your|our|his|her|their|for)\b)",
    rf"(?i:(?:do|does|did|{_BE}|have|has|can|could|should|will|would)\s+(?:i|you|we|they|he|she)\b)",
    r"(?i:is|are|was|were|does|did|has)\s+[A-Z]\w+",
    r"(?i:(?:tell|show)\s+(?:me|us)\s+(?:about|again|all|everything|more|something|wh\w+|how)\b)",
    r"(?i:remind\s+(?:me|us)\s+(?:again|wh\w+|how)\b)",
    r"(?i:(?:suggest|recommend)\s+(?:me\s+)?(?:something|some|an?)\b)",
    # "list all incidents", "summarize the last month"
    r"(?i:list\s+(?:all|everything|every|my|our)\b)",
    r"(?i:summari[sz]e\s+(?:all|everything|what|my|our|(?:the|this)\s+(?:last|past|conversation|chat|week|month|year))\b)",
)
# In a German question the verb stands right behind the question word and its noun; in a clause it stands last.
_GERMAN = (
    r"(?i:(?:seit|bis|ab|von|für|mit|um|in|auf|an|zu|bei)\s+)?"
    r"(?i:wer|wen|wem|was|wann|wo|wohin|woher|warum|wieso|weshalb|wie(?:\s+(?:oft|lange|alt|hoch|groß|gross|weit|teuer|spät|viel))?"
    r"|(?:wie\s*viele?|welche[rsnm]?|wessen)\s+(?!(?:ich|du|er|sie|es|wir|ihr|man|das|die|der|mir|dir|uns|sich)\b)[\w-]+)\s+"
    r"(?i:bin|bist|ist|sind|seid|war|warst|waren|habe?|hast|hat|haben|hatte|hatten|wird|wirst|werde|werden|wurde|wurden|kann|kannst|"
    r"können|konnte|muss|musst|müssen|soll|sollen|sollte|darf|dürfen|will|willst|wollen|wollte|mag|magst|heißt|heisst|heißen|heisse|"
    r"heiße|kostet|kosten|kommt|kommen|geht|wohnt|wohne|wohnst|arbeitet|arbeite|arbeitest|messe|steht|stehen|fährt|fahre|fahren|"
    r"gibt|braucht|brauche|macht|mache|machen|fängt|beginnt|endet|findet|liegt|passiert|bedeutet|dauert|isst|esse|trinkt)\b",
)
_SPANISH = (
    r"(?i:(?:a|de|en|con|desde|hasta|para|por)\s+)?"
    r"(?:(?i:quién|quiénes|cuándo|cuánt[oa]s?|dónde|adónde|cuál|cuáles)"
    r"|(?i:por\s+)?(?i:qué(?!\s+(?:bien|mal|pena|guay|bueno|buena|bonit\w+|lind\w+|ric\w+|alegría|suerte|horror|lástima|va)\b))"
    r"|(?i:cómo\s+(?:es|se|está|están|estaba|era|fue|va|van|puedo|puede|hago|hace|llego|llegamos)))\s+(?!.*\b(?:tan|más)\b)\w",
)
_FRENCH = (
    r"(?i:est-ce\s+qu|qu[\u2019']est-ce\s+qu)",
    r"(?i:(?:depuis|jusqu[\u2019']à|à|de|pour|avec|par|en)\s+)?(?i:qui|où|quand|pourquoi|comment|combien|quel(?:le)?s?)"
    r"(?:\s+[\w\u2019'-]+){0,2}?\s+(?i:est-ce|est|sont|était|étaient|a-t-(?:il|elle|on)|ai-je|as-tu|avons-nous|dois-je|puis-je|s[\u2019']appelle(?:nt)?)\b",
)
_QUESTION = LazyPattern(
    f"{_BEFORE}(?:{'|'.join((*_ENGLISH, *_GERMAN, *_SPANISH, *_FRENCH))})[^.!;:\n]*[.!]*\\s*$", longest=LONGEST
)
# "What helped was the melatonin", "what happened is that …", "what is important to me is honesty": the second half says it.
_ACTED = (
    r"(?:\w+ed|happens|matters|counts|helps|works|hurts|bothers|annoys|scares|makes|bugs|keeps|remains|broke|got|made|went|told|took|"
    r"gave|said|hurt|found|bought|kept|left|won|sold|sent|wrote|built|paid)"
)
_SAYS = LazyPattern(
    rf"{_BEFORE}(?:(?i:what|where|when|why|who)(?:\s+[\w'-]+){{0,2}}?\s+(?i:{_ACTED})(?:\s+[\w'-]+){{0,6}}?\s+(?i:is|was|are|were)\s"
    rf"|(?i:who|what|why)\s+(?i:is|was)\s+(?:[\w'-]+\s+){{1,5}}?(?i:is|was)\s)",
    longest=LONGEST,
)


def is_unmarked_question(text: str) -> bool:
    """Whether a text of one sentence asks or requests without a question mark."""
    return len(text) <= LONGEST and _QUESTION.match(text) is not None and _SAYS.match(text) is None
