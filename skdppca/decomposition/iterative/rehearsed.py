"""An oracle of a user is tried on made-up rows, before anything is charged."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ...mechanisms.block_mean import BlockMean
from ...noise import NoiseSource
from ...privacy import PrivacyFilter
from ...private_data import PrivateData, Public
from ...records import Records
from .oracles import Oracle


@dataclass(frozen=True)
class RehearsalConstants:
    """The made-up rows; round numbers."""

    # Rows, and the most entries that they have together, which is 16 MB.
    rows: int = 256
    entries: int = 2_000_000
    # The budget: so large that noise hides nothing of the made-up rows.
    mu: float = 100.0
    # Calls: the first sees no direction that is removed, the second one.
    calls: int = 2


REHEARSAL = RehearsalConstants()


def rehearse_oracle(oracle: Oracle, n_features: int) -> None:
    """Refuse an oracle that is a class, fails, or returns no direction and value.

    It sees no record of the fit, and a copy of the oracle is called, with noise of its own: the fit
    finds the oracle and its own noise as if nothing had been tried.

    Parameters
    ----------
    oracle : Oracle
    n_features : int

    Raises
    ------
    TypeError, ValueError
        If it is a class, or returns something else. What the oracle itself raises is not caught.
    """
    if isinstance(oracle, type):
        name = oracle.__name__
        raise TypeError(f"oracle={name} is a class; pass an instance of it: oracle={name}()")
    tried, mean = deepcopy(oracle), _made_up(n_features)
    found = np.empty((0, n_features))
    with np.errstate(all="ignore"):  # as in the fit
        for left in range(min(REHEARSAL.calls, n_features), 0, -1):
            part = mean.split(mean.remaining / np.sqrt(left) * (1 - 1e-12))
            direction = _direction(tried(part.without(found)), n_features)
            found = np.vstack([found, direction / np.linalg.norm(direction)])


def _made_up(n_features: int) -> BlockMean:
    """Private means of rows whose variances fall from feature to feature."""
    n = min(REHEARSAL.rows, max(REHEARSAL.entries // n_features, 2))
    scales = 1 / np.sqrt(np.arange(1, n_features + 1))
    rows = np.random.default_rng(0).standard_normal((n, n_features)) * scales
    data = PrivateData(
        source=Records.of(rows),
        public=Public(n_features, "replace-one", n_records=n, in_memory=True),
        budget=PrivacyFilter(REHEARSAL.mu),
        noise=NoiseSource(0),
        centre=np.zeros(n_features),
        n=float(n),
    )
    return BlockMean(data)


def _direction(answer: Any, n_features: int) -> np.ndarray:
    """The direction of what an oracle has returned; refuse what is none."""
    returns = "oracle must return (direction, value)"
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise TypeError(
            f"{returns}, but it returned {_kind(answer)} for made-up rows; end it with "
            "`return direction, value`. Nothing was charged"
        )
    direction, value = answer
    shape = (n_features,)
    if not isinstance(direction, np.ndarray) or direction.shape != shape:
        raise ValueError(
            f"{returns} with a direction of shape {shape}, but it returned {_kind(direction)} for "
            "made-up rows; return one row, such as W[0]. Nothing was charged"
        )
    length = np.linalg.norm(direction) if direction.dtype.kind == "f" else 0.0
    if not (np.isfinite(length) and length > 0):
        raise ValueError(
            f"{returns} with a direction of finite real numbers that are not all 0, but for "
            "made-up rows it did not; divide a direction by its norm only if that is positive. "
            "Nothing was charged"
        )
    if not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(
            f"{returns} with a finite number as value, but it returned {_kind(value)} for made-up "
            "rows; return float(value), or 0.0 if you do not know it. Nothing was charged"
        )
    return direction


def _kind(found: Any) -> str:
    """What something is, in words."""
    if isinstance(found, np.ndarray):
        return f"an array of shape {found.shape}"
    size = f" of length {len(found)}" if isinstance(found, tuple | list) else ""
    return f"a {type(found).__name__}{size}"
