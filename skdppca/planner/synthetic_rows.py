"""Synthetic rows: the spectrum that is assumed, and what is assumed of rows besides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, stats

from ..linalg import decreasing_eigh

# The variances of the first and of the last component of "spiked", over that of all directions but
# the components; those between are at equal steps. Round numbers.
FIRST, LAST = 10.0, 5.0

# Name -> variances of d directions when k components are wanted; the first variance is 1.
SPECTRA: dict[str, Callable[[int, int], np.ndarray]] = {
    "power-law": lambda d, k: 1 / np.arange(1.0, d + 1),
    "spiked": lambda d, k: np.r_[np.linspace(FIRST, LAST, k), np.ones(d - k)] / FIRST,
    "flat": lambda d, k: np.ones(d),
}
DEFAULT = "power-law"


def check_spectrum(spectrum: Any, d: int, k: int) -> tuple[str, np.ndarray]:
    """Return the spectrum's name ("given" for numbers) and its d variances, largest first."""
    if isinstance(spectrum, str):
        return spectrum, SPECTRA[spectrum](d, k)
    try:
        variances = np.asarray(spectrum)
        if np.iscomplexobj(variances):
            raise TypeError
        variances = variances.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"spectrum={spectrum!r} is neither a name nor numbers; give one of {sorted(SPECTRA)}, "
            f"or {d} variances"
        ) from None
    if variances.shape != (d,):
        raise ValueError(
            f"spectrum has shape {variances.shape}, but n_features={d}; give as many variances "
            "as features"
        )
    if not (np.isfinite(variances).all() and (variances >= 0).all() and variances.any()):
        raise ValueError(
            "spectrum must be finite variances of at least 0, not all of them 0; give public "
            "guesses of the covariance's eigenvalues"
        )
    return "given", np.sort(variances)[::-1]


# Relative distance by which tied variances are parted.
PARTED = 1e-6


@dataclass(frozen=True)
class SyntheticConstants:
    """Assumptions on rows, where a plan makes none. What has no origin here is a round guess."""

    # The most rows of one record that are simulated; more take longer.
    most_group_rows: int = 8
    # The share of entries that are absent, where some are.
    absent: float = 0.1
    # Student's degrees of freedom of heavy tails.
    degrees: int = 3
    # The largest unit of a feature over the smallest, where scales are private.
    units: float = 1000.0
    # The log's sd of lognormal values. Measured on tables of exponentials of four normal factors:
    # with 1.0 the median loss was above the planned range.
    log_sd: float = 1.25
    # The log's sd of a factor that all lognormal values of a row have in common, as columns that
    # are skewed together do: without it, fits of five components lost up to 4 times what was
    # planned.
    row_log_sd: float = 0.5
    # The mean of counts: most are 0.
    mean_count: float = 0.2


SYNTHETIC = SyntheticConstants()


def _lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    sd, row_sd = SYNTHETIC.log_sd, SYNTHETIC.row_log_sd
    square = math.exp(sd**2)
    values = np.exp(sd * rng.standard_normal(shape))
    common = np.exp(row_sd * rng.standard_normal((shape[0], 1)) - row_sd**2)
    return common * (values - math.sqrt(square)) / math.sqrt(square * (square - 1))


def _counts(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    mean = SYNTHETIC.mean_count
    return (rng.poisson(mean, shape) - mean) / math.sqrt(mean)


# Laws of the coordinates along the axes: values of mean 0 and variance 1.
LAWS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "lognormal": _lognormal,
    "counts": _counts,
}


@dataclass(frozen=True)
class SyntheticRows:
    """Rows to be fitted, and what the fit is judged on.

    Parameters
    ----------
    X : ndarray of shape (n_rows, d)
        Absent entries are NaN.
    groups : ndarray of shape (n_rows,) or None
        The record of every row; None: each is a record.
    values, vectors : ndarray
        Eigenvalues, largest first, and eigenvectors, as rows, of the second moments of the same
        rows, standardised if scales are private, with no entry absent and no record heavy.
    """

    X: np.ndarray
    groups: np.ndarray | None
    values: np.ndarray
    vectors: np.ndarray


@dataclass(frozen=True)
class Assumed:
    """Assumptions on the rows, beside their spectrum.

    Parameters
    ----------
    group_size : int or None
        How many rows every record has; None: rows are records.
    shared : float
        Share of the variance that the rows of a record have in common.
    scale : {"private"} or None
    missing : {"error", "mean"}
    tails : {"light", "heavy"}
    law : {"normal", "lognormal", "counts"}
        Law of the coordinates along the axes, each drawn by itself.
    """

    group_size: int | None = None
    shared: float = 0.5
    scale: str | None = None
    missing: str = "error"
    tails: str = "light"
    law: str = "normal"

    @property
    def rows_a_record(self) -> int:
        """Number of rows of a record that are simulated."""
        return min(self.group_size or 1, SYNTHETIC.most_group_rows)

    @property
    def in_common(self) -> float:
        """Variance that simulated rows share, so that records differ as if they had all rows.

        The mean of the outer products of a record's m rows varies, over that of one row, by
        ``s^2 + (1 - s^2) / m``.
        """
        m = self.rows_a_record
        if m == (self.group_size or 1):
            return self.shared
        return math.sqrt(max(0.0, (self._spread - 1 / m) / (1 - 1 / m)))

    @property
    def worth(self) -> float:
        """Number of independent rows that reveal as much of the covariance as one record."""
        return 1 / self._spread

    @property
    def _spread(self) -> float:
        return self.shared**2 + (1 - self.shared**2) / (self.group_size or 1)

    def draw(
        self,
        variances: np.ndarray,
        n_records: int,
        rng: np.random.Generator,
        exact: bool,
    ) -> SyntheticRows:
        """Draw rows about the origin; if `exact`, with exactly these variances."""
        m, d = self.rows_a_record, len(variances)
        if self.scale == "private":  # those of standardised features add up to their number
            variances = variances * (d / variances.sum())
        standard = LAWS[self.law]
        rows = standard(rng, (n_records * m, d))
        if m > 1:
            share = self.in_common
            common = np.repeat(standard(rng, (n_records, d)), m, axis=0)
            rows = math.sqrt(share) * common + math.sqrt(1 - share) * rows
        rows = exact_rows(variances, rows) if exact else rows * np.sqrt(variances)
        judged = rows
        if self.scale == "private":
            rows = rows @ _axes_of_standardised(variances, rng)
            judged = rows / rows.std(axis=0)
            rows = rows * SYNTHETIC.units ** rng.random(d)
        values, vectors = decreasing_eigh(judged.T @ judged / len(judged))
        if self.tails == "heavy":
            weights = SYNTHETIC.degrees / rng.chisquare(SYNTHETIC.degrees, n_records)
            rows = rows * np.sqrt(np.repeat(weights, m))[:, None]
        if self.missing == "mean":
            rows = np.where(rng.random(rows.shape) < SYNTHETIC.absent, np.nan, rows)
        groups = None if self.group_size is None else np.repeat(np.arange(n_records), m)
        return SyntheticRows(rows, groups, values, vectors)


def exact_rows(variances: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Turn standard rows into ones of mean 0 and exactly this covariance, up to `PARTED`.

    Tied variances are parted: rows of a continuous law never tie, and LAPACK may fail on ties.
    """
    variances = variances * np.linspace(1 + PARTED, 1, len(variances))
    basis = linalg.qr(rows - rows.mean(axis=0), mode="economic", check_finite=False)[0]
    return basis * np.sqrt((len(rows) - 1) * variances)


def _axes_of_standardised(variances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random axes along which features of unit variance have these variances.

    They are the eigenvectors of a random correlation matrix (Davies & Higham 2000).
    """
    if len(variances) == 1:
        return np.eye(1)
    order = np.argsort(-variances)
    found = np.empty((len(variances), len(variances)))
    found[order] = decreasing_eigh(stats.random_correlation.rvs(variances, random_state=rng))[1]
    return found
