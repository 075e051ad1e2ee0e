"""Methods of a fitted PCA on data it is given: nothing here is private, or charged.

The map was paid for in `fit`; the rows that go through it are the caller's own.
"""

from __future__ import annotations

import math
import warnings
from numbers import Integral
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from .._sklearn import Interval
from ..exceptions import NotReleasedError, UnaccountedScoreWarning
from ..mechanisms.scatter import NoisyScatter
from ..privacy.charging import charged_elsewhere
from ..privacy.declared import DeclaredScales, finds_scales
from ..privacy.user_warnings import level_of_user
from ..records import Records, collection_of
from .parameters import Estimator
from .validation import read_rows

VARIANCES = (
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "noise_variance_",
)

P = TypeVar("P", bound="FittedPCA")

# Prefix of the attributes that hold a released matrix: `NoisyScatter.to_arrays`.
MATRIX = "matrix_"

# Rows that `score_samples` holds in float64 at a time.
BATCH_ROWS = 4096

# Normal numbers that `sample` holds at a time.
BATCH_NUMBERS = 2**20

# True once `score` has warned: once a process is enough.
_warned = False


class FittedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Methods of a PCA that needs `components_`, `mean_` and `explained_variance_` only."""

    # The earlier fits (a `Joining`) that `partial_fit` continues; it sets them on the copy it fits.
    _joining: Any = None

    # Attributes that a method does not release: name -> why, and how to get it.
    _not_released: ClassVar[dict[str, str]] = {}

    def transform(self, X: Any) -> np.ndarray:
        """Project rows on the components.

        The map is private, **the transformed rows are not**: each is a function of its own row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            A dask array or DataFrame gives a dask array, and nothing is computed yet.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            In units of the (scaled) features; of unit variance if ``whiten=True``.

        Raises
        ------
        ValueError
            X is a dask collection, and `set_output` asks for a data frame.
        """
        collection = collection_of(X)
        if collection is not None:
            collection.check_output(self)
            return cast(np.ndarray, collection.apply(self, "transform"))
        X = self._validated(X)
        return self._scores(X).astype(X.dtype, copy=False)

    def fit_transform(self, X: Any, y: None = None, **fit_params: Any) -> np.ndarray:
        """Fit, and project the rows of X; see `fit` and `transform`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : None
            Ignored.
        **fit_params : dict
            What `fit` takes besides.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
        """
        collection = collection_of(X)
        if collection is not None:
            collection.check_output(self)  # before the charge
        scores: np.ndarray = super().fit_transform(X, y, **fit_params)
        return scores

    def _scores(self, X: Any) -> np.ndarray:
        """The projections of valid rows: each a bitwise function of its row alone.

        A product of all rows at once would not be: a private step that follows would see more rows
        change than the one that does.
        """
        centre = np.asarray(self.mean_, dtype=np.float64)
        axes = np.ascontiguousarray(self._axes(), dtype=np.float64)
        return Records.of(X, n_jobs=self.n_jobs, may_miss=self._may_miss).map(
            lambda block: block.scores(axes, centre), width=len(axes), imputed=centre
        )

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
        collection = collection_of(X)
        if collection is not None:
            return cast(np.ndarray, collection.apply(self, "inverse_transform"))
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

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw synthetic rows from the released Gaussian model, at no privacy cost.

        Every row is a draw from the normal distribution with mean `mean_` and covariance
        `get_covariance()`. The rows are computed from the release alone, so they are as private
        as the release, however many you draw.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows to draw.
        random_state : int, RandomState or None, default=None
            Seed of the draws. An int gives the same rows in every call, and the first rows do not
            depend on `n_samples`. Any seed is safe: the privacy noise was drawn in `fit`, from the
            `random_state` of the estimator.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In units of X, in the precision of the release; no entry is missing. It is an array
            whatever `set_output` was given, which is about `transform`. For a table, write
            ``pandas.DataFrame(rows, columns=pca.feature_names_in_)``.

        Raises
        ------
        NotReleasedError
            If the fit released no variances; the message says why, and how to get them.

        Notes
        -----
        **Kept**: the mean and the covariance as released. They contain the privacy noise, and one
        mean variance for all directions outside of the components.

        **Not kept**: everything else. A skewed column, or one with several peaks, becomes a bell
        curve. Integers, categories and bounds are lost: an age may be negative. So is every
        dependence beyond correlation. The rows are independent; with groups, the rows of one
        record may be alike, and synthetic rows have no groups.

        The rows cannot show whether the model fits the data. To compare them with the private rows
        is another look at the data, which is not private.

        References
        ----------
        M. E. Tipping, C. M. Bishop. Probabilistic principal component analysis. Journal of the
        Royal Statistical Society B 61, 1999, Section 2.

        C. Dwork, A. Roth. The algorithmic foundations of differential privacy. 2014,
        Proposition 2.1: what is computed from a private release is private.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdppca import DPGauss
        >>> pca = DPGauss(n_components=10, epsilon=1.0).fit(load_digits().data)
        >>> pca.sample(3, random_state=0).shape
        (3, 64)
        """
        check_is_fitted(self)
        if not Interval(Integral, 1, None, closed="left").is_satisfied_by(n_samples):
            raise ValueError(
                f"n_samples={n_samples!r} is no number of rows; give an integer of at least 1"
            )
        noise, variances = self.noise_variance_, self.explained_variance_.astype(np.float64)
        loadings = np.sqrt(np.maximum(variances - noise, 0.0))[:, None] * self.components_
        scales, (k, d) = self._scales(self.n_features_in_), loadings.shape
        generator = check_random_state(random_state)
        rows = np.empty((n_samples, d), self.components_.dtype)
        for batch in gen_batches(len(rows), max(1, BATCH_NUMBERS // (k + d))):
            drawn = generator.standard_normal((batch.stop - batch.start, k + d))
            centred = drawn[:, :k] @ loadings + math.sqrt(noise) * drawn[:, k:]
            rows[batch] = centred * scales + self.mean_
        return rows

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of every row under the model. It reads X without noise or charge.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        collection = collection_of(X)
        if collection is not None:
            return cast(np.ndarray, collection.apply(self, "score_samples"))
        X = self._validated(X)
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
        scores on are public. The first call of a process warns.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : None
            Ignored.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        _warn_of_scores(self)
        return float(np.mean(self.score_samples(X)))

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
        # what is charged reads its own rows again: here a caller may leave a check out
        X = read_rows(self, X, reset=False, dtype=[np.float64, np.float32], is_finite=None)
        return self._filled(X) if self._may_miss else X

    @property
    def _may_miss(self) -> bool:
        """True if NaN is an absent entry."""
        return bool(self.missing == "mean")

    def _filled(self, X: Any) -> Any:
        """Rows with the mean's entries in place of those that are not there."""
        mean, is_sparse = self.mean_.astype(X.dtype), bool(sparse.issparse(X))
        if not is_sparse:
            return np.where(np.isnan(X), mean, X)
        filled = X.tocsr(copy=True)
        absent = np.isnan(filled.data)
        filled.data[absent] = mean[filled.indices[absent]]
        return filled

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @property
    def _scales_privately(self) -> bool:
        """True if the fit finds scales, of all features or of some."""
        return finds_scales(self.scale)

    def _declared_scales(self, n_features: int) -> DeclaredScales:
        """Return what `scale` says of every feature."""
        names = vars(self).get("feature_names_in_")
        return DeclaredScales.of(self.scale, n_features, names)

    def _scales(self, n_features: int) -> np.ndarray:
        # The scales of the fit, whatever `scale` was set to after that.
        if "scale_" in vars(self) or self._scales_privately:
            return np.asarray(self.scale_, dtype=np.float64)
        return self._declared_scales(n_features).whole(None)

    def _spread(self) -> np.ndarray:
        """Return the length that a score of 1 stands for, along every component."""
        if not self.whiten:
            return np.ones(len(self.components_))
        sd = np.sqrt(self.explained_variance_)
        largest = sd.max() or 1.0
        return np.maximum(sd, np.finfo(sd.dtype).eps * largest)

    def _axes(self) -> np.ndarray:
        return self.components_ / self._scales(self.n_features_in_) / self._spread()[:, None]

    def __getattr__(self, name: str) -> Any:
        if "privacy_" in vars(self) and (why := self._why_not_released(name)):
            raise NotReleasedError(f"{type(self).__name__} does not release {name}: {why}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _why_not_released(self, name: str) -> str | None:
        """Why a fit did not release an attribute; it may have seen that there is too much noise."""
        left_out = type(self)._not_released.get(name)
        if name not in VARIANCES:
            return left_out
        seen: str | None = self.privacy_.details.get("no_variances")
        return seen or left_out or "its method leaves it out"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._may_miss
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def matrix_of(pca: FittedPCA) -> NoisyScatter | None:
    """The noisy matrix that a fitted PCA holds, if it was released.

    Raises
    ------
    ValueError
        If its arrays are none of one release.
    """
    held = {
        name.removeprefix(MATRIX).removesuffix("_"): value
        for name, value in vars(pca).items()
        if name.startswith(MATRIX)
    }
    return NoisyScatter.from_arrays(held) if held else None


def read_only(pca: P) -> P:
    """Return the fitted estimator with arrays that nothing writes to any more."""
    for value in vars(pca).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return pca


def _warn_of_scores(pca: Any) -> None:
    """Warn, the first time, of what may become a choice that nothing accounts for.

    If a filter makes the warning an error, nothing was read, and the next call warns again.
    """
    global _warned
    if _warned or charged_elsewhere() or not pca.privacy_.private:
        return
    warnings.warn(
        "score reads these rows without noise, so a choice made by it, as GridSearchCV makes it, "
        "is not private unless they are public. To choose privately use PrivateSearchCV. If these "
        "rows are public, silence this: warnings.simplefilter('ignore', "
        "skdppca.exceptions.UnaccountedScoreWarning). It comes once a process.",
        UnaccountedScoreWarning,
        stacklevel=level_of_user(),
    )
    _warned = True
