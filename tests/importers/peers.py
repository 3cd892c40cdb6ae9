"""Databases as other packages fill them, by their own classes, and what these say is in them.

Each function makes a package's tables in an empty database, and returns what its own reads and searches answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.engine import URL

from tests.importers.model import (
    DIMENSION,
    QUERIES,
    RECORDED,
    TEXTS,
    TOPICS,
    Corpus,
    DenseEmbedder,
    topic,
)

__all__ = ["DIMENSION", "QUERIES", "TEXTS", "TOPICS"]


class Model(DenseEmbedder, Embeddings):
    """The model that made all the vectors, as LangChain has models."""


def embedder() -> Model:
    """The model that made all the vectors."""
    return Model()


class ModelOf(Embeddings):
    """The model of a corpus, as LangChain has models."""

    def __init__(self, corpus: Corpus) -> None:
        self._model = corpus.model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        made: list[list[float]] = self._model.embed_documents(texts)
        return made

    def embed_query(self, text: str) -> list[float]:
        made: list[float] = self._model.embed_query(text)
        return made


def address(dsn: str, driver: str) -> URL:
    """A DSN as SQLAlchemy has it."""
    parts = conninfo_to_dict(dsn)
    host = str(parts.get("host") or "")
    socket = {"host": host} if host.startswith("/") else {}
    if socket and parts.get("port"):
        socket["port"] = str(parts["port"])
    return URL.create(
        f"postgresql+{driver}", username=parts.get("user"), password=parts.get("password"), database=parts.get("dbname"),
        host=None if socket else host, port=None if socket or not parts.get("port") else int(str(parts["port"])), query=socket,
    )  # fmt: skip


def metadata(at: int) -> dict[str, Any]:
    """Metadata with what JSON has, and what `jsonb` would change."""
    return {
        "at": at,
        "topic": topic(at),
        "even": at % 2 == 0,
        "nested": {"list": [at, None, 1.5]},
        "zero": -0.0,
        "big": 1e300,
    }


def langchain_postgres(dsn: str, corpus: Corpus = RECORDED) -> dict[str, Any]:
    """`PGVectorStore` with a single column for the topic."""
    from langchain_core.documents import Document
    from langchain_postgres import Column, PGEngine, PGVectorStore

    engine = PGEngine.from_connection_string(address(dsn, "psycopg"))
    try:
        engine.init_vectorstore_table(
            "guide",
            corpus.dimension,
            metadata_columns=[Column("topic", "TEXT")],
            id_column=Column("langchain_id", "TEXT"),
        )
        store = PGVectorStore.create_sync(
            engine, ModelOf(corpus), "guide", metadata_columns=["topic"]
        )
        ids = [f"guide-{at:02}" for at in range(len(corpus.texts))]
        store.add_documents(
            [Document(text, metadata=metadata(at)) for at, text in enumerate(corpus.texts)], ids=ids
        )
        store.add_documents(
            [Document("\u00fcber alles \U0001f600", metadata={"nul": "a\u2028b"})], ids=["odd id/1"]
        )
        documents = store.get_by_ids([*ids, "odd id/1"])
        return {
            "documents": {each.id: [each.page_content, each.metadata] for each in documents},
            "found": {
                query: [each.id for each in store.similarity_search(query, k=10)]
                for query in corpus.queries
            },
            "legacy": _legacy(dsn, corpus),
            "histories": _histories(dsn, corpus.turns),
        }
    finally:
        engine._run_as_sync(engine.close())


def _legacy(dsn: str, corpus: Corpus) -> dict[str, Any]:
    """`PGVector` with two collections."""
    from langchain_core.documents import Document
    from langchain_postgres import PGVector

    said: dict[str, Any] = {}
    half = len(corpus.texts) // 2
    for name, texts in (("manuals", corpus.texts[:half]), ("letters", corpus.texts[half:])):
        store = PGVector(
            ModelOf(corpus),
            collection_name=name,
            connection=address(dsn, "psycopg").render_as_string(hide_password=False),
            use_jsonb=True,
        )
        documents = [
            Document(text, metadata={"at": at, "of": name}) for at, text in enumerate(texts)
        ]
        ids = store.add_documents(documents, ids=[f"{name}-{at}" for at in range(len(texts))])
        said[name] = {
            "documents": {
                each.id: [each.page_content, each.metadata] for each in store.get_by_ids(ids)
            },
            "found": {
                query: [each.id for each in store.similarity_search(query, k=10)]
                for query in corpus.queries
            },
        }
        store._engine.dispose()
    return said


def messages() -> list[BaseMessage]:
    """Messages of every type, with what they may have."""
    call = {"name": "clock", "args": {"zone": "UTC"}, "id": "call-1", "type": "tool_call"}
    return [
        SystemMessage("You know the town."),
        HumanMessage(
            "When does the bakery open?", name="ines", id="m-1", additional_kwargs={"seat": 4}
        ),
        AIMessage(
            "",
            tool_calls=[call],
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        ToolMessage("It is 6.", tool_call_id="call-1", artifact={"raw": [6, 0]}),
        AIMessage(
            [{"type": "text", "text": "At 7, "}, {"type": "text", "text": "in an hour."}], id="m-2"
        ),
        HumanMessage("Thanks.", id="m-1"),  # an id that is there already
        ChatMessage("A note.", role="editor"),
    ]


def _histories(dsn: str, turns: int) -> dict[str, Any]:
    """`PostgresChatMessageHistory` with two sessions, of which the first has what two processes wrote."""
    import psycopg
    from langchain_postgres import PostgresChatMessageHistory

    said = {}
    with psycopg.connect(dsn) as connection:
        PostgresChatMessageHistory.create_tables(connection, "chat_history")
        for session in (
            "0b6cbd1a-9c0c-4a3b-8f43-0c5fdd9a4f01",
            "0b6cbd1a-9c0c-4a3b-8f43-0c5fdd9a4f02",
        ):
            history = PostgresChatMessageHistory(
                "chat_history", session, sync_connection=connection
            )
            history.add_messages(messages()[:4])
            history.add_messages(messages()[4:])
            if turns:
                history.add_messages(
                    [HumanMessage(f"Turn {n} of {session[-2:]}.") for n in range(turns)]
                )
            said[session] = messages_to_dict(history.messages)
    return said


def llama_index(dsn: str, corpus: Corpus = RECORDED) -> dict[str, Any]:
    """`PGVectorStore` and `PostgresChatStore`."""
    from llama_index.core.base.llms.types import ChatMessage as Message
    from llama_index.core.base.llms.types import ImageBlock, TextBlock
    from llama_index.core.schema import (
        ImageNode,
        IndexNode,
        NodeRelationship,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.vector_stores.types import VectorStoreQuery
    from llama_index.storage.chat_store.postgres import PostgresChatStore
    from llama_index.vector_stores.postgres import PGVectorStore

    model = ModelOf(corpus)
    psycopg, asyncpg = (
        address(dsn, driver).render_as_string(hide_password=False)
        for driver in ("psycopg", "asyncpg")
    )
    store = PGVectorStore(psycopg, asyncpg, "town_guide", embed_dim=corpus.dimension)
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="guide.pdf")}
    nodes: list[Any] = [
        TextNode(
            id_=f"node-{at:02}",
            text=text,
            metadata=metadata(at),
            relationships=source if at < 10 else {},
        )
        for at, text in enumerate(corpus.texts)
    ]
    nodes[20] = IndexNode(id_="node-20", text=corpus.texts[20], index_id="deeper")
    nodes[21] = ImageNode(
        id_="node-21", text=corpus.texts[21], image_url="https://example.org/a.png"
    )
    nodes[22].start_char_idx, nodes[22].excluded_llm_metadata_keys = 5, ["topic"]
    for node in nodes:
        node.embedding = model.embed_query(node.text)
    store.add(nodes)
    store.add(nodes[:1])  # it is there twice then
    asked = {
        query: store.query(VectorStoreQuery(model.embed_query(query), similarity_top_k=11))
        for query in corpus.queries
    }
    kept = store.get_nodes(node_ids=[node.node_id for node in nodes])
    chats = PostgresChatStore.from_params(
        connection_string=psycopg,
        async_connection_string=asyncpg,
        table_name="conversations",
    )
    call = [{"id": "call-1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]
    for key in ("ines", "jonas"):
        chats.set_messages(key, [
            Message("You know the town.", role="system"),
            Message("When does the bakery open?", role="user", additional_kwargs={"name": key}),
            Message(None, role="assistant", additional_kwargs={"tool_calls": call}),
            Message(blocks=[TextBlock(text="Look:"), ImageBlock(image=b"iVBORw0KGgo=", image_mimetype="image/png")], role="assistant"),
            Message("Yes.", role="user"),
        ])  # fmt: skip
        chats.add_message(key, Message("Yes.", role="user"))
    if corpus.turns:
        turns = [
            Message(f"Turn {n}.", role="user" if n % 2 else "assistant")
            for n in range(corpus.turns)
        ]
        chats.set_messages("jonas", [*chats.get_messages("jonas"), *turns])
    return {
        "nodes": {
            node.node_id: [node.class_name(), node.to_dict() | {"embedding": None}] for node in kept
        },
        "found": {
            query: list(dict.fromkeys(result.ids or ()))[:10] for query, result in asked.items()
        },
        "chats": {
            key: [message.model_dump(mode="json") for message in chats.get_messages(key)]
            for key in chats.get_keys()
        },
    }


def simple_chat_store(file: Path, turns: int) -> dict[str, Any]:
    """LlamaIndex's `SimpleChatStore`, as its `persist` writes it."""
    from llama_index.core.base.llms.types import ChatMessage as Message
    from llama_index.core.storage.chat_store import SimpleChatStore

    store = SimpleChatStore()
    for key in ("ines", "jonas"):
        for n in range(turns):
            store.add_message(
                key, Message(f"Turn {n // 2} of {key}.", role="user" if n % 2 else "assistant")
            )
    store.persist(str(file))
    return {
        key: [message.model_dump(mode="json") for message in store.get_messages(key)]
        for key in store.get_keys()
    }


def langgraph(dsn: str, corpus: Corpus = RECORDED) -> dict[str, Any]:
    """`PostgresStore` and `PostgresSaver`."""
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.store.postgres import PostgresStore

    # Its index by default is approximate, and built by chance.
    exact: dict[str, Any] = {} if corpus is RECORDED else {"ann_index_config": {"kind": "flat"}}
    with PostgresStore.from_conn_string(
        dsn,
        index={
            "dims": corpus.dimension,
            "embed": ModelOf(corpus),
            "fields": ["text", "more[*].text"],
            **exact,
        },
        ttl={"default_ttl": None},
    ) as store:
        store.setup()
        for at, text in enumerate(corpus.texts):
            more = [{"text": f"also {TOPICS[at % 6]}"}, {"text": "twice"}] if at % 7 == 0 else []
            store.put(
                ("users", f"user-{at % 3}"),
                f"item-{at:02}",
                {"text": text, "more": more, "at": at, "zero": 0.5},
            )
        store.put(("settings",), "dark", {"mode": "dark"}, index=False)
        store.put(("settings",), "short", {"text": "It goes soon."}, ttl=100_000)
        items = store.search((), limit=200)
        said = {
            "items": [
                [
                    list(each.namespace),
                    each.key,
                    each.value,
                    each.created_at.isoformat(),
                    each.updated_at.isoformat(),
                ]
                for each in items
            ],
            "found": {
                query: [each.key for each in store.search(("users",), query=query, limit=10)]
                for query in corpus.queries
            },
        }
    with PostgresSaver.from_conn_string(dsn) as saver:
        saver.setup()
        answers = iter(messages()[4:5] * 20)

        def answer(state: MessagesState) -> dict[str, Any]:
            """Answer the same each time, under a new id."""
            return {
                "messages": [
                    AIMessage(
                        next(answers).content, additional_kwargs={"at": len(state["messages"])}
                    )
                ]
            }

        graph = (
            StateGraph(MessagesState)
            .add_node("answer", answer)
            .add_edge(START, "answer")
            .compile(checkpointer=saver)
        )
        threads = {}
        for thread in ("town", "sea"):
            config: Any = {"configurable": {"thread_id": thread}}
            for question in ("When does the bakery open?", "And the library?"):
                graph.invoke({"messages": [HumanMessage(question, name="ines")]}, config)
            graph.update_state(config, {"messages": messages()[2:4]})
            for at in range(0, corpus.turns, 20):
                turns = [
                    HumanMessage(f"Turn {at + n}.", id=f"{thread}-{at + n}") for n in range(20)
                ]
                graph.update_state(config, {"messages": turns})
            threads[thread] = messages_to_dict(graph.get_state(config).values["messages"])
    return said | {"threads": threads}
