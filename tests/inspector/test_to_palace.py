"""Filing a memory in the palace from its page: what is asked, what is written, and what is refused."""

from __future__ import annotations

import re

from htm_core.palace import Palace
from tests.conftest import Make
from tests.inspector.conftest import SignIn, csrf_of

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def test_a_memory_is_filed_after_a_page_that_asks_and_the_audit_has_it(
    sign_in: SignIn, make: Make
) -> None:
    with make() as memory:
        node = memory.remember("The boat needs new paint each May.")
        palace, client = Palace(memory), sign_in()
        path = f"/ui/memory/{node.id}/palace"
        assert path in client.get(f"/ui/memory/{node.id}").text
        form = {
            "csrf": csrf_of(client.get(path)),
            "room": "boat",
            "drawer": "care",
            "reason": "Ann asks each year",
        }
        ask = client.post(path, data=form)
        assert ask.status_code == 200
        assert palace.rooms() == []  # nothing is filed before it is confirmed
        done = client.post(path, data=form | {"confirmed": "1"})
        assert done.status_code == 303
        shown = client.get(done.headers["location"]).text
        assert "The memory is filed." in shown
        [placed] = palace.look(room="boat", drawer="care")
        assert (placed.content, placed.node_id) == (node.content, node.id)
        [decision] = palace.decisions()
        assert (decision.outcome, decision.reason, decision.robot) == (
            "promoted",
            "Ann asks each year",
            "inspector",
        )
        assert memory.get(node.id).content == node.content
        again = client.post(path, data=form | {"confirmed": "1"})
        assert "nothing was filed" in client.get(again.headers["location"]).text
        assert [each.outcome for each in palace.decisions()] == ["duplicate", "promoted"]
        assert len(palace.look(room="boat", drawer="care")) == 1


def test_what_no_palace_takes_is_refused_with_a_reason_and_nothing_is_filed(
    sign_in: SignIn, make: Make
) -> None:
    with make() as memory:
        node = memory.remember("Nothing of this is filed.")
        client = sign_in()
        path = f"/ui/memory/{node.id}/palace"
        form = {
            "csrf": csrf_of(client.get(path)),
            "room": "r",
            "drawer": "d",
            "reason": "why",
            "confirmed": "1",
        }
        for wrong in ({"room": ""}, {"drawer": " "}, {"reason": ""}, {"room": "x" * 5_000}, {"reason": "x" * 50_000},
                      {"room": "a\x00b"}, {"reason": "a\x00b"}):  # fmt: skip
            assert client.post(path, data=form | wrong).status_code == 422, wrong
        assert client.post(path, data=form | {"csrf": "guessed"}).status_code == 403
        assert (
            client.post(path, data=form, headers={"Sec-Fetch-Site": "cross-site"}).status_code
            == 403
        )
        assert Palace(memory).rooms() == []
        assert Palace(memory).decisions() == []


def test_hostile_words_are_shown_as_words(sign_in: SignIn, make: Make) -> None:
    with make() as memory:
        node = memory.remember(f"Ann, who writes {HOSTILE} now and then, likes tea.")
        Palace(memory).file("x", room="safe", drawer="box")
        client = sign_in()
        path = f"/ui/memory/{node.id}/palace"
        page = client.get(path)
        ask = client.post(
            path, data={"csrf": csrf_of(page), "room": "r", "drawer": "d", "reason": HOSTILE}
        )
        assert ask.status_code == 200
        for each in (page, ask):
            assert "&lt;script&gt;" in each.text
            assert not re.search("<script>|<img", each.text)


def test_nobody_files_a_memory_of_another_user(sign_in: SignIn, make: Make) -> None:
    with make(user="ann") as ann:
        node = ann.remember("Ann's own words.")
    bob = sign_in(user="bob")
    path = f"/ui/memory/{node.id}/palace"
    assert bob.get(path).status_code == 404
    form = {
        "csrf": csrf_of(bob.get("/ui/")),
        "room": "r",
        "drawer": "d",
        "reason": "why",
        "confirmed": "1",
    }
    assert bob.post(path, data=form).status_code == 404


def test_what_it_contradicts_is_kept_and_said(sign_in: SignIn, make: Make) -> None:
    with make() as memory:
        node = memory.remember("The harbour office is not open on Mondays.")
        palace, client = Palace(memory), sign_in()
        palace.file("The harbour office is open on Mondays.", room="harbour", drawer="hours")
        path = f"/ui/memory/{node.id}/palace"
        form = {
            "csrf": csrf_of(client.get(path)),
            "room": "harbour",
            "drawer": "hours",
            "reason": "I was there",
        }
        done = client.post(path, data=form | {"confirmed": "1"})
        assert "that it contradicts: 1." in client.get(done.headers["location"]).text
        assert len(palace.look(room="harbour", drawer="hours")) == 2
        assert palace.decisions()[0].outcome == "conflict"
