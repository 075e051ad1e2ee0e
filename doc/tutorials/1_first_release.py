"""
A first release
===============

A clinic wants to publish which lab values of its patients go together. In five minutes you fit a
private PCA to the table, look at what it found, and say what it cost.
"""

# %%
# Load the table
# --------------
#
# One row is one patient. These 4000 patients are made up, so you can run this page as it is.

import numpy as np
import pandas as pd

from skdppca.datasets import make_gaussian

usual = {  # a usual value of each column, and how far people differ
    "age": (52, 16), "bmi": (26, 4.5), "systolic": (128, 17), "diastolic": (79, 10),
    "glucose": (98, 21), "hba1c": (5.6, 0.8), "ldl": (122, 34), "hdl": (54, 15),
    "triglycerides": (130, 70), "creatinine": (0.9, 0.2),
}  # fmt: skip
centre, spread = np.array(list(usual.values())).T
shape = make_gaussian(4000, 10, [5.0, 3.0], 0.7, random_state=1).X
patients = pd.DataFrame(centre + spread * shape, columns=list(usual)).round(1)
patients.head(3)

# %%
# Fit
# ---
#
# The call is that of scikit-learn's ``PCA``. Three things are new:
#
# - ``epsilon`` and ``delta`` say how well every patient is protected. A smaller epsilon protects
#   better, and adds more noise. Epsilon 1 is a common choice to start with.
# - ``scale="private"`` brings the columns to one scale, inside the fit. Do not put a
#   ``StandardScaler`` in front: it would void the protection.
# - There is no ``random_state``. Without a seed, the noise is fresh and nobody can subtract it.

from skdppca import PrivatePCA

pca = PrivatePCA(n_components=2, epsilon=1.0, delta=1e-6, scale="private").fit(
    patients
)
pca.components_.shape

# %%
# Look
# ----
#
# A report prints what the fit found first, then whom it protects.

from skdppca.report import ReleaseReport

print(ReleaseReport(pca))

# %%
# The loadings say which columns make up a component. Signs are arbitrary: the other way round, a
# component is the same.

import matplotlib.pyplot as plt

from skdppca.plotting import LoadingsDisplay

LoadingsDisplay.from_estimator(pca)
plt.show()

# %%
# How far can you trust the two components? ``alignments`` says it: 1 means that the privacy noise
# did not turn a component, and 0 means that it is noise.

np.round(pca.privacy_.details["alignments"], 2)

# %%
# Say what it cost
# ----------------
#
# ``privacy_`` states the guarantee, the method, and every question that was asked about the
# patients.

print(pca.privacy_)

# %%
# What you may publish
# --------------------
#
# Every attribute of the fit that ends with ``_`` is covered by the guarantee: the components, the
# mean, the scales, the variances and the report.
#
# .. warning::
#
#    Do not publish transformed rows. ``pca.transform(patients)`` is computed from each patient's
#    own values, so it publishes patients. To show where they lie, draw a projection map
#    (:ref:`sphx_glr_auto_examples_plot_projection_map.py`).
#
# .. admonition:: What you have now
#
#    A private PCA, with two components that you may publish, and a report that says for what cost.
#    The next fit on the same patients costs again.
#    :ref:`sphx_glr_auto_tutorials_2_a_budget_for_a_study.py` keeps count.
