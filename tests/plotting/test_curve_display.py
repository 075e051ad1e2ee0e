import math

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from skdppca import DPGauss, PrivacyAccountant
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.plotting import PrivacyCurveDisplay
from skdppca.privacy import (
    GaussianEvent,
    NonPrivateEvent,
    PrivacyReport,
    PureEvent,
    coin,
    detection_rate,
    mu_of,
)

matplotlib = pytest.importorskip("matplotlib")

from matplotlib.figure import Figure  # noqa: E402

X, Y = load_digits(return_X_y=True)
NOTION = {"adjacency": "add-remove", "unit": "row"}

REPORT = PrivacyReport("DPGauss", 2.0, 1e-6, "add-remove", "row", GaussianEvent(0.3))
BOTH = GaussianEvent(0.3 * math.sqrt(2))


@pytest.fixture
def ax():
    return Figure().subplots()


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_curve_is_the_bound_of_the_event(ax):
    display = PrivacyCurveDisplay(event=PureEvent(1.0)).plot(ax)
    x, y = display.line_.get_xydata().T
    np.testing.assert_array_equal(y, detection_rate(PureEvent(1.0), x))
    assert (x[0], x[-1]) == (0.0, 1.0)


def test_marks_are_on_the_curve_and_written_rounded_up(ax):
    display = PrivacyCurveDisplay.from_epsilon(1.0, ax=ax)
    marked = [display.detection_at(0.01), display.detection_at(0.05)]
    assert display.marks_.get_xydata().tolist() == [[0.01, marked[0]], [0.05, marked[1]]]
    assert math.isclose(marked[1], 0.07954, abs_tol=1e-5)
    assert labels(ax)[1] == "ε = 1, δ = 1e-06\n1 %: 1.9 %,  5 %: 8 %"
    assert (display.coin(), display.coin(4)) == (coin(display.event), coin(display.event, 4))


def test_without_marks_and_guess_there_is_the_curve_alone(ax):
    display = PrivacyCurveDisplay.from_epsilon(1.0, ax=ax, marks=(), guess=False)
    assert (display.marks_, display.guess_) == (None, None)
    assert ax.lines[:] == [display.line_]


def charged(**more):
    accountant = PrivacyAccountant(4.0, 1e-6)
    for _ in range(2):
        accountant.charge(GaussianEvent(0.3), **NOTION, **more)
    return accountant


# What a curve is made from, and the event that it is of.
CURVES = [
    ("epsilon", lambda: 1.0, GaussianEvent(mu_of(1.0, 1e-6))),
    ("epsilon", lambda: math.inf, NonPrivateEvent()),
    ("accountant", charged, BOTH),
    ("accountant", lambda: charged().statement(), BOTH),
    ("accountant", lambda: charged(seeded=True), NonPrivateEvent()),
    ("report", lambda: REPORT, REPORT.event),
    ("report", lambda: [REPORT, REPORT], BOTH),
]


@pytest.mark.parametrize(("kind", "given", "event"), CURVES)
def test_a_curve_is_of_all_that_was_released(ax, kind, given, event):
    found = getattr(PrivacyCurveDisplay, f"from_{kind}")(given(), ax=ax).event
    assert type(found) is type(event)
    assert getattr(found, "mu", 0) == pytest.approx(getattr(event, "mu", 0))


@pytest.mark.parametrize("parameters", [{"random_state": 0}, {"epsilon": math.inf}])
def test_what_is_not_private_is_bounded_by_nothing(ax, parameters):
    pca = DPGauss(2, **parameters).fit(X)
    display = PrivacyCurveDisplay.from_estimator(pca, ax=ax)
    assert display.detection_at(0.0) == display.coin() == 1.0
    assert "NOT PRIVATE" in labels(ax)[1]
    assert "not private" in display.alt_text_


def test_the_private_steps_of_a_pipeline_count_together(ax):
    pipeline = make_pipeline(
        DPGauss(2, epsilon=1.0), PrivateNearestCentroid(range(10), epsilon=1.0)
    ).fit(X, Y)
    display = PrivacyCurveDisplay.from_estimator(pipeline, ax=ax)
    first, second = (step.privacy_.event.mu for step in pipeline)
    assert display.event.mu == pytest.approx(math.hypot(first, second))
    assert len(display.reports) == 2


def test_steps_that_protect_different_units_do_not_add_up(ax):
    pipeline = make_pipeline(
        DPGauss(2, epsilon=1.0, adjacency="replace-one"),
        PrivateNearestCentroid(range(10), epsilon=1.0),
    ).fit(X, Y)
    with pytest.raises(ValueError, match="protect different units, or have different neighbours"):
        PrivacyCurveDisplay.from_estimator(pipeline, ax=ax)


def test_curves_in_one_picture_differ_without_colour(ax):
    drawn = [PrivacyCurveDisplay.from_epsilon(epsilon, ax=ax) for epsilon in (0.1, 1.0, 3.0, 10.0)]
    assert len({display.line_.get_linestyle() for display in drawn}) == 4
    assert len({display.line_.get_color() for display in drawn}) == 4
    assert [display.guess_ is None for display in drawn] == [False, True, True, True]
    assert len(labels(ax)) == 5
