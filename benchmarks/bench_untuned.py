"""What all methods lose on tables that no constant was tuned on, told nothing but the budget.

    python benchmarks/bench_untuned.py --json new.json             # 10 minutes on one core
    python benchmarks/bench_untuned.py --tails --json tails.json   # 10 minutes on one core
    python benchmarks/bench_untuned.py --compare old.json new.json

A cell is a table, k and epsilon; delta = 1e-6, add-remove, and every parameter at its default. Its
loss is 1 - captured / optimal variance, of the table's own covariance about its own mean, the
median over fits of the same rows. The regret of `PrivatePCA` is its loss over the least of all
methods, itself among them. Only public names are imported, so that another copy of the package is
measured by its folder in PYTHONPATH.

``--tails``: ten settings of 150 to 3000 records, epsilon 1, rows drawn anew for every fit where
they are drawn. A fit is bad if it captures less than half of the median captured share.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
from _common import arguments, kept, machine, save, show
from _untuned_tables import TABLES, TAILS, table
from joblib import Parallel, delayed
from scipy.stats import mannwhitneyu

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

WORSE = 1.15  # a cell may lose this many times what it lost
RESAMPLES = 2000

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


def wanted(name: str, only: list[str]) -> bool:
    return not only or any(part in name for part in only)


def cells(fits: dict[str, int], jobs: int, only: list[str]) -> Iterator[dict]:
    keys = [
        (name, k, epsilon)
        for name in TABLES
        if wanted(name, only)
        for k in COMPONENTS
        if k < table(name)[0].shape[1]
        for epsilon in EPSILONS
    ]
    run = Parallel(n_jobs=jobs, return_as="generator")
    yield from run(delayed(kept)(cell, key, fits) for key in keys)


def tails(methods: list[str], fits: int, jobs: int, only: list[str]) -> Iterator[dict]:
    pieces = [range(start, min(start + 100, fits)) for start in range(0, fits, 100)]
    for name, (draw, k) in TAILS.items():
        if not wanted(name, only):
            continue
        losses = {}
        for method in methods:
            run = Parallel(n_jobs=jobs)
            found = run(delayed(kept)(tail, name, method, piece) for piece in pieces)
            losses[method] = [loss for piece in found for loss in piece]
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


def read(path: Path) -> dict[Key, dict]:
    cells = json.loads(path.read_text())["cells"]
    return {(cell["table"], cell["k"], cell["epsilon"]): cell for cell in cells}


def others(path: Path | None, only: list[str], package: str) -> list[dict]:
    """Cells of an earlier run of the same package that are not measured again."""
    if path is None or not only or not path.exists():
        return []
    earlier = json.loads(path.read_text())
    if earlier["facts"]["package"] != package:
        return []
    return [cell for cell in earlier["cells"] if not wanted(cell["table"], only)]


def log_medians(losses: list[float], rng: np.random.Generator) -> np.ndarray:
    picks = rng.integers(len(losses), size=(RESAMPLES, len(losses)))
    return np.log(np.median(np.asarray(losses)[picks], axis=1))


def compare(old: Path, new: Path, method: str) -> None:
    """Loss in the new file over the old one's, cell by cell.

    The interval is a bootstrap's, of 95 %, over fits, not over tables. p is Mann & Whitney's of no
    change, two-sided, times the number of cells (Bonferroni); a cell is *surely* worse or better if
    that is below 5 %.
    """
    before, after = read(old), read(new)
    both = [
        key
        for key in after
        if key in before and method in before[key]["losses"] and method in after[key]["losses"]
    ]
    rng = np.random.default_rng(0)
    rows, ratios, resampled = [], [], []
    for key in both:
        a, b = (cells[key]["losses"][method] for cells in (before, after))
        ratios.append(np.median(b) / np.median(a))
        resampled.append(log_medians(b, rng) - log_medians(a, rng))
        low, high = np.exp(np.quantile(resampled[-1], [0.025, 0.975]))
        p = 1.0 if a == b else min(mannwhitneyu(a, b).pvalue * len(both), 1.0)
        verdict = "" if p >= 0.05 else "surely worse" if ratios[-1] > 1 else "surely better"
        row = named(after[key]) | {"old": f"{np.median(a):.3g}", "new": f"{np.median(b):.3g}"}
        row |= {"new / old": f"{ratios[-1]:.3f}", "95 %": f"{low:.2f} to {high:.2f}"}
        row |= {"p": f"{p:.1g}", "verdict": verdict, f"above {WORSE}": ""}
        if ratios[-1] > WORSE:
            row[f"above {WORSE}"] = "surely" if low > WORSE else "perhaps"
        rows.append(row)
    order = np.argsort(ratios)[::-1]
    show([rows[i] for i in order], {"method": method, "old": str(old), "new": str(new)})
    logs, means = np.log(ratios), np.mean(resampled, axis=0)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    print(f"geometric mean {np.exp(logs.mean()):.3f} (95 %: {low:.3f} to {high:.3f})")
    for epsilon in sorted({key[2] for key in both}):
        some = [ratio for key, ratio in zip(both, ratios, strict=True) if key[2] == epsilon]
        print(f"  at epsilon {epsilon:g}: {np.exp(np.mean(np.log(some))):.3f}")
    worst = order[0]
    print(f"worst {ratios[worst]:.3f}: {both[worst]}; {np.mean(logs > 0):.0%} of cells are worse")
    for column in ("verdict", f"above {WORSE}"):
        found = [row[column] for row in rows if row[column]]
        print(f"{column}:", {word: found.count(word) for word in sorted(set(found))})
    if "tails" in (json.loads(path.read_text())["facts"].get("kind") for path in (old, new)):
        for key in both:
            a, b = (bad(cells[key]["losses"][method]) for cells in (before, after))
            print(f"{key[0]}: below half the median {a} before, {b} now")
        return
    for path, found in ((old, before), (new, after)):
        print(f"\n{path}")
        for key, value in regret_facts(list(found.values())).items():
            print(f"{key}: {value}")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="default: all of them")
    parser.add_argument("--reps", type=int, default=20, help="fits a cell")
    parser.add_argument("--default-reps", type=int, default=40, help="the same of PrivatePCA")
    parser.add_argument("--tails", action="store_true")
    parser.add_argument("--fits", type=int, default=2000, help="fits a setting of --tails")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        help="tables whose names hold one of these; --json keeps others",
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write every loss there, after each cell")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"))
    options = parser.parse_args()
    if options.compare:
        (method,) = options.methods or [DEFAULT]
        return compare(*options.compare, method)
    facts = machine() | {"package": skdppca.__file__, "kind": "tails" if options.tails else "loss"}
    methods = options.methods or ([DEFAULT] if options.tails else METHODS)
    fits = {name: options.default_reps if name == DEFAULT else options.reps for name in methods}
    start, found = perf_counter(), []
    kept = others(options.json, options.only, facts["package"])
    if options.tails:
        measured = tails(list(methods), options.fits, options.jobs, options.only)
    else:
        measured = cells(fits, options.jobs, options.only)
    for one in measured:
        found.append(one)
        print(*(tail_rows(one) if options.tails else [loss_row(one)]), sep="\n", flush=True)
        facts["seconds"] = f"{perf_counter() - start:.0f}"
        if options.json:
            options.json.write_text(json.dumps({"facts": facts, "cells": kept + found}))
    told = {key: facts[key] for key in facts if key not in ("package", "kind")}
    if options.tails:
        rows = [row for one in found for row in tail_rows(one)]
        told["fits"] = f"delta {DELTA:g}, epsilon 1, seeds from {FIRST_SEED}"
    else:
        rows = [loss_row(one) for one in found if one["k"] == SHOWN]
        told["fits"] = ", ".join(f"{runs} of {method}" for method, runs in fits.items())
        told |= regret_facts(found)
    if not options.only and not options.methods:
        save("untuned_tails" if options.tails else "untuned", rows, told)


if __name__ == "__main__":
    main()
