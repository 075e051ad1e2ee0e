"""
How do I tune?
==============

A grid search fits every candidate on every fold. With private fits each of these costs, and the
scores read the data without any noise. This example gives the same budget, epsilon 2 in all, to
three ways of choosing, and compares what they find.
"""

# %%
# Three ways to use one budget
# ----------------------------
#
# The grid is about clipping. Two of its three norm bounds fit the digits badly, and nobody is
# supposed to know that.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from skdppca import DPGauss
from skdppca.exceptions import UnaccountedFitsWarning
from skdppca.metrics import captured_variance
from skdppca.model_selection import PrivateSearchCV, RecordKFold, price

warnings.simplefilter(
    "ignore", UnaccountedFitsWarning
)  # public data: nothing to add up

X = load_digits().data
DELTA = 1e-6
grid = {"clip": ["auto", "spherical"], "norm_bound": [None, 20.0, 200.0]}


def captured(pca, X, y=None):  # reads X without noise
    return captured_variance(pca, X)


one_fit = DPGauss(n_components=5, epsilon=2.0, delta=DELTA)
private_search = PrivateSearchCV(
    DPGauss(n_components=5), grid, epsilon=2.0, delta=DELTA, mean_candidates=20
)
grid_search = GridSearchCV(
    DPGauss(n_components=5, epsilon=0.31, delta=DELTA),
    grid,
    scoring=captured,
    cv=RecordKFold(5),
    error_score="raise",
)

# %%
# The price of each, before anything is fitted
# --------------------------------------------
#
# ``price`` reads no data. The grid search makes 31 fits, so each gets a small epsilon. Its price
# covers the fits alone: the scores and the choice are not private at all.

print(f"one fit:          epsilon {one_fit.epsilon:.2f}")
print(
    f"PrivateSearchCV:  epsilon {price(private_search, n_features=64).epsilon(DELTA):.2f}"
)
cost = price(grid_search, n_features=64)
print(
    f"GridSearchCV:     epsilon {cost.epsilon(DELTA):.2f} in {cost.n_fits} fits, without scores"
)

# %%
# What they found
# ---------------
#
# Each way is repeated twelve times. Every dot is the winner of one search. A private search tries a
# random number of candidates, and sometimes a single bad one.

REPEATS = 12
found = {
    "one fit of\nthe default": [clone(one_fit).fit(X) for _ in range(REPEATS)],
    "PrivateSearchCV": [
        private_search.fit(X).best_estimator_ for _ in range(REPEATS)
    ],
    "GridSearchCV\n(scores not private)": [
        grid_search.fit(X).best_estimator_ for _ in range(REPEATS)
    ],
}

_, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
spread = np.random.default_rng(0).uniform(-0.12, 0.12, REPEATS)
colours = ("#0072b2", "#009e73", "#d55e00")
for i, (winners, colour) in enumerate(zip(found.values(), colours, strict=True)):
    rates = [captured_variance(pca, X) for pca in winners]
    ax.plot(i + spread, rates, "o", color=colour, alpha=0.7)
    ax.hlines(np.median(rates), i - 0.25, i + 0.25, color=colour)
ax.set_xticks(range(3), list(found))
ax.set(
    ylabel="Captured variance of 5 components",
    title="Epsilon 2 in all, each",
    ylim=(0, 1.02),
)
plt.show()

# %%
# .. admonition:: Takeaway
#
#    Try the default first: here it beats both searches.
#    A private search is charged once. A grid search is charged for every fit, and its scores are
#    not private. Search only where you know that the default fails.
