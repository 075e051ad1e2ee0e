"""A plan lists what its method asks, and a site answers nothing else."""

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("cryptography")

from skdppca import GDPPCA, DPPowerMethod, PrivatePCA, SmoothSensitivityPCA
from skdppca.decomposition import METHODS
from skdppca.federated import Refusal, fit_sites
from skdppca.federated.questions import QUESTIONS, WrittenQuestion
from skdppca.federated.transport import Reply
from skdppca.statistics import ClippedSum, Count, NormProduct

from ..estimators import SUMS
from .local_sites import Talk, make, parts_of, runs_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 6)) * [5, 3, 2, 1, 1, 1] + 10
GROUPS = np.repeat(np.arange(200), 3)
SPARSE = sparse.random_array((600, 40), density=0.1, rng=RNG, format="csr")

# Data and parameters that lead through the branches of the methods.
FITS = [
    (X, None, {}),
    (X, None, {"scale": "private"}),
    (X, None, {"scale": ["private", 3, "private", 1, 1, 1]}),
    (X, None, {"scale": [5, 3, 2, 1, 1, 1], "mean": np.full(6, 10.0), "norm_bound": 9.0}),
    (X, None, {"n_components": None}),
    (X, GROUPS, {"unit": "patient"}),
    (SPARSE, None, {}),
    (SPARSE, None, {"max_nonzero": 5}),
    (SPARSE, None, {"strategy": "deflation"}),
    (np.where(RNG.random(X.shape) < 0.1, np.nan, X), None, {"missing": "mean"}),
    (np.exp(X / 10), None, {}),
    (RNG.normal(size=(300, 60)), None, {}),
]

# Kinds that a fit asks in branches that these data do not reach: nested spheres of wide rows.
NOT_REACHED = {"Scores"}


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Fit an estimator over sites, and return the kinds that were asked, and those of its plan."""

    def record(estimator, rows, labels, parameters, folder=tmp_path):
        made = make(
            folder,
            parts_of(rows, 3, labels),
            sparse=sparse.issparse(rows),
            **{name: parameters[name] for name in ("unit", "missing") if name in parameters},
        )
        asked, kinds = set(), WrittenQuestion.kinds
        with monkeypatch.context() as patch:
            patch.setattr(
                WrittenQuestion, "kinds", lambda one: (asked.update(kinds(one)), kinds(one))[1]
            )
            fit_sites(estimator, **made.call)
        runs = made.sites["east"]._runs
        return asked, runs.find(runs_of(made.sites["east"])[0]).plan.statistics

    return record


@pytest.mark.slow
@pytest.mark.parametrize("name", SUMS)
def test_a_method_asks_what_its_row_says(tmp_path, recorded, name):
    taken, found = METHODS[name].estimator().get_params(), set()
    for i, (rows, labels, parameters) in enumerate(FITS):
        if parameters.keys() <= taken.keys():
            estimator = METHODS[name].estimator(**{"n_components": 2, "epsilon": 8.0} | parameters)
            (tmp_path / str(i)).mkdir()
            asked, planned = recorded(estimator, rows, labels, parameters, tmp_path / str(i))
            assert planned == METHODS[name].kinds
            found |= asked
    assert found <= METHODS[name].kinds <= found | NOT_REACHED


def test_kinds_are_those_of_methods_that_ask_for_sums():
    assert set().union(*(METHODS[name].kinds for name in SUMS)) == QUESTIONS
    for estimator in (GDPPCA, SmoothSensitivityPCA):
        assert not METHODS[estimator.__name__].kinds
    assert "ClippedGram" not in METHODS["KDPPCA"].kinds
    assert "NormProduct" not in METHODS["DPGauss"].kinds


@pytest.mark.parametrize(
    ("estimator", "method"), [(DPPowerMethod(1), "DPPowerMethod"), (PrivatePCA(1), "ResidualGauss")]
)
def test_a_plan_admits_the_kinds_of_its_method(recorded, estimator, method):
    assert recorded(estimator, X, None, {})[1] == METHODS[method].kinds


def test_a_site_refuses_what_the_method_of_the_plan_does_not_ask(tmp_path):
    made = make(tmp_path, parts_of(X, 3))
    talk = Talk(made, statistics=METHODS["DPGauss"].kinds)
    talk.hello()
    product = NormProduct(np.zeros(6), np.eye(2, 6), 3.0, False, False, None, None)
    assert talk.ask(product) is Refusal.STATISTIC
    assert not made.receipts("east")
    for round, statistic in enumerate((Count(), ClippedSum(np.zeros(6), 3.0)), start=1):
        assert isinstance(talk.ask(statistic, round=round), Reply)
