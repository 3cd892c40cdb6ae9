"""The English words that announce a change, and those that name an attribute of somebody or something."""

# ruff: noqa: E501 - lists of words, as many in a line as belong together

from __future__ import annotations

import re
from collections.abc import Mapping

from ..text.folding import words


def _any(*parts: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(parts)})\b", re.I)


# What a newer saying announces, by kind. A kind counts once, however often it is said.
MARKERS: Mapping[str, re.Pattern[str]] = {
    # Something has another value than before.
    "changed": _any(
        r"(?:has |have |had |was |were |been |got |get |be )?(?:moved|relocated|switched|changed|swapped|replaced|rewrote|rewritten|"
        r"migrated|upgraded|downgraded|renamed|rescheduled|rebooked|postponed|pushed|delayed|bumped|slipped|shifted|raised(?! in)|"
        r"increased|reduced|lowered|cut|extended|promoted|demoted|traded in|converted|transferred)",
        r"(?:puts?|brought|turned|set|got|took) (?:\w+ ){0,4}(?:up|down|forward|back)(?: to)?", r"took over", r"taken over",
        r"hand(?:ed|ing) \w+(?: \w+)? (?:over|on)", r"(?:down|up|over|back) (?:to|at)", r"went (?:up|down|over)", r"instead(?: of)?",
        r"gone (?:over|back|full|part|from)", r"went from", r"go(?:es)? by", r"made the switch", r"came to (?:love|like|hate)",
        r"come to (?:love|like|hate)", r"(?:ended|wound) up", r"(?:is|are|was) (?:getting|becoming)", r"became", r"rather than",
        r"rebranded", r"grew to", r"has grown", r"dropped to", r"climbed to", r"fell to", r"rose to", r"in favou?r of", r"ditched",
    ),
    # Something is over.
    "ended": _any(
        r"no longer", r"any ?more", r"any longer", r"not? more", r"stopped", r"quit", r"gave (?:\w+ )?(?:up|away|back|notice)",
        r"given (?:\w+ )?up", r"giv(?:es?|ing) (?:\w+ )?up", r"sold", r"broke up", r"broken up", r"split up", r"split", r"separated",
        r"divorced", r"cancel(?:l?ed|s)?", r"call(?:ed|ing) (?:\w+ )?off", r"dropped", r"left", r"leaving", r"unsubscribed", r"deleted",
        r"got rid of", r"died", r"passed away", r"ended", r"is over", r"closed (?:it|the|my|our|down)", r"shut down", r"fell through",
        r"resigned", r"retired", r"laid off", r"fired", r"threw (?:\w+ )?(?:out|away)", r"moved out", r"disabled", r"removed",
        r"uninstalled", r"abandoned", r"cut out", r"off the table", r"done with", r"out of (?:business|stock)", r"used to",
        r"scrapped", r"dissolved", r"went bankrupt", r"expired", r"off (?:sugar|meat|coffee|alcohol|dairy|gluten)", r"decided against",
        r"not going (?:to|after all)", r"swore off", r"phased out", r"retiring", r"discontinued", r"lapsed", r"took me off", r"shelved",
    ),
    # What was said was wrong.
    "corrected": _any(
        r"actually", r"correction", r"sorry", r"i was wrong", r"(?:that|it) was wrong", r"scratch that", r"turns? out", r"turned out",
        r"i meant?", r"mixed (?:\w+ )?up", r"misspel\w+", r"misremember\w+", r"misread", r"misheard", r"mistyped", r"to be precise",
        r"after all", r"my mistake", r"typo", r"in fact", r"take that back", r"let me correct", r"should (?:say|read|have said)",
        r"i said \w+(?: \w+){0,6} but", r"not (?:\w+ ){1,4}but", r"wrong (?:about|number|date|day|name|time)", r"i told you wrong",
        r"contrary to", r"i checked", r"double[- ]checked", r"looked it up", r"wait", r"no,", r"oops", r"never mind", r"forget what",
        r"rather", r"not in \w+", r"got (?:that|it) wrong", r"funny", r"confused (?:it|them|the)", r"to correct myself",
    ),
    # Something holds since a short time.
    "now": _any(
        r"now", r"these days", r"nowadays", r"lately", r"currently", r"from now on", r"as of", r"since (?!then)\w+", r"from next \w+",
        r"meanwhile", r"finally", r"going forward", r"starting (?:next|this|from|on|in)", r"this time", r"recently", r"at last",
        r"for a (?:month|week|year|while) now", r"by now", r"from (?:monday|tuesday|wednesday|thursday|friday) on", r"just",
        r"the (?:new|latest) \w+ (?:is|says|was)", r"(?:again|working again)$", r"already", r"next (?:week|month|year) on", r"has been",
        r"since (?:last|this|new|january|february|march|april|may|june|july|august|september|october|november|december)",
    ),
    "new": _any(r"(?:my|our|his|her|their|a|the) new", r"new (?:number|address|job|phone|car|flat|place|name)", r"newest"),
    # Something has begun, or is done.
    "begun": _any(
        r"(?:have|has|i|we|he|she|they)? ?(?:started|begun|began|joined|adopted|bought|accepted|arrived|passed|repaired|fixed|enabled|"
        r"graduated|married|finished|signed up|took up|picked up|turned|became|got|found|received|completed|approved|solved|"
        r"resolved|released|landed|hired|opened|paid off|came|learned|learnt|enrolled|settled)",
        r"is (?:done|fixed|finished|ready|back|born)", r"was born", r"i'm seeing", r"been seeing", r"first (?:pet|car|child|job|tv)",
    ),
}  # fmt: skip
# What speaks against a change.
ADDED = _any(
    r"also", r"too(?=[.,!;]|$| and)", r"as well", r"another", r"either", r"a second", r"other", r"besides", r"in addition", r"plus", r"neither",
    r"on top of", r"additionally", r"both", r"similarly", r"likewise", r"apart from", r"alongside", r"of its own", r"extra", r"additional", r"next to that",
)  # fmt: skip
# What says that nothing has changed.
KEPT = _any(
    r"still", r"as (?:i|we) (?:told|said|mentioned|wrote|already|was|have)", r"as (?:mentioned|said|before|always|ever|discussed)", r"don't forget",
    r"remember,?", r"nothing (?:has |have )?changed", r"the same", r"unchanged", r"as agreed", r"reminder", r"once more", r"stays", r"remains?",
    r"same as", r"told you", r"like i said", r"already told",
)  # fmt: skip
THIS_TIME = _any(
    r"today", r"tonight", r"this (?:week|weekend|morning|evening|afternoon|month|season|year(?:'s)?|monday|tuesday|wednesday|thursday|friday|saturday|"
    r"sunday)", r"(?:in|for) (?:january|february|march|april|june|july|august|september|october|november|december)", r"second", r"just once", r"for once",
)  # fmt: skip
ASKED = re.compile(r"\?\s*+[\"\u201d')\]]*+\s*$")
SUPPOSED = _any(
    r"if", r"might", r"(?-i:may)", r"maybe", r"perhaps", r"would", r"i'd", r"wish", r"imagine", r"suppose", r"considering", r"thinking (?:of|about)",
    r"could", r"hopefully", r"hope to", r"hoping", r"one day", r"someday", r"dream(?:ing|s)? (?:of|about)", r"what if", r"should i",
    r"want(?:s|ed)? to", r"would like", r"not sure", r"unless", r"whether", r"tempted", r"in the (?:film|movie|book|novel|story|game)",
    r"(?:have|had|got|has) an interview", r"applied (?:for|to)", r"looking into", r"wondering", r"dreamt?", r"joking", r"toying with", r"in case", r"goal is", r"plan(?:s|ning)? (?:to|on)", r"intends?", r"intending", r"aim(?:s|ing)? to",
    r"will probably", r"i'll probably", r"eventually", r"sooner or later", r"at some point",
)  # fmt: skip
TEMPORARY = _any(
    r"today", r"tonight", r"this (?:week|weekend|morning|evening|afternoon)", r"just once", r"for (?:once|the weekend|the day|a few days|"
    r"a week|two weeks|the wedding|the holidays)", r"on holiday", r"staying (?:with|at)", r"visiting", r"rented", r"borrow(?:ed|ing)",
    r"over (?:easter|christmas|the weekend)", r"only this", r"one[- ]off", r"temporarily", r"as an exception", r"yesterday", r"last night",
    r"on (?:sunday|saturday|monday|tuesday|wednesday|thursday|friday)", r"because of", r"for now", r"until", r"a bite of",
)  # fmt: skip
PAST = _any(
    r"in (?:19|20)\d\d", r"last (?:year|summer|winter|week|month|night|spring|autumn|fall)", r"when i was", r"as a (?:child|kid|teenager)",
    r"grew up", r"back (?:then|when|in)", r"years ago", r"used to", r"once", r"studied", r"was in", r"went", r"had", r"ran", r"watched",
    r"visited", r"ate", r"saw", r"cooked", r"tried", r"met", r"flew", r"played", r"took", r"made", r"paid", r"broke (?:my|his|her)",
)  # fmt: skip
# What can never change: two values of it are a contradiction, whoever says them and when.
LASTING = _any(
    r"born", r"birthday", r"birthplace", r"hometown", r"grew up", r"childhood", r"middle name", r"maiden name", r"first (?:car|job|pet|love)",
    r"blood type", r"native", r"mother tongue", r"never (?:been|had|broken|went|met|owned|seen|tried)", r"only child", r"siblings?",
    r"brothers or sisters", r"order number", r"star sign", r"zodiac", r"shoe size", r"twin", r"eldest", r"youngest", r"raised in",
)  # fmt: skip
# Who somebody is to the speaker; "my sister" is another subject than "I".
KIN: Mapping[str, str] = {
    **{each: each for each in ["sister", "brother", "husband", "wife", "son", "daughter", "boyfriend", "girlfriend", "friend", "colleague", "neighbour", "boss", "niece", "nephew", "aunt", "uncle", "cousin", "partner", "flatmate", "roommate", "manager", "landlord", "therapist", "doctor", "teacher", "dog", "cat", "parents", "kids", "children", "family", "team", "company", "employer", "supervisor", "coach", "fiance", "in-laws", "twin", "grandson", "granddaughter", "godson", "godmother"]},
    "mum": "mother", "mom": "mother", "mother": "mother", "mama": "mother", "dad": "father", "father": "father", "papa": "father",
    "grandma": "grandmother", "grandmother": "grandmother", "gran": "grandmother", "grandpa": "grandfather", "grandad": "grandfather",
    "grandfather": "grandfather", "neighbor": "neighbour", "neighbours": "neighbour", "neighbors": "neighbour", "bf": "boyfriend",
    "gf": "girlfriend", "hubby": "husband", "housemate": "flatmate", "sisters": "sister", "brothers": "brother", "friends": "friend",
    "colleagues": "colleague", "coworker": "colleague", "co-worker": "colleague", "girl": "daughter", "boy": "son", "toddler": "child",
}  # fmt: skip
PEOPLE = frozenset(KIN.values()) - words(
    "dog cat team company employer manager landlord boss family kids children twin"
)

# Attributes of which there is one value at a time, by the words that speak of them.
SINGLE: Mapping[str, re.Pattern[str]] = {
    "residence": _any(
        r"(?:live|lives|living|lived|reside[sd]?|residing) (?:in|at|on|near|with|here|out|alone|by|together|there)", r"based (?:in|at|out of)",
        r"(?:flat|apartment|studio|house|address|home|condo|bedsit) (?:is|in|on)", r"(?:i|we|he|she|they|\w+ has|\w+ have) (?:\w+ )?(?:moved|"
        r"relocated|settled)", r"(?:move|moving|moved|relocat\w+|settl\w+) (?:to|out|in|into|from|back|here|down)", r"my (?:own |new )?(?:flat|"
        r"apartment|place|address|house|studio)", r"(?:a|the) (?:flat|apartment|studio|house)", r"rent (?:a|an|the|my)", r"parents' (?:place|house)",
        r"no longer in", r"i'm (?:in|back in)", r"our address", r"new address", r"neighbou?rhood",
    ),
    "job": _any(
        r"work(?:s|ed|ing)? (?:as|at|for|in|from|part|full|remotely|nights|there|freelance|with)", r"jobs?", r"employed", r"unemployed",
        r"self-employed", r"employer", r"full[- ]time", r"part[- ]time", r"(?:senior|junior|lead|head|chief) \w+", r"career", r"position at",
        r"started (?:at|as)", r"joined", r"quit \w+ing", r"(?:nurse|teacher|engineer|developer|designer|lawyer|chef|cook|doctor|pilot|baker|waiter|"
        r"waitress|barista|plumber|carpenter|architect|journalist|editor|accountant|consultant|analyst|manager|freelancer|dentist|"
        r"student|programmer|electrician|scientist|researcher|librarian|paramedic|driver|gardener|photographer|writer|retired|"
        r"receptionist|translator|pharmacist|mechanic|bartender|firefighter|salesman|director|founder|intern|apprentice|trainee)",
        r"fired", r"laid off", r"resigned", r"promoted", r"contract with", r"runs? (?:a|an|my|his|her|our) \w+",
    ),
    "superior": _any(r"boss", r"manager", r"supervisor", r"report(?:s|ed)? to", r"team lead", r"ceo", r"cto", r"(?:project )?lead(?:er)?"),
    "pay": _any(r"salary", r"earn(?:s|ed|ing)?", r"wages?", r"raise", r"income", r"per hour", r"hourly rate", r"paid me"),
    "way to work": _any(r"to work by", r"commut\w+", r"tram to", r"bus to", r"train to", r"bike to", r"drive to", r"cycle to", r"walk to"),
    "car": _any(
        r"drives?", r"driving", r"cars?", r"civic", r"tesla", r"fiat", r"volvo", r"golf", r"honda", r"toyota", r"bmw", r"audi", r"skoda", r"mercedes",
        r"ford", r"mazda", r"kia", r"nissan", r"subaru", r"prius", r"corolla", r"polo", r"fiesta", r"jeep", r"hyundai", r"renault", r"peugeot", r"vw",
        r"volkswagen", r"motorbike", r"ducati", r"triumph", r"car sharing", r"driving licen[cs]e",
    ),
    "partner": _any(
        r"single", r"dating", r"boyfriend", r"girlfriend", r"husband", r"wife", r"married", r"engaged", r"divorced", r"divorce", r"broke up",
        r"broken up", r"split up", r"separated", r"seeing (?:someone|somebody|each other)", r"fianc[eé]e?", r"partner", r"got together",
        r"in a relationship", r"proposed", r"widow(?:ed|er)?", r"with \w+ now",
    ),
    "diet": _any(
        r"vegetarian", r"vegan", r"pescatarian", r"meat", r"omnivore", r"(?:low[- ]carb|keto|paleo|gluten[- ]free|dairy[- ]free) ?(?:diet)?", r"diet",
        r"eats? (?:everything|no \w+|fish|meat)", r"eating (?:meat|fish|everything)", r"plant[- ]based", r"fish", r"halal", r"kosher", r"fasting",
    ),
    "coffee": _any(r"coffees?", r"cups? (?:a day|of coffee)", r"sugars?", r"caffeine", r"decaf", r"espresso", r"oat milk", r"tea"),
    "alcohol": _any(r"alcohol", r"wine", r"beers?", r"sober", r"drink(?:s|ing)?"),
    "smoking": _any(r"smok(?:e|es|ed|ing|er)", r"cigarettes?", r"vap(?:e|ing)", r"nicotine"),
    "allergy": _any(r"allerg(?:y|ies|ic)", r"intoleran(?:t|ce)", r"lactose", r"milk", r"peanuts?"),
    "phone number": _any(r"(?:phone|mobile|cell|new|old)? ?number", r"reach me (?:at|on)", r"call me (?:at|on)", r"text me (?:at|on)"),
    "e-mail": _any(r"e-?mail", r"mailbox", r"inbox", r"write to \S+@\S+"),
    "password": _any(r"password", r"passcode", r"pin", r"code"),
    "name": _any(r"(?:is|am|are|was|were) (?:called|named)", r"call me", r"(?:first |last |sur|middle |user|nick)?name(?:d|s)?", r"naming", r"call the",
                 r"go(?:es)? by", r"renamed", r"pronouns"),
    "age": _any(r"(?:i'm|i am|is|turned|turns|are) (?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen)", r"years old"),
    "weight": _any(r"weighs?", r"kilos?", r"kg", r"pounds", r"lbs", r"lost weight", r"stone"),
    "sleep": _any(r"(?:get|gets|got|getting|wake|wakes|woke|waking) up", r"alarm", r"sleep(?:s|ing)?", r"go(?:es)? to bed", r"bedtime", r"hours a night"),
    "study": _any(r"stud(?:y|ies|ied|ying)", r"major(?:ing)?", r"degree", r"thesis", r"phd", r"semester", r"(?:first|second|third|fourth|final) year",
                  r"university", r"uni", r"college", r"graduat\w+", r"law school", r"med(?:ical)? school", r"bachelor'?s?", r"master'?s"),
    "school": _any(r"school", r"kindergarten", r"grade", r"class teacher", r"nursery", r"daycare"),
    "language of answers": _any(r"(?:answer|write|reply|respond|talk|speak)(?: to)? ?(?:me)? (?:in|back in)", r"answers?", r"repl(?:y|ies)"),
    "rent": _any(r"rent", r"landlord", r"landlady", r"lease"),
    "budget": _any(r"budget", r"can spend", r"afford"),
    "editor": _any(r"vs ?code", r"neovim", r"vim", r"emacs", r"intellij", r"pycharm", r"sublime", r"zed", r"cursor", r"ide"),
    "cloud": _any(r"aws", r"azure", r"gcp", r"google cloud", r"hetzner", r"heroku", r"digitalocean", r"fly\.io", r"render", r"netlify", r"vercel",
                  r"hosted?", r"hosting", r"kubernetes", r"cloud run", r"ec2"),
    "database": _any(r"postgres(?:ql)?", r"mysql", r"mariadb", r"mongo(?:db)?", r"sqlite", r"oracle", r"databases?", r"dynamodb", r"redis", r"cassandra"),
    "frontend": _any(r"react", r"angular", r"vue", r"svelte", r"frontend", r"front end", r"next\.?js", r"ember", r"htmx"),
    "pipeline": _any(r"jenkins", r"github actions", r"gitlab ci", r"circleci", r"travis", r"deploy(?:s|ed|ing)?", r"teamcity", r"argo(?:cd)?"),
    "phone": _any(r"iphone", r"pixel", r"galaxy", r"samsung", r"android", r"oneplus", r"fairphone", r"phone"),
    "laptop": _any(r"thinkpad", r"macbook", r"laptop", r"dell", r"xps", r"surface", r"chromebook"),
    "favourite": _any(r"favou?rite", r"prefer(?:s|red|ence)?", r"best (?:band|film|book|song)", r"go-to"),
    "deadline": _any(r"due", r"deadline", r"release", r"ships?", r"launch"),
    "bank": _any(r"savings?", r"bank", r"account at", r"n26", r"ing", r"dkb", r"revolut", r"loan"),
    "insurance": _any(r"insurance", r"insured", r"provider", r"insurer"),
    "fitness": _any(r"gym", r"membership", r"crossfit", r"yoga", r"pilates", r"training for", r"marathon", r"10k", r"5k"),
    "instrument": _any(r"guitar", r"piano", r"violin", r"cello", r"drums", r"flute", r"saxophone", r"ukulele"),
    "book": _any(r"reading", r"finished", r"chapter", r"book", r"novel"),
    "series": _any(r"season", r"episode", r"watching", r"binge"),
    "church": _any(r"religio\w+", r"church", r"christian", r"muslim", r"buddhist", r"atheist", r"baptised"),
    "party": _any(r"vot(?:e|ed|ing)", r"party member", r"labour", r"democrat", r"republican", r"greens"),
    "medicine": _any(r"tak(?:e|es|ing) \w+ for", r"tablets?", r"pills?", r"mg", r"dose", r"prescri\w+", r"medication", r"ibuprofen", r"paracetamol",
                     r"antidepressants?", r"statins?", r"insulin"),
    "glasses": _any(r"glasses", r"contact lenses", r"contacts", r"laser"),
    "hair": _any(r"hair", r"beard", r"blonde?", r"brunette"),
}  # fmt: skip
# Attributes of which there are many at a time: two of them live together, unless words of a change say more.
MANY = _any(
    r"likes?", r"loves?", r"enjoys?", r"hates?", r"adores?", r"fond of", r"collects?", r"speaks?", r"plays?", r"read", r"watched", r"visited",
    r"bought", r"ate", r"had", r"ran", r"went", r"learning", r"have a", r"own a", r"has a", r"owns a", r"hired", r"planted", r"tried", r"took",
    r"interested in", r"hobby", r"fan of", r"into", r"can cook", r"cooks?", r"baked?", r"grow", r"knows?", r"need(?:s|ed)?", r"finished",
    r"fixed", r"met", r"saw", r"broke (?:my|his|her)", r"failed", r"passed", r"using", r"allergic", r"recommend\w*", r"also",
)  # fmt: skip
# Which words end a state that other words speak of, by the words of the state.
ENDS: Mapping[str, re.Pattern[str]] = {
    "job": _any(r"quit", r"resigned", r"fired", r"laid off", r"retired", r"left", r"gave notice", r"promoted", r"started (?:at|as)"),
    "partner": _any(r"broke up", r"split up", r"divorced", r"separated", r"engaged", r"married", r"moved out", r"seeing", r"single"),
    "car": _any(r"sold", r"traded", r"swapped", r"scrapped", r"got rid of"),
    "residence": _any(r"moved", r"relocated", r"gave up", r"moved out", r"sold the house"),
    "smoking": _any(r"quit", r"stopped", r"gave up", r"given up"),
    "diet": _any(r"started", r"stopped", r"gave up", r"turned", r"went", r"became", r"again"),
}  # fmt: skip
# Verbs whose object they end or exchange: "sold the Civic", "cancelled my gym membership".
ENDING_VERB = re.compile(
    r"\b(?:sold|cancel(?:l?ed)?|called off|dropped|quit|stopped|gave up|given up|left|leaving|deleted|removed|disabled|unsubscribed from|"
    r"got rid of|traded in|swapped|ditched|replaced|switched (?:away )?from|migrated from|moved (?:\w+ ){0,2}from|instead of|rather than|"
    r"no longer (?:\w+ )?(?:in|at|with|on)?|lost|threw out|gave away|returned|scrapped|abandoned|finished|done with|broke up with|"
    r"split (?:up )?with|took (?:me|him|her) off|decided against|(?:is|was|been|were|are|got) (?:cancel\w+|called off|closed|scrapped|renamed|"
    r"replaced|disabled|removed|postponed|moved|repaired|fixed|done|dissolved|sold|stolen|broken)|died|passed away|stolen|off the|"
    r"upgraded from|paid off|picked up|found|over from)\s+(?P<object>(?:[\w'\u2019-]+[ ,]*){0,5})",
    re.I,
)
# Words that say nothing of what a sentence is about, besides those of `sentences`.
EMPTY = words("""
    move switch change replace cancel postpone quit sell stop start begin actual correction sorry instead longer anymore anyway day
    week month year time new old again back next last first second morning evening today yesterday tomorrow tonight lately recent
    current moment let like love prefer hate want know think feel mean tell thing lot bit little much many more most less own
    good great nice finally already yesterday since though although however well even ever maybe perhaps please thank remember forget
    live move work job drive call name eat drink become turn put go come make do have take find look see try use keep stay
    i'm i've i'd i'll we're we've it's that's he's she's they're don't didn't doesn't isn't wasn't haven't can't couldn't won't
    one two three four five six seven eight nine ten after all decide end give up down over off out in on favourite favorite
""")  # fmt: skip
# What ends, goes or gets another value in a clause, as people tell each other.
GONE = _any(
    r"goodbye", r"farewell", r"bye", r"rip", r"sold", r"flogged", r"binned", r"ditched", r"dumped", r"scrapped", r"killed", r"cancell?ed", r"quit", r"left",
    r"leaving", r"retired", r"resigned", r"(?:stood|stepped) down", r"g(?:a|i)v(?:e|en|ing) (?:\w+ ){0,3}up", r"handed (?:\w+ ){0,4}(?:over|back|in|on)", r"gone",
    r"died", r"dead", r"passed away", r"over", r"finished", r"done with", r"no (?:more|longer)", r"(?:not|\w+n't) (?:\w+ ){0,5}any ?more", r"any longer",
    r"f[ae]ll(?:s|en)? through", r"off", r"closed", r"shut", r"dropped", r"threw (?:\w+ ){0,3}(?:out|away)", r"got rid of", r"let (?:me|him|her|them|us|go)",
    r"called (?:it|off)", r"broke up", r"split up", r"stopped", r"ended", r"expired", r"(?:is|was) history", r"pulled (?:\w+ )?out", r"took (?:\w+ ){0,3}off",
    r"sent (?:\w+ ){0,3}back", r"returned", r"lost", r"swapped", r"traded", r"replaced", r"moved", r"switched", r"changed", r"shifted", r"bumped", r"pushed",
    r"extended", r"postponed", r"rescheduled", r"rebooked", r"put (?:\w+ ){0,3}(?:back|off|up|down|forward)", r"went (?:up|down)", r"raised", r"upgraded",
    r"migrated", r"renamed", r"converted", r"transferred", r"rewrote", r"repaired", r"fixed", r"promoted", r"graduated",
)  # fmt: skip
# What is told of former times.
STORY = _any(
    r"when (?:i|we|he|she|they) (?:was|were)", r"used to", r"last time", r"in (?:my|his|her|our|their) (?:\w+ )?(?:twenties|thirties|forties|teens|youth|day)",
    r"as a (?:kid|child|baby|boy|girl|student|teenager)", r"years? (?:ago|back)", r"back (?:then|in the day)", r"grew up", r"before that",
    r"once (?:had|was|lived|worked)", r"had been", r"in those days", r"my first", r"the first one", r"was .{1,40} (?:before|then)",
)  # fmt: skip
# What has not happened yet, and may never.
PLANNED = _any(
    r"if", r"might", r"maybe", r"perhaps", r"would", r"(?:i|we|he|she|they)'d", r"could", r"should", r"thinking (?:of|about)", r"one day", r"some ?day",
    r"hope to", r"hoping", r"wish", r"dream(?:ing|s)? of", r"tempted", r"considering", r"next (?:year|spring|summer|autumn|winter)", r"not (?:decided|sure)",
    r"in the new year", r"when (?:i|we) (?:retire|qualify|can afford)", r"plan(?:s|ning)? (?:to|on)", r"want(?:s|ed)? to", r"going to", r"gonna",
    r"looking (?:at|into|for)", r"were (?:we|i)", r"may(?= [a-z])",
)  # fmt: skip
# What somebody would like, or only imagines.
WISHED = _any(
    r"(?:i|we|he|she|they)'d (?:like|love|rather|prefer)", r"(?:would|might)(?! not)", r"(?:could|should) have", r"maybe", r"perhaps", r"thinking (?:of|about)", r"tempted", r"one day",
    r"some ?day", r"considering", r"toying with", r"not sure (?:if|whether)", r"if (?:i|we|it|he|she|they|you)(?:'d| (?:were|was|had|could|let|lived|got))",
    r"were (?:i|we)",
)  # fmt: skip
# Whose it is, where it is not the speaker's.
THEIRS = re.compile(
    r"\b(?:his|her|their) (?!(?:the|a|an)\b)[a-z]+|\b(?:the|my|our) (?:neighbou?rs?|client|friend|cousin|colleague|flatmate|roommate|landlord)(?:'s)?\b|\bnext door\b",
    re.I,
)
RELATIVES = _any(
    r"mum", r"mom", r"mother", r"dad", r"father", r"sister", r"brother", r"son", r"daughter", r"cousin", r"aunt", r"uncle", r"niece", r"nephew", r"neighbou?rs?",
    r"next door", r"friend", r"mate", r"boss", r"colleague", r"flatmate", r"roommate", r"client", r"boyfriend", r"girlfriend", r"husband", r"wife", r"partner",
    r"parents", r"grandma", r"grandpa", r"gran", r"grandson", r"granddaughter", r"in-laws?",
)  # fmt: skip
