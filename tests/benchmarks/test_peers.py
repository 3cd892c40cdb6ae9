"""The comparison with other stores runs, and measures what it says it measures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.peers_systems import HTM, PEERS, ReadyEmbedder

NEEDED = "pip install -e '.[dev,peers]' installs what this compares with"


@pytest.fixture
def installed() -> None:
    """Skips where the extra `peers` is not installed."""
    for module in (
        "langchain_postgres",
        "llama_index.vector_stores.postgres",
        "langgraph.store.postgres",
    ):
        pytest.importorskip(module, reason=NEEDED)


def test_each_system_is_filled_asked_and_compared_on_one_server(
    installed: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    out = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["peers", "--rows", "300", "--calls", "3", "--out", str(out)])
    monkeypatch.setattr(peers, "WARM_UP", 1)
    monkeypatch.setattr(peers, "TOPICS", 10)  # so that each topic has more rows than a search gives
    peers.main()
    printed = capsys.readouterr().out
    for name in (HTM, *PEERS):
        assert name in printed
    assert "÷ the fastest other system" in printed
    [size] = json.loads(out.read_text())["sizes"].values()
    for name, each in size.items():
        assert len(each["milliseconds"]["dense"]) == 3, name
        assert min(each["recall"]["dense"]) >= (1 if name == HTM else 0.6), (
            name
        )  # others follow an index even here
        assert bool(each["milliseconds"]["hybrid"]) == (name != "LangGraph PostgresStore")


def test_the_nearest_are_those_of_the_filter_and_no_others() -> None:
    rows, questions = peers.corpus(500, 1)
    nearness = np.stack([row.vector for row in rows]) @ questions[0].vector
    allowed = np.asarray([int(row.unit) % 50 == 0 for row in rows])
    nearest = peers._nearest(nearness, allowed, rows)
    assert len(nearest) == 10
    assert all(int(unit) % 50 == 0 for unit in nearest)


def test_an_unknown_text_is_refused_when_no_model_is_there_for_it() -> None:
    embedder = ReadyEmbedder({"known": np.ones(2, np.float32)})
    assert embedder.embed_query("known") == [1.0, 1.0]
    with pytest.raises(KeyError, match="unknown"):
        embedder.embed_query("unknown")
