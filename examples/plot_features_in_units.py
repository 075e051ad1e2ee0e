"""
My columns have different units: what now?
==========================================

The breast cancer table has 569 records and 30 columns. Areas are in the hundreds, and smoothness is
near 0.1. Without scaling, the first component is the column with the largest numbers. A
``StandardScaler`` in front would void the guarantee
(:ref:`sphx_glr_auto_examples_plot_attack_scaler.py`), so the scales have to be private, too.
"""

# %%
# Two fits
# --------
#
# ``scale="private"`` finds the scale of every column inside the fit's own budget.

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from skdppca import PrivatePCA
from skdppca.exceptions import UnaccountedFitsWarning
from skdppca.plotting import LoadingsDisplay

warnings.simplefilter(
    "ignore", UnaccountedFitsWarning
)  # public data: nothing to add up

X = load_breast_cancer(as_frame=True).data
raw = PrivatePCA(n_components=3, epsilon=3.0).fit(X)
scaled = PrivatePCA(n_components=3, epsilon=3.0, scale="private").fit(X)

# %%
# The loadings
# ------------
#
# Each column of a picture is a component. The rows are the features with the largest loadings.
# Entries in brackets cannot be told from 0: privacy noise alone can explain them. With private
# scales the noise of single entries is not known, so that picture has no brackets.

_, axes = plt.subplots(1, 2, figsize=(11, 6), layout="constrained")
for ax, pca, title in zip(
    axes, (raw, scaled), ("no scaling", 'scale="private"'), strict=True
):
    LoadingsDisplay.from_estimator(pca, ax=ax, max_features=12, title=None)
    ax.set_title(title)
plt.show()

# %%
# What the scales cost
# --------------------
#
# The report lists every question that the fit asked, and its share of the budget. The scales
# are those asked here and not in a fit without scaling.

without = {name for name, *_ in raw.privacy_.costs()}
scales = [cost for cost in scaled.privacy_.costs() if cost[0] not in without]
for name, _, share in scales:
    print(f"{name}: {share:.0%} of the budget")

# %%
# .. admonition:: Takeaway
#
#    Without scales, component 1 is the two columns with the largest numbers.
#    Private scales cost about a quarter of the budget, and cure that.
#    Scales that are public cost nothing: pass ``scale=[...]``.
