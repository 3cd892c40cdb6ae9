"""Whatever an address says, a page answers with what was expected, and never with a failure of the server."""

from __future__ import annotations

import random
from collections.abc import Callable
from urllib.parse import quote_from_bytes

import httpx
import pytest

from htm_core.inspector.pages import PAGES
from htm_core.serve.settings import Identity
from tests.conftest import Make
from tests.inspector.conftest import add_inspector
from tests.server.conftest import Running

ODD = (
    b"", b" ", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"a" * 3_000, b"'; drop table nodes; --", b"../../etc/passwd", b"-1", b"0", b"1e999", b"NaN",
    b"9" * 40, b"2026-13-45", b"0001-01-01", b"9999-12-31T23:59:59+14:00", b"last week", b"%s", b"{{7*7}}", b"<script>", "Ω\u202e日本".encode(), b",,,",
    b"00000000-0000-0000-0000-000000000000", b"hybrid", b"10000", b"day",
)  # fmt: skip
FIELDS = (
    "q", "a_mode", "a_scope", "a_limit", "b_limit", "compare", "as_of", "after", "before", "budget", "cluster", "drawer", "from", "key", "kind",
    "most", "name", "order", "page", "robot", "room", "session", "state", "tag", "tags", "timeframe", "to", "unit", "forgotten", "min_score",
)  # fmt: skip
READ = [path for method, path, _ in PAGES if method == "GET"]


@pytest.mark.parametrize("seed", range(2))
def test_no_address_makes_a_page_fail(
    seed: int, start: Callable[..., Running], make: Make, tenant: str
) -> None:
    with make(session="talk") as memory:
        node = memory.remember("The boat is blue.", key="boat", tags=["boat:colour"])
    running, chance = start(), random.Random(seed)
    who = Identity(
        tenant=tenant, user=None, robot=None, scopes=frozenset(("admin",)), operator=True
    )
    inspector = add_inspector(running, who)
    with httpx.Client(base_url=running.url, timeout=30) as client:
        client.get(inspector.link or "")
        for _ in range(5):
            for path in READ:
                id = chance.choice(
                    (node.id, "nothing", "00000000-0000-0000-0000-000000000000", "%00", "%ff")
                )
                fields = [
                    f"{name}={quote_from_bytes(chance.choice(ODD))}"
                    for name in chance.sample(FIELDS, chance.randint(1, 8))
                ]
                address = f"/ui{path.replace('{id}', id)}?{'&'.join(fields)}"
                answer = client.get(address)
                assert answer.status_code in (200, 303, 400, 403, 404, 409, 422), address
                assert "<script>" not in answer.text.partition("<main")[2], address
