"""Records with other entries: a function of each row by itself."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ._records import Records
from ._sparse import canonical

__all__ = ["Interactions", "LargestEntries", "SquaredDeviations"]


class _Changed(Records):
    """The same records with every row changed as it is read, without a look at other rows."""

    def __init__(self, records: Records) -> None:
        if isinstance(records, _Changed) and not records._replaced:
            raise TypeError(
                f"{type(self).__name__} of {type(records).__name__} would read the rows without "
                "the inner change, of which what is known of them may follow; change them once"
            )
        records._check_not_shifted()
        vars(self).update(vars(records._derived()))
        self._replaced, self._most, self._floor = False, None, None

    def _rows(self, where: slice, fill: np.ndarray | None = None) -> np.ndarray | sparse.csr_array:
        rows = super()._rows(where, fill)
        # The scores of records replace their rows, and are left as they are.
        return rows if self._replaced else self._change(rows)

    def _change(self, rows: np.ndarray | sparse.csr_array) -> np.ndarray | sparse.csr_array:
        raise NotImplementedError


class LargestEntries(_Changed):
    """Sparse rows without all but their `most` largest entries in absolute value, once scaled.

    Of equal ones those of the first columns stay.
    """

    def __init__(self, records: Records, most: int) -> None:
        super().__init__(records)
        self.most = self._most = most

    def _change(self, rows: np.ndarray | sparse.csr_array) -> sparse.csr_array:
        rows = canonical(rows)
        lengths = np.diff(rows.indptr)
        if not np.any(lengths > self.most):
            return rows
        number = np.repeat(np.arange(len(lengths)), lengths)
        sizes = np.abs(rows.data)
        if self._scale is not None:  # the caller divides by it
            sizes = sizes / self._scale[rows.indices]
        order = np.lexsort((rows.indices, -sizes, number))
        rank = np.arange(len(order)) - np.repeat(rows.indptr[:-1], lengths)
        kept = np.sort(order[rank < self.most])
        indptr = np.concatenate([[0], np.cumsum(np.minimum(lengths, self.most))])
        return sparse.csr_array((rows.data[kept], rows.indices[kept], indptr), rows.shape)


class Interactions(_Changed):
    """Every non-zero entry counts 1, and a row is divided by ``sqrt(max(its number, floor))``.

    So a row r is one term of ``A = sum r r^T / max(deg r, floor)``, of norm at most 1.
    """

    def __init__(self, records: Records, floor: int) -> None:
        super().__init__(records)
        self.floor = self._floor = floor

    def _change(self, rows: np.ndarray | sparse.csr_array) -> np.ndarray | sparse.csr_array:
        if not sparse.issparse(rows):
            ones = (rows != 0).astype(np.float64)
            return ones / np.sqrt(np.maximum(ones.sum(axis=1), self.floor))[:, None]
        rows = canonical(rows)
        rows.eliminate_zeros()
        degrees = np.diff(rows.indptr)
        rows.data = np.repeat(1 / np.sqrt(np.maximum(degrees, self.floor)), degrees)
        return rows


class SquaredDeviations(_Changed):
    """``((x - centre) / unit)^2`` of every entry; sparse about 0, else in dense blocks.

    Centre and unit are public or were released. An absent entry is read as the centre's: 0.
    """

    def __init__(self, records: Records, centre: np.ndarray, unit: np.ndarray) -> None:
        super().__init__(records)
        ones = np.ones(records.n_features)
        self._public_scale = ones if records._scale is None else records._scale
        self._explicit, self._scale = self._explicit or bool(centre.any()), None
        self._centre, self._unit = centre, unit

    def _rows(self, where: slice, fill: np.ndarray | None = None) -> np.ndarray | sparse.csr_array:
        return super()._rows(where, np.full(self.n_features, np.nan))  # absent until `_change`

    def _change(self, rows: np.ndarray | sparse.csr_array) -> np.ndarray | sparse.csr_array:
        with np.errstate(all="ignore"):  # a row that overflows weighs nothing
            if sparse.issparse(rows):
                rows = canonical(rows)
                if self.is_sparse:
                    at = rows.indices
                    units = rows.data / self._public_scale[at] / self._unit[at]
                    rows.data = self._filled(units**2)
                    return rows
                rows = rows.toarray()
            dense = np.asarray(rows, dtype=np.float64)
            return self._filled(((dense / self._public_scale - self._centre) / self._unit) ** 2)

    def _filled(self, squares: np.ndarray) -> np.ndarray:
        if self._may_miss:
            squares[np.isnan(squares)] = 0.0
        return squares
