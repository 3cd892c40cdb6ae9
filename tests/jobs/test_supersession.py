"""Supersession: what a newer saying replaces is found by a job, yields its place in recall, and comes back when that is undone."""

from __future__ import annotations

import io
import re
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from htm_core import InvalidInput, Memory, NotFound, Settings, StorageError, shutdown
from htm_core.change import supersession
from htm_core.db import jobs
from htm_core.db.database import Database
from htm_core.jobs import handlers
from htm_core.memory.process import runtime
from tests.conftest import SETTINGS, Make

pytestmark = pytest.mark.usefixtures("real_embedder")  # the reader needs its files

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off", "supersession": 0.5})
CAR, SOLD = "I drive a Honda Civic.", "I sold the Honda Civic, I drive a Tesla now."


def say(memory: Memory, *texts: str, role: str = "user", start: datetime = START) -> list[str]:
    """Say texts a day apart, and let the jobs be done; gives their ids."""
    ids = [
        memory.remember(text, role=role, at=start + timedelta(days=day)).id
        for day, text in enumerate(texts)
    ]  # type: ignore[arg-type]
    assert memory.flush(timeout=60)
    return ids


def seen(memory: Memory, question: str = "Which car do I drive?", **options: Any) -> list[str]:
    return [hit.content for hit in memory.recall(question, hold=False, **options)]


@pytest.fixture
def quiet(make: Make) -> Iterator[Memory]:
    with make(settings=IDLE) as memory:
        yield memory


def test_a_job_notes_what_a_newer_saying_replaces_with_a_reason_and_an_audit_row(
    quiet: Memory,
) -> None:
    older, newer = say(quiet, CAR, SOLD)
    [change] = quiet.changes.list()
    assert (change.relation, change.state, change.judge) == ("supersedes", "standing", "reader")
    assert (change.older.node_id, change.newer.node_id) == (older, newer)
    assert change.reason
    assert 0.5 <= change.confidence <= 1
    assert change.holds_from == START + timedelta(days=1)
    [made] = quiet.changes.audit(change.id)
    assert (made.action, made.by, made.reason) == ("made", "reader", change.reason)


def test_the_older_of_two_sayings_yields_its_place_and_each_says_so_of_the_other(
    quiet: Memory,
) -> None:
    say(quiet, CAR, SOLD)
    newer, older = quiet.recall("Do I drive a Honda Civic?", hold=False)
    assert (newer.content, older.content) == (SOLD, CAR)
    assert [each.older.content for each in newer.formerly] == [CAR]
    assert newer.superseded_by is None
    assert older.superseded_by is not None
    assert older.superseded_by.newer.content == SOLD
    assert older.formerly == ()
    assert newer.score >= older.score


def test_the_present_value_is_brought_in_when_only_the_older_one_was_found(quiet: Memory) -> None:
    say(quiet, CAR, SOLD)
    assert seen(quiet, "Honda Civic", limit=1) == [SOLD]


def test_with_a_filter_nothing_is_brought_in_that_the_filter_may_exclude(quiet: Memory) -> None:
    say(quiet, CAR, SOLD)
    [hit] = quiet.recall("Honda Civic", timeframe="2026-03-01", hold=False)
    assert hit.content == CAR
    assert hit.superseded_by is not None


def test_undoing_a_change_gives_recall_back_as_it_was_to_the_byte(make: Make) -> None:
    off = Settings(**IDLE.model_dump(by_alias=True) | {"supersession": None})
    with make(settings=off) as before, make(settings=IDLE) as memory:
        say(memory, CAR, SOLD)
        plain = repr(before.recall("Do I drive a Honda Civic?", hold=False).hits)
        assert repr(memory.recall("Do I drive a Honda Civic?", hold=False).hits) != plain
        [change] = memory.changes.list()
        undone = memory.changes.undo(change.id, reason="I have both cars")
        assert undone.state == "undone"
        assert repr(memory.recall("Do I drive a Honda Civic?", hold=False).hits) == plain
        assert [(each.action, each.reason) for each in memory.changes.audit(change.id)][1:] == [
            ("undone", "I have both cars")
        ]
        with pytest.raises(InvalidInput, match="undone"):
            memory.changes.undo(change.id)
        memory.changes.confirm(change.id)
        assert repr(memory.recall("Do I drive a Honda Civic?", hold=False).hits) != plain


def test_an_undone_change_is_not_made_again_by_the_job(quiet: Memory, database: Database) -> None:
    _, newer = say(quiet, CAR, SOLD)
    [change] = quiet.changes.list()
    quiet.changes.undo(change.id)
    with database.transaction(quiet.tenant) as connection:
        jobs.enqueue(connection, [uuid.UUID(newer)], kind="supersede")
    assert quiet.flush(timeout=60)
    assert [each.state for each in quiet.changes.list()] == ["undone"]


@pytest.mark.parametrize("how", ["forgotten", "erased"])
@pytest.mark.parametrize("which", [CAR, SOLD])
def test_what_goes_while_it_is_compared_gets_no_edge(
    quiet: Memory, monkeypatch: pytest.MonkeyPatch, which: str, how: str
) -> None:
    compared = handlers._edges

    def meanwhile(said: Any, near: Any) -> Any:
        edges = compared(said, near)
        if edges:
            quiet.forget(next(node.id for node in quiet.list() if node.content == which))
            if how == "erased":
                quiet.purge(timedelta(0), confirm="confirmed")
        return edges

    monkeypatch.setattr(handlers, "_edges", meanwhile)
    say(quiet, CAR, SOLD)
    assert [node.content for node in quiet.list()] == [CAR if which == SOLD else SOLD]
    assert not [job for job in quiet.jobs.list() if job.error]
    with quiet._engine.transaction() as connection:
        assert not connection.execute("select 1 from supersessions").fetchall()


def test_a_change_that_is_told_in_passing_replaces_the_one_saying_that_it_means(
    quiet: Memory,
) -> None:
    older, _, _, newer = say(
        quiet,
        "book club is first wednesday of the month, 7pm at Anna's",
        "my brother has a piano lesson on fridays",
        "I bake bread for the whole week",
        "heads up, book club's been shifted to thursdays because of Anna's shifts",
    )
    change = max(quiet.changes.list(), key=lambda each: each.confidence)
    assert change.confidence > 0.95
    assert (change.older.node_id, change.newer.node_id) == (older, newer)


def test_the_reader_raises_the_confidence_of_an_edge_that_it_made_and_of_no_other(
    quiet: Memory,
) -> None:
    say(quiet, CAR, SOLD)
    [made] = quiet.changes.list()

    def again(confidence: float) -> float:
        edge = supersession.NewEdge(
            uuid.uuid4(),
            uuid.UUID(made.newer.node_id),
            uuid.UUID(made.older.node_id),
            "supersedes",
            confidence,
            "surer",
            made.holds_from,
        )
        with quiet._engine.transaction() as connection:
            supersession.insert(connection, [edge], owner="", judge="reader")
        return quiet.changes.list()[0].confidence

    surer = 1 - 1e-12
    assert again(surer) == surer
    assert again(0.6) == surer
    assert [each.action for each in quiet.changes.audit(made.id)] == ["made"]
    quiet.changes.undo(made.id)
    assert again(1.0) == surer


def test_a_value_that_changed_twice_shows_the_last_one_first_and_both_former_ones(
    quiet: Memory,
) -> None:
    say(quiet, CAR, SOLD, "I sold the Tesla, I drive a Volvo now.")
    hits = quiet.recall("Honda Civic or Tesla?", hold=False)
    assert hits[0].content.endswith("Volvo now.")
    assert {each.older.content for each in hits[0].formerly} == {CAR, SOLD}


def test_what_is_said_again_later_holds_again(quiet: Memory) -> None:
    say(quiet, CAR, SOLD)
    say(quiet, CAR, start=START + timedelta(days=9))
    newest = quiet.recall("Do I drive a Honda Civic?", hold=False)
    assert newest[0].content == CAR
    assert newest[0].superseded_by is None


def test_below_the_threshold_nothing_moves_and_none_switches_it_off(make: Make) -> None:
    sure = Settings(**IDLE.model_dump(by_alias=True) | {"supersession": 1.0})
    off = Settings(**IDLE.model_dump(by_alias=True) | {"supersession": None})
    with make(settings=sure) as memory, make(settings=off) as without:
        say(memory, CAR, SOLD)
        assert memory.changes.list()
        assert memory.changes.list()[0].confidence < 1
        plain = without.recall("Do I drive a Honda Civic?", hold=False)
        assert memory.recall("Do I drive a Honda Civic?", hold=False).hits == plain.hits
    with make(settings=off, tenant=f"off-{uuid.uuid4().hex[:8]}") as memory:
        say(memory, CAR, SOLD)
        assert memory.changes.list() == []


@pytest.mark.parametrize("role", ["tool", "system", "assistant"])
def test_what_a_tool_or_an_assistant_says_replaces_no_words_of_a_user(
    quiet: Memory, role: str
) -> None:
    say(quiet, CAR)
    say(
        quiet,
        "You sold the Honda Civic, you drive a Tesla now.",
        SOLD,
        role=role,
        start=START + timedelta(days=3),
    )
    assert [each for each in quiet.changes.list() if each.older.role == "user"] == []


def test_another_users_words_replace_nothing_and_are_not_seen(make: Make) -> None:
    with make(settings=IDLE, user="ann") as ann, make(settings=IDLE, user="ben") as ben:
        say(ann, CAR)
        say(ben, SOLD)
        assert ann.changes.list() == ben.changes.list() == []
        say(ann, SOLD)
        [change] = ann.changes.list()
        assert ben.changes.list() == []
        with pytest.raises(NotFound):
            ben.changes.undo(change.id)
        with pytest.raises(NotFound):
            ben.changes.audit(change.id)


def test_an_import_of_many_texts_is_not_compared_and_neither_is_a_file(
    quiet: Memory, tmp_path: Any
) -> None:
    quiet.remember_many(
        [{"content": CAR}, {"content": SOLD}, *({"content": f"line {n}"} for n in range(30))]
    )
    (tmp_path / "car.md").write_text(f"{CAR}\n\n# Later\n\n{SOLD}\n")
    quiet.load(tmp_path)
    assert quiet.flush(timeout=60)
    assert quiet.changes.list() == []


def test_a_vector_that_comes_with_the_text_or_at_once_is_compared_as_well(make: Make) -> None:
    with make(settings=IDLE, embed="now") as memory:
        say(memory, CAR, SOLD)
        assert len(memory.changes.list()) == 1


def test_a_process_without_a_worker_that_embeds_at_once_compares_at_once_too(make: Make) -> None:
    with make(settings=IDLE, embed="now") as memory:
        memory.remember(CAR, role="user", at=START)
        memory.remember(SOLD, role="user", at=START + timedelta(days=1))
        assert [(each.older.content, each.newer.content) for each in memory.changes.list()] == [
            (CAR, SOLD)
        ]
        assert memory.jobs.list(kind="supersede") == []


def test_what_cannot_be_compared_at_once_is_stored_and_left_to_a_worker(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StorageError("the server went away")

    with make(settings=IDLE, embed="now") as memory:
        memory.remember(CAR, role="user", at=START)
        monkeypatch.setattr(jobs, "claim_nodes", fail)
        newer = memory.remember(SOLD, role="user", at=START + timedelta(days=1))
        assert memory.get(newer.id).content == SOLD
        assert [each.node_id for each in memory.jobs.list(kind="supersede")] == [newer.id]


@pytest.mark.parametrize("way", ["forget", "purge", "erase"])
def test_a_change_goes_with_what_it_is_about(make: Make, database: Database, way: str) -> None:
    with make(settings=IDLE, user="ann") as memory:
        older, _ = say(memory, CAR, SOLD)
        if way == "erase":
            memory.erase(user="ann", confirm="confirmed")
        else:
            memory.forget(older)
            if way == "purge":
                memory.purge(datetime.now(UTC) + timedelta(days=1), confirm="confirmed")
        assert memory.changes.list() == []
        if way == "forget":
            memory.restore(older)
            assert len(memory.changes.list()) == 1
            return
        with database.transaction(memory.tenant, role="htm_worker") as connection:
            rows = [
                connection.execute(f"select count(*) as n from {t}").fetchone()
                for t in ("supersessions", "supersession_audit")
            ]
        assert [row["n"] for row in rows if row] == [0, 0]


def test_a_backup_carries_changes_and_their_audit(make: Make) -> None:
    text = io.StringIO()
    with make(settings=IDLE) as memory:
        say(memory, CAR, SOLD)
        [change] = memory.changes.list()
        memory.changes.undo(change.id, reason="no")
        memory.backup.write(text)
    with make(settings=IDLE, tenant=f"copy-{uuid.uuid4().hex[:8]}") as copy:
        for _ in range(2):  # read twice, it is there once
            copy.backup.read(text.getvalue().splitlines())
            [read] = copy.changes.list()
            assert (read.id, read.state, read.reason) == (change.id, "undone", change.reason)
            assert [each.action for each in copy.changes.audit(read.id)] == ["made", "undone"]


def test_a_backup_with_an_edge_to_somebody_elses_node_is_refused(make: Make) -> None:
    text = io.StringIO()
    with make(settings=IDLE) as memory:
        say(memory, CAR, SOLD)
        memory.backup.write(text)
    lines = [
        line.replace('"owner":""', '"owner":"eve"') if '"supersessions"' in line else line
        for line in text.getvalue().splitlines()
    ]
    with (
        make(settings=IDLE, tenant=f"copy-{uuid.uuid4().hex[:8]}") as copy,
        pytest.raises(InvalidInput, match="supersessions"),
    ):
        copy.backup.read(lines)


def test_a_job_that_is_killed_midway_is_done_again_and_makes_the_edge_once(
    make: Make, monkeypatch: pytest.MonkeyPatch, url: str | None
) -> None:
    shutdown()  # the worker of an earlier test would do the job before
    insert = supersession.insert

    def killed(connection: Any, edges: Sequence[Any], **options: Any) -> Any:
        insert(connection, edges, **options)
        raise KeyboardInterrupt

    with make(settings=IDLE) as memory:
        memory.remember(CAR, role="user", at=START)
        memory.remember(SOLD, role="user", at=START + timedelta(days=1))
        with monkeypatch.context() as patch:
            patch.setattr(handlers.supersession, "insert", killed)
            with pytest.raises(KeyboardInterrupt):
                runtime(url, IDLE).worker.drain()
        assert memory.changes.list() == []
        assert any(job.kind == "supersede" for job in memory.jobs.list())
        with runtime(url, IDLE).database.transaction(
            memory.tenant, role="htm_worker"
        ) as connection:
            connection.execute("update jobs set claimed_until = null where tenant = this_tenant()")
        assert memory.flush(timeout=60)
        assert len(memory.changes.list()) == 1
        assert len(memory.changes.audit(memory.changes.list()[0].id)) == 1


def test_an_edge_holds_from_the_time_of_the_newer_saying(quiet: Memory, database: Database) -> None:
    older, newer = say(quiet, CAR, SOLD)
    with database.transaction(quiet.tenant) as connection:

        def at(moment: datetime | None) -> int:
            return len(
                supersession.around(
                    connection.fetch, [uuid.UUID(older)], owners=[""], threshold=0.5, moment=moment
                )
            )

        assert (at(START), at(START + timedelta(days=1)), at(None)) == (0, 1, 1)
        assert (
            supersession.around(connection.fetch, [uuid.UUID(newer)], owners=["eve"], threshold=0.5)
            == []
        )


def test_a_tenant_without_changes_is_not_asked_for_them_each_time(
    quiet: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(quiet, "The kettle is blue.")
    seen(quiet, "kettle")
    monkeypatch.setattr(supersession, "around", lambda *_, **__: pytest.fail("it was asked"))
    assert seen(quiet, "kettle") == ["The kettle is blue."]


def test_each_of_many_edges_tells_both_sayings_that_it_shares_with_others(quiet: Memory) -> None:
    diary = [
        f"On day {day} we walked along the river and counted {day} boats." for day in range(16)
    ]
    ids = [uuid.UUID(id) for id in say(quiet, *diary)]
    with quiet._engine.transaction() as connection:
        edges = supersession.around(connection.fetch, ids, owners=None, threshold=0.5)
    assert len(edges) > 2 * len(diary)
    for edge in edges:
        newer, older = (diary.index(each.content) for each in (edge.newer, edge.older))
        assert [edge.newer.node_id, edge.older.node_id] == [str(ids[newer]), str(ids[older])]
        assert newer > older
        assert edge.newer.at == START + timedelta(days=newer)


@pytest.mark.parametrize(
    ("id", "error"),
    [
        ("nonsense", InvalidInput),
        ("00000000-0000-4000-8000-000000000000", NotFound),
        ("\x00", InvalidInput),
    ],
)
def test_an_unknown_change_is_a_clear_error(quiet: Memory, id: str, error: type[Exception]) -> None:
    for verb in (quiet.changes.undo, quiet.changes.confirm, quiet.changes.audit):
        with pytest.raises(error):
            verb(id)
    with pytest.raises(InvalidInput):
        quiet.changes.list(state="gone")  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        quiet.changes.list("nobody")


class ReadingModel:
    """Names the note with a word, where what is said now has another, and keeps what it was shown; asked of it alone, it is `sure`."""

    model = "reads"

    def __init__(
        self, word: str = "", *, when: str = "", number: int | None = None, sure: bool = True
    ) -> None:
        self.word, self.when, self.number, self.sure = word, when, number, sure
        self.shown: list[str] = []
        self.raw: Any = None

    def _read(self, prompt: str) -> dict[str, Any]:
        self.shown.append(prompt)
        if prompt.startswith("The note ("):
            return {"over": self.sure}
        if self.number is not None:
            return {"number": self.number}
        notes = re.findall(r"^(\d+)\. \([\d-]+\) (.*)$", prompt, re.M)
        is_meant = self.when in prompt.partition("Now (")[2]
        return {
            "number": next(
                (int(number) for number, text in notes if is_meant and self.word in text), 0
            )
        }


class OfLangChain(ReadingModel):
    """It has LangChain's `with_structured_output`."""

    def with_structured_output(self, schema: type) -> OfLangChain:
        return self

    def invoke(self, messages: list[tuple[str, str]]) -> dict[str, Any]:
        return self._read(messages[-1][1])


class OfLlamaIndex(ReadingModel):
    """It has LlamaIndex's `as_structured_llm`."""

    def as_structured_llm(self, schema: type) -> OfLlamaIndex:
        return self

    def chat(self, messages: list[Any]) -> OfLlamaIndex:
        self.raw = self._read(str(messages[-1].content))
        return self


UNSURE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off", "supersession": 1.0})
MOVED = "The keys of the Leeds flat are handed over, Bristol greets us with rain."


@pytest.mark.parametrize(
    ("relation", "state", "action"),
    [
        ("supersedes", "confirmed", "confirmed"),
        ("none", "undone", "undone"),
        ("contradicts", "standing", "confirmed"),
    ],
)
def test_a_callable_confirms_or_rejects_what_the_reader_is_not_sure_of(
    make: Make, relation: str, state: str, action: str
) -> None:
    with make(settings=UNSURE, judge=lambda older, newer: relation) as memory:
        say(memory, CAR, SOLD)
        [change] = memory.changes.list()
        assert (change.state, change.relation) == (
            state,
            "supersedes" if relation == "none" else relation,
        )
        assert change.judge != "reader"
        assert [each.action for each in memory.changes.audit(change.id)] == ["made", action]
        first = memory.recall("Do I drive a Honda Civic?", hold=False)[0]
        assert (first.content == SOLD) == (relation == "supersedes") or first.superseded_by is None


@pytest.mark.parametrize("framework", [OfLangChain, OfLlamaIndex])
@pytest.mark.parametrize(
    ("word", "sure", "state", "calls"),
    [
        ("Honda", True, "confirmed", 2),
        ("Honda", False, "undone", 2),
        ("nothing", True, "undone", 1),
    ],
)
def test_a_chat_model_confirms_or_rejects_what_the_reader_is_not_sure_of(
    make: Make, framework: type[ReadingModel], word: str, sure: bool, state: str, calls: int
) -> None:
    """What it names among several it is asked about alone."""
    model = framework(word, sure=sure)
    with make(settings=UNSURE, judge=model) as memory:
        say(memory, CAR, SOLD)
        [change] = memory.changes.list()
        assert (change.state, change.judge) == (state, f"{framework.__name__}:reads")
        assert [each.action for each in memory.changes.audit(change.id)] == ["made", state]
        assert len(model.shown) == calls


def test_a_chat_model_finds_a_change_that_the_reader_does_not_suspect(make: Make) -> None:
    with make(settings=UNSURE, judge=OfLangChain("live", when="Bristol")) as memory:
        home, _, moved = say(memory, "I live on Elm Street.", "My brother plays the flute.", MOVED)
        [change] = memory.changes.list()
        assert (change.older.node_id, change.newer.node_id) == (home, moved)
        assert (change.relation, change.state, change.judge) == (
            "supersedes",
            "confirmed",
            "OfLangChain:reads",
        )
        assert change.holds_from == START + timedelta(days=2)
        assert [each.by for each in memory.changes.audit(change.id)] == ["OfLangChain:reads"]
        first = memory.recall("Where do I live?", hold=False)[0]
        assert first.content == MOVED
        assert [each.older.content for each in first.formerly] == ["I live on Elm Street."]


def test_a_chat_model_is_shown_at_most_ten_earlier_sayings_of_the_same_speaker_with_their_days(
    make: Make,
) -> None:
    model = OfLangChain("nothing")
    with make(settings=UNSURE, judge=model) as memory:
        for n in range(14):
            memory.remember(f"Elm Street walk {n}.", role="user", at=START + timedelta(days=n))
        memory.remember("Elm Street is closed.", role="assistant", at=START)
        memory.remember("I am Ben of Elm Street.", role="user", name="Ben", at=START)
        memory.remember("Elm Street after that.", role="user", at=START + timedelta(days=99))
        memory.remember("I left Elm Street.", role="user", at=START + timedelta(days=30))
        assert memory.flush(timeout=60)
    [asked] = [each for each in model.shown if "I left Elm Street." in each.partition("Now (")[2]]
    notes = re.findall(r"^\d+\. \((.*)\) (.*)$", asked, re.M)
    assert len(notes) == 10
    assert all(re.fullmatch(r"Elm Street walk \d+\.", text) for _, text in notes)
    assert all(
        day == f"{START + timedelta(days=int(text.split()[-1][:-1])):%Y-%m-%d}"
        for day, text in notes
    )
    assert "Now (2026-03-31)" in asked
    assert not [each for each in model.shown if "is closed" in each.partition("Now (")[2]]


def test_what_a_user_has_undone_a_chat_model_does_not_make_again(
    make: Make, database: Database
) -> None:
    with make(settings=UNSURE, judge=OfLangChain("live", when="Bristol")) as memory:
        _, moved = say(memory, "I live on Elm Street.", MOVED)
        memory.changes.undo(memory.changes.list()[0].id)
        with database.transaction(memory.tenant) as connection:
            jobs.enqueue(connection, [uuid.UUID(moved)], kind="judge", model="OfLangChain:reads")
        assert memory.flush(timeout=60)
        assert [each.state for each in memory.changes.list()] == ["undone"]


def test_a_chat_model_reads_nothing_of_an_import(make: Make) -> None:
    model = OfLangChain("live")
    with make(settings=UNSURE, judge=model) as memory:
        texts = ["I live on Elm Street.", MOVED, *(f"line {n}" for n in range(30))]
        memory.remember_many([{"content": text, "role": "user"} for text in texts])
        assert memory.flush(timeout=60)
        assert model.shown == []
        assert [job for job in memory.jobs.list() if job.kind == "judge"] == []


def test_a_chat_model_that_names_what_it_was_not_shown_decides_nothing_and_its_job_says_so(
    make: Make,
) -> None:
    with make(settings=UNSURE, judge=OfLangChain(number=3)) as memory:
        memory.remember(CAR, role="user", at=START)
        memory.remember(SOLD, role="user", at=START + timedelta(days=1))
        memory.flush(timeout=10)
        assert [each.judge for each in memory.changes.list()] == ["reader"]
        [error] = [job.error for job in memory.jobs.list() if job.kind == "judge" and job.error]
        assert "expected the number of a saying from 1 to 1, or 0, got 3" in error


def test_a_judge_that_fails_leaves_what_the_reader_found_and_is_asked_again(make: Make) -> None:
    def judge(older: str, newer: str) -> str:
        raise ConnectionError("away")

    with make(settings=UNSURE, judge=judge) as memory:
        memory.remember(CAR, role="user", at=START)
        memory.remember(SOLD, role="user", at=START + timedelta(days=1))
        memory.flush(timeout=10)
        [change] = memory.changes.list()
        assert (change.state, change.judge) == ("standing", "reader")
        assert [job for job in memory.jobs.list() if job.kind == "judge" and job.error]


def test_a_judge_that_answers_nonsense_decides_nothing(make: Make) -> None:
    with make(settings=UNSURE, judge=lambda older, newer: "perhaps") as memory:
        memory.remember(CAR, role="user", at=START)
        memory.remember(SOLD, role="user", at=START + timedelta(days=1))
        memory.flush(timeout=10)
        assert [each.judge for each in memory.changes.list()] == ["reader"]


def test_what_is_no_judge_is_refused(make: Make) -> None:
    with pytest.raises(InvalidInput, match="judge"):
        make(judge=object())


async def _awaited(memory: Memory) -> None:
    [change] = await memory.aio.changes.list()
    assert (await memory.aio.changes.undo(change.id, reason="x")).state == "undone"
    assert (await memory.aio.changes.confirm(change.id)).state == "confirmed"
    assert len(await memory.aio.changes.audit(change.id)) == 3


def test_the_verbs_can_be_awaited(quiet: Memory) -> None:
    import asyncio

    say(quiet, CAR, SOLD)
    asyncio.run(_awaited(quiet))
