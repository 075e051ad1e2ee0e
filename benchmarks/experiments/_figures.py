"""The loop that all figures share: measure what the raw csv lacks, summarise, draw."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

sys.path.append(str(Path(__file__).parents[1]))  # for as_written and experiments_files

import numpy as np
import pandas as pd
from _draw import draw
from _methods import ESTIMATORS, METHODS, NO_PRIVACY, PRINTED, available, method_of
from _settings import Setting, seed_of
from experiments_files import PUBLISHED, folders, keep_others
from joblib import Parallel, delayed
from scipy import stats

from skdppca.metrics import zeta_squared

TRIALS = 50
QUICK_TRIALS, QUICK_MAX_N = 2, 10_000
LEVEL = 0.95

COLUMNS = ["setting", "method", "trial", "zeta_squared", "utility", "seconds"]
GRID = (1000, 3000, 10_000, 30_000, 100_000)

WITHOUT_OJAS = (
    *ESTIMATORS,
    "k-DP-PCA" + PRINTED,
    "DP-Gauss-1" + PRINTED,
    "DP-Gauss-2" + PRINTED,
    "DP-Power-Method" + PRINTED,
    "MOD-SuLQ" + PRINTED,
    "Oja" + NO_PRIVACY,
    "power iterations" + NO_PRIVACY,
    "PCA" + NO_PRIVACY,
)
ALL = (*WITHOUT_OJAS, "k-DP-Ojas" + PRINTED)


@dataclass(frozen=True)
class Panel:
    """One pair of axes: x -> setting, for the methods that the paper compares there and ours."""

    title: str
    xlabel: str
    cells: dict[float | str, Setting]
    methods: tuple[str, ...] = ALL
    log_x: bool = True


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, redone. `name` is that of its files."""

    name: str
    title: str
    panels: tuple[Panel, ...]

    def of(self, methods: list[str]) -> Figure:
        """The same with these methods alone, where they were in it."""
        panels = tuple(
            replace(panel, methods=tuple(name for name in panel.methods if name in methods))
            for panel in self.panels
        )
        return replace(self, panels=panels)

    def with_only(self, methods: list[str]) -> Figure:
        """The same with these methods alone in every panel, whether they were in it or not."""
        panels = tuple(replace(panel, methods=tuple(methods)) for panel in self.panels)
        return replace(self, panels=panels)


def run(figure: Figure) -> None:
    """Command line of one figure's script."""
    run_all([figure])


def run_all(figures: list[Figure]) -> None:
    """Command line: measure, summarise and draw each figure in turn."""
    parser = argparse.ArgumentParser(
        description="Redo " + ", ".join(figure.name for figure in figures)
    )
    parser.add_argument("--trials", type=int, default=TRIALS, help="of every cell, at most")
    parser.add_argument("--max-n", type=int, default=max(GRID), help="leave out larger cells")
    parser.add_argument("--n-jobs", type=int, default=1, help="trials at a time")
    parser.add_argument("--quick", action="store_true", help="few small trials, elsewhere")
    parser.add_argument("--draw-only", action="store_true", help="from the saved summary")
    parser.add_argument(
        "--methods", nargs="+", metavar="METHOD", help="these alone; others stay as published"
    )
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
    if options.oracles and (options.methods or options.draw_only):
        parser.error("--with measures your oracles alone; leave --methods and --draw-only out")
    for name in options.oracles:
        method_of(name)  # so that a wrong name ends it here
    if options.oracles:
        options.folder = options.folder or Path(tempfile.gettempdir()) / "skdppca-with"
    if options.quick:
        options.trials = min(options.trials, QUICK_TRIALS)
        options.max_n = min(options.max_n, QUICK_MAX_N)
        options.folder = options.folder or Path(tempfile.gettempdir()) / "skdppca-experiments"
    folder, raw = folders(options.folder)
    unknown = set(options.methods or []) - set(METHODS)
    if unknown:
        parser.error(f"--methods: no method {sorted(unknown)}; choose of {sorted(METHODS)}")
    if options.oracles:
        _forget(raw, options.oracles)  # their code may have changed
        figures = [figure.with_only(options.oracles) for figure in figures]
    if options.methods:
        figures = [figure.of(options.methods) for figure in figures]
    for figure in figures:
        saved = folder / f"{figure.name}_summary.csv"
        if not options.draw_only:
            measure(figure, raw, options.trials, options.max_n, options.n_jobs)
            summary = summarise(figure, raw)
            if (options.methods or options.oracles) and not summary.empty:
                others = PUBLISHED / saved.name if options.oracles else saved
                summary = keep_others(summary, others, ["panel", "x"])
            if not summary.empty:
                summary.to_csv(saved, index=False, float_format="%.6g")
        if saved.exists():
            print(draw(figure, pd.read_csv(saved), folder))
        else:
            print(f"{figure.name}: nothing measured yet")


def measure(figure: Figure, raw: Path, trials: int, max_n: int, n_jobs: int) -> None:
    """Append to the figure's raw csv every trial that it lacks, each as soon as it is known.

    A trial that another figure's raw csv has is copied: equal settings mean equal seeds.
    """
    path = raw / f"{figure.name}.csv"
    known = pd.concat([_read(other) for other in _raw_files(raw)] or [_read(path)])
    known = known.drop_duplicates(COLUMNS[:3]).set_index(COLUMNS[:3])
    mine = set(_read(path).set_index(COLUMNS[:3]).index)
    _read(path).to_csv(path, index=False)  # without what an interrupted run left unfinished
    for panel in figure.panels:
        methods = available(panel.methods)
        for x, setting in panel.cells.items():
            if setting.n > max_n:
                continue
            keys = [
                (str(setting), method, trial)
                for trial in range(setting.trials(trials))
                for method in methods
            ]
            copied = [key for key in keys if key not in mine and key in known.index]
            _append(path, [{**dict(zip(COLUMNS, k, strict=False)), **known.loc[k]} for k in copied])
            todo: dict[int, list[str]] = {}
            for key in keys:
                if key not in mine and key not in known.index:
                    todo.setdefault(key[2], []).append(key[1])
            started = perf_counter()
            for rows in _trials(setting, todo, n_jobs):
                _append(path, rows)
            mine.update(keys)
            seconds = perf_counter() - started
            print(
                f"{figure.name}, {panel.xlabel}: {x}: {len(todo)} trials, {seconds:.1f} s",
                flush=True,
            )


def _trials(setting: Setting, todo: dict[int, list[str]], n_jobs: int) -> Iterator[list[dict]]:
    """Rows of one trial after the other."""
    jobs = (delayed(one_trial)(setting, trial, methods) for trial, methods in todo.items())
    return Parallel(n_jobs=n_jobs, return_as="generator")(jobs)


def one_trial(setting: Setting, trial: int, methods: list[str]) -> list[dict]:
    """Draw once, let every method answer, judge."""
    data = setting.draw(trial)
    truth = setting.truth(data)
    rows = []
    for method in methods:
        seed = seed_of(setting, trial, method)
        started = perf_counter()
        components = method_of(method)(data.X, data.groups, setting.k, truth, seed)
        seconds = perf_counter() - started
        loss = zeta_squared(components, data.covariance)
        values = (str(setting), method, trial, loss, 1 - loss, seconds)
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def _raw_files(raw: Path) -> list[Path]:
    return list(raw.glob("figure_*.csv"))


def _read(path: Path) -> pd.DataFrame:
    """Trials of a raw csv; a line that an interrupted run left unfinished is not one."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    frame = pd.read_csv(path, on_bad_lines="skip").dropna()
    return frame.astype({"trial": int})


def _forget(raw: Path, methods: list[str]) -> None:
    """Drop the trials of methods that have changed, in all figures: they would be copied."""
    for path in _raw_files(raw):
        frame = _read(path)
        frame[~frame["method"].isin(methods)].to_csv(path, index=False)


def _append(path: Path, rows: list[dict]) -> None:
    if rows:
        frame = pd.DataFrame(rows, columns=COLUMNS)
        frame.to_csv(path, mode="a", header=False, index=False, float_format="%.6g")


def summarise(figure: Figure, raw: Path) -> pd.DataFrame:
    """One row a cell: how many trials, and mean and median with intervals of 95 % confidence."""
    trials = {key: rows for key, rows in _read(raw / f"{figure.name}.csv").groupby(COLUMNS[:2])}
    cells = []
    for panel in figure.panels:
        for x, setting in panel.cells.items():
            for method in panel.methods:
                rows = trials.get((str(setting), method))
                if rows is None:
                    continue
                rows = rows.drop_duplicates("trial")
                cells.append(
                    {
                        "panel": panel.title,
                        "x": x,
                        "method": method,
                        "private": not method.endswith((PRINTED, NO_PRIVACY)),
                        "trials": len(rows),
                        **_intervals("zeta_squared", rows["zeta_squared"].to_numpy()),
                        **_mean("utility", rows["utility"].to_numpy()),
                        "seconds": rows["seconds"].median(),
                        "setting": str(setting),
                    }
                )
    return pd.DataFrame(cells)


def _mean(name: str, values: np.ndarray) -> dict[str, float]:
    """Mean, its Student interval, and the standard deviation; the interval is NaN of one trial."""
    n = len(values)
    sd = values.std(ddof=1) if n > 1 else np.nan
    reach = stats.t.ppf((1 + LEVEL) / 2, n - 1) * sd / np.sqrt(n) if n > 1 else np.nan
    mean = values.mean()
    return {
        f"{name}_mean": mean,
        f"{name}_mean_low": mean - reach,
        f"{name}_mean_high": mean + reach,
        f"{name}_sd": sd,
    }


def _intervals(name: str, values: np.ndarray) -> dict[str, float]:
    """`_mean`, and the median with an interval between order statistics, which no law is behind.

    Of five trials or fewer the smallest and the largest, which cover less than 95 %.
    """
    ordered, n = np.sort(values), len(values)
    # P(fewer than j + 1 of n below the median) <= 2.5 %
    j = max(int(stats.binom.ppf((1 - LEVEL) / 2, n, 0.5)) - 1, 0)
    return {
        **_mean(name, values),
        f"{name}_median": np.median(values),
        f"{name}_median_low": ordered[j],
        f"{name}_median_high": ordered[n - 1 - j],
    }
