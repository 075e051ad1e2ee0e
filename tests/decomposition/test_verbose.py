"""`verbose` prints the report of what is released, and nothing else."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from skdppca import DPGauss, PrivacyAccountant, releasing
from skdppca.exceptions import BudgetExceeded, LedgerError
from skdppca.model_selection import PrivateSearchCV

from ..estimators import on_all_estimators

X = load_iris().data


@on_all_estimators
def test_one_prints_the_report(factory, capsys):
    pca = factory(2, verbose=1).fit(X)
    assert capsys.readouterr().out == f"{pca.privacy_}\n"


def test_by_default_nothing_is_printed(capsys):
    DPGauss(2).fit(X)
    assert capsys.readouterr().out == ""


def test_a_refused_fit_prints_nothing(capsys):
    pca = DPGauss(2, epsilon=2.0, accountant=PrivacyAccountant(1.0, 1e-6), verbose=1)
    with pytest.raises(BudgetExceeded):
        pca.fit(X)
    assert capsys.readouterr().out == ""


def test_a_fit_whose_release_cannot_be_recorded_prints_nothing(capsys, monkeypatch):
    def lost(*_):
        raise LedgerError("the disk is full")

    monkeypatch.setattr(PrivacyAccountant, "record", lost)
    with pytest.raises(LedgerError):
        DPGauss(2, accountant=PrivacyAccountant(1.0, 1e-6), verbose=1).fit(X)
    assert capsys.readouterr().out == ""


def test_the_report_is_printed_when_all_is_stored(monkeypatch):
    seen = []
    pca = DPGauss(2, verbose=1)
    monkeypatch.setattr(
        releasing, "print", lambda report: seen.append(pca.privacy_ is report), raising=False
    )
    pca.fit(X)
    assert seen == [True]


def test_a_search_prints_its_own_report_and_nothing_of_the_candidates(capsys):
    grid = {"clip": ["auto", "spherical"]}
    search = PrivateSearchCV(DPGauss(2, verbose=1), grid, verbose=1).fit(X)
    assert capsys.readouterr().out == f"{search.privacy_}\n"
    PrivateSearchCV(DPGauss(2, verbose=1), grid).fit(X)
    assert capsys.readouterr().out == ""


def test_the_release_does_not_depend_on_it():
    quiet, loud = (DPGauss(2, random_state=0, verbose=verbose).fit(X) for verbose in (0, 1))
    np.testing.assert_array_equal(quiet.components_, loud.components_)
    assert quiet.privacy_.event == loud.privacy_.event
