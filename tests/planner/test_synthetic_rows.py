"""The rows that are simulated have what is assumed of them."""

import math

import numpy as np
import pytest

from skdppca.planner.synthetic_rows import SYNTHETIC, Assumed

VARIANCES = np.r_[4.0, 2.0, np.full(6, 0.5)]


def drawn(n_records=400, exact=False, seed=0, **assumed):
    return Assumed(**assumed).draw(VARIANCES, n_records, np.random.default_rng(seed), exact)


@pytest.mark.parametrize("size", [1, 3, 8, 100])
def test_a_record_has_its_rows(size):
    found = drawn(group_size=size)
    rows = min(size, 8)
    assert found.X.shape == (400 * rows, 8)
    assert np.array_equal(found.groups, np.repeat(np.arange(400), rows))
    assert drawn().groups is None


def test_rows_of_a_record_share_their_part_of_the_variance():
    # With 4000 records the correlation of two of their rows is off by less than 5 / sqrt(4000).
    X = drawn(4000, group_size=2, shared=0.7).X.reshape(4000, 2, 8)
    for feature in range(8):
        assert np.corrcoef(X[:, :, feature].T)[0, 1] == pytest.approx(0.7, abs=0.08)


@pytest.mark.parametrize(("size", "shared"), [(8, 0.5), (30, 0.5), (200, 0.5), (30, 0.9)])
def test_records_differ_as_if_they_had_all_their_rows(size, shared):
    assumed = Assumed(group_size=size, shared=shared)
    m, s = assumed.rows_a_record, assumed.in_common
    assert s**2 + (1 - s**2) / m == pytest.approx(shared**2 + (1 - shared**2) / size)
    assert assumed.worth == pytest.approx(1 / (shared**2 + (1 - shared**2) / size))


def test_features_of_private_scales_have_units_and_the_spectrum_is_that_without_them():
    found = drawn(exact=True, scale="private")
    spreads = found.X.std(axis=0)
    assert 3 < spreads.max() / spreads.min() <= SYNTHETIC.units
    assert found.values == pytest.approx(VARIANCES * 8 / VARIANCES.sum(), rel=1e-3)


def test_entries_are_absent_where_they_may_be():
    # 3200 entries: the share is off by less than 5 sds.
    share = np.isnan(drawn(missing="mean").X).mean()
    assert share == pytest.approx(SYNTHETIC.absent, abs=5 * math.sqrt(SYNTHETIC.absent / 3200))
    assert np.isfinite(drawn().X).all()


@pytest.mark.parametrize("assumed", [{"tails": "heavy"}, {"missing": "mean"}])
def test_a_fit_is_judged_on_rows_that_are_whole_and_not_stretched(assumed):
    found = drawn(exact=True, **assumed)
    assert found.values == pytest.approx(VARIANCES, rel=1e-2)


def test_rows_of_a_record_are_stretched_alike():
    light, heavy = drawn(group_size=2), drawn(group_size=2, tails="heavy")
    factors = (heavy.X / light.X).reshape(400, 16)
    assert np.ptp(factors, axis=1).max() < 1e-9
    assert np.unique(factors[:, 0]).size == 400
