"""Folds that no record can move, and steps that see one row at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import BaseCrossValidator

from ..decomposition.containers import declared
from ..decomposition.validation import number_groups
from ..exceptions import SeededNoiseWarning
from ..noise import NoiseSource


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


# Numbers of the public rows: not sorted, one of them twice. As floats they lie between 0 and 1.
LEVELS = (2, 1, 3, 2)


def number_of_rows(X: Any) -> int:
    """The number of rows of an array, a sparse matrix, a frame or a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def transform_rows(
    steps: Sequence[tuple[str, Any]], X: Any, checked: np.ndarray | sparse.csr_array
) -> tuple[list[tuple[str, Any]], Any]:
    """Fit the steps on public rows, see what they do to these, and transform X.

    A step that learns from the rows that it is fitted on learns nothing of X.

    Parameters
    ----------
    steps : list of (str, estimator)
    X : array-like or sparse matrix
        Rows as the first step is to receive them.
    checked : ndarray or csr_array
        The same, as it was validated. Its dtype and its number of columns are public.

    Returns
    -------
    fitted : list of (str, estimator)
    rows : array-like or sparse matrix

    Raises
    ------
    ValueError
        If a step maps public rows together otherwise than one by one, if it changes the number of
        rows, or if it fails. Nothing of X is quoted.
    """
    fitted: list[tuple[str, Any]] = []
    # A step converts what it is given by rules of its own, which may look at entries.
    rows = X if declared(X).is_plain else _like(X, checked)
    together = _public_rows(X, checked, LEVELS)
    alone = [_public_rows(X, checked, [level]) for level in LEVELS]
    for name, step in steps:
        own, what = clone(step), f"step {name!r}, a {type(step).__name__},"
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # a warning would tell of X
            warnings.simplefilter("ignore")
            try:
                together = own.fit(together, None).transform(together)
                alone = [own.transform(row) for row in alone]
                by_itself = _is_stacked(together, alone)
            except Exception as error:
                raise ValueError(
                    f"{what} fails on made-up rows of small positive numbers, on which it is "
                    "checked; let it accept all finite numbers"
                ) from error
            if not by_itself:
                raise ValueError(
                    f"{what} maps made-up rows together otherwise than one by one. One record "
                    "could then change many rows, and no cost covers that. Use a step whose output "
                    "for a row depends on that row alone, such as Normalizer()"
                )
            try:
                rows, failed = own.transform(rows), False
            except Exception:
                failed = True
        if failed:  # out here, where it has no context: that could quote data
            raise ValueError(
                f"{what} fails on X. Its error may quote data and is not shown; let it accept all "
                "finite numbers, and try it on rows that you make up"
            )
        if number_of_rows(rows) != checked.shape[0]:
            raise ValueError(
                f"{what} changes the number of rows. One record could then be many rows, and no "
                "cost covers that. Use a step that gives one row for each row"
            )
        fitted.append((name, own))
    return fitted, rows


def _public_rows(X: Any, checked: np.ndarray | sparse.csr_array, levels: Sequence[int]) -> Any:
    """Rows that hold one number each, in a container like X: of its dtype, with its columns."""
    values = np.array(levels)[:, None]
    values = values.astype(checked.dtype) if checked.dtype.kind in "iub" else values / 4
    rows = np.repeat(values, checked.shape[1], axis=1)
    return type(X)(rows) if bool(sparse.issparse(X)) else _like(X, rows)


def _like(X: Any, rows: Any) -> Any:
    """Rows in a table like X, with its columns; as they are if X is none."""
    try:
        if hasattr(X, "iloc"):  # of pandas, where names need not differ
            return type(X)(rows, columns=X.columns)
        return type(X)(dict(zip(X.columns, rows.T, strict=True)))
    except (AttributeError, TypeError):  # no data frame
        return rows


def _is_stacked(together: Any, alone: list[Any]) -> bool:
    """Return whether the rows of a table are these single rows, up to rounding."""
    table, rows = _dense(together), [_dense(row) for row in alone]
    if table.shape[0] != len(rows) or any(row.shape != table[:1].shape for row in rows):
        return False
    return np.allclose(table, np.concatenate(rows), equal_nan=True)


def _dense(rows: Any) -> np.ndarray:
    is_sparse = bool(sparse.issparse(rows))
    return np.asarray(rows.toarray() if is_sparse else rows, dtype=np.float64)
