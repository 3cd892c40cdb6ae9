"""The words that the recall detector goes by: whom everybody knows, what is the world's, and what is somebody's own."""

from __future__ import annotations

from .folding import words

# Names that the world knows. A question about one of these is not about what was told to a robot.
PUBLIC_NAMES = words("""
    africa alexander amazon america android antarctica apple aristotle asia atlantic atlas australia austria bach bash
    beethoven belgium berlin bible bitcoin brazil britain brussels buddha caesar canada catholic chess china chopin
    christ christmas chrome churchill cleopatra columbus confucius constantinople copernicus css dante darwin denmark
    descartes dickens disney docker earth easter edison egypt einstein england english europe european everest excel
    facebook finland firefox florence france freud galileo gandhi genghis germany git github gmail goethe google
    gothic greece greek greeks gutenberg hamlet hannibal haskell hemingway hercules hitler hobbes holland homer html
    hugo hungary iceland india intel internet ireland islam israel italy japan java javascript jesus joyce jupiter
    kafka kant kepler khan korea kubernetes latin lenin leonardo lincoln linux linkedin london machiavelli mandela mao
    marx mars mediterranean mercury mexico michelangelo microsoft milton mona moon moscow mozart muhammad mussolini
    napoleon nasa neptune netherlands netflix newton nietzsche nile nobel node norway numpy olympics openai oracle
    outlook oxford pacific pandas paris pasteur persia picasso plato pluto poland portugal postgres postgresql
    powerpoint python pythagoras pytorch react rembrandt renaissance rome roman romans roosevelt rubicon ruby russia
    rust samsung sappho saturn scala scotland shakespeare socrates sony spain spinoza sql stalin steinbeck sun sweden
    swift switzerland tesla thatcher titanic tolkien tolstoy troy turing turkey twitter ubuntu ukraine unix uranus
    vatican venice venus verdi versailles vienna vikings virgil visa voltaire wagner wales washington waterloo watt
    wikipedia windows word wright youtube zeus zoom
""")

# Names of times: they are nobody's.
CALENDAR = words("""
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december spring summer autumn winter
""")

# What marks a question as one about the world, whatever its grammar.
WORLDLY = (
    r"century|centuries|war|battle|empire|emperor|kings?|queens?|dynasty|ancient|medieval|prehistoric|dinosaurs?|"
    r"evolution|invented|inventor|discovered|discovery|history|universe|planets?|galaxy|continents?|species|mammals?|"
    r"chemistry|physics|biology|mathematics|theorem|formula|molecules?|humans?|mankind|etymology|president of|"
    r"capital of|world cup|olympics?|nobel|pyramids?|bible|definition|1[0-9]{3}s?"
)
# The same, unless somebody whom the world does not know stands beside it.
RATHER_WORLDLY = r"ever|moon|sun|earth|oceans?|countr(?:y|ies)|world|people in|words?|phrase|novel|20(?:0[0-9]|1[0-9])"

# Things that stand for themselves in an office or a household: "the lease" is a lease that both have spoken of.
OWN_THINGS = (
    r"account|action items?|agenda|agreement|appointment|audit|backlog|backups?|boiler|bookings?|budget|bugs?|builds?|"
    r"cabin|calls?|campaign|car|clients?|contract|conversations?|customers?|deadline|deal|decisions?|delivery|demo|"
    r"deploy(?:ment)?s?|designs?|dentist|discussion|doctor|electrician|flats?|flight|garden|hand-?over|hotel|house|"
    r"incident|insurance|interviews?|invoices?|issue|itinerary|keys|kick-?off|landlord|launch|lawyer|lease|logins?|"
    r"loan|meetings?|migration|milestones?|mortgage|neighbours?|office|onboarding|orders?|outage|outlook for|parcel|"
    r"party|password|payments?|pipeline|pitch|plan|plumber|presentation|project|proposal|prototype|pull request|"
    r"quarter|quote|refactor|refund|release|renovation|rent|report|retro(?:spective)?|review|rewrite|roadmap|"
    r"roll-?back|roll-?out|roof|room|scholarship|school|server|service on our|shipment|sprint|stand-?up|stakeholders?|"
    r"supplier|surgery|survey|tasks?|team|tenant|test|tickets?|to-?dos?|trip|upgrade|vendors?|visa|wedding|workshop"
)
