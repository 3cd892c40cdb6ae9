"""A whole tenant is erased where it lives, and no copy of it is left in another cell."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from htm_core import InvalidInput, StorageError
from htm_core.db import tokens
from tests.attacks.test_user_walls import TENANT, fill
from tests.cells.conftest import Installation
from tests.cells.test_moves import Stopped, killed_at


@pytest.mark.usefixtures("real_embedder")  # the reader that finds a change needs its files
def test_everything_of_a_tenant_that_has_moved_is_erased_and_the_audit_tells(
    two: Installation, tmp_path: Path
) -> None:
    """It has something in every table, in another cell than home, where its tokens are."""
    with (
        two.memory("neighbour") as other,
        two.memory(TENANT, user="ann") as memory,
        two.memory(TENANT) as everybody,
    ):
        other.remember("The neighbour's secret.")
        fill(memory, tmp_path)
        everybody.collection("pages").put([{"id": "one", "content": "A page about harbours."}])
        everybody.group("support").leave()
        two.cells.move(TENANT, "b")
        there, neighbours = two.rows("b", TENANT), two.rows("home", "neighbour")
        assert len(tokens.listed(two.database, TENANT)) == 1
        receipt = memory.erase_tenant(confirm=TENANT)
        assert set(two.rows("b", TENANT)) == {"audit", "audit_chains"}
        assert two.rows("home", TENANT) == {}
        assert tokens.listed(two.database, TENANT, revoked=True) == []
        assert two.rows("home", "neighbour") == neighbours
        assert set(there) - {"jobs"} <= {*receipt.counts, "audit", "audit_chains"}
        assert receipt.counts["tokens"] == 1
        assert memory.verify_audit([receipt.digest]).ok
        # The audit goes along, and a new memory of that name begins where the old one was.
        two.cells.move(TENANT, "home")
        memory.remember("A new beginning.")
        assert [node.content for node in memory.list()] == ["A new beginning."]
        assert memory.verify_audit([receipt.digest]).ok


@pytest.mark.parametrize("step", ["copied", "switched"])
def test_a_tenant_whose_move_was_interrupted_is_not_erased_by_halves(
    two: Installation, step: str
) -> None:
    tenant = f"leaving-{step}"
    with two.memory(tenant) as memory:
        memory.remember("Said before.")
        with pytest.raises(Stopped):
            two.cells.move(tenant, "b", progress=killed_at(step))
        with pytest.raises(StorageError, match=f"htm cells move {tenant} b"):
            memory.erase_tenant(confirm=tenant)
        assert [node.content for node in memory.list()] == ["Said before."]
        two.cells.move(tenant, "b")
        memory.erase_tenant(confirm=tenant)
        assert two.rows("home", tenant) == {}
        assert set(two.rows("b", tenant)) == {"audit", "audit_chains"}


def test_a_move_that_begins_in_the_middle_of_an_erasure_is_named_and_leaves_nothing(
    two: Installation,
) -> None:
    with two.memory("crossing") as memory:
        memory.remember("Said before.")
        begun: list[int] = []

        def progress(rows: int) -> None:
            if not begun:
                begun.append(rows)
                with pytest.raises(Stopped):
                    two.cells.move("crossing", "b", progress=killed_at("copied"))

        with pytest.raises(StorageError, match="htm cells move crossing b"):
            memory.erase_tenant(confirm="crossing", progress=progress)
        two.cells.move("crossing", "b")
        memory.erase_tenant(confirm="crossing")
        assert two.rows("home", "crossing") == {}
        assert set(two.rows("b", "crossing")) == {"audit", "audit_chains"}


def test_behind_the_wall_between_users_a_whole_tenant_is_still_erased(two: Installation) -> None:
    two.database.set_user_walls(up=True)
    try:
        settings = two.another_process().model_copy(update={"user_walls": True})
        with (
            two.memory("walled", user="ann", settings=settings) as ann,
            two.memory("walled", settings=settings) as all_,
        ):
            ann.remember("Ann's own.")
            all_.of(user="bob").remember("Bob's own.")
            with pytest.raises(InvalidInput):
                ann.erase_tenant(confirm="confirmed")
            assert ann.erase_tenant(confirm="walled").counts["nodes"] == 2
            assert set(two.rows("home", "walled")) == {"audit", "audit_chains"}
    finally:
        two.database.set_user_walls(up=False)


def test_a_tenant_that_has_tokens_alone_is_erased(two: Installation) -> None:
    made = tokens.ApiToken(
        id=str(uuid4()), tenant="tokens-alone", name="laptop", user=None, robot=None, scopes=("read",),
        created_at=datetime.now(UTC),
    )  # fmt: skip
    assert tokens.create(two.database, made, secret="secret of the laptop")
    with two.memory("tokens-alone") as memory:
        assert dict(memory.erase_tenant(confirm="tokens-alone").counts) == {"tokens": 1}
    assert tokens.listed(two.database, "tokens-alone", revoked=True) == []
