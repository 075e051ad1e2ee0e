"""Means of classes from one clipped sum, and which of them is the nearest to a row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ..mechanisms.base import BUDGET
from ..mechanisms.centre import rough_centre
from ..mechanisms.clipping import (
    CLIPPING,
    expected_norms,
    find_radius,
    radius_share,
    with_typical_norm,
)
from ..private_data import PrivateData
from ..records import Records
from ..statistics import ClippedSum, Distances
from ..statistics.base import around

# What is divided by without noise, where a class has no record: its sum is 0 then.
LEAST_COUNT = 2.0**-30

LARGEST = np.finfo(np.float64).max


# What a row counts in its class, over the clipping norm of its features: the sums then have
# sqrt(1 + 1/4) times the noise; round.
COUNT_WEIGHT = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class LabelledRows:
    """Rows with the classes that they are of; all of it private but the number of classes.

    Parameters
    ----------
    X : ndarray of shape (n_rows, d)
    groups : ndarray of int of shape (n_rows,) or None
        Whose row it is.
    classes : ndarray of int of shape (n_rows,)
        From 0; -1 for none of the public ones.
    n_classes : int
        Public.
    """

    X: np.ndarray
    groups: np.ndarray | None
    classes: np.ndarray
    n_classes: int

    def by_class(self, centre: np.ndarray, constant: float) -> Records:
        """Records of ``n_classes (d + 1)`` features: ``[x - c, t]`` in the place of the class.

        Elsewhere they are 0, and of no class everywhere. A row becomes a function of that row, of
        its class, and of numbers that are public or released. So neighbours stay neighbours, and
        whatever is proven for a sum over records holds for this one.

        Parameters
        ----------
        centre : ndarray of shape (d,)
            c, public or released.
        constant : float
            t, public or released.
        """
        kept, d = self.classes >= 0, self.X.shape[1]
        entries = np.empty((int(kept.sum()), d + 1))
        with np.errstate(all="ignore"):
            entries[:, :d] = self.X[kept] - centre
        entries[:, d] = constant
        columns = self.classes[kept, None] * (d + 1) + np.arange(d + 1)
        shape = len(self.X), self.n_classes * (d + 1)
        rows = sparse.csr_array(
            (
                np.clip(entries, -LARGEST, LARGEST).ravel(),
                columns.ravel(),
                (d + 1) * np.concatenate([[0], np.cumsum(kept)]),
            ),
            shape=shape,
        )
        return Records.of(rows, self.groups)


def class_means(
    data: PrivateData, labelled: LabelledRows, center: bool
) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """Release means and counts, with all of the budget.

    A row x of class j, clipped, adds ``w [x - c, t]`` to the place of j, with ``w = min(1, R' /
    ||[x - c, t]||)`` and ``R'^2 = R^2 + t^2``: one `ClippedSum` of records that lie in a space with
    a place for each class, of sensitivity R', or 2 R' if a record is exchanged. The mean of a class
    is the quotient of both parts. So a row that is clipped weighs less in both.

    Parameters
    ----------
    data : PrivateData
        The rows without their classes, about a public centre.
    labelled : LabelledRows
        The same rows.
    center : bool
        Whether a private centre is found.

    Returns
    -------
    means : ndarray of shape (n_classes, d)
    counts : ndarray of shape (n_classes,)
        Noisy numbers of records, none counted above 1; of groups, the sum of shares.
    radius : float
        What the features were clipped to, together with ``t = radius / 2``.
    unseen : bool
        The noise hid where the records are.
    """
    # 1. the number of records, a centre, and a norm that most of them do not exceed
    data = data.ask_count(data.fraction(BUDGET.question_share))
    data = rough_centre(data).data if center else with_typical_norm(data)
    n_classes, d = labelled.n_classes, data.n_features
    size, radius = n_classes * (d + 1), data.norm_bound
    if radius is None:
        mu_radius = radius_share(data, CLIPPING.radius_share, CLIPPING.most_radius_share)
        radius, _ = find_radius(
            data,
            Distances(data.centre),
            size,
            data.remaining,
            mu_radius,
            "clipping norm",
            expected=expected_norms(data),
        )
    # 2. sums and counts of all classes, in one answer
    constant = COUNT_WEIGHT * radius if math.isfinite(radius) else 1.0
    records = labelled.by_class(data.centre, constant)
    placed = replace(data, source=records, centre=np.zeros(size))
    answer = placed.ask(ClippedSum(placed.centre, math.hypot(radius, constant)), name="class sums")
    # 3. their quotients; a count below its noise is no number to divide by
    sums = answer.value.reshape(n_classes, d + 1)
    counts = sums[:, d] / constant
    least = max(answer.noise_sd / constant, LEAST_COUNT)
    means = data.centre + sums[:, :d] / np.maximum(counts, least)[:, None]
    return means, counts, radius, data.unseen


def nearest_class(
    X: np.ndarray | sparse.csr_array, means: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """The number of the mean that is nearest to each row: a bitwise function of that row alone.

    ``||x - m||^2`` is least where ``(x - c).(m - c) - ||m - c||^2 / 2`` is largest, whatever c.
    """
    centre = means.mean(axis=0)
    directions = np.ascontiguousarray(means - centre)
    products = Records.of(X, n_jobs=n_jobs).map(
        lambda block: block.scores(directions, around(centre)), width=len(means)
    )
    return np.argmax(products - np.sum(directions**2, axis=1) / 2, axis=1)
