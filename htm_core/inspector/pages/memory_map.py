"""A map: the newest memories in a plane, near to those that mean something alike, in clusters,
coloured by age.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup, escape
from starlette.responses import Response

from ...base.types import Window
from ...memory.memory import Memory
from ...serve.contents import MapPoint, MemoryMap, map_of
from ..rendering import short
from ..visit import Visit

SIZES = ("2000", "500", "10000")  # points; the first unless another is asked for
QUARTERS = ("the oldest quarter", "the second quarter", "the third quarter", "the newest quarter")
WIDTH, HEIGHT, EDGE = 1_000, 640, 20
TITLE = 140  # characters that are shown of a memory


async def show(visit: Visit) -> Response:
    """The map of the newest memories, or of those with some tags, from one time to another or in
    one cluster.
    """
    query, identity = visit.query, visit.who.identity
    tags, most = query.words("tags"), int(query.choice("most", SIZES))
    span = Window(start=query.time("from"), stop=query.time("to"))
    asked = ("map", identity.tenant, identity.user, most, *(tags or ()))

    async def draw(memory: Memory) -> MemoryMap:
        """The map that is kept, or a new one where that shows other memories."""
        return await asyncio.to_thread(
            visit.maps.of, asked, lambda known: map_of(memory, tags=tags, limit=most, known=known)
        )

    counted = await visit.counted("map", draw, most, *(tags or ()))
    if counted is None:
        return visit.page("map.html", counted=None, fields=query, most=most, sizes=SIZES)
    made = counted.value
    sizes = Counter(each.cluster for each in made.points)
    chosen = (
        query.number("cluster", default=0, most=max(1, len(sizes))) if "cluster" in query else None
    )
    shown = [
        (each, 4 * at // len(made.points))
        for at, each in enumerate(made.points)
        if each.created_at in span and chosen in (None, each.cluster + 1)
    ]
    return visit.page(
        "map.html",
        counted=counted,
        made=made,
        drawn=drawn(shown, visit.url("/memory/")),
        count_drawn=len(shown),
        quarters=QUARTERS,
        fields=query,
        is_cut=made.nodes >= most,
        most=most,
        sizes=SIZES,
        chosen=chosen,
        width=WIDTH,
        height=HEIGHT,
        clusters=[(number + 1, words, sizes[number]) for number, words in enumerate(made.clusters)],
    )


def drawn(points: Sequence[tuple[MapPoint, int]], page: str) -> Markup:
    """The points as SVG, each a link with how its memory begins. Ten thousand are too many for a
    template.
    """
    radius = 5 if len(points) < 800 else 4
    # by keyboard there is the list of the memories
    rest = ' tabindex="-1"' if len(points) > 60 else ""
    before, wide, high = escape(page), WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE
    return Markup(
        "\n".join(
            f'<a href="{before}{each.id}" '
            f'data-at="{each.created_at.timestamp():.0f}"{rest}><circle class="q{quarter}" '
            f'cx="{EDGE + wide * each.x:.1f}" cy="{HEIGHT - EDGE - high * each.y:.1f}" '
            f'r="{radius}">'
            f"<title>{escape(short(each.text, TITLE))}</title></circle></a>"
            for each, quarter in points
        )
    )  # escaped above
