"""Small linear algebra on released matrices."""

from __future__ import annotations

import numpy as np
from scipy import linalg

__all__ = ["decreasing_eigh", "fix_signs", "symmetric_from_upper"]


def symmetric_from_upper(values: np.ndarray, size: int) -> np.ndarray:
    """Fill a symmetric ``size x size`` matrix from its upper triangle, read row by row."""
    matrix = np.empty((size, size))
    upper = np.triu_indices(size)
    matrix[upper] = values
    matrix.T[upper] = values
    return matrix


def decreasing_eigh(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix from large to small, and the eigenvectors as rows."""
    values, vectors = linalg.eigh(matrix, check_finite=False)
    return values[::-1], vectors.T[::-1]


def fix_signs(components: np.ndarray) -> np.ndarray:
    """Turn every row so that its entry of largest absolute value is positive.

    The sign of an eigenvector is arbitrary; this is scikit-learn's convention for ``PCA``.
    """
    largest = np.argmax(np.abs(components), axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * np.where(signs == 0, 1.0, signs)[:, None]
