"""Tidying on a real database: the profile, merges and their undoing, summaries, what becomes of them, and who sees them."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql

from htm_core import InvalidInput, Memory, ModelError, NotFound, Settings
from htm_core.change import tidying_steps as steps
from htm_core.jobs.tidying import TidyHandler, queue_due
from htm_core.recall import hits
from tests.conftest import SETTINGS, Make

OFF = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
EARLIER = datetime(2026, 5, 6, 12, tzinfo=UTC)
CLARA = (
    "My sister Clara works at a bakery.",
    "my sister Clara works at a bakery",
    "By the way, my sister Clara works at a bakery!",
)
TALK = (
    "We are planning the move of our bakery to a bigger shop in Ghent.", "The deck oven weighs 900 kilos and needs three-phase power.",
    "The landlord wants a deposit of 12,000 euros by June.", "Wim will ask the bank in Ghent for a loan of 40,000 euros.",
    "The bakery opens again on 3 September with a party.", "Saskia paints the new sign in dark green letters.",
    "The flour supplier in Antwerp delivers every Tuesday morning.", "Our old mixer is sold to a school in Leuven.",
)  # fmt: skip

LOVED = (
    "jazz",
    "green tea",
    "hiking",
    "old maps",
    "chess",
    "rainy days",
    "thrillers",
    "olives",
    "Rome",
    "swimming",
    "ramen",
    "skiing",
)


@pytest.fixture
def ann(make: Make) -> Memory:
    return make(user="ann", session="s1", settings=OFF)


def say_clara(ann: Memory) -> list[str]:
    """The same thing three times, in three sessions; gives the ids of the nodes."""
    said = enumerate(CLARA)
    at = EARLIER
    return [
        ann.remember(text, role="user", session=f"s{place}", at=at + timedelta(minutes=place)).id
        for place, text in said
    ]


def shown(memory: Memory) -> list[str]:
    return [line.text for line in memory.profile().lines]


def everything(memory: Memory, database_url: str) -> dict[str, list[Any]]:
    """All rows of all tables of a tenant, but for the tables of tidying, and counts of uses, which recall changes."""
    schema = memory._engine.settings.schema_
    tables = (
        ["nodes", "node_state", "mentions", "keys", "tags", "passages", "vectors", "relations", "working_items", "sessions"]
    )  # fmt: skip
    found = {}
    with psycopg.connect(database_url) as connection:
        for table in tables:
            query = sql.SQL("select t::text from {}.{} t where tenant = %s order by 1").format(
                sql.Identifier(schema), sql.Identifier(table)
            )
            found[table] = [row[0] for row in connection.execute(query, [memory.tenant])]
    return found


# -- the profile ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("real_embedder")
def test_a_profile_says_what_the_user_said_and_where(ann: Memory) -> None:
    ann.remember("My name is Ann. I live in Bergen with my husband Tom.", role="user", at=EARLIER)
    ann.remember("I live in Paris, and my name is Eve.", role="assistant")
    ann.remember("My name is Mallory.", role="tool")
    profile = ann.profile()
    assert [line.text for line in profile.lines] == [
        "My name is Ann.",
        "I live in Bergen with my husband Tom.",
    ]
    assert set(profile.sections) == {"about", "places"}
    [source] = profile.sections["places"][0].sources
    assert ann.get(source.node_id).content.startswith("My name is Ann")
    assert (source.session, source.at) == ("s1", EARLIER)
    assert profile.tokens == ann._engine.tokens(profile.text) <= 300
    assert profile.pending == 0


@pytest.mark.usefixtures("real_embedder")
def test_a_profile_knows_what_was_said_a_moment_ago_and_reads_nothing_twice(
    ann: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.remember("I love jazz.", role="user")
    assert shown(ann) == ["I love jazz."]
    read, facts_of = [], steps.facts_of

    def counted(words: Any, known: Any) -> Any:  # a worker reads what others have said meanwhile
        read.extend(word.content for word in words)
        return facts_of(words, known)

    monkeypatch.setattr(steps, "facts_of", counted)
    assert shown(ann) == ["I love jazz."]
    assert "I love jazz." not in read


def test_without_the_reader_nothing_is_read_and_nothing_is_lost(ann: Memory) -> None:
    ann.remember("I love jazz.", role="user")
    assert (ann.profile().lines, ann.profile().pending) == ((), 1)
    assert ann.tidy(kinds=["profile"]).read == 0
    assert queued(ann, "profile") == 0
    assert ann.profile().pending == 1


@pytest.mark.usefixtures("real_embedder")
def test_what_a_reader_that_fails_could_not_read_is_read_later(
    ann: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.remember("I love jazz.", role="user")

    def fail(*_: Any) -> Any:
        raise ModelError("no memory left")

    with monkeypatch.context() as broken:
        broken.setattr(steps, "facts_of", fail)
        assert (ann.profile().lines, ann.profile().pending) == ((), 1)
        assert ann.tidy(kinds=["profile"]).read == 0
    assert shown(ann) == ["I love jazz."]


@pytest.mark.usefixtures("real_embedder")
def test_what_is_forgotten_is_gone_from_the_profile_and_the_former_value_holds_again(
    ann: Memory,
) -> None:
    new = ann.remember(
        "I moved from Lisbon to Porto.", role="user", at=EARLIER + timedelta(days=1), session="new"
    )
    ann.profile()
    ann.remember("I live in Lisbon.", role="user", at=EARLIER)  # read later than what replaces it
    [line] = ann.profile().lines
    assert (line.text, [each.text for each in line.former]) == (new.content, ["I live in Lisbon."])
    ann.forget(new.id)
    assert shown(ann) == ["I live in Lisbon."]
    ann.restore(new.id)
    assert shown(ann) == [new.content]


@pytest.mark.usefixtures("real_embedder")
def test_what_is_purged_or_erased_leaves_no_word_in_any_table_of_tidying(
    ann: Memory, database_url: str
) -> None:
    secret = ann.remember("I'm allergic to quetzals.", role="user", session="a")
    for place, text in enumerate((*TALK, "I live in Xanadu.")):
        ann.remember(text, role="user", session="b", at=EARLIER + timedelta(minutes=place))
    ann.tidy()
    assert ann.summaries(session="b")
    ann.forget(secret.id)
    ann.purge(datetime.now(UTC) + timedelta(hours=1), confirm="confirmed")
    ann.erase(session="b", confirm="confirmed")
    left = []
    with psycopg.connect(database_url) as connection:
        for table in ("profile_facts", "summaries", "merges", "canonical_forms", "tidied_sessions"):
            query = sql.SQL("select t::text from {}.{} t where tenant = %s").format(
                sql.Identifier(ann._engine.settings.schema_), sql.Identifier(table)
            )
            left += [row[0] for row in connection.execute(query, [ann.tenant])]
    assert not [
        row
        for row in left
        if "quetzal" in row.lower() or "xanadu" in row.lower() or "ghent" in row.lower()
    ]
    assert shown(ann) == []


def test_no_user_sees_anothers_profile_merges_or_summaries(make: Make, ann: Memory) -> None:
    say_clara(ann)
    ann.tidy()
    bob = make(user="bob", settings=OFF)
    assert not bob.profile()
    assert bob.merges() == []
    assert bob.summaries() == []
    with pytest.raises(NotFound):
        bob.unmerge(ann.merges()[0].node_id)
    assert len(ann.merges()) == 2


@pytest.mark.usefixtures("real_embedder")
def test_where_several_people_speak_only_the_users_own_words_count(make: Make) -> None:
    memory = make(user="caroline", session="chat", settings=OFF)
    memory.remember("I live in Oslo.", role="user", name="Melanie")
    memory.remember("I love jazz.", role="user", name="Caroline")
    assert shown(memory) == ["I love jazz."]


@pytest.mark.usefixtures("real_embedder")
def test_what_a_key_no_longer_says_is_no_line(ann: Memory) -> None:
    ann.remember("I work for Siemens.", key="job", role="user")
    assert shown(ann) == ["I work for Siemens."]
    ann.revise("job", "I work for Bosch.", role="user")
    assert shown(ann) == ["I work for Bosch."]


@pytest.mark.usefixtures("real_embedder")
def test_a_large_import_is_read_by_and_by(ann: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from htm_core.change import tidy

    monkeypatch.setattr(tidy, "READ_AT_ONCE", 3)
    monkeypatch.setattr(tidy, "AT_ONCE", 1)
    monkeypatch.setattr(steps, "MESSAGES", 2)
    ann.remember_many(
        [
            {"content": f"I love {what}.", "role": "user", "session": f"s{n % 3}"}
            for n, what in enumerate(LOVED)
        ]
    )
    first = ann.profile()
    assert 0 < first.pending < 12
    assert 0 < len(first.lines) < 12
    ann.flush()  # the job that the profile asked for
    assert ann.profile().pending == 0
    assert len(ann.profile().lines) > len(first.lines) + 3


@pytest.mark.parametrize("budget", [-1, True, 1.5, "many"])
def test_a_budget_that_is_none_is_refused(ann: Memory, budget: Any) -> None:
    with pytest.raises(InvalidInput, match="budget"):
        ann.profile(budget=budget)


@pytest.mark.usefixtures("real_embedder")
def test_a_profile_of_odd_messages_is_empty_and_raises_nothing(ann: Memory) -> None:
    for text in (
        "\u0000 I",
        "\U0001f600" * 500,
        "my name is " * 2_000,
        "\n\n?",
        "I love \u202e evil",
        "{" * 300,
    ):
        try:
            ann.remember(text, role="user")
        except InvalidInput:
            continue
    assert ann.profile().pending == 0


@pytest.mark.usefixtures("real_embedder")
def test_the_awaited_twin_says_the_same(ann: Memory) -> None:
    ann.remember("I love jazz.", role="user")

    async def read() -> tuple[str, int]:
        return (await ann.aio.profile()).text, len((await ann.aio.tidy(dry_run=True)).merges)

    text, pending = asyncio.run(read())
    assert text.startswith('Preferences: "I love jazz." (said ')
    assert pending == 0


# -- merges ---------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("real_embedder")
def test_a_dry_run_says_what_would_be_merged_and_changes_nothing(
    ann: Memory, database_url: str
) -> None:
    first, *others = say_clara(ann)
    before = everything(ann, database_url)
    would = ann.tidy(dry_run=True)
    assert would.dry_run
    assert {merge.node_id for merge in would.merges} == set(others)
    assert {merge.into_id for merge in would.merges} == {first}
    assert would.lines[0].text in CLARA
    assert ann.merges() == []
    assert everything(ann, database_url) == before
    did = ann.tidy()
    assert {merge.node_id for merge in did.merges} == set(others)
    assert ann.tidy().merges == ()


def test_a_merge_changes_no_byte_of_what_it_joins_and_undoing_it_leaves_none_behind(
    ann: Memory, database_url: str
) -> None:
    ids = say_clara(ann)
    ann._engine.write_behind.write()
    before, said = everything(ann, database_url), ann.timeline()
    ann.tidy(kinds=["merge"])
    assert len(ann.merges()) == 2
    assert everything(ann, database_url) == before
    assert ann.timeline() == said
    assert [mention.content for mention in ann.timeline()] == list(CLARA)
    assert ann.unmerge(ids[0]) == 2
    assert ann.merges() == []
    assert everything(ann, database_url) == before
    assert [ann.get(id).content for id in ids] == list(CLARA)


def test_what_was_undone_stays_apart(ann: Memory) -> None:
    ids = say_clara(ann)
    ann.tidy()
    assert ann.unmerge(ids[1]) == 1
    ann.remember("My sister Clara works at a bakery!!", role="user", session="s9", at=EARLIER)
    ann.tidy()
    merged = {merge.node_id for merge in ann.merges()}
    assert ids[1] not in merged
    assert len(merged) == 2
    with pytest.raises(NotFound):
        ann.unmerge(ids[1])


def test_how_often_and_when_it_was_said_counts_what_says_the_same(ann: Memory) -> None:
    first = say_clara(ann)[0]
    ann.remember(CLARA[0], role="user", session="s9", at=EARLIER + timedelta(days=9))
    assert (ann.get(first).times_said, ann.get(first).last_said) == (2, EARLIER + timedelta(days=9))
    ann.tidy()
    assert (ann.get(first).times_said, ann.get(first).last_said) == (4, EARLIER + timedelta(days=9))
    ann.unmerge(first)
    assert ann.get(first).times_said == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"name": "Ann"}, {"name": "Bob"}),
        ({"role": "user"}, {"role": "assistant"}),
        ({"role": "user"}, {"role": "user", "key": "sister"}),
    ],
    ids=["speakers", "roles", "a key"],
)
def test_the_same_words_of_others_are_another_memory(
    ann: Memory, one: dict[str, Any], other: dict[str, Any]
) -> None:
    ann.remember(CLARA[0], **one)
    ann.remember(CLARA[1], **other)
    assert ann.tidy(kinds=["merge"]).merges == ()


def test_tomorrow_of_two_days_and_he_of_two_sessions_are_two_facts_each(ann: Memory) -> None:
    for days, session in ((0, "a"), (30, "b")):
        ann.remember(
            "I fly to Rome tomorrow" + "!" * days,
            role="user",
            session=session,
            at=EARLIER + timedelta(days=days),
        )
        ann.remember(
            "He likes it very much" + "!" * days,
            role="user",
            session=session,
            at=EARLIER + timedelta(days=days),
        )
    assert ann.tidy(kinds=["merge"]).merges == ()


def test_a_memory_that_somebody_else_says_too_is_separated_again(ann: Memory) -> None:
    ids = say_clara(ann)
    ann.tidy()
    ann.remember(CLARA[1], role="user", name="Bob", session="s5")
    ann.tidy()
    assert ids[1] not in {merge.node_id for merge in ann.merges()}


def test_what_was_shown_as_one_is_forgotten_and_restored_as_one(ann: Memory) -> None:
    ids = say_clara(ann)
    ann.tidy()
    ann.forget(ids[1])
    assert ann.recall("Where does Clara work?").hits == ()
    assert ann.timeline() == []
    assert ann.profile().lines == ()
    ann.restore(ids[0])
    assert [mention.content for mention in ann.timeline()] == list(CLARA)


def test_erasing_what_stands_for_others_shows_them_again(ann: Memory) -> None:
    ids = say_clara(ann)
    ann.tidy()
    ann.erase(session="s0", confirm="confirmed")
    assert ann.merges() == []
    assert ann.get(ids[1]).content == CLARA[1]
    assert {hit.content for hit in ann.recall("Where does Clara work?")} >= {CLARA[2]}


def test_an_unknown_kind_and_an_unknown_node_are_refused(ann: Memory) -> None:
    bad: Any = ["tidy"]
    with pytest.raises(InvalidInput, match="kind"):
        ann.tidy(kinds=bad)
    with pytest.raises(InvalidInput, match="list"):
        ann.tidy(kinds="merge")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        ann.unmerge("no id")


# -- summaries ------------------------------------------------------------------------------------------------------------


def say_talk(ann: Memory, session: str = "talk") -> list[str]:
    at = [EARLIER + timedelta(minutes=place) for place in range(len(TALK))]
    return [
        ann.remember(text, role="user", session=session, at=when).id
        for text, when in zip(TALK, at, strict=True)
    ]


def test_a_session_is_summarised_by_its_own_words_and_recall_never_finds_the_summary(
    ann: Memory,
) -> None:
    say_talk(ann)
    nodes, mentions = ann.stats().nodes, ann.stats().mentions
    [summary] = ann.tidy(kinds=["summarize"]).summaries
    assert ann.summaries(session="talk") == [summary]
    assert summary.messages == len(TALK)
    said = {mention.id: mention.content for mention in ann.timeline()}
    assert [line.removeprefix("user: ") for line in summary.lines] == [
        said[id] for id in summary.sources
    ]
    assert (ann.stats().nodes, ann.stats().mentions) == (nodes, mentions)


def test_a_summary_goes_with_what_it_was_made_of_and_is_made_anew_without_it(ann: Memory) -> None:
    ids = say_talk(ann)
    [summary] = ann.tidy(kinds=["summarize"]).summaries
    chosen = next(
        id for id, text in zip(ids, TALK, strict=True) if f"user: {text}" in summary.lines
    )
    ann.forget(chosen)
    assert ann.summaries() == []
    [again] = ann.tidy(kinds=["summarize"]).summaries
    assert ann.get(ids[0]) is not None or chosen == ids[0]
    assert not set(again.sources) & {
        mention.id for mention in ann.timeline(forgotten=True) if mention.node_id == chosen
    }


def test_only_sessions_that_have_changed_are_summarised_again(ann: Memory) -> None:
    say_talk(ann)
    assert len(ann.tidy().summaries) == 1
    assert ann.tidy().summaries == ()
    ann.remember("The new shop has a terrace for twelve guests.", role="user", session="talk")
    assert [each.messages for each in ann.tidy().summaries] == [len(TALK) + 1]


def test_a_model_may_write_summaries_which_go_with_any_message_of_the_session(ann: Memory) -> None:
    ids, seen = say_talk(ann), list[str]()

    def write(messages: Sequence[str]) -> list[str]:
        seen.extend(messages)
        return ["The bakery\nmoves to Ghent.", "", "The bakery moves to Ghent.", "x" * 1_000]

    assert ann.tidy(kinds=["summarize"], dry_run=True, summarizer=write).summaries
    assert seen == [], "a dry run asks no model"
    [summary] = ann.tidy(kinds=["summarize"], summarizer=write).summaries
    assert seen[0] == f"[2026-05-06 user] {TALK[0]}"
    assert summary.lines == ("The bakery moves to Ghent.", "x" * 400)
    assert summary.model
    assert ann.summaries() == [summary]
    ann.forget(ids[3])
    assert ann.summaries() == []


def test_what_is_forgotten_while_a_model_writes_is_in_no_summary(ann: Memory) -> None:
    ids = say_talk(ann)
    written = list[Sequence[str]]()

    def write(messages: Sequence[str]) -> list[str]:
        if not written:
            ann.forget(ids[0])
        written.append(messages)
        return [f"{len(messages)} messages"]

    assert [each.lines for each in ann.tidy(kinds=["summarize"], summarizer=write).summaries] == [
        ("7 messages",)
    ]
    assert [len(messages) for messages in written] == [8, 7]


@pytest.mark.parametrize("answer", [[], "", [""], 3, [3], None])
def test_an_answer_that_is_no_summary_is_an_error_and_nothing_is_stored(
    ann: Memory, answer: Any
) -> None:
    say_talk(ann)
    with pytest.raises(ModelError, match="summarizer"):
        ann.tidy(kinds=["summarize"], summarizer=lambda _messages: answer)
    assert ann.summaries() == []
    with pytest.raises(InvalidInput, match="summarizer"):
        ann.tidy(summarizer="gpt")
    assert len(ann.tidy().summaries) == 1


# -- the worker -----------------------------------------------------------------------------------------------------------


def queued(ann: Memory, *kinds: Any) -> int:
    """Queue what is due for everybody, and give how much; what is due for the tenants of all other tests is left undone."""
    with ann._engine.database.transaction("", role="htm_worker") as connection:
        count = queue_due(connection, kinds)
        connection.execute(
            "delete from jobs where tenant <> %s and kind = any(%s) and claimed_until is null",
            (ann._engine.tenant, list(kinds)),
        )
    return count


@pytest.mark.usefixtures("real_embedder")
def test_the_worker_does_what_is_due_once(ann: Memory) -> None:
    say_clara(ann)
    say_talk(ann)
    assert queued(ann, "profile", "merge", "summarize") >= 3
    assert ann.flush()
    assert len(ann.merges()) == 2
    assert len(ann.summaries()) == 1
    with ann._engine.transaction() as connection:
        assert not steps.changed(connection, "profile", owners=["ann"], limit=5)
    assert not set(CLARA).isdisjoint(shown(ann))


def test_a_conversation_that_goes_on_is_not_summarised_by_the_worker_yet(ann: Memory) -> None:
    for text in TALK:
        ann.remember(text, role="user", session="now")
    queued(ann, "summarize")
    ann.flush()
    assert ann.summaries() == []


def test_a_step_that_fails_leaves_nothing_half_done_and_is_done_again(
    ann: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    say_clara(ann)
    whole = steps.store.mark

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the power is gone")

    monkeypatch.setattr(steps.store, "mark", fail)
    with pytest.raises(RuntimeError):
        ann.tidy()
    assert ann.merges() == []
    monkeypatch.setattr(steps.store, "mark", whole)
    assert len(ann.tidy().merges) == 2


# -- backups --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("real_embedder")
def test_a_backup_carries_merges_what_was_undone_and_summaries_and_the_profile_is_read_again(
    make: Make, ann: Memory
) -> None:
    ids = say_clara(ann)
    say_talk(ann)
    ann.tidy()
    ann.unmerge(ids[2])
    out = io.StringIO()
    ann.backup.write(out)
    there = make(user="ann", tenant=f"{ann.tenant}-there", settings=OFF)
    there.backup.read(io.StringIO(out.getvalue()))
    assert [(each.node_id, each.into_id) for each in there.merges()] == [(ids[1], ids[0])]
    assert [each.lines for each in there.summaries()] == [each.lines for each in ann.summaries()]
    assert there.profile().lines == ann.profile().lines
    there.tidy()
    assert len(there.merges()) == 1, "what was undone stays apart there too"


def test_a_backup_that_merges_across_owners_is_refused(make: Make, ann: Memory) -> None:
    say_clara(ann)
    ann.tidy()
    make(user="bob", settings=OFF).remember("Mine alone.")
    out = io.StringIO()
    ann.backup.write(out)
    lines = [
        line.replace('"owner":"ann"', '"owner":"bob"') if '"part":"merges"' in line else line
        for line in out.getvalue().splitlines(keepends=True)
    ]
    there = make(tenant=f"{ann.tenant}-forged", settings=OFF)
    with pytest.raises(InvalidInput):
        there.backup.read(io.StringIO("".join(lines)))


# -- recall ---------------------------------------------------------------------------------------------------------------


def test_what_was_merged_is_one_hit_with_the_mentions_of_all_of_it_in_their_own_words(
    ann: Memory,
) -> None:
    ids = say_clara(ann)
    ann.remember("The bakery of Clara opens at six.", role="user")
    before = ann.recall("Where does my sister Clara work?")
    assert {hit.node.id for hit in before} >= set(ids)
    ann.tidy()
    after = ann.recall("Where does my sister Clara work?")
    [hit] = [hit for hit in after if hit.node.id in ids]
    assert hit.node.id == ids[0]
    assert [mention.content for mention in hit.mentions] == list(reversed(CLARA))
    assert (hit.times_said, hit.node.times_said) == (3, 3)
    assert hit.last_said == hit.mentions[0].at
    assert len(after) == 2
    ann.unmerge(ids[0])
    again = ann.recall("Where does my sister Clara work?")
    assert [(hit.node.id, hit.score) for hit in again] == [
        (hit.node.id, hit.score) for hit in before
    ]


def test_merged_memories_take_the_place_of_no_other_hit(ann: Memory) -> None:
    say_clara(ann)
    ann.remember("The bakery of Clara opens at six.", role="user")
    ann.tidy()
    assert len(ann.recall("my sister Clara bakery", limit=2)) == 2
    [hit] = ann.recall("my sister Clara works at a bakery", limit=1)
    assert hit.node.content == CLARA[0]


def test_a_filter_that_only_a_copy_satisfies_finds_the_copy(ann: Memory) -> None:
    ann.remember(CLARA[0], role="user", session="s0", at=EARLIER)
    copy = ann.remember(
        CLARA[1], role="user", session="s1", at=EARLIER + timedelta(days=1), tags=["family"]
    )
    ann.tidy()
    assert len(ann.merges()) == 1
    [hit] = ann.recall("Where does Clara work?", tags=["family"])
    assert hit.node.id == copy.id
    [hit] = ann.recall("Where does Clara work?", session="s1")
    assert [mention.content for mention in hit.mentions] == [CLARA[1]]


def test_what_stands_for_others_and_is_gone_hides_none_of_them(ann: Memory) -> None:
    ids = say_clara(ann)
    ann.tidy()
    ann.erase(session="s0", confirm="confirmed")
    assert {hit.node.id for hit in ann.recall("Where does Clara work?")} & {ids[1], ids[2]}


def test_where_nothing_is_merged_recall_asks_once_a_minute_at_most(
    ann: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.remember(CLARA[0], role="user")
    ann.recall("Where does Clara work?")
    monkeypatch.setattr(hits.store, "merged_among", lambda *_: pytest.fail("nothing is merged"))
    assert len(ann.recall("Where does Clara work?")) == 1


def test_a_merge_of_this_process_is_seen_at_once(ann: Memory) -> None:
    say_clara(ann)
    assert len(ann.recall("Where does Clara work?")) == 3
    # Not by a queued job, which the worker of another process could do: this one would see that within a minute.
    TidyHandler(ann._engine.database, "merge").do({ann._engine.tenant: []})
    assert len(ann.recall("Where does Clara work?")) == 1
