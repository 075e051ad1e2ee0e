"""What all methods lose on tables that no constant was tuned on, told nothing but the budget.

    python benchmarks/bench_untuned.py            # 10 minutes on one core
    python benchmarks/bench_untuned.py --tails    # 10 minutes on one core

A cell is a table, k and epsilon; delta = 1e-6, add-remove, and every parameter at its default. Its
loss is 1 - captured / optimal variance, of the table's own covariance about its own mean, the
median over fits of the same rows. The regret of `PrivatePCA` is its loss over the least of all
methods, itself among them.

``--tails``: ten settings of 150 to 3000 records, epsilon 1, rows drawn anew for every fit where
they are drawn. A fit is bad if it captures less than half of the median captured share.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from time import perf_counter

import numpy as np
from _common import arguments, kept, machine, save
from _untuned_tables import TABLES, TAILS, table
from joblib import Parallel, delayed

import skdppca
from skdppca.metrics import zeta_squared

DEFAULT = "PrivatePCA"
METHODS = (DEFAULT, "DPGauss", "ResidualGauss", "KDPPCA", "KDPOjas", "DPPowerMethod", "GDPPCA")
EPSILONS = (1.0, 3.0)
COMPONENTS = (2, 5, 10)
DELTA = 1e-6
FIRST_SEED = 920_000
SHOWN = 5  # components in the table of results/; the regret is of all cells
PAIRS_UP_TO = 2000  # rows: GDPPCA's time grows with their square

Key = tuple[str, int, float]


def fitted_loss(name: str, X: np.ndarray, covariance: np.ndarray, k: int, **asked: float) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # public tables: no accountant, and seeded noise
        pca = getattr(skdppca, name)(k, delta=DELTA, **asked).fit(X)
    return zeta_squared(pca, covariance)


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


def cells(fits: dict[str, int], jobs: int) -> Iterator[dict]:
    keys = [
        (name, k, epsilon)
        for name in TABLES
        for k in COMPONENTS
        if k < table(name)[0].shape[1]
        for epsilon in EPSILONS
    ]
    run = Parallel(n_jobs=jobs, return_as="generator")
    yield from run(delayed(kept)(cell, key, fits) for key in keys)


def tails(fits: int, jobs: int) -> Iterator[dict]:
    pieces = [range(start, min(start + 100, fits)) for start in range(0, fits, 100)]
    for name, (draw, k) in TAILS.items():
        run = Parallel(n_jobs=jobs)
        found = run(delayed(kept)(tail, name, DEFAULT, piece) for piece in pieces)
        losses = {DEFAULT: [loss for piece in found for loss in piece]}
        shape = draw(0).shape
        yield {"table": name, "k": k, "epsilon": 1.0, "shape": shape, "losses": losses}


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


def loss_row(cell: dict) -> dict[str, object]:
    found = medians(cell)
    row = named(cell) | {name: f"{found[name]:.2g}" if name in found else "" for name in METHODS}
    if DEFAULT in found and len(found) > 1:
        row["regret"] = f"{found[DEFAULT] / min(found.values()):.2f}"
    return row


def tail_rows(cell: dict) -> list[dict[str, object]]:
    rows = []
    for method, losses in cell["losses"].items():
        shares = 1 - np.array(losses)
        low, median = np.quantile(shares, [0.01, 0.5])
        row = named(cell) | {"method": method, "fits": len(losses), "median": f"{median:.4f}"}
        row |= {"first percentile": f"{low:.3f}", "worst": f"{shares.min():.3f}"}
        rows.append({**row, "below half the median": bad(losses)})
    return rows


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


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--reps", type=int, default=20, help="fits a cell")
    parser.add_argument("--default-reps", type=int, default=40, help="the same of PrivatePCA")
    parser.add_argument("--tails", action="store_true")
    parser.add_argument("--fits", type=int, default=2000, help="fits a setting of --tails")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    facts, start = machine(), perf_counter()
    if options.tails:
        rows = [row for one in tails(options.fits, options.jobs) for row in tail_rows(one)]
        facts["seconds"] = f"{perf_counter() - start:.0f}"
        facts["fits"] = f"delta {DELTA:g}, epsilon 1, seeds from {FIRST_SEED}"
        return save("untuned_tails", rows, facts)
    fits = {name: options.default_reps if name == DEFAULT else options.reps for name in METHODS}
    found = []
    for one in cells(fits, options.jobs):
        found.append(one)
        print(loss_row(one), flush=True)
    facts["seconds"] = f"{perf_counter() - start:.0f}"
    facts["fits"] = ", ".join(f"{runs} of {method}" for method, runs in fits.items())
    save(
        "untuned",
        [loss_row(one) for one in found if one["k"] == SHOWN],
        facts | regret_facts(found),
    )


if __name__ == "__main__":
    main()
