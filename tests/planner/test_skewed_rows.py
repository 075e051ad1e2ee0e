"""A plan's range holds for skewed rows, too."""

import numpy as np
import pytest

from skdppca import ResidualGauss
from skdppca.metrics import captured_variance
from skdppca.planner import plan
from skdppca.planner.synthetic_rows import LAWS, Assumed

N, D, K = 2000, 20, 2
FACTORS = np.random.default_rng(5).normal(size=(4, D)) * np.array([[0.6], [0.5], [0.4], [0.3]])


def table(law, seed):
    """Columns that depend on each other, unlike the coordinates that are planned with."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(N, 4)) @ FACTORS + 0.7 * rng.normal(size=(N, D))
    if law == "lognormal":
        return np.exp(0.8 * rows)
    return rng.poisson(np.exp(0.7 * rows - 1.5)).astype(float)


@pytest.mark.filterwarnings("ignore::skdppca.exceptions.SeededNoiseWarning")
@pytest.mark.parametrize("law", ["lognormal", pytest.param("counts", marks=pytest.mark.slow)])
def test_fits_to_skewed_tables_fall_into_the_range(law):
    """At least 4 of 5 fits capture no less; of fits of which 9 in 10 do, 1 such test in 12 fails.

    The seeds are fixed. No fit would capture as much as is planned for normal rows.
    """
    spectrum = np.linalg.eigvalsh(np.cov(table(law, 999).T))
    (row,) = plan(N, D, K, spectrum=spectrum, methods=["ResidualGauss"]).rows
    captured = []
    for seed in range(5):
        X = table(law, seed)
        pca = ResidualGauss(K, delta=1e-6, random_state=seed).fit(X)
        captured.append(captured_variance(pca.components_, X))
    assert np.sum(np.array(captured) >= row.captured_skewed) >= 4
    assert np.median(captured) < row.captured_low


@pytest.mark.parametrize("law", LAWS)
def test_coordinates_have_mean_0_and_variance_1(law):
    # the standard error of a lognormal variance of 4e5 values is largest: 4 of them are .3
    values = LAWS[law](np.random.default_rng(0), (100_000, 4))
    assert np.mean(values) == pytest.approx(0, abs=0.02)
    assert np.var(values) == pytest.approx(1, abs=0.3)


def test_rows_of_a_record_are_skewed_as_well():
    found = Assumed(group_size=3, law="counts").draw(
        np.ones(4), 500, np.random.default_rng(0), False
    )
    assert np.mean(found.X**3) > 0.5


def test_only_the_recommended_method_is_planned_with_skewed_rows(quick_plans):
    found = plan(3000, 8, 2, methods=["ResidualGauss", "DPGauss"])
    assert found["ResidualGauss"].captured_skewed <= found["ResidualGauss"].captured_low
    assert found["DPGauss"].captured_skewed is None
    assert "Skewed rows" in found.sentence()
