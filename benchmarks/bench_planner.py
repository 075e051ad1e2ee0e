"""What the planner predicts, beside what the estimators do at full size.

Run ``python benchmarks/bench_planner.py``. Rows of the assumed law, all of them and all features,
and the estimator as it is called; ``captured_variance`` on the same rows. Medians over fresh data
and noise, from other seeds than the planner's; on other settings than it was written with (its
constants are `ROWS`, `FEATURES` and numbers of fits). Judged is the loss, 1 - captured, where it is
between 0.001 and 0.9: predicted over measured must lie between 0.75 and 1.25.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from time import perf_counter

import numpy as np
from _common import machine, save, show

from skdppca.decomposition import METHODS
from skdppca.exceptions import SeededNoiseWarning
from skdppca.metrics import captured_variance
from skdppca.planner import Plan, plan
from skdppca.planner.simulation import FEATURES

FIRST_SEED = 40_000
WITHIN = 0.25
JUDGED = (1e-3, 0.9)

# Fits of a method in a cell: until the median's standard error is so small, within these numbers;
# of large cells no more than have so many entries.
LEAST, MOST, PRECISE = 8, 100, 0.05
ENTRIES = 120_000_000


def decay(power: float, d: int) -> np.ndarray:
    return np.arange(1.0, d + 1) ** -power


# n, d, k, epsilon, adjacency, spectrum
CELLS = [
    (700, 10, 1, 0.5, "add-remove", "spiked"),
    (1_200, 40, 3, 2.0, "add-remove", "spiked"),
    (3_000, 15, 2, 1.0, "add-remove", "power-law"),
    (5_000, 200, 5, 1.0, "add-remove", "power-law"),
    (6_000, 80, 4, 0.5, "add-remove", "spiked"),
    (10_000, 60, 3, 1.0, "replace-one", "power-law"),
    (12_000, 100, 10, 2.0, "add-remove", "power-law"),
    (20_000, 120, 5, 1.0, "add-remove", "spiked"),
    (15_000, 150, 3, 1.0, "add-remove", "1 / j^1.5"),
    (60_000, 30, 3, 0.3, "add-remove", "power-law"),
    (6_000, 400, 5, 4.0, "add-remove", "spiked"),
    (8_000, 600, 3, 3.0, "add-remove", "power-law"),
]

# Of these, also how much of the last component's direction is found at the predicted noise floor.
FLOORS = (2, 4, 7)


def measure(expected: Plan, name: str, variances: np.ndarray) -> tuple[list[float], list[float]]:
    """Losses, and squares of the k-th direction in the released span, of fits at full size."""
    losses: list[float] = []
    squares: list[float] = []
    k = expected.n_components
    most = min(MOST, ENTRIES // (expected.n_samples * len(variances)))
    while len(losses) < LEAST or (len(losses) < most and error(losses) > PRECISE):
        seed = FIRST_SEED + len(losses)
        rng = np.random.default_rng([seed, expected.n_samples, expected.n_features])
        X = rng.standard_normal((expected.n_samples, len(variances))) * np.sqrt(variances)
        budget = {"epsilon": expected.epsilon, "delta": expected.delta}
        pca = METHODS[name].estimator(k, **budget, adjacency=expected.adjacency, random_state=seed)
        pca.fit(X)
        losses.append(1 - captured_variance(pca, X))
        squares.append(float(np.sum(pca.components_[:, k - 1] ** 2)))
    return losses, squares


def error(losses: list[float]) -> float:
    return float(1.25 * np.std(np.log(losses), ddof=1) / np.sqrt(len(losses)))


def verdict(predicted: float, measured: float) -> str:
    if not JUDGED[0] <= measured <= JUDGED[1]:
        return "not judged"
    return "" if abs(predicted / measured - 1) <= WITHIN else "MISSED"


def rows_of(cell: tuple) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    n, d, k, epsilon, adjacency, spectrum = cell
    assumed = decay(1.5, d) if spectrum.startswith("1 /") else spectrum
    start = perf_counter()
    expected = plan(n, d, k, epsilon, adjacency=adjacency, spectrum=assumed)
    seconds = perf_counter() - start
    accuracy, floors = [], []
    told = {"n": n, "d": d, "k": k, "epsilon": epsilon, "spectrum": spectrum}
    if adjacency != "add-remove":
        told["spectrum"] += f", {adjacency}"
    if d > FEATURES:
        told["spectrum"] += ", extrapolated"
    for row in sorted(expected.rows, key=lambda row: row.method):
        variances = np.array(expected.variances)
        losses, _ = measure(expected, row.method, variances)
        measured, predicted = float(np.median(losses)), 1 - row.captured
        low, high = np.quantile(losses, (0.25, 0.75))
        accuracy.append(
            {
                **told,
                "method": row.method,
                "predicted loss": f"{predicted:.2e}",
                "measured loss": f"{measured:.2e}",
                "half of all fits": f"{low:.2e} to {high:.2e}",
                "fits": len(losses),
                "predicted / measured": f"{predicted / measured:.2f}",
                "within 25 %": verdict(predicted, measured),
                "seconds of the plan": f"{seconds:.0f}",
            }
        )
        print(accuracy[-1], flush=True)
        if CELLS.index(cell) in FLOORS and np.isfinite(row.noise_floor):
            variances[k - 1] = row.noise_floor
            _, squares = measure(replace(expected), row.method, variances)
            floors.append(
                {
                    **told,
                    "method": row.method,
                    "noise floor": f"{row.noise_floor:.3g}",
                    "aimed at": f"{(1 + k / d) / 2:.2f}",
                    "found": f"{np.mean(squares):.2f}",
                    "standard error": f"{np.std(squares) / np.sqrt(len(squares)):.2f}",
                }
            )
            print(floors[-1], flush=True)
    return accuracy, floors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", help="only these, by number; saves nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    facts = machine()
    start = perf_counter()
    accuracy: list[dict[str, object]] = []
    floors: list[dict[str, object]] = []
    facts["fits"] = f"{LEAST} to {MOST} a figure, seeds from {FIRST_SEED}"
    for number in range(len(CELLS)) if options.cells is None else options.cells:
        more, other = rows_of(CELLS[number])
        accuracy += more
        floors += other
        judged = [row for row in accuracy if row["within 25 %"] != "not judged"]
        missed = sum(row["within 25 %"] == "MISSED" for row in judged)
        facts["outside 25 %"] = f"{missed} of {len(judged)} judged"
        facts["seconds"] = f"{perf_counter() - start:.0f}"
        if options.cells is None:  # whatever happens to the next
            save("planner", accuracy, facts)
            if floors:
                save("planner_floors", floors, facts)
    show(accuracy, facts)


if __name__ == "__main__":
    main()
