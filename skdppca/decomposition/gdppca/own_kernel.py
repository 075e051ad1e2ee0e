"""A scale function of one's own, tried before anything is charged."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...records.kernels import ScaleFunction

# Made-up lengths: the ends of what may occur, steps between these, and ordinary numbers. The last
# trial has MANY of them at once, in another order.
ENDS = np.array([0.0, 2.0**-450, 2.0**450, np.inf])
STEPS = 2.0 ** np.arange(-60, 60.5, 0.5)
ORDINARY = np.exp(np.random.default_rng(0).normal(size=64))
MANY = 2**14


def name_of(kernel: Any) -> str:
    """Module and name of a function, or of the class of what is called like one."""
    while isinstance(kernel, partial):
        kernel = kernel.func
    named = kernel if hasattr(kernel, "__name__") else type(kernel)
    module = getattr(named, "__module__", None) or type(named).__module__
    return f"{module}.{getattr(named, '__qualname__', named.__name__)}"


def check_kernel(kernel: ScaleFunction) -> None:
    """Try a scale function on made-up lengths.

    Raises
    ------
    ValueError
        If it fails, or if what it returns for a length depends on the other lengths.
    """
    name, lengths = name_of(kernel), np.concatenate([ENDS, STEPS, ORDINARY])
    values = _tried(kernel, lengths, name)
    alone = np.concatenate([_tried(kernel, lengths[i : i + 1], name) for i in range(len(lengths))])
    order = np.random.default_rng(0).integers(len(lengths), size=MANY)
    for seen, there in (
        (alone, values),
        (_tried(kernel, lengths[::-1], name), values[::-1]),
        (_tried(kernel, lengths[order], name), values[order]),
    ):
        if not np.array_equal(seen, there, equal_nan=True):
            raise ValueError(
                f"kernel={name} gives a length another value among others than alone or the next "
                "time, so one record would reach the pairs of others and the guarantee would not "
                "hold. Use functions that act on every entry by itself, as "
                "lambda t: np.minimum(t, 3.0) does"
            )


def _tried(kernel: ScaleFunction, lengths: np.ndarray, name: str) -> np.ndarray:
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(kernel(lengths.copy()))
        problem = _problem(values, lengths)
    except Exception as error:
        problem = f"raised {type(error).__name__}"  # its text is code's, so it is not shown
    if problem:
        raise ValueError(
            f"kernel={name} {problem} for made-up lengths from 0 to infinity. It gets an array of "
            "lengths and must return as many real numbers, as lambda t: np.minimum(t, 3.0) does. "
            "To see what goes wrong, call it on 2.0 ** np.arange(-60, 61), [0.0] and [np.inf]"
        )
    return values.astype(np.float64)


def _problem(values: np.ndarray, lengths: np.ndarray) -> str:
    """What is wrong with what was returned, if anything is."""
    if values.shape == lengths.shape and values.dtype.kind in "fiub":
        return ""
    return f"returned {values.dtype} of shape {values.shape}, and not {lengths.shape},"
