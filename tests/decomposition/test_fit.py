"""`fit` charges before it computes, and stores all that it found, or nothing."""

from __future__ import annotations

import inspect
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import skdppca
from skdppca import DPGauss, PrivacyAccountant, PrivatePCA, releasing
from skdppca.decomposition import base
from skdppca.exceptions import BudgetExceeded, SeededNoiseWarning
from skdppca.noise import NoiseSource
from skdppca.privacy.accountant import alone
from skdppca.records import Records
from skdppca.records.machine import _held, _Threads

from ..estimators import has, on_all_estimators

FRAME = load_iris(as_frame=True).data
NARROW = np.random.default_rng(0).normal(size=(60, 3)) * [3.0, 2.0, 1.0]
PACKAGE = str(Path(skdppca.__file__).parent)

# Lines of a refit at which it is interrupted: SOME_LINES, evenly spaced, and all of the last
# LAST_LINES, which store.
SOME_LINES, LAST_LINES = 30, 80


def state(pca):
    """All that fits have stored: the same objects, with the same content."""
    parameters = pca.get_params()
    stored = {name: value for name, value in vars(pca).items() if name not in parameters}
    return {name: (id(value), pickle.dumps(value)) for name, value in stored.items()}


def content(pca):
    """What `state` holds, of any object; but for the report, which names a receipt."""
    return {name: kept for name, (_, kept) in state(pca).items() if name != "privacy_"}


def fitted(factory, **parameters):
    """Fitted on four named and privately scaled columns, and then to be fitted on three others."""
    accountant = PrivacyAccountant(100.0, 1e-4)
    given = {"scale": "private", "random_state": 0, "accountant": accountant, **parameters}
    pca = factory(2, **given).fit(FRAME)
    assert {"scale_", "feature_names_in_"} < set(vars(pca))
    return pca.set_params(scale=None)


SAFE = {inspect.unwrap(f).__code__ for f in (alone, _held, _Threads.hold, _Threads.let_go)}


class Interrupt(KeyboardInterrupt):
    pass


def run_to(line, fit, monkeypatch):
    """Interrupt a fit at a line of the package that it reaches after the charge.

    Returns
    -------
    int
        How many such lines there were.
    """
    charged, passed = False, 0
    charge = PrivacyAccountant.charge

    def charging(*given, **more):
        nonlocal charged
        receipt = charge(*given, **more)
        charged = True
        return receipt

    def trace(frame, event, _):
        nonlocal passed
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if frame.f_code in SAFE:  # no signal comes between the steps of a `finally` or a lock
            return None
        if charged and event == "line":
            passed += 1
            if passed == line:
                raise Interrupt
        return trace

    monkeypatch.setattr(PrivacyAccountant, "charge", charging)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        fit()
    except Interrupt:
        pass
    finally:
        sys.settrace(before)
        monkeypatch.undo()
    return passed


# All methods are stored by one function; PrivatePCA fits another estimator within.
@pytest.mark.slow
@pytest.mark.parametrize("factory", [DPGauss, PrivatePCA])
def test_an_interrupted_refit_leaves_the_old_fit_whole_or_the_new_one(factory, monkeypatch):
    whole = fitted(factory, epsilon=20.0)  # enough to see a centre
    lines = run_to(math.inf, lambda: whole.fit(NARROW), monkeypatch)
    new = content(whole)
    some = np.linspace(1, lines - LAST_LINES, SOME_LINES, dtype=int)
    kept = {"old": 0, "new": 0}
    for line in [*some, *range(lines - LAST_LINES + 1, lines + 1)]:
        pca = fitted(factory, epsilon=20.0)
        old, scores = state(pca), pca.transform(FRAME)
        assert run_to(line, lambda pca=pca: pca.fit(NARROW), monkeypatch) == line
        assert len(pca.accountant.receipts) == 2  # there is no refund
        if state(pca) == old:
            kept["old"] += 1
            np.testing.assert_array_equal(pca.transform(FRAME), scores)
        else:
            kept["new"] += 1
            assert content(pca) == new
    # the store is among the last lines; after it the fit only says what there is to warn of
    assert 0 < kept["new"] < LAST_LINES - 20
    assert kept["old"] > SOME_LINES + 20


@on_all_estimators
@pytest.mark.parametrize(
    ("error", "share"),
    [
        (KeyboardInterrupt, 0.5),
        (MemoryError, 1.0),
        *(
            pytest.param(error, share, marks=pytest.mark.slow)
            for error, share in (
                (MemoryError, 0.0),
                (MemoryError, 0.5),
                (KeyboardInterrupt, 0.0),
                (KeyboardInterrupt, 1.0),
            )
        ),
    ],
)
def test_a_refit_that_fails_at_a_query_leaves_the_old_fit(factory, share, error, monkeypatch):
    draw, draws, last = NoiseSource.rounded_gaussian, 0, math.inf

    def drawing(noise, *given):
        nonlocal draws
        draws += 1
        if draws > last:
            raise error
        return draw(noise, *given)

    whole, pca = fitted(factory), fitted(factory)
    old = state(pca)
    monkeypatch.setattr(NoiseSource, "rounded_gaussian", drawing)
    whole.fit(NARROW)
    last, draws = round(share * (draws - 1)), 0
    with pytest.raises(error):
        pca.fit(NARROW)
    assert draws == last + 1
    assert state(pca) == old
    assert len(pca.accountant.receipts) == 2


@on_all_estimators
@pytest.mark.parametrize(
    ("module", "name"),
    [(base, "cast"), (base, "fix_signs"), (releasing, "PrivacyReport"), (releasing, "hashes")],
    ids=["cast", "fix_signs", "PrivacyReport", "hashes"],
)
def test_a_refit_that_ends_while_it_is_stored_leaves_the_old_fit(
    factory, module, name, monkeypatch
):
    def failing(*given, **more):
        raise MemoryError

    pca = fitted(factory)
    old = state(pca)
    monkeypatch.setattr(module, name, failing)
    with pytest.raises(MemoryError):
        pca.fit(NARROW)
    assert state(pca) == old


def with_nan():
    X = NARROW.copy()
    X[7, 2] = np.nan
    return X


# Parameters that are set after the first fit, the rows of the second, and how it is refused.
REFUSED = {
    "NaN": ({}, with_nan, "contains NaN"),
    "no rows": ({}, lambda: NARROW[:0], "0 sample"),
    "other names": ({}, lambda: pd.DataFrame({"a": ["x"], "b": [1.0]}), "hold no numbers"),
    "components": ({"n_components": 4}, lambda: NARROW, "n_components=4 exceeds n_features=3"),
    "epsilon": ({"epsilon": -1.0}, lambda: NARROW, "epsilon"),
    "a grid": (
        {"epsilon": 1e-12, "delta": 1e-16},
        lambda: NARROW,
        "more noise than the grid|too small for n_components",
    ),
    "mean": ({"mean": np.zeros(4)}, lambda: NARROW, "mean must hold 3"),
    "scale": ({"scale": np.ones(4)}, lambda: NARROW, "scale must hold 3"),
    "groups": ({"unit": "patient"}, lambda: NARROW, "groups were not given"),
    "adjacency": ({"adjacency": "replace-one"}, lambda: NARROW, "counts adjacency='add-remove'"),
    "random state": ({"random_state": np.random.mtrand._rand}, lambda: NARROW, "global random"),
}


@on_all_estimators
@pytest.mark.parametrize(("parameters", "rows", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refused_refit_on_another_width_changes_nothing(factory, parameters, rows, message):
    pca = fitted(factory)
    old, scores = state(pca), pca.transform(FRAME)
    with pytest.raises(ValueError, match=message):
        pca.set_params(**parameters).fit(rows())
    assert state(pca) == old
    assert (pca.n_features_in_, len(pca.feature_names_in_)) == (4, 4)
    np.testing.assert_array_equal(pca.transform(FRAME), scores)
    assert len(pca.accountant.receipts) == 1


@on_all_estimators
def test_a_refit_beyond_the_budget_changes_nothing(factory):
    pca = fitted(factory, accountant=PrivacyAccountant(1.2, 1e-6))
    old = state(pca)
    with pytest.raises(BudgetExceeded):
        pca.fit(NARROW)
    assert state(pca) == old


@on_all_estimators
@pytest.mark.parametrize(("parameters", "rows", "message"), REFUSED.values(), ids=REFUSED)
def test_a_first_fit_that_is_refused_stores_nothing(factory, parameters, rows, message):
    accountant = PrivacyAccountant(1.0, 1e-6)
    pca = factory(**{"n_components": 2, "accountant": accountant, **parameters})
    with pytest.raises(ValueError, match=message):
        pca.fit(rows())
    assert set(vars(pca)) == set(pca.get_params())


@on_all_estimators
@pytest.mark.filterwarnings("error::skdppca.exceptions.SeededNoiseWarning")
def test_a_warning_that_is_made_an_error_costs_nothing(factory):
    pca = factory(2, random_state=0, accountant=PrivacyAccountant(1.0, 1e-6))
    with pytest.raises(SeededNoiseWarning):
        pca.fit(NARROW)
    assert pca.accountant.receipts == ()
    assert set(vars(pca)) == set(pca.get_params())


@on_all_estimators
def test_a_refit_forgets_what_it_does_not_find(factory):
    pca = fitted(factory).fit(NARROW)
    assert not {"scale_", "feature_names_in_"} & set(vars(pca))
    fresh = factory(2, random_state=0).fit(NARROW)
    assert content(pca) == content(fresh)
    if has(factory, {"variance_share"}):
        pca.set_params(variance_share=0).fit(NARROW)
        assert not {"explained_variance_", "noise_variance_"} & set(vars(pca))


@on_all_estimators
def test_what_is_no_result_of_a_fit_outlives_it(factory):
    pca = fitted(factory, unit="row").set_output(transform="pandas")
    pca.note = "mine"
    pca.set_params(unit="patient", accountant=None).fit(FRAME, groups=np.arange(len(FRAME)) // 2)
    assert isinstance(pca.transform(FRAME), pd.DataFrame)
    assert pca.note == "mine"


@on_all_estimators
@pytest.mark.parametrize("parameters", [{}, {"scale": "private"}], ids=str)
def test_nothing_is_asked_of_the_records_before_the_charge(factory, parameters, monkeypatch):
    steps = []

    def noted(cls, name, step):
        method = getattr(cls, name)

        def noting(*given, **more):
            steps.append(step)
            return method(*given, **more)

        monkeypatch.setattr(cls, name, noting)

    noted(PrivacyAccountant, "charge", "charge")
    noted(NoiseSource, "rounded_gaussian", "noise")
    for name in ("total", "through", "map", "fold", "measured", "parts", "shuffled"):
        noted(Records, name, "records")
    factory(2, accountant=PrivacyAccountant(1.0, 1e-6), **parameters).fit(FRAME)
    assert steps[0] == "charge"
    assert steps.count("charge") == 1
    assert {"noise", "records"} < set(steps)
