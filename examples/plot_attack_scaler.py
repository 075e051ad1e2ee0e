"""
Why not put a StandardScaler in front?
======================================

A ``StandardScaler`` in front of a PCA is a habit. It computes the mean and the standard deviation
of every column from all records, without noise. One record can change these numbers as much as it
likes, and the private PCA behind the scaler cannot know. Here an attacker knows all records but
one, sees the released components and variances, and asks whether that record was in the data.
"""

# %%
# Two worlds
# ----------
#
# Two tables differ in one record. That record is far from all others, along column 0.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import roc_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdppca import DPGauss
from skdppca.datasets import make_gaussian
from skdppca.exceptions import (
    CentreNotSeenWarning,
    NoiseOnlyWarning,
    UnaccountedFitsWarning,
    UnaccountedStepWarning,
)
from skdppca.plotting import PrivacyCurveDisplay

warnings.simplefilter(
    "ignore", UnaccountedFitsWarning
)  # synthetic data: nothing to add up
for nothing_found in (NoiseOnlyWarning, CentreNotSeenWarning):
    warnings.simplefilter(
        "ignore", nothing_found
    )  # fits that find nothing are part of the picture
warnings.simplefilter(
    "ignore", UnaccountedStepWarning
)  # this page is about that warning

absent = make_gaussian(500, 5, [4.0, 2.0], 1.0, random_state=0).X
present = np.vstack([absent, [1000.0, 0.0, 0.0, 0.0, 0.0]])

# %%
# What the attacker looks at
# --------------------------
#
# Both pipelines claim epsilon 1. In both, the record changes the released variance of column 0,
# so that is the statistic. Each pipeline is fitted 300 times in each world, with fresh noise.

TRIALS = 300

pipelines = {
    "StandardScaler in front": make_pipeline(
        StandardScaler(), DPGauss(epsilon=1.0)
    ),
    'DPGauss(scale="private")': make_pipeline(
        DPGauss(epsilon=1.0, scale="private")
    ),
}


def statistic(pipeline, X):
    pca = pipeline.fit(X)[-1]
    return pca.n_samples_ * pca.get_covariance()[0, 0]


seen = {
    name: [
        np.array([statistic(pipeline, X) for _ in range(TRIALS)])
        for X in (absent, present)
    ]
    for name, pipeline in pipelines.items()
}

# %%
# The attack
# ----------
#
# The first half of the trials tells the attacker in which direction the record moves the
# statistic, and where to cut for about 5 % false alarms. The other half is what you see.

half = TRIALS // 2
truth = np.repeat([0, 1], half)
_, axes = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained", sharey=True)
for ax, (name, (without, with_record)) in zip(axes, seen.items(), strict=True):
    sign = np.sign(np.median(with_record[:half]) - np.median(without[:half]))
    cut = np.quantile(sign * without[:half], 0.95)
    scores = sign * np.concatenate([without[half:], with_record[half:]])

    PrivacyCurveDisplay.from_epsilon(
        1.0, ax=ax, name="bound of epsilon 1", title=None, marks=()
    )
    ax.plot(
        *roc_curve(truth, scores)[:2],
        color="#d55e00",
        label=f"attack, {half} fits a world",
    )
    rates, intervals = [], []
    for world, what in enumerate(["false alarms", "detected"]):
        count = int(np.sum(scores[truth == world] > cut))
        low, high = binomtest(count, half).proportion_ci(method="wilson")
        rates, intervals = [*rates, count / half], [*intervals, (low, high)]
        print(
            f"{name}, {what}: {count} of {half}, 95 % interval {low:.3f} to {high:.3f}"
        )
    ax.plot(
        intervals[0],
        [rates[1]] * 2,
        "k",
        [rates[0]] * 2,
        intervals[1],
        "k",
        linewidth=2,
    )
    ax.set(title=name, xlabel="False alarms", ylabel="Records detected")
    ax.legend(loc="lower right")
plt.show()

# %%
# The black crosses are 95 % intervals at the attacker's cut. On the left the attack detects nearly
# every record, which is far above the bound of epsilon 1. On the right it does not exceed the bound
# by more than chance.
#
# .. admonition:: Takeaway
#
#    With the scaler in front, the attack goes through the bound: the claimed epsilon is void.
#    With ``scale="private"``, scaling is part of the charge, and the bound holds.
#    Nothing warns you: the fit cannot see what was fitted on the data before.
