"""The digits of scikit-learn on two private axes, as maps that are private themselves.

    python benchmarks/experiments_gdppca/projection_map.py

The idea of Figure 6 of Kim & Jung (2025), who show every row; here no row is shown. Noise is drawn
anew from the operating system, so no two runs give the same picture. One accountant pays for the
axes and for both maps, and its total is printed. Writes doc/_static/projection_map.png, and with a
map a digit doc/_static/projection_map_classes.png.
"""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_digits

from skdppca import GDPPCA, PrivacyAccountant, maps, plotting

PICTURES = Path(__file__).parents[2] / "doc" / "_static"
COST = {"epsilon": 1.0, "delta": 1e-6}
DIGITS = range(10)  # which digits there are is public; who wrote which is not


def main() -> None:
    X, y = load_digits(return_X_y=True)
    accountant = PrivacyAccountant(epsilon=2.5, delta=1e-5)
    pca = GDPPCA(n_components=2, accountant=accountant, **COST).fit(X)
    whole = maps.projection_map(pca, X, bins=15, **COST)
    plotting.ProjectionMapDisplay.from_map(whole).figure_.savefig(
        PICTURES / "projection_map.png", dpi=100
    )
    classes = maps.projection_map(pca, X, bins=10, y=y, classes=DIGITS, **COST)
    plotting.ProjectionMapDisplay.from_map(classes).figure_.savefig(
        PICTURES / "projection_map_classes.png", dpi=80
    )
    print(f"{len(accountant.receipts)} charges, in all {accountant.spent}")


if __name__ == "__main__":
    main()
