"""What a mechanism declares to ask is all that it asks: sites agree to it before a fit begins."""

from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse

from skdppca import KDPPCA, PrivatePCA
from skdppca.decomposition import METHODS, OjasOracle
from skdppca.mechanisms.base import ANYTHING
from skdppca.private_data import PrivateData, Public
from skdppca.records import Part
from skdppca.statistics import KINDS, Scaled, Statistic

METHODS_AND_CHOICE = [PrivatePCA, *(method.estimator for method in METHODS.values())]
X = np.random.default_rng(0).normal(size=(300, 5)) * [5, 3, 2, 1, 1]
OPTIONS = {
    "scale": ["private"],
    "missing": ["mean"],
    "norm_bound": [9.0],
    "mean": [np.zeros(5)],
    "center": [False],
    "clip": ["spherical"],
    "sampling": ["split", "reuse"],
    "strategy": ["deflation", "block"],
    "oracle": [OjasOracle(3)],
    "max_nonzero": [3],
    "n_components": [1, 3, "auto"],
    "variance_share": [0.0, 0.3],
    "tails": ["heavy"],
    "centering": ["private"],
    "pairs": ["incomplete"],
    "noise": ["student"],
    "delta": [0.0],
}


def asks(estimator, is_sparse=False):
    """The kinds that the mechanism of a fit of 5 features declares."""
    public = Public(5, "add-remove", estimator.unit, is_sparse, in_memory=True)
    return estimator._prepared(public, estimator._event(public)).asks


def kinds_in(value):
    """A kind and all that it is made of."""
    if type(value) in KINDS.values():
        yield type(value)
        for field in fields(value):
            yield from kinds_in(getattr(value, field.name))


def random_fit(rng):
    """An estimator with options at random, rows and groups."""
    estimator = METHODS_AND_CHOICE[rng.integers(len(METHODS_AND_CHOICE))]
    known, given = estimator(1).get_params(), {}
    for name, values in OPTIONS.items():
        if name in known and rng.random() < 0.25:
            given[name] = values[rng.integers(len(values))]
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
    return estimator(**{"n_components": 1} | budget | given), rows, groups


@pytest.fixture
def asked(monkeypatch):
    """The kinds that fits have asked for."""
    found = set()

    def note(name):
        original = getattr(PrivateData, name)

        def noted(self, first, *more, **given):
            found.update([Part] if name == "parts" else kinds_in(first))
            return original(self, first, *more, **given)

        monkeypatch.setattr(PrivateData, name, noted)

    for name in ("ask", "ask_laplace", "through", "parts"):
        note(name)
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [1, *(pytest.param(i, marks=pytest.mark.slow) for i in (2, 3))])
def test_a_fit_asks_nothing_that_its_mechanism_does_not_declare(asked, seed):
    rng, fits = np.random.default_rng(seed), 0
    while fits < 200:
        estimator, rows, groups = random_fit(rng)
        try:
            estimator._validate_params()
            declared = asks(estimator, sparse.issparse(rows))
            asked.clear()
            estimator.fit(rows, groups=groups)
        except (ValueError, TypeError):  # options that do not go together
            continue
        assert asked <= declared, estimator
        assert any(issubclass(kind, Statistic) for kind in asked)
        fits += 1


def test_an_oracle_of_somebody_else_may_ask_for_anything():
    class Mine(OjasOracle):
        """May do anything."""

    for oracle in (Mine(), lambda mean: (np.eye(mean.n_features)[0], 1.0)):
        assert asks(KDPPCA(1, strategy="deflation", oracle=oracle)) == ANYTHING
    assert Part in ANYTHING and Scaled in ANYTHING
