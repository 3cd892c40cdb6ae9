"""A schema of a test's own, in the database under test, for what changes tables that all other tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from htm_core import Settings
from htm_core.db.database import Database
from htm_core.memory.process import runtime
from tests.conftest import SETTINGS


def settings_in(schema: str) -> Settings:
    """The tests' settings in a schema, where nothing is done but by the test."""
    return SETTINGS.model_copy(
        update={"schema_": schema, "roles": "htm", "max_drafts": 10_000, "worker": "off"}
    )


@contextmanager
def opened_schema(url: str | None, settings: Settings, database_url: str) -> Iterator[Database]:
    """The database with its schema, which is dropped afterwards.

    A cluster would put it on any of its nodes, with shards in the place of the tables that these tests change: there they are skipped.
    """
    if os.environ.get("HTM_TEST_CITUS") == "1":
        pytest.skip("changes ordinary tables of an installation of its own")
    known = runtime(url, settings).database
    known.open()
    yield known
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f'drop schema "{settings.schema_}" cascade')
    known.close()
