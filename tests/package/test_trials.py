"""Trials: independent draws, independent noise, the same whatever the number of processes."""

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
from skdppca.trials import Trials, run_trials

SAMPLER = partial(make_gaussian, 300, 5, [10, 5], 0.5)
GROUPED = partial(make_spiked, 300, 5, 2, [10, 5], 0.5)
SEEDED = DPGauss(2, random_state=0)
SECURE = DPGauss(2)


def same_data(random_state):
    return SAMPLER(random_state=0)


def run(estimator, sampler=SAMPLER, n_trials=3, random_state=0, **more):
    return run_trials(estimator, sampler, n_trials, random_state=random_state, **more)


def judged(trials, metric="zeta_squared"):
    """Values of one metric: for every estimator those of its trials."""
    return {name: trials.values(metric, name) for name in dict.fromkeys(trials.estimator.tolist())}


def untimed(trials):
    """All rows but the times."""
    kept = trials.metric != "fit_seconds"
    columns = trials.trial, trials.estimator, trials.metric, trials.value
    return list(zip(*(column[kept].tolist() for column in columns), strict=True))


def test_a_row_for_every_trial_estimator_and_metric():
    trials = run({"one": SEEDED, "other": PCA(2)})
    found = list(zip(trials.trial, trials.estimator, trials.metric, strict=True))
    metrics = ["zeta_squared", "sin_theta", "fit_seconds"]
    assert found == [(t, e, m) for t in range(3) for e in ("one", "other") for m in metrics]
    assert trials.value.dtype == float and (trials.value >= 0).all()
    assert len(trials) == len(found)


COLUMNS = Trials(
    trial=np.array([0, 0, 0, 0, 1, 1]),
    estimator=np.array(["a", "a", "b", "b", "a", "b"]),
    metric=np.array(["loss", "time", "loss", "time", "loss", "loss"]),
    value=np.arange(6.0),
)


def test_values_are_those_of_one_metric_and_estimator_in_their_order():
    assert COLUMNS.values("loss", "b").tolist() == [2.0, 5.0]
    alone = run(SEEDED)
    assert alone.values("sin_theta").tolist() == alone.values("sin_theta", "DPGauss").tolist()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("loss",), r"estimator=None has no trials; choose one of \['a', 'b'\]"),
        (("loss", "c"), r"estimator='c' has no trials; choose one of \['a', 'b'\]"),
        (("risk", "a"), r"metric='risk' was not measured; choose one of \['loss', 'time'\]"),
    ],
)
def test_values_of_unknown_names_are_an_error(asked, message):
    with pytest.raises(ValueError, match=message):
        COLUMNS.values(*asked)


def test_a_frame_has_all_rows():
    pytest.importorskip("pandas")
    frame = COLUMNS.to_frame()
    assert frame.columns.tolist() == ["trial", "estimator", "metric", "value"]
    rows = zip(COLUMNS.trial, COLUMNS.estimator, COLUMNS.metric, COLUMNS.value, strict=True)
    assert list(frame.itertuples(index=False, name=None)) == list(rows)


def test_two_processes_give_the_rows_of_one():
    estimators = {"private": SEEDED, "exact": PCA(2)}
    serial, parallel = (untimed(run(estimators, n_jobs=jobs)) for jobs in (1, 2))
    for one, other in zip(serial, parallel, strict=True):
        assert one[:3] == other[:3]
        assert one[3] == pytest.approx(other[3], rel=1e-9)


def test_the_first_trials_do_not_depend_on_how_many_follow():
    few, many = run(SEEDED, n_trials=2), run(SEEDED, n_trials=4)
    assert untimed(few) == [row for row in untimed(many) if row[0] < 2]


def test_all_estimators_of_a_trial_see_the_same_draw():
    metrics = {"sum": lambda fitted, draw: draw.X.sum()}
    sums = judged(run({"one": SEEDED, "other": PCA(2)}, metrics=metrics), "sum")
    assert (sums["one"] == sums["other"]).all()
    assert len(set(sums["one"])) == 3


@pytest.mark.parametrize("seed", [0, np.random.RandomState(0)], ids=["int", "RandomState"])
def test_every_trial_and_estimator_adds_noise_of_its_own(seed):
    pca = DPGauss(2, random_state=seed)
    values = judged(run({"one": pca, "twin": pca}, same_data, n_trials=5))
    assert len({*values["one"], *values["twin"]}) == 10


@pytest.mark.parametrize("seeds", [(0, 1), (None, None)])
def test_another_seed_or_none_gives_other_trials(seeds):
    one, other = (run(PCA(2), random_state=seed).values("zeta_squared") for seed in seeds)
    assert not np.isin(one, other).any()


def test_seeds_inside_a_pipeline_are_replaced_too():
    seen = {"seed": lambda fitted, draw: fitted[-1].random_state.randint(2**31)}
    values = run(make_pipeline(Normalizer(), SEEDED), metrics=seen).values("seed")
    assert len(set(values)) == 3


def test_noise_without_a_seed_stays_secure():
    metrics = {"private": lambda fitted, draw: fitted.privacy_.private}
    assert (run(SECURE, metrics=metrics).values("private") == 1).all()
    assert not np.isin(*(run(SECURE, same_data).values("zeta_squared") for _ in range(2))).any()


def test_the_estimator_given_is_not_fitted_or_changed():
    estimator = DPGauss(2, random_state=7)
    run(estimator)
    assert estimator.random_state == 7 and not hasattr(estimator, "components_")


@pytest.mark.filterwarnings("error")
def test_a_seed_outside_the_fits_warns_still():
    def sampler(random_state):
        draw = SAMPLER(random_state=random_state)
        SEEDED.fit(draw.X)
        return draw

    with pytest.raises(SeededNoiseWarning):
        run(SEEDED, sampler)


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
    trials = run(DPGauss(2, unit="matrix", center=False, random_state=0), GROUPED)
    assert (trials.values("zeta_squared") < 1).all()


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
    trials = run(SEEDED, metrics=metrics)
    assert set(trials.metric) == {"rows", "fit_seconds"}
    assert (trials.values("rows") == 300).all()


def test_the_time_is_that_of_the_fit(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr("skdppca.trials.perf_counter", lambda: next(clock))

    class Slow(BaseEstimator):
        def fit(self, X):
            for _ in range(4):
                next(clock)
            return self

    assert (run(Slow(), metrics={}).values("fit_seconds") == 5).all()


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


class WithoutPandas:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)


def test_without_pandas_all_but_a_frame_works(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pandas"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [WithoutPandas, *sys.meta_path])
    trials = run(SEEDED)
    assert trials.values("zeta_squared").shape == (3,)
    with pytest.raises(ImportError, match="pip install pandas"):
        trials.to_frame()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("case", ["a terminal", "no terminal", "not wanted", "no rich"])
def test_a_terminal_shows_a_bar(case, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", io.StringIO() if case == "no terminal" else Terminal())
    monkeypatch.setenv("TERM", "xterm")
    if case == "no rich":
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    trials = run(SEEDED, progress=case != "not wanted")
    assert len(trials.values("zeta_squared")) == 3
    assert ("trials" in sys.stderr.getvalue()) == (case == "a terminal")
