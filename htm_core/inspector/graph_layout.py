"""Places in a plane for what is joined by edges: what is joined lies together, and nothing lies
upon another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

ROUNDS = 150
Array = npt.NDArray[np.float64]


def lay_out(count: int, edges: Sequence[tuple[int, int, float]]) -> list[tuple[float, float]]:
    """A place from 0 to 1 each way for each of `count` nodes, the first in the middle.

    `edges` are pairs of numbers of nodes, each with a weight from 0 to 1. The method is that of
    Fruchterman and Reingold (1991): nodes push each other away, edges draw together, heavier ones
    more, and each round moves less than the one before. All begin on a circle, in their order, so
    that the same graph is always drawn alike. O(rounds * count²).
    """
    if count < 2:
        return [(0.5, 0.5)] * count
    turns = 2 * np.pi * np.arange(count) / count
    places: Array = np.column_stack([np.cos(turns), np.sin(turns)])
    places[0] = 0.0
    # the distance at which nodes that are not joined leave each other alone
    room = np.sqrt(4.0 / count)
    pull = np.zeros((count, count))
    for one, other, weight in edges:
        pull[one, other] = pull[other, one] = max(pull[one, other], 0.2 + 0.8 * weight)
    for step in np.linspace(0.2, 0.005, ROUNDS):
        apart = places[:, None, :] - places[None, :, :]
        distance = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-3)
        push = room**2 / distance - pull * distance**2 / room
        np.fill_diagonal(push, 0.0)
        moves = (apart / distance[:, :, None] * push[:, :, None]).sum(axis=1) - 0.3 * places
        length = np.maximum(np.sqrt((moves**2).sum(axis=1)), 1e-9)[:, None]
        places = places + moves / length * np.minimum(length, step)
        places[0] = 0.0
    reach = float(np.abs(places).max()) or 1.0
    return [(float(x), float(y)) for x, y in 0.5 + places / (2 * reach)]
