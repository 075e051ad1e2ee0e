"""
What if I just fit again?
=========================

Every private fit draws fresh noise. Somebody who sees several fits of the same data can average
them, and the noise gets smaller. Each report states the charge of its own fit, and none of them
knows the others. Here an attacker averages up to 16 fits of epsilon 1.
"""

# %%
# Two worlds again
# ----------------
#
# The data are 500 digits, reduced to 4 x 4 pixels. A coin decides whether one more image is added:
# four bright corners. The attacker knows all other images.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binomtest
from sklearn.datasets import load_digits

from skdppca import DPGauss, PrivacyAccountant
from skdppca.exceptions import BudgetExceeded, UnaccountedFitsWarning
from skdppca.privacy import GaussianEvent, coin, compose_mu, epsilon_of, mu_of

absent = (
    load_digits()
    .data[:500]
    .reshape(-1, 4, 2, 4, 2)
    .mean(axis=(2, 4))
    .reshape(-1, 16)
)
target = np.zeros(16)
target[[0, 3, 12, 15]] = 16.0
present = np.vstack([absent, target])

# %%
# The attack
# ----------
#
# The best statistic we know is the variance along the added image: the record adds to it, and the
# rest is noise. The fits get a public bound on the norm and no centre, so nearly the whole charge
# goes into the covariance matrix. That is as good for the attacker as it can be.

DELTA, FITS, PILOT = 1e-6, 2400, 400
direction = target / np.linalg.norm(target)


def statistic(X):
    pca = DPGauss(epsilon=1.0, delta=DELTA, center=False, norm_bound=32.0).fit(X)
    return pca.n_samples_ * direction @ pca.get_covariance() @ direction


with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", UnaccountedFitsWarning
    )  # the carelessness to be shown
    without = np.array([statistic(absent) for _ in range(FITS)])
    with_record = np.array([statistic(present) for _ in range(FITS)])

# %%
# Average m fits at a time, and say "present" if the average is above a cut. The cut is the middle
# of both worlds in the first 400 fits of each, and the answers are counted on the other fits.

cut = (without[:PILOT].mean() + with_record[:PILOT].mean()) / 2
numbers = [1, 2, 4, 8, 16]
rates, lows, highs = [], [], []
for m in numbers:
    averages = [
        fits[PILOT:].reshape(-1, m).mean(axis=1) for fits in (without, with_record)
    ]
    right = int(np.sum(averages[0] < cut) + np.sum(averages[1] > cut))
    asked = 2 * len(averages[0])
    low, high = binomtest(right, asked).proportion_ci(method="wilson")
    rates, lows, highs = [*rates, right / asked], [*lows, low], [*highs, high]
    print(
        f"{m:2} fits: {right} of {asked} answers right, 95 % interval {low:.3f} to {high:.3f}"
    )

# %%
# What the fits cost together
# ---------------------------
#
# An accountant adds up in squares, and refuses the first fit that its budget does not cover.

together = [
    GaussianEvent(compose_mu([mu_of(1.0, DELTA)] * m)) for m in range(1, 17)
]
bounds = [coin(event) for event in together]
print(
    f"16 fits of epsilon 1: epsilon {epsilon_of(together[-1].mu, DELTA):.2f} at delta {DELTA:g}"
)

accountant = PrivacyAccountant(epsilon=2.0, delta=DELTA)
granted = 0
try:
    while True:
        DPGauss(epsilon=1.0, delta=DELTA, accountant=accountant).fit(absent)
        granted += 1
except BudgetExceeded as refused:
    print(f"fit {granted + 1} is refused:", refused)

# %%
_, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
ax.plot(range(1, 17), bounds, color="#0072b2", label="bound: all fits together")
ax.axhline(
    bounds[0],
    color="#7a7a7a",
    linestyle=":",
    label="bound: what each report states",
)
ax.errorbar(
    numbers,
    rates,
    yerr=[np.subtract(rates, lows), np.subtract(highs, rates)],
    fmt="o",
    color="#d55e00",
    capsize=3,
    label="attack, 95 % interval",
)
ax.axvline(
    granted + 0.5,
    color="#b3261e",
    linestyle="--",
    label="an accountant of epsilon 2 stops",
)
ax.set(
    xlabel="Fits of epsilon 1 that the attacker averages",
    ylabel="Right answers about the coin",
)
ax.set(ylim=(0.45, 0.8), xticks=[1, 2, 4, 8, 12, 16])
ax.legend(loc="lower right")
plt.show()

# %%
# A ``GridSearchCV`` over a private PCA makes many fits of the same records, too: every candidate
# on every fold.
# :ref:`sphx_glr_auto_examples_plot_private_search.py` shows what to do instead.
#
# .. admonition:: Takeaway
#
#    Averaging 16 fits of epsilon 1 is one release of epsilon 4.6.
#    Each report still states epsilon 1, because a fit does not know the others.
#    Give all fits one accountant or ledger: it adds them up, and stops them.
