"""PrivatePCA beside the R package ``dppca`` itself, on the package's own data ``gau``.

Run ``python benchmarks/bench_dppca_package.py`` where Rscript finds the package; the script of R
beside it calls that. Each repeat takes 1000 of the 5000 rows, with k = 2, delta 1e-6 and
replace-one, the package's notion. All of one row is paid from one epsilon. What is compared, in
medians:

- *captured*: the share of the best possible variance of these rows along the directions.
- *first variance*: how far the first released variance is from the first eigenvalue, as a share of
  it. The estimators of ``dppca`` are told what has no default: clipped means the .99 quantile of
  the squared scores, Winsorised means their range (these tell of the rows, and are not private),
  Huber means what the package's README tells them.
- *scores*: half of the summed differences between the released histogram of two scores and the
  exact one, both 15 x 15 cells that sum to 1. ``dppca`` divides its budget over directions, frame
  and counts; here the fit and the map get half each, and the frame follows from the fit.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from _common import Measured, measure

from skdppca import GDPPCA, DPGauss, PrivatePCA
from skdppca.maps import projection_map
from skdppca.metrics import captured_variance

DRIVER = Path(__file__).with_suffix(".R")
N, K, DELTA, BINS, QUANTILE = 1000, 2, 1e-6, 15, 0.99
EPSILONS = {"captured": (0.5, 1.0, 3.0), "first variance": (1.0, 3.0), "scores": (1.0, 3.0)}
NOISE_SEED = 1_000_000  # rows are seeded by small numbers: noise of their stream would follow them
THEIRS = {
    "directions": ("captured", "dppca"),
    "clipped": ("first variance", "dppca, clipped mean (told)"),
    "pmwm": ("first variance", "dppca, Winsorised mean (told)"),
    "huber": ("first variance", "dppca, Huber mean"),
    "add": ("scores", "dppca, additive histogram"),
    "sparse": ("scores", "dppca, sparse histogram"),
}
OURS = {"PrivatePCA": PrivatePCA, "DPGauss": DPGauss, "GDPPCA": GDPPCA}


def found() -> bool:
    """Whether Rscript finds the package."""
    if shutil.which("Rscript") is None:
        return False
    asked = ["Rscript", "-e", "library(dppca)"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def run(folder: Path) -> None:
    subprocess.run(["Rscript", str(DRIVER), str(folder)], check=True, capture_output=True)


def write(path: Path, rows: Any) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def squared_scores(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    return (centred @ np.linalg.eigh(np.cov(X.T))[1][:, -1]) ** 2


def theirs(folder: Path, tables: list[np.ndarray], chosen: np.ndarray) -> list[dict]:
    """What the package releases, and how long it takes."""
    tasks = [
        (what, i, epsilon, DELTA)
        for what, (compared, _) in THEIRS.items()
        for epsilon in EPSILONS[compared]
        for i in range(len(tables))
    ]
    squares = [squared_scores(X) for X in tables]
    write(folder / "tasks.csv", [("what", "run", "epsilon", "delta"), *tasks])
    write(folder / "rows.csv", chosen + 1)
    write(folder / "told.csv", [(np.quantile(one, QUANTILE), one.max()) for one in squares])
    run(folder)
    answers: list[list[float]] = [[] for _ in tasks]
    seconds = [0.0] * len(tasks)
    with (folder / "answers.csv").open() as file:
        for line in csv.DictReader(file):
            i = int(line["task"])
            answers[i].append(float("nan" if line["value"] == "NA" else line["value"]))
            seconds[i] = float(line["seconds"])
    rows = []
    for what, (compared, method) in THEIRS.items():
        for epsilon in EPSILONS[compared]:
            mine = [i for i, task in enumerate(tasks) if (task[0], task[2]) == (what, epsilon)]
            values = [judged(what, tables[tasks[i][1]], answers[i]) for i in mine]
            rows.append(row(compared, method, epsilon, values, [seconds[i] for i in mine]))
    return rows


def judged(what: str, X: np.ndarray, answer: list[float]) -> float:
    if what == "directions":
        components = np.reshape(answer, (K, -1))  # columns of R, one after the other
        return float(captured_variance(components, covariance=np.cov(X.T)))
    return first_variance_off(X, answer[0]) if THEIRS[what][0] == "first variance" else answer[0]


def first_variance_off(X: np.ndarray, variance: float) -> float:
    exact = float(np.linalg.eigvalsh(np.cov(X.T))[-1])
    return abs(variance - exact) / exact


def ours(tables: list[np.ndarray]) -> list[dict]:
    rows = []
    for name, method in OURS.items():
        for epsilon in EPSILONS["captured"]:
            captured, off, seconds = [], [], []
            for seed, X in enumerate(tables):
                start = perf_counter()
                pca = fitted(method, X, epsilon, DELTA, seed)
                seconds.append(perf_counter() - start)
                captured.append(float(captured_variance(pca, covariance=np.cov(X.T))))
                if epsilon in EPSILONS["first variance"]:
                    off.append(first_variance_off(X, pca.explained_variance_[0]))
            rows.append(row("captured", name, epsilon, captured, seconds))
            if off:
                rows.append(row("first variance", name, epsilon, off, seconds))
    for epsilon in EPSILONS["scores"]:
        far, seconds = [], []
        for seed, X in enumerate(tables):
            start = perf_counter()
            pca = fitted(PrivatePCA, X, epsilon / 2, DELTA / 2, seed)
            half = {"epsilon": epsilon / 2, "delta": DELTA / 2, "adjacency": "replace-one"}
            shown = projection_map(pca, X, bins=BINS, random_state=seed + 2 * NOISE_SEED, **half)
            seconds.append(perf_counter() - start)
            exact = np.histogram2d(*pca.transform(X)[:, :2].T, bins=shown.edges)[0]
            both = (one / max(one.sum(), 1e-300) for one in (np.maximum(shown.counts, 0.0), exact))
            far.append(float(np.abs(np.subtract(*both)).sum() / 2))
        rows.append(row("scores", "PrivatePCA and projection_map", epsilon, far, seconds))
    return rows


def fitted(method: type, X: np.ndarray, epsilon: float, delta: float, seed: int) -> Any:
    pca = method(K, epsilon=epsilon, delta=delta, random_state=seed + NOISE_SEED)
    return pca.set_params(adjacency="replace-one").fit(X)


def row(
    compared: str, method: str, epsilon: float, values: list[float], seconds: list[float]
) -> dict:
    told = {"compared": compared, "method": method, "epsilon": f"{epsilon:g}"}
    return told | {"median": f"{median(values):.3f}", "seconds": f"{median(seconds):.2g}"}


def rows_of(repeats: int) -> list[dict]:
    if not found():
        raise SystemExit("Rscript does not find the package dppca; install it in R first")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder)  # its data
        gau = np.loadtxt(folder / "gau.csv", delimiter=",")
        draws = (np.random.default_rng(seed).permutation(len(gau)) for seed in range(repeats))
        chosen = np.array([draw[:N] for draw in draws])
        tables = [gau[rows] for rows in chosen]
        rows = theirs(folder, tables, chosen) + ours(tables)
    return sorted(rows, key=lambda one: (one["compared"], float(one["epsilon"])))


if __name__ == "__main__":
    measure(__doc__, {"dppca_package": Measured(rows_of, 20, {"repeats": "{}, seeds from 0"})})
