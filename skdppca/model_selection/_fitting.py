"""One run of a search: a private PCA, and the private classifier on its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..decomposition import BasePrivatePCA
from ..decomposition.validation import class_numbers
from ..neighbors import nearest_class
from ._candidates import Candidate

LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True)
class Fitted:
    """A candidate that was fitted.

    Parameters
    ----------
    candidate : Candidate
        Its steps are released by their own queries.
    hits : ndarray of bool of shape (n_rows,) or None
        Which rows the classifier gets right. **Private**: it is for the score only.
    """

    candidate: Candidate
    hits: np.ndarray | None = None


def fit_candidate(
    rows: Any,
    groups: Any,
    y: Any,
    checked: np.ndarray | sparse.csr_array,
    candidate: Candidate,
) -> Fitted:
    """Fit both steps, one after the other. Each charges its own part of the candidate's mu^2.

    Parameters
    ----------
    rows : array-like or sparse matrix
    groups, y : array-like or None
        The records of the rows, and their labels for a classifier.
    checked : ndarray or csr_array
        The rows as they were validated; a classifier needs them.
    candidate : Candidate
    """
    pca, classifier = candidate.pca.fit(rows, groups=groups), candidate.classifier
    if classifier is None:
        return Fitted(candidate)
    scores = _scores(pca, checked)
    classifier.fit(scores, y, groups=groups)
    numbers = class_numbers(y, classifier._public_classes(), len(scores))
    return Fitted(candidate, numbers == nearest_class(scores, classifier.centroids_))


def _scores(pca: BasePrivatePCA, X: Any) -> np.ndarray:
    """What `pca.transform` gives, but finite: an error would tell of a row that overflows."""
    return np.clip(np.nan_to_num(pca._scores(X), nan=0.0), -LARGEST, LARGEST)
