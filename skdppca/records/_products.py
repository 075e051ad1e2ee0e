"""Sums of the records' Gram matrices times a few vectors, block by block, by BLAS.

A row's products may have other last digits in another block: the sum's rounding error is bounded
for any order, and nothing else is made of them.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from ._dense import DenseRows
from ._groups import DenseGroups, LargeGroup
from ._sparse import SparseRows

__all__ = ["add_products"]


@singledispatch
def add_products(
    block: object,
    out: np.ndarray,
    weights: np.ndarray | None,
    centre: np.ndarray | None,
    directions: np.ndarray,
) -> None:
    """Add ``sum_i w_i^2 W X_i^T X_i`` over a block, X_i the rows of a record less the centre.

    Parameters
    ----------
    block : Block
    out : ndarray of shape (p, d)
    weights : ndarray or None
        One a record, for its rows.
    centre : ndarray of shape (d,) or None
    directions : ndarray of shape (p, d)
    """
    raise TypeError(f"no products for blocks of {type(block).__name__}")


@add_products.register
def _(block: DenseRows, out, weights, centre, directions) -> None:
    # Without weights the rows themselves do, and need no copy.
    rows = block.centred(centre) if weights is None else block.weighted(weights, centre, 0.0)
    out += (rows @ directions.T).T @ rows


@add_products.register
def _(block: SparseRows, out, weights, centre, directions) -> None:
    rows, weights = block._weighted(weights)
    scores = rows @ directions.T
    if centre is not None:
        scores -= np.outer(weights, directions @ centre)
        out -= np.outer(weights @ scores, centre)
    out += (rows.T @ scores).T


@add_products.register
def _(block: DenseGroups, out, weights, centre, directions) -> None:
    spread = None if weights is None else np.repeat(weights, block.sizes)
    add_products(block._rows, out, spread, centre, directions)


@add_products.register
def _(block: LargeGroup, out, weights, centre, directions) -> None:
    weight = 1.0 if weights is None else weights[0]
    if weight:
        total = np.zeros_like(out)
        for part in block.parts():
            add_products(part, total, None, centre, directions)
        out += weight**2 * total
