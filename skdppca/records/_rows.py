"""The rows of a table as they are read: filled, changed, divided by a scale, less a centre."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ._entries import Change
from ._sparse import canonical_rows
from ._sums import on_row_grids


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """How the rows of a table are read; the table is never written.

    Parameters
    ----------
    X : ndarray, memmap or CSR array of shape (n_rows, n_features)
    scale : ndarray of shape (n_features,) or None
        Every feature is divided by it.
    may_be_absent : bool
        NaN in X is an absent entry.
    change : Change or None
    shift : ndarray of shape (n_features,) or None
        Subtracted from every row, and what absent entries are read as.
    is_shifted : bool
        Whether the rows are less a centre; X itself may be, and then there is no shift.
    most, floor : int or None
        See `Layout`.
    is_finite : bool
        X is float64, C-contiguous and finite, and read as it is.
    are_rounded : bool
        Every dense row that is read is on its grid (`_sums`).
    """

    X: np.ndarray | sparse.csr_array
    scale: np.ndarray | None = None
    may_be_absent: bool = False
    change: Change | None = None
    shift: np.ndarray | None = None
    is_shifted: bool = False
    most: int | None = None
    floor: int | None = None
    is_finite: bool = False
    are_rounded: bool = False

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    @property
    def may_miss(self) -> bool:
        """Whether absent entries are still read as what the rows are centred on."""
        return self.may_be_absent and self.shift is None

    @property
    def is_held(self) -> bool:
        """Whether they are less a centre and in memory, for many passes."""
        return self.is_shifted and self.shift is None

    @property
    def are_as_given(self) -> bool:
        """Whether they are read without a look at any number."""
        return self.scale is None and self.shift is None

    def scaled(self, scale: np.ndarray) -> Rows:
        """The same, every feature divided by a scale besides."""
        self._check_not_shifted()
        scale = scale if self.scale is None else self.scale * scale
        return replace(self, scale=scale, is_finite=False)

    def changed(self, change: Change, scale: np.ndarray | None) -> Rows:
        """The same, every row changed before it is divided by the scale."""
        if self.change is not None:
            raise TypeError(
                f"{type(change).__name__} of {type(self.change).__name__} would read the rows "
                "without the inner change, of which what is known of them may follow; change them "
                "once"
            )
        self._check_not_shifted()
        most, floor = change.most, change.floor
        return replace(self, change=change, scale=scale, most=most, floor=floor, is_finite=False)

    def shifted(self, centre: np.ndarray, held: np.ndarray | None, rounded: bool) -> Rows:
        """The same less a centre; `held` are these rows, if they were read into memory."""
        self._check_not_shifted()
        floor = None if centre.any() else self.floor
        if held is not None:
            return Rows(held, is_shifted=True, floor=floor, are_rounded=rounded)
        seen = replace(self, is_shifted=True, floor=floor, are_rounded=rounded)
        return replace(seen, shift=centre, most=None, is_finite=False)

    def _check_not_shifted(self) -> None:
        if self.is_shifted:
            raise TypeError("rows are scaled or changed before they are shifted, never after")

    def given(
        self, where: slice | np.ndarray, imputed: np.ndarray | None
    ) -> np.ndarray | sparse.csr_array:
        """Rows in units of X, before any scale; absent entries are read as those of `imputed`."""
        rows = self.X[where]
        if self.may_be_absent:
            _, values = self._imputed(imputed)
            if self.change is not None and self.change.imputes:
                values = np.full(self.n_features, np.nan)
            if sparse.issparse(rows):
                rows = canonical_rows(rows)
                absent = np.isnan(rows.data)
                rows.data[absent] = values[rows.indices[absent]]
            else:
                rows = np.where(np.isnan(rows), values, rows)
        return rows if self.change is None else self.change.of(rows, self.scale)

    def _imputed(self, imputed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """What an absent entry is read as, and the same in units of X."""
        imputed = imputed if self.shift is None else self.shift
        values = np.zeros(self.n_features) if imputed is None else imputed
        return values, values if self.scale is None else values * self.scale

    def read_dense(
        self, where: slice | np.ndarray, out: np.ndarray, imputed: np.ndarray | None = None
    ) -> np.ndarray:
        """Rows as C-contiguous float64, divided by the scale; X's own memory if it can be."""
        rows = self.given(where, imputed)
        if sparse.issparse(rows):
            rows = canonical_rows(rows).toarray()
        if self.are_as_given and rows.dtype == np.float64 and rows.flags.c_contiguous:
            return np.asarray(rows)
        out = out.ravel()[: rows.size].reshape(rows.shape)
        if self.shift is not None and self.scale is None and rows.dtype == np.float64:
            np.subtract(rows, self.shift, out=out)
            return on_row_grids(out) if self.are_rounded else out
        out[...] = rows
        if self.scale is not None:
            out /= self.scale
            if self.may_be_absent:  # exactly, or a blank row would point along rounding errors
                values, given = self._imputed(imputed)
                np.copyto(out, values, where=rows == given)
        if self.shift is not None:
            out -= self.shift
        return on_row_grids(out) if self.are_rounded else out

    def read_sparse(
        self, where: slice | np.ndarray, imputed: np.ndarray | None = None
    ) -> sparse.csr_array:
        """Rows as a canonical CSR array, divided by the scale."""
        rows = canonical_rows(self.given(where, imputed))
        if self.scale is not None:
            given, at = rows.data.copy(), rows.indices
            rows.data /= self.scale[at]
            if self.may_be_absent:  # likewise
                values, filled = self._imputed(imputed)
                np.copyto(rows.data, values[at], where=given == filled[at])
        return rows
