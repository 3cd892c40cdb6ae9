"""The other distributions hand on the very same classes, with the metadata that the catalogues read."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import htm_langchain
import htm_llamaindex
from tests.docs.markdown import ROOT

FOLDER = ROOT / "distributions"
PACKAGES = {
    "langchain-htm": ("langchain_htm", htm_langchain),
    "llama-index-memory-htm": ("llama_index/memory/htm", htm_llamaindex),
    "llama-index-vector-stores-htm": ("llama_index/vector_stores/htm", htm_llamaindex),
}


def module(name: str) -> ModuleType:
    """The package of a distribution, as it lies there."""
    spec = importlib.util.spec_from_file_location(
        name.replace("-", "_"), FOLDER / name / PACKAGES[name][0] / "__init__.py"
    )
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def project(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name / "pyproject.toml").read_text())


def test_these_are_all_distributions() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_it_hands_on_the_same_classes(name: str) -> None:
    package, source = module(name), PACKAGES[name][1]
    assert package.__version__ == source.__version__
    for each in package.__all__:
        assert getattr(package, each) is getattr(source, each)
        assert each in dir(package)
    with pytest.raises(AttributeError, match="it has"):
        package.__getattr__("HTMEverything")


@pytest.mark.parametrize("name", PACKAGES)
def test_what_a_type_checker_sees_is_what_there_is(name: str) -> None:
    text = (FOLDER / name / PACKAGES[name][0] / "__init__.py").read_text()
    assert (
        re.findall(r"^    from \w+ import (\w+) as \1$", text, re.M)
        == module(name).__all__
        == sorted(module(name).__all__)
    )


def test_together_they_have_every_public_name() -> None:
    assert set(module("langchain-htm").__all__) == set(htm_langchain.__all__)
    both = {
        *module("llama-index-memory-htm").__all__,
        *module("llama-index-vector-stores-htm").__all__,
    }
    assert both == set(htm_llamaindex.__all__)


@pytest.mark.parametrize("name", PACKAGES)
def test_its_page_and_its_metadata_say_what_it_is(name: str) -> None:
    made = project(name)
    page = (FOLDER / name / "README.md").read_text()
    assert made["project"]["name"] == name
    assert f'pip install "{name}[embedded]"' in page
    classes = [each for each in module(name).__all__ if each.startswith(("HTM", "Async"))]
    assert [each for each in classes if f"`{each}`" not in page and each != "HTMTranslator"] == []
    assert (FOLDER / name / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    main = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for same in ("requires-python", "license", "urls", "classifiers"):
        ours, theirs = made["project"][same], main[same]
        assert ours == theirs or (same == "urls" and ours.keys() == theirs.keys()), same
    extra = re.search(r"\[(\w+)\]", made["project"]["dependencies"][0])
    assert extra is not None
    assert extra[1] in main["optional-dependencies"]


@pytest.mark.parametrize("name", [name for name in PACKAGES if name.startswith("llama")])
def test_llamahub_finds_its_classes_by_their_path(name: str) -> None:
    hub = project(name)["tool"]["llamahub"]
    assert hub["import_path"] == PACKAGES[name][0].replace("/", ".")
    assert set(hub["class_authors"]) == {
        each for each in module(name).__all__ if each.startswith("HTM")
    }


def test_no_file_stands_in_the_way_of_other_packages_of_the_namespace() -> None:
    for name in ("llama-index-memory-htm", "llama-index-vector-stores-htm"):
        for folder in (Path("llama_index"), Path(PACKAGES[name][0]).parent):
            assert not (FOLDER / name / folder / "__init__.py").exists()


def test_the_page_for_maintainers_names_each_distribution() -> None:
    page = (ROOT / "docs" / "publishing.md").read_text()
    for name, (path, _) in PACKAGES.items():
        assert f"| `{name}` | `{path.replace('/', '.')}` |" in page
