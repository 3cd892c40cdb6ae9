"""Every benchmark can be started: what it takes from the packages is still there."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import benchmarks

OURS = ("benchmarks", "htm_core", "htm_langchain", "htm_llamaindex", "tests")
MODULES = [module.name for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")]


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_can_be_imported(name: str) -> None:
    """Only what another package brings may be missing here: those of the peers are no part of the tests' environment."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in OURS:
            raise
        pytest.skip(f"needs {error.name}")
