"""Re-embedding: another model takes over online, interrupted it goes on, and nothing that is said meanwhile is missed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from htm_core import DimensionMismatch, Memory, ModelError, NotFound, Settings, StorageError
from htm_core.db import indexes
from htm_core.db.database import Database
from htm_core.jobs import model_change
from htm_core.jobs import reembed as reembed_module
from htm_core.jobs.reembed import reembed
from htm_core.memory.process import runtime
from htm_core.models.embedders import resolve
from tests.cli.conftest import Htm
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder

IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
ROOT = Path(__file__).parent.parent.parent


class Hooked(HashEmbedder):
    """A stand-in that calls `hook` before each batch, so that a test can act in the middle of the work."""

    hook: Callable[[int], object] = staticmethod(lambda batch: None)
    batches = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.batches += 1
        self.hook(self.batches)
        return super().embed_documents(texts)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed_module, "BATCH", 10)


@pytest.fixture
def database(url: str | None) -> Database:
    return runtime(url, IDLE).database


@pytest.fixture
def new() -> Hooked:
    return Hooked(dimension=128, name=f"new-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def filled(make: Make) -> Memory:
    """A memory of sixty texts with their vectors, which leaves jobs to others."""
    memory = make(settings=IDLE)
    memory.remember_many([{"content": f"Parcel p{n} went to house h{n}."} for n in range(60)])
    assert memory.flush()
    return memory


def test_all_memories_are_found_by_the_new_model_and_the_old_one_is_gone(
    filled: Memory, make: Make, database: Database, new: Hooked, tenant: str
) -> None:
    done = reembed(database, tenant=tenant, embedder=resolve(new))
    assert (done.passages, done.embedded, done.owed, done.dropped) == (60, 60, 0, 60)
    assert done.before == "HashEmbedder:hash"
    renewed = make(embedder=new, settings=IDLE)
    assert renewed.recall("Parcel p7 went to house h7.", mode="vector")[0].vector_rank == 1
    assert renewed.stats().vectors == 60
    with pytest.raises(DimensionMismatch, match="embedded with"):
        filled.recall("Parcel p7", mode="vector")


def test_readers_with_the_old_model_are_served_until_the_new_one_takes_over(
    filled: Memory, database: Database, new: Hooked, tenant: str
) -> None:
    found: list[int | None] = []

    def ask(batch: int) -> None:
        found.append(filled.recall("Parcel p7 went to house h7.", hold=False)[0].vector_rank)

    new.hook = ask
    reembed(database, tenant=tenant, embedder=resolve(new))
    assert found == [1] * 6


def test_what_is_said_meanwhile_is_found_by_the_new_model(
    filled: Memory, make: Make, database: Database, new: Hooked, tenant: str
) -> None:
    new.hook = lambda batch: batch <= 5 and filled.remember(f"Said in between, number {batch}.")
    done = reembed(database, tenant=tenant, embedder=resolve(new))
    assert (done.passages, done.owed) == (65, 0)
    renewed = make(embedder=new, settings=IDLE)
    for number in range(1, 6):
        assert renewed.recall(f"Said in between, number {number}.", mode="vector")[
            0
        ].score == pytest.approx(1, abs=0.01)
    assert renewed.stats().pending_jobs == 0


def test_what_a_process_says_that_does_not_know_of_the_change_is_mended_by_running_it_again(
    filled: Memory, make: Make, database: Database, new: Hooked, tenant: str
) -> None:
    reembed(database, tenant=tenant, embedder=resolve(new))
    filled.remember("Said with the old model, afterwards.")
    renewed = make(embedder=new, settings=IDLE)
    assert "afterwards" in renewed.recall("said afterwards", mode="text")[0].content
    assert reembed(database, tenant=tenant, embedder=resolve(new)).embedded == 1
    assert renewed.recall("Said with the old model, afterwards.", mode="vector")[
        0
    ].score == pytest.approx(1, abs=0.01)


def test_a_model_that_goes_down_leaves_the_old_one_in_place_and_the_next_run_goes_on(
    filled: Memory, database: Database, new: Hooked, tenant: str
) -> None:
    def fail(batch: int) -> None:
        new.down = batch > 3

    new.hook = fail
    with pytest.raises(ModelError):
        reembed(database, tenant=tenant, embedder=resolve(new))
    assert filled.recall("Parcel p7 went to house h7.", mode="vector")[0].vector_rank == 1
    new.hook, new.down = (lambda batch: None), False
    assert reembed(database, tenant=tenant, embedder=resolve(new)).embedded == 30


def test_a_text_that_the_model_cannot_take_keeps_nothing_up(
    filled: Memory, make: Make, database: Database, new: Hooked, tenant: str
) -> None:
    class Picky(Hooked):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if any("poison" in text for text in texts):
                raise ValueError("not this one")
            return super().embed_documents(texts)

    filled.remember("A cup of poison.")
    picky = Picky(dimension=128, name=new.model)
    done = reembed(database, tenant=tenant, embedder=resolve(picky))
    assert (done.passages, done.embedded, done.owed) == (61, 60, 1)
    renewed = make(embedder=picky, settings=IDLE)
    assert renewed.stats().pending_jobs == 1
    assert renewed.recall("poison")[0].content == "A cup of poison."


def test_it_waits_for_whoever_is_writing_and_includes_what_they_write(
    filled: Memory, database: Database, new: Hooked, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_change, "PATIENCE", "100ms")
    model = resolve(new)
    model_change.begin(database, tenant, model=model.name)
    with database.transaction(tenant) as writing:
        writing.execute("lock table nodes in row exclusive mode")  # as whoever inserts a node does
        assert not model_change.switch(database, tenant, model=model.name, few=1_000)
    assert not model_change.switch(database, tenant, model=model.name, few=59)
    assert model_change.switch(database, tenant, model=model.name, few=60)


def test_other_tenants_keep_their_model(
    filled: Memory, make: Make, database: Database, new: Hooked, tenant: str
) -> None:
    other = make(tenant=f"{tenant}-other", settings=IDLE)
    other.remember("Another tenant's.")
    assert other.flush()
    reembed(database, tenant=tenant, embedder=resolve(new))
    assert other.recall("Another tenant's.", mode="vector")[0].vector_rank == 1


def test_the_index_of_vectors_that_nobody_has_any_more_is_dropped(
    make: Make, database: Database, new: Hooked, tenant: str
) -> None:
    old = HashEmbedder(name=f"old-{uuid.uuid4().hex[:8]}")
    memory = make(embedder=old, settings=IDLE)
    memory.remember_many([{"content": f"text {n}"} for n in range(30)])
    assert memory.flush()
    built = indexes.build_due(database, threshold=30)
    done = reembed(database, tenant=tenant, embedder=resolve(new))
    assert set(done.indexes) & set(built)


def test_two_changes_at_once_end_with_one_model_and_an_error_for_the_other(
    filled: Memory, make: Make, database: Database, new: Hooked, tenant: str
) -> None:
    third = Hooked(dimension=100, name=f"third-{uuid.uuid4().hex[:8]}")
    new.hook = lambda batch: (
        batch == 2 and reembed(database, tenant=tenant, embedder=resolve(third))
    )
    with pytest.raises(StorageError, match="another change was completed"):
        reembed(database, tenant=tenant, embedder=resolve(new))
    assert (
        make(embedder=third, settings=IDLE)
        .recall("Parcel p7 went to house h7.", mode="vector")[0]
        .vector_rank
        == 1
    )


def test_a_tenant_without_memories_is_not_found(database: Database, new: Hooked) -> None:
    with pytest.raises(NotFound, match="--tenant"):
        reembed(database, tenant="nobody-here", embedder=resolve(new))


SLOW = """
import sys, time
from pathlib import Path
from htm_core import Settings
from htm_core.jobs import reembed as reembedding
from htm_core.models.embedders import resolve
from htm_core.memory.process import runtime
from tests.stand_ins import HashEmbedder

class Slow(HashEmbedder):
    def embed_documents(self, texts):
        time.sleep(0.2)
        return super().embed_documents(texts)

reembedding.BATCH = 10
url, tenant, name, mark = sys.argv[1:]
told = lambda done, total: Path(mark).write_text(str(done))
database = runtime(url or None, Settings(worker="off")).database
reembedding.reembed(database, tenant=tenant, embedder=resolve(Slow(128, name=name)), progress=told)
"""


def test_killed_in_the_midst_it_goes_on_where_it_was(
    filled: Memory, make: Make, database: Database, url: str | None, tenant: str, tmp_path: Path
) -> None:
    name, mark = f"new-{uuid.uuid4().hex[:8]}", tmp_path / "done"
    command = [sys.executable, "-c", SLOW, url or "", tenant, name, str(mark)]
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as process:
        while not mark.exists() or int(mark.read_text() or 0) < 20:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert filled.recall("Parcel p7 went to house h7.", mode="vector")[0].vector_rank == 1
    model = type("Slow", (HashEmbedder,), {})(128, name=name)
    done = reembed(database, tenant=tenant, embedder=resolve(model))
    assert (done.passages, done.owed) == (60, 0)
    assert done.embedded <= 40
    assert (
        make(embedder=model, settings=IDLE)
        .recall("Parcel p7 went to house h7.", mode="vector")[0]
        .vector_rank
        == 1
    )


OWN_MODELS = """
from tests.stand_ins import HashEmbedder

made = 0

def openai():
    global made
    made += 1
    return HashEmbedder(dimension=1536, name="NAME")

model = openai()
number = 7

def without_key():
    raise ValueError("OPENAI_API_KEY is not set")
"""


@pytest.fixture
def own_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module of the user's own, in the folder where the command is called, and of the model in it."""
    name = f"own_models_{uuid.uuid4().hex[:8]}"
    (tmp_path / f"{name}.py").write_text(OWN_MODELS.replace("NAME", name))
    monkeypatch.chdir(tmp_path)
    return name


def test_a_tenant_goes_to_a_model_that_a_module_of_ones_own_makes(
    htm: Htm, filled: Memory, make: Make, own_models: str, tenant: str
) -> None:
    """As from the embedded model to one of OpenAI: another length of vectors, and no name that commands could know."""
    with pytest.raises(DimensionMismatch, match="htm reembed --embedder MODULE:OBJECT"):
        make(embedder=HashEmbedder(dimension=1536, name=own_models), settings=IDLE).recall(
            "Parcel p7", mode="vector"
        )
    done = htm("reembed", "--embedder", f"{own_models}:openai", "--json").json
    assert (done["before"], done["model"]) == ("HashEmbedder:hash", f"HashEmbedder:{own_models}")
    assert (done["embedded"], done["owed"], done["dropped"]) == (60, 0, 60)
    assert sys.modules[own_models].made == 2, "one of the module itself, and one of the command"
    found = htm(
        "recall",
        "Parcel p7 went to house h7.",
        "--mode",
        "vector",
        "--embedder",
        f"{own_models}:model",
        "--json",
    )
    assert found.json["hits"][0]["vector_rank"] == 1
    renewed = make(embedder=HashEmbedder(dimension=1536, name=own_models), settings=IDLE)
    assert renewed.recall("Parcel p7 went to house h7.", mode="vector")[0].vector_rank == 1
    assert renewed.stats().vectors == 60


@pytest.mark.parametrize(
    ("object_name", "says"),
    [
        ("nothing", "to name an object of a module"),
        ("number", "LlamaIndex's BaseEmbedding, or a function that makes one, got int"),
        (
            "without_key",
            "to make a model without arguments, got ValueError: OPENAI_API_KEY is not set",
        ),
    ],
)
def test_an_object_that_is_no_model_is_an_error_that_says_what_it_is(
    htm: Htm, own_models: str, object_name: str, says: str
) -> None:
    done = htm("reembed", "--embedder", f"{own_models}:{object_name}")
    assert (done.code, done.out) == (2, "")
    assert says in " ".join(done.err.split())


def test_the_name_that_is_stored_with_vectors_is_imported_by_no_command(
    htm: Htm, make: Make, own_models: str, tmp_path: Path
) -> None:
    (tmp_path / "trap.py").write_text(
        "raise SystemExit('a module was run because a database named it')"
    )
    memory = make(embedder=type("trap", (HashEmbedder,), {})(name="model"), settings=IDLE)
    memory.remember("Said with a model of a program.")
    assert memory.flush()
    assert memory.stats().embedder == "trap:model"
    assert htm("stats").code in (0, 1)
    assert "trap" not in sys.modules
