"""Public facts that parameters declare of every feature: a vector, and what it is divided by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from .._text import listed, meant

# Word that stands for a scale that a fit finds.
PRIVATE = "private"


def check_vector(value: Any, n_features: int, name: str, positive: bool = False) -> np.ndarray:
    """A public vector with one finite entry a feature."""
    try:
        vector = np.asarray(value)
        valid = vector.dtype.kind in "fiub" and vector.shape == (n_features,)
        with np.errstate(over="ignore"):
            vector = vector.astype(np.float64)
    except Exception:
        valid = False
    if not valid or not np.isfinite(vector).all():
        raise ValueError(f"{name} must hold {n_features} finite numbers, one a feature")
    if positive and not (vector > 0).all():
        raise ValueError(f"{name} must be positive; set it to 1 for features to leave as they are")
    return vector


@dataclass(frozen=True, eq=False)
class DeclaredScales:
    """The parameter `scale`, feature by feature: a declared number, or a scale that a fit finds.

    Parameters
    ----------
    public : ndarray of shape (n_features,) or None
        What features are divided by before anything is asked; 1 where the scale is private. None
        if that changes nothing.
    private : ndarray of bool of shape (n_features,)
        The features whose scales are found.
    """

    public: np.ndarray | None
    private: np.ndarray

    @classmethod
    def of(
        cls, scale: Any, n_features: int, names: Collection[Any] | None = None
    ) -> DeclaredScales:
        """Return what the parameter says of every feature.

        Parameters
        ----------
        scale : array-like of shape (n_features,), dict, "private" or None
        n_features : int
        names : collection of str, optional
            Names of the features, if they have any: those that a dict holds.

        Raises
        ------
        ValueError
        """
        if scale is None or isinstance(scale, str):
            return cls(None, np.full(n_features, scale is not None))
        if isinstance(scale, Mapping):
            named = _positions(scale, names)
            entries: list[Any] = [1.0] * n_features
            for name, place in named.items():
                entries[place] = _entry(scale[name], repr(name))
        elif any(isinstance(one, str) for one in _entries(scale)):
            entries = _entries(scale)
            if len(entries) != n_features:
                raise ValueError(
                    f"scale has {len(entries)} entries, but X has {n_features} features; give one "
                    "a feature: a number, or 'private'"
                )
            entries = [_entry(one, str(place)) for place, one in enumerate(entries, 1)]
        else:
            return cls(check_vector(scale, n_features, "scale", True), np.zeros(n_features, bool))
        private = np.array([one == PRIVATE for one in entries])
        public = np.array([1.0 if one == PRIVATE else one for one in entries])
        return cls(None if (public == 1).all() else public, private)

    @property
    def entries(self) -> np.ndarray | list[float | str]:
        """The parameter again, with one entry a feature: an array if all are numbers."""
        if not self.private.any():
            return self.whole(None)
        pairs = zip(self.private.tolist(), self.whole(None).tolist(), strict=True)
        return [PRIVATE if private else number for private, number in pairs]

    def whole(self, found: np.ndarray | None) -> np.ndarray:
        """Return what the features are divided by in all.

        Parameters
        ----------
        found : ndarray of shape (n_features,) or None
            The private scales, of features that were divided by the public ones; 1 elsewhere.
        """
        if found is None:
            return np.ones(len(self.private)) if self.public is None else self.public
        return found if self.public is None else self.public * found


def count_private(scale: Any, n_features: int) -> int:
    """Return of how many features the parameter `scale` asks for a private scale."""
    if isinstance(scale, str):
        return n_features
    return sum(isinstance(one, str) and one == PRIVATE for one in _entries(scale))


def finds_scales(scale: Any) -> bool:
    """Return whether the parameter `scale` asks for a private scale, of all features or of some."""
    return count_private(scale, 1) > 0


def public_part(scale: Any) -> Any:
    """Return what the parameter `scale` declares to be public: its numbers, or None.

    Beside private scales a 1 says nothing: it leaves a column as it is.
    """
    if not finds_scales(scale):
        return scale
    if isinstance(scale, str):
        return None
    columns = scale if isinstance(scale, Mapping) else _numbered(_entries(scale))
    return {name: one for name, one in columns.items() if one not in (PRIVATE, 1)} or None


def _numbered(entries: list[Any]) -> dict[str, Any]:
    """Return the entries by the places of their columns."""
    return {f"column {place}": one for place, one in enumerate(entries, 1)}


def _entries(scale: Any) -> list[Any]:
    """Return the entries of what may hold words; none of what holds numbers alone."""
    if isinstance(scale, Mapping):
        return list(scale.values())
    if isinstance(scale, list | tuple):
        return list(scale)
    try:
        array = np.asarray(scale)
        return array.tolist() if array.dtype.kind not in "fiub" and array.ndim == 1 else []
    except Exception:  # it is no array at all, as `check_vector` says
        return []


def _positions(scale: Mapping[Any, Any], names: Collection[Any] | None) -> dict[Any, int]:
    """Return where the named features are."""
    known = [] if names is None else [str(name) for name in names]
    if scale and not known:
        raise ValueError(
            f"scale names {_quoted(scale)}, but X has no column names; give X as a table with "
            "names, or scale as a list with one entry a column: a number, or 'private'"
        )
    places = {name: place for place, name in enumerate(known)}
    unknown = [name for name in scale if name not in places]
    if unknown:
        near = meant([unknown[0]], known) if isinstance(unknown[0], str) else ""
        raise ValueError(
            f"scale names {_quoted(unknown)}, but the columns of X are {listed(known)}; "
            f"give names of columns{near}"
        )
    count = Counter(known)
    twice = [name for name in scale if count[name] > 1]
    if twice:
        raise ValueError(
            f"scale names {twice[0]!r}, but X has several columns of that name; rename them, or "
            "give scale as a list with one entry a column"
        )
    return {name: places[name] for name in scale}


def _entry(value: Any, column: str) -> float | str:
    """Return the scale of a column: a number, or the word for a private one."""
    if isinstance(value, str) and value == PRIVATE:
        return PRIVATE
    try:
        real = isinstance(value, Real) and not isinstance(value, bool)
        valid = real and 0 < float(value) < math.inf
    except (OverflowError, ValueError):
        valid = False
    if not valid:
        near = meant([value], [PRIVATE]) if isinstance(value, str) else ""
        plain = value is None or isinstance(value, Real)  # all else may be an entry of a table
        told = repr(value) if plain else f"a {type(value).__name__}"
        raise ValueError(
            f"scale has {told} for column {column}; give a positive finite number, 1 to leave it "
            f"as it is, or 'private'{near}"
        )
    return float(value)


def _quoted(names: Any) -> str:
    return listed([str(name) for name in names])
