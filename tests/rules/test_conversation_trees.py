"""Exports and transcripts as trees: the words of the current branch, each once, in the order of the tree, and nothing else."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.importers.transcripts.read import Transcript, iter_read, read

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def told(transcript: Transcript) -> list[tuple[str | None, str]]:
    return [(draft.role, draft.content) for draft in transcript]


# -- trees of any shape -------------------------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> list[int | None]:
    """The parent of each message; the first is the root, and users and assistants speak in turns."""
    size = draw(st.integers(min_value=1, max_value=24))
    return [
        None,
        *(draw(st.integers(min_value=max(0, n - 5), max_value=n - 1)) for n in range(1, size)),
    ]


def path_to(parents: list[int | None], leaf: int) -> list[int]:
    path, at = [], leaf
    while True:
        path.append(at)
        parent = parents[at]
        if parent is None:
            return path[::-1]
        at = parent


def roles(parents: list[int | None]) -> list[str]:
    found: list[str] = []
    for parent in parents:
        found.append("user" if parent is None or found[parent] == "assistant" else "assistant")
    return found


def minute(n: int) -> datetime:
    return START + timedelta(minutes=n)


def chatgpt(parents: list[int | None], *, current: Any, title: str = "T") -> dict[str, Any]:
    mapping: dict[str, Any] = {
        "root": {"id": "root", "message": None, "parent": None, "children": []}
    }
    for n, (parent, role) in enumerate(zip(parents, roles(parents), strict=True)):
        mapping[f"n{n}"] = {
            "id": f"n{n}",
            "parent": "root" if parent is None else f"n{parent}",
            "children": [f"n{each}" for each, above in enumerate(parents) if above == n],
            "message": {
                "id": f"m{n}", "author": {"role": role}, "create_time": minute(n).timestamp(), "recipient": "all",
                "content": {"content_type": "text", "parts": [f"Words {n}."]}, "metadata": {},
            },
        }  # fmt: skip
    return {"conversation_id": "c", "title": title, "mapping": mapping, "current_node": current}


def claude(parents: list[int | None], *, current: Any) -> dict[str, Any]:
    messages = [
        {
            "uuid": f"m{n}", "sender": "human" if role == "user" else "assistant", "created_at": minute(n).isoformat(),
            "content": [{"type": "text", "text": f"Words {n}."}],
            "parent_message_uuid": "00000000-0000-4000-8000-000000000000" if parent is None else f"m{parent}",
        }
        for n, (parent, role) in enumerate(zip(parents, roles(parents), strict=True))
    ]  # fmt: skip
    leaf = {"current_leaf_message_uuid": current} if current else {}
    return {"uuid": "c", "name": "T", "chat_messages": messages, **leaf}


def claude_code(parents: list[int | None]) -> list[dict[str, Any]]:
    return [
        {
            "type": role, "uuid": f"m{n}", "parentUuid": None if parent is None else f"m{parent}", "sessionId": "c",
            "timestamp": minute(n).isoformat(), "message": {"role": role, "content": f"Words {n}.", "id": f"a{n}"},
        }
        for n, (parent, role) in enumerate(zip(parents, roles(parents), strict=True))
    ]  # fmt: skip


def shuffled(values: list[Any], seed: int) -> list[Any]:
    found = list(values)
    random.Random(seed).shuffle(found)
    return found


@given(trees(), st.integers(), st.booleans())
def test_an_export_of_chatgpt_gives_its_current_branch_whatever_the_order_of_its_nodes(
    parents: list[int | None], seed: int, named: bool
) -> None:
    leaves = [n for n in range(len(parents)) if n not in parents]
    leaf = (
        leaves[seed % len(leaves)] if named else leaves[-1]
    )  # the last leaf is the one that was said last
    value = chatgpt(
        parents, current=f"n{leaf}" if named else random.Random(seed).choice([None, "gone"])
    )
    value["mapping"] = dict(shuffled(list(value["mapping"].items()), seed))
    path = path_to(parents, leaf)
    found = read(json.dumps([value]))
    assert told(found) == [(roles(parents)[n], f"Words {n}.") for n in path]
    [now] = found.conversations
    assert now.ids == {f"m{n}" for n in path}
    assert now.taken_back == {f"m{n}" for n in range(len(parents))} - now.ids


@given(trees(), st.integers(), st.booleans())
def test_an_export_of_claude_gives_its_current_branch_whatever_the_order_of_its_messages(
    parents: list[int | None], seed: int, named: bool
) -> None:
    leaves = [n for n in range(len(parents)) if n not in parents]
    leaf = leaves[seed % len(leaves)] if named else leaves[-1]
    value = claude(parents, current=f"m{leaf}" if named else None)
    value["chat_messages"] = shuffled(value["chat_messages"], seed)
    found = read(json.dumps([value]))
    assert told(found) == [(roles(parents)[n], f"Words {n}.") for n in path_to(parents, leaf)]


@given(trees(), st.integers())
def test_a_transcript_of_claude_code_gives_the_branch_that_was_written_last_whatever_the_order_of_its_lines(
    parents: list[int | None], seed: int
) -> None:
    lines = [json.dumps(each) for each in shuffled(claude_code(parents), seed)]
    leaf = max(n for n in range(len(parents)) if n not in parents)
    found = read("\n".join(lines), format="claude-code")
    assert told(found) == [(roles(parents)[n], f"Words {n}.") for n in path_to(parents, leaf)]
    assert list(iter_read(lines, format="claude-code")) == list(found)


def test_a_conversation_deeper_than_the_stack_is_read() -> None:
    parents: list[int | None] = [None, *range(4_000)]
    assert len(read(json.dumps([chatgpt(parents, current="n4000")]))) == 4_001
    assert len(read(json.dumps([claude(parents, current="m4000")]))) == 4_001
    assert (
        len(read("\n".join(map(json.dumps, claude_code(parents))), format="claude-code")) == 4_001
    )


# -- ChatGPT ------------------------------------------------------------------------------------------------------------


def one(message: dict[str, Any], **more: Any) -> Transcript:
    base = {
        "id": "m",
        "author": {"role": "assistant"},
        "content": {"content_type": "text", "parts": ["Hello."]},
    }
    mapping = {"m": {"id": "m", "parent": None, "children": [], "message": base | message}}
    return read(
        json.dumps([{"id": "c", "mapping": mapping, "current_node": "m"} | more]), name="c.json"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "A parrot. \ue200cite\ue202turn0search1\ue202turn0news3\ue201 It talks.",
            "A parrot. It talks.",
        ),
        ("It talks\ue200filecite\ue202turn0file0\ue201 well.", "It talks well."),
        ("It talks \ue200cite\ue202turn0search1\ue201.", "It talks."),
        ('Meet \ue200entity\ue202["people","Ada Lovelace","writer"]\ue201!', "Meet Ada Lovelace!"),
        ('Meet \ue200entity["people","Ada Lovelace"]\ue201!', "Meet Ada Lovelace!"),
        ("Meet \ue200entity\ue202Ada\ue201!", "Meet Ada!"),
        ("See \ue200url\ue202the page\ue202https://example.com\ue201.", "See the page."),
        ("See 【4:0†source】 and 【12†L1-L3】.", "See and."),
        ("It ends \ue200cite\ue202turn0sea", "It ends"),
        ("Lone \ue202 and \ue201 go.", "Lone  and  go."),
    ],
)
def test_marks_of_the_page_become_what_a_reader_sees(text: str, shown: str) -> None:
    [draft] = one({"content": {"content_type": "text", "parts": [text]}})
    assert draft.content.rstrip() == shown


def test_a_glyph_of_a_users_own_stays() -> None:
    [draft] = one(
        {"author": {"role": "user"}, "content": {"parts": ["my prompt \ue20a is odd 【1】"]}}
    )
    assert draft.content == "my prompt \ue20a is odd 【1】"


@pytest.mark.parametrize(
    "mark",
    [{"is_do_not_remember": True}, {"is_temporary_chat": True}, {"memory_scope": "disabled"}],
)
def test_a_conversation_that_is_marked_as_not_to_be_remembered_is_not_and_that_is_said(
    mark: dict[str, Any],
) -> None:
    found = one({}, **mark)
    assert (len(found), found.reasons) == (0, {"marked as not to be remembered": 1})
    assert found.conversations[0].taken_back == {"m"}
    assert len(one({}, is_do_not_remember=False, memory_scope="global_enabled")) == 1


@pytest.mark.parametrize(
    ("message", "conversation"),
    [
        ({"create_time": "2026-03-01T09:00:00Z"}, {}),
        ({"create_time": "2026-03-01T09:00:00"}, {}),
        ({"create_time": START.timestamp() * 1000}, {}),
        ({"create_time": str(START.timestamp())}, {}),
        ({"create_time": None, "update_time": START.timestamp()}, {"create_time": 1.0}),
        ({}, {"create_time": START.timestamp()}),
        ({}, {"update_time": START.timestamp()}),
    ],
)
def test_a_time_is_read_in_each_form_and_from_each_place(
    message: dict[str, Any], conversation: dict[str, Any]
) -> None:
    [draft] = one(message, **conversation)
    assert draft.at == START


def test_what_a_person_said_is_kept_where_fields_are_null_and_what_a_tool_said_is_not() -> None:
    assert told(one({"author": None, "metadata": None})) == [(None, "Hello.")]
    assert told(one({"content": {"parts": [None, "Cats.", ""]}}, title=None)) == [
        ("assistant", "Cats.")
    ]
    spoken = {"content_type": "audio_transcription", "text": "I keep horses.", "direction": "in"}
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://x"}
    [voice] = one(
        {
            "author": {"role": "user"},
            "content": {"content_type": "multimodal_text", "parts": [spoken, sound]},
        }
    )
    assert (voice.content, voice.metadata) == ("I keep horses.", {"parts_without_text": 1})
    assert len(one({"content": None})) == 0
    assert len(one({"content": {"parts": ["\u200b"]}})) == 0
    assert len(one({"channel": "analysis"})) == 0
    assert one({"recipient": "dalle.text2im"}).reasons == {"a call of a tool": 1}
    assert told(one({"author": {"role": "user"}, "recipient": "dalle.text2im"})) == [
        ("user", "Hello.")
    ]
    output = {
        "author": {"role": "tool", "name": "python"},
        "content": {"content_type": "execution_output", "text": "42"},
    }
    assert one(output).reasons == {"the result of a tool": 1}


def test_what_was_written_into_a_canvas_is_kept_and_the_answer_of_its_tool_is_not() -> None:
    written = {"name": "Owl", "type": "document", "content": "My owl is white."}
    [draft] = one(
        {"recipient": "canmore.create_textdoc", "content": {"parts": [json.dumps(written)]}}
    )
    assert (draft.content, draft.metadata) == ("My owl is white.", {"document": "Owl"})
    again = {"updates": [{"pattern": ".*", "replacement": "It is grey."}]}
    assert (
        told(
            one({"recipient": "canmore.update_textdoc", "content": {"parts": [json.dumps(again)]}})
        )[0][1]
        == "It is grey."
    )
    part = {"updates": [{"pattern": "white", "replacement": "grey"}]}
    assert (
        len(one({"recipient": "canmore.update_textdoc", "content": {"parts": [json.dumps(part)]}}))
        == 0
    )


def test_a_message_that_is_not_understood_is_named_with_its_conversation_and_the_others_are_read() -> (
    None
):
    value = chatgpt([None, 0, 1], current="n2", title="Bees")
    value["mapping"]["n1"]["message"]["create_time"] = {"odd": 1}
    found = read(json.dumps([value]), name="e.json")
    assert told(found) == [("user", "Words 0."), ("user", "Words 2.")]
    assert found.examples[0].where == "e.json, conversation 1"
    assert "node 'n1': expected a time" in found.examples[0].detail
    assert "“Bees”" in found.examples[0].detail
    assert "m1" in found.conversations[0].ids  # so that nobody takes it for deleted
    value["mapping"]["n1"]["parent"] = "gone"
    assert told(read(json.dumps([value]))) == [("user", "Words 2.")]


def test_a_list_that_is_cut_off_is_read_up_to_there() -> None:
    whole = json.dumps(
        [chatgpt([None], current="n0"), chatgpt([None], current="n0") | {"conversation_id": "d"}]
    )
    found = read(whole[:-40], name="e.json", longest=1_000)
    assert [draft.session for draft in found] == ["c"]
    assert "cut off" in found.examples[0].detail


# -- Claude -------------------------------------------------------------------------------------------------------------


def test_an_artifact_is_what_the_model_wrote_and_a_temporary_chat_is_not_read() -> None:
    block = {
        "type": "tool_use",
        "name": "artifacts",
        "input": {"command": "create", "content": "My owl is white."},
    }
    value = claude([None, 0], current=None)
    value["chat_messages"][1]["content"] += [block, {"type": "tool_result", "content": []}]
    assert told(read(json.dumps([value])))[1] == ("assistant", "Words 1.\n\nMy owl is white.")
    assert read(json.dumps([value | {"is_temporary": True}])).reasons == {
        "marked as not to be remembered": 1
    }


# -- Claude Code --------------------------------------------------------------------------------------------------------


def line(kind: str, id: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    base = {
        "type": kind,
        "uuid": id,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": minute(int(id[1:])).isoformat(),
    }
    return {
        **base,
        "message": {"role": kind, "content": content, **more.pop("message", {})},
        **more,
    }


def queue(operation: str, at: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "queue-operation",
        "operation": operation,
        "timestamp": minute(at).isoformat(),
        "sessionId": "s",
        **more,
    }


def queued(id: str, parent: str, prompt: Any, **more: Any) -> dict[str, Any]:
    base = {
        "type": "attachment",
        "uuid": id,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": minute(int(id[1:])).isoformat(),
    }
    return base | {
        "attachment": {"type": "queued_command", "commandMode": "prompt", "prompt": prompt, **more}
    }


def transcript(*lines: dict[str, Any]) -> Transcript:
    return read("\n".join(map(json.dumps, lines)), format="claude-code")


def users(*lines: dict[str, Any]) -> list[str]:
    return [draft.content for draft in transcript(*lines) if draft.role == "user"]


TYPED = "Never touch the payments module."
ABSORBED = queue("remove", 4, reason="absorbed_mid_turn")


@pytest.mark.parametrize(
    "lines",
    [
        [
            queue("enqueue", 3, content=TYPED),
            queued("u4", "a2", TYPED, origin={"kind": "human"}),
            ABSORBED,
        ],
        [queue("enqueue", 3, content=TYPED), ABSORBED],  # of which the attachment is missing
        [queue("enqueue", 3, content=TYPED), ABSORBED | {"content": TYPED}],
        [queue("enqueue", 3, content=TYPED), queue("remove", 4)],  # as older versions wrote it
        [queue("enqueue", 3, content=TYPED), queue("dequeue", 4), line("user", "u5", "a2", TYPED)],
        [queued("u4", "a2", [{"type": "image", "source": {}}, {"type": "text", "text": TYPED}])],
        [
            {
                key: value
                for key, value in queued("u4", "a2", TYPED).items()
                if key not in ("uuid", "parentUuid")
            }
        ],
        [queued("u4", "a2", TYPED, source_uuid="u5"), line("user", "u5", "a2", TYPED)],
    ],
)
def test_what_was_typed_while_the_program_worked_is_kept_once(lines: list[dict[str, Any]]) -> None:
    begun = [
        line("user", "u1", None, "Build it."),
        line("assistant", "a2", "u1", [{"type": "text", "text": "I do."}]),
    ]
    end = line("assistant", "a9", lines[-1].get("uuid", "a2"), "Done.")
    assert users(*begun, *lines, end) == ["Build it.", TYPED]
    assert told(transcript(*begun, *lines, end))[-1] == ("assistant", "Done.")


@pytest.mark.parametrize(
    "lines",
    [
        [queue("enqueue", 3, content=TYPED), queue("popAll", 4)],
        [queue("enqueue", 3, content=TYPED)],  # it waits, and may still be taken back
        [queue("enqueue", 3, content="<task-notification>x</task-notification>"), ABSORBED],
        [queued("u4", "a2", TYPED, commandMode="task-notification")],
        [queued("u4", "a2", TYPED, origin={"kind": "peer"})],
        [line("user", "u4", "a2", TYPED, origin={"kind": "task-notification"})],
    ],
)
def test_what_a_user_took_out_of_the_queue_and_what_others_put_there_is_not_theirs(
    lines: list[dict[str, Any]],
) -> None:
    begun = [line("user", "u1", None, "Build it."), line("assistant", "a2", "u1", "I do.")]
    assert users(*begun, *lines) == ["Build it."]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("<command-name>/review</command-name>\n<command-message>review</command-message>\n<command-args>the cache</command-args>", "/review the cache"),
        ("<command-message>go</command-message><command-name>go</command-name><command-args>a < b\nc</command-args>", "/go a < b\nc"),
        ("<system-reminder>\nsecret\n</system-reminder>\nUse tabs.", "Use tabs."),
        ("Use tabs.\n<system-reminder>secret</system-reminder>", "Use tabs."),
        ("<ide_opened_file>x.py</ide_opened_file>\n<ide_selection>y</ide_selection>Use tabs.", "Use tabs."),
        ("Why does <system-reminder> stand there?", "Why does <system-reminder> stand there?"),
        ([{"type": "text", "text": "Use tabs."}, {"type": "text", "text": "<system-reminder>x</system-reminder>"}], "Use tabs."),
    ],
)  # fmt: skip
def test_what_a_user_typed_is_kept_without_what_the_program_put_around_it(
    content: Any, words: str
) -> None:
    assert users(line("user", "u1", None, content)) == [words]


def test_what_a_user_said_to_a_tool_is_kept() -> None:
    refused = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was "
        "NOT written to the file). To tell you how to proceed, the user said:\nUse yarn.\n\nNote: The user's next message may contain "
        "a correction or preference."
    )
    result = {"type": "tool_result", "tool_use_id": "t", "content": refused, "is_error": True}
    answered = {"questions": [{"question": "Which port?"}], "answers": {"Which port?": "8443"}}
    found = users(
        line("user", "u1", None, "Build it."),
        line(
            "assistant", "a2", "u1", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
        ),
        line("user", "u3", "a2", [result]),
        line(
            "user",
            "u4",
            "u3",
            [result | {"content": 'User has answered: "Which port?"="8443"'}],
            toolUseResult=answered,
        ),
        line("user", "u5", "u4", [result | {"content": "plain output, the user said:\nnothing"}]),
    )
    assert found == ["Build it.", "Use yarn.", "8443"]


def test_results_side_by_side_and_parts_of_one_answer_are_no_branches() -> None:
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "out"}
    answer = {"message": {"id": "msg_1"}}
    lines = [
        line("user", "u1", None, "Look."),
        line("assistant", "a2", "u1", [{"type": "text", "text": "Both."}, call], **answer),
        line(
            "assistant",
            "a3",
            "a2",
            [{"type": "text", "text": "At once."}, call],
            message={"id": "msg_1"},
        ),
        line("user", "u4", "a2", [result]),
        line("user", "u5", "a3", [result]),
        line("assistant", "a6", "u4", "Seen.", message={"id": "msg_2"}),
        line("user", "u7", "a6", "Thanks."),
    ]
    assert [text for _, text in told(transcript(*lines))] == [
        "Look.",
        "Both.",
        "At once.",
        "Seen.",
        "Thanks.",
    ]


def test_a_compacted_session_and_one_that_names_no_parents_go_on() -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b3",
        "parentUuid": None,
        "logicalParentUuid": "a2",
        "sessionId": "s",
    }
    begun = [line("user", "u1", None, "One."), line("assistant", "a2", "u1", "Two.")]
    rest = [
        line("user", "u4", "b3", "A summary.", isCompactSummary=True),
        line("user", "u5", "u4", "Three."),
    ]
    assert [text for _, text in told(transcript(*begun, boundary, *rest))] == [
        "One.",
        "Two.",
        "Three.",
    ]
    unnamed = [
        line(kind, f"x{n}", None, f"{n}")
        for n, kind in enumerate(["user", "assistant", "user", "assistant"])
    ]
    assert len(transcript(*unnamed)) == 4
    assert len(transcript(*(line("user", f"u{n}", "gone", f"{n}") for n in range(3)))) == 3


def test_an_answer_that_was_written_down_while_it_grew_is_kept_once() -> None:
    grown = [
        line("assistant", f"a{n}", f"{'u' if n == 2 else 'a'}{n - 1}", text, message={"id": "m"})
        for n, text in ((2, "I w"), (3, "I will."))
    ]
    assert told(transcript(line("user", "u1", None, "Go."), *grown)) == [
        ("user", "Go."),
        ("assistant", "I will."),
    ]


def test_a_line_that_is_broken_is_named_and_keeps_up_no_others() -> None:
    found = read(
        json.dumps(line("user", "u1", None, "Go.")) + "\n{oops\n",
        name="s.jsonl",
        format="claude-code",
    )
    assert told(found) == [("user", "Go.")]
    assert (found.examples[0].reason, found.examples[0].where) == (
        "not understood",
        "s.jsonl, line 2",
    )


# -- Codex --------------------------------------------------------------------------------------------------------------


def said(at: int, role: str, *texts: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text} for text in texts]
    return {
        "timestamp": minute(at).isoformat(),
        "type": "response_item",
        "payload": {"type": "message", "role": role, "content": content},
    }


def event(at: int, **payload: Any) -> dict[str, Any]:
    return {"timestamp": minute(at).isoformat(), "type": "event_msg", "payload": payload}


def rollout(*lines: dict[str, Any], **meta: Any) -> Transcript:
    first = {
        "timestamp": minute(0).isoformat(),
        "type": "session_meta",
        "payload": {"id": "s", **meta},
    }
    return read("\n".join(map(json.dumps, [first, *lines])), format="codex")


def test_turns_that_were_rolled_back_hold_no_more() -> None:
    begun = [
        said(1, "user", "One."),
        said(2, "assistant", "1"),
        said(3, "user", "Two."),
        said(4, "assistant", "2"),
    ]
    found = rollout(
        *begun, event(5, type="thread_rolled_back", num_turns=1), said(6, "user", "Three.")
    )
    assert [text for _, text in told(found)] == ["One.", "1", "Three."]
    before = rollout(*begun)
    assert found.conversations[0].taken_back == {before[2].id, before[3].id}
    assert [
        text for _, text in told(rollout(*begun, event(5, type="thread_rolled_back", num_turns=9)))
    ] == []


def test_context_before_a_prompt_and_a_prompt_that_only_an_event_has() -> None:
    context = "<environment_context>\n<cwd>/x</cwd>\n</environment_context>\n\nUse tabs."
    heard = [
        event(1, type="user_message", message="Use tabs."),
        event(2, type="user_message", message="And a space."),
    ]
    assert told(rollout(said(1, "user", context), *heard)) == [
        ("user", "Use tabs."),
        ("user", "And a space."),
    ]
    assert told(rollout(said(1, "user", "Mind the text ## My request for Codex: please"))) == [
        ("user", "Mind the text ## My request for Codex: please")
    ]


def test_what_one_agent_asks_another_is_nobodys_words() -> None:
    found = rollout(
        said(1, "user", "Find it."),
        source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}},
    )
    assert (len(found), found.reasons["of a subagent"]) == (0, 1)


def test_what_a_user_rolled_back_does_not_come_back_by_its_event() -> None:
    before = [
        event(1, type="user_message", message="Two."),
        said(2, "user", "Two."),
        said(3, "assistant", "2"),
    ]
    found = rollout(
        said(0, "user", "One."), *before, event(4, type="thread_rolled_back", num_turns=1)
    )
    assert told(found) == [("user", "One.")]


@pytest.mark.parametrize(
    "piece",
    [
        "\ue200aaaa", "\ue200cite\ue202", "【1†", "<command-args>", "<command-name>x", "<system-reminder>", "</system-reminder>",
        "<system-reminder>x</system-reminder>", "<environment_context>x</environment_context>", "<command-args><", " ", "<",
    ],
)  # fmt: skip
def test_a_long_text_of_marks_is_read_to_its_end(piece: str) -> None:
    """With work that grows by the square this would not end: 600,000 characters."""
    text = piece * (600_000 // len(piece))
    for before in ("", "<command-name>"):
        one({"content": {"parts": [before + text]}})
        transcript(line("user", "u1", None, before + text))
        rollout(said(1, "user", before + text))


def test_what_a_user_answers_to_questions_of_codex_is_read_and_begins_no_turn() -> None:
    def item(minutes: int, **payload: Any) -> dict[str, Any]:
        return {**event(minutes, **payload), "type": "response_item"}

    asked = {
        "questions": [
            {"id": "pier", "question": "Which?"},
            {"id": "pin", "question": "PIN?", "isSecret": True},
        ]
    }
    answers = {
        "pier": {"answers": ["Another one", "user_note: Pier seven."]},
        "pin": {"answers": ["4711"]},
    }
    output = json.dumps({"answers": answers})
    lines = [
        said(1, "user", "Plan the trip."),
        item(
            2,
            type="function_call",
            name="request_user_input",
            call_id="c1",
            arguments=json.dumps(asked),
        ),
        item(3, type="function_call_output", call_id="c1", output=output),
        item(
            4, type="function_call_output", call_id="c2", output=output
        ),  # a tool that only answers alike
        item(5, type="function_call_output", call_id="c1", output="cancelled"),
    ]
    assert told(rollout(*lines)) == [
        ("user", "Plan the trip."),
        ("user", "Another one\nPier seven."),
    ]
    assert told(
        rollout(said(0, "user", "One."), *lines, event(6, type="thread_rolled_back", num_turns=1))
    ) == [("user", "One.")]
