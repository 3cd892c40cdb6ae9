"""A palace goes with its tenant's backup: what lies where, until when, and what was decided about it."""

from __future__ import annotations

import io

from tests.palace.conftest import Build, Clock


def test_a_palace_that_is_read_back_has_its_rooms_its_notes_and_its_audit(
    build: Build, clock: Clock
) -> None:
    palace = build()
    palace.identify("I am Atlas.")
    palace.file("The boiler was serviced in May.", room="house", drawer="boiler")
    note = palace.note("Clara moved to Lisbon.", ttl=600)
    palace.promote(
        note,
        room="people",
        drawer="clara",
        reason="asked about often",
        summary="Clara lives in Lisbon.",
    )
    palace.note("Only for now.", ttl=600)
    text = io.StringIO()
    palace.memory.backup.write(text)
    other = build(tenant=f"{palace.memory.tenant}-elsewhere")
    other.memory.backup.read(io.StringIO(text.getvalue()))
    assert [room.name for room in other.rooms()] == [room.name for room in palace.rooms()] != []
    assert [(each.content, each.expires_at) for each in other.look()] == [
        (each.content, each.expires_at) for each in palace.look()
    ]
    assert (
        [(each.content, each.expires_at) for each in other.notes()]
        == [(each.content, each.expires_at) for each in palace.notes()]
        != []
    )
    assert other.decisions() == palace.decisions() != []
    assert other.identity() == "I am Atlas."
    clock.passes(seconds=601)
    assert other.notes() == []
