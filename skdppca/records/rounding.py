"""How far floating point can move a sum over records, however it is ordered."""

from __future__ import annotations

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
