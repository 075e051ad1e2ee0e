"""What all pictures have in common."""

import inspect
import io
import math
import re
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skdppca import DPGauss, PrivacyAccountant, maps, plotting
from skdppca.planner import plan
from skdppca.plotting import (
    ComponentsImageDisplay,
    LedgerDisplay,
    LoadingsDisplay,
    PlanDisplay,
    PrivacyCurveDisplay,
    ProjectionMapDisplay,
    ScreeDisplay,
)
from skdppca.plotting._display import Display
from skdppca.privacy.installing import how_to_install

matplotlib = pytest.importorskip("matplotlib")

from matplotlib.figure import Figure  # noqa: E402
from matplotlib.text import Text  # noqa: E402

DISPLAYS = [getattr(plotting, name) for name in plotting.__all__]

# A formula that matplotlib does not know, if it is taken for one.
NAME = r"$\foo$"
PEOPLE = np.arange(600)


def table(n_features):
    X = np.random.default_rng(0).normal(size=(600, n_features)) * np.linspace(3, 1, n_features)
    return pd.DataFrame(X, columns=[f"{NAME} {i}" for i in range(n_features)])


def fit(n_components=3, n_features=12, **parameters):
    pca = DPGauss(n_components, epsilon=20.0, unit=NAME, **parameters)
    return pca.fit(table(n_features), groups=PEOPLE)


def images(pca, **options):
    return ComponentsImageDisplay.from_estimator(pca, (pca.n_features_in_ // 3, 3), **options)


def mapped(pca, y=None, **options):
    found = maps.projection_map(
        pca,
        table(pca.n_features_in_),
        epsilon=20.0,
        delta=1e-6,
        bins=6,
        groups=PEOPLE,
        y=y,
        classes=None if y is None else [f"{NAME} {i}" for i in range(3)],
        random_state=pca.random_state,
    )
    return ProjectionMapDisplay.from_map(found, **options)


def ledger(pca, **options):
    accountant = PrivacyAccountant(2.0, 1e-6, unit=NAME)
    accountant.charge_external(NAME, epsilon=0.5, delta=0.0, adjacency="add-remove")
    return LedgerDisplay.from_ledger(accountant, **options)


PLANNED = []


def planned(pca, **options):
    if not PLANNED:
        found = plan(100, 3, 2, methods=["DPGauss"])
        PLANNED.extend([found, found.along("epsilon")])
    return PlanDisplay.from_plan(PLANNED[0], plans=PLANNED[1], **options)


# How each is drawn from a fit; its artists; and what it is not drawn of.
CASES = {
    "scree": (ScreeDisplay.from_estimator, ["errorbar_", "left_out_", "floor_"], ""),
    "loadings": (LoadingsDisplay.from_estimator, ["im_", "text_", "colorbar_"], ""),
    "images": (images, ["images_", "axes_"], ""),
    "curve": (PrivacyCurveDisplay.from_estimator, ["line_", "guess_", "marks_"], ""),
    "map": (
        partial(mapped, y=PEOPLE % 3),
        ["meshes_", "axes_", "colorbar_"],
        "one component, pipeline",
    ),
    "plan": (planned, ["lines_", "ranges_", "here_"], "fits"),
    "ledger": (ledger, ["line_", "budget_", "marks_"], "fits"),
}


def on_all(*, without=()):
    """Parametrise by all cases but some."""
    chosen = [
        pytest.param((draw, artists), id=name)
        for name, (draw, artists, never) in CASES.items()
        if not any(word in never for word in without)
    ]
    return pytest.mark.parametrize("case", chosen)


@pytest.fixture(scope="module")
def pca():
    return fit()


@pytest.fixture(scope="module")
def seeded():
    return fit(random_state=0)


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


@pytest.fixture(scope="module", params=CASES)
def shown(request, pca):
    """A picture that was drawn and written once: its axes, itself, its artists and its texts."""
    draw, artists, _ = CASES[request.param]
    ax = Figure(layout="constrained").subplots()
    display = draw(pca, ax=ax)
    return ax, display, artists, saved(display)


@pytest.fixture
def pyplot(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    pyplot.close("all")
    yield pyplot
    pyplot.close("all")


def texts_of(display):
    return [text.get_text() for text in display.figure_.findobj(Text)]


def saved(display):
    """The texts of the figure, once it is written without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.savefig(io.BytesIO(), format="png", dpi=30)
    return texts_of(display)


def numbers(figure):
    """All numbers that a figure shows."""
    drawn = [line.get_xydata() for ax in figure.axes for line in ax.lines]
    drawn += [image.get_array() for ax in figure.axes for image in ax.images]
    drawn += [mesh.get_array() for ax in figure.axes for mesh in ax.collections]
    return [np.ma.getdata(array) for array in drawn if array is not None]


@on_all()
def test_a_window_is_touched_only_without_axes(pca, ax, pyplot, case):
    draw, _ = case
    draw(pca, ax=ax)
    assert pyplot.get_fignums() == []
    display = draw(pca)
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == [display.figure_]


@on_all()
def test_to_plot_again_returns_the_display_and_draws_the_same(pca, ax, case):
    draw, _ = case
    display = draw(pca, ax=ax)
    before = numbers(display.figure_)
    assert display.plot(Figure(layout="constrained").subplots()) is display
    after = numbers(display.figure_)
    assert len(before) == len(after) > 0
    assert all(map(np.array_equal, before, after))


def test_a_picture_in_given_axes_has_its_artists_its_texts_and_the_guarantee(shown):
    ax, display, artists, texts = shown
    assert type(display) in DISPLAYS and display.figure_ is ax.figure
    assert getattr(display, "bounding_ax_", getattr(display, "ax_", None)) is ax
    for artist in (getattr(display, name) for name in artists):
        assert artist is not None and (not hasattr(artist, "__len__") or len(artist))
    named = [text for text in texts if "foo" in text]
    assert named or type(display) is PlanDisplay
    assert all(r"\$\foo\$" in text for text in named)  # no formulas
    assert display.alt_text_.endswith(".") and len(display.alt_text_) > 20
    epsilon = r"ε = 20, δ = 1e-06 for every \$\foo\$ (add-remove)"
    own = {PlanDisplay: "no data", LedgerDisplay: r"Budget: ε = 2"}
    assert any(own.get(type(display), epsilon) in text for text in texts)


@on_all(without=["fits"])
def test_what_is_not_private_is_called_so_in_red(seeded, ax, case):
    display = case[0](seeded, ax=ax)
    (title,) = (t for t in display.figure_.findobj(Text) if ": NOT PRIVATE (" in t.get_text())
    assert title.get_color() == "#b3261e"


@on_all()
def test_a_title_can_be_given_or_left_out_and_one_that_is_there_stays(pca, case):
    def texts(before="", **options):
        ax = Figure(layout="constrained").subplots()
        ax.set_title(before, loc="left")
        return texts_of(case[0](pca, ax=ax, **options))

    assert "mine" in texts(title="mine")
    for shown in (texts(title=None), stays := texts("before")):
        assert not any("ε" in text for text in shown)
    assert "before" in stays


@on_all(without=["fits", "pipeline"])
def test_of_a_pipeline_the_private_step_is_drawn(piped, ax, case):
    draw, _ = case
    if draw is images:
        draw = partial(ComponentsImageDisplay.from_estimator, image_shape=(4, 3))
    assert draw(piped, ax=ax).reports == (piped[1].privacy_,)


@on_all(without=["fits", "pipeline"])
def test_a_step_that_learned_from_the_records_before_stands_in_red(ax, case):
    draw, _ = case
    if draw is images:
        draw = partial(ComponentsImageDisplay.from_estimator, image_shape=(4, 3))
    steps = StandardScaler(), DPGauss(3, epsilon=20.0), StandardScaler()
    display = draw(make_pipeline(*steps).fit(table(12)), ax=ax)
    assert display.learned_before == ("standardscaler-1 (StandardScaler)",)
    says = "NOT AS STATED: standardscaler-1 (StandardScaler) learned from the records"
    (title,) = (t for t in display.figure_.findobj(Text) if says in t.get_text())
    assert title.get_color() == "#b3261e"
    assert "DPGauss" in title.get_text()


def test_of_one_image_in_axes_of_its_own_the_warning_is_short(ax):
    whole = make_pipeline(StandardScaler(), DPGauss(1)).fit(table(12))
    for titles, says in ((True, r"1: \d+ % NOT AS STATED"), (False, "NOT AS STATED")):
        ComponentsImageDisplay.from_estimator(whole, (4, 3), ax=[ax], titles=titles)
        assert re.fullmatch(says, ax.get_title())


@pytest.fixture(scope="module")
def piped():
    steps = FunctionTransformer(), DPGauss(3, epsilon=20.0), LinearRegression()
    return make_pipeline(*steps).fit(table(12), np.arange(600.0))


@on_all(without=["fits", "one component"])
def test_one_component_is_written_without_a_warning(ax, case):
    saved(case[0](fit(1), ax=ax))


@pytest.mark.slow
@on_all(without=["fits"])
def test_of_300_features_it_is_written_without_a_warning(ax, case):
    saved(case[0](fit(20, 300), ax=ax))


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_keeps_what_it_is_given_and_computes_nothing(display):
    parameters = inspect.signature(display).parameters
    assert {parameter.kind for parameter in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    given = {name: object() for name in parameters}
    assert vars(display(**given)) == given
    assert issubclass(display, Display)
    plot = inspect.signature(display.plot).parameters.values()
    assert inspect.Parameter.VAR_KEYWORD not in {parameter.kind for parameter in plot}


@pytest.mark.parametrize("display", DISPLAYS)
def test_no_picture_shows_records(display):
    makers = [getattr(display, name) for name in vars(display) if name.startswith("from_")]
    for maker in [display, display.plot, *makers]:
        assert not {"X", "y"} & set(inspect.signature(maker).parameters)
    sources = Path(plotting.__file__).parent.glob("*.py")
    assert not any("scatter" in source.read_text(encoding="utf-8") for source in sources)


@on_all()
def test_without_matplotlib_the_error_says_how_to_install_it(pca, monkeypatch, case):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=re.escape(how_to_install("plot"))):
        case[0](pca)


@pytest.mark.parametrize(
    "draw",
    [
        ScreeDisplay.from_estimator,
        LoadingsDisplay.from_estimator,
        PrivacyCurveDisplay.from_estimator,
        partial(ComponentsImageDisplay.from_estimator, image_shape=(4, 3)),
    ],
)
def test_what_is_not_fitted_or_not_private_pca_is_refused(draw):
    with pytest.raises(NotFittedError):
        draw(DPGauss())
    with pytest.raises(NotFittedError):
        draw(make_pipeline(DPGauss()))
    other = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(TypeError, match="LinearRegression is no private PCA, and has none"):
        draw(other)
    with pytest.raises(TypeError, match="Pipeline is no private PCA, and has none among its steps"):
        draw(make_pipeline(FunctionTransformer(), LinearRegression()).fit([[0.0], [1.0]], [0, 1]))


def test_a_warning_goes_below_the_title_of_another_fit(pca, seeded, ax):
    ScreeDisplay.from_estimator(pca, ax=ax)
    ScreeDisplay.from_estimator(seeded, ax=ax)
    first, second = ax.get_title(loc="left").split("\n")
    assert "ε" in first
    assert "NOT PRIVATE" in second


@pytest.mark.parametrize("draw", [images, partial(mapped, y=PEOPLE % 3)])
def test_panels_go_into_axes_of_ones_own(pca, draw):
    axes = Figure(layout="constrained").subplots(1, 3)
    display = draw(pca, ax=axes)
    assert display.bounding_ax_ is None
    assert display.axes_.ravel().tolist() == axes.tolist()
    saved(display)
    with pytest.raises(ValueError, match="ax has 2 axes for 3 "):
        draw(pca, ax=axes[:2])


def test_axes_that_cannot_be_divided_are_refused(pca):
    ax = Figure().add_axes((0, 0, 1, 1))
    with pytest.raises(ValueError, match=r"ax is in no grid.* one axes for each of the 3"):
        images(pca, ax=ax)


def test_a_long_title_is_not_cut(ax):
    unit = "participant of the second wave of the study of whom we know the age"
    pca = DPGauss(2, unit=unit).fit(table(12), groups=PEOPLE)
    display = ScreeDisplay.from_estimator(pca, ax=ax)
    saved(display)
    box = display.ax_._left_title.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= display.figure_.bbox.x1


@pytest.mark.parametrize("display", [ScreeDisplay, LoadingsDisplay, ComponentsImageDisplay])
def test_the_words_of_a_picture_without_noise_blame_none(display):
    rows = np.random.default_rng(0).normal(size=(50, 4))
    given = {"image_shape": (2, 2)} if display is ComponentsImageDisplay else {}
    text = display.from_estimator(DPGauss(2, epsilon=math.inf).fit(rows), **given).alt_text_
    assert "oise" not in text.replace("no noise was added", "")
