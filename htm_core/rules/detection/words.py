"""The words that the recall detector goes by: names that everybody knows, common knowledge, and somebody's own things."""

from __future__ import annotations

from ..text.folding import words

# Names that everybody knows. A question about one of these is not about something a robot was told.
PUBLIC_NAMES = words("""
    abuja accra achilles aconcagua addis afghanistan africa agamemnon ahab aladdin albania alexa alexander algeria
    algiers allies alps alzheimer amazon america amish amman ampere amsterdam andes andorra android angola ankara
    antananarivo antarctica antigua anubis aphrodite apple aquinas arabs ararat arctic ares argentina aristotle
    armenia artemis ashgabat asia astana asuncion athens atlantic atlas aurelius austen australia austria avengers
    azerbaijan aztecs babbage bach baghdad bahamas bahrain baku balkans baltic balzac bamako bangkok bangladesh
    barbados barcelona bash batman beatles beethoven beijing beirut belarus belgium belgrade belize benin beowulf
    berlin bern berners beyonce bezos bhutan bible biden bishkek bismarck bitcoin bluetooth bmw bogota bolivar
    bolivia bordeaux borges bosnia botswana boudica brahms brasilia bratislava brazil brexit britain broadway bronte
    brunei brussels bucharest budapest buddha buddhists bulgaria burgundy burkina burundi bush caesar cairo cambodia
    camembert cameroon camus canada canberra caracas caravaggio caribbean catholic celsius celts cervantes cezanne
    chad champagne chaplin chatgpt chaucer cheddar chernobyl chess chianti chicago chile china chisinau chomsky
    chopin christ christians christmas chrome churchill cicero cinderella clausewitz cleopatra clinton cobol
    colombia colombo columbus comoros conakry confucius congo constantinople copenhagen copernicus croatia css cuba
    curie cyprus czechia daedalus dakar dali damascus danes dante danube darcy darwin degas delhi denali denmark
    derrida descartes dhaka dickens dionysus disney diwali django djibouti docker dodoma doha dolomites dominica
    dostoevsky dracula dublin dumbledore dune dushanbe earth easter ebay ecuador edinburgh edison egypt einstein
    eisenhower eliot elvis emacs engels england english eritrea escher estonia eswatini ethiopia etna eu euclid
    euler euphrates europe european eurydice everest excel facebook fahrenheit faraday faulkner feynman fibonacci
    fiji finland finns firefox fitzgerald flask flaubert florence ford fortran foucault france frankenstein freetown
    freud frodo fuji gabon galileo gambia gandalf gandhi ganges gatsby gauss gdpr genghis germany ghana gilgamesh
    git github gmail godzilla goethe golang goliath gollum google gorbachev gothic goths gouda goya gpt grammys
    greece greek greeks greenland grenada gruyere guatemala guernica guinea gutenberg guyana hades hadoop haiti
    halloween hamlet handel hannibal hanoi hanukkah harare hardy haskell havana hawking heathcliff hegel heisenberg
    helsinki hemingway hercules hermes hermione herodotus himalayas hindus hiroshima hitchcock hitler hobbes hobbit
    hogwarts holland hollywood homer honda honduras html hume hungary huxley ibsen icarus iceland ikea iliad incas
    inception india indonesia indus instagram intel internet interpol ios ipad iphone iran iraq ireland isis islam
    islamabad israel istanbul italy jakarta jamaica japan java javascript jefferson jenkins jerusalem jesus jews
    joyce judas juliet jupiter kabul kafka kahlo kampala kant karenina kathmandu kazakhstan kelvin kennedy kenya
    kepler keynes khan khartoum khrushchev kierkegaard kigali kilimanjaro kiribati korea kosovo krakatoa kuala
    kubernetes kubrick kurds kuwait kyiv kyrgyzstan lancelot laos latex latin latvia lavoisier lear lebanon leibniz
    lenin lennon leonardo lesotho liberia libya liechtenstein lilongwe lincoln linkedin linnaeus linux lisbon
    lithuania ljubljana llama loire loki london lorca lovelace luanda lusaka luxembourg macbeth macedonia
    machiavelli macos madagascar madrid magellan mahler malawi malaysia maldives mali malta malthus managua mandela
    manhattan manila mao maputo maradona mars marx matisse matterhorn mauritania mauritius mayas mcdonalds
    mediterranean medusa mekong melville mendel mendeleev mercury merkel merlin metternich mexico michelangelo
    micronesia microsoft midas milton minsk mississippi missouri moby mogadishu moldova monaco monet mongodb
    mongolia monroe montaigne montenegro montevideo moon mormons morocco moscow moses mozambique mozart mozzarella
    muhammad mumbai muppets musk muslims mussolini myanmar mysql nabokov nairobi namibia napoleon narcissus nasa
    nato nauru nazis nehru nepal neptune nero netflix netherlands newton nginx nhs niamey nicaragua nicosia
    nietzsche niger nigeria nile nixon nobel node nokia normans norway numpy obama odin odyssey oedipus olympics
    oman opec openai ophelia oracle orpheus orwell oscars osiris oslo othello ottawa outlook ovid oxford pacific
    pakistan palau palestine panama pandas pandora paraguay paris parkinson parmesan pasteur paypal pericles
    persephone perseus persia peru philippines photoshop picasso pilate pinocchio plato pluto poe poland poles
    pollock pompeii popper portugal poseidon postgres postgresql powerpoint prague presley pretoria pristina
    prometheus prosecco proust puccini pushkin putin pyongyang pyrenees pytest pythagoras python pytorch qatar
    quakers quito quixote rabat ramadan rapunzel raskolnikov ravel react reagan reddit redis rembrandt renaissance
    reykjavik rhine richter riyadh rockies roman romania romans rome romeo roosevelt roquefort rousseau rubicon ruby
    russia rust rwanda sahara samoa samsung sanaa sappho sarajevo sartre saturn sauron saxons scala scandinavia
    schopenhauer schubert schumann scotland scots seine seneca senegal seoul serbia seychelles shakespeare sherlock
    siberia sikhs simpsons sinai singapore siri sisyphus skopje slack slavs slovakia slovenia socrates somalia sony
    soviets spain spark spiderman spielberg spinoza spotify sql stalin starbucks steinbeck stockholm stonehenge
    stravinsky sudan sun superman suriname suva sweden swedes swift switzerland syria taipei taiwan tajikistan
    tallinn tanzania tarantino tashkent tchaikovsky tehran telegram terraform tesla thailand thames thanksgiving
    thatcher theseus thor thucydides tibet tigris tiktok tirana titanic titian titicaca togo tokyo tolkien tolstoy
    tonga toyota tripoli trotsky troy truman trump tunis tunisia turing turkey turkmenistan turks tutankhamun tuvalu
    twain twitter typescript ubuntu uganda uk ukraine ulaanbaatar ulysses un unesco unix uranus uruguay usa usb
    uzbekistan valletta vanuatu vatican venezuela venice venus verdi vermeer versailles vesuvius vienna vientiane
    vietnam vikings vilnius vim virgil visa vivaldi voldemort volga volkswagen volt voltaire wagner wales warhol
    warsaw washington waterloo watt whatsapp whitman wikipedia wilde windhoek windows wittgenstein woolf word
    wozniak wright yangtze yemen yerevan yoda youtube zambia zedong zeus zimbabwe zoom zuckerberg
""")

# Names of days, months and seasons: they are not names of people.
CALENDAR = words("""
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december spring summer autumn winter
""")

# These make a question one about common knowledge, whatever its grammar.
WORLDLY = (
    r"the (?:earth|moon|sun|world)|weather|temperature|stock price|exchange rate|century|centuries|war|battle|"
    r"empire|emperor|kings?|queens?|dynasty|ancient|medieval|prehistoric|dinosaurs?|evolution|invented|"
    r"inventor|discovered|discovery|history|fables?|fairy tales?|myths?|mythology|legends?|riddles?|universe|"
    r"planets?|galaxy|continents?|species|mammals?|chemistry|physics|biology|mathematics|theorem|formula|"
    r"molecules?|humans?|mankind|etymology|president of|capital of|world cup|olympics?|nobel|pyramids?|bible|"
    r"definition|comets?|eclipses?|(?:episode|season|finale|sequel|chapter|verse) of (?-i:[A-Z])\w*|"
    r"(?:came up with|had) the (?:idea|concept|notion) of the|(?-i:[A-Z]\w+(?:'s|s'|s)? Day)|(?:book|chapter|"
    r"season|episode|act|scene|volume|part) (?:[0-9]+|one|two|three|four|five|six|seven|eight|nine|ten)|"
    r"1[0-9]{3}s?"
)
# The same, unless the question also names somebody who is not publicly known.
RATHER_WORLDLY = (
    r"ever|moon|sun|earth|oceans?|countr(?:y|ies)|world|people in|(?:did|do|have) people|words?|phrase|novel|"
    r"20(?:0[0-9]|1[0-9])|(?:what|which) (?:year|century|decade|continent|country|language)|bones?|muscles?|"
    r"nerves?|arter(?:y|ies)|organs?|insects?|birds?|bees?|rivers?|mountains?|deserts?|islands?|atoms?|acids?|"
    r"gods?|goddess(?:es)?|saints?|presidents?|popes?|painters?|composers?|poets?|playwrights?|scientists?|"
    r"explorers?|dwarfs|government|parliament|prime minister|constitution|amendment|population|currency|"
    r"econom(?:y|ies)|religions?|philosoph(?:y|ers?)|theor(?:y|ies)|equations?|viruses|bacteria|vitamins?|"
    r"proteins?|volcano(?:es)?|earthquakes?|treat(?:y|ies)|revolutions?|reign|senate|congress|supreme court|"
    r"proverbs?|idioms?|national anthem|periodic table|equator"
)

# Things of an office or a household: "the lease" is one that both have spoken of.
OWN_THINGS = (
    r"account|action items?|agenda|agreement|appointment|audit|backlog|backups?|boiler|bookings?|budget|bugs?|"
    r"builds?|cabin|calls?|campaign|car|clients?|contract|conversations?|customers?|deadline|deal|decisions?|"
    r"delivery|demo|deploy(?:ment)?s?|designs?|dentist|discussion|doctor|electrician|flats?|flight|garden|"
    r"hand-?over|hotel|house|incident|insurance|interviews?|invoices?|issue|itinerary|keys|kick-?off|landlord|"
    r"launch|lawyer|lease|logins?|loan|meetings?|migration|milestones?|mortgage|neighbours?|office|onboarding|"
    r"orders?|outage|outlook for|parcel|party|password|payments?|pipeline|pitch|plan|plumber|presentation|"
    r"project|proposal|prototype|pull request|quarter|quote|refactor|refund|release|renovation|rent|report|"
    r"retro(?:spective)?|review|rewrite|roadmap|roll-?back|roll-?out|roof|room|scholarship|school|server|"
    r"service on our|shipment|sprint|stand-?up|stakeholders?|supplier|surgery|survey|tasks?|team|tenant|test|"
    r"tickets?|to-?dos?|trip|upgrade|vendors?|visa|wedding|workshop"
)

# Relatives, who need no "my".
KIN = (
    r"(?:grand(?:ma|mother|pa|father|dad)|gran(?:ny|dad)?|nana|mum(?:my)?|mom(?:my)?|mama|papa|dad(?:dy)?|"
    r"(?-i:(?:[Aa]unt(?:ie)?|[Uu]ncle|[Cc]ousin|[Gg]randma|[Gg]randpa) [A-Z][a-z]+))"
)

# People and places that a household or an office has: "the physio", "the allotment".
HOUSEHOLD = (
    r"accountant|agency|allotment|attic|au pair|babysitter|barber|basement|bike|boat|builder|caravan|"
    r"care-?taker|caterer|cellar|childminder|cleaner|coach|contractor|cottage|dishwasher|driver|estate agent|"
    r"florist|fridge|freezer|garage|gardener|guests?|gym|hairdresser|hallway|insurer|janitor|joiner|kids|"
    r"locker|locksmith|loft|mechanic|midwife|nanny|neighbou?r|notary|nursery|nurse|optician|orthodontist|"
    r"padlock|painter|photographer|physio(?:therapist)?|printer|roofer|router|shed|sitter|solicitor|"
    r"spare room|storage unit|studio|surveyor|therapist|thermostat|tiler|tutor|van|vet|wi-?fi|baby|twins|dog|"
    r"cat|puppy|kitten|(?:shopping|to-?do|guest|packing|wish|grocery|reading|gift) list|washing machine|"
    r"tumble dryer|dryer|oven|cooker|fuse box|gas meter|letterbox|doorbell|playgroup|osteopath|babysitting|"
    r"book club|car ?pool|choir|trainer"
)

# What is written down somewhere rather than known by heart.
RECORDS = (
    r"(?:phone |serial |account |policy |reference |order |tracking |passport |case |claim |flight |model |"
    r"invoice |tax )?(?:numbers?(?! of)|no\.|reference|ref)|address|e-?mail|password|pass(?:code|phrase)|"
    r"blood (?:type|group)|pin|combination(?! of)|"
    r"(?<!status )(?<!error )(?<!source )(?<!exit )(?<!country )(?<!hex )(?<!dress )(?<!machine )codes?(?! of)|"
    r"iban|login|username|extension|dosage|due date|start date|start time|pick-?up time|eta|measurements|"
    r"digits|nickname|shoe size|root cause|val(?:idation)? loss|birthday"
)

# Programs whose names are written in small letters.
TOOLS = (
    r"git|docker|redis|ssh|bash|zsh|linux|python|pip|npm|node|postgres(?:ql)?|mysql|sqlite|mongodb|kafka|"
    r"nginx|apache|kubernetes|k8s|terraform|ansible|jenkins|vim|emacs|excel|word|powerpoint|outlook|gmail|"
    r"chrome|firefox|safari|windows|macos|android|ios|java|javascript|typescript|rust|golang|react|django|"
    r"flask|pandas|numpy|pytorch|spark|grep|curl|make|cron|systemd|whatsapp|slack|zoom"
)
