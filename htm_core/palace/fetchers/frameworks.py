"""Loaders, readers and retrievers of LangChain and LlamaIndex, known by their methods: neither is
imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import quote

from ...base.errors import InvalidInput
from ..sources import MAX_ARTIFACT_LENGTH, FetchFailed, Listed, check_uri

MAX_ABOUT = 300  # characters
MAX_NAME = 255
# Where loaders and readers write what a document was read from, in this order.
ORIGINS = ("source", "file_path", "url", "URL", "uri", "path", "id")
TITLES = ("title", "Title", "file_name", "subject")


class DocumentsFetcher:
    """The documents of a document loader of LangChain or a reader of LlamaIndex.

        palace.register(DocumentsFetcher(NotionDBLoader(…), name="notion"))
        palace.artifact(url, fetch=DocumentsFetcher(lambda uri: WebBaseLoader(uri), name="web"))
        palace.artifact(url, fetch=DocumentsFetcher(lambda uri:
        SimpleWebPageReader().load_data([uri]), name="web"))

    A loader or a reader is run for each fetch, and the documents that were read from the uri are
    joined. Such a one that reads much is better given as a callable, which makes the loader for one
    uri. What a loader is allowed to open is the loader's
    matter: give it none that opens any address.

    Args:
        source: A loader (`lazy_load` or `load`), a reader (`load_data`, without arguments), or a
            callable uri -> one of these, documents, a document, a text, or None.
        name: Tells it from the palace's other fetchers.
        uris: What a callable may be asked for, each with what it is about; without them it covers
            every uri and lists none.
    """

    def __init__(self, source: Any, *, name: str, uris: Mapping[str, str] | None = None) -> None:
        self.name = _checked_name(name)
        self._source = source
        self._uris = (
            None if uris is None else {check_uri(uri): str(about) for uri, about in uris.items()}
        )
        if not _loads(source) and not callable(source):
            raise InvalidInput(
                "expected a document loader of LangChain, a reader of LlamaIndex, or a callable "
                "(uri) -> documents, got "
                f"{type(source).__name__}"
            )
        if _loads(source) and uris is not None:
            raise InvalidInput(
                "expected uris= with a callable only: a loader says itself what it has"
            )

    def __repr__(self) -> str:
        return f"DocumentsFetcher({type(self._source).__name__}, name={self.name!r})"

    def covers(self, uri: str) -> bool:
        """True if a uri may be asked for: of a loader any, since only reading says what it has."""
        return self._uris is None or uri in self._uris

    def __call__(self, uri: str) -> str | None:
        """The documents of a uri, joined; None when there are none. Raises what the
        loader raises.
        """
        if not self.covers(uri):
            raise InvalidInput(f"expected one of the uris of {self.name!r}, got {uri!r:.300}")
        if _loads(self._source):
            documents = [each for each in _documents(self._source) if _origin(each) == uri]
        else:
            documents = list(_documents(self._source(uri)))
        return "\n\n".join(text for text in map(_text, documents) if text.strip()) or None

    def listing(self, limit: int) -> Iterator[Listed]:
        """List what there is, each thing once: of a loader what its documents were read from, of a
        callable its `uris`.
        """
        if not _loads(self._source):
            yield from (
                Listed(uri, about)
                for uri, about in islice((self._uris or {}).items(), max(0, limit))
            )
            return
        seen = set[str]()
        for document in _documents(self._source):
            uri = _origin(document)
            if len(seen) >= limit:
                return
            if uri and uri not in seen:
                seen.add(uri)
                yield Listed(uri, _about(document))


class RetrieverFetcher:
    """A retriever of LangChain or LlamaIndex, which is asked the very question that the palace is
    consulted about.

        palace.register(RetrieverFetcher(retriever, name="handbook", about="Our handbook: holidays,
        travel, sick leave."))

    It is one artifact with the uri "retriever://NAME". A question reaches it that has its name, or
    is about what `about` says; what it then finds is the evidence.

    Args:
        retriever: With `invoke(question)` (LangChain) or `retrieve(question)` (LlamaIndex).
        name: Tells it from others; a part of its uri.
        about: What it knows. Questions are compared with this.
        limit: How many documents are shown.
    """

    def __init__(self, retriever: Any, *, name: str, about: str, limit: int = 5) -> None:
        self.name = _checked_name(name)
        if not any(callable(getattr(retriever, method, None)) for method in ("invoke", "retrieve")):
            raise InvalidInput(
                "expected a retriever with invoke(question) or retrieve(question), got "
                f"{type(retriever).__name__}"
            )
        if not isinstance(about, str) or not about.strip():
            raise InvalidInput(f"expected about to say what the retriever knows, got {about!r:.80}")
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InvalidInput(f"expected limit to be a whole number of at least 1, got {limit!r}")
        self.uri = check_uri(f"retriever://{quote(self.name)}")
        self.about, self.limit = about.strip(), limit
        self._retriever = retriever

    def __repr__(self) -> str:
        return f"RetrieverFetcher({type(self._retriever).__name__}, name={self.name!r})"

    def covers(self, uri: str) -> bool:
        """True if it is this retriever's own uri."""
        return uri == self.uri

    def __call__(self, uri: str) -> str | None:
        """Return what it finds for what it is about."""
        return self.ask(uri, self.about)

    def ask(self, uri: str, question: str) -> str | None:
        """Return what it finds for a question; None when it finds nothing. Raises what the
        retriever raises.
        """
        if not self.covers(uri):
            raise InvalidInput(f"expected the uri {self.uri!r}, got {uri!r:.300}")
        ask: Callable[[str], Any] = (
            getattr(self._retriever, "retrieve", None) or self._retriever.invoke
        )
        documents = list(islice(_documents(ask(question)), self.limit))
        each_may_have = MAX_ARTIFACT_LENGTH // max(1, len(documents))
        shown = []
        for document in documents:
            if text := _text(document).strip():
                origin = " ".join(_origin(document).split())[:MAX_ABOUT]
                shown.append((f"From {origin}:\n{text}" if origin else text)[: each_may_have - 2])
        return "\n\n".join(shown) or None

    def listing(self, limit: int) -> Iterator[Listed]:
        """The retriever itself."""
        if limit > 0:
            yield Listed(self.uri, self.about)


def _loads(source: Any) -> bool:
    return any(callable(getattr(source, method, None)) for method in _METHODS)


# not lazy_load_data, which some readers have and cannot do
_METHODS = ("lazy_load", "load", "load_data")


def _documents(source: Any) -> Iterable[Any]:
    """The documents of a loader, a reader, or what a callable answered."""
    for method in _METHODS:
        if callable(load := getattr(source, method, None)):
            source = load()
            break
    if source is None:
        return ()
    if isinstance(source, str) or _has_text(source):
        return (source,)
    if not isinstance(source, Iterable) or isinstance(source, Mapping | bytes):
        raise FetchFailed(f"expected documents or a text, got {type(source).__name__}")
    return source


def _has_text(document: Any) -> bool:
    return hasattr(document, "page_content") or callable(getattr(document, "get_content", None))


def _text(document: Any) -> str:
    if isinstance(document, str):
        return document
    if not _has_text(document):
        raise FetchFailed(
            f"expected documents of LangChain or LlamaIndex, got {type(document).__name__}"
        )
    text = document.page_content if hasattr(document, "page_content") else document.get_content()
    return text if isinstance(text, str) else str(text)


def _metadata(document: Any) -> Mapping[str, Any]:
    metadata = getattr(getattr(document, "node", document), "metadata", None)
    return metadata if isinstance(metadata, Mapping) else {}


def _origin(document: Any) -> str:
    """Return what a document was read from, as its loader says; its id where it says nothing."""
    metadata = _metadata(document)
    for name in ORIGINS:
        if metadata.get(name):
            return str(metadata[name])
    inner = getattr(document, "node", document)
    return str(getattr(inner, "id_", None) or getattr(inner, "id", None) or "")


def _about(document: Any) -> str:
    """The title of a document, or its first line."""
    metadata = _metadata(document)
    title = next((str(metadata[name]) for name in TITLES if metadata.get(name)), "")
    first = next((line for line in _text(document).splitlines() if line.strip("#= -\t")), "")
    return " ".join((title or first.lstrip("# ")).split())[:MAX_ABOUT]


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME - 20:
        raise InvalidInput(f"expected name to be a short text, got {name!r:.80}")
    return name
