"""LangGraph's own checkpointer beside memory: one database, one login, a schema and a pool for each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

pytest.importorskip("langgraph.checkpoint.postgres")

from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from htm_langchain import HTMMemoryMiddleware, HTMStore
from tests.langchain.models import scripted, texts
from tests.servers.cluster import APP, Cluster
from tests.servers.conftest import Open


@pytest.fixture
def schema(modern: Cluster) -> Iterator[str]:
    """A schema of the checkpointer's own, which belongs to the application's login."""
    name = f"langgraph_{uuid.uuid4().hex[:8]}"
    with modern.admin() as admin:
        admin.execute(f"create schema {name} authorization {APP}")
        yield name
        admin.execute(f"drop schema {name} cascade")


def test_a_checkpointer_and_memory_live_in_one_database(
    modern: Cluster, memory_at: Open, schema: str
) -> None:
    dsn = modern.dsn(APP)
    apart = make_conninfo(dsn, options=f"-c search_path={schema}")
    thread: RunnableConfig = {"configurable": {"thread_id": "monday", "user_id": "ann"}}
    options = {"autocommit": True, "prepare_threshold": None, "row_factory": dict_row}
    with (
        memory_at(dsn) as memory,
        ConnectionPool(apart, min_size=1, max_size=2, kwargs=options) as pool,
    ):
        for turn in ("My boat lies at pier seven.", "Thanks."):  # each as after a restart
            saver = PostgresSaver(pool)  # type: ignore[arg-type]  # rows are dicts by the options
            saver.setup()
            agent = create_agent(
                scripted(),
                middleware=[HTMMemoryMiddleware(memory)],
                checkpointer=saver,
                store=HTMStore(memory=memory),
            )
            answer = agent.invoke({"messages": [("user", turn)]}, thread)
        assert texts(answer["messages"]) == [
            "My boat lies at pier seven.",
            "Noted.",
            "Thanks.",
            "Noted.",
        ]
        assert len(list(saver.list(thread))) > 2
        kept = memory.of(user="ann").timeline(session="monday")
        assert [mention.content for mention in kept] == texts(answer["messages"])
        saver.delete_thread("monday")
        assert list(saver.list(thread)) == []
        assert memory.of(user="ann").recall("pier")[0].content.startswith("My boat")
    with modern.admin() as admin:
        found = admin.execute(
            "select table_schema from information_schema.tables where table_name like 'checkpoint%'"
        )
        assert {row[0] for row in found} == {schema}
