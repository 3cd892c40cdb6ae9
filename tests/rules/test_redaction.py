"""What a redactor takes out of a text, and what it leaves alone."""

from __future__ import annotations

import base64
import json
import re
import string
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from htm_core import CollectionItem, Draft, InvalidInput, RedactionError
from htm_core.text.readable import of_pages
from htm_core.text.redaction.kinds import IBAN_LENGTHS, KINDS, is_card, is_iban, luhn
from htm_core.text.redaction.pdfs import search_pages
from htm_core.text.redaction.redactor import Redaction, Redactor, resolve_redactor
from htm_core.text.redaction.values import REDACTED, Counted, redact_draft, redact_item

A, D, H = string.ascii_letters * 4, string.digits * 8, "0123456789abcdef" * 5
EVERYTHING = Redactor()

# Each text with what becomes of it. `<kind>` stands for its marker. The keys are put together here, so that no scanner takes them for real.
TAKEN_OUT = [
    # keys that are known by how they begin
    (f"use sk-{A[:48]} for it", "use <api_key> for it"),
    (f"sk-proj-{A[:30]}_{A[:20]}-x", "<api_key>"),
    (f"sk-ant-api03-{A[:60]}-AA", "<api_key>"),
    (f"OPENROUTER sk-or-v1-{H[:64]}.", "OPENROUTER <api_key>."),
    ("the key AKIA" + "IOSFODNN7EXAMPLE is old", "the key <api_key> is old"),
    ("ASIA" + "Y34FZKBOKMUTVV7A", "<api_key>"),
    ("AIza" + A[:35], "<api_key>"),
    ("(gh" + f"p_{A[:36]})", "(<api_key>)"),
    ("gho" + f"_{A[:36]}", "<api_key>"),
    ("github" + f"_pat_{A[:22]}_{A[:59]}", "<api_key>"),
    ("gl" + f"pat-{A[:20]}", "<api_key>"),
    ("xox" + f"b-{D[:12]}-{D[:12]}-{A[:24]}", "<api_key>"),
    ("sk" + f"_live_{A[:24]}, please", "<api_key>, please"),
    ("rk" + f"_test_{A[:24]}", "<api_key>"),
    ("whsec" + f"_{A[:32]}", "<api_key>"),
    ("SG" + f".{A[:22]}.{A[:43]}", "<api_key>"),
    ("npm" + f"_{A[:36]}", "<api_key>"),
    ("pypi" + f"-{A}", "<api_key>"),
    ("hf" + f"_{A[:34]}", "<api_key>"),
    ("gsk" + f"_{A[:52]}", "<api_key>"),
    ("dapi" + H[:32], "<api_key>"),
    ("dop" + f"_v1_{H[:64]}", "<api_key>"),
    ("hvs" + f".{A[:40]}", "<api_key>"),
    ("shpat" + f"_{H[:32]}", "<api_key>"),
    ("key" + f"-{H[:32]}", "<api_key>"),
    ("AC" + H[:32], "<api_key>"),
    (f"bot {D[:9]}:AA{A[:33]}", "bot <api_key>"),
    ("lin_api" + f"_{A[:40]}", "<api_key>"),
    ("ATATT3" + A[:60] + "=1A2B", "<api_key>"),
    ("r8" + f"_{A[:37]}", "<api_key>"),
    ("tvly" + f"-{A[:32]}", "<api_key>"),
    ("sq0atp" + f"-{A[:22]}", "<api_key>"),
    # tokens
    (f"Authorization: Bearer {A[:20]}{D[:5]}", "Authorization: Bearer <token>"),
    ("curl -H 'authorization: bearer abc.def-123_456~789+/=='", "curl -H 'authorization: bearer <token>'"),
    ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic <token>"),
    ('"Authorization": "Token 9944b09199c62bcf"', '"Authorization": "Token <token>"'),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN", "<token>"),
    # private keys
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA==\n-----END RSA PRIVATE KEY----- end", "<private_key> end"),
    ("-----BEGIN PRIVATE KEY-----\\nMIIEow\\n-----END PRIVATE KEY-----", "<private_key>"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n" + A[:64] + "\n" + A[:64] + "\nthen", "<private_key>then"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----", "<private_key>"),
    ("-----BEGIN ENCRYPTED PRIVATE KEY-----", "<private_key>"),
    ("AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2, None),
    # passwords
    ("postgresql://ann:s3cret@db.example.org:5432/x", "postgresql://ann:<password>@db.example.org:5432/x"),
    ("redis://:hunter2@cache", "redis://:<password>@cache"),
    ("amqp://u:p@ss:w0rd@host/v", "amqp://u:<password>@host/v"),
    ("password=hunter2", "password=<password>"),
    ("PASSWORD = 'correct horse'", "PASSWORD = '<password>'"),
    ('{"password": "hunter2", "user": "ann"}', '{"password": "<password>", "user": "ann"}'),
    ("password: Tr0ub4dor&3", "password: <password>"),
    ("password: swordfish\nuser: ann", "password: <password>\nuser: ann"),
    ("the db_password=letmein is old", "the db_password=<password> is old"),
    ("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "export AWS_SECRET_ACCESS_KEY=<password>"),
    ("OPENAI_API_KEY=abcdef123456", "OPENAI_API_KEY=<password>"),
    ("client_secret: 'q1w2e3r4'", "client_secret: '<password>'"),
    ("?access_token=ab12cd34&x=1", "?access_token=<password>&x=1"),
    ("AccountKey=abc123==;Endpoint", "AccountKey=<password>;Endpoint"),
    ("passwd:=x9", "passwd:=<password>"),
    ("my password is hunter2", "my password is <password>"),
    ("The password was changed to Zebra!99.", "The password was changed to <password>."),
    ('the passphrase is "four blue cows"', 'the passphrase is "<password>"'),
    ("my wifi password is `blue7`", "my wifi password is `<password>`"),
    ("my pin is 4821", "my pin is <password>"),
    ("PIN: 123456", "PIN: <password>"),
    ("pwd=a_secret_thing", "pwd=<password>"),
    # cards
    ("4111 1111 1111 1111", "<card>"),
    ("my card 4111111111111111, please", "my card <card>, please"),
    ("5555-5555-5555-4444.", "<card>."),
    ("2223 0031 2200 3222", "<card>"),
    ("3782 822463 10005", "<card>"),
    ("378282246310005", "<card>"),
    ("6011111111111117", "<card>"),
    ("30569309025904", "<card>"),
    ("3530111333300000", "<card>"),
    ("6250941006528599", "<card>"),
    ("No.4012888888881881", "No.<card>"),
    ("card:4222222222222", "card:<card>"),
    # IBANs
    ("GB82 WEST 1234 5698 7654 32", "<iban>"),
    ("pay DE89370400440532013000 now", "pay <iban> now"),
    ("NO93 8601 1117 947 is mine", "<iban> is mine"),
    ("FR14 2004 1010 0505 0001 3M02 606", "<iban>"),
    ("IT60X0542811101000000123456", "<iban>"),
    ("GB82 WEST 1234 5698 7654 32 IS MINE", "<iban> IS MINE"),
    ("ch93-0076-2011-6238-5295-7", "<iban>"),
    # e-mail
    ("write to ann.lee+x@example.co.uk!", "write to <email>!"),
    ("<ann@example.org>", "<<email>>"),
    ("mailto:bob@sub.domain.example", "mailto:<email>"),
    ("müller@bücher.example", "<email>"),
    ("o'brien@example.com, eve@example.com", "<email>, <email>"),
    ("It is ann@example.com.", "It is <email>."),
    # phone numbers
    ("+47 22 12 34 56", "<phone>"),
    ("call +1 (212) 555-0187 today", "call <phone> today"),
    ("+442079460958", "<phone>"),
    ("+49 (0)170 1234567", "<phone>"),
    ("0049 170 1234567", "<phone>"),
    ("(212) 555-0187", "<phone>"),
    ("212-555-0187", "<phone>"),
    ("1-800-555-0199", "<phone>"),
    ("415.555.0132", "<phone>"),
    ("020 7946 0958", "<phone>"),
    ("07700 900123", "<phone>"),
    ("(020) 7946 0958", "<phone>"),
    ("030/1234567", "<phone>"),
    ("my phone is 5551234567", "my phone is <phone>"),
    ("Tel.: 22 12 34 56", "Tel.: <phone>"),
    ("text me at 91234567 please", "text me at <phone> please"),
    # several at once
    ("ann@example.org / 4111111111111111", "<email> / <card>"),
]  # fmt: skip

LEFT_ALONE = [
    "I moved to Oslo in May 2025.",
    "The meeting is at 10:30 on 2026-11-25.",
    "from 2021-2023, and 12.03.2026 - 14.03.2026",
    "version 1.2.3-beta.4 of sk-learn",
    "scikit-learn and sk-image",
    "the sk- prefix is reserved",
    "AKIA is a prefix",
    "order 1234567890123456",
    "4111 1111 1111 1112",
    "1732500000000",
    "1700000000000000",
    "0.4111111111111111",
    "411111111111111",
    "4111-1111 1111-1111",
    "abc4111111111111111",
    "123e4567-e89b-12d3-a456-426614174000",
    "01234567-0123-4012-8012-012345678901",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 26e81c6a1f0b4c2d9e8f7a6b5c4d3e2f1a0b9c8d",
    "GB82 WEST 1234 5698 7654 33",
    "GB82",
    "NO93 is a plate",
    "ISO 13616-1:2020",
    "icon@2x.png and photo@3x.jpeg",
    "git@github.com:user/repo.git",
    "npm install left-pad@1.3.0",
    "@ann said hello, and @bob too",
    "user@localhost",
    "a @ b",
    "the password is wrong",
    "My password is not safe.",
    "password: required",
    "password: ",
    "The password is in the safe.",
    "password=None",
    "password=os.environ['X']",
    'password = getpass("Password: ")',
    "password=self.password",
    "password=${DB_PASSWORD}",
    "password=<your password>",
    "password=********",
    "password=your_password",
    "api_key=OPENAI_API_KEY",
    "def login(user: str, password: str) -> None:",
    "Password: please tell me the one that I use",
    "He forgot his password again.",
    "password reset emails are slow",
    "secret santa is on Friday",
    "a token of my love",
    "The bearer of bad news is here.",
    "bearer responsibilities are many",
    "Bearer token authentication is used.",
    "pin it to the board",
    "pin 13 is the LED",
    "192.168.100.200",
    "10.0.0.1:8080",
    "https://example.com:8080/path",
    "https://example.com/a@b",
    "1,234,567.89",
    "3.14159265358979",
    "2026-11-25T10:30:00+01:00",
    "+1 for that idea",
    "+100000 points",
    "between 1000 and 2000 people",
    "call 3 functions",
    "call me at 10:30",
    "text 2026-11-25 to her",
    "ISBN 978-3-16-148410-0",
    "12 34 56",
    "0800",
    "-----BEGIN PUBLIC KEY-----\nMIIBIj\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "eyJ is how they begin",
    "key-value pairs",
    "AC is alternating current",
    "[redacted:card] and [redacted:password]",
    "password=[redacted:password]",
    "",
    " \n ",
    "\x00\ud800",
    "東京 \U0001f642",
]  # fmt: skip


def marked(text: str) -> str:
    return re.sub(f"<({'|'.join(KINDS)})>", r"[redacted:\1]", text)


def test_the_table_is_large_enough() -> None:
    assert len(TAKEN_OUT) + len(LEFT_ALONE) >= 120


@pytest.mark.parametrize(("text", "left"), TAKEN_OUT)
def test_what_is_taken_out(text: str, left: str | None) -> None:
    done = EVERYTHING.redact(text)
    if left is None:  # longer than the real one, so that it stays
        assert done.text == text
        return
    assert done.text == marked(left)
    assert done.counts == {kind: left.count(f"<{kind}>") for kind in KINDS if f"<{kind}>" in left}


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_is_left_alone(text: str) -> None:
    assert EVERYTHING.redact(text) == Redaction(text=text)


@pytest.mark.parametrize(("text", "left"), [each for each in TAKEN_OUT if each[1]])
def test_redacting_again_changes_and_counts_nothing(text: str, left: str) -> None:
    once = EVERYTHING.redact(text).text
    assert EVERYTHING.redact(once) == Redaction(text=once)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_switched_by_itself(kind: str) -> None:
    only = Redactor(kinds=(kind,))  # type: ignore[arg-type]
    others = Redactor(kinds=tuple(each for each in KINDS if each != kind))
    for text, left in TAKEN_OUT:
        if left and set(re.findall(r"<(\w+)>", left)) == {kind}:
            assert only.redact(text).text == marked(left)
            assert kind not in others.redact(text).counts


# -- properties -----------------------------------------------------------------------------------------------------------

around = st.sampled_from(["", "see: ", "it is (", "\n", "東京 ", '"'])


@given(
    st.text(alphabet=string.digits, min_size=12, max_size=18),
    st.sampled_from(["4", "51", "34", "6011", "62"]),
    around,
)
def test_any_number_of_a_network_with_its_check_digit_is_a_card(
    rest: str, prefix: str, before: str
) -> None:
    length = {"4": 16, "51": 16, "34": 15, "6011": 16, "62": 17}[prefix]
    body = (prefix + rest * 2)[: length - 1]
    number = next(body + digit for digit in string.digits if luhn(body + digit))
    assert is_card(number)
    assert EVERYTHING.redact(before + number).counts.get("card") == 1
    wrong = body + str((int(number[-1]) + 1) % 10)
    assert not is_card(wrong)


@given(
    st.sampled_from(sorted(IBAN_LENGTHS)),
    st.text(alphabet=string.digits + string.ascii_uppercase, min_size=40, max_size=40),
)
def test_any_iban_is_found_in_groups_and_without(country: str, rest: str) -> None:
    body = rest[: IBAN_LENGTHS[country] - 4]
    check = 98 - int("".join(str(int(sign, 36)) for sign in body + country + "00")) % 97
    iban = f"{country}{check:02}{body}"
    assert is_iban(iban)
    grouped = " ".join(iban[at : at + 4] for at in range(0, len(iban), 4))
    only = Redactor(kinds=("iban",))
    for text in (iban, grouped, iban.lower()):
        assert only.redact(f"pay {text}, please").text == "pay [redacted:iban], please"


@given(st.text())
@example("password=" * 50)
@example("a@" * 50)
def test_any_text_is_redacted_once_and_for_all(text: str) -> None:
    once = EVERYTHING.redact(text)
    assert (once.text == text) is (not once.counts)
    assert EVERYTHING.redact(once.text).text == once.text


@given(
    st.text(max_size=40),
    st.text(max_size=40),
    st.sampled_from([each for each, left in TAKEN_OUT if left and "<private_key>" not in left]),
)
def test_no_whole_secret_is_left_whatever_stands_around_it(
    before: str, after: str, secret: str
) -> None:
    left = EVERYTHING.redact(f"{before} {secret} {after}").text
    assert secret not in left


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----" * 20_000, "a@" * 250_000, "a." * 250_000 + "@", "+1 " * 150_000, "4111 " * 100_000,
        "password:" * 50_000, "http://" * 70_000, "eyJ" * 150_000, "1" * 500_000, "a_" * 250_000, "GB82 " * 100_000,
        "my password " * 40_000, "x@" + "a." * 200_000, "bearer " * 70_000, "A" * 500_000, "(0" * 200_000, "://" * 150_000,
        "PuTTY-User-Key-File-2: x\n" + "\n" * 300_000, "sk-" * 150_000, "authorization: basic " * 20_000,
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    """Half a million characters in seconds, however they are chosen: the time grows with the text and not with its square."""
    begun = time.process_time()
    EVERYTHING.redact(text[:500_000])
    assert time.process_time() - begun < 10


# -- your own ---------------------------------------------------------------------------------------------------------------


def test_own_patterns_have_their_own_markers() -> None:
    mine = Redactor(
        kinds=(),
        patterns={"employee": r"E-\d{6}", "case": re.compile(r"case (?P<secret>\w+)", re.I)},
    )
    done = mine.redact("E-123456 of Case Bluebird")
    assert done == Redaction(
        text="[redacted:employee] of Case [redacted:case]", counts={"employee": 1, "case": 1}
    )


def test_an_own_function_gets_what_the_patterns_left() -> None:
    seen = []

    def call(text: str) -> str:
        seen.append(text)
        return text.replace("Ann", "[person]")

    done = Redactor(call=call).redact("Ann: ann@example.com")
    assert done == Redaction(text="[person]: [redacted:email]", counts={"email": 1, "custom": 1})
    assert seen == ["Ann: [redacted:email]"]


def test_an_own_function_may_say_what_it_found() -> None:
    mine = resolve_redactor(
        lambda text: Redaction(text=text.replace("Ann", "…"), counts={"name": text.count("Ann")})
    )
    assert mine is not None
    assert mine.redact("Ann and Ann").counts == {"name": 2}


@pytest.mark.parametrize("answer", [None, b"x", 3, Redaction(text=None)])  # type: ignore[arg-type]
def test_an_answer_that_is_no_text_is_refused(answer: object) -> None:
    with pytest.raises(RedactionError, match="nothing was stored"):
        Redactor(call=lambda _: answer).redact("x")  # type: ignore[arg-type,return-value]


def test_an_error_of_an_own_function_quotes_nothing_of_the_text() -> None:
    def call(text: str) -> str:
        raise ValueError(f"cannot read {text}")

    with pytest.raises(RedactionError) as caught:
        Redactor(call=call).redact("the secret")
    error: BaseException | None = caught.value
    assert "ValueError at call" in str(error)
    assert "the secret" not in str(error)
    assert error is not None
    assert error.__suppress_context__


@pytest.mark.parametrize(
    "options",
    [
        {"kinds": ("cards",)}, {"kinds": "card"}, {"patterns": {"x": "("}}, {"patterns": {"X y": "a"}}, {"patterns": {"x": 3}},
        {"patterns": {"x": re.compile(b"a")}}, {"call": 3},
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        Redactor(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("given_", ["on", 3, True])
def test_only_the_known_words_name_a_redactor(given_: object) -> None:
    with pytest.raises(InvalidInput, match="default"):
        resolve_redactor(given_)  # type: ignore[arg-type]


# -- all that is stored with a text ----------------------------------------------------------------------------------------

CARD = "4111111111111111"


def test_a_draft_is_redacted_in_all_its_parts() -> None:
    draft = Draft(
        content=f"card {CARD}", id="i", session="s", tags=["food", "mail:ann@example.com"], name="ann@example.com",
        metadata={"a": [{"b": CARD}], "api_key": "x", "n": int(CARD), CARD: 1, "id": CARD}, vector=[1.0],
        payload=json.dumps({"said": CARD, "calls": [{"args": '{"password": "hunter2"}'}]}).encode(),
    )  # fmt: skip
    done = redact_draft(draft, EVERYTHING)
    assert (done.content, done.id, done.session, done.name) == (
        "card [redacted:card]",
        "i",
        "s",
        "[redacted:email]",
    )
    assert list(done.tags) == ["food", "redacted:email"]
    assert done.vector is None
    assert done.metadata is not None
    assert done.metadata[REDACTED] == {"card": 4, "email": 2, "password": 1}
    assert done.metadata["a"] == [{"b": "[redacted:card]"}]
    assert done.metadata["api_key"] == "[redacted:password]"
    assert done.metadata["id"] == CARD, "it is an id"
    assert done.payload is not None
    assert json.loads(done.payload) == {
        "said": "[redacted:card]",
        "calls": [{"args": '{"password": "[redacted:password]"}'}],
    }
    assert redact_draft(done, EVERYTHING) == done


def test_a_draft_without_secrets_stays_the_same_object() -> None:
    draft = Draft(
        content="The user prefers dark mode.", metadata={"a": 1}, payload=b'{"b": 2}', vector=[1.0]
    )
    assert redact_draft(draft, EVERYTHING) is draft
    assert redact_draft(draft, None) is draft


def test_a_key_with_a_secret_is_refused_and_not_quoted() -> None:
    with pytest.raises(InvalidInput, match="email") as caught:
        redact_draft(Draft(content="x", key="ann@example.com"), EVERYTHING)
    assert "ann@" not in str(caught.value)


@pytest.mark.parametrize(
    ("payload", "left"),
    [
        (b"plain 4111111111111111", b"plain [redacted:card]"),
        (
            b"\xff\x004111111111111111 ",
            b"\xff\x004111111111111111 ".replace(b"4111111111111111", b"[redacted:card]"),
        ),
        (b'{"a": 1}', b'{"a": 1}'),
        (b"[1, 2]", b"[1, 2]"),
        (b"\x89PNG\r\n\x1a\n", b"\x89PNG\r\n\x1a\n"),
        (b'{"x": NaN, "y": "\\ud800"}', b'{"x": NaN, "y": "\\ud800"}'),
        (b'"4111111111111111"', b'"[redacted:card]"'),
        (b"4111111111111111", b"[redacted:card]"),
    ],
)
def test_payloads_stay_to_the_byte_where_nothing_is_redacted(payload: bytes, left: bytes) -> None:
    assert Counted(EVERYTHING).payload(payload) == left


def test_images_and_other_bytes_in_a_payload_stay() -> None:
    picture = "iVBORw0KGgo" + "A1b2+/" * 60
    value = {
        "url": f"data:image/png;base64,{picture}",
        "data": picture,
        "b": {"$htm": "bytes", "of": "AP8="},
    }
    assert Counted(EVERYTHING).value(value) == value


def test_text_as_bytes_in_a_payload_is_redacted() -> None:
    done = Counted(EVERYTHING).value({"$htm": "bytes", "of": "YW5uQGV4YW1wbGUuY29t"})
    assert done == {"$htm": "bytes", "of": "W3JlZGFjdGVkOmVtYWlsXQ=="}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


FILE = f"Pay with {CARD}.\n".encode()
CLEAN = b"Pay with [redacted:card].\n"


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"base64": encoded(FILE)}, {"base64": encoded(CLEAN)}),
        ({"data": encoded(FILE).rstrip("=")}, {"data": encoded(CLEAN)}),
        ({"file_data": f"data:text/plain;base64,{encoded(FILE)}"}, {"file_data": f"data:text/plain;base64,{encoded(CLEAN)}"}),
        (["data:text/plain;charset=utf-8,Pay%20" + CARD], ["data:text/plain;charset=utf-8,Pay%20%5Bredacted%3Acard%5D"]),
        ({"x": encoded(FILE * 20)}, {"x": encoded(CLEAN * 20)}),
        ({"$htm": "bytes", "of": encoded(encoded(FILE).encode())}, {"$htm": "bytes", "of": encoded(encoded(CLEAN).encode())}),
        ({"data": encoded(b'{"password": "hunter2"}')}, {"data": encoded(b'{"password":"[redacted:password]"}')}),
    ],
)  # fmt: skip
def test_a_text_file_within_a_payload_is_decoded_redacted_and_encoded_again(
    value: Any, left: Any
) -> None:
    counted = Counted(EVERYTHING)
    assert counted.value(value) == left
    assert sum(counted.counts.values()) == (20 if "x" in value else 1)
    assert Counted(EVERYTHING).value(left) == left


def test_a_pdf_whose_text_has_something_is_replaced_by_one_that_says_so() -> None:
    pdf = b"%PDF-1.4 and so on"
    pages = [f"Pay with {CARD}.", f"Or {CARD}, ann@example.com"]
    counted = Counted(EVERYTHING, search_pdf=lambda _, redactor: search_pages(redactor, pages))
    done = counted.value({"mime_type": "application/pdf", "base64": encoded(pdf)})
    assert counted.counts == {"card": 2, "email": 1}
    marked = base64.b64decode(done["base64"])
    assert marked.startswith(b"%PDF-")
    assert b"([redacted:card] [redacted:email])" in marked
    for other in (Counted(EVERYTHING, search_pdf=lambda *_: {}), Counted(EVERYTHING)):
        assert other.value([{"data": encoded(pdf)}]) == [{"data": encoded(pdf)}]


@pytest.mark.parametrize(
    ("pages", "found"),
    [
        (["Pay with 4111 1111 ", "\n1111 1111 soon."], {"card": 1}),
        (["The key is AKIAIOSF", "ODNN7EXAMPLE."], {"api_key": 1}),
        ([f"Pay with {CARD}", f"{CARD} again."], {"card": 2}),
        (["Herons nest in trees. 12", "2024-01-05 Storks nest on chimneys."], {}),
        (["Page 3 of 12", "555 0199 is the number of the order."], {}),
        ([], {}),
    ],
)
def test_a_secret_may_begin_on_one_page_and_end_on_the_next(
    pages: list[str], found: dict[str, int]
) -> None:
    assert search_pages(EVERYTHING, pages) == found


def test_pages_are_redacted_where_a_secret_goes_on_and_are_as_many_as_before() -> None:
    pages = [
        f"{'Herons. ' * 90}Pay with 4111 1111 \n",
        "\n1111 1111 soon.",
        "The key is AKIAIOSF",
        f"ODNN7EXAMPLE. {CARD}",
    ]
    first, second, third, last = of_pages(pages).without_secrets(EVERYTHING).each_page()
    assert first.startswith("Herons. Herons. ")
    assert first.rstrip().endswith("Pay with [redacted:card] soon.")
    assert second.strip() == ""
    assert third.rstrip() == "The key is [redacted:api_key]. [redacted:card]"
    assert last.strip() == ""
    same = ["Herons nest in trees. 12", "2024-01-05 Storks nest."]
    assert [
        each.rstrip() for each in of_pages(same).without_secrets(EVERYTHING).each_page()
    ] == same


def test_a_pdf_is_known_behind_other_bytes_and_a_text_about_pdfs_is_still_a_text() -> None:
    behind = b"\r\n\xff%PDF-1.4 and so on"
    done = Counted(EVERYTHING, search_pdf=lambda *_: {"card": 1}).value({"data": encoded(behind)})
    assert b"([redacted:card])" in base64.b64decode(done["data"])
    assert (
        Counted(EVERYTHING, search_pdf=lambda *_: {"card": 1}).payload(behind).startswith(b"%PDF-")
    )
    about = f"A PDF begins with %PDF- and I pay with {CARD}."
    done = Counted(EVERYTHING, search_pdf=lambda *_: {}).value({"data": encoded(about.encode())})
    assert base64.b64decode(done["data"]) == about.replace(CARD, "[redacted:card]").encode()


PICTURE = encoded(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))


@pytest.mark.parametrize(
    "text",
    [
        f"data:image/png;base64,iVBO= what is this? my card {CARD}",
        f"data:image/png;base64,{PICTURE.rstrip('=')}\n{CARD}",
        f"data:image/png;base64,{PICTURE.rstrip('=')} my card {CARD}",
        f"data:image/png;base64,{CARD}",
        f"data:,my card {CARD}",
        "\n".join([CARD] * 16),
        "\n".join(["AKIAIOSFODNN7EXAMPLE"] * 16),
    ],
)
@pytest.mark.parametrize("key", ["text", "data"])
def test_a_text_that_only_looks_like_a_file_is_searched(text: str, key: str) -> None:
    done = str(Counted(EVERYTHING).value({key: text}))
    assert CARD not in done
    assert "AKIA" not in done
    assert "[redacted:" in done or "%5Bredacted" in done


def test_long_bytes_of_an_unknown_kind_stay_whatever_digits_are_in_them_by_chance() -> None:
    value = {"data": f"{CARD}/AAA{encoded(bytes(range(0, 256, 3)) * 60)}"}
    assert Counted(EVERYTHING).value(value)["data"][:20] == value["data"][:20]


def test_a_picture_in_lines_stays_to_the_character() -> None:
    lines = "\r\n".join(PICTURE[at : at + 76] for at in range(0, len(PICTURE), 76))
    value = {"image": lines, "url": f"data:image/png;base64,{lines}"}
    assert Counted(EVERYTHING).value(value) == value


def test_a_long_text_without_commas_and_full_stops_is_no_file() -> None:
    said = f"so I said to them {'again and ' * 30} that they can pay with {CARD}"
    assert CARD not in Counted(EVERYTHING).value({"text": said})["text"]


def test_keys_that_become_the_same_stay_two() -> None:
    done = Counted(EVERYTHING).value({"a@example.com": 1, "b@example.com": 2})
    assert sorted(done.values()) == [1, 2]


def test_an_item_of_a_collection_is_redacted() -> None:
    item = CollectionItem(
        id="a",
        content=CARD,
        value={"mail": "ann@example.com"},
        metadata={"x": CARD},
        texts=[CARD],
        payload=CARD.encode(),
    )
    done = redact_item(item, EVERYTHING)
    assert CARD not in str(done)
    assert done.metadata[REDACTED] == {"card": 4, "email": 1}
    assert redact_item(item, None) is item


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=20)
        | st.sampled_from([CARD, "ann@example.com"]),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_values_of_any_shape_keep_their_shape(value: object) -> None:
    done = Counted(EVERYTHING).value(value)
    assert CARD not in json.dumps(done)
    assert "ann@example.com" not in json.dumps(done)
    assert type(done) is type(value) or isinstance(value, int)
    if isinstance(value, list | dict):
        assert len(done) == len(value)
    assert Counted(EVERYTHING).value(done) == done


@pytest.mark.parametrize(
    "id", ["ee9756de-8ab8-4923-b154-c3799eb5be7e", "70384A09-07DB-4ED8-BE44-A918EB4107D0"]
)  # fmt: skip
def test_a_uuid_is_no_account_even_where_its_checksum_is_right_by_chance(id: str) -> None:
    """One UUID in some thousands ends a group with an IBAN; node ids of an index would change otherwise."""
    value = {"nodes": {id: id}, "said": f"My account is {id}."}
    counted = Counted(EVERYTHING)
    done = counted.value(value)
    assert done["nodes"] == {id: id}
    assert counted.payload(json.dumps({"of": id}).encode()) == json.dumps({"of": id}).encode()
