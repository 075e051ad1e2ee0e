"""Plans: public numbers in, expectations out; the same question has the same answer."""

import html
import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import random_correlation

from skdppca import DPGauss, ResidualGauss
from skdppca._text.digits import percent_captured
from skdppca.decomposition import METHODS
from skdppca.exceptions import SeededNoiseWarning
from skdppca.linalg import decreasing_eigh
from skdppca.metrics import captured_variance, missed_share
from skdppca.planner import Expectation, answers, plan, simulation
from skdppca.planner.simulation import EFFORTS, SIMULATION, Effort, Problem
from skdppca.planner.synthetic_rows import Assumed, exact_rows
from skdppca.privacy import mu_of

QUICK = ["DPGauss", "DPPowerMethod"]
SPIKES = np.r_[4.0, 3.0, np.ones(6)]


def problem(n=5000, variances=SPIKES, k=2, epsilon=1.0, delta=1e-6):
    n_mu = n * mu_of(epsilon, delta)
    return Problem("DPGauss", {}, n, variances, k, n_mu, delta, "add-remove", Assumed())


@pytest.fixture(scope="module", autouse=True)
def few_fits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "EFFORTS", replace(EFFORTS, recommended=Effort(12, 12, 0.0)))
        yield


@pytest.fixture(scope="module")
def found():
    return plan(3000, 8, 2, spectrum=SPIKES, methods=QUICK)


def test_the_same_question_has_the_same_answer(found):
    np.random.seed(1)  # noqa: NPY002 - numpy's global state is not to matter
    assert plan(3000, 8, 2, spectrum=SPIKES, methods=QUICK) == found


def test_where_little_is_visible_records_are_planned_to_be_scaled():
    (row,) = plan(300, 20, 1, epsilon=0.5, methods=["DPGauss"]).rows
    assert (row.clip, row.clip_norm) == ("scaled", 1.0)
    # the noise of an entry, as a share of the total variance: at least that of one full matrix
    total = sum(plan(300, 20, 1, epsilon=0.5, methods=["DPGauss"]).variances)
    assert 1 / (mu_of(0.5, 1e-6) * 300) < row.noise_sd / total < 3 / (mu_of(0.5, 1e-6) * 300)


def test_all_methods_are_planned_by_default_the_recommended_one_and_then_best_first(quick_plans):
    first, *rows = plan(100, 3, 1, epsilon=10.0).rows
    assert {row.method for row in (first, *rows)} == set(METHODS)
    assert first.recommended and not any(row.recommended for row in rows)
    captured = [row.captured for row in rows]
    assert captured == sorted(captured, reverse=True)


def test_too_little_is_refused_in_the_users_own_numbers():
    with pytest.raises(ValueError, match=r"epsilon=1e-12, .* n_samples=1000 .* leave it out"):
        plan(1000, 5, 2, epsilon=1e-12, methods=["KDPOjas"])


def test_other_errors_are_not_taken_for_too_little(monkeypatch):
    def predict(*asked, **_):
        raise ValueError("a bug")

    few = plan(100, 3, 1, methods=["DPGauss"])
    monkeypatch.setattr(answers, "predict", predict)
    with pytest.raises(ValueError, match=r"^a bug$"):
        few.along()


def test_a_curve_leaves_out_what_cannot_be_simulated(monkeypatch):
    few = plan(100, 3, 1, methods=["DPGauss"])
    honest = answers.predict

    def predict(problem, *fits, **tick):
        if problem.n_mu < 0.1 * 100 * mu_of(1.0, 1e-6) * 2:
            raise simulation.TooLittle("more noise than the grid holds")
        return honest(problem, *fits, **tick)

    monkeypatch.setattr(answers, "predict", predict)
    assert [point.epsilon for point in few.along()] == pytest.approx([10**-0.5, 1.0, 10**0.5, 10.0])


@pytest.mark.parametrize(
    ("estimator", "n"), [(DPGauss, 800), (DPGauss, 8000), (ResidualGauss, 8000)]
)
def test_the_prediction_is_what_the_estimator_does(estimator, n, monkeypatch):
    monkeypatch.setattr(answers, "EFFORTS", EFFORTS)
    # The median of 31 losses against the predicted one. A loss has a relative sd of about .3, the
    # median of 31 one of about .07, and the prediction of about .06: 25 % is more than 2.5 sds, so
    # it would be missed with probability .01; the seeds are fixed. Settings of no benchmark.
    variances = np.r_[2.0, 1.5, np.full(18, 0.25)]
    name = estimator.__name__
    predicted = 1 - plan(n, 20, 2, epsilon=0.8, spectrum=variances, methods=[name])[name].captured
    losses = []
    for seed in range(31):
        X = np.random.default_rng([9, seed]).standard_normal((n, 20)) * np.sqrt(variances)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeededNoiseWarning)
            pca = estimator(2, epsilon=0.8, random_state=900 + seed).fit(X)
        losses.append(1 - captured_variance(pca, X))
    assert predicted == pytest.approx(np.median(losses), rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("known", [{}, {"scale": "private"}])
def test_the_prediction_for_groups_is_what_the_estimator_does(known, monkeypatch):
    # As above; the groups are larger than the simulated ones.
    monkeypatch.setattr(answers, "EFFORTS", EFFORTS)
    question = {"group_size": 12, "spectrum": "spiked", "methods": ["DPGauss"], **known}
    found = plan(1500, 12, 2, epsilon=0.8, **question)
    losses = []
    for seed in range(31):
        rng = np.random.default_rng([11, seed])
        shared = np.repeat(rng.standard_normal((1500, 12)), 12, axis=0)
        Z = (shared + rng.standard_normal((18_000, 12))) / math.sqrt(2) * np.sqrt(found.variances)
        turned = random_correlation.rvs(
            np.array(found.variances) * 12 / sum(found.variances), random_state=rng
        )
        if "scale" in known:
            Z = Z / np.sqrt(found.variances) @ np.linalg.cholesky(turned).T
            Z /= Z.std(axis=0)
        X = Z * 100 ** rng.random(12) if "scale" in known else Z
        pca = DPGauss(2, epsilon=0.8, unit="patient", random_state=900 + seed, **known)
        fitted = pca.fit(X, groups=np.repeat(np.arange(1500), 12))
        losses.append(1 - captured_variance(fitted.components_, Z))
    assert 1 - found["DPGauss"].captured == pytest.approx(np.median(losses), rel=0.25)


def test_lumped_features_keep_radius_and_noise():
    variances = np.r_[5.0, np.ones(SIMULATION.most_features * 2)]
    lumped = problem(variances=variances, k=1).lumped()
    assert len(lumped.variances) == SIMULATION.most_features
    assert lumped.variances.sum() == pytest.approx(variances.sum())  # exponent 1: the row norms
    tau = 1 / (lumped.n_mu * lumped.unit)  # over the squared radius, against the variances
    planned = 1 / (5000 * mu_of(1.0, 1e-6))
    assert tau**2 * SIMULATION.most_features == pytest.approx(planned**2 * len(variances), rel=0.01)


def test_beyond_what_is_simulated_a_plan_says_so(quick_plans):
    wide = plan(
        1000, SIMULATION.most_features + 50, 1, methods=["DPPowerMethod"], spectrum="spiked"
    )
    assert wide["DPPowerMethod"].extrapolated
    assert "factor of about 2" in str(wide)


def test_the_loss_of_the_planner_is_that_of_the_metrics():
    rows = np.random.default_rng(3).standard_normal((50, 6))
    rows -= rows.mean(axis=0)
    guess = np.linalg.qr(np.random.default_rng(4).standard_normal((6, 2)))[0].T
    loss = missed_share(guess, *decreasing_eigh(rows.T @ rows))
    assert loss == pytest.approx(1 - captured_variance(guess, rows))


@pytest.mark.parametrize(
    ("method", "known", "one_sum"),
    [
        *((name, {}, method.query is not None) for name, method in METHODS.items()),
        ("DPGauss", {"tails": "heavy"}, True),
        ("DPGauss", {"tails": "heavy", "group_size": 3}, True),
        ("GDPPCA", {"tails": "heavy"}, False),
        ("DPGauss", {"group_size": 2, "scale": "private", "missing": "mean"}, False),
        ("SmoothSensitivityPCA", {"delta": 0.0, "group_size": 2}, False),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_row_tells_all_of_a_method_and_a_plan_warns_of_nothing(
    quick_plans, method, known, one_sum
):
    (row,) = plan(300, 3, 1, epsilon=8.0, methods=[method], **known).rows
    assert row.method == method and row.memory and row.releases
    assert 0 <= row.captured_low <= row.captured <= row.captured_high <= 1
    assert (row.noise_sd is not None) == one_sum


# Standardised features are fitted in units of their own. Others take another way through the
# searches at another scale, and draw other noise.
@pytest.mark.parametrize(("known", "rel"), [({}, 0.3), ({"scale": "private"}, 1e-6)])
def test_units_are_those_of_the_spectrum(known, rel):
    told, scaled = (
        plan(3000, 8, 2, spectrum=SPIKES * factor, methods="DPGauss", **known).rows[0]
        for factor in (1.0, 16.0)
    )
    assert 1 - scaled.captured == pytest.approx(1 - told.captured, rel=rel)
    assert scaled.noise_sd == pytest.approx(16 * told.noise_sd, rel=rel)
    assert scaled.clip_norm == pytest.approx(4 * told.clip_norm, rel=rel / 2)


def test_replace_one_costs_more(found):
    other = plan(3000, 8, 2, spectrum=SPIKES, methods=QUICK, adjacency="replace-one")
    assert other["DPGauss"].noise_sd > 1.3 * found["DPGauss"].noise_sd


# From step to step the noise falls by a factor of about 3, and the loss by about 10.
@pytest.mark.parametrize("name", ["epsilon", "n_samples"])
def test_a_curve_holds_the_plan_and_rises_on_both_sides(found, name):
    points = found.along(name)
    assert found in points
    values = [getattr(point, name) for point in points]
    captured = [point["DPGauss"].captured for point in points]
    assert values == sorted(values) and captured == sorted(captured)
    assert points[0]["DPGauss"].captured_skewed is None
    with pytest.raises(ValueError, match="n_samples"):
        found.along("delta")


def test_fewer_rows_meet_the_same_noise():
    small, few = problem(n=100_000), problem(n=700)
    budget = small.budget(small.n_records)
    assert small.n_records == SIMULATION.most_rows and not small.is_whole
    mu = mu_of(budget["epsilon"], budget["delta"])
    assert mu * SIMULATION.most_rows == pytest.approx(mu_of(1.0, 1e-6) * 100_000)
    assert few.is_whole and few.n_records == 700
    assert few.budget(700)["epsilon"] == pytest.approx(1.0)
    tiny = problem(n=10, epsilon=1e-3).budget(SIMULATION.most_rows)
    assert tiny["epsilon"] > 0 and 0 < tiny["delta"] < 1e-6


def test_stand_in_rows_have_the_covariance_of_all_of_them():
    rows = exact_rows(SPIKES, np.random.default_rng(0).standard_normal((100, 8)))
    assert np.allclose(np.cov(rows.T), np.diag(SPIKES)) and np.allclose(rows.mean(axis=0), 0)
    # The largest eigenvalue of the covariance of 20000 Gaussian rows is within 5 of its sds,
    # sqrt(2 / n), of the law's: missed with probability 1e-6.
    covariance = np.cov(problem(n=20_000).draw(np.random.default_rng(0)).X.T)
    assert np.allclose(covariance, np.diag(np.diag(covariance)), atol=1e-10)
    assert covariance[0, 0] == pytest.approx(4.0, rel=5 * math.sqrt(2 / 20_000))


def test_a_plan_shows_itself_as_text_in_a_line_as_a_table_and_as_plain_numbers(found):
    text, page, rows = str(found), found._repr_html_(), found.to_dict()
    assert text.startswith("At n=3000, d=8, k=2, epsilon=1, expect ")
    assert "Gaussian rows" in text and "no data were read" in text
    assert all(method in text for method in QUICK)
    assert repr(found).startswith("<Plan: n_samples=3000, n_features=8, n_components=2, ")
    assert "\n" not in repr(found) and len(repr(found)) < 150
    assert page.count("<tr>") == 3 and html.escape(found.sentence()) in page
    assert json.loads(json.dumps(rows)) == rows
    assert list(rows[0]) == list(Expectation.__dataclass_fields__)
    with pytest.raises(KeyError, match="KDPPCA"):
        found["KDPPCA"]


def test_shares_show_what_is_missed():
    shares = [0.0, 0.5, 0.9873, 0.99988, 1.0]
    assert [*map(percent_captured, shares)] == ["0.0%", "50.0%", "98.7%", "99.988%", "100%"]


def test_where_nothing_is_found_a_plan_says_only_that_and_how_many_records_would_do():
    found = plan(200, 30, 2, epsilon=0.05, methods=["DPGauss", "ResidualGauss"])
    assert found.finds_nothing
    assert str(found).startswith("No method finds this with 200 records at epsilon=0.05")
    assert f"About {found.enough} would do." in str(found)
    assert "no method finds anything" in repr(found)
    for text in (str(found), repr(found), html.unescape(found._repr_html_())):
        for word in ("(recommended)", "half of all fits", "missed", "miss less", "skewed"):
            assert word not in text, word
    assert str(found).splitlines()[3].split() == ["method", "captured", "memory"]
    more = plan(found.enough, 30, 2, epsilon=0.05, methods=["ResidualGauss"])
    assert not more.finds_nothing and more.rows[0].captured > 0.5


def test_scales_that_the_noise_hides_are_nothing_however_much_is_captured():
    found = plan(1000, 100, 2, epsilon=0.3, scale="private", methods=["DPGauss"])
    assert found.finds_nothing and found["DPGauss"].lost > 0.9
    assert found["DPGauss"].captured > 0.15


@pytest.mark.parametrize("shape", [(5000, 20, 3), (500, 3, 3)])
def test_what_is_found_is_no_matter_of_more_records(shape):
    found = plan(*shape, methods=["DPGauss"])
    assert not found.finds_nothing and found.enough is None
    assert shape[1] > shape[2] or found["DPGauss"].captured == pytest.approx(1.0)


def test_a_flat_spectrum_is_not_nothing():
    assert not plan(5000, 10, 3, spectrum="flat", methods=["DPGauss"]).finds_nothing
