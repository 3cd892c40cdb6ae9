"""`htm cells` in a database of its own: other tests share theirs with processes that ask for no cell."""

from __future__ import annotations

import pytest

from htm_core.memory.process import _runtimes
from tests.cli.conftest import Htm


@pytest.fixture
def apart(htm: Htm, empty_database: str, monkeypatch: pytest.MonkeyPatch) -> Htm:
    """Commands in a new database, as processes that ask for cells."""
    monkeypatch.setenv("HTM_DATABASE_URL", empty_database)
    monkeypatch.setenv("HTM_CELLS", "1")
    return htm


def test_cells_are_made_filled_listed_split_and_dropped(
    apart: Htm, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        assert apart("remember", "The harbour is closed.", "--tags", "harbour:gate").code == 0
        assert [each["name"] for each in apart("cells", "--json").json["cells"]] == ["home"]
        made = apart("cells", "create", "b", "--json").json
        assert (made["schema"], made["tenants"]) == ("htm_b", 0)
        planned = apart("cells", "split", "home", "b", "--dry-run", "--json").json
        assert planned["tenants"] == []
        moved = apart("cells", "move", tenant, "b")
        assert moved.code == 0
        assert "the same by count and digest" in moved.out
        assert "The harbour is closed." in apart("recall", "harbour").out
        assert "b" in apart("cells").out
        assert apart("cells", "tenants", "b", "--csv").out.split()[1] == f"{tenant},1"
        assert apart("cells", "place", "newcomer", "c", "--new", "--json").json["target"] == "c"
        assert apart("cells", "drop", "b").code == 2
        assert apart("worker", "--cells", "b", "--once", "--json").json["jobs"] > 0
        unknown = apart("worker", "--cells", "x", "--once")
        assert unknown.code == 3
        assert "there are home, b, c" in unknown.err
        assert apart("cells", "move", tenant, "home", "--json").json["rows"]["nodes"] == 1
        assert apart("cells", "drop", "b", "--json").json == {"dropped": "b"}
        assert "up to date" in apart("migrate").out
        assert (
            apart("migrate", "--quantization", "binary", "--json").json["quantization"] == "binary"
        )
        partitioned = apart("migrate", "--partitions", "2", "--cell", "c")
        assert partitioned.code == 0
        assert "has 2 partitions" in partitioned.out
        both = apart("migrate", "--partitions", "2")
        assert "partitions now in each of home, c" in both.out
        assert (
            "--cell with names of cells, got x"
            in apart("migrate", "--partitions", "2", "--cell", "x").err
        )
        checked = {
            each["about"]: each["says"] for each in apart("doctor", "--json").json["findings"]
        }
        assert checked["cells"] == "home, c"
        monkeypatch.setenv("HTM_CELLS", "0")
        refused = apart("recall", "harbour")
        assert refused.code == 2
        assert "HTM_CELLS=1" in refused.err
    finally:
        for each in list(_runtimes.values()):
            if "htm_empty_" in str(
                each.database.address.url and each.database.address.url.get_secret_value()
            ):
                each.database.close()


def test_what_cells_need_is_said(htm: Htm, monkeypatch: pytest.MonkeyPatch) -> None:
    assert htm("cells", "create").code == 2
    assert "INTO" in htm("cells", "move", "acme").err
    monkeypatch.setenv("HTM_CELLS", "maybe")
    assert "HTM_CELLS to be 1 or 0" in htm("recall", "x").err
