"""
Which method fits my data?
==========================

skdppca has seven methods, because none is best for all data. ``PrivatePCA`` chooses one of them by
public facts: how many columns, sparse or not, groups or not, and what you declare. This example
fits them to four kinds of data whose components are known.
"""

# %%
# Four kinds of data
# ------------------
#
# Ordinary rows. Groups of rows that agree but for noise. Rows of which 5 % are far outliers. And
# texts: sparse counts of 400 words, each scaled to length 1.

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import Normalizer

from skdppca import (
    GDPPCA,
    KDPPCA,
    DPGauss,
    DPPowerMethod,
    PrivatePCA,
    ResidualGauss,
)
from skdppca.datasets import make_contaminated, make_gaussian, make_spiked
from skdppca.exceptions import UnaccountedFitsWarning
from skdppca.metrics import captured_variance

warnings.simplefilter(
    "ignore", UnaccountedFitsWarning
)  # synthetic data: nothing to add up

counts, _ = make_multilabel_classification(
    6000, 400, n_classes=4, n_labels=1, length=50, allow_unlabeled=False, sparse=True,
    random_state=0,
)  # fmt: skip
texts = Normalizer().transform(sparse.csr_array(counts, dtype=float))

ordinary = make_gaussian(3000, 40, [10, 6, 4], 1.0, random_state=0)
agreeing = make_spiked(1000, 40, 3, [10, 6, 4], 0.2, random_state=0)
outlying = make_contaminated(3000, 40, [10, 6, 4], 1.0, random_state=0)
data = {
    "ordinary rows": (ordinary.X, None, ordinary.covariance),
    "groups that agree": (agreeing.X, agreeing.groups, agreeing.covariance),
    "5 % outliers": (outlying.X, None, outlying.covariance),
    "sparse texts": (texts, None, (texts.T @ texts).toarray() / texts.shape[0]),
}

# %%
# The methods
# -----------
#
# Every method finds three components at epsilon 1. What is public about the data is declared:
# groups, outliers (``tails="heavy"``), and that texts have length 1 and need no centre.

facts = {
    "groups that agree": {"unit": "matrix", "center": False},
    "sparse texts": {"center": False, "norm_bound": 1.0},
}
tails = {"5 % outliers": "heavy"}
methods = (DPGauss, ResidualGauss, KDPPCA, DPPowerMethod, GDPPCA, PrivatePCA)


def made(method, name):
    """The method with all that is public; None if it does not take such data."""
    if method is GDPPCA:  # differences of neighbouring rows or groups: for outliers
        return GDPPCA(3, centering="private") if name in tails else None
    pca = method(3, **facts.get(name, {}))
    return (
        pca.set_params(tails=tails[name])
        if method is PrivatePCA and name in tails
        else pca
    )


# %%
# The results
# -----------
#
# Each dot is one fit, and shows the share of the variance that the fit misses. Left is better. The
# last line names the method that ``PrivatePCA`` took.

FITS = 4
_, axes = plt.subplots(
    1, 4, figsize=(13, 4), layout="constrained", sharex=True, sharey=True
)
for ax, (name, (X, groups, covariance)) in zip(axes, data.items(), strict=True):
    print(name)
    ax.axhspan(len(methods) - 1.5, len(methods) - 0.5, color="#e8eef7", zorder=0)
    for line, method in enumerate(methods):
        pca = made(method, name)
        if pca is None:
            continue
        start = time.perf_counter()
        fits = [clone(pca).fit(X, groups=groups) for _ in range(FITS)]
        seconds = (time.perf_counter() - start) / FITS
        missed = [1 - captured_variance(fit, covariance=covariance) for fit in fits]
        print(
            f"  {method.__name__:14} {np.median(missed):8.1e} missed, {seconds:.2f} s a fit"
        )
        ax.plot(missed, [line] * FITS, "o", color="#0072b2", alpha=0.6)
        if method is PrivatePCA:
            taken = fits[0].privacy_.details["method"]
            place = {"ha": "right", "va": "center", "fontsize": "small"}
            ax.text(
                0.98,
                line + 0.32,
                f"took {taken}",
                transform=ax.get_yaxis_transform(),
                **place,
            )
    ax.set(title=name, xscale="log", xlabel="Missed variance")
    ax.grid(axis="y", color="#7a7a7a", alpha=0.2)
axes[0].set_yticks(range(len(methods)), [method.__name__ for method in methods])
axes[0].set_ylim(len(methods) - 0.5, -0.5)
plt.show()

# %%
# .. admonition:: Takeaway
#
#    Start with ``PrivatePCA``, and tell it what is public: groups, heavy tails, a bound, no centre.
#    Ordinary rows: all are alike. Groups that agree: ``ResidualGauss`` or ``KDPPCA``.
#    Sparse and wide: ``DPPowerMethod`` misses a little more, and builds no matrix of all columns.
