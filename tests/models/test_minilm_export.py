"""The graphs that are shipped are those that their script writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from htm_core.models.minilm.model import FILES, Form


@pytest.mark.parametrize("form", FILES)
def test_the_shipped_graph_is_the_one_that_the_script_makes(
    weights_dir: Path, monkeypatch: pytest.MonkeyPatch, form: Form
) -> None:
    onnx = pytest.importorskip("onnx")
    from benchmarks import minilm_export

    monkeypatch.setattr(minilm_export, "obtain", lambda: weights_dir)
    assert onnx.load(FILES[form], load_external_data=False) == minilm_export.Network(form).model()
