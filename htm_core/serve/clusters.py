"""Vectors drawn in a plane, clusters of its points, and the words that set the texts of each apart
from the others.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def project(vectors: npt.ArrayLike) -> tuple[Array, float]:
    """The places (n, 2) of vectors (n, d), from 0 to 1 each way, and the share of their variance
    that the plane shows.

    The same vectors always give the same places: the largest part of each component is positive.
    Fewer than three vectors, or equal ones, have no plane: all are in its middle. O(n d² + d³).
    """
    matrix = np.asarray(vectors, dtype=np.float64)
    places = np.full((len(matrix), 2), 0.5)
    if len(matrix) < 3:
        return places, 0.0
    centred = matrix - matrix.mean(axis=0)
    variances, directions = np.linalg.eigh(centred.T @ centred / len(matrix))
    total = float(variances.clip(min=0).sum())
    if total <= 1e-12:
        return places, 0.0
    for axis in range(min(2, matrix.shape[1])):
        direction = directions[:, -1 - axis]
        direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
        along = centred @ direction
        low, high = float(along.min()), float(along.max())
        if high - low > 1e-9:
            places[:, axis] = (along - low) / (high - low)
    return places, float(variances[-2:].clip(min=0).sum() / total)


ROUNDS = 25  # of moving the centres; most sets stand still after ten
WORDS = 3  # that name a cluster
_WORD = re.compile(r"[^\W\d_]{3,}")


def clusters(points: npt.ArrayLike, count: int) -> list[int]:
    """Return the cluster of each point (n, 2) by k-means, of at most `count`; the same points
    always make the same clusters.

    The first centre is the point nearest to the middle of all, each further one the point farthest
    from those before it. Clusters are numbered by size, the largest 0.
    """
    places = np.asarray(points, dtype=np.float64)
    if not len(places):
        return []
    centres = _first_centres(places, count)
    nearest = _nearest(places, centres)
    for _ in range(ROUNDS):
        centres = _middles(places, nearest, centres)
        again = _nearest(places, centres)
        if (again == nearest).all():
            break
        nearest = again
    sizes = Counter(nearest.tolist())
    order = sorted(sizes, key=lambda cluster: (-sizes[cluster], cluster))
    numbers = {cluster: number for number, cluster in enumerate(order)}
    return [numbers[each] for each in nearest.tolist()]


def names(texts: Sequence[str], of_cluster: Sequence[int]) -> list[tuple[str, ...]]:
    """For each cluster, the words that more of its texts have than one would expect of all texts,
    the most telling first.

    A word weighs p * log(p / q), where p is the share of the cluster's texts that have it, and q
    the share of all texts: its part of the Kullback-Leibler divergence of the two. A word of a
    single text names nothing, unless the cluster is that text.
    """
    words = [set(_WORD.findall(text.lower())) for text in texts]
    everywhere = Counter(word for each in words for word in each)
    named = []
    for cluster in range(max(of_cluster, default=-1) + 1):
        own = [each for each, at in zip(words, of_cluster, strict=True) if at == cluster]
        counts = Counter(word for each in own for word in each)
        weights = {
            word: number / len(own) * math.log(number / len(own) * len(words) / everywhere[word])
            for word, number in counts.items()
            if number > 1 or len(own) == 1
        }
        best = sorted(
            (word for word in weights if weights[word] > 0), key=lambda word: (-weights[word], word)
        )
        named.append(tuple(best[:WORDS]))
    return named


def _first_centres(places: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.float64]:
    chosen = [int(np.argmin(((places - places.mean(axis=0)) ** 2).sum(axis=1)))]
    distance = ((places - places[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count and distance.max() > 0:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, ((places - places[chosen[-1]]) ** 2).sum(axis=1))
    return places[chosen]


def _middles(
    places: npt.NDArray[np.float64], nearest: npt.NDArray[np.intp], centres: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The middle of each cluster; one that has no point stays where it is."""
    members = [places[nearest == number] for number in range(len(centres))]
    return np.array(
        [
            own.mean(axis=0) if len(own) else centre
            for own, centre in zip(members, centres, strict=True)
        ]
    )


def _nearest(
    places: npt.NDArray[np.float64], centres: npt.NDArray[np.float64]
) -> npt.NDArray[np.intp]:
    nearest: npt.NDArray[np.intp] = (
        ((places[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
    )
    return nearest
