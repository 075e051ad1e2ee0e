"""How records lie: all that rounding follows."""

from __future__ import annotations

from typing import NamedTuple

# The declared domain: the most rows for which the rounding errors of the sums are bounded.
MAX_ROWS = 2**30

UNIT_ROUNDOFF = 2.0**-53


def summation_error(terms: float, span_rows: int, inner: int) -> float:
    """Bound on the rounding error, in Frobenius norm, of any sum over blocks of records.

    Parameters
    ----------
    terms : float
        Largest norm of what one record adds (of its parts, where they are added one by one).
    span_rows : int
        Rows that are summed in plain floating point before a compensated sum takes over.
    inner : int
        Length of the inner products within one record.

    Notes
    -----
    Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter 4: whatever the order,
    n terms are summed with an error of at most ``n u`` times the sum of their absolute values,
    and with Neumaier's correction of about ``2 u``. `MAX_ROWS` records of norm `terms` are
    assumed, because the true number is private.
    """
    return (span_rows + 2 * inner + 16) * UNIT_ROUNDOFF * MAX_ROWS * terms


# Rows of a span (or twice the features, if more), which are summed in plain floating point. The
# sums of spans are added with compensation. It sets the rounding error that a release carries.
SPAN_ROWS = 4096


class Layout(NamedTuple):
    """How records lie, without a word of what is in them: public, and all that rounding follows.

    Parameters
    ----------
    n_features : int
    is_sparse : bool
        A centre is subtracted in the products rather than from every row.
    is_explicit : bool
        Residuals are formed record by record.
    span_rows : int
        Number of rows that are summed without compensation.
    may_miss : bool
        A NaN is an absent entry, which is read as the entry of what the rows are centred on.
    is_grouped : bool
        A record is a group of rows.
    most : int or None
        No row has more non-zeros (`LargestEntries`).
    floor : int or None
        Rows count interactions, divided by no less than the root of that (`Interactions`).
    """

    n_features: int
    is_sparse: bool = False
    is_explicit: bool = False
    span_rows: int = SPAN_ROWS
    may_miss: bool = False
    is_grouped: bool = False
    most: int | None = None
    floor: int | None = None
