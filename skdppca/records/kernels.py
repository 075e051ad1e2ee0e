"""What length the difference of a pair of rows gets: one, at most a radius, or as one likes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._numbers import row_norms

# Squared lengths between these are precise; others are scaled before they are squared.
LEAST_SQUARE = 2.0**-900
LARGEST_SQUARE = 2.0**900

# A function that turns every length of an array into another one.
ScaleFunction = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class Kernel:
    """Generalised spatial sign ``g(t) = xi(||t||) t / ||t||``, ``g(0) = 0``, in units of r.

    Parameters
    ----------
    radius : float or None
        r of winsorisation, ``xi = min(r, .)``; None for the spatial sign, ``xi = r = 1``.
    xi : callable or None
        Another scale function, which needs a radius: its values are clipped to [0, r]. The lengths
        that it is called with are bitwise functions of the two rows. It may jump, so that a
        rounding error of a length could move the whole term.
    """

    radius: float | None = None
    xi: ScaleFunction | None = None

    def weights(
        self, squares: np.ndarray, unit: float, lengths: Callable[[], np.ndarray]
    ) -> np.ndarray:
        """``xi^2 / ||t||^2`` for squared lengths in squares of `unit`; overwrites them.

        Parameters
        ----------
        squares : ndarray
            Up to rounding; infinite for what is to have weight 0.
        lengths : callable
            Finds the lengths themselves, each a bitwise function of its pair.
        """
        with np.errstate(divide="ignore"):
            np.divide(1.0, squares, out=squares)
        if self.radius is None:
            return squares
        if self.xi is not None:
            squares *= _shares(self.xi, self.radius, lengths()) ** 2
            return squares
        most = min(unit / self.radius, 2.0**500) ** 2
        return np.minimum(squares, most, out=squares)

    def apply(self, differences: np.ndarray) -> np.ndarray:
        """Turn differences of rows, finite and of any size, into g; overwrites them."""
        shares = None
        if self.radius is not None and self.xi is not None:
            shares = _shares(self.xi, self.radius, row_norms(differences) / math.sqrt(2))
        squares = np.einsum("ij,ij->i", differences, differences)
        rare = np.flatnonzero(~((squares > LEAST_SQUARE) & (squares < LARGEST_SQUARE)))
        sizes = np.ones(rare.size)
        if rare.size:
            sizes = np.abs(differences[rare]).max(axis=1)
            sizes[sizes == 0] = 1.0
            differences[rare] /= sizes[:, None]
            squares[rare] = np.einsum("ij,ij->i", differences[rare], differences[rare])
        with np.errstate(divide="ignore"):
            factor = np.sqrt(2 / squares)
        if shares is None and self.radius is not None:
            most = np.full(len(factor), 1 / self.radius)
            with np.errstate(over="ignore"):
                most[rare] *= sizes
            np.minimum(factor, most, out=factor)
        factor[squares == 0] = 0.0
        if shares is not None:
            factor *= shares
        differences *= (factor / math.sqrt(2))[:, None]
        return differences


def called(xi: ScaleFunction, lengths: np.ndarray) -> np.ndarray:
    """What a scale function returns for lengths, as float64; it never raises.

    A length for which it raises, or for which it does not return one real number, counts as NaN.
    They are found by halves: of a function that acts on every length by itself, no other length is
    affected.
    """
    try:
        returned = np.asarray(xi(lengths.copy()))
        fits = returned.shape == lengths.shape and returned.dtype.kind in "fiub"
        values = returned.astype(np.float64) if fits else None
    except Exception:
        values = None
    if values is not None:
        return values
    if len(lengths) <= 1:
        return np.full(len(lengths), np.nan)
    middle = len(lengths) // 2
    return np.concatenate([called(xi, lengths[:middle]), called(xi, lengths[middle:])])


def _shares(xi: ScaleFunction, radius: float, lengths: np.ndarray) -> np.ndarray:
    """``xi / r`` of lengths, clipped to [0, 1]; what is no number counts as 0."""
    values = called(xi, np.ravel(lengths))
    values = np.minimum(np.where(values > 0, values, 0.0), radius)
    return (values / radius).reshape(lengths.shape)
