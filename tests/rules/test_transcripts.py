"""Conversations from elsewhere are read as drafts with stable ids, or refused as a whole."""

from __future__ import annotations

import io
import json
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput
from htm_core.base.folding import has_words
from htm_core.base.types import Attachment, Draft
from htm_core.importers.transcripts import tables
from htm_core.importers.transcripts.json_items import items
from htm_core.importers.transcripts.read import FORMATS, Transcript, iter_list, iter_read, read

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts"
ALL = ("garden.jsonl", "messages_to_dict.json", "dumpd.json", "conversations.json", "doorstep.txt")


def fixture(name: str, *, format: str = "auto") -> Transcript:
    return read((FIXTURES / name).read_bytes(), name=name, format=format)


def lines(*records: object) -> str:
    return "\n".join(json.dumps(record) for record in records)


def refusal(text: str | bytes, **options: str) -> str:
    with pytest.raises(InvalidInput) as raised:
        read(text, **{"name": "chat.jsonl", **options})
    return str(raised.value)


def drafts_or_message(text: str | bytes, *, format: str = "auto") -> Transcript | str:
    try:
        return read(text, format=format)
    except InvalidInput as error:
        return str(error)


# --- all formats -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "format"),
    zip(ALL, ("jsonl", "langchain", "langchain", "chatgpt", "text"), strict=True),
)
def test_the_format_is_found_out_and_naming_it_changes_nothing(name: str, format: str) -> None:
    assert fixture(name).format == format
    assert fixture(name) == fixture(name, format=format)


@pytest.mark.parametrize("name", ALL)
def test_reading_twice_gives_the_same_ids_and_no_two_turns_share_one(name: str) -> None:
    ids = [(draft.session, draft.id) for draft in fixture(name)]
    assert ids == [(draft.session, draft.id) for draft in fixture(name)]
    assert len(set(ids)) == len(ids) > 1
    assert all(draft.id for draft in fixture(name))


@pytest.mark.parametrize("name", ALL)
def test_every_draft_has_words_a_session_a_known_role_and_an_aware_time_or_none(name: str) -> None:
    for draft in fixture(name):
        assert draft.content.strip()
        assert draft.session
        assert draft.role in {"user", "assistant", "system", "tool", None}
        assert draft.at is None or draft.at.utcoffset() is not None


def test_a_file_that_has_grown_keeps_the_ids_of_what_it_had() -> None:
    before = [{"content": "ok"}, {"content": "ok"}]
    after = read(lines(*before, {"content": "ok"}))
    assert [draft.id for draft in after][:2] == [draft.id for draft in read(lines(*before))]
    assert len({draft.id for draft in after}) == 3


@pytest.mark.parametrize("field", ["session", "role", "name", "content", "at"])
def test_turns_that_differ_in_one_field_have_different_ids(field: str) -> None:
    turn = {
        "session": "s",
        "role": "user",
        "name": "Ines",
        "content": "ok",
        "at": "2026-04-06T08:15:00Z",
    }
    other = {
        "session": "t",
        "role": "assistant",
        "name": "Jonas",
        "content": "no",
        "at": "2026-04-06T08:16:00Z",
    }
    assert read(lines(turn))[0].id != read(lines({**turn, field: other[field]}))[0].id


def test_a_file_in_utf_16_is_read_like_one_in_utf_8() -> None:
    for text in (
        "Ines: hi",
        json.dumps({"content": "grün"}),
        (FIXTURES / "conversations.json").read_text(),
    ):
        assert list(read(text.encode("utf-16"))) == list(read(text))
    export = (FIXTURES / "claude.json").read_text()
    _, found = iter_list(io.BytesIO(export.encode("utf-16")).read, name="transcript")
    assert list(found) == list(read(export))


def test_text_and_bytes_with_or_without_a_byte_order_mark_read_alike() -> None:
    text = lines({"content": "Grüße"})
    assert (
        read(text)
        == read(text.encode())
        == read(b"\xef\xbb\xbf" + text.encode())
        == read("\ufeff" + text)
    )


@pytest.mark.parametrize("text", ["", " \n\n", "[]"])
def test_an_empty_file_is_an_empty_transcript(text: str) -> None:
    assert list(read(text)) == []


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    message = refusal("", format="csv")
    assert "'csv' came" in message
    assert all(format in message for format in FORMATS)


# --- JSON lines ------------------------------------------------------------------------------------------------------


def test_json_lines_keep_their_fields_and_put_unknown_ones_into_metadata() -> None:
    first, second, *_ = fixture("garden.jsonl")
    assert (first.session, first.role, first.name) == ("monday", "user", "Ines")
    assert first.content == "The beans are up, seven of nine."
    assert first.at == datetime(2026, 4, 6, 8, 15, tzinfo=timezone(timedelta(hours=1)))
    assert first.metadata is None
    assert second.role == "assistant"
    assert second.metadata == {"channel": "kitchen tablet", "mood": {"sun": True}}


def test_json_lines_without_a_session_belong_to_the_file_and_its_own_ids_are_kept() -> None:
    drafts = {draft.content: draft for draft in fixture("garden.jsonl")}
    assert drafts["soil moisture: 31 %"].session == "garden.jsonl"
    assert drafts["soil moisture: 31 %"].role == "tool"
    assert drafts["Thinned. It felt unkind."].id == "f-3"
    assert drafts["Answer gardeners briefly."].role == "system"


def test_what_is_left_out_is_counted_with_its_reason() -> None:
    transcript = fixture("garden.jsonl")
    assert transcript.reasons == {"no text in it": 1}
    assert transcript.skipped == 1


def test_a_list_of_records_reads_like_its_lines() -> None:
    records = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "good day"}]
    assert read(json.dumps(records, indent=2)) == read(lines(*records))


def test_a_turn_repeated_with_its_id_is_left_out_but_other_words_under_it_are_refused() -> None:
    hello = {"id": 7, "content": "hello"}
    again = read(lines(hello, hello))
    assert [draft.id for draft in again] == ["7"]
    assert again.reasons == {"the same id and words again": 1}
    message = refusal(lines(hello, {"id": 7, "content": "goodbye"}))
    assert "chat.jsonl, line 2" in message
    assert "'7' came before with other words" in message


BROKEN = {
    '{"content": "half a li': ("column", "expected JSON"),
    '{"words": "hello"}': ('expected an object with "content"', "'words'"),
    '["hello"]': ('expected an object with "content"', "['hello']"),
    '{"content": 5}': ("'content' to be text; 5 came", "quotes"),
    '{"content": "x", "name": ["Ines"]}': ("'name' to be text", "['Ines'] came"),
    '{"content": "x", "role": "pirate"}': ("expected a role of user, human", "'pirate' came"),
    '{"content": "x", "metadata": 3}': ("'metadata' to be an object; 3 came",),
    '{"content": "x", "at": "yesterday"}': ("ISO 8601 with an offset", "'yesterday' came"),
    '{"content": "x", "at": 1767548520}': ("ISO 8601 with an offset", "1767548520 came"),
    '{"content": "x", "at": "2026-03-01T09:30:00"}': (
        "expected `at` with an offset",
        "Add Z if it is UTC",
    ),
    '{"content": "x", "weight": NaN}': ("NaN is no number",),
    '{"content": "x", "weight": 1e999}': ("1e999 is no number",),
}


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_line_is_named_and_nothing_of_the_file_is_read(line: str) -> None:
    good = lines({"content": "a good line"})
    message = refusal(f"{good}\n\n{line}\n{good}")
    assert "chat.jsonl, line 3" in message
    for words in BROKEN[line]:
        assert words in message


def test_bytes_that_are_not_utf8_are_named_with_their_line() -> None:
    message = refusal(b'{"content": "fine"}\n{"content": "caf\xe9"}')
    assert "expected UTF-8; byte 0xe9 came in line 2" in message


@pytest.mark.parametrize("depth", [600, 100_000])
def test_json_nested_beyond_measure_is_read_or_refused_in_words(depth: int) -> None:
    outcome = drafts_or_message('{"content": "x", "extra": ' + "[" * depth + "]" * depth + "}")
    assert (
        len(outcome) == 1
        if isinstance(outcome, Transcript)
        else "transcript, line 1: expected" in outcome
    )


def test_what_postgresql_cannot_hold_is_replaced_in_the_text_and_exact_in_the_payload() -> None:
    (draft,) = read(
        r'{"content": "nul \u0000 and half \ud83d a pair", "name": "A\u0000", "x": ["\u0000"]}'
    )
    assert draft.content == "nul \ufffd and half \ufffd a pair"
    assert draft.payload is not None
    assert draft.payload.decode("utf-8", "surrogatepass") == "nul \x00 and half \ud83d a pair"
    assert (draft.name, draft.metadata) == ("A\ufffd", {"x": ["\ufffd"]})


def test_a_whole_surrogate_pair_is_one_character_and_needs_no_payload() -> None:
    (draft,) = read(r'{"content": "\ud83d\udc36"}')
    assert (draft.content, draft.payload) == ("🐶", None)


texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=40)
times = st.datetimes(
    min_value=datetime(1, 1, 3),
    max_value=datetime(9999, 12, 29),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))]),
)
said = st.builds(
    Draft,
    content=texts.filter(has_words).filter(lambda text: "\r\n" not in text),
    session=texts.filter(bool),
    role=st.sampled_from(["user", "assistant", "system", "tool", None]),
    name=st.none() | texts,
    at=st.none() | times,
    metadata=st.none()
    | st.dictionaries(texts.map("x-{}".format), st.integers() | texts | st.none(), min_size=1),
)


def as_record(draft: Draft) -> dict[str, Any]:
    fields = {
        "session": draft.session,
        "role": draft.role,
        "name": draft.name,
        "content": draft.content,
    }
    return {**fields, "at": draft.at and draft.at.isoformat(), **(draft.metadata or {})}


@given(st.lists(said, max_size=6), st.booleans())
def test_json_lines_come_back_as_they_were_written(drafts: list[Draft], ascii: bool) -> None:
    written = "\n".join(json.dumps(as_record(draft), ensure_ascii=ascii) for draft in drafts)
    back = read(written, format="jsonl")
    assert [as_record(draft) for draft in back] == [as_record(draft) for draft in drafts]
    assert len({draft.id for draft in back}) == len(drafts)


@given(st.lists(said, max_size=6))
def test_reading_line_by_line_gives_the_same_drafts(drafts: list[Draft]) -> None:
    written = "".join(json.dumps(as_record(draft)) + "\n" for draft in drafts).encode()
    assert list(iter_read(written.splitlines(keepends=True), name="x")) == list(
        read(written, name="x", format="jsonl")
    )


@given(st.text() | st.binary(), st.sampled_from(FORMATS))
def test_anything_at_all_is_read_or_refused_in_words(text: str | bytes, format: str) -> None:
    outcome = drafts_or_message(text, format=format)
    assert isinstance(outcome, Transcript) or "expected" in outcome


MESSAGE_WORDS = [
    "content",
    "type",
    "data",
    "lc",
    "kwargs",
    "id",
    "role",
    "name",
    "at",
    "text",
    "metadata",
    "session",
]
EXPORT_WORDS = [
    "message",
    "author",
    "parts",
    "mapping",
    "parent",
    "current_node",
    "children",
    "create_time",
    "title",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(MESSAGE_WORDS + EXPORT_WORDS), inner, max_size=6)
    ),
    max_leaves=25,
)


@given(json_values, st.sampled_from(FORMATS))
def test_json_of_any_shape_is_read_or_refused_in_words(value: Any, format: str) -> None:
    outcome = drafts_or_message(json.dumps(value), format=format)
    assert isinstance(outcome, Transcript) or "expected" in outcome


def test_line_by_line_nothing_is_asked_for_ahead_and_a_broken_line_raises_when_reached() -> None:
    reasons: list[str] = []
    reading = iter_read(
        [b'{"content": "one"}\n', b'{"content": ""}\n', b"{oops\n"],
        name="x",
        skip=lambda each: reasons.append(each.reason),
    )
    assert next(reading).content == "one"
    assert reasons == []
    with pytest.raises(InvalidInput, match="x, line 3, column"):
        next(reading)
    assert reasons == ["no text in it"]


# --- LangChain -------------------------------------------------------------------------------------------------------


def test_a_langchain_dump_keeps_roles_names_ids_and_what_else_the_messages_held() -> None:
    transcript = fixture("messages_to_dict.json")
    assert [draft.role for draft in transcript] == ["system", "user", "tool", "assistant", None]
    assert {draft.session for draft in transcript} == {"messages_to_dict.json"}
    assert (transcript[1].name, transcript[1].id) == ("Ines", "m-1")
    assert transcript[2].metadata == {"tool_call_id": "c-1", "status": "success"}
    assert (transcript[3].content, transcript[3].metadata) == (
        "Bed four, last August.",
        {"parts_without_text": 1},
    )
    assert transcript[4].name == "beekeeper"
    assert transcript.reasons == {"no text in it": 1, "a removal of another message": 1}


def test_dumped_constructors_by_session_are_read_as_those_sessions() -> None:
    assert [(draft.session, draft.role, draft.content) for draft in fixture("dumpd.json")] == [
        ("beds", "user", "Which bed had the blight?"),
        ("beds", "assistant", "Bed four."),
        ("bees", "user", "Did they swarm?"),
    ]


def test_both_forms_that_langchain_writes_itself_give_the_same_drafts() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    load = pytest.importorskip("langchain_core.load")
    chat = [
        messages.SystemMessage("Be brief."),
        messages.HumanMessage("Is it frost tonight?", name="Ines"),
        messages.AIMessage(
            [{"type": "text", "text": "Yes, "}, {"type": "text", "text": "minus two."}]
        ),
        messages.ToolMessage("-2", tool_call_id="c"),
        messages.AIMessageChunk("Cover the beans."),
    ]
    dumped = read(json.dumps(messages.messages_to_dict(chat)))
    assert dumped == read(json.dumps(load.dumpd(chat)))
    assert [draft.content for draft in dumped] == [message.text for message in chat]
    assert [draft.role for draft in dumped] == ["system", "user", "assistant", "tool", "assistant"]


def test_a_broken_message_is_named_by_session_and_number() -> None:
    good = {"type": "human", "data": {"content": "hi"}}
    message = refusal(json.dumps({"s1": [good], "s2": [good, {"type": "human", "data": {}}]}))
    assert "chat.jsonl, session 's2', message 2: expected" in message
    assert "s3': expected a list of messages; 5 came" in refusal(
        json.dumps({"s3": 5}), format="langchain"
    )
    assert "message 1: expected {'type'" in refusal(
        json.dumps({"lc": 1, "type": "not_implemented", "id": []})
    )
    number = json.dumps([{"type": "ai", "data": {"content": 5}}])
    assert "message 1: expected content as text or a list of blocks; 5 came" in refusal(number)


# --- ChatGPT ---------------------------------------------------------------------------------------------------------


def test_an_export_is_read_along_the_branch_last_shown() -> None:
    transcript = fixture("conversations.json")
    assert [(draft.id, draft.role, draft.content) for draft in transcript[:3]] == [
        ("n1", "user", "What are these brown spots?\n\nThey came overnight."),
        ("n5", "assistant", "Late blight. Take the leaves off today."),
        ("n6", "user", "Done, and burnt."),
    ]
    assert transcript.reasons == {
        "on a branch that was not the last shown": 1,
        "a system message": 1,
        "a call of a tool": 1,
        "the result of a tool": 1,
        "a model's notes or reasoning": 1,
    }


def test_an_export_keeps_titles_models_and_times_in_utc() -> None:
    spots, answer, _done, hello = fixture("conversations.json")
    assert spots.session == "c-blight"
    assert spots.metadata == {"title": "Blight", "parts_without_text": 1}
    assert spots.at == datetime(2025, 8, 2, 8, 0, 5, 250_000, tzinfo=UTC)
    assert answer.metadata == {"title": "Blight", "model": "some-model"}
    assert answer.at == spots.at  # it has no time of its own, and must not come first
    assert (hello.session, hello.id, hello.metadata) == ("chatgpt-639f7965a1987992", "b", None)
    assert hello.at == datetime(2025, 8, 3, 5, 46, 40, tzinfo=UTC)


def test_hidden_messages_of_an_export_are_counted_and_not_read() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    message = {"author": {"role": "user"}, "content": {"parts": ["my profile"]}, "metadata": hidden}
    transcript = read(
        json.dumps([{"mapping": {"a": {"message": message, "parent": None}}, "current_node": "a"}])
    )
    assert (len(transcript), transcript.reasons) == (0, {"hidden from the conversation": 1})


@pytest.mark.parametrize(
    ("conversation", "words"),
    [
        (
            {"mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}, "current_node": "a"},
            "'a' leads back to itself",
        ),
        ({"mapping": {"a": {"parent": "z"}}, "current_node": "a"}, "node 'z' is not there"),
        ({"mapping": 5}, 'expected an object with "mapping"'),
        (
            {"mapping": {"a": {"message": "hi"}}, "current_node": "a"},
            "node 'a': expected 'message' to be an object",
        ),
        (
            {"mapping": {}, "create_time": "noon"},
            "seconds since 1970, such as 1767548520.5; 'noon' came",
        ),
        ({"mapping": {}, "create_time": 1e300}, "seconds since 1970"),
    ],
)
def test_a_conversation_that_is_not_understood_is_left_out_with_its_place_and_the_others_are_read(
    conversation: dict[str, Any], words: str
) -> None:
    said = {"author": {"role": "user"}, "content": {"parts": ["hello"]}}
    whole = {"mapping": {"a": {"message": said, "parent": None}}, "current_node": "a"}
    transcript = read(json.dumps([whole, conversation, whole | {"id": "other"}]), name="chat.json")
    assert [(draft.session, draft.content) for draft in transcript][1:] == [("other", "hello")]
    assert transcript.reasons == {"not understood": 1}
    assert transcript.examples[0].where == "chat.json, conversation 2"
    assert words in transcript.examples[0].detail


def test_a_newer_export_in_another_order_and_under_another_name_gives_the_same_ids() -> None:
    export = json.loads((FIXTURES / "conversations.json").read_text())
    older = {(draft.session, draft.id) for draft in read(json.dumps(export), name="old.json")}
    assert {
        (draft.session, draft.id) for draft in read(json.dumps(export[::-1]), name="new.json")
    } == older


# --- Claude ----------------------------------------------------------------------------------------------------------


def test_a_claude_export_keeps_titles_times_and_the_text_of_attachments() -> None:
    transcript = fixture("claude.json")
    assert transcript.format == "claude"
    assert [(draft.id, draft.role, draft.content) for draft in transcript] == [
        ("m1", "user", "Which apples keep until March?"),
        ("m2", "assistant", "Boskoop and Jonagold.\n\nStore them cool."),
        ("m3", "user", "Here is my list."),
        ("old-1", "user", "Good morning"),
    ]
    assert transcript[2].attached == [
        Attachment(text="Boskoop: 12 kg\nElstar: 3 kg", name="list.txt")
    ]
    assert transcript[2].metadata == {"title": "Apples", "parts_without_text": 1}
    assert transcript[0].at == datetime(2026, 1, 4, 10, 0, 1, 500_000, tzinfo=UTC)
    assert transcript[3].session == "conv-2"
    assert transcript[3].metadata is None
    assert transcript.reasons == {"a call of a tool": 1, "only files in it": 1, "not understood": 1}


# --- Codex -----------------------------------------------------------------------------------------------------------


def test_a_codex_session_gives_what_was_said_with_its_place_and_model() -> None:
    transcript = fixture("rollout.jsonl")
    assert transcript.format == "codex"
    assert {draft.session for draft in transcript} == {"0199-abc"}
    assert [(draft.role, draft.content) for draft in transcript] == [
        ("user", "Make the tests pass."),
        ("assistant", "They pass now."),
        ("user", "Again."),
        ("user", "Again."),
    ]
    assert transcript[1].metadata == {
        "client": "codex",
        "cwd": "/home/ines/garden",
        "branch": "main",
        "model": "gpt-5-codex",
    }
    assert transcript[0].at == datetime(2026, 2, 1, 9, 0, 2, tzinfo=UTC)
    assert len({draft.id for draft in transcript}) == 4
    assert transcript.reasons["written by the program"] == 2
    assert transcript.reasons["a call of a tool"] == 1


def test_a_codex_session_of_an_older_version_is_read_too() -> None:
    meta = {
        "id": "s1",
        "timestamp": "2025-07-01T08:00:00.000Z",
        "instructions": None,
        "git": {"branch": "dev"},
    }
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
    transcript = read(lines(meta, {"record_type": "state"}, said), name="rollout.jsonl")
    assert [(draft.session, draft.content, draft.metadata) for draft in transcript] == [
        ("s1", "Hello", {"client": "codex", "branch": "dev"})
    ]


# --- LlamaIndex ------------------------------------------------------------------------------------------------------


def chat_store(*texts: str) -> str:
    """A chat store as LlamaIndex persists it."""
    messages = [
        {
            "role": "user",
            "additional_kwargs": {"page": 3},
            "blocks": [{"block_type": "text", "text": text}],
        }
        for text in texts
    ]
    return json.dumps({"store": {"ann": messages}, "class_name": "SimpleChatStore"})


def test_a_chat_store_is_read_by_its_keys() -> None:
    transcript = read(chat_store("Hi", "ok", "ok"), name="chat.json")
    assert transcript.format == "llamaindex"
    assert [(draft.session, draft.role, draft.content) for draft in transcript] == [
        ("ann", "user", "Hi"), ("ann", "user", "ok"), ("ann", "user", "ok"),
    ]  # fmt: skip
    assert transcript[0].metadata == {"page": 3}
    assert len({draft.id for draft in transcript}) == 3


def test_a_chat_store_whose_oldest_messages_were_deleted_keeps_the_ids_of_the_others() -> None:
    before = {draft.id for draft in read(chat_store("Hi", "ok", "bye"), name="chat.json")}
    after = [draft.id for draft in read(chat_store("ok", "bye", "new"), name="moved.json")]
    assert [id in before for id in after] == [True, True, False]


def test_chat_messages_one_a_line_are_read_with_their_blocks() -> None:
    image = {"block_type": "image", "url": "https://example.org/a.png"}
    text = [
        {"block_type": "text", "text": "Look"},
        image,
        {"block_type": "text", "text": "at this"},
    ]
    said = {"role": "user", "additional_kwargs": {}, "blocks": text}
    call = {"role": "assistant", "additional_kwargs": {"tool_calls": [{"id": "1"}]}, "blocks": []}
    transcript = read(lines(said, call, said | {"role": "chatbot"}), name="chat.jsonl")
    assert [(draft.session, draft.role, draft.content) for draft in transcript] == [
        ("chat.jsonl", "user", "Look\nat this"), ("chat.jsonl", "assistant", "Look\nat this"),
    ]  # fmt: skip
    assert transcript[0].metadata == {"parts_without_text": 1}
    assert transcript.reasons == {"a call of a tool": 1}


# --- item by item ----------------------------------------------------------------------------------------------------


@given(st.lists(json_values, max_size=8), st.integers(1, 40))
def test_a_list_read_in_parts_of_any_size_has_the_items_that_it_has(
    values: list[Any], size: int
) -> None:
    written = json.dumps(values, ensure_ascii=False).encode()
    parts = io.BytesIO(written)
    assert list(items(lambda _: parts.read(size), "x", scan=json.JSONDecoder())) == values


@pytest.mark.parametrize("name", ["conversations.json", "claude.json", "messages_to_dict.json"])
def test_item_by_item_an_export_gives_the_same_drafts(name: str) -> None:
    content = (FIXTURES / name).read_bytes()
    skipped: list[str] = []
    known, found = iter_list(
        io.BytesIO(content).read, name=name, skip=lambda each: skipped.append(each.reason)
    )
    whole = fixture(name)
    assert (known, tuple(found)) == (whole.format, whole.drafts)
    assert Counter(skipped) == whole.reasons


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"mapping": {}}, {"mapping": {}', "item 2: expected JSON; it ends too early"),
        (
            '[{"mapping": {}} {"mapping": {}}]',
            "expected a comma or the end of the list after item 1; '{' came",
        ),
        (
            '[{"mapping": {}}, {"mapping": nonsense, "more": "and more text than can be the end"}]',
            "item 2: expected JSON; Expect",
        ),
        ('[{"mapping": NaN}]', "NaN is no number"),
        ('[{"mapping": {}}] and more', "more came after it"),
        ('[{"weather": "fine"}]', 'whose first item is an object with the fields "weather"'),
        ("[]", "an empty JSON list"),
    ],
)
def test_a_broken_list_is_refused_with_the_item(text: str, words: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        list(iter_list(io.BytesIO(text.encode()).read, name="export.zip")[1])
    assert words in str(raised.value)
    assert "export.zip" in str(raised.value)


# --- what it looks like ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"%PDF-1.7\n\xe2\xe3", "a PDF document"),
        (b"\x89PNG\r\n\x1a\n\0\0", "a PNG picture"),
        (b"\x1f\x8b\x08\0\0", "a gzip archive"),
        (b"<!DOCTYPE html><html>", "an HTML page"),
        (b'{"weather": "fine"}', 'an object with the fields "weather"'),
        (b"[{}]", "a JSON list, whose first item is an object without fields"),
    ],
)
def test_a_foreign_file_is_refused_with_what_it_looks_like_and_what_is_understood(
    content: bytes, words: str
) -> None:
    message = refusal(content)
    assert words in message
    assert "ChatGPT and Claude" in message


# --- plain text ------------------------------------------------------------------------------------------------------


def test_plain_text_gives_a_turn_for_each_speaker_with_the_lines_that_follow() -> None:
    assert [(draft.name, draft.role, draft.content) for draft in fixture("doorstep.txt")] == [
        ("Mrs Pargeter", "user", "Is that your begonia on the stairs?"),
        ("Jonas", "user", "It was meant as a present.\n  It's rather late, I know:\n  two months."),
        ("Assistant", "assistant", "A begonia is never late."),
    ]


def test_text_that_is_no_transcript_is_refused_with_its_first_line() -> None:
    message = refusal("\nOnce upon a time\nInes: hello", name="tale.txt")
    assert "tale.txt, line 2" in message
    assert "'Once upon a time' came" in message


def test_json_of_another_shape_is_refused_with_an_example() -> None:
    assert '{"role": "user", "name": "Ines", "content": "..."}' in refusal('{"weather": "fine"}')


def test_json_broken_in_the_middle_is_named_with_its_line() -> None:
    assert "chat.jsonl, line 3, column" in refusal('[\n{"content": "a"},\n{"content": }]')


def test_a_column_is_named_for_a_field_of_the_table_or_by_the_name_that_json_has_for_it() -> None:
    listed = ["Body", "Who", "When"]
    given = {"content": "Body", "name": "Who", "at": "When"}
    assert tables.columns_of(listed, given, name="x.csv", zone=None).fields == {
        "text": "Body", "user": "Who", "time": "When"
    }  # fmt: skip
    with pytest.raises(InvalidInput, match="text or content, which are one field"):
        tables.columns_of(listed, {"text": "Body", "content": "Who"}, name="x.csv", zone=None)
    with pytest.raises(
        InvalidInput, match="or by the names of JSON content, name, at; got 'words'"
    ):
        tables.columns_of(listed, {"words": "Body"}, name="x.csv", zone=None)


@pytest.mark.parametrize(
    "message",
    [
        {"type": "human", "data": {"content": [{"type": "file", "base64": "VGhlIGhhbGwgaXMgZnJlZS4=", "filename": "a.txt"}]}},
        {"role": "user", "blocks": [{"block_type": "document", "data": "VGhlIGhhbGwgaXMgZnJlZS4=", "title": "a.txt"}]},
    ],
)  # fmt: skip
def test_a_message_that_is_only_a_file_is_named_by_it_and_has_it_attached(
    message: dict[str, Any],
) -> None:
    [draft] = read(json.dumps([message]))
    assert (draft.content, draft.payload, draft.metadata) == ("[a.txt]", None, None)
    assert draft.attached == [Attachment(text="The hall is free.", name="a.txt")]
