"""Vectors drawn in a plane: their two principal components, by numpy alone."""

from __future__ import annotations

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
