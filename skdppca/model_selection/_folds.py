"""Folds that no record can move."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from ..decomposition.validation import number_groups
from ..exceptions import SeededNoiseWarning
from ..noise import NoiseSource
from ._row_steps import number_of_rows


class RecordKFold(BaseCrossValidator):
    """K folds; every record draws its own secret label, whatever the other records are.

    With scikit-learn's splitters one record more moves hundreds of others between the folds, and
    the guarantee of a search under "add-remove" breaks. Splitters that balance labels or groups
    move others when a record is exchanged, too. Here a record comes, goes or changes alone. The
    folds differ in size, and with few records one may be empty, which fails: have many more records
    than folds.

    Parameters
    ----------
    n_splits : int, default=5
    random_state : int or None, default=None
        None draws the labels from the operating system's entropy. A seed is for experiments: it
        fixes the label of a position, and a record that goes moves others to new positions.

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.model_selection import RecordKFold
    >>> folds = list(RecordKFold(3).split(np.zeros((90, 2))))
    >>> sum(len(test) for _, test in folds)
    90
    """

    # So that metadata routing brings the groups to `split`.
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(self, n_splits: int = 5, *, random_state: int | None = None) -> None:
        if n_splits < 2:
            raise ValueError(f"n_splits={n_splits} leaves nothing to test on; choose at least 2")
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        int
        """
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Row numbers of every training and test part. Each call draws new labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : object
            Ignored.
        groups : array-like of shape (n_rows,), optional
            The record of every row; all rows of a record fall into one fold.

        Yields
        ------
        train, test : ndarray of int
        """
        if self.random_state is not None:
            warnings.warn(
                "RecordKFold has a random_state: it fixes the labels of positions, so one record "
                "may move others between the folds, and a search over them is not private",
                SeededNoiseWarning,
                stacklevel=2,
            )
        n_rows = number_of_rows(X)
        noise = NoiseSource(self.random_state)
        if groups is None:
            labels = noise.labels(n_rows, self.n_splits)
        else:
            records = number_groups(groups, n_rows)
            labels = noise.labels(1 + records.max(initial=-1), self.n_splits)[records]
        for fold in range(self.n_splits):
            yield np.flatnonzero(labels != fold), np.flatnonzero(labels == fold)
