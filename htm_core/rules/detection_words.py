"""The words that the recall detector goes by: whom everybody knows, what is the world's, and what is somebody's own."""

from __future__ import annotations

from .folding import words

# Names that the world knows. A question about one of these is not about what was told to a robot.
PUBLIC_NAMES = words("""
    afghanistan africa ahab aladdin albania alexander algeria amazon america android angola antarctica apple aquinas
    argentina aristotle armenia asia atlantic atlas aurelius australia austria azerbaijan bach balzac bangladesh
    bash batman beatles beethoven belarus belgium berlin beyonce bible biden bismarck bitcoin bolivar bolivia borges
    bosnia botswana boudica brahms brazil britain bronte brussels buddha bulgaria caesar cambodia cameroon canada
    caravaggio catholic cervantes cezanne chaplin chaucer chess chile china chomsky chopin christ christmas chrome
    churchill cicero cinderella clausewitz cleopatra colombia columbus confucius congo constantinople copernicus
    croatia css cuba curie cyprus czechia dali dante darwin degas denmark descartes dickens disney docker dostoevsky
    dracula dumbledore earth easter ecuador edison egypt einstein elvis england english escher estonia ethiopia
    euclid euler europe european everest excel facebook faraday feynman fibonacci fiji finland firefox flaubert
    florence france frankenstein freud frodo galileo gandalf gandhi gatsby gauss genghis germany ghana git github
    gmail godzilla goethe gollum google gorbachev gothic goya greece greek greeks guatemala guernica gutenberg haiti
    hamlet handel hannibal haskell hawking hegel heisenberg hemingway hercules hermione herodotus hitchcock hitler
    hobbes hobbit hogwarts holland homer honduras html hume hungary ibsen iceland iliad india indonesia intel
    internet iran iraq ireland islam israel italy jamaica japan java javascript jefferson jesus joyce juliet jupiter
    kafka kahlo kant kazakhstan kennedy kenya kepler keynes khan khrushchev kierkegaard korea kosovo kubernetes
    kubrick kuwait laos latin latvia lavoisier lebanon leibniz lenin lennon leonardo libya lincoln linkedin linnaeus
    linux lithuania london lorca luxembourg macbeth machiavelli madagascar magellan mahler malawi malaysia mali
    malta malthus mandela mao maradona mars marx matisse mauritius mediterranean mendel mendeleev mercury merkel
    metternich mexico michelangelo microsoft milton moby moldova monaco monet mongolia montaigne montenegro
    moon morocco moscow mozambique mozart muhammad mussolini myanmar nabokov namibia napoleon nasa nehru nepal
    neptune nero netflix netherlands newton nicaragua nietzsche niger nigeria nile nixon nobel node norway numpy
    obama odyssey oedipus olympics oman openai ophelia oracle orwell othello outlook ovid oxford pacific pakistan
    panama pandas paraguay paris pasteur pericles persia peru philippines picasso pinocchio plato pluto poland
    pollock portugal postgres postgresql powerpoint presley proust puccini pushkin putin pythagoras python pytorch
    qatar quixote rapunzel ravel react reagan rembrandt renaissance roman romania romans rome roosevelt rousseau
    rubicon ruby russia rust rwanda samsung sappho saturn sauron scala schopenhauer schubert schumann scotland
    seneca senegal serbia shakespeare sherlock singapore slovakia slovenia socrates somalia sony spain spiderman
    spielberg spinoza sql stalin steinbeck stravinsky sudan sun superman sweden swift switzerland syria taiwan
    tanzania tarantino tchaikovsky tesla thailand thatcher thucydides tibet titanic titian tolkien tolstoy trotsky
    troy trump tunisia turing turkey tutankhamun twitter ubuntu uganda ukraine unix uranus uruguay uzbekistan
    vatican venezuela venice venus verdi vermeer versailles vienna vietnam vikings virgil visa vivaldi voldemort
    voltaire wagner wales warhol washington waterloo watt wikipedia wilde windows wittgenstein woolf word wright
    yemen yoda youtube zambia zedong zeus zimbabwe zoom
""")

# Names of times: they are nobody's.
CALENDAR = words("""
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december spring summer autumn winter
""")

# What marks a question as one about the world, whatever its grammar.
WORLDLY = (
    r"the (?:earth|moon|sun|world)|weather|temperature|stock price|exchange rate|century|centuries|war|battle|empire|"
    r"emperor|kings?|queens?|dynasty|"
    r"ancient|medieval|prehistoric|dinosaurs?|"
    r"evolution|invented|inventor|discovered|discovery|history|fables?|fairy tales?|myths?|mythology|legends?|riddles?|"
    r"universe|planets?|galaxy|continents?|species|mammals?|"
    r"chemistry|physics|biology|mathematics|theorem|formula|molecules?|humans?|mankind|etymology|president of|"
    r"capital of|world cup|olympics?|nobel|pyramids?|bible|definition|1[0-9]{3}s?"
)
# The same, unless somebody whom the world does not know stands beside it.
RATHER_WORLDLY = (
    r"ever|moon|sun|earth|oceans?|countr(?:y|ies)|world|people in|(?:did|do|have) people|words?|phrase|novel|"
    r"20(?:0[0-9]|1[0-9])"
)

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
