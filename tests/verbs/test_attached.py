"""What is attached to a message is written with it, found by recall, and in no answer of the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from htm_core import Attachment, Draft, InvalidInput, Memory, Redactor, Settings
from tests.conftest import SETTINGS, Make

PLAN = (
    "The bus leaves at 8:15 from the gate.\n\n"
    + "Bring a rain coat. " * 80
    + "\n\nMrs Peeters answers 0470 12 34 56."
)


def told(
    id: str | None, *files: Attachment, content: str = "Here is the plan.", payload: bytes = b"1"
) -> Draft:
    return Draft(content=content, id=id, role="user", payload=payload, attached=files)


def found(memory: Memory) -> set[str]:
    return {node.content for node in memory.list(limit=1000)}


def test_a_file_is_found_with_its_name_and_source_and_the_log_has_its_message_alone(
    memory: Memory,
) -> None:
    log = memory.log("s")
    said = log.append(
        [
            told("m1", Attachment(text=PLAN, name="plan.txt")),
            Draft(content="Thanks.", role="user", id="m2"),
        ]
    )
    assert [each.content for each in said] == ["Here is the plan.", "Thanks."]
    assert [id for id, _ in log.entries()] == ["m1", "m2"]
    hit = memory.recall("Who answers 0470 12 34 56?", hold=False, mode="text")[0]
    assert "Mrs Peeters" in hit.content
    [mention] = hit.mentions
    assert (mention.source, mention.role, mention.trust, mention.session) == ("file", None, 2, "s")
    assert (mention.metadata["file"], mention.metadata["attached_to"]) == ("plan.txt", "m1")


def test_a_file_takes_no_place_in_working_memory(memory: Memory) -> None:
    memory.log("s").append([told("m1", Attachment(text=PLAN))])
    assert [item.content for item in memory.context().items] == ["Here is the plan."]


def test_a_message_that_is_written_again_has_its_file_once(memory: Memory) -> None:
    for _ in range(2):
        memory.log("s").append([told("m1", Attachment(text=PLAN))])
    assert len(memory.timeline(limit=100)) == len(found(memory))


def test_a_message_changed_under_its_id_keeps_only_what_is_attached_to_it_now(
    memory: Memory,
) -> None:
    log = memory.log("s")
    log.append(
        [told("m1", Attachment(text="The old price is 40."), Attachment(text="The hall is free."))]
    )
    log.append([told("m1", Attachment(text="The new price is 50."), payload=b"2")])
    assert found(memory) == {"Here is the plan.", "The new price is 50."}
    log.append([told("m1", content="There is none.", payload=b"3")])
    assert found(memory) == {"There is none."}


def test_a_file_is_forgotten_and_comes_back_with_its_message(memory: Memory) -> None:
    log = memory.log("s")
    message = told("m1", Attachment(text="The hall is free."))
    log.append([message, Draft(content="Good.", role="user", id="m2")])
    log.replace([Draft(content="Good.", role="user", id="m2")], forget=True)
    assert found(memory) == {"Good."}
    log.replace([message, Draft(content="Good.", role="user", id="m2")], forget=True)
    assert found(memory) == {"Good.", "Here is the plan.", "The hall is free."}
    log.remove([log.tail()[0]], forget=True)
    assert found(memory) == {"Good."}


def test_a_message_that_leaves_the_log_alone_leaves_its_file_in_recall(memory: Memory) -> None:
    log = memory.log("s")
    log.append([told("m1", Attachment(text="The hall is free."))])
    log.clear()
    assert found(memory) == {"Here is the plan.", "The hall is free."}


def test_a_log_that_is_replaced_by_itself_keeps_its_files(memory: Memory) -> None:
    log = memory.log("s")
    log.append([told("m1", Attachment(text="The hall is free."))])
    [(id, mention)] = log.entries()
    log.replace(
        [Draft(content=mention.content, id=id, role=mention.role, payload=mention.payload)],
        forget=True,
    )
    assert "The hall is free." in found(memory)


def test_a_pdf_is_cut_at_its_pages_and_each_part_knows_its_page(memory: Memory) -> None:
    pages = ("Page one is about herons. ", "Page two is about storks.")
    memory.log("s").append(
        [told("m1", Attachment(text="".join(pages), name="birds.pdf", pages=(0, len(pages[0]))))]
    )
    hit = memory.recall("storks", hold=False, mode="text")[0]
    assert (hit.content, hit.mentions[0].metadata["page"]) == ("Page two is about storks.", 2)


def test_markdown_is_cut_at_its_headings(memory: Memory) -> None:
    text = (
        "# Boiler\n\n"
        + "Aker repairs it. " * 30
        + "\n\n# Roof\n\n"
        + "It leaks over the stairs. " * 30
    )
    memory.log("s").append([told("m1", Attachment(text=text, name="house.md"))])
    headings = [
        each.metadata["headings"] for each in memory.timeline(limit=10) if each.source == "file"
    ]
    assert headings == [["Boiler"], ["Roof"]]


def test_a_secret_is_taken_out_before_a_file_is_cut(make: Make) -> None:
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "MIIEowIBAAKCAQEAn5v3Q0t4\n" * 80
        + "-----END RSA PRIVATE KEY-----"
    )
    memory = make(redactor=Redactor())
    memory.log("s").append(
        [told("m1", Attachment(text=f"The server's key.\n\n{key}\n\nKeep it safe."))]
    )
    everything = " ".join(found(memory))
    assert "MIIE" not in everything
    assert "Keep it safe." in everything
    [part] = [each for each in memory.timeline(limit=10) if each.source == "file"]
    assert part.metadata["htm_redacted"] == {"private_key": 1}


def test_a_blank_file_is_nothing(memory: Memory) -> None:
    memory.log("s").append([told("m1", Attachment(text=" \n ", name="empty.txt"))])
    assert found(memory) == {"Here is the plan."}


@pytest.mark.parametrize("id", [None, "m1"])
def test_what_is_remembered_outside_of_a_log_may_have_files_too(
    memory: Memory, id: str | None
) -> None:
    [node] = memory.remember_many([told(id, Attachment(text="The hall is free."))])
    assert node.content == "Here is the plan."
    assert found(memory) == {"Here is the plan.", "The hall is free."}


def test_what_an_edit_took_away_does_not_come_back_with_the_message(memory: Memory) -> None:
    log = memory.log("s")
    log.append(
        [told("m1", Attachment(text="The old price is 40."), Attachment(text="The hall is free."))]
    )
    now = told("m1", Attachment(text="The new price is 50."), payload=b"2")
    log.append([now])
    log.replace([now], forget=True)
    assert found(memory) == {"Here is the plan.", "The new price is 50."}


def test_a_file_comes_back_where_an_edit_is_undone(memory: Memory) -> None:
    log = memory.log("s")
    both = (Attachment(text="The price is 40."), Attachment(text="The hall is free."))
    log.append([told("m1", *both)])
    log.append([told("m1", both[0], payload=b"2")])
    assert "The hall is free." not in found(memory)
    log.append([told("m1", *both, payload=b"3")])
    assert found(memory) == {"Here is the plan.", "The price is 40.", "The hall is free."}


def test_a_file_expires_with_its_message(make: Make) -> None:
    memory = make(
        settings=Settings(
            **{**SETTINGS.model_dump(by_alias=True), "expiry": {"user": timedelta(days=1)}}
        )
    )
    memory.log("s").append([told("m1", Attachment(text="The hall is free."))])
    [said, part] = sorted(memory.timeline(limit=2), key=lambda each: each.role is None)
    assert said.expires_at == part.expires_at is not None


def test_an_id_that_looks_like_a_secret_still_ties_a_file_to_its_message(make: Make) -> None:
    memory = make(redactor="default")
    log = memory.log("s")
    log.append([told("<ab12@mail.example.com>", Attachment(text="The hall is free."))])
    log.remove(log.tail(), forget=True)
    assert found(memory) == set()


def test_somebodys_own_metadata_ties_nothing_to_a_message(memory: Memory) -> None:
    log = memory.log("s")
    log.append([told("m1")])
    memory.remember("The door is blue.", session="s", metadata={"attached_to": "m1"})
    log.remove(log.tail(), forget=True)
    assert found(memory) == {"The door is blue."}


def test_a_table_that_is_too_long_for_one_memory_is_cut_and_headings_are_short(make: Make) -> None:
    memory = make(settings=SETTINGS.model_copy(update={"max_content": 500}))
    table = "| a | b |\n|---|---|\n" + "| heron | stork |\n" * 100
    memory.log("s").append([told("m1", Attachment(text=f"# {'x' * 400}\n\n{table}", name="t.md"))])
    parts = [each for each in memory.timeline(limit=50) if each.source == "file"]
    assert "".join(each.content for each in reversed(parts)).count("heron") >= 95
    assert all(len(heading) <= 200 for each in parts for heading in each.metadata["headings"])


def test_a_message_takes_its_file_out_of_recall_and_brings_it_back(memory: Memory) -> None:
    log = memory.log("s")
    log.append(
        [
            told("m1", Attachment(text=PLAN)),
            told("m2", Attachment(text="The hall is free."), content="See this."),
        ]
    )
    message = log.tail()[0]
    assert len(memory.recall("Mrs Peeters", mode="text")) > 0  # in working memory from now on
    assert any("Peeters" in item.content for item in memory.working.items)
    memory.forget(message.node_id)
    assert found(memory) == {"See this.", "The hall is free."}
    assert len(memory.recall("Mrs Peeters", mode="text", hold=False)) == 0
    assert not any("Peeters" in item.content for item in memory.working.items)
    memory.restore(message.node_id)
    assert any(
        "Peeters" in hit.content for hit in memory.recall("Mrs Peeters", mode="text", hold=False)
    )
    assert len(memory.timeline(limit=100)) == len(memory.timeline(limit=100, forgotten=True))


def test_a_part_that_was_forgotten_by_itself_stays_forgotten_when_its_message_comes_back(
    memory: Memory,
) -> None:
    memory.log("s").append(
        [told("m1", Attachment(text="The hall is free."), Attachment(text="The price is 40."))]
    )
    ids = {node.content: node.id for node in memory.list(limit=9)}
    memory.forget(ids["The price is 40."])
    memory.forget(ids["Here is the plan."])
    memory.restore(ids["Here is the plan."])
    assert found(memory) == {"Here is the plan.", "The hall is free."}


def test_a_robot_that_withdraws_its_message_withdraws_its_file_alone(make: Make) -> None:
    a, b = make("a"), make("b")
    a.log("s").append([told("m1", Attachment(text="The hall is free."))])
    b.log("t").append([told("m1", Attachment(text="The price is 40."))])
    a.forget(b.log("t").tail()[0].node_id, robot="a")
    assert found(b) == {"Here is the plan.", "The price is 40."}


def test_a_hit_of_a_file_leads_to_its_message(memory: Memory) -> None:
    memory.log("s").append([told("m1", Attachment(text="The hall is free."), content="")])
    [mention] = memory.recall("hall", mode="text", hold=False)[0].mentions
    log = memory.log(mention.session)
    message = dict(log.entries())[mention.metadata["attached_to"]]
    log.remove([message], forget=True)
    assert found(memory) == set()


def test_an_expired_file_is_kept_for_good_when_its_message_is_restored(make: Make) -> None:
    settings = Settings(
        **{**SETTINGS.model_dump(by_alias=True), "expiry": {"user": timedelta(microseconds=1)}}
    )
    memory = make(settings=settings)
    [said] = memory.remember_many([told("m1", Attachment(text="The hall is free."))])
    assert found(memory) == set()
    memory.restore(said.id)
    assert found(memory) == {"Here is the plan.", "The hall is free."}


@pytest.mark.parametrize("is_swept", [False, True])
def test_a_file_that_was_forgotten_by_itself_stays_so_when_its_expired_message_is_restored(
    make: Make, is_swept: bool
) -> None:
    expiry = {"expiry": {"user": timedelta(days=1)}, "expired_grace": timedelta(days=90)}
    settings = Settings(**{**SETTINGS.model_dump(by_alias=True), **expiry})
    times = [
        datetime.now(UTC)
    ]  # a worker sweeps by the server's time, and would erase what expired long ago
    memory = make(settings=settings, clock=lambda: times[0])
    both = (Attachment(text="The hall is free."), Attachment(text="The price is 40."))
    [said] = memory.remember_many([told("m1", *both)])
    memory.forget(
        next(node.id for node in memory.list(limit=9) if node.content == "The price is 40.")
    )
    times[0] += timedelta(days=2)
    if is_swept:
        memory.purge(timedelta(days=30), confirm="confirmed")  # hides what has expired
    assert found(memory) == set()
    memory.restore(said.id)
    assert found(memory) == {"Here is the plan.", "The hall is free."}


@pytest.mark.parametrize(
    ("attached", "why"),
    [
        ("plan.txt", "attached to be a list of Attachment, got str"),
        ([{"text": "x"}], r"attached\[0\] to be an Attachment, got dict"),
        ([Attachment(text=b"x")], r"attached\[0\].text to be a text, got bytes"),
        ([Attachment(text="x", name=7)], r"attached\[0\].name to be a text, got int"),
        ([Attachment(text="x", pages=(0, 9))], "pages to say where each page begins"),
        ([Attachment(text="x", pages=("0",))], "pages to say where each page begins"),
        ([Attachment(text="x", source="disk")], "source to be one of"),
    ],
)  # fmt: skip
def test_what_is_no_attachment_is_refused_and_nothing_is_written(
    memory: Memory, attached: Any, why: str
) -> None:
    with pytest.raises(InvalidInput, match=why):
        memory.log("s").append([Draft(content="Here.", id="m1", attached=attached)])
    assert memory.log("s").tail() == []


def test_markdown_is_known_by_its_type_whatever_else_that_says(memory: Memory) -> None:
    text = (
        "# Boiler\n\n"
        + "Aker repairs it. " * 30
        + "\n\n# Roof\n\n"
        + "It leaks over the stairs. " * 30
    )
    memory.log("s").append(
        [told("m1", Attachment(text=text, media_type="Text/Markdown; charset=utf-8"))]
    )
    headings = [
        each.metadata["headings"] for each in memory.timeline(limit=10) if each.source == "file"
    ]
    assert headings == [["Boiler"], ["Roof"]]
