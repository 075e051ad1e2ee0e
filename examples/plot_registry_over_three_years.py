"""
What does a registry pay that grows for three years?
====================================================

A disease registry takes in new patients every quarter, and publishes components of twelve lab
values each time. Each quarter has a ledger of its own, which charges every patient once, in the
quarter of their admission. In the second year the laboratories change a device, and the data drift.
"""

# %%
# Twelve cohorts
# --------------
#
# A patient belongs to the quarter of admission: the rule looks at nobody else. The rows are made
# up, so we know the true components. In the second year two of them turn, a little each quarter.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from skdppca import DPGauss, PrivacyLedger
from skdppca.metrics import captured_variance
from skdppca.planner import plan
from skdppca.privacy import epsilon_of, mu_of

QUARTERS = [f"{year}-Q{q}" for year in (2024, 2025, 2026) for q in (1, 2, 3, 4)]
PATIENTS, VALUES, K, TURN = 400, 12, 3, 0.25
spectrum = np.r_[8.0, 5.0, 3.0, np.ones(VALUES - K)]

rng = np.random.default_rng(0)
axes_of_year = np.linalg.qr(rng.normal(size=(VALUES, VALUES)))[0]
covariances, cohorts = [], []
for quarter in QUARTERS:
    if quarter.startswith("2025"):  # the first axis turns towards the last one
        turned = axes_of_year.copy()
        turned[:, 0] = (
            np.cos(TURN) * axes_of_year[:, 0] + np.sin(TURN) * axes_of_year[:, -1]
        )
        turned[:, -1] = (
            np.cos(TURN) * axes_of_year[:, -1] - np.sin(TURN) * axes_of_year[:, 0]
        )
        axes_of_year = turned
    covariances.append(axes_of_year * spectrum @ axes_of_year.T)
    cohorts.append(
        rng.multivariate_normal(np.full(VALUES, 2.0), covariances[-1], PATIENTS)
    )

# %%
# One ledger, and one call a quarter
# ----------------------------------
#
# Each call charges the patients of one quarter, and joins their noisy matrix with those before.
# ``forget="auto"`` lets old quarters fade once the noise shows a drift. Each estimator has ledgers
# of its own here, because we compare three ways. You would choose one.

WAYS = {
    "all quarters count alike": {"forget": 1.0},
    'forget="auto"': {"forget": "auto"},
}
folder = tempfile.TemporaryDirectory()


def ledger_of(quarter, way):
    path = Path(folder.name) / f"{quarter}-{way}.ledger"
    return PrivacyLedger.create(path, epsilon=1.0, delta=1e-6)


shares, reports = {}, {}
for way, (name, parameters) in enumerate(WAYS.items()):
    pca = DPGauss(n_components=K, epsilon=1.0, **parameters)
    shares[name] = []
    for quarter, X, covariance in zip(QUARTERS, cohorts, covariances, strict=True):
        pca.partial_fit(X, accountant=ledger_of(quarter, way))
        shares[name].append(captured_variance(pca, None, covariance=covariance))
    reports[name] = pca.privacy_

shares["the newest quarter alone"] = [
    captured_variance(
        DPGauss(n_components=K, accountant=ledger_of(quarter, "alone")).fit(X),
        None,
        covariance=covariance,
    )
    for quarter, X, covariance in zip(QUARTERS, cohorts, covariances, strict=True)
]
folder.cleanup()

# %%
# What it shows
# -------------
#
# The upper picture has the share of the variance of *this* quarter's patients that the released
# components capture. The lower one has the alarm that each release states: how far the new matrix
# is from those before, in standard deviations of the noise.

_, (upper, lower) = plt.subplots(
    2, 1, sharex=True, layout="constrained", figsize=(8, 6)
)
for (name, values), style in zip(shares.items(), ("o--", "o-", ":"), strict=True):
    upper.plot(QUARTERS, values, style, label=name)
upper.axvspan(3.5, 7.5, alpha=0.15)
upper.text(5.5, upper.get_ylim()[0], "the data drift", ha="center", va="bottom")
upper.set(ylabel="captured variance")
upper.legend(loc="lower left")
drifts = [fit["drift"] or 0.0 for fit in reports['forget="auto"'].details["joined"]]
lower.bar(QUARTERS, drifts)
lower.axhline(3, linestyle="--")
lower.set(ylabel="drift (sd of the noise)")
lower.tick_params(axis="x", rotation=45)
plt.show()

# %%
# What each patient paid
# ----------------------
#
# Twelve releases of epsilon 1 cost everybody epsilon 1, because nobody is in two quarters. That is
# declared, and no software can verify it: whoever comes back keeps the first quarter.

report = reports['forget="auto"']
print(f"guarantee: epsilon={report.epsilon:g}, delta={report.delta:g}")
for quarter, fit in list(zip(QUARTERS, report.details["joined"], strict=True))[-3:]:
    print(f"{quarter}: mu={fit['mu']:.3f}, about {fit['n_samples']:.0f} patients")

# %%
# Plan it
# -------
#
# Twelve cohorts have the noise of one joint fit at mu over the root of twelve. The plan for that
# fit reads no data, and knows of no drift.

joint = epsilon_of(mu_of(1.0, 1e-6) / len(QUARTERS) ** 0.5, 1e-6)

print(
    plan(
        PATIENTS * len(QUARTERS),
        VALUES,
        K,
        epsilon=joint,
        methods=["DPGauss"],
        spectrum=spectrum,
    ).sentence()
)

# %%
# .. admonition:: Takeaway
#
#    Give new people a ledger of their own, and a new release charges them only.
#    Cut cohorts by date, never by count.
#    A drift of more than 3 says that the population changed: look before you go on.
