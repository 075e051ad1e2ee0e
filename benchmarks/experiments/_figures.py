"""What all figures share: their panels, their trials and the summary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from time import perf_counter

import numpy as np
import pandas as pd
from _common import kept
from _methods import ESTIMATORS, METHODS, NO_PRIVACY, PRINTED, method_of
from _settings import Setting, seed_of
from joblib import Parallel, delayed
from scipy import stats

from skdppca.datasets import Draw
from skdppca.metrics import zeta_squared

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

    def with_only(self, methods: list[str]) -> Figure:
        """The same with these methods alone in every panel, whether they were in it or not."""
        panels = tuple(replace(panel, methods=tuple(methods)) for panel in self.panels)
        return replace(self, panels=panels)


def measure(figure: Figure, trials: int, max_n: int, n_jobs: int) -> pd.DataFrame:
    """Return one row a trial; those that this commit has measured before are kept."""
    methods: dict[tuple[Setting, int], dict[str, None]] = {}
    for panel in figure.panels:
        for setting in panel.cells.values():
            for trial in range(setting.trials(trials) if setting.n <= max_n else 0):
                names = dict.fromkeys(panel.methods)
                methods.setdefault((setting, trial), {}).update(names)
    jobs = (
        delayed(_trials)(setting, trial, [*names]) for (setting, trial), names in methods.items()
    )
    rows = []
    for some in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        rows += some
        print(f"{figure.name}: {some[-1][:3]}", flush=True)
    return pd.DataFrame(rows, columns=COLUMNS)


def _trials(setting: Setting, trial: int, methods: list[str]) -> list[list]:
    """Rows of all methods on one draw; the code of an oracle of one's own may change."""
    return [
        kept(one_trial, setting, method, trial)
        if method in METHODS
        else one_trial(setting, method, trial)
        for method in methods
    ]


def one_trial(setting: Setting, method: str, trial: int) -> list:
    """Let a method answer, and judge it."""
    data = _drawn(setting, trial)
    seed = seed_of(setting, trial, method)
    started = perf_counter()
    components = method_of(method)(data.X, data.groups, setting.k, setting.model, seed)
    seconds = perf_counter() - started
    loss = zeta_squared(components, data.covariance)
    return [str(setting), method, trial, *(float(f"{x:.6g}") for x in (loss, 1 - loss, seconds))]


@lru_cache(maxsize=1)
def _drawn(setting: Setting, trial: int) -> Draw:
    return setting.draw(trial)


def summarise(figure: Figure, found: pd.DataFrame) -> pd.DataFrame:
    """One row a cell: how many trials, and mean and median with intervals of 95 % confidence."""
    trials = dict([*found.groupby(COLUMNS[:2])])
    cells = []
    for panel in figure.panels:
        for x, setting in panel.cells.items():
            for method in panel.methods:
                rows = trials.get((str(setting), method))
                if rows is None:
                    continue
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
