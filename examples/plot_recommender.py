"""
Can a recommender learn privately?
==================================

A shop wants to recommend items from what its users had before. A low-pass filter does that: it
keeps the part of a user's row that lies along the top eigenvectors of all rows. The eigenvectors
are made of everyone's data, so they must be private. Each user then applies the filter at home.
"""

# %%
# Users and items
# ---------------
#
# 4000 users with one of eight tastes, and 120 items. Some items are popular with everybody. One
# item of each user is held out: a good recommender finds it.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import Normalizer

from skdppca import DPPowerMethod
from skdppca.exceptions import NoiseOnlyWarning, UnaccountedFitsWarning

warnings.simplefilter(
    "ignore", UnaccountedFitsWarning
)  # synthetic data: nothing to add up
warnings.simplefilter(
    "ignore", NoiseOnlyWarning
)  # fits that find nothing are part of the picture

rng = np.random.default_rng(0)
n_users, n_items, n_tastes = 4000, 120, 8
taste = rng.integers(n_tastes, size=n_users)
popularity = rng.permutation(np.linspace(0.01, 0.12, n_items))
fits_taste = np.arange(n_items) % n_tastes == taste[:, None]
liked = rng.random((n_users, n_items)) < popularity + 0.4 * fits_taste
liked[np.arange(n_users), rng.integers(n_items, size=n_users)] = (
    True  # nobody has none
)

held_out = np.array([rng.choice(np.flatnonzero(row)) for row in liked])
liked[np.arange(n_users), held_out] = False
users = sparse.csr_array(liked, dtype=float)

# %%
# Two promises
# ------------
#
# ``protect="interaction"`` hides whether a user had one single item. The other filter hides a whole
# user: each row is scaled to length 1 by itself, and a row is a record.

RANK, EPSILONS, FITS = n_tastes, (0.1, 0.3, 1.0, 3.0, 10.0), 5
per_user = Normalizer().transform(users)


def filters(epsilon):
    one_item = DPPowerMethod(
        RANK, protect="interaction", degree_floor=3, center=False, epsilon=epsilon
    )
    one_user = DPPowerMethod(RANK, norm_bound=1.0, center=False, epsilon=epsilon)
    return {"one item": (one_item, users), "one user": (one_user, per_user)}


def hit_rate(scores):
    """How often the item that was held out is among ten unseen ones."""
    unseen = np.where(liked, -np.inf, scores)
    best = np.argpartition(-unseen, 10, axis=1)[:, :10]
    return np.mean((best == held_out[:, None]).any(axis=1))


def recommended(directions, variances):
    return (users @ directions.T * np.sqrt(variances)) @ directions


rates = {"one item": [], "one user": []}
for epsilon in EPSILONS:
    for promise, (pca, rows) in filters(epsilon).items():
        fits = [clone(pca).fit(rows) for _ in range(FITS)]
        rates[promise].append(
            [
                hit_rate(recommended(fit.components_, fit.explained_variance_))
                for fit in fits
            ]
        )

# %%
# For comparison: the filter without privacy, and what is popular, for everybody alike.

values, vectors = np.linalg.eigh((per_user.T @ per_user).toarray())
best = hit_rate(recommended(vectors[:, -RANK:].T, values[-RANK:]))
popular = hit_rate(np.tile(liked.sum(axis=0), (n_users, 1)))

_, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
styles = (("o", "#0072b2"), ("s", "#d55e00"))
for (promise, found), (marker, colour) in zip(rates.items(), styles, strict=True):
    middle = np.median(found, axis=1)
    ax.plot(EPSILONS, middle, marker=marker, color=colour, label=f"hides {promise}")
    ax.fill_between(
        EPSILONS, *np.quantile(found, [0, 1], axis=1), color=colour, alpha=0.15
    )
ax.axhline(best, color="#7a7a7a", linestyle="--", label="without privacy")
ax.axhline(popular, color="#7a7a7a", linestyle=":", label="what is popular")
ax.set(
    xscale="log", xlabel="epsilon", ylabel="Hit rate among 10 items", ylim=(0, None)
)
ax.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()

# %%
# Popularity reads the data as well. If you need it, take ``mean_`` of a fit that centres: the fit
# has paid for it. A hit rate is computed without noise, so keep it to yourself unless the data are
# public. To hold out one item of each user keeps the guarantee for users, for it looks at that
# user's row alone.
#
# .. warning::
#
#    The filter may be published. What it returns for a user is computed from that user's own row,
#    so it is for that user alone.
#
# .. admonition:: Takeaway
#
#    The filter is shared and private, and each user applies it at home.
#    Hiding single items promises less. It costs less accuracy here, but not on all real data.
#    At a small epsilon, recommend what is popular instead.
