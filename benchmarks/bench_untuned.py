"""What all methods lose on tables that no constant was tuned on, told nothing but the budget.

    python benchmarks/bench_untuned.py          # an hour on one core

A cell is a table, k and epsilon; delta = 1e-6, add-remove, and every parameter at its default. Its
loss is 1 - captured / optimal variance, of the table's own covariance about its own mean, the
median over fits of the same rows. The regret of `PrivatePCA` is its loss over the least of all
methods, itself among them.

*untuned_tails*: ten settings of 150 to 3000 records, epsilon 1, rows drawn anew for every fit where
they are drawn. A fit is bad if it captures less than half of the median captured share.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from _common import Measured, kept, measure
from _untuned_tables import TABLES, TAILS, table

import skdppca
from skdppca.metrics import zeta_squared

DEFAULT = "PrivatePCA"
METHODS = (DEFAULT, "DPGauss", "ResidualGauss", "KDPPCA", "KDPOjas", "DPPowerMethod", "GDPPCA")
EPSILONS = (1.0, 3.0)
COMPONENTS = (2, 5, 10)
DELTA = 1e-6
FIRST_SEED = 920_000
SHOWN = 5  # components in the table
PAIRS_UP_TO = 2000  # rows: GDPPCA's time grows with their square

Key = tuple[str, int, float]


def fitted_loss(name: str, X: np.ndarray, covariance: np.ndarray, k: int, **asked: float) -> float:
    return zeta_squared(getattr(skdppca, name)(k, delta=DELTA, **asked).fit(X), covariance)


def cell(key: Key, fits: dict[str, int]) -> dict:
    """Losses of every method on one table."""
    name, k, epsilon = key
    X, covariance = table(name)
    losses = {
        method: [
            fitted_loss(method, X, covariance, k, epsilon=epsilon, random_state=FIRST_SEED + run)
            for run in range(runs)
        ]
        for method, runs in fits.items()
        if method != "GDPPCA" or len(X) <= PAIRS_UP_TO
    }
    return {"table": name, "k": k, "epsilon": epsilon, "shape": X.shape, "losses": losses}


def tail(name: str, method: str, runs: range) -> list[float]:
    """Losses of fits whose rows are drawn anew."""
    draw, k = TAILS[name]
    losses = []
    for run in runs:
        X = draw(run)
        seed = FIRST_SEED + run
        losses.append(fitted_loss(method, X, np.cov(X.T), k, epsilon=1.0, random_state=seed))
    return losses


def cells(repeats: int) -> Iterator[dict]:
    fits = {name: repeats * (2 if name == DEFAULT else 1) for name in METHODS}
    for name, k, epsilon in product(TABLES, COMPONENTS, EPSILONS):
        if k < table(name)[0].shape[1]:
            yield kept(cell, (name, k, epsilon), fits)


def tails(fits: int) -> Iterator[dict]:
    for name, (draw, k) in TAILS.items():
        losses = kept(tail, name, DEFAULT, range(fits))
        shares = 1 - np.array(losses)
        low, median = np.quantile(shares, [0.01, 0.5])
        yield {
            **named({"table": name, "k": k, "epsilon": 1.0, "shape": draw(0).shape}),
            "method": DEFAULT,
            "fits": fits,
            "median": f"{median:.4f}",
            "first percentile": f"{low:.3f}",
            "worst": f"{shares.min():.3f}",
            "below half the median": bad(losses),
        }


def medians(cell: dict) -> dict[str, float]:
    return {method: float(np.median(losses)) for method, losses in cell["losses"].items()}


def bad(losses: list[float]) -> int:
    """Fits below half the median captured share."""
    shares = 1 - np.array(losses)
    return int(np.count_nonzero(shares < np.median(shares) / 2))


def named(cell: dict) -> dict[str, object]:
    rows, columns = cell["shape"]
    told = {"table": cell["table"], "size": f"{rows} x {columns}", "k": cell["k"]}
    return told | {"epsilon": f"{cell['epsilon']:g}"}


def loss_row(cell: dict) -> dict[str, object] | None:
    """A row of the table, which has five components alone; the regret is of all cells."""
    found = medians(cell)
    if cell["k"] != SHOWN:
        return None
    row = named(cell) | {name: f"{found[name]:.2g}" if name in found else "" for name in METHODS}
    return row | {"regret": f"{found[DEFAULT] / min(found.values()):.2f}"}


def regrets(cells: list[dict], method: str = DEFAULT) -> dict[float, np.ndarray]:
    """Epsilon -> loss of the method over the least of all, a cell each."""
    found: dict[float, list[float]] = {}
    for cell in cells:
        losses = medians(cell)
        if method in losses and len(losses) > 1:
            ratio = losses[method] / min(losses.values())
            found.setdefault(cell["epsilon"], []).append(ratio)
    return {epsilon: np.array(ratios) for epsilon, ratios in found.items()}


def regret_facts(cells: list[dict]) -> dict[str, str]:
    facts = {}
    for method in METHODS:
        for epsilon, found in regrets(cells, method).items():
            middle, high, most = np.quantile(found, [0.5, 0.9, 1.0])
            facts[f"regret of {method} at epsilon {epsilon:g}"] = (
                f"median {middle:.2f}, p90 {high:.2f}, max {most:.2f}, above 1.2 in "
                f"{np.mean(found > 1.2):.0%} of {len(found)} cells"
            )
    return facts


if __name__ == "__main__":
    fits = f"{{}} of a method, twice as many of {DEFAULT}"
    settings = f"delta {DELTA:g}, epsilon 1, seeds from {FIRST_SEED}"
    measure(
        __doc__,
        {
            "untuned": Measured(cells, 20, {"fits": fits}, regret_facts, loss_row),
            "untuned_tails": Measured(tails, 2000, {"settings": settings}),
        },
    )
