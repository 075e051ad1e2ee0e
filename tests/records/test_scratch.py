"""Scratch arrays go from pass to pass, and never to two at once."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from skdppca import DPGauss
from skdppca.records import Records
from skdppca.records._sums import Scratch


def test_no_two_users_have_the_same_arrays_at_once():
    scratch = Scratch()
    with scratch.pair(3, 2) as first, scratch.pair(3, 2) as second:
        arrays = [*first, *second]
    for i, one in enumerate(arrays):
        assert not any(np.shares_memory(one, other) for other in arrays[:i])


def test_a_pair_comes_back_after_an_error():
    scratch = Scratch()
    with pytest.raises(ValueError), scratch.pair(3, 2) as first:
        raise ValueError
    with scratch.pair(3, 2) as second:
        assert second[0] is first[0]


def test_one_pass_inside_another_reads_the_right_rows():
    X = np.arange(12.0).reshape(6, 2)
    records = Records.of(X)

    def norms_of_both(block):
        inner = records.map(lambda other: other.distances(np.ones(2)))
        return block.distances(np.zeros(2)) + inner

    outer = np.linalg.norm(X, axis=1) + np.linalg.norm(X - 1, axis=1)
    np.testing.assert_allclose(records.map(norms_of_both), outer)


def test_a_fitted_estimator_holds_no_scratch():
    X = np.full((50, 3), 0.123456789)
    X[0] = 1.0
    dumped = pickle.dumps(DPGauss(2, random_state=0).fit(X))
    assert np.float64(0.123456789).tobytes() not in dumped
