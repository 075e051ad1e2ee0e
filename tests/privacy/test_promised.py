"""A release keeps the promise that was validated, whatever becomes of the estimator meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

from skdppca import DPGauss, PrivacyAccountant
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.privacy import GaussianEvent, PrivacyReport, mu_of, verify_report

from ..estimators import ESTIMATORS

X = np.random.default_rng(0).normal(size=(120, 4)) * [4.0, 2.0, 1.0, 1.0]
Y = np.arange(120) % 2
PROMISED = {"epsilon": 5.0, "delta": 1e-6}
OTHER = {
    "epsilon": 0.1,
    "delta": 1e-9,
    "unit": "patient",
    "adjacency": "replace-one",
    "random_state": 0,
    "accountant": None,
    "verbose": 1,
}


class Rows:
    """Rows that set an estimator's parameters as they are read."""

    def __init__(self, meddle):
        self.meddle = meddle
        self.shape = X.shape

    def __array__(self, dtype=None, copy=None):
        self.meddle()
        return np.array(X, dtype=dtype)


def accountant():
    return PrivacyAccountant(epsilon=20.0, delta=1e-5)


def a_search(**given):
    return PrivateSearchCV(DPGauss(2), {"clip": ["auto", "spherical"]}, mean_candidates=2, **given)


def a_classifier(**given):
    return PrivateNearestCentroid([0, 1], **given)


MAKERS = {
    **{name: lambda factory=factory, **given: factory(2, **given) for name, factory in ESTIMATORS},
    "search": a_search,
    "classifier": a_classifier,
}
on_all_makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def meddling(fitted):
    """What sets all that a guarantee is made of to something else."""
    names = set(fitted.get_params(deep=False))
    return lambda: fitted.set_params(**{k: v for k, v in OTHER.items() if k in names})


def check(report, charged):
    """The report is of what was promised and charged, and agrees with itself."""
    assert (report.epsilon, report.delta) == tuple(PROMISED.values())
    assert (report.unit, report.adjacency, report.private) == ("row", "add-remove", True)
    (receipt,) = report.receipts
    assert (receipt.event, receipt.accountant) == (report.event, charged.id)
    assert not verify_report(report, ledger=charged)


@on_all_makers
def test_parameters_set_while_rows_are_read_change_no_promise(make, capsys):
    charged = accountant()
    estimator = make(**PROMISED, accountant=charged)
    estimator.fit(Rows(meddling(estimator)), Y)
    check(estimator.privacy_, charged)
    assert not capsys.readouterr().out


@on_all_makers
@pytest.mark.parametrize("step", ["charge", "record"])
def test_parameters_set_while_the_ledger_is_written_change_no_promise(make, step, monkeypatch):
    charged = accountant()
    estimator = make(**PROMISED, accountant=charged)
    write = getattr(PrivacyAccountant, step)

    def set_and_write(self, *given, **named):
        meddling(estimator)()
        return write(self, *given, **named)

    monkeypatch.setattr(PrivacyAccountant, step, set_and_write)
    estimator.fit(X, Y)
    check(estimator.privacy_, charged)


def test_the_estimator_of_a_search_may_be_set_meanwhile():
    charged = accountant()
    search = a_search(**PROMISED, accountant=charged)
    search.fit(Rows(lambda: search.estimator.set_params(adjacency="replace-one", unit="patient")))
    check(search.privacy_, charged)


def test_a_map_keeps_the_axes_that_it_was_given():
    pca = DPGauss(2, **PROMISED).fit(X)
    axes = pca.privacy_.release_id
    found = projection_map(pca, Rows(lambda: pca.fit(-X[::2])), **PROMISED)
    assert found.privacy_.details["axes_release"] == axes


@pytest.mark.parametrize("given", [{"epsilon": 0.9}, {"delta": 1e-7}], ids=["epsilon", "delta"])
def test_no_report_states_less_than_its_event_costs(given):
    stated = {"epsilon": 1.0, "delta": 1e-6} | given
    event = GaussianEvent(mu_of(1.0, 1e-6))
    with pytest.raises(ValueError, match="are less than"):
        PrivacyReport("DPGauss", adjacency="add-remove", unit="row", event=event, **stated)
