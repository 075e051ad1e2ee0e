"""The pictures of the documentation's first page, in doc/_static: components, bound and report.

Exact components of the digits above private ones, the bound on every attack, and how the page of a
release begins. Each has a dark copy, such as bound_dark.png. The noise is secure, so each run draws
other pictures. The page of a release is drawn by Chromium (Debian: ``apt install chromium``).
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skdppca import PrivacyLedger, PrivatePCA
from skdppca.privacy import GaussianEvent, detection_rate, mu_of
from skdppca.report import Context, ReleaseReport

DOC = Path(__file__).parents[1] / "doc"
PICTURES = DOC / "_static"
sys.path[:0] = [str(DOC), str(DOC / "_ext")]

from dark_pictures import darkened  # noqa: E402
from look import SCHEMES, look  # noqa: E402

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


def report(folder: Path) -> Path:
    """Write the page of a release of the digits, which are public, and return its place."""
    ledger = PrivacyLedger.create(folder / "digits.ledger", epsilon=2.0, delta=DELTA)
    pca = PrivatePCA(3, epsilon=EPSILON, delta=DELTA, accountant=ledger).fit(load_digits().data)
    public = Context(
        purpose="An example for the documentation",
        curator="The developers of skdppca",
        contact="See SECURITY.md",
        region="Not known: the digits are public",
        subjects="Digits that people wrote, an image each",
        collected="UCI, 1998; they come with scikit-learn",
        declared_by="A script of the developers",
        why_this_epsilon="It is the default",
        why_this_unit="An image is a row",
        intended_users="Readers of the documentation",
        approvals="None are needed",
        fitted_before="no",
        several_units="no",
        chosen_by_looking="no",
        other_releases=("yes", "The images are public"),
        facts_are_public=("yes", "None are declared"),
        raw_data_access=("no", "They are public"),
        timing="no",
        rows_shown="no",
        all_charged="yes",
        collection_needed=("yes", "They were collected long ago"),
    )
    ReleaseReport(pca, title="Digits", context=public).write(folder / "release")
    return folder / "release" / "report.html"


if __name__ == "__main__":
    for name, figure in {"components": components(), "bound": bound()}.items():
        figure.savefig(PICTURES / f"{name}.png", dpi=150)
        darkened(figure).savefig(PICTURES / f"{name}_dark.png", dpi=150)
    with tempfile.TemporaryDirectory() as temporary:
        page = report(Path(temporary))
        for scheme, number in SCHEMES.items():
            suffix = "_dark" if scheme == "dark" else ""
            look(page, number, PICTURES / f"report{suffix}.png", size="900,1000")
