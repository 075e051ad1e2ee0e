"""Folds that no record can move."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from skdppca.exceptions import SeededNoiseWarning
from skdppca.model_selection import RecordKFold


def labels(folds, n):
    out = np.empty(n, int)
    for fold, (train, test) in enumerate(folds):
        assert np.array_equal(np.sort(np.r_[train, test]), np.arange(n))
        out[test] = fold
    return out


def test_labels_are_uniform():
    # error 1e-6, fixed seed
    with pytest.warns(SeededNoiseWarning):
        found = labels(RecordKFold(5, random_state=0).split(np.zeros((20_000, 1))), 20_000)
    assert chisquare(np.bincount(found)).pvalue > 1e-6


def test_another_record_leaves_the_folds_of_the_others():
    with pytest.warns(SeededNoiseWarning):
        few, more = (
            labels(RecordKFold(4, random_state=1).split(np.zeros((n, 1))), n) for n in (100, 101)
        )
    assert np.array_equal(few, more[:100])


def test_a_group_falls_into_one_fold():
    groups = np.repeat(np.arange(50), 3)
    found = labels(RecordKFold(3).split(np.zeros((150, 1)), groups=groups), 150)
    assert all(len(set(found[groups == g])) == 1 for g in range(50))


def test_labels_are_drawn_anew():
    folds = RecordKFold(3)
    rows = np.zeros((200, 1))
    assert not np.array_equal(labels(folds.split(rows), 200), labels(folds.split(rows), 200))


def test_one_fold_is_refused():
    with pytest.raises(ValueError, match="n_splits=1"):
        RecordKFold(1)
