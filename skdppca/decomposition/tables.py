"""Where the rows of X are, and what is known of them before anything is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..private_data import PrivateData
from ..records import Pieces, Records
from .dask_input import is_dask
from .dataset_input import is_dataset
from .validation import check_groups, check_rows

if TYPE_CHECKING:
    from .base import BasePrivatePCA

__all__ = ["ArrayTable", "Table", "opened"]


class Table(ABC):
    """X and the groups of its rows, wherever they are.

    What is made here raises where X can be seen to be unusable without a look at its rows; `source`
    reads them.

    Attributes
    ----------
    n_features : int
    is_sparse : bool
    is_single : bool
        All numbers are declared to be of single precision, and so is what is released.
    door : type
        Through which the records are asked.
    gathering : str
        How the caller could bring all rows into one place; empty where nobody can.
    """

    n_features: int
    is_sparse: bool = False
    is_single: bool = False
    door: type[PrivateData] = PrivateData
    gathering: str = "give X as an array, or "

    @abstractmethod
    def source(self, scale: np.ndarray | None, n_jobs: int | None) -> Records | Pieces:
        """The records, valid: all rows were read if need be, and nothing but "valid" is said.

        Parameters
        ----------
        scale : ndarray of shape (n_features,) or None
            Public; every feature is divided by it.
        n_jobs : int or None
            Threads that share the blocks of rows in memory.
        """

    def details(self) -> dict[str, Any]:
        """What the report says of where the rows are, once all is released."""
        return {}

    def close(self) -> None:
        """Let go of what was held for this fit, whether it ended well or not."""
        return


class ArrayTable(Table):
    """Rows in memory, or mapped into it.

    Parameters
    ----------
    estimator : estimator
        Its number of features and their names are set.
    X : array-like or sparse matrix
    groups : array-like or None
    """

    def __init__(self, estimator: BasePrivatePCA, X: Any, groups: Any) -> None:
        self._X = check_rows(estimator, X)
        self._labels = check_groups(groups, self._X.shape[0], estimator.unit)
        self._may_miss = estimator._may_miss
        self.n_features = self._X.shape[1]
        self.is_sparse = bool(sparse.issparse(self._X))
        self.is_single = self._X.dtype == np.float32

    def source(self, scale: np.ndarray | None, n_jobs: int | None) -> Records:
        """The records; they were read as the table was opened."""
        return Records(self._X, self._labels, scale, n_jobs, may_miss=self._may_miss)


def opened(estimator: BasePrivatePCA, X: Any, groups: Any) -> Table:
    """The table of X and the groups of its rows, wherever they are."""
    if is_dask(X):
        from .cluster_table import ClusterTable

        return ClusterTable(estimator, X, groups)
    if is_dataset(X):
        from .file_table import FileTable

        return FileTable(estimator, X, groups)
    return ArrayTable(estimator, X, groups)
