"""The two pictures of the documentation's first page: doc/_static/components.png and bound.png.

Exact components of the digits above private ones, and the bound on every attack. The noise is
secure, so each run draws another picture.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skdppca import PrivatePCA
from skdppca.privacy import GaussianEvent, detection_rate, mu_of

PICTURES = Path(__file__).parents[1] / "doc" / "_static"
N_COMPONENTS = 8
EPSILON, DELTA = 1.0, 1e-6
STYLES = {
    0.3: ("#009E73", "--"),
    1.0: ("#0072B2", "-"),
    3.0: ("#E69F00", "-."),
    10.0: ("#D55E00", (0, (6, 1))),
}


def components() -> Figure:
    """Return the components of the digits, exact and private."""
    X = load_digits().data
    exact = PCA(N_COMPONENTS).fit(X).components_
    private = PrivatePCA(N_COMPONENTS, epsilon=EPSILON, delta=DELTA).fit(X).components_
    private = private * np.sign(np.sum(exact * private, axis=1))[:, None]
    figure = Figure(figsize=(9, 2.7), layout="constrained")
    axes = figure.subplots(2, N_COMPONENTS)
    names = "PCA", f"PrivatePCA\nepsilon {EPSILON:g}"
    for row, name, images in zip(axes, names, (exact, private), strict=True):
        limit = np.abs(exact).max()
        for axis, image in zip(row, images, strict=True):
            axis.imshow(image.reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
            axis.set(xticks=[], yticks=[])
        row[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=11)
    return figure


def bound() -> Figure:
    """Return the bound on detection, by the share of false alarms."""
    alarms = np.linspace(0, 1, 401)
    figure = Figure(figsize=(4.2, 3.8), layout="constrained")
    axes = figure.subplots()
    for epsilon, (colour, line) in STYLES.items():
        event = GaussianEvent(mu_of(epsilon, DELTA))
        rate = detection_rate(event, alarms)
        axes.plot(alarms, rate, color=colour, linestyle=line, label=f"epsilon {epsilon:g}")
    axes.plot([0, 1], [0, 1], color="0.6", linestyle=":", label="guessing")
    axes.set(xlabel="false alarms", ylabel="detected, at most", xlim=(0, 1), ylim=(0, 1.01))
    axes.set_aspect("equal")
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    components().savefig(PICTURES / "components.png", dpi=150)
    bound().savefig(PICTURES / "bound.png", dpi=150)
