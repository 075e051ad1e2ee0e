"""What a plan recommends is what `PrivatePCA` takes by the same public facts."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from skdppca import PrivatePCA
from skdppca.planner import answers, plan
from skdppca.private_data import Public

# Public facts; combined with each other.
FEATURES = (5, 400, 2000, 2001, 11_585, 11_586)
KINDS = {
    "rows": {},
    "sparse": {"is_sparse": True},
    "large gap": {"gap": "large"},
    "sparse, large gap": {"is_sparse": True, "gap": "large"},
    "groups": {"group_size": 3},
    "heavy": {"tails": "heavy"},
    "heavy groups": {"group_size": 3, "tails": "heavy"},
    "scales": {"scale": "private"},
    "scales of groups": {"scale": "private", "group_size": 3},
    "missing": {"missing": "mean"},
    "missing in groups": {"missing": "mean", "group_size": 3},
    "heavy, missing, scales": {"tails": "heavy", "missing": "mean", "scale": "private"},
    "pure": {"delta": 0.0},
    "replace-one": {"adjacency": "replace-one"},
}
COUNTS = (2, 0.9, "auto", "mle", None)


def asked(facts):
    """The same facts as parameters of `PrivatePCA`, and what it is fitted to."""
    facts = dict(facts)
    unit = "row" if facts.pop("group_size", None) is None else "record"
    return facts.pop("is_sparse", False), {"unit": unit, **facts}


def prediction(captured):
    low, high = captured - 0.1, captured + 0.1
    found = {"captured": captured, "captured_low": low, "captured_high": high, "lost": 0.0}
    return {**found, "clip": "clipped", "clip_norm": None, "noise_sd": None}


@pytest.fixture
def unsimulated(monkeypatch):
    """Plans without a single fit: every method misses the same."""
    monkeypatch.setattr(answers, "predict", lambda *_, **__: prediction(0.8))
    monkeypatch.setattr(answers, "expected_components", lambda *_: 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_recommends_what_private_pca_takes(unsimulated, kind):
    is_sparse, parameters = asked(KINDS[kind])
    compared = 0
    for d, wanted in itertools.product(FEATURES, COUNTS):
        counted = wanted == 2
        if not counted and (d > 400 or kind == "pure"):
            continue  # refused by the plan, with a remedy
        public = Public(d, parameters.get("adjacency", "add-remove"), parameters["unit"], is_sparse)
        chosen = PrivatePCA(wanted, **parameters)._choice(public)
        found = plan(1000, d, wanted, **KINDS[kind])
        assert (found.recommended, found.why) == chosen
        marked = [row.method for row in found.rows if row.recommended]
        assert marked == [found.recommended] and found.rows[0].recommended
        assert f"PrivatePCA takes {chosen[0]}" in str(found)
        compared += 1
    assert compared == (len(FEATURES) if kind == "pure" else len(FEATURES) + 8)


@pytest.mark.parametrize(
    ("kind", "wanted"), [(kind, k) for kind in KINDS for k in (2, "auto")[: 1 + (kind != "pure")]]
)
def test_a_fit_takes_what_is_recommended(unsimulated, kind, wanted):
    is_sparse, parameters = asked(KINDS[kind])
    parameters |= {"center": False, "norm_bound": 3.0} if kind == "pure" else {}
    X = np.random.default_rng(0).standard_normal((60, 5))
    groups = None if parameters["unit"] == "row" else np.arange(60) // 3
    pca = PrivatePCA(wanted, epsilon=2.0, random_state=0, **parameters)
    pca.fit(sparse.csr_array(X) if is_sparse else X, groups=groups)
    recommended = plan(60, 5, wanted, 2.0, **KINDS[kind]).recommended
    assert pca.privacy_.details["method"] == recommended


@pytest.mark.parametrize("kind", KINDS)
def test_the_recommended_method_is_simulated_as_private_pca_sets_it(unsimulated, kind):
    is_sparse, parameters = asked(KINDS[kind])
    if kind == "pure":
        parameters |= {"center": False, "norm_bound": 1.0}
    public = Public(5, parameters.get("adjacency", "add-remove"), parameters["unit"], is_sparse)
    chosen = PrivatePCA(2, **parameters)._chosen(public)
    found = plan(1000, 5, 2, **KINDS[kind])
    problem = found.problem(found.recommended)
    assert type(chosen) is problem.method.estimator
    default = problem.method.estimator().get_params()
    own = {k: v for k, v in chosen.get_params().items() if k not in PrivatePCA().get_params()}
    assert {k: v for k, v in own.items() if v != default[k]} == dict(problem.settings)


def test_a_method_that_is_ahead_is_named_and_not_recommended(monkeypatch):
    captured = {"ResidualGauss": 0.7, "KDPPCA": 0.98}

    def predict(problem, *_, **__):
        return prediction(captured.get(problem.name, 0.65))

    monkeypatch.setattr(answers, "predict", predict)
    found = plan(1000, 5, 2)
    assert found.rows[0].method == "ResidualGauss" and found.rows[1].method == "KDPPCA"
    assert "KDPPCA is expected to miss less: 2.0e-02 instead of 3.0e-01" in str(found)
    assert "ahead" not in str(found) and "DPGauss is expected" not in str(found)


@pytest.mark.parametrize(
    ("facts", "remedy"),
    [
        ({"delta": 0.0, "scale": "private"}, "give scale=None"),
        ({"delta": 0.0, "n_components": "auto"}, "a number of components"),
        ({"n_components": "auto", "n_features": 401}, "give a number of at most 100"),
        ({"n_components": 0.9, "spectrum": "spiked"}, "give a number, or variances"),
        ({"n_components": "auto", "methods": "KDPPCA"}, "choose of .*'DPGauss'"),
        ({"delta": 0.0, "methods": ["DPGauss"]}, r"choose of \['SmoothSensitivityPCA'\]"),
    ],
)
def test_facts_that_no_fit_has_are_refused(facts, remedy):
    with pytest.raises(ValueError, match=remedy):
        plan(**{"n_samples": 100, "n_features": 8, "n_components": 2, **facts})


def test_a_spectrum_is_seen_by_methods_that_see_one(unsimulated):
    assert {row.method for row in plan(100, 5, "auto").rows} == {"DPGauss", "GDPPCA"}


def test_the_components_that_a_spectrum_shows_are_counted(quick_plans):
    # Two spikes far above the noise, 40 times the others: 97 % of the variance.
    variances = np.r_[40.0, 40.0, np.full(8, 0.3)]
    found = plan(1000, 10, "auto", 10.0, spectrum=variances, methods=["DPGauss"])
    assert found.n_components == 2 and found.wanted == "auto"
