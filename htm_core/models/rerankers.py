"""Turn what the user gave as `reranker=` into a reranker with a name, whose answers are checked."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..base import time_limit
from ..base.errors import InvalidInput, ModelError
from .chat import ChatReranker
from .chat_models import chat_model_of
from .lazy import LazyModel, has_methods, model_name
from .tokenizers import well_formed

MEANWHILE = "Until then hits keep the order of the search"
PLACE = "htm_place"  # the key of a document's metadata that says which text it is


class Orderer(Protocol):
    """The common interface of rerankers: it says which texts answer a query, best first."""

    def order(self, query: str, texts: Sequence[str], scores: Sequence[float]) -> Iterable[int]:
        """The places of the texts, best first. It may leave some out. `scores` are those of the
        search, from 0 to 1.
        """


class CheckedReranker:
    """A reranker whose answers are checked, and which has a limited time. Every failure is a
    `ModelError`.

    `client` is what the user gave: it tells two rerankers of one name apart.
    """

    def __init__(
        self, name: str, load: Callable[[], Orderer], *, client: object | None = None
    ) -> None:
        self.client = self if client is None else client
        self._model = LazyModel(name, load, kind="reranker", meanwhile=MEANWHILE)

    def __repr__(self) -> str:
        return f"CheckedReranker({self.name!r})"

    @property
    def name(self) -> str:
        """The name that messages call it by."""
        return self._model.name

    def order(
        self, query: str, texts: Sequence[str], scores: Sequence[float], *, seconds: float
    ) -> list[int]:
        """The places of all texts in their new order: those that it names, then those that it
        leaves out, in the order given.

        Raises `ModelError` when it fails, takes longer than `seconds`, or answers what is no order
        of these texts.
        """
        clean = [well_formed(text) for text in texts]

        def order(model: Orderer) -> list[int]:
            """Its answer, with everything it may do while it is read."""
            return list(model.order(well_formed(query), clean, scores))

        try:
            places = time_limit.within(
                time_limit.for_model(seconds),
                lambda: self._model.call(order),
                client=("reranker", id(self.client)),
            )
        except time_limit.OutOfTime as error:
            raise ModelError(
                f"expected the reranker {self.name} to answer within {seconds:.3g} s, but it did "
                "not; check the model behind it, "
                "give it fewer candidates (Settings.reranker_candidates), or raise "
                f"Settings.reranker_timeout. {MEANWHILE}"
            ) from error
        named = list(dict.fromkeys(places))
        if not all(isinstance(place, int) and 0 <= place < len(texts) for place in named):
            raise self._model.invalid_answer(f"an order of {len(texts)} texts", places)
        left_out = set(range(len(texts))).difference(named)
        return named + sorted(left_out)


def resolve_reranker(spec: object | None) -> CheckedReranker | None:
    """Make a checked reranker of what the user gave; nothing is loaded or called before its first
    use.

    None is none. "cross-encoder:MODEL" is a model of sentence-transformers, a name such as
    "ollama:MODEL" a chat model; else an object with `rerank(query, texts)`, a `CrossEncoder`,
    LangChain's `BaseDocumentCompressor`, `BaseCrossEncoder` or chat model, LlamaIndex's
    postprocessor or LLM, or a callable `(query, texts) -> numbers`. Raises `InvalidInput` for
    anything else.
    """
    if spec is None or isinstance(spec, CheckedReranker):
        return spec
    reranker: Any = spec
    if isinstance(reranker, str):
        return _named(reranker)
    if not isinstance(reranker, type):
        for methods, make in _KINDS:
            if has_methods(reranker, methods):
                return CheckedReranker(
                    model_name(reranker), functools.partial(make, reranker), client=reranker
                )
        if callable(reranker):
            return CheckedReranker(
                model_name(reranker), lambda: _ByNumbers(reranker), client=reranker
            )
    raise _unknown(spec)


@functools.cache  # a model of this process is loaded once, however many memories name it
def _named(spec: str) -> CheckedReranker:
    prefix, _, model = spec.partition(":")
    model = model.strip()
    if prefix == "cross-encoder" and model:
        return CheckedReranker(
            spec, lambda: _by_pairs(_load_cross_encoder(model).predict), client=spec
        )
    if (chat := chat_model_of(spec)) is not None:
        return CheckedReranker(
            chat.name, lambda: _ByNumbers(ChatReranker(chat.load()).rerank), client=spec
        )
    raise _unknown(spec)


def _unknown(spec: object) -> InvalidInput:
    return InvalidInput(
        'reranker: expected None, "cross-encoder:MODEL", "ollama:MODEL", an object with '
        "rerank(query, texts), a CrossEncoder of "
        "sentence-transformers, LangChain's document compressor, cross-encoder or chat model, "
        "LlamaIndex's postprocessor, or a "
        f"callable (query, texts) -> numbers; got {spec!r:.80}"
    )


def _load_cross_encoder(model: str) -> Any:
    try:
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise ModelError(
            f"cross-encoder:{model} needs sentence-transformers, which is not installed: pip "
            "install sentence-transformers"
        ) from error
    return CrossEncoder(model)


# -- each kind of reranker as an `Orderer` ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ByNumbers:
    """One that gives each text a number."""

    rate: Callable[[str, Sequence[str]], Any]

    def order(self, query: str, texts: Sequence[str], scores: Sequence[float]) -> list[int]:  # noqa: ARG002 - others use them
        """The places by their numbers; texts of one number stay in the order given."""
        numbers = _numbers(self.rate(query, texts), count=len(texts))
        return sorted(range(len(texts)), key=lambda place: -numbers[place])


def _by_pairs(rate: Callable[[list[tuple[str, str]]], Any]) -> _ByNumbers:
    """One that takes pairs of a query and a text."""
    return _ByNumbers(lambda query, texts: rate([(query, text) for text in texts]))


def _numbers(answer: Any, *, count: int) -> list[float]:
    listed = answer.tolist() if hasattr(answer, "tolist") else answer
    if isinstance(listed, str | bytes) or not isinstance(listed, Iterable):
        raise ModelError(f"expected {count} numbers, got {answer!r:.80}")
    try:
        # A model that was trained for one label may give each number in a list of its own.
        numbers = [
            float(each[0] if isinstance(each, list | tuple) and len(each) == 1 else each)
            for each in listed
        ]
    except (TypeError, ValueError) as error:
        raise ModelError(f"expected {count} numbers, got {answer!r:.80}") from error
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise ModelError(f"expected {count} finite numbers, got {len(numbers)}: {answer!r:.80}")
    return numbers


@dataclass(frozen=True, slots=True)
class _Compressor:
    """LangChain's `BaseDocumentCompressor`."""

    compressor: Any

    def order(self, query: str, texts: Sequence[str], scores: Sequence[float]) -> list[int]:  # noqa: ARG002 - it wants none
        """The places of the documents that it answers with. It may change their texts: those that
        are recalled stay as they are.
        """
        from langchain_core.documents import Document  # it is installed where a compressor is

        documents = [
            Document(page_content=text, metadata={PLACE: place}) for place, text in enumerate(texts)
        ]
        answer = self.compressor.compress_documents(documents, query)
        by_text = {text: place for place, text in enumerate(texts)}  # for one that drops metadata
        places = (each.metadata.get(PLACE, by_text.get(each.page_content)) for each in answer)
        return [place for place in places if place is not None]


@dataclass(frozen=True, slots=True)
class _Postprocessor:
    """LlamaIndex's `BaseNodePostprocessor`."""

    postprocessor: Any

    def order(self, query: str, texts: Sequence[str], scores: Sequence[float]) -> list[int]:
        """The places of the nodes that it answers with."""
        # it is installed where a postprocessor is
        from llama_index.core.schema import NodeWithScore, TextNode

        nodes = [
            NodeWithScore(node=TextNode(id_=str(place), text=text), score=score)
            for place, (text, score) in enumerate(zip(texts, scores, strict=True))
        ]
        return [
            int(each.node.node_id)
            for each in self.postprocessor.postprocess_nodes(nodes, query_str=query)
        ]


# By what an object can do. The frameworks' classes come first: some have a `rerank` with other
# arguments.
_KINDS: Sequence[tuple[str, Callable[[Any], Orderer]]] = (
    ("compress_documents", _Compressor),
    ("postprocess_nodes", _Postprocessor),
    ("rerank", lambda reranker: _ByNumbers(reranker.rerank)),
    ("with_structured_output", lambda model: _ByNumbers(ChatReranker(model).rerank)),
    ("as_structured_llm", lambda model: _ByNumbers(ChatReranker(model).rerank)),
    ("predict", lambda model: _by_pairs(model.predict)),
    ("score", lambda model: _by_pairs(model.score)),
)
