"""What a question is about, of some forty matters that people tell of themselves, and the words that speak of each.

Somebody who has moved tells of boxes and of the way to the baker, not of where they live. These lists say which words are near to
which matter, and which are values of it: a language, an instrument, a database. They are common knowledge and not measured; what
they are worth beside everything else is learned by the trees. English.
"""

# ruff: noqa: E501 - lists of words, as many in a line as belong together

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..profile.vocabulary import LANGUAGES, OCCUPATIONS
from ..text.folding import words

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Matter:
    """A matter: how it is asked about, the words that speak of it, and the words that are values of it."""

    asked: re.Pattern[str]
    near: frozenset[str]
    values: frozenset[str] = _NONE


def _matter(asked: str, near: str, values: str | frozenset[str] = "") -> Matter:
    return Matter(
        re.compile(rf"\b(?:{asked})\b", re.I), words(near), words(values) if isinstance(values, str) else values
    )


MATTERS: Mapping[str, Matter] = {
    "home": _matter(
        r"live|lives|living|reside|residence|home|based|address|city|town|country|move[ds]?|parcel|post ?code|zip",
        """boxes unpacked unpack moved moving movers removal van flat apartment house home kitchen balcony garden street neighbour neighbours neighbor neighbors
        rent landlord lease keys door stairs floor window windows view harbour lake river sea tram baker bakery registered address doorbell attic cellar
        village town city quay lane avenue road district arrived settled here porch yard roof curtains heating lamps shelf""",
    ),
    "employer": _matter(
        r"work(?: at| for)?|works|working|employ(?:er|ed|s)|company|firm|job|career|profession|occupation|living|position|title|do for work",
        """badge desk canteen office colleagues colleague coworkers boss manager team onboarding contract salary hired interview probation shift shifts building
        lift meeting meetings started joined week monday first handed notice resigned uniform apron ward clients customers lesson pupils patients login
        laptop coffee department signed promoted promotion payslip overtime lunch staff hr recruiter workshop studio kitchen site""",
        OCCUPATIONS | words("lead head chief senior junior"),
    ),
    "boss": _matter(
        r"boss|manager|supervisor|supervises?|report to|lead|leads|leader|coach|trainer|teacher|conductor|product owner|in charge",
        """signed approved meeting asked team review office said wants decided replaced took takes over boss manager supervisor supervise lead new farewell retired
        leaving standup agenda feedback thesis draft""",
    ),
    "person": _matter(
        r"who|whose|whom",
        "met with asked told says said called wrote she he her his thanks thank card invite dinner",
    ),
    "partner": _matter(
        r"partner|boyfriend|girlfriend|husband|wife|married|marry|dating|seeing|single|spouse|fianc[eé]e?|in love",
        """date dates dating kiss kissed love together anniversary wedding ring engaged married proposal broke split divorce flowers roses valentine dinner couple
        moved in-laws honeymoon boyfriend girlfriend husband wife introduced""",
    ),
    "child": _matter(
        r"baby|child|children|kids?|son|daughter|twins?",
        """born birth midwife nappy nappies cradle stroller pram bottle milk sleeps cries weighs newborn hospital nursery name named baby diapers pregnant""",
    ),
    "pet": _matter(
        r"dog|cat|pet|puppy|kitten|horse|rabbit|hamster|parrot|bird|breed",
        """shelter puppy kitten vet leash lead walk walks basket chewed barks bark purrs paw paws fur tail collar bowl kibble litter adopted breeder slipper
        sofa treats kennel stable""",
        "terrier labrador poodle beagle dachshund spaniel retriever collie siamese persian tabby",
    ),
    "car": _matter(
        r"cars?|drive|drives|driving|vehicle|motorbike|van",
        """garage tyres tires petrol diesel charge charging charger battery parking park parked boot trunk engine wheel seats seat brakes mileage insurance
        motorway dealer plates licence sold bought lights winter scratch windscreen keys beeps camera""",
        """honda civic tesla fiat panda volvo golf toyota yaris corolla prius bmw audi skoda octavia mercedes ford fiesta focus mazda kia nissan leaf subaru polo jeep
        hyundai renault zoe peugeot citroen opel corsa seat dacia vw volkswagen mini porsche ducati yamaha suzuki bus kangoo""",
    ),
    "commute": _matter(
        r"get to work|commute|way to work|travel|bus|train|tram|bike|route|line",
        """bus tram train bike bicycle cycle cycling walk ride station stop platform ticket pass traffic jam helmet pedals scooter ferry subway metro underground
        car carpool late flag carriage rails""",
        "bus tram train bike bicycle scooter ferry subway metro car foot walk s-bahn u-bahn",
    ),
    "food": _matter(
        r"eat|eats|diet|vegetarian|vegan|meat|food|breakfast|lunch|dinner|allerg(?:y|ic)|intoleran(?:t|ce)|feed|cook",
        """meat steak fish vegan vegetarian vegetables cheese eggs milk tofu beans lentils gluten pork beef chicken salad portions menu grill plate spoon tin dish
        bread flour sugar honey nuts walnuts peanuts plant face recipe oven diagnosis stew soup puree potato""",
        """vegan vegetarian pescatarian gluten lactose dairy pork beef meat fish keto halal kosher nuts peanuts eggs porridge yogurt""",
    ),
    "drink": _matter(
        r"drinks?|drinking|coffee|tea|beans|wine|beer|alcohol",
        """cup mug pot kettle brew espresso decaf camomile chamomile oolong matcha roast beans milk caffeine sip teapot thermos sober glass bottle cellar smell
        smells cappuccino filter""",
        "coffee tea espresso decaf camomile chamomile matcha mate cocoa water juice oolong rooibos earl darjeeling mint cappuccino wine beer",
    ),
    "phone": _matter(
        r"phone|mobile|number|call|reach|network|contact",
        "phone mobile number sim ring call text screen charger flyer reach contract prefix landline voicemail",
        "iphone pixel galaxy samsung android nokia fairphone oneplus huawei xiaomi motorola",
    ),
    "secret": _matter(
        r"password|passcode|pin|code|wifi|combination|lock|key|network",
        "password passphrase word sign guests network router code lock opens door digits slip sticker type enter note safe hook key combination login",
    ),
    "computer": _matter(
        r"laptop|computer|machine|editor|ide|browser|operating system|notebook|tablet",
        "laptop screen keyboard battery fan trackpad charger install installed boots booting desktop keys ram reboot",
        """thinkpad macbook dell xps surface chromebook imac lenovo framework linux ubuntu windows macos vim neovim emacs vscode intellij pycharm zed cursor firefox
        chrome safari""",
    ),
    "software": _matter(
        r"tool|software|app|framework|library|stack|use|uses|using|written in|tickets?|tracker|track|chat|notes|streaming|music|service",
        """migrated migration rewrite rewritten ported import export board login account playlists script plugin upgrade installed deployed live cutover config
        license subscription tests green app cancelled switched""",
        """jira linear trello asana notion slack teams discord zoom github gitlab spotify tidal netflix figma obsidian evernote excel airtable angular react vue svelte
        rust cargo go golang python java kotlin perl ruby php typescript javascript django rails flask fastapi spring node elixir scala swift npm pip""",
    ),
    "database": _matter(
        r"database|db|store|storage|backend|warehouse",
        "query queries index schema tables rows locks dump replica replication vacuum migration cutover sql columns explain analyze backup connection pool",
        "postgres postgresql mysql mariadb mongo mongodb sqlite oracle dynamodb redis cassandra clickhouse duckdb snowflake bigquery cockroachdb psql aurora",
    ),
    "hosting": _matter(
        r"host(?:ed|ing|s)?|cloud|deploy(?:s|ed|ment)?|server|servers|pipeline|ci|infrastructure|run(?:s|ning)? on|region",
        "deploy deployed build builds pipeline dns certificate server box cluster pods yaml region instance invoice container runner workflow redirect logs",
        """aws azure gcp hetzner heroku digitalocean netlify vercel render fly kubernetes nomad docker jenkins circleci travis terraform ansible cloudflare lambda
        ec2 frankfurt actions argo""",
    ),
    "school": _matter(
        r"school|kindergarten|nursery|class|grade|university|college|stud(?:y|ies|ying)|course|degree|major|thesis|subject|teach|teaches|students|pupils",
        """school class pupils teacher lessons homework exam exams semester lecture lectures professor campus term timetable seminar enrolled dormitory lab essay
        canteen schoolbag gymnasium academy faculty trip pottery clay wheel kiln library""",
        """law medicine biology botany chemistry physics maths mathematics history economics psychology philosophy architecture engineering art music geography german
        english french latin sociology informatics bookkeeping pottery nursing theology""",
    ),
    "language": _matter(
        r"language|learn|learning|speak|speaks|lesson|lessons|course|tongue",
        "lesson vocabulary verbs grammar nouns accent app phrases words cases alphabet pronunciation teacher classes flashcards course speak",
        LANGUAGES,
    ),
    "doctor": _matter(
        r"doctor|gp|dentist|therapist|physio|vet|surgeon|midwife|hairdresser|barber|hair|adviser|advisor|lawyer|accountant|taxes|tax",
        """practice surgery appointment waiting chair drill tooth teeth referral prescription needle blood patient patients dr reception checkup filling scissors
        haircut fringe salon receipts papers office card""",
    ),
    "medicine": _matter(
        r"dose|dosage|medicine|medication|tablets?|pills?|syrup|take|takes|insulin|mg|ml|drops",
        "tablets pills milligrams micrograms mg ml chemist pharmacy prescription box boxes halves spoon syringe dose evening morning side label blister refill",
    ),
    "sport": _matter(
        r"sport|run|running|gym|train(?:s|ing)?|race|exercise|climb|swim|plan|rating|grade|belt|far|distance|level|team",
        """km kilometres miles lap laps race marathon gym weights trainer shoes coach pool lanes mat court belt club membership league match medal stretch
        forearms route rope kilos squat squats deadlift bench sets reps""",
        "tennis football swimming rowing boxing yoga pilates judo karate climbing cycling running squash badminton volleyball basketball hockey fencing golf skiing padel bouldering",
    ),
    "music": _matter(
        r"instrument|plays?|playing|band|sing|sings|choir|voice|drum(?:s|mer)?|role",
        "strings bow reed keys pedal chords fingertips fingers lips scales practise practice rehearsal neighbours amp concert stage notes tune tuning case headphones conductor",
        "guitar piano violin cello viola drums flute saxophone ukulele trumpet trombone clarinet harp bass oboe accordion banjo keyboard organ horn mandolin",
    ),
    "hobby": _matter(
        r"hobby|hobbies|free time|spare time|weekend|evenings?|collect|making|grow|growing|plants?|read|reading|book|novel|title|watch|series|game",
        """garden seeds pots soil sewing knitting wool needles clay paint canvas brushes lens telescope puzzle chapter pages episode season plot hero wood carving
        bees hive baking dough stamps coins""",
        "knitting painting pottery gardening photography chess sewing carving baking beekeeping astronomy origami calligraphy tomatoes basil chillies orchids cactus peppers",
    ),
    "money": _matter(
        r"bank|account|save|saving|savings|budget|rent|pay|cost|costs|price|salary|earn|mortgage|rate|interest|insurance|fund|allowance|pocket money|spend|goal",
        """euros pounds dollars percent month monthly account transfer standing order statement iban card fees loan instalment raise budget table cap quote
        spend paid landlord invoice deposit fixed""",
        "sparkasse dkb ing revolut n26 barclays hsbc monzo santander commerzbank comdirect paypal lloyds natwest",
    ),
    "when": _matter(
        r"when|what time|which day|what day|deadline|due|date|appointment|shift|shifts|hours|open|opens|start|meet(?:s|ing)?|stand-?up|daily|wake|get up|release|ship|ships|exam|test",
        """moved shifted postponed earlier later calendar reminder invite slot alarm clock noon midnight half quarter sunrise morning evening night weekly fortnight
        monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays january february march april may june
        july august september october november december spring autumn""",
    ),
    "count": _matter(
        r"how (?:many|much|big|large|old|long|far|often|warm|hard|high)|number of|size|temperature|rating|weight|weigh",
        "all each everybody portions copies chairs plates tickets seats table tables total altogether count counting list one two three four five six seven eight nine ten dozen degrees",
    ),
    "colour": _matter(
        r"colou?r|paint(?:ed)?|look(?:s)? like|hair",
        "paint painted coat brush bucket wall walls dye dyed shade repainted roller tin dry",
        "red green blue yellow white black grey gray orange purple violet pink brown beige turquoise mint ochre mustard cream ivory lilac teal navy copper blonde silver",
    ),
    "seat": _matter(
        r"seat|sit|sits|floor|room|desk|building|place|keep|kept|stored|where is|where are|where do",
        "seat aisle window row floor upstairs downstairs lift stairs corner hook drawer shelf cupboard shed cellar attic left right behind under entrance second third fourth fifth sixth seventh ground",
    ),
    "name": _matter(
        r"called|name|names|named|title|nickname",
        "named christened baptised calls call name shout listens sign letters tag renamed title cover logo",
    ),
    "plan": _matter(
        r"holiday|travel|trip|hotel|stay|flight|sleep|sleeps|sleep in|vacation|destination",
        "booked booking hotel tent van cabin suitcase ferry flight campsite bunk hostel pitch boarding beach passport reservation",
    ),
    "licence": _matter(r"licen[cs]e|policy|rule|terms", "badge header contributors signed licence license", "mit apache gpl agpl bsd mpl lgpl"),
    "health": _matter(
        r"glasses|contacts?|lenses|eyes|smok(?:e|es|ing)|weigh|weight|health|wear",
        "frames lenses optician laser eyes cigarettes patch patches lighter scale kilos pounds prescription fog nose",
        "glasses contacts lenses spectacles",
    ),
    "flatmate": _matter(
        r"flatmates?|roommates?|housemates?|live with|lives with|share|neighbou?rs?|landlord|landlady|rent to|walks?|waters?|looks after|on call|cleaner|babysitter|sitter",
        """moved moves room rooms shelf fridge bins bathroom shares sublet key keys bedroom key dishes rota kitchen upstairs downstairs pager turn thanks thank came
        student""",
    ),
    "goal": _matter(
        r"saving for|goal|training for|working on|project|plan|building|writing|learning|looking for",
        "started begin beginning next finished instead signed talked target plan redo milestone draft prototype",
    ),
}  # fmt: skip

_BROAD = frozenset(
    ["person", "when", "count", "name", "seat"]
)  # asked by the form of a question rather than by its matter


@dataclass(frozen=True, slots=True)
class AskedMatters:
    """What a question is about: the words that are near to its matters, and their values."""

    near: frozenset[str]
    values: frozenset[str]
    narrow: bool  # whether one of its matters is more than the form of the question


@lru_cache(maxsize=64)
def matters_of(question: str) -> AskedMatters:
    """The matters that a question asks about, as one; without words where it is about none of them."""
    found = [(name, each) for name, each in MATTERS.items() if each.asked.search(question)]
    narrow = [each for name, each in found if name not in _BROAD]
    return AskedMatters(
        frozenset().union(*(each.near for each in narrow or [each for _, each in found])),
        frozenset().union(*(each.values for _, each in found)),
        bool(narrow),
    )
