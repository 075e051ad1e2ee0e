"""
Whom does the guarantee protect?
================================

A table of visits has one row for each visit, and some patients come often. With ``unit="row"`` a
fit hides whether any single visit is in the table. That says little about a patient with 40
visits. With ``unit="patient"`` a fit hides all visits of a patient together.
"""

# %%
# Two worlds
# ----------
#
# 500 patients have 1 to 40 visits each, with 20 lab values. The second world has one patient more:
# she has 40 visits with the same unusual values.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import roc_curve

from skdppca import DPGauss
from skdppca.datasets import make_gaussian
from skdppca.exceptions import UnaccountedFitsWarning
from skdppca.metrics import captured_variance
from skdppca.planner import plan
from skdppca.plotting import PrivacyCurveDisplay

warnings.simplefilter(
    "ignore", UnaccountedFitsWarning
)  # synthetic data: nothing to add up

rng = np.random.default_rng(0)
n_patients, n_features = 500, 20
visits = np.minimum(rng.geometric(1 / 6, n_patients), 40)
patients = np.repeat(np.arange(n_patients), visits)
draw = make_gaussian(
    n_patients + len(patients), n_features, [6, 4, 3], 1.0, random_state=0
)
X = np.sqrt(0.5) * (
    draw.X[patients] + draw.X[n_patients:]
)  # a patient's part, and the visit's

unusual = np.linalg.eigh(draw.covariance)[1][:, 0]
worlds = [
    (X, patients),
    (
        np.vstack([X, np.tile(8 * unusual, (40, 1))]),
        np.append(patients, [n_patients] * 40),
    ),
]

# %%
# What the attacker looks at
# --------------------------
#
# The attacker knows all other rows, and her values. The best statistic we know is the released
# variance along these values. Each unit is fitted 160 times in each world, at epsilon 1.

TRIALS = 160
seen, captured = {}, {}
for unit in ("row", "patient"):
    pca = DPGauss(epsilon=1.0, unit=unit)
    seen[unit], captured[unit] = [], []
    for rows, ids in worlds:
        for _ in range(TRIALS):
            pca.fit(rows, groups=None if unit == "row" else ids)
            seen[unit].append(
                pca.n_samples_ * unusual @ pca.get_covariance() @ unusual
            )
            captured[unit].append(
                captured_variance(pca, None, 3, covariance=draw.covariance)
            )

# %%
# The attack, and the accuracy
# ----------------------------
#
# The black crosses are 95 % intervals. Their cut was set for about 5 % false alarms on the first
# half of the fits, and they count the other half. By chance alone, a curve of so many fits may run
# a little above its bound.

truth, half = np.repeat([0, 1], TRIALS), TRIALS // 2
_, axes = plt.subplots(
    1, 3, figsize=(12, 4.4), layout="constrained", width_ratios=[2, 2, 1]
)
for ax, (unit, scores) in zip(axes, seen.items(), strict=False):
    PrivacyCurveDisplay.from_epsilon(
        1.0, ax=ax, name=f"bound for one {unit}", title=None, marks=()
    )
    ax.plot(
        *roc_curve(truth, scores)[:2],
        color="#d55e00",
        label="attack on the patient",
    )
    tested = np.reshape(scores, (2, TRIALS))[:, half:]
    cut = np.quantile(scores[:half], 0.95)
    rates, intervals = [], []
    for what, statistics in zip(["false alarms", "detected"], tested, strict=True):
        count = int(np.sum(statistics > cut))
        low, high = binomtest(count, half).proportion_ci(method="wilson")
        rates, intervals = [*rates, count / half], [*intervals, (low, high)]
        print(
            f'unit="{unit}", {what}: {count} of {half}, 95 % interval {low:.3f} to {high:.3f}'
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
    ax.set(title=f'unit="{unit}"', xlabel="False alarms", ylabel="Detections")
    ax.legend(loc="lower right")

missed = [1 - np.array(captured[unit]) for unit in seen]
axes[2].boxplot(missed, tick_labels=list(seen), whis=(5, 95), showfliers=False)
axes[2].set(
    title="Accuracy of 3 components", xlabel="unit", ylabel="Missed variance"
)
axes[2].set_ylim(0, None)
plt.show()

# %%
# Plan it
# -------
#
# The planner tells the price of protecting patients before a fit. The loss that it states is that
# of the privacy noise alone. The picture above has the sampling of patients in it, too.

spectrum = [7, 5, 4] + 17 * [1]  # a public guess
assumed = {"n_features": n_features, "n_components": 3, "spectrum": spectrum}
for unit, n, group_size in (("row", len(X), None), ("patient", n_patients, 6)):
    found = plan(
        n, epsilon=1.0, group_size=group_size, methods=["DPGauss"], **assumed
    )
    print(f"{unit}: expect {found['DPGauss'].percent} of the variance")

# %%
# .. admonition:: Takeaway
#
#    Row-level privacy does not hide a person with 40 rows.
#    Name whom you protect: ``unit="patient"``, and ``groups=`` in ``fit``.
#    That costs accuracy, and the plan says how much before you fit.
