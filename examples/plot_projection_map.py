"""
May I show the scatter plot?
============================

After a PCA, people plot their rows along two components. A private PCA does not make that plot
private: every dot is computed from one person's row. A projection map shows where rows lie, as
a histogram with noise in every cell.
"""

# %%
# A fit and a map, from one budget
# --------------------------------
#
# The map has a charge of its own, beside that of the fit. One accountant covers both.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from skdppca import PrivacyAccountant, PrivatePCA, maps
from skdppca.plotting import ProjectionMapDisplay

X, y = load_digits(return_X_y=True)
accountant = PrivacyAccountant(epsilon=3.0, delta=1e-5)
pca = PrivatePCA(
    n_components=2, epsilon=1.5, delta=1e-6, accountant=accountant
).fit(X)
found = maps.projection_map(pca, X, epsilon=1.0, delta=1e-6, bins=15)
print(
    f"spent: epsilon {accountant.spent.epsilon:.2f} at delta {accountant.delta:g}"
)

# %%
# The scatter plot, and the map
# -----------------------------
#
# The digits are public, so this page may show the left picture. Of personal data you may not.

_, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
left.scatter(*pca.transform(X).T, s=6, color="#7a7a7a")
left.set_title(
    "Every dot is one person:\nyou may not publish this", color="#b3261e"
)
left.set(xlabel="Component 1", ylabel="Component 2", aspect="equal")
ProjectionMapDisplay.from_map(found, ax=right, title=None)
right.set_title("The map may be published")
left.set(xlim=found.edges[0][[0, -1]], ylim=found.edges[1][[0, -1]])
plt.show()

# %%
# Cells stay blank if noise alone can explain their count. Of empty cells, about one gets a colour
# all the same. The map hides every single person, an outlier too.
#
# One map a class
# ---------------
#
# A record lies in one cell of one class, so ten maps cost what one costs. The list of classes is
# public. You give it, because the labels that happen to occur are private.

by_digit = maps.projection_map(
    pca, X, epsilon=1.0, delta=1e-6, bins=10, y=y, classes=range(10)
)
ProjectionMapDisplay.from_map(by_digit)
plt.show()
print(
    f"spent in all: epsilon {accountant.spent.epsilon:.2f} at delta {accountant.delta:g}"
)

# %%
# .. admonition:: Takeaway
#
#    Transformed rows are not private, so neither is a scatter plot of them.
#    A projection map is private, for a charge of its own. Maps by class cost no more than one.
#    Use few cells: the noise of a cell is the same, however many records it holds.
