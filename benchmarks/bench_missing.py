"""Missing entries: what every method makes of tables with holes.

Run ``python benchmarks/bench_missing.py``. 10 and 30 % of the entries of a table are left out at
random, each by itself; then every method is fitted with ``missing="mean"``. Beside it, in brackets:
the same method behind a `SimpleImputer` fitted on the same data, which voids the guarantee: **not
private**. "Complete" is the method on the table without holes and with ``missing="error"``. Always
means over fits, compared with the table without holes:

- *captured*: the share of the variance that the components capture, of the most that so many can;
- *error of the mean*: root mean square over the columns, in standard deviations of a column (of the
  digits: of an average one);
- *first variance*: the released one over the true one.

The digits with five components; and `make_mixed`, drawn anew for every fit, with three components
and ``scale="private"``: what counts there is the standardised table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from _common import Measured, measure
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer

from skdppca import GDPPCA, KDPPCA, DPGauss, DPPowerMethod, KDPOjas, PrivatePCA
from skdppca.datasets import make_mixed
from skdppca.metrics import captured_variance

METHODS = (PrivatePCA, DPGauss, KDPPCA, KDPOjas, DPPowerMethod, GDPPCA)
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
SHARES = (0.1, 0.3)
N_MIXED = 4000
FIRST_SEED, NOISE_SEED = 80_000, 1_000_000
MEASURES = ("captured", "error of the mean", "first variance")


class Table(NamedTuple):
    """Rows, the units of their columns, how many components, and parameters of the methods."""

    X: np.ndarray
    unit: np.ndarray
    k: int
    told: dict[str, Any]


def digits(seed: int) -> Table:
    X = load_digits().data
    return Table(X, np.full(X.shape[1], np.sqrt(X.var(axis=0).mean())), 5, {})


def mixed(seed: int) -> Table:
    X = make_mixed(N_MIXED, random_state=seed).X
    return Table(X, X.std(axis=0), 3, {"scale": "private"})


TABLES: dict[str, Callable[[int], Table]] = {"digits": digits, "mixed": mixed}


def holed(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    return np.where(np.random.default_rng([seed, 1]).random(X.shape) < share, np.nan, X)


def measured(method: Any, table: Table, X: np.ndarray, seed: int, **more: Any) -> np.ndarray:
    """The three measures of a fit to X; the variance is NaN where none is released."""
    pca = method(table.k, random_state=seed + NOISE_SEED, **BUDGET, **table.told, **more).fit(X)
    # what is captured and explained is that of the columns as the components see them
    rows = table.X / table.unit if table.told else table.X
    error = (pca.mean_ - table.X.mean(axis=0)) / table.unit
    first = np.linalg.eigvalsh(np.cov(rows.T))[-1]
    return np.array(
        [
            captured_variance(pca.components_, rows, table.k),
            np.sqrt(np.mean(error**2)),
            getattr(pca, "explained_variance_", [np.nan])[0] / first,
        ]
    )


def rows_of(name: str, repeats: int) -> list[dict[str, str]]:
    seeds = range(FIRST_SEED, FIRST_SEED + repeats)
    return [row for method in METHODS for row in row_of(name, method, seeds)]


def row_of(name: str, method: Any, seeds: range) -> list[dict[str, str]]:
    """One method's rows: a measure each."""
    found: dict[str, list[np.ndarray]] = {}
    for seed in seeds:
        table = TABLES[name](seed)
        found.setdefault("complete", []).append(measured(method, table, table.X, seed))
        for share in SHARES:
            X = holed(table.X, share, seed)
            filled = SimpleImputer(keep_empty_features=True).fit_transform(X)
            private = measured(method, table, X, seed, missing="mean")
            found.setdefault(f"{share:.0%}", []).append(private)
            found.setdefault(f"{share:.0%}, imputer", []).append(
                measured(method, table, filled, seed)
            )
    means = {way: np.nanmean(ones, axis=0) for way, ones in found.items()}
    return [
        {"method": method.__name__, "measure": measure, "complete": f"{means['complete'][i]:.3f}"}
        | {
            f"{share:.0%} left out (imputer, NOT PRIVATE)": (
                f"{means[f'{share:.0%}'][i]:.3f} ({means[f'{share:.0%}, imputer'][i]:.3f})"
            )
            for share in SHARES
        }
        for i, measure in enumerate(MEASURES)
    ]


if __name__ == "__main__":
    told = {"repeats": f"{{}}, seeds from {FIRST_SEED}"}
    measure(
        __doc__, {f"missing_{name}": Measured(partial(rows_of, name), 15, told) for name in TABLES}
    )
