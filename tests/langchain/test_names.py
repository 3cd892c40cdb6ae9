"""One name for one thing, over all classes; and a docstring that says what each argument is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import htm_core
import htm_langchain

# What is called how: a concept, our word for it, and other words that it might have.
CONCEPTS = {
    "how many results": (
        "limit",
        {"k", "top_k", "n", "max_results", "recall_limit", "num_results"},
    ),
    "a filter on metadata": ("where", {"filter", "filters", "metadata_filter", "conditions"}),
    "the tags that a memory must have": ("tags", {"tagged", "tag_filter", "labels"}),
    "how it is searched": ("mode", {"strategy", "search_type", "search_mode", "query_mode"}),
    "when it was said": ("timeframe", {"time", "when", "period", "since"}),
    "the lowest score": (
        "min_score",
        {"score_threshold", "threshold", "cutoff", "similarity_cutoff"},
    ),
    "whose memory": ("user", {"user_id", "owner", "username"}),
}
# Where a framework's interface has a word of its own, or an older name of ours is still accepted.
ELSEWHERE = {
    "HTMVectorStore": {"k", "filter"},  # VectorStore's
    "HTMRetriever": {
        "k",
        "tagged",
    },  # of LangChain's retrievers; `tags` are BaseRetriever's own, for traces
    "HTMStore": set(),
    "AsyncHTMStore": set(),
}
OLDER = {
    "HTMMemoryMiddleware": {"recall_limit"},
    "with_memory": {"recall_limit"},
    "HTMVectorStore": {"strategy"},
}
# Fields of LangChain's own classes.
INHERITED = {"tags", "metadata", "name"}


def public() -> Iterator[tuple[str, str, Any]]:
    """Each public class and function, and each public method that is ours: who has it, its name, and itself."""
    for name in htm_langchain.__all__:
        thing = getattr(htm_langchain, name)
        yield name, name, thing
        if inspect.isclass(thing):
            for method, value in vars(thing).items():
                function = (
                    value.__func__ if isinstance(value, classmethod | staticmethod) else value
                )
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield name, f"{name}.{method}", function


def parameters(thing: Any) -> list[str]:
    """The names of a constructor's or a function's arguments; of a pydantic class its fields."""
    if inspect.isclass(thing) and issubclass(thing, BaseModel):
        return [name for name in thing.model_fields if name not in INHERITED]
    found = inspect.signature(thing).parameters.values()
    return [each.name for each in found if each.name not in ("self", "cls", "args")]


def documented(thing: Any) -> str:
    """What `help` says of a thing, of a class also of how it is made."""
    parts = [thing, thing.__init__] if inspect.isclass(thing) else [thing]
    return "\n".join(inspect.getdoc(part) or "" for part in parts)


ALL = list(public())
IDS = [name for _, name, _ in ALL]


@pytest.mark.parametrize(("owner", "name", "thing"), ALL, ids=IDS)
def test_a_thing_has_the_same_name_everywhere(owner: str, name: str, thing: Any) -> None:
    allowed = ELSEWHERE.get(owner, set()) | OLDER.get(owner, set())
    for concept, (ours, others) in CONCEPTS.items():
        strange = set(parameters(thing)) & others - allowed
        assert not strange, f"{name}: {concept} is called {ours}, not {', '.join(strange)}"


@pytest.mark.parametrize(("owner", "name", "thing"), ALL, ids=IDS)
def test_every_argument_is_described(owner: str, name: str, thing: Any) -> None:
    text = documented(thing)
    twin = re.match(r"`(\w+(?:\.\w+)?)`[,;]? .*", text)
    if twin and name.count(
        "."
    ):  # the awaited twin of a method, or a method of a class above it, is described there
        assert hasattr(getattr(htm_langchain, name.split(".")[0]), twin[1].split(".")[-1]), text
        return
    referred = " ".join(
        inspect.getdoc(getattr(htm_langchain, other)) or ""
        for other in re.findall(r"(?:those|they are those) of `(\w+)`", text)
        if hasattr(htm_langchain, other)
    )
    missing = [each for each in parameters(thing) if not re.search(rf"\b{each}\b", text + referred)]
    assert not missing, f"{name} does not describe {', '.join(missing)}"


@pytest.mark.parametrize("name", htm_langchain.__all__)
def test_every_class_and_function_has_an_example_and_says_what_it_raises(name: str) -> None:
    text = inspect.getdoc(getattr(htm_langchain, name)) or ""
    assert re.search(r"^(    )?\S.*[(=].*", text, re.M), name
    assert re.search(r"\n\n    +\S*.*\w+\(", text) or re.search(
        r"\n\n\s*(async )?(with|memory|agent) .*", text
    ), f"{name} has no example"
    assert re.search(r"\b[Rr]aises?\b|errors are\s+those of", text), (
        f"{name} does not say what it raises"
    )


def test_older_names_are_said_to_be_older() -> None:
    for owner, names in OLDER.items():
        text = documented(getattr(htm_langchain, owner))
        for name in names:
            assert re.search(rf"{name}: (The older|Another) name of `\w+`", text)


def test_it_says_its_version() -> None:
    assert htm_langchain.__version__ == htm_core.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", htm_langchain.__version__)
