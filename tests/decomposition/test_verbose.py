"""`verbose` prints the questions and the report of what is released, and nothing else."""

import io
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

from skdppca import DPGauss, PrivacyAccountant
from skdppca.exceptions import LedgerError
from skdppca.model_selection import PrivateSearchCV
from skdppca.records import Records

from ..estimators import on_all_estimators

X = load_iris().data


@on_all_estimators
def test_one_prints_the_questions_and_the_report(factory, capsys):
    pca = factory(2, verbose=1).fit(X)
    report = pca.privacy_
    asked, told = capsys.readouterr().out.split(f"{report}\n")
    begun = [
        f"{type(pca).__name__}: question {number}, " for number in range(1, asked.count("\n") + 1)
    ]
    lines = asked.splitlines()
    assert told == "" and all(map(str.startswith, lines, begun))
    names = [
        line.removeprefix(start).partition(" (part")[0]
        for line, start in zip(lines, begun, strict=True)
    ]
    assert sorted(names) == sorted(one.name for one in report.spendings)


def test_a_question_is_told_before_it_is_answered(monkeypatch, capsys):
    def failing(*_):
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(Records, "answer", failing)
    with pytest.raises(RuntimeError):
        DPGauss(2, verbose=1).fit(X)
    assert capsys.readouterr().out == "DPGauss: question 1, number of records\n"


class Closed(io.StringIO):
    """An output that nobody reads any more."""

    def write(self, text):
        raise BrokenPipeError


def test_an_output_that_is_closed_stops_no_release(monkeypatch):
    accountant = PrivacyAccountant(1.0, 1e-6)
    pca = DPGauss(2, accountant=accountant, verbose=1)
    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(BrokenPipeError):  # from the report, once all is stored
        pca.fit(X)
    assert accountant.releases and pca.components_.shape == (2, 4)


def test_a_fit_whose_release_cannot_be_recorded_prints_nothing(capsys, monkeypatch):
    def lost(*_):
        raise LedgerError("the disk is full")

    monkeypatch.setattr(PrivacyAccountant, "record", lost)
    with pytest.raises(LedgerError):
        DPGauss(2, accountant=PrivacyAccountant(1.0, 1e-6), verbose=1).fit(X)
    assert "epsilon" not in capsys.readouterr().out


def test_a_search_prints_its_own_questions_and_nothing_of_the_candidates(capsys):
    grid = {"clip": ["auto", "spherical"]}
    search = PrivateSearchCV(DPGauss(2, verbose=1), grid, verbose=1).fit(X)
    *asked, report = capsys.readouterr().out.partition(f"{search.privacy_}\n")[:2]
    assert report == f"{search.privacy_}\n"
    assert all(line.startswith("PrivateSearchCV") for line in "".join(asked).splitlines())
    PrivateSearchCV(DPGauss(2, verbose=1), grid).fit(X)
    assert capsys.readouterr().out == ""


def test_the_release_does_not_depend_on_it():
    quiet, loud = (DPGauss(2, random_state=0, verbose=verbose).fit(X) for verbose in (0, 1))
    np.testing.assert_array_equal(quiet.components_, loud.components_)
    assert quiet.privacy_.event == loud.privacy_.event
