"""Repeat "draw data, fit, judge" many times, as for the figures of a paper."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from numbers import Integral
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from .datasets import Draw
from .metrics import sin_theta, zeta_squared
from .privacy import BaseAccountant
from .privacy.charging import needs_no_accountant

__all__ = ["Trials", "run_trials"]

if TYPE_CHECKING:
    import pandas as pd

SECONDS = "fit_seconds"

Metric = Callable[[Any, Draw], float]


@dataclass(frozen=True, eq=False)
class Trials:
    """Measurements of `run_trials`: a row for every trial, estimator and metric, as columns.

    Parameters
    ----------
    trial : ndarray of int
        Number of the trial, from 0.
    estimator, metric : ndarray of str
        Names.
    value : ndarray of float

    Examples
    --------
    >>> import numpy as np
    >>> from skdppca.trials import Trials
    >>> names, metrics = np.array(["mine", "yours"]), np.array(["loss", "loss"])
    >>> trials = Trials(np.array([0, 0]), names, metrics, np.array([0.1, 0.2]))
    >>> float(trials.values("loss", "yours").mean())
    0.2
    """

    trial: np.ndarray
    estimator: np.ndarray
    metric: np.ndarray
    value: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    def values(self, metric: str, estimator: str | None = None) -> np.ndarray:
        """One metric of one estimator, trial by trial.

        Parameters
        ----------
        metric : str
        estimator : str or None
            Its name; it may be left out if there is one estimator only.

        Raises
        ------
        ValueError
            If there is no such estimator or metric.
        """
        estimators, metrics = (
            list(dict.fromkeys(x.tolist())) for x in (self.estimator, self.metric)
        )
        if estimator is None and len(estimators) == 1:
            (estimator,) = estimators
        if estimator not in estimators:
            raise ValueError(f"estimator={estimator!r} has no trials; choose one of {estimators}")
        if metric not in metrics:
            raise ValueError(f"metric={metric!r} was not measured; choose one of {metrics}")
        return self.value[(self.estimator == estimator) & (self.metric == metric)]

    def to_frame(self) -> pd.DataFrame:
        """All rows as a pandas.DataFrame.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas, which is not installed; pip install pandas, or "
                "take the columns, as trials.value"
            ) from error
        return pandas.DataFrame(asdict(self))


def run_trials(
    estimator: Any,
    sampler: Callable[..., Any],
    n_trials: int = 50,
    *,
    n_jobs: int | None = None,
    random_state: int | None = None,
    metrics: Mapping[str, Metric] | None = None,
    progress: bool = True,
) -> Trials:
    """Draw data, fit estimators and judge them, many times.

    Use synthetic or public data only: nothing in the result is private.

    Parameters
    ----------
    estimator : estimator or dict of str to estimator
        Cloned for every trial. All estimators of a dict are fitted to the same draw.
    sampler : callable
        ``sampler(random_state=generator)`` returns ``(X, groups, components, covariance)``, as the
        functions of `skdppca.datasets` do. If groups is None, every row is a record.
    n_trials : int, default=50
        Number of trials.
    n_jobs : int or None, default=None
        Number of processes, which changes `fit_seconds` and no other value.
    random_state : int or None, default=None
        Seed for the draws, and for the noise of the estimators that have a seed.
    metrics : dict of str to callable, optional
        ``metric(fitted_estimator, draw)`` returns a number. A draw has the fields `X`, `groups`,
        `components` and `covariance`. By default `zeta_squared` against the covariance, and
        `sin_theta` of the largest angle against the components.
    progress : bool, default=True
        Show a bar on a terminal, if rich is installed.

    Returns
    -------
    Trials
        Columns `trial`, `estimator`, `metric`, `value`. In every trial, an estimator has one row
        for each metric, and one for the metric "fit_seconds". ``trials.values(metric, estimator)``
        picks those of one estimator, ``trials.to_frame()`` makes a pandas.DataFrame of all.

    Raises
    ------
    ValueError, TypeError
        Invalid parameters, a draw that is no such tuple, or an estimator that has an accountant.
    Exception
        Any error of a fit, unchanged.

    Notes
    -----
    **Draws and noise are independent**, and so are all trials. `random_state` spawns a
    ``SeedSequence`` for every trial, which spawns one for its draw and one for every estimator.
    The first trials do not depend on `n_trials`.

    **Noise.** An estimator with ``random_state=None`` keeps its secure noise, which no seed
    repeats. If an estimator has a seed, every trial replaces it by a stream of its own, so the
    value of the seed does not matter. One seed for all trials would add the same noise in each,
    and the spread of the trials would not show the noise.

    **Accountants** are refused: synthetic data need no budget, and a `PrivacyAccountant` cannot be
    charged in other processes.

    Examples
    --------
    >>> from functools import partial
    >>> from skdppca import DPGauss
    >>> from skdppca.datasets import make_gaussian
    >>> from skdppca.trials import run_trials
    >>> sampler = partial(make_gaussian, 500, 10, [10, 5], 0.5)
    >>> trials = run_trials(DPGauss(2), sampler, n_trials=3, random_state=0)
    >>> len(trials), trials.values("zeta_squared").shape
    (9, (3,))
    """
    if not isinstance(n_trials, Integral) or n_trials < 1:
        raise ValueError(f"n_trials={n_trials!r} must be a whole number of at least 1")
    if not callable(sampler):
        raise TypeError("sampler must be a callable, as functools.partial(make_gaussian, ...) is")
    if not isinstance(estimator, Mapping):
        estimator = {type(estimator).__name__: estimator}
    if not estimator:
        raise ValueError("estimator is an empty dict; give at least one")
    for name, one in estimator.items():
        if any(isinstance(value, BaseAccountant) for value in one.get_params().values()):
            raise ValueError(
                f"the estimator {name!r} has an accountant, but trials are for data that cost "
                "nothing; set accountant=None"
            )
    metrics = DEFAULT_METRICS if metrics is None else metrics
    if SECONDS in metrics:
        raise ValueError(f"metrics has {SECONDS!r}, which is measured anyway; choose another name")
    trials = np.random.SeedSequence(random_state).spawn(n_trials)
    # Processes, not threads: a filter of warnings applies to a whole process.
    results = Parallel(n_jobs=n_jobs, backend="loky", return_as="generator")(
        delayed(_trial)(dict(estimator), sampler, dict(metrics), trial) for trial in trials
    )
    rows = [
        (number, *judged)
        for number, result in enumerate(_watched(results, n_trials, progress))
        for judged in result
    ]
    return Trials(*map(np.array, zip(*rows, strict=True)))


def _trial(
    estimators: dict[str, Any],
    sampler: Callable[..., Any],
    metrics: dict[str, Metric],
    sequence: np.random.SeedSequence,
) -> list[tuple[str, str, float]]:
    data, *noises = sequence.spawn(1 + len(estimators))
    drawn = sampler(random_state=np.random.default_rng(data))
    if not isinstance(drawn, tuple) or len(drawn) != len(Draw._fields):
        raise ValueError(f"sampler must return the tuple ({', '.join(Draw._fields)})")
    draw = Draw(*drawn)
    groups = {} if draw.groups is None else {"groups": draw.groups}
    judged = []
    for (name, estimator), noise in zip(estimators.items(), noises, strict=True):
        own = clone(estimator)
        with needs_no_accountant(seeded=_seed(own, noise)):  # the data are synthetic or public
            start = perf_counter()
            own.fit(draw.X, **groups)
            seconds = perf_counter() - start
        judged += [(name, metric, float(judge(own, draw))) for metric, judge in metrics.items()]
        judged.append((name, SECONDS, seconds))
    return judged


def _seed(estimator: Any, sequence: np.random.SeedSequence) -> bool:
    """Replace every seed in the estimator by a stream of its own; return whether it had one."""
    seeded = sorted(
        name
        for name, value in estimator.get_params().items()
        if name.split("__")[-1] == "random_state" and value is not None
    )
    streams = map(np.random.MT19937, sequence.spawn(len(seeded)))
    estimator.set_params(**dict(zip(seeded, map(np.random.RandomState, streams), strict=True)))
    return bool(seeded)


DEFAULT_METRICS: dict[str, Metric] = {
    "zeta_squared": lambda fitted, draw: zeta_squared(fitted, draw.covariance),
    "sin_theta": lambda fitted, draw: sin_theta(fitted, draw.components),
}


def _watched(results: Iterable[Any], n_trials: int, progress: bool) -> Iterable[Any]:
    """Return the results; on a terminal, a bar counts them."""
    if not progress or not sys.stderr.isatty():
        return results
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError:
        return results
    return track(results, "trials", total=n_trials, console=Console(stderr=True), transient=True)
