"""Trials: independent draws, independent noise, one frame whatever the number of processes."""

import io
import sys
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skdppca import DPGauss, PrivacyAccountant
from skdppca.datasets import make_gaussian, make_spiked
from skdppca.exceptions import SeededNoiseWarning
from skdppca.trials import run_trials

pd = pytest.importorskip("pandas")

SAMPLER = partial(make_gaussian, 300, 5, [10, 5], 0.5)
GROUPED = partial(make_spiked, 300, 5, 2, [10, 5], 0.5)
SEEDED = DPGauss(2, random_state=0)
SECURE = DPGauss(2)


def same_data(random_state):
    return SAMPLER(random_state=0)


def run(estimator, sampler=SAMPLER, n_trials=3, random_state=0, **more):
    return run_trials(estimator, sampler, n_trials, random_state=random_state, **more)


def judged(frame, metric="zeta_squared"):
    """Values of one metric: a row for every trial, a column for every estimator."""
    frame = frame[frame["metric"] == metric]
    return frame.pivot(index="trial", columns="estimator", values="value")


def untimed(frame):
    return frame[frame["metric"] != "fit_seconds"].reset_index(drop=True)


def test_a_row_for_every_trial_estimator_and_metric():
    frame = run({"one": SEEDED, "other": PCA(2)})
    assert frame.columns.tolist() == ["trial", "estimator", "metric", "value"]
    found = list(frame[["trial", "estimator", "metric"]].itertuples(index=False, name=None))
    metrics = ["zeta_squared", "sin_theta", "fit_seconds"]
    assert found == [(t, e, m) for t in range(3) for e in ("one", "other") for m in metrics]
    assert frame["value"].dtype == float and (frame["value"] >= 0).all()


def test_a_single_estimator_goes_by_its_class():
    assert run(SEEDED)["estimator"].unique().tolist() == ["DPGauss"]


def test_two_processes_give_the_frame_of_one():
    estimators = {"private": SEEDED, "exact": PCA(2)}
    serial, parallel = (untimed(run(estimators, n_jobs=jobs)) for jobs in (1, 2))
    pd.testing.assert_frame_equal(serial, parallel, rtol=1e-9)


def test_the_first_trials_do_not_depend_on_how_many_follow():
    few, many = run(SEEDED, n_trials=2), run(SEEDED, n_trials=4)
    pd.testing.assert_frame_equal(untimed(few), untimed(many[many["trial"] < 2]))


def test_another_seed_gives_other_trials():
    assert not np.isin(judged(run(PCA(2))), judged(run(PCA(2), random_state=1))).any()


def test_without_a_seed_trials_are_fresh():
    fresh = [judged(run(PCA(2), random_state=None)) for _ in range(2)]
    assert not np.isin(*fresh).any()


def test_all_estimators_of_a_trial_see_the_same_draw():
    metrics = {"sum": lambda fitted, draw: draw.X.sum()}
    sums = judged(run({"one": SEEDED, "other": PCA(2)}, metrics=metrics), "sum")
    assert (sums["one"] == sums["other"]).all()
    assert sums["one"].nunique() == 3


@pytest.mark.parametrize("seed", [0, np.random.RandomState(0)], ids=["int", "RandomState"])
def test_every_trial_adds_noise_of_its_own(seed):
    values = judged(run(DPGauss(2, random_state=seed), same_data, n_trials=5))
    assert values["DPGauss"].nunique() == 5


def test_every_estimator_adds_noise_of_its_own():
    values = judged(run({"one": SEEDED, "twin": SEEDED}, same_data))
    assert (values["one"] != values["twin"]).all()


def test_seeds_inside_a_pipeline_are_replaced_too():
    seen = {"seed": lambda fitted, draw: fitted[-1].random_state.randint(2**31)}
    values = judged(run(make_pipeline(Normalizer(), SEEDED), metrics=seen), "seed")
    assert values["Pipeline"].nunique() == 3


def test_noise_without_a_seed_stays_secure():
    metrics = {"private": lambda fitted, draw: fitted.privacy_.private}
    assert (judged(run(SECURE, metrics=metrics), "private") == 1).all(axis=None)
    assert not np.isin(judged(run(SECURE, same_data)), judged(run(SECURE, same_data))).any()


def test_the_estimator_given_is_not_fitted_or_changed():
    estimator = DPGauss(2, random_state=7)
    run(estimator)
    assert estimator.random_state == 7 and not hasattr(estimator, "components_")


@pytest.fixture
def strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_seeds_in_trials_do_not_warn(strict):
    run(SEEDED)


def test_a_seed_outside_the_fits_warns_still(strict):
    def sampler(random_state):
        draw = SAMPLER(random_state=random_state)
        SEEDED.fit(draw.X)
        return draw

    with pytest.raises(SeededNoiseWarning):
        run(SEEDED, sampler)


def test_a_seed_that_is_no_parameter_warns_still(strict):
    class Hidden(BaseEstimator):
        def fit(self, X):
            self.components_ = DPGauss(2, random_state=0).fit(X).components_
            return self

    with pytest.raises(SeededNoiseWarning):
        run(Hidden())


def test_other_warnings_are_shown():
    class Talkative(PCA):
        def fit(self, X, y=None):
            warnings.warn("look here", stacklevel=2)
            return super().fit(X)

    with pytest.warns(UserWarning, match="look here"):
        run(Talkative(2, random_state=0))


@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: make_pipeline(Normalizer(), one)])
def test_an_accountant_is_refused(wrap):
    accountant = PrivacyAccountant(10.0, 1e-5)
    with pytest.raises(ValueError, match="'mine' has an accountant"):
        run({"free": SEEDED, "mine": wrap(DPGauss(2, accountant=accountant))})
    assert accountant.spent.epsilon == 0


def test_groups_reach_the_fit():
    values = judged(run(DPGauss(2, unit="matrix", center=False, random_state=0), GROUPED))
    assert (values["DPGauss"] < 1).all()


@pytest.mark.parametrize(("unit", "sampler"), [("row", GROUPED), ("matrix", SAMPLER)])
def test_a_unit_that_does_not_fit_the_groups_is_the_fits_own_error(unit, sampler):
    with pytest.raises(ValueError, match=f"unit={unit!r}, but groups"):
        run(DPGauss(2, unit=unit), sampler)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_fit_raises_is_raised(n_jobs):
    with pytest.raises(ValueError, match="n_components=9 exceeds n_features=5"):
        run(DPGauss(9), n_jobs=n_jobs)


def test_metrics_of_ones_own_replace_the_defaults():
    metrics = {"rows": lambda fitted, draw: len(draw.X)}
    frame = run(SEEDED, metrics=metrics)
    assert set(frame["metric"]) == {"rows", "fit_seconds"}
    assert (judged(frame, "rows") == 300).all(axis=None)


def test_the_time_is_that_of_the_fit(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr("skdppca.trials.perf_counter", lambda: next(clock))

    class Slow(BaseEstimator):
        def fit(self, X):
            for _ in range(4):
                next(clock)
            return self

    assert (judged(run(Slow(), metrics={}), "fit_seconds") == 5).all(axis=None)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"n_trials": 0}, ValueError, "n_trials=0"),
        ({"n_trials": 2.0}, ValueError, r"n_trials=2\.0"),
        ({"sampler": SAMPLER(random_state=0)}, TypeError, "sampler must be a callable"),
        ({"sampler": lambda random_state: np.eye(5)}, ValueError, "sampler must return the tuple"),
        ({"estimator": {}}, ValueError, "empty dict"),
        ({"metrics": {"fit_seconds": len}}, ValueError, "metrics has 'fit_seconds'"),
    ],
)
def test_invalid_parameters_are_named(changed, error, message):
    with pytest.raises(error, match=message):
        run(**({"estimator": SEEDED} | changed))


def test_without_pandas_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"skdppca\[cli\]"):
        run(SEEDED)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_a_bar(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert len(judged(run(SEEDED))) == 3
    assert "trials" in sys.stderr.getvalue()


@pytest.mark.parametrize("case", ["no terminal", "not wanted", "no rich"])
def test_there_is_no_bar(case, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO() if case == "no terminal" else Terminal())
    if case == "no rich":
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    assert len(judged(run(SEEDED, progress=case != "not wanted"))) == 3
    assert sys.stderr.getvalue() == ""
