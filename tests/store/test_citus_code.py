"""The functions of a distributed schema differ from others in what a rule says, and in nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import LiteralString

import pytest
from pydantic import SecretStr

from htm_core import SchemaOutdated, Settings
from htm_core.db.cluster import citus_code
from htm_core.db.cluster.citus import ClusterNode
from htm_core.db.cluster.citus_code import RULES, distributed_text
from htm_core.db.queries import load
from htm_core.db.schema_files import migrations, schema_files

TABLES = {
    table
    for step in migrations()
    for table in re.findall(r"^create (?:unlogged )?table (\w+)", step.text, re.MULTILINE)
}
SHARDS = {table: f"{table}_{102008 + place}" for place, table in enumerate(sorted(TABLES))}
FILES = {file.name: file.text for file in schema_files().functions}


def distributed(file: str) -> LiteralString:
    return distributed_text(file, FILES[file], tables="htm_tables", shards=SHARDS)


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_each_rule_finds_what_it_is_about_once_and_has_its_reason(rule: citus_code.Rule) -> None:
    before, after = (
        load("db/cluster/citus_code")[rule.name],
        load("db/cluster/citus_code")[f"{rule.name}_here"],
    )
    assert FILES[rule.file].count(before) == 1
    assert before != after
    assert rule.why


def test_files_without_rules_and_triggers_are_what_they_are_everywhere() -> None:
    changed = {file for file in FILES if distributed(file) != FILES[file]}
    assert changed == {rule.file for rule in RULES} | {"triggers"}


def test_nothing_of_what_a_view_lacks_is_left() -> None:
    text = "\n".join(map(distributed, FILES))
    assert not re.search(
        r"where current of|\w\.tableoid|::regclass\[\]| on htm\.\w+ for each ", text
    )
    for trigger in re.findall(
        r"create or replace trigger .* on (\S+) for each", distributed("triggers")
    ):
        assert re.fullmatch(r'"htm_tables"\."\w+_\d+"', trigger)


def test_a_file_that_has_changed_under_a_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(citus_code, "RULES", (replace(RULES[0], file="tokens"),))
    with pytest.raises(SchemaOutdated, match="for Citus, once"):
        distributed("tokens")


def test_a_process_reaches_another_node_with_its_own_login_and_its_options() -> None:
    url = SecretStr(
        "postgresql://app:secret@db0.example,db9.example:5433/memories?hostaddr=10.0.0.1&sslmode=require"
    )
    there = ClusterNode("db1.example", 6432, is_here=False).dsn(url).get_secret_value()
    assert {*there.split()} == {
        "user=app", "password=secret", "dbname=memories", "host=db1.example", "port=6432", "sslmode=require",
    }  # fmt: skip
    assert ClusterNode("db1.example", 6432, is_here=True).dsn(url) is url


@pytest.mark.parametrize(
    "given",
    [{"db1:5432": "127.0.0.1:6432"}, "db1:5432=127.0.0.1:6432", [("db1:5432", "127.0.0.1:6432")]],
)
def test_addresses_of_nodes_are_given_as_a_mapping_or_as_text(given: object) -> None:
    assert Settings(node_addresses=given).node_addresses == (("db1:5432", "127.0.0.1:6432"),)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"db1": "127.0.0.1:6432"}, "db1:5432", "db1:5432=here", 5])
def test_an_address_without_its_port_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="node_addresses"):
        Settings(node_addresses=given)  # type: ignore[arg-type]
