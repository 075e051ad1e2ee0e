"""The figures of Düngler & Sanyal: measured, summed up and drawn.

    python benchmarks/experiments/figures.py --quick     # two small trials a cell, elsewhere
    python benchmarks/experiments/figures.py             # everything, into doc/experiments/
    python benchmarks/experiments/figures.py 1a 2c --trials 20

The paper's, in all of them: lambda_1 = 10, epsilon = 1, delta = 0.01, 50 trials; k = 2 but in
figure 3, d = 200 where it does not vary. Chosen here: lambda_2 = 5 and n = 10000 where they do not
vary; all grids; fewer trials from n = 3e4 on (`_settings.FEWER_TRIALS`). What else was chosen
stands beside its figure. Equal settings of two figures have equal trials.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for _common, as_written and experiments_files

import numpy as np
import pandas as pd
from _common import SAVE
from _draw import draw
from _figures import GRID, WITHOUT_OJAS, Figure, Panel, measure, summarise
from _methods import method_of
from _settings import Setting
from experiments_files import PUBLISHED, RAW, keep_others

TRIALS = 50
QUICK_TRIALS, QUICK_MAX_N = 2, 10_000
RECORDS, DIMENSION, GAP = "records n", "dimension d", r"eigengap $\lambda_2 - \lambda_3$"
GAPS, DIMENSIONS = (0.1, 0.3, 1.0, 3.0, 9.0), (25, 50, 100, 200, 400)
SPIKED = "k = 2, d = 200, eigenvalues 10 and 5"
GAUSSIAN = Setting(sigma=1.0, data="gaussian")


def eigenvalues(k: int) -> tuple[float, ...]:
    return tuple(np.linspace(10, 5, k).tolist())


PANELS = {
    # The paper's: sigma.
    "1a": (
        r"Spiked model, $\sigma$ = 0.025",
        (Panel(SPIKED, RECORDS, {n: Setting(n=n) for n in GRID}, WITHOUT_OJAS),),
    ),
    "1b": (
        r"Spiked model, $\sigma$ = 0.001",
        (Panel(SPIKED, RECORDS, {n: Setting(n=n, sigma=0.001) for n in GRID}, WITHOUT_OJAS),),
    ),
    # Chosen here: sigma = 0.025.
    "1c": (
        "Spiked model, growing dimension",
        (
            Panel(
                r"n = 10000, k = 2, eigenvalues 10 and 5, $\sigma$ = 0.025",
                DIMENSION,
                {d: Setting(d=d) for d in DIMENSIONS},
                WITHOUT_OJAS,
            ),
        ),
    ),
    # Chosen here: sigma = 0.1, for the caption's "higher noise regime"; the gap lambda_2 - lambda_3
    # is moved by the second eigenvalue of the signal, which it equals in this model.
    "2a": (
        "Spiked model, growing eigengap",
        (
            Panel(
                r"n = 10000, k = 2, d = 200, $\lambda_1$ = 10, $\sigma$ = 0.1",
                GAP,
                {gap: Setting(eigenvalues=(10.0, gap), sigma=0.1) for gap in GAPS},
            ),
        ),
    ),
    "2b": (
        "Spiked model, varying noise level",
        (
            Panel(
                f"n = 10000, {SPIKED}",
                r"noise level $\sigma$",
                {sigma: Setting(sigma=sigma) for sigma in (0.001, 0.01, 0.025, 0.1, 0.3, 1.0)},
            ),
        ),
    ),
    # Figure 1a with k-DP-Ojas.
    "2c": (
        r"Spiked model, $\sigma$ = 0.025, with k-DP-Ojas",
        (Panel(SPIKED, RECORDS, {n: Setting(n=n) for n in GRID}),),
    ),
    # Appendix G. The paper shows means with standard deviations as bars, which the summary has; the
    # picture has medians and intervals, as elsewhere. Chosen here: sigma = 0.025; the signal's
    # eigenvalues fall evenly from 10 to 5. For k = 1 records are rows, whose signal has variance 10
    # (`make_spiked`).
    "3": (
        "Spiked model, varying k and d",
        tuple(
            Panel(
                rf"d = {d}, n = 10000, $\sigma$ = 0.025",
                "components k",
                {f"k = {k}": Setting(d=d, eigenvalues=eigenvalues(k)) for k in (1, 2, 5)},
            )
            for d in (50, 200)
        ),
    ),
    # Appendix G. Chosen here: rows of covariance V diag(10, lambda_2) V^T + sigma^2 I with sigma =
    # 1; gamma = 1 for the printed methods (the paper: O(1)), and the printed clipping norm of the
    # spiked model.
    "4": (
        r"Gaussian rows, k = 2, $\sigma$ = 1",
        (
            Panel(
                "d = 200, eigenvalues 10 and 5", RECORDS, {n: replace(GAUSSIAN, n=n) for n in GRID}
            ),
            Panel(
                r"n = 10000, d = 200, $\lambda_1$ = 10",
                GAP,
                {gap: replace(GAUSSIAN, eigenvalues=(10.0, gap)) for gap in GAPS},
            ),
            Panel(
                "n = 10000, eigenvalues 10 and 5",
                DIMENSION,
                {d: replace(GAUSSIAN, d=d) for d in DIMENSIONS},
            ),
        ),
    ),
}
FIGURES = {name: Figure(f"figure_{name}", *told) for name, told in PANELS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", help=f"some of {', '.join(FIGURES)}")
    parser.add_argument("--trials", type=int, default=TRIALS, help="of every cell, at most")
    parser.add_argument("--max-n", type=int, default=max(GRID), help="leave out larger cells")
    parser.add_argument("--n-jobs", type=int, default=1, help="trials at a time")
    parser.add_argument("--quick", action="store_true", help="few small trials, elsewhere")
    parser.add_argument("--draw-only", action="store_true", help="from the saved summary")
    parser.add_argument(
        "--with",
        dest="oracles",
        nargs="+",
        default=[],
        metavar="MODULE:ORACLE",
        help="measure KDPPCA with your oracles, and draw them beside the published methods, "
        "elsewhere: my_module:MyOracle",
    )
    parser.add_argument("--folder", type=Path, help="where all files lie and go")
    options = parser.parse_args()
    if options.oracles and options.draw_only:
        parser.error("--with measures your oracles; leave --draw-only out")
    for name in options.oracles:
        method_of(name)  # so that a wrong name ends it here
    if options.oracles:
        options.folder = options.folder or Path(tempfile.gettempdir()) / "skdppca-with"
    if options.quick:
        options.trials = min(options.trials, QUICK_TRIALS)
        options.max_n = min(options.max_n, QUICK_MAX_N)
        options.folder = options.folder or Path(tempfile.gettempdir()) / "skdppca-experiments"
    if unknown := {*options.figures} - FIGURES.keys():
        parser.error(f"no figure {sorted(unknown)}; choose of {[*FIGURES]}")
    figures = [FIGURES[name] for name in options.figures or FIGURES]
    folder = options.folder or PUBLISHED
    folder.mkdir(parents=True, exist_ok=True)
    os.environ[SAVE] = str(RAW if folder == PUBLISHED else folder / "raw")
    if options.oracles:
        figures = [figure.with_only(options.oracles) for figure in figures]
    for figure in figures:
        saved = folder / f"{figure.name}_summary.csv"
        if not options.draw_only:
            found = measure(figure, options.trials, options.max_n, options.n_jobs)
            summary = summarise(figure, found)
            if options.oracles and not summary.empty:
                summary = keep_others(summary, PUBLISHED / saved.name, ["panel", "x"])
            if not summary.empty:
                summary.to_csv(saved, index=False, float_format="%.6g")
        if saved.exists():
            print(draw(figure, pd.read_csv(saved), folder))
        else:
            print(f"{figure.name}: nothing measured yet")


if __name__ == "__main__":
    main()
