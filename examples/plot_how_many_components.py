"""
How many components can I trust?
================================

PCA finds as many components as there are columns. In a private fit the later ones are noise: their
variance is smaller than what the privacy noise alone would show. The scree plot of a private fit
draws that line.
"""

# %%
# Three budgets
# -------------
#
# ``n_components="auto"`` keeps the components that stand above the noise floor.

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from skdppca import DPGauss, DPPowerMethod
from skdppca.exceptions import UnaccountedFitsWarning
from skdppca.plotting import ScreeDisplay

warnings.simplefilter(
    "ignore", UnaccountedFitsWarning
)  # public data: nothing to add up

X = load_digits().data
fits = [
    DPGauss(n_components="auto", epsilon=epsilon).fit(X)
    for epsilon in (0.3, 1.0, 3.0)
]

_, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained", sharey=True)
for ax, pca in zip(axes, fits, strict=True):
    ScreeDisplay.from_estimator(
        pca, ax=ax, kind="ratio", title=None, legend=ax is axes[0]
    )
    ax.set_title(f"epsilon {pca.epsilon:g}: {pca.n_components_} components")
    ax.label_outer()
axes[0].set_ylim(0, 0.22)
plt.show()

# %%
# The bars hold the privacy noise alone. They do not hold the sampling of records: another sample of
# people would give other components, private or not.
#
# A method without a spectrum
# ---------------------------
#
# Some methods release the components that you ask for, and of the rest only the mean variance: the
# dotted line. Hollow components are lost in the noise.

pca = DPPowerMethod(n_components=8, epsilon=1.0).fit(X)
ScreeDisplay.from_estimator(pca)
plt.show()

# %%
# .. admonition:: Takeaway
#
#    ``n_components="auto"`` keeps what stands above the noise. A larger budget has a lower floor.
#    Bars hold the privacy noise only, not the sampling of people.
#    Do not interpret a component below the floor: its direction is mostly noise.
