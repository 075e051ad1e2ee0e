"""What a fitted PCA does with data it is given: nothing here is private, or charged.

The map was paid for in `fit`; the rows that go through it are the caller's own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from .sparse_input import as_compressed

__all__ = ["FittedPCA"]

# Rows that `score_samples` holds in float64 at a time.
BATCH_ROWS = 4096


class FittedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods of a PCA that needs `components_`, `mean_` and `explained_variance_` only."""

    def transform(self, X: Any) -> np.ndarray:
        """Project rows on the components.

        The map is private, **the transformed rows are not**: each is a function of its own row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            In units of the (scaled) features; of unit variance if ``whiten=True``.
        """
        X = self._validated(X, ("csr", "csc"))
        axes = self._axes()
        return X @ axes.T.astype(X.dtype, copy=False) - (self.mean_ @ axes.T).astype(X.dtype)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Map scores back to rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components)

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32], input_name="X", estimator=self)
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {X.shape[1]} columns, but there are {len(self.components_)} components; "
                "give the scores that transform returns"
            )
        rows = (X * self._spread()) @ self.components_
        return (rows * self._scales(self.n_features_in_) + self.mean_).astype(X.dtype, copy=False)

    def get_covariance(self) -> np.ndarray:
        """Covariance of the model: ``V^T diag(variance - noise) V + noise I``.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            In squared units of X.
        """
        check_is_fitted(self)
        variances = self.explained_variance_.astype(np.float64)
        signal = np.maximum(variances - self.noise_variance_, 0.0)
        covariance = (self.components_.T * signal) @ self.components_
        covariance.flat[:: len(covariance) + 1] += self.noise_variance_
        return covariance * np.outer(*[self._scales(self.n_features_in_)] * 2)

    def get_precision(self) -> np.ndarray:
        """Inverse of `get_covariance`, in closed form.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            In inverse squared units of X. With no noise variance, the inverse on the span of the
            components.
        """
        check_is_fitted(self)
        # In float64: variances that a search ran off with are too large for products in float32.
        noise, variances = self.noise_variance_, self.explained_variance_.astype(np.float64)
        if noise > 0:
            shrunk = np.maximum(variances - noise, 0.0)
            weights = -shrunk / (noise * (shrunk + noise))
            precision = (self.components_.T * weights) @ self.components_
            precision.flat[:: len(precision) + 1] += 1 / noise
        elif len(self.components_) == self.n_features_in_:
            precision = linalg.pinvh((self.components_.T * variances) @ self.components_)
        else:
            least = variances.max(initial=0.0) * len(variances) * np.finfo(variances.dtype).eps
            inverse = np.divide(1, variances, out=np.zeros_like(variances), where=variances > least)
            precision = (self.components_.T * inverse) @ self.components_
        return precision / np.outer(*[self._scales(self.n_features_in_)] * 2)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of every row under the model. It reads X without noise or charge.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        X = self._validated(X, "csr")
        precision = self.get_precision()
        constant = X.shape[1] * math.log(2 * math.pi) - np.linalg.slogdet(precision)[1]
        is_sparse = bool(sparse.issparse(X))
        out = np.empty(X.shape[0])
        for batch in gen_batches(len(out), BATCH_ROWS):
            rows = X[batch].toarray() if is_sparse else X[batch]
            centred = rows - self.mean_
            out[batch] = -0.5 * (np.einsum("ij,ij->i", centred, centred @ precision) + constant)
        return out

    def score(self, X: Any, y: None = None) -> float:
        """Mean log-likelihood of the rows. It reads X without noise or charge.

        So the score that a search prints or chooses by is not private, unless the rows that it
        scores on are public.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : None
            Ignored.

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))

    def _validated(self, X: Any, formats: Any) -> Any:
        check_is_fitted(self)
        X = as_compressed(X) if sparse.issparse(X) else X
        return validate_data(
            self, X, accept_sparse=formats, dtype=[np.float64, np.float32], reset=False
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @property
    def _scales_privately(self) -> bool:
        return isinstance(self.scale, str)

    def _scales(self, n_features: int) -> np.ndarray:
        # What was fitted, whatever `scale` was set to after that.
        if "scale_" in vars(self) or self._scales_privately:
            return np.asarray(self.scale_, dtype=np.float64)
        if self.scale is None:
            return np.ones(n_features)
        return np.asarray(self.scale, dtype=np.float64)

    def _spread(self) -> np.ndarray:
        """What a score of 1 stands for, along every component."""
        if not self.whiten:
            return np.ones(len(self.components_))
        smallest = np.finfo(self.explained_variance_.dtype).eps
        return np.sqrt(np.maximum(self.explained_variance_, smallest))

    def _axes(self) -> np.ndarray:
        return self.components_ / self._scales(self.n_features_in_) / self._spread()[:, None]
