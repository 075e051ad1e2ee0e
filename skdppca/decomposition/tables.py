"""Where the rows of X are, and what is declared of them before one is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..records import Records, Source, collection_of
from .containers import declared
from .validation import check_groups, check_rows

if TYPE_CHECKING:
    from .base import BasePrivatePCA


@dataclass(frozen=True, kw_only=True)
class Table:
    """X and the groups of its rows, wherever they are.

    Whoever makes one raises where X can be seen to be unusable without a look at its rows, and sets
    the estimator's number of features and their names.

    Parameters
    ----------
    n_features : int
    read : callable
        Reads all rows if need be, says nothing but "valid", and returns the source. It takes the
        public scale by which every feature is divided, or None, and the threads that share blocks.
    is_sparse : bool
    is_single : bool
        All numbers are declared to be of single precision, and so is what is released.
    gathering : str
        How the caller could bring all rows into one place; empty where nobody can.
    """

    n_features: int
    read: Callable[[np.ndarray | None, int | None], Source]
    is_sparse: bool = False
    is_single: bool = False
    gathering: str = "give X as an array, or "


def opened(estimator: BasePrivatePCA, X: Any, groups: Any) -> Table:
    """The table of X and the groups of its rows, wherever they are."""
    collection = collection_of(X)
    if collection is None:
        return in_memory(estimator, X, groups)
    table: Table = collection.table(estimator, groups)
    return table


def in_memory(estimator: BasePrivatePCA, X: Any, groups: Any) -> Table:
    """The table of rows in memory, or mapped into it; they are read and checked here.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse matrix
    groups : array-like or None
    """
    if estimator._joining is not None:  # as scikit-learn: names before values
        estimator._joining.check_names(declared(X).names)
    rows = check_rows(estimator, X, may_be_empty=estimator._may_be_empty)
    labels = check_groups(groups, rows.shape[0], estimator.unit)
    may_miss = estimator._may_miss
    return Table(
        n_features=rows.shape[1],
        read=lambda scale, n_jobs: Records.of(rows, labels, scale, n_jobs, may_miss=may_miss),
        is_sparse=bool(sparse.issparse(rows)),
        is_single=rows.dtype == np.float32,
    )
