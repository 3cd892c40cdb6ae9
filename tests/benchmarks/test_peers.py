"""The comparison with other stores runs, and measures what it says it measures."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers, peers_systems
from benchmarks.peers_systems import DENSE, HTM, HYBRID, PEERS, ReadyEmbedder
from benchmarks.tcp_server import temporary_server

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
    monkeypatch.setattr(sys, "argv", ["peers", "--rows", "300", "600", "--calls", "3", "--owners", "zipf", "--out", str(out)])  # fmt: skip
    monkeypatch.setattr(peers, "WARM_UP", 1)
    monkeypatch.setattr(peers, "TOPICS", 2)
    monkeypatch.setattr(peers, "temporary_server", lambda *_, **__: nullcontext(dsn))
    with temporary_server() as dsn:
        interrupted = peers.Data(300, "zipf")
        for name in (HTM, *PEERS):
            url = peers_systems.database(dsn, f"{interrupted.name}_{[HTM, *PEERS].index(name)}")
            label, system = next(peers_systems.opened(name, url, interrupted.embedder, {}))
            system.fill(interrupted.rows[:120])
            assert (label, peers_systems.stored(url, system.table)) == (name, 120)
            system.close()
        peers.main()
        urls = [f"{dsn.removesuffix('postgres')}{interrupted.name}_{n}" for n in range(4)]
        tables = [system.table for system in (peers_systems.HTMSystem, *PEERS.values())]
        assert [
            peers_systems.stored(url, table) for url, table in zip(urls, tables, strict=True)
        ] == [300] * 4
    printed = capsys.readouterr().out
    for expected in (HTM, *PEERS, "÷ the fastest other system", "600 ÷ 300"):
        assert expected in printed
    written = json.loads(out.read_text())
    assert set(written["rows per second"]["600"]) == {HTM, *PEERS}
    for label, kinds in written["speed"]["600"].items():
        assert len(kinds[DENSE]["milliseconds"]) == 3, label
        for kind in (DENSE, peers.FILTERED):  # others follow an index even here
            assert min(kinds[kind]["shares"]) >= (1 if label == HTM else 0.6), (label, kind)
        assert (HYBRID in kinds) == (not label.startswith("LangGraph"))


def test_the_nearest_are_those_of_the_filter_and_no_others() -> None:
    data = peers.Data(500, "one")
    allowed = np.arange(500) % 50 == 0
    nearest = data.nearest(data.rows[0].vector, allowed)
    assert len(nearest) == 10
    assert all(int(unit) % 50 == 0 for unit in nearest)
    assert "0" in nearest


def test_the_fastest_way_that_finds_enough_is_the_time_at_equal_quality(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["peers", "--only", HTM, "LangGraph PostgresStore"])
    results = {
        HTM: {
            DENSE: peers.Calls([1.0, 1.0, 9.0], [0.2, 0.2, 0.2]),
            HYBRID: peers.Calls([5.0, 5.0, 5.0], [0.9, 0.7, 0.85]),
            "hybrid, reader": peers.Calls([20.0, 20.0, 20.0], [0.9, 0.9, 0.9]),
        },
        "LangGraph PostgresStore, ef_search 200": {DENSE: peers.Calls([2.0], [0.75])},
    }
    table = peers.equal_quality(results, peers.arguments())
    rows = [[str(cell) for cell in column.cells] for column in table.columns]
    assert rows[1] == ["5.0 (hybrid)", "2.0 (ef_search 200, dense)"]
    assert rows[2] == ["5.0 (hybrid)", "-"]
    assert rows[3] == ["20.0 (hybrid, reader)", "-"]


def test_an_unknown_text_is_refused_when_no_model_is_there_for_it() -> None:
    embedder = ReadyEmbedder({"known": np.ones(2, np.float32)})
    assert embedder.embed_query("known") == [1.0, 1.0]
    with pytest.raises(KeyError, match="unknown"):
        embedder.embed_query("unknown")
