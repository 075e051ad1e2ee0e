"""Fits ask nothing beyond their row in the table of methods: sites agree to that before."""

from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse

from skdppca.decomposition import METHODS, OjasOracle
from skdppca.private_data import PrivateData
from skdppca.statistics import KINDS, Statistic

SUMS = [name for name, method in METHODS.items() if method.sums_only]
# Pairs of records in memory, which sites do not form.
IN_MEMORY = {"KendallMatrix", "MeanRows"}
X = np.random.default_rng(0).normal(size=(300, 5)) * [5, 3, 2, 1, 1]
OPTIONS = {
    "scale": ["private"],
    "missing": ["mean"],
    "norm_bound": [9.0],
    "mean": [np.zeros(5)],
    "center": [False],
    "clip": ["spherical"],
    "strategy": ["deflation", "block"],
    "oracle": [OjasOracle(3)],
    "max_nonzero": [3],
    "n_components": [1, 3, "auto"],
    "variance_share": [0.0, 0.3],
}


def kinds_in(value):
    """A kind and all that it is made of."""
    if type(value) in KINDS.values():
        yield type(value).__name__
        for field in fields(value):
            yield from kinds_in(getattr(value, field.name))


def random_fit(rng):
    """A method, an estimator with options at random, rows and groups."""
    name = SUMS[rng.integers(len(SUMS))]
    estimator = METHODS[name].estimator
    known, given = estimator(1).get_params(), {}
    for option, values in OPTIONS.items():
        if option in known and rng.random() < 0.25:
            given[option] = values[rng.integers(len(values))]
    n = int(rng.choice([5, 50, 300]))
    rows, groups = X[:n] + rng.choice([0.0, 1000.0]), None
    if rng.random() < 0.3:
        rows = rows * rng.standard_cauchy((n, 1))
    if "missing" in given:
        rows = np.where(rng.random(rows.shape) < 0.1, np.nan, rows)
    elif rng.random() < 0.25:
        rows = sparse.csr_array(rows * (rng.random(rows.shape) < 0.3))
    if rng.random() < 0.25:
        given["unit"], groups = "patient", np.arange(n) // 3
    budget = {"epsilon": float(rng.choice([0.1, 1.0, 20.0])), "delta": 1e-6}
    return name, estimator(**{"n_components": 1} | budget | given), rows, groups


@pytest.fixture
def asked(monkeypatch):
    """The kinds that fits have asked for."""
    found = set()

    def note(name):
        original = getattr(PrivateData, name)

        def noted(self, first, *more, **given):
            found.update(kinds_in(first))
            return original(self, first, *more, **given)

        monkeypatch.setattr(PrivateData, name, noted)

    for name in ("ask", "through"):
        note(name)
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [1, *(pytest.param(i, marks=pytest.mark.slow) for i in (2, 3))])
def test_a_fit_asks_nothing_beyond_the_row_of_its_method(asked, seed):
    rng, fits = np.random.default_rng(seed), 0
    while fits < 200:
        name, estimator, rows, groups = random_fit(rng)
        try:
            asked.clear()
            estimator.fit(rows, groups=groups)
        except (ValueError, TypeError):  # options that do not go together
            continue
        assert asked <= METHODS[name].kinds | IN_MEMORY, estimator
        assert any(issubclass(KINDS[kind], Statistic) for kind in asked)
        fits += 1
