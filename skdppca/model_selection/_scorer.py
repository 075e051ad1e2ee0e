"""The private scores of candidates: captured variance, or the share of records classified right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..decomposition import BasePrivatePCA
from ..decomposition.validation import class_numbers
from ..mechanisms.centre import rough_centre
from ..mechanisms.clipping import expected_norms, find_radius, with_typical_norm
from ..mechanisms.scales.private_scales import private_scales
from ..neighbors import nearest_class
from ..privacy import PrivacyFilter
from ..privacy.declared import DeclaredScales
from ..private_data import PrivateData
from ..records import Records
from ..statistics import BoundedTotal, CapturedTotal, Distances, Spreads
from ._candidates import Candidate
from ._search_plan import SEARCH

LARGEST = np.finfo(np.float64).max


def fit_candidate(
    rows: Any,
    groups: Any,
    y: Any,
    checked: np.ndarray | sparse.csr_array,
    candidate: Candidate,
) -> tuple[Candidate, np.ndarray | None]:
    """Fit both steps, one after the other. Each charges its own part of the candidate's mu^2.

    Parameters
    ----------
    rows : array-like or sparse matrix
    groups, y : array-like or None
        The records of the rows, and their labels for a classifier.
    checked : ndarray or csr_array
        The rows as they were validated; a classifier needs them.
    candidate : Candidate

    Returns
    -------
    candidate : Candidate
        Fitted; its steps are released by their own queries.
    hits : ndarray of bool of shape (n_rows,) or None
        Which rows the classifier gets right. **Private**: it is for the score only.
    """
    pca, *classifiers = candidate
    pca.fit(rows, groups=groups)
    hits = None
    for classifier in classifiers:
        scores = _scores(pca, checked)
        classifier.fit(scores, y, groups=groups)
        numbers = class_numbers(y, classifier._public_classes(), len(scores))
        hits = numbers == nearest_class(scores, classifier.centroids_)
    return candidate, hits


def _scores(pca: BasePrivatePCA, X: Any) -> np.ndarray:
    """Return the scores of `pca.transform`, kept finite: an error would reveal an overflow."""
    return np.clip(np.nan_to_num(pca._scores(X), nan=0.0), -LARGEST, LARGEST)


@dataclass(frozen=True)
class Scorer:
    """Scores components on the same records, with fresh noise every time.

    With private scales every candidate has its own, and a length in units of them would say more of
    the scales than of the components: a feature whose scale came out too small holds nearly all of
    the variance. So all scores are in units of scales that the search released before, once. A
    candidate's components ``v`` with scales ``s`` span the directions ``s v`` of the features, and
    so ``(s / s_0) v`` of the features divided by the search's scales ``s_0``. What an orthonormal
    basis V of these directions captures is comparable, whatever s.

    Proof of the sensitivity. A record is divided by ``s_0``, a number that was released before the
    candidate was drawn, and clipped to R, which was released too. V is orthonormal, and made of
    releases alone. So `CapturedTotal` is asked of a record that is a function of this record and of
    releases: a term lies between 0 and R^2, whatever the candidate's scales are.

    Parameters
    ----------
    data : PrivateData
        About a centre that is public or was released. A score does not spend its budget: what a
        run costs is part of the price of the whole search.
    radius : float
        What the records are clipped to.
    mu : float
        The cost of one score.
    scale : ndarray of shape (n_features,) or None
        The search's own scales ``s_0``, by which these records were divided; None if the scales are
        public, and so the same for all candidates.
    """

    data: PrivateData
    radius: float
    mu: float
    scale: np.ndarray | None = None

    def __call__(self, components: np.ndarray, scale: np.ndarray | None = None) -> float:
        """``(sum_u w_u^2 ||Y_u V^T||^2 + noise) / n``; see `CapturedTotal`."""
        axes = np.asarray(components, np.float64)
        if self.scale is not None:
            axes = axes * (np.asarray(scale, np.float64) / self.scale)
            axes /= np.abs(axes).max()
        axes = np.linalg.qr(axes.T)[0].T
        run = replace(self.data, budget=PrivacyFilter(self.mu))
        return float(run.ask(self._captured(axes), name="score").value) / self.data.n

    @property
    def noise_sd(self) -> float:
        """Sd of the noise in a score; public by now."""
        nothing = np.zeros((0, self.data.n_features))
        return self.data.noise_sd(self._captured(nothing), self.mu) / self.data.n

    @property
    def details(self) -> dict[str, Any]:
        """For the report."""
        found = {"score_norm_bound": self.radius, "score_noise_sd": self.noise_sd}
        return found if self.scale is None else {**found, "score_scale": self.scale.tolist()}

    def _captured(self, axes: np.ndarray) -> CapturedTotal:
        return CapturedTotal(self.data.centre, self.radius, np.ascontiguousarray(axes))


def prepare_scorer(
    data: PrivateData, centred: bool, mu_score: float, declared: DeclaredScales | None = None
) -> Scorer:
    """Find what all scores share, with all of the budget.

    Parameters
    ----------
    data : PrivateData
        Its norm bound is one on ``||Y_u||``, and saves the search.
    centred : bool
        Whether a private centre is found.
    mu_score : float
        What one score costs.
    declared : DeclaredScales, optional
        The scales of all candidates; by the public ones the features were divided before.
    """
    scale = None
    if declared is not None and declared.private.any():
        found = private_scales(data, located=centred, private=declared.private)
        located = data.centred_at(found.location) if centred else data
        data = located.split(data.remaining).scaled(found.scale)
        scale = declared.whole(found.scale)
    data = data.ask_count(data.fraction(SEARCH.count_share))
    data = rough_centre(data).data if centred else with_typical_norm(data)
    radius = data.norm_bound
    if radius is None:
        name = "clipping norm of the scores"
        spreads, mu_radius = Spreads(data.centre), data.remaining
        radius, _ = find_radius(
            data, spreads, 1, mu_score, mu_radius, name, expected=expected_norms(data)
        )
    return Scorer(data, radius, mu_score, scale)


@dataclass(frozen=True)
class HitScorer:
    """Scores a classifier by the share of the records that it classifies right.

    Proof of the sensitivity. Pipeline and classifier were released by their own queries, and the
    label belongs to the record. So whether a row is classified right is 0 or 1, a function of its
    record and of releases, and a group's number is the share of its rows that are: between 0 and 1.
    One record moves the sum by at most 1, under both adjacencies (`BoundedTotal`). With a
    classifier that is fitted without noise this is false: one record would move the predictions of
    all others.

    Parameters
    ----------
    data : PrivateData
        The number of records is known. A score does not spend its budget.
    groups : ndarray of int of shape (n_rows,) or None
        Whose row it is.
    mu : float
        The cost of one score.
    """

    data: PrivateData
    groups: np.ndarray | None
    mu: float

    def __call__(self, hits: np.ndarray) -> float:
        """``(sum_u h_u + noise) / n``, h_u the share of a record's rows that are hits (0 or 1)."""
        records = Records.of(np.ascontiguousarray(hits, np.float64)[:, None], self.groups)
        run = replace(self.data, source=records, centre=np.zeros(1), budget=PrivacyFilter(self.mu))
        return float(run.ask(self._right, name="score").value) / self.data.n

    @property
    def details(self) -> dict[str, Any]:
        """For the report."""
        nothing = replace(self.data, source=Records.of(np.zeros((1, 1))), centre=np.zeros(1))
        return {"score_noise_sd": nothing.noise_sd(self._right, self.mu) / self.data.n}

    @property
    def _right(self) -> BoundedTotal:
        return BoundedTotal(Distances(np.zeros(1)), 1.0)
