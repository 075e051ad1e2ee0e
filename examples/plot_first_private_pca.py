"""
What does a private PCA look like beside PCA?
=============================================

The digits of scikit-learn are 1797 images of 8 x 8 pixels. ``PCA`` computes their components
exactly, so every single image has left its trace in them. ``PrivatePCA`` adds noise that hides
each image. A smaller epsilon promises more, and needs more noise.
"""

# %%
# PCA, and private PCA at three epsilons
# --------------------------------------
#
# The code differs in ``epsilon`` and ``delta`` only. The data stay as they are: the fit estimates a
# centre and a bound on the norms from a part of its budget. All three fits read the same images, so
# one accountant adds up what they cost together.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skdppca import PrivacyAccountant, PrivatePCA
from skdppca.plotting import ComponentsImageDisplay

X = load_digits().data
exact = PCA(n_components=8).fit(X)
budget = PrivacyAccountant(epsilon=4.0, delta=1e-6)
private = [
    PrivatePCA(n_components=8, epsilon=epsilon, delta=1e-6, accountant=budget).fit(
        X
    )
    for epsilon in (3.0, 1.0, 0.3)
]
print(f"all three fits together: epsilon {budget.spent.epsilon:.2f}")

# %%
# Which components were found?
# ----------------------------
#
# ``alignments`` says how far to trust each component: 1 means that privacy noise did not turn it, 0
# means that it is noise. The fit released it, so you may publish it with the components.

for pca in private:
    print(
        f"epsilon {pca.epsilon:g}:", np.round(pca.privacy_.details["alignments"], 2)
    )

# %%
# The components as images
# ------------------------
#
# A component's sign is arbitrary. Here the private ones are turned to agree with the exact ones.
# Components that cannot be told from noise are faint.

_, axes = plt.subplots(4, 8, figsize=(9, 5), layout="constrained")
for row, pca in zip(axes, [exact, *private], strict=True):
    signs = np.sign(np.sum(pca.components_ * exact.components_, axis=1))
    display = ComponentsImageDisplay(
        components=signs[:, None] * pca.components_, image_shape=(8, 8)
    )
    display.plot(row, titles=False, title=None, im_kw={"vmin": -0.4, "vmax": 0.4})
    if pca is exact:
        row[0].set_ylabel("exact")
        continue
    row[0].set_ylabel(f"epsilon {pca.epsilon:g}")
    for i in np.flatnonzero(pca.privacy_.details["alignments"] <= 0):
        display.images_[i].set_alpha(0.25)
        row[i].set_xlabel("lost", fontsize="small", labelpad=1)
for i, ax in enumerate(axes[0]):
    ax.set_title(f"{i + 1}", fontsize="medium")
plt.show()

# %%
# .. admonition:: Takeaway
#
#    With 1797 images and epsilon 1, the first four components look like those of ``PCA``.
#    Later ones fade, and the alignments of the fit say which.
#    The code is that of ``PCA``, but for ``epsilon`` and ``delta``.
