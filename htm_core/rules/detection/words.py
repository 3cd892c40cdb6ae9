"""Lists of words that training texts alone are too few to teach: names that everybody knows, first names, and classes of nouns.

The detector reads a word of one of these as its class, so that what it learned about "Where does Ines live?" holds for other names.
"""

from __future__ import annotations

from ..text.folding import words

# Names that everybody knows. A question about one of these is not about something a robot was told.
PUBLIC_NAMES = words("""
    abba abuja accra achilles aconcagua acropolis addis adidas afghanistan africa agamemnon ahab airbnb airbus aladdin
    albania alexa alexander algeria algiers alhambra allies alps alzheimer amazon america amish amman ampere amsterdam
    andes andorra android angola angular ankara antananarivo antarctica antigua antwerp anubis aphrodite apple aquinas
    arabs ararat arctic ares argentina aristotle armenia arsenal artemis ashgabat asia asimov astana asuncion athens
    atlanta atlantic atlas aurelius austen australia austria avengers azerbaijan aztecs babbage bach bafta baghdad
    bahamas bahrain baku balkans baltic balzac bamako bambi bangalore bangkok bangladesh barbados barcelona bash batman
    baudelaire bavaria beatles beethoven beijing beirut belarus belgium belgrade belize benin beowulf bergen berlin bern
    berners beyonce bezos bhutan bible biden bilbao bishkek bismarck bitcoin bluetooth bmw boeing bogota bolivar bolivia
    bologna bordeaux borges bosch bosnia botswana boudica brahms brasilia bratislava brazil brexit bristol britain
    broadway bronte brunei brussels bucharest budapest buddha buddhists bulgaria burgundy burkina burundi bush caesar
    cairo cambodia camembert cameroon camus canada canberra caracas caravaggio caribbean carlsen catholic celsius celts
    cern cervantes cezanne chad champagne chaplin chatgpt chaucer cheddar chernobyl chess chianti chicago chile china
    chisinau chomsky chopin christ christians christmas chrome churchill cicero cinderella clausewitz cleopatra clinton
    clooney cloudflare cobol cologne colombia colombo colosseum columbus comoros conakry confucius congo constantinople
    copenhagen copernicus cornwall corsica crete croatia css cuba curie cyprus czechia daedalus dakar dali damascus
    danes dante danube darcy darwin degas delhi denali denmark denver derrida descartes dhaka dickens dionysus disney
    diwali django djibouti docker dodoma doha dolomites dominica dostoevsky dracula dublin dumbledore dune dushanbe
    earth easter ebay ecuador edinburgh edison egypt einstein eisenhower elasticsearch eliot elvis emacs engels england
    english erasmus ericsson eritrea esa escher estonia eswatini ethiopia etna eu euclid euler euphrates europe european
    eurovision eurydice everest excel facebook fahrenheit faraday fastapi faulkner feynman fibonacci fifa fiji finland
    finns firefox fitzgerald flask flaubert florence ford fortnite fortran foucault france frankenstein freetown freud
    frodo fuji gabon galileo gambia gandalf gandhi ganges gatsby gauss gdansk gdpr genghis germany gershwin ghana ghent
    gilgamesh git github glasgow gmail gobi godzilla goethe golang goliath gollum google gorbachev gothic goths gouda
    goya gpt grammy grammys granada graz greece greek greeks greenland grenada gruyere guatemala guernica guinea
    gutenberg guyana haaland hades hadoop haiti halloween hamburg hamlet handel hannibal hanoi hanukkah harare hardy
    haskell havana hawking heathcliff hegel heisenberg helsinki hemingway hercules hermes hermione herodotus himalayas
    hindus hiroshima hitchcock hitler hobbes hobbit hogwarts holland hollywood homer honda honduras houston html htmx
    hubspot hume hungary huxley ibiza ibsen icarus iceland ikea iliad imf incas inception india indonesia indus
    instagram intel internet interpol ios ipad iphone iran iraq ireland ishiguro isis islam islamabad israel istanbul
    italy izmir jakarta jamaica japan java javascript jefferson jenkins jerusalem jesus jews joyce judas juliet jung
    jupiter juventus kabul kafka kahlo kampala kant karenina kasparov kathmandu kazakhstan kelvin kennedy kenya kepler
    keynes khan khartoum khrushchev kierkegaard kigali kilimanjaro kiribati korea kosovo krakatoa krakow kuala
    kubernetes kubrick kurds kuwait kyiv kyoto kyrgyzstan lagos lancelot laos latex latin latvia lavoisier lear lebanon
    leeds lego leguin leibniz lenin lennon leonardo lesotho liberia libya liechtenstein lilongwe lincoln linkedin
    linnaeus linux lisbon liszt lithuania ljubljana llama loire loki london lorca louvre lovelace luanda lufthansa lund
    lusaka luxembourg lyft macbeth macedonia machiavelli machu macos macron madagascar madrid magellan mahler malawi
    malaysia maldives mali mallorca malmo malta malthus managua mandela manhattan manila mao maputo maradona marquez
    mars marvel marx matisse matterhorn mauritania mauritius mayas mcdonalds mediterranean medusa mekong melville mendel
    mendeleev mercury merkel merlin messi metallica metternich mexico miami michelangelo micronesia microsoft midas
    milton minecraft minsk mississippi missouri moby mogadishu moldova moma monaco monet mongodb mongolia monroe
    montaigne montenegro montevideo moon mormons morocco moscow moses mozambique mozart mozzarella muhammad mumbai
    munich muppets murakami musk muslims mussolini myanmar mysql nabokov nadal nairobi namibia naples napoleon narcissus
    nasa nato nauru nazis nba nehru nepal neptune nero neruda netflix netherlands newton nfl nginx nhs niamey nicaragua
    nicosia nietzsche niger nigeria nike nile nintendo nirvana nixon nobel node nokia normans norway numpy nvidia obama
    odin odyssey oedipus oj olympics oman opec openai ophelia oracle orpheus orwell osaka oscars osiris oslo othello
    ottawa outlook ovid oxford pacific pakistan palau palestine panama pandas pandora paraguay paris parkinson parmesan
    pasteur paypal pericles persephone perseus persia peru philippines philips photoshop picasso picchu pilate pinocchio
    pixar plato playstation pluto poe pokemon poland poles pollock pompeii popper porto portugal poseidon postgres
    postgresql potter powerpoint prado prague presley pretoria pristina prometheus prosecco proust puccini puma pushkin
    putin pyongyang pyrenees pytest pythagoras python pytorch qatar quakers quito quixote rabat ramadan rapunzel
    raskolnikov ravel react reagan reddit redis rembrandt renaissance reykjavik rhine richter rimbaud riyadh rockies
    roman romania romans rome romeo ronaldo roosevelt roquefort rotterdam rousseau rowling rubicon ruby russia rust
    rwanda ryanair sahara salesforce samoa samsung sanaa sappho sarajevo sardinia sartre saturn sauron saxons saxony
    scala scandinavia schopenhauer schubert schumann scotland scots seattle seine seneca senegal seoul serbia severance
    seville seychelles shakespeare sherlock shopify siberia sicily siemens sikhs simpson simpsons sinai singapore siri
    sisyphus skopje slack slavs slovakia slovenia socrates somalia sony soviets spain spark spiderman spielberg spinoza
    spotify sql sqlite stalin starbucks steinbeck stockholm stonehenge stravinsky sudan sun superman suriname sussex
    suva svelte sweden swedes swift switzerland syria tailwind taipei taiwan tajikistan tallinn tanzania tarantino
    tashkent tchaikovsky tehran telegram terraform tesla thailand thames thanksgiving thatcher theseus thor thucydides
    thunberg tibet tigris tiktok tinder tirana titanic titian titicaca togo tokyo tolkien tolstoy tonga toronto totoro
    toyota tripoli trotsky troy truman trump tunis tunisia turin turing turkey turkmenistan turks tuscany tutankhamun
    tuvalu twain twitch twitter typescript tyrol u2 uber ubuntu uefa uganda uk ukraine ulaanbaatar ulysses un unesco
    unix uranus uruguay usa usb utrecht uzbekistan valencia valletta vancouver vanuatu vatican venezuela venice venus
    verdi vermeer versailles vesuvius vienna vientiane vietnam vikings vilnius vim vinted virgil visa vivaldi voldemort
    volga volkswagen volt voltaire volvo vue wagner wales warhol warsaw washington waterloo watt whatsapp whitman
    wikipedia wilde wimbledon windhoek windows wittgenstein woolf word wozniak wright xbox yangtze yemen yerevan yoda
    yorkshire youtube zambia zedong zelda zendaya zendesk zeus zimbabwe zoom zuckerberg
""")

# Names of days, months and seasons: they are not names of people.
CALENDAR = words("""
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december spring summer autumn winter
""")

# First names. Somebody who is called by the first name alone is somebody whom the speakers know.
FIRST_NAMES = words("""
    aaron abby abdul abdullah abigail ada adaeze adam addison adele adrian agnes agnieszka ahmed ainsley aisha akira
    alan albert alec alejandro aleksandra alena alessia alex alexandra alfie alfred ali alice alicia alina alison
    allison ama amadou amanda amara amelia amina amir amos amy ana anand anders andre andrea andreas andrei andrew andy
    anette angela angus anh anika anita anja ann anna annabel anne annie annika anouk anton antonia antonio anya aoi
    archie ariel arjun arlo arne arthur arun asa asha ashley ashton astrid aubrey audra audrey aurora austin ava avery
    axel ayse azra barbara bart basil bea beatrice becca becky bella ben benedikt benjamin benny bernard bernd bert beth
    bettina beverly bianca bill billy birgit bjorn blake blanca bob boris brad brandon brenda brett brian bridget
    bronwyn bruno bryan bryce caleb calvin cameron camila camille candice cara carina carl carla carlos carmen carol
    carolina caroline carrie carter casey catherine cathy cecilia cedric celia celine chandra charles charlie charlotte
    chelsea chen cher chester chiara chidi chloe chris christian christina christine christoph chuck cindy claire clara
    clarissa claudia claus clayton cleo clint cody colin connor conrad cora corinne craig cristina curtis cynthia cyril
    dagmar daisy damian damien dan dana daniel daniela danny daphne daria dario darren dave david debbie deborah deepa
    delia denis denise derek desmond devon diana diego dieter dimitri dinah dirk dmitri dominic dominik donald donna
    dora doreen dorian doris dorothy doug duncan dwight dylan ebony eddie edgar edith eduardo edward efua eileen elaine
    elena eleni eli elias elif elina elinor elisa elise eliza elizabeth ella ellen elliot elliott elodie elsa elsie
    elvira emil emilia emilie emily emir emma emmanuel emre enrico enzo eric erica erik erika erin ernesto ernst esme
    estelle esther ethan eugene eva evan eve evelina evelyn ewa ezra fabian faith farah farid fatima fatma felicia
    felicity felix femke fernando finn fiona flora florian floyd frances francesca francis frank frankie fred freddie
    frederik freya frida fritz gabriel gabriela gareth gavin geert gemma genevieve georg george gerald gerard gerda
    gilbert gina gisela giulia giulio glen glenn gloria gordon graham greg gregory greta guido guillaume gunnar gustav
    gwen hakan hamid hana hank hanna hannah hanne hans harald harold harry haruto hassan hazel heather hector heidi
    heike helen helena helga henk henrik henry hilda hiro holly hubert hugo hui hussein ian ibrahim ida igor ilse imogen
    imran ines inga inge ingo ingrid ioana irene irina iris irma isaac isabel isabella isaiah isla ismail ivan ivana ivo
    jack jackie jacob jada jaime jakob jakub jamal james jamie jan jana jane janet janine janos jared jarek jasmin jason
    jasper javier jay jean jeanne jeff jelena jennifer jenny jens jeremiah jeremy jerome jerry jess jesse jessica jessie
    jill jim jo joachim joan joanna jochen jodie joe joel johan johanna john johnny jon jonas jonathan jorge jose josef
    joseph josh joshua joy juan judah judith judy jules julia julian julie julien julio jun jurgen justin kai kamal kara
    karen karim karin karina karl karla kasia kasper kat katarina kate katerina katharina katharine katherine kathy
    katie katja kay kayla keiko keith kelly kemal ken kendra kenji kerry kevin khaled kim kirk kirsten klaus kofi konrad
    kris kristina krzysztof kurt kwame kwesi kyle kylie lachlan lakshmi lana larry lars laszlo laura lauren laurent
    layla lea leah leila lena leo leon leonie leslie leticia levi lewis leyla liam lidia lili lily lina linda lindsay
    ling linh lisa liv liz logan lois lola lorenzo lorraine lotte louis louisa louise lourdes luca lucas lucia luciana
    lucien lucy ludwig luigi luis luisa lukas luke luna lydia lynn maarten mabel mack maddie madison mads mae magda
    maggie magnus maja malcolm malik malte mandy manuel manuela mara marc marcel marcia marcin marco marcus maren
    margaret marge margot maria marian marianne marie marija marina mario marion marjan marko marlene marlon marta
    martha martin martina marvin mary mateo mathias matilda matt matteo matthew matti maureen maurice mauro mavis max
    maya meera megan mehmet mei meike mel melanie melissa mia michael michelle miguel mika mikael mike mikhail milan
    mildred milena millie milo min-jun mina ming minh mira mirela miriam mitch mo mohammad mohammed moira molly monica
    monika morgan moritz muriel mustafa myra nadia nadine nadja naima naomi nasser natalia natalie natasha nate nathalie
    nathan nathaniel ned neil nell ngozi nia nick nicola nicolas nicole niels nigel nikhil nikita nikki niklas niko
    nikola nikolai nils nina noah nolan noor nora norbert norma norman nour nuno octavia odile oksana olaf ole oleg
    oleksandr olga olive oliver olivia olu omar omari orla oscar oskar osman otto owen pablo paige pamela paolo pascal
    pat patricia patrick paul paula pauline pavel pedro peggy penny per petar pete peter petra phil philip philipp
    phoebe phyllis pia pierce pierre piotr polly pooja priya quentin quinn rachel radka rafael rahul raina raj rajesh
    ralf ramon ramona randy raphael raquel rashid raul ravi raymond rebecca reggie regina reiner reinhard ren renate
    rene reza rhea rhonda rhys ricardo richard rick rita rob robert roberto robin roger roland roman romy ron ronja rosa
    rosalind rosanna rosie ross rowan roxana roxanne ruben rudi rufus rupert russell ruth ryan sabine sabrina sadie
    saeed sakura salim sally salma salvatore sam samantha samir samira sammy samuel sander sandra sanjana sanjay sanne
    santiago sara sarah sascha sasha saskia savannah scott sean sebastian selena selim selma seo-yeon serena sergei
    sergio seth shane shannon sharon shauna sheila shirley sidney silas silvia simon simona simone siobhan sipho sofia
    sonia sonja sophia sophie soren spencer stacey stanley stefan stefanie stella stephanie stephen steve steven stuart
    sue suki sunil sunita susan susanne suzanne sven svetlana sybil sylvia tabitha tamara tamsin tanja tara tariq tasha
    tatiana taylor ted teresa terry tess thabo thea theo theodore theresa thomas thuy tia tiago tiffany tilda tilly tim
    timo tina tobias tobin todd tom tomas tomasz tomek tommy toni tony tove tracey tracy travis trevor trudy tunde tyler
    ulla ulrich ulrike uma ursula ute valentina valerie vanessa vera verena veronica veronika vicky victor victoria
    vijay vikram viktor vince vincent viola vivian vladimir walter wanda wanjiru wei wendy werner wesley whitney wilhelm
    willem wilma winston wolfgang xander xavier xin yan yann yannick yara yasmin yelena ying yosef yousef yu yui yuki
    yuri yusuf yvette yvonne zachary zack zahra zane zara zeinab zeynep zoe zofia zoltan zsofia
""")

# First names that are also words or places: they count as names only with a capital letter.
ALSO_WORDS = words("""
    abby ada ali ama angus anh asa ashley ashton aurora austin axel bart basil bill billy blake brett carol carter casey
    charlotte chelsea chen cher chuck cleo clint cody daisy dan devon dinah dora eve faith finn flora frank fred glen
    hank hazel heather hector holly hui iris jack jada jasper jay jean jess jo joy jun kat kay ken kim kirk lana leo
    lewis ling liv logan lola luna mack madison mae malcolm margot max mel mike milan milo min-jun mina ming mitch mo
    ned nia nick norma norman olive olu otto owen paige pascal pat penny per pierce polly ramon ravi regina ren rick rob
    robin roman ross russell savannah scott seth sidney spencer stuart sue tasha taylor terry tilly travis tyler
    victoria viola wei wesley winston xin yu zane
""")

# Relatives, and people whom everybody has one of.
KIN = words("""
    aunt auntie bf boss boyfriend brother brother-in-law colleague colleagues cousin dad daddy daughter ex father
    father-in-law fiancé fiancée flatmate gf girlfriend godmother gran grandfather grandma grandmother grandpa granny
    husband in-laws kids mama manager mom mommy mother mother-in-law mum mummy nana neighbor neighbour neighbours nephew
    nephews niece nieces papa partner roommate sister sister-in-law son stepdad stepmum twins uncle wife
""")

# Things, places and helpers of a household, an office or a team: "the lease" is one that both have spoken of.
OWN_THINGS = words("""
    account accountant agency agenda agreement alert allotment appointment apprentice attic audit babysitter backlog
    backup backups barber basement bike boat boiler booking bookings branch budget bug build builder cabin call campaign
    caravan caretaker cat caterer cellar childminder choir cleaner client clients club cluster coach colleague contract
    contractor conversation cottage customer customers dashboard deadline deal decision decisions delivery demo dentist
    deploy deployment deposit design discussion dishwasher doctor dog driver dryer electrician env flat flight florist
    freezer fridge garage garden gardener gateway guest guests gym hairdresser hallway hamster handover hotel house
    incident insurance insurer intern interview invoice invoices issue itinerary janitor joiner keys kickoff landlord
    launch lawyer lease letterbox loan locker locksmith loft login mechanic meeting meetings midwife migration milestone
    minutes mortgage nanny notary nurse nursery offer office onboarding optician order orthodontist osteopath outage
    oven padlock painter parcel party password payment photographer physio physiotherapist pipeline pitch plan playgroup
    plumber postmortem presentation printer prod production project proposal prototype puppy quotation quote refactor
    refund rehearsal release renovation rent repo report retention retro review rewrite roadmap rollback rollout roof
    roofer rota router runbook scholarship school server shed shift shipment sitter solicitor spec sprint staging
    stakeholder stand-up standup studio supplier surgery survey surveyor task tasks team tenancy tenant therapist
    thermostat ticket tickets tiler todo trainer trip tutor upgrade van vendor vendors venue vet visa washer wedding
    wi-fi wifi worker workshop
""")

# What is written down somewhere rather than known by heart.
RECORDS = words("""
    address amount anniversary birthday code color colour combination contact cost costs date dosage dose e-mail email
    eta extension fee gate iban id link location mail measurements name names nickname number numbers owner passcode
    passphrase phone pin plate policy price rate ref reference room score seat serial size status total url username
    version
""")

# Words of general knowledge: a question with one of these is more often about the world.
WORLDLY = words("""
    acid actor actress advantages airline airport album alphabet amendment ancient anthem antonym artery atom atoms
    author average bacteria band battle bee bees best bible biology bird birds bone bones book calories capital
    centuries century championship cheapest chemistry comet common composer congress cons constitution continent
    countries country currency definition desert difference dinosaur dinosaurs discovered discovery disease dynasty
    earth earthquake eclipse economy emperor empire equation equator etymology evolution example examples explorer fable
    film finale formula galaxy god goddess gods government grammar history human humans ideas idiom inflation insect
    insects invented inventor island kinds king kings language languages law league legend lyrics mammal mammals mankind
    market mathematics meaning medieval minister molecule molecules moon mountain movie muscle myth mythology nerve
    nobel normal novel ocean oceans olympics organ painter parliament people philosopher philosophy phrase physics
    planet planets playwright plural poet pope popular population prehistoric president presidents pronunciation pros
    protein proverb pyramid pyramids queen queens recipe reign religion revolution riddle river saint scientist senate
    sequel singer song species stadium stock stocks sun symptoms synonym synonyms tax taxes temperature template tense
    theorem theory tips treatment treaty types typical universe usual verb virus viruses vitamin volcano war weather
    world
""")

# Words of grammar, and of asking, telling and remembering: the model reads these as themselves.
FUNCTION_WORDS = words("""
    a about after again against ago agree agreed all already also although always am an and another any anybody anyone
    anything are aren't as ask asked at be because been before being between both but by calculate call called came can
    can't cannot come convert could couldn't currently decide decided decision did didn't discuss discussed do does
    doesn't done down during each earlier else even evening ever every everybody everyone everything explain find first
    fix for forget forgot forgotten found from gave get give given go got had hadn't has hasn't have haven't having he
    he's hello her here hers herself hey hi him himself his how how's i i'd i'll i'm i've if imagine in into is isn't it
    it's its just knew know known last lately leave left let let's like liked list long look made make many may me
    mention mentioned might mine month more morning most much must my myself name named near need never new next night
    no nobody none nor not note notes nothing now of off often ok okay old on once one ones only onto or other ought our
    ours ourselves out over per plan planned please pretend previous promise promised re recall recently recommend
    remember remind rewrite said same say says second send sent shall she she's should shouldn't show showed since so
    some somebody someone something sometimes sprint still suggest summarise summarize suppose sure take talk talked
    tell than thank thanks that that's the their theirs them themselves then there there's these they they're they've
    think this those though thought through till to today told tomorrow tonight too took translate under unless until up
    us use used usual usually via want wanted was wasn't we we'd we'll we're we've week went were weren't what what's
    when when's where where's whether which while who who's whom whose why will with without won't would wouldn't write
    written wrote year yes yesterday yet you you'd you'll you're you've your yours yourself
""")

# Words of grammar of nine languages that are hardly ever used in English: German, French, Spanish, Italian, Dutch, Portuguese,
# Swedish, Polish and Turkish.
OTHER_LANGUAGES = words("""
    abbiamo auf avec avons bitte c'est che con cosa cuándo czy cómo dans das de del della dem der des det die du dónde
    een ein einen el es está für gdzie gli haben hebben heeft hemos het hoe hur ich il im inte ist için jag jak je jest
    kiedy kto la las le les los mein meine meu mijn mit mon mój nasz nerede nicht niet nossa nosso nostra nostro
    notre nous nuestra nuestro não när och onde onze où para perché por pour pourquoi qu'est-ce quand quando que quel
    quelle quem qui quién qué sind się sono sur são temos tenemos uma un una und une unser unsere vad vem von voor vous
    vår waar wann wanneer waren wer wie wij wir wo zijn zu är ça était über
""")
