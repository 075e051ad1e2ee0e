"""Which method suits what is publicly known (METHODS 10)."""

from __future__ import annotations

from ..mechanisms.eigensolver import dense_fits

__all__ = ["choose"]

# Sparse rows: from here on a few passes are faster than a d x d matrix, and as accurate.
MANY_SPARSE_FEATURES = 2000


def choose(
    n_features: int,
    *,
    is_sparse: bool = False,
    grouped: bool = False,
    sees_spectrum: bool = False,
    pure: bool = False,
    tails: str = "light",
    gap: str = "unknown",
) -> tuple[str, str]:
    """The method for these public facts, and why.

    Parameters
    ----------
    n_features : int
    is_sparse : bool
        Whether X is given as a sparse matrix.
    grouped : bool
        Whether a record is a group of rows.
    sees_spectrum : bool
        Whether the number of components is to be chosen from the spectrum.
    pure : bool
        Whether delta is 0.
    tails : {"light", "heavy"}
    gap : {"unknown", "large"}

    Returns
    -------
    method, why : str
    """
    fits = dense_fits(n_features)
    square = f"{n_features} x {n_features}"
    if pure:
        return "SmoothSensitivityPCA", "delta=0: the one method with a pure guarantee"
    if tails == "heavy" and fits:
        return "GDPPCA", "tails='heavy': outliers weigh no more than other records"
    if sees_spectrum and fits:
        return "DPGauss", "n_components is chosen from the spectrum, which this method releases"
    if grouped and fits:
        return "ResidualGauss", "a record is a group of rows: its noise follows how far they differ"
    if grouped:
        return "KDPPCA", f"a record is a group of rows, and a matrix of {square} is too large"
    if not fits or (is_sparse and n_features > MANY_SPARSE_FEATURES):
        wide = f"{n_features} features" + (", sparse" if is_sparse else "")
        if gap == "large":
            return "SmoothSensitivityPCA", f"{wide}, and gap='large': exact, then little noise"
        return "DPPowerMethod", f"{wide}: no matrix of {square}"
    return "DPGauss", f"ordinary rows, and a matrix of {square} fits"
