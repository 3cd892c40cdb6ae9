"""The words that the rules of a profile know: relations, occupations, and what is no name."""

# ruff: noqa: E501 - lists of words and patterns
from __future__ import annotations

from ..text.folding import words

# Of these a user has one at a time, so that a newer name takes the place of the former; of all others there may be several.
ONE_AT_A_TIME = words("""wife husband partner girlfriend boyfriend fiancée fiancé fiancee fiance spouse mother mom mum mama father dad papa
    boss manager landlord landlady""")  # fmt: skip
RELATIONS = ONE_AT_A_TIME | words("""sister brother son daughter child baby twin stepson stepdaughter stepmother stepfather grandma grandmother granny nana
    grandpa grandfather grandson granddaughter aunt uncle cousin niece nephew godson goddaughter godmother godfather
    mother-in-law father-in-law sister-in-law brother-in-law son-in-law daughter-in-law ex-wife ex-husband ex-girlfriend
    ex-boyfriend friend neighbour neighbor colleague coworker co-worker teammate roommate flatmate housemate classmate
    mentor supervisor advisor adviser assistant coach trainer therapist doctor dentist lawyer accountant teacher tutor
    professor nanny babysitter vet dog cat puppy kitten horse parrot rabbit hamster""")  # fmt: skip
# The same relation in other words.
SAME_RELATION = {
    "mom": "mother", "mum": "mother", "mama": "mother", "dad": "father", "papa": "father", "fiancee": "fiancée",
    "fiance": "fiancé", "granny": "grandma", "nana": "grandma", "neighbor": "neighbour", "co-worker": "coworker",
    "adviser": "advisor",
}  # fmt: skip
PARTNERS = words("wife husband partner girlfriend boyfriend fiancée fiancé spouse")

OCCUPATIONS = words("""accountant actor actress analyst animator anthropologist apprentice architect archivist artist astronomer attorney
    author baker banker barber barista bartender biologist blogger bookkeeper bricklayer builder butcher carer caregiver
    carpenter cashier chef chemist cleaner coach composer conductor consultant cook counsellor counselor dancer designer
    detective developer director doctor driver economist editor electrician engineer entrepreneur farmer filmmaker
    firefighter fisherman florist freelancer gardener geologist hairdresser headteacher historian housekeeper illustrator
    instructor interpreter investigator janitor jeweller journalist judge lawyer lecturer librarian lifeguard linguist
    locksmith machinist magistrate manager mathematician mechanic midwife miner model musician nanny novelist nurse
    nutritionist optician optometrist painter paramedic pathologist pediatrician pharmacist photographer physician
    physicist physiotherapist pianist pilot plumber poet policeman policewoman politician porter postman potter principal
    producer professor programmer psychiatrist psychologist publisher radiologist receptionist recruiter reporter
    researcher retiree roofer sailor salesman salesperson saleswoman scientist sculptor secretary singer soldier solicitor
    statistician student surgeon surveyor tailor teacher technician therapist trainer translator tutor undertaker vet
    veterinarian violinist waiter waitress weaver welder writer zoologist""")  # fmt: skip

# Capitalised words after "I'm" that are no name.
NO_NAMES = words("""american australian austrian belgian brazilian british bulgarian canadian catholic chilean chinese christian colombian
    croatian cuban czech danish dutch egyptian english estonian ethiopian finnish french german ghanaian greek hindu
    hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican japanese jewish kenyan korean
    latvian lebanese lithuanian malaysian mexican moroccan muslim nepalese nigerian norwegian pakistani peruvian polish
    portuguese protestant romanian russian scottish serbian singaporean slovak slovenian spanish sudanese swedish swiss
    syrian taiwanese thai tunisian turkish ukrainian venezuelan vietnamese welsh european african asian latin buddhist
    sikh gen scorpio aries taurus gemini leo virgo libra sagittarius capricorn aquarius pisces ok okay i monday tuesday
    wednesday thursday friday saturday sunday january february march april may june july august september october november
    december dr mr mrs ms sorry fine sure not here back done""")  # fmt: skip

# What may begin a sentence with a capital letter, and is no name: "My dentist: When?"
SENTENCE_OPENERS = words("""what where when who whom whose which why how is are am was were do does did can could should shall will would may might
    must has have had the a an this that these those there here it he she they we you i my our your his her their if and but or so because
    since then now not no yes ok okay please thanks thank just also maybe perhaps tell write draft make find give remind add send ask
    any some one two all both""")  # fmt: skip

LANGUAGES = words("""english french german spanish italian portuguese dutch norwegian swedish danish finnish icelandic polish czech slovak
    hungarian romanian bulgarian greek turkish russian ukrainian serbian croatian bosnian slovenian albanian arabic hebrew
    persian farsi hindi urdu bengali punjabi tamil telugu marathi gujarati kannada malayalam chinese mandarin cantonese
    japanese korean vietnamese thai indonesian malay tagalog swahili amharic yoruba igbo hausa zulu afrikaans catalan
    basque galician irish welsh scots latin esperanto latvian lithuanian estonian georgian armenian kazakh uzbek mongolian
    nepali sinhala burmese khmer lao""")  # fmt: skip

# What somebody may promise, with its past form: a promise is kept by it.
ACTIONS = {
    "answer": "answered", "apply": "applied", "arrange": "arranged", "ask": "asked", "book": "booked", "bring": "brought",
    "buy": "bought", "call": "called", "cancel": "cancelled", "check": "checked", "clean": "cleaned",
    "collect": "collected", "complete": "completed", "confirm": "confirmed", "contact": "contacted", "deliver": "delivered",
    "email": "emailed", "e-mail": "e-mailed", "file": "filed", "finish": "finished", "fix": "fixed", "hand": "handed",
    "invite": "invited", "mail": "mailed", "message": "messaged", "meet": "met", "order": "ordered",
    "organise": "organised", "organize": "organized", "pack": "packed", "paint": "painted", "pay": "paid",
    "phone": "phoned", "pick": "picked", "post": "posted", "prepare": "prepared", "print": "printed",
    "register": "registered", "renew": "renewed", "repair": "repaired", "reply": "replied", "reserve": "reserved",
    "return": "returned", "review": "reviewed", "ring": "rang", "schedule": "scheduled", "sell": "sold", "send": "sent",
    "sign": "signed", "submit": "submitted", "tell": "told", "transfer": "transferred", "update": "updated",
    "upload": "uploaded", "visit": "visited", "wash": "washed", "water": "watered", "write": "wrote", "drop": "dropped",
    "publish": "published", "install": "installed", "translate": "translated",
}  # fmt: skip
