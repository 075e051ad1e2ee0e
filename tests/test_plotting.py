import inspect
import io
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from skdppca import DPGauss, maps, plotting
from skdppca.exceptions import NotReleasedError
from skdppca.planner import plan
from skdppca.plotting import _fitted, components_image, projection_map, scree
from skdppca.plotting import plan as draw_plan
from skdppca.plotting._common import figure

from .estimators import on_all_estimators

matplotlib = pytest.importorskip("matplotlib")

DIGITS, TARGETS = load_digits(return_X_y=True)
MEAN = DIGITS.mean(axis=0)

# No row of the digits is farther from the mean: nothing is clipped.
BOUND = 60.0


def fitted(n_components=5, epsilon=3.0, random_state=0, **parameters):
    pca = DPGauss(
        n_components,
        epsilon=epsilon,
        norm_bound=BOUND,
        mean=MEAN,
        random_state=random_state,
        **parameters,
    )
    return pca.fit(DIGITS)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("n_components", [1, 2, 30, 64])
def test_every_number_of_components_is_drawn(n_components):
    ax = scree(fitted(n_components))
    ax.figure.savefig(io.BytesIO())
    assert ax.get_xlim()[1] > n_components


def test_the_title_is_the_guarantee():
    title = scree(fitted(random_state=None)).get_title(loc="left")
    assert title == r"DPGauss: $\varepsilon$ = 3, $\delta$ = 1e-06 for every row (add-remove)"


@pytest.mark.parametrize("parameters", [{"epsilon": math.inf}, {"random_state": 0}])
def test_a_release_that_is_not_private_is_called_so(parameters):
    assert "NOT PRIVATE" in scree(fitted(**parameters)).get_title(loc="left")


def test_the_axes_name_their_units():
    ax = scree(fitted())
    assert ax.get_xlabel() == "Component"
    assert ax.get_ylabel() == "Variance (squared units of the features)"
    scaled = DPGauss(2, scale=np.full(64, 16.0), random_state=0, epsilon=3.0).fit(DIGITS)
    assert "scaled features" in scree(scaled).get_ylabel()


def test_components_in_the_noise_are_hollow():
    pca = fitted(n_components=64)
    lost = np.asarray(pca.privacy_.details["alignments"]) <= 0
    assert 0 < lost.sum() < 64
    ax = scree(pca)
    (hollow,) = [line for line in ax.lines if line.get_label() == "kept, but lost in the noise"]
    assert hollow.get_markerfacecolor() == "white"
    assert np.array_equal(hollow.get_ydata(), pca.explained_variance_[lost])


def test_the_floor_separates_the_components_that_the_noise_drowns():
    pca = fitted(n_components=64)
    floor = _fitted._noise_floor(pca)
    above = np.asarray(pca.privacy_.details["alignments"]) > 0
    assert np.array_equal(pca.explained_variance_ > floor, above)


def test_without_noise_there_are_no_bars_and_no_floor():
    assert labels(scree(fitted(epsilon=math.inf))) == ["component", "left out"]


@pytest.mark.parametrize("clip", ["auto", "spherical"])
def test_the_error_bars_have_the_size_of_the_privacy_noise(clip):
    # 40 seeds. The sd of 40 normal values is within (0.6, 1.5) of the true one with probability
    # .9999, for each of three components; the rest of the interval is for the approximation.
    fits = [fitted(3, epsilon=4.0, random_state=seed, clip=clip) for seed in range(40)]
    values = np.array([pca.explained_variance_ for pca in fits])
    errors = np.array([_fitted._standard_errors(pca) for pca in fits])
    if clip == "spherical":  # the total is common to all components, and left out of the bars
        totals = np.array([[pca.privacy_.details["spectrum"].sum()] for pca in fits])
        values, errors = values / totals, errors / totals
    ratio = values.std(axis=0) / errors.mean(axis=0)
    assert np.all((ratio > 0.6) & (ratio < 1.5))


@pytest.mark.parametrize("unit", ["row", "person"])
def test_the_error_bars_of_nested_subspaces_have_the_size_of_their_noise(unit):
    # 40 seeds, as above, for shares of what the last subspace holds; there is room for the
    # subspaces before, and for centres, which the bars leave out.
    grouped = {"groups": np.arange(len(DIGITS)) // 2} if unit == "person" else {}
    fits = [
        DPGauss(2, epsilon=0.3 if unit == "row" else 0.6, unit=unit, random_state=seed)
        for seed in range(40)
    ]
    fits = [pca.fit(DIGITS, **grouped) for pca in fits]
    assert all(pca.privacy_.details["clip"] == "nested" for pca in fits)
    shares = [pca.explained_variance_ / _fitted._seen(pca).sum() for pca in fits]
    errors = [_fitted._standard_errors(pca) / _fitted._seen(pca).sum() for pca in fits]
    ratio = np.std(shares, axis=0) / np.median(errors, axis=0)
    assert np.all((ratio > 0.5) & (ratio < 2.0))


def test_the_floor_of_nested_subspaces_separates_what_the_noise_drowns():
    pca = DPGauss(20, epsilon=0.3, random_state=0).fit(DIGITS)
    above = pca.privacy_.details["alignments"] > 0
    assert 0 < above.sum() < 20
    np.testing.assert_array_equal(pca.explained_variance_ > _fitted._noise_floor(pca), above)


def test_without_variances_there_is_no_scree_plot_and_images_have_no_shares():
    pca = DPGauss(2, epsilon=0.005, random_state=0).fit(DIGITS)
    with pytest.raises(NotReleasedError, match="the noise hides"):
        scree(pca)
    titles = [ax.get_title() for ax in components_image(pca, (8, 8)).axes]
    assert titles == ["1", "2"]


def test_the_error_bars_hold_the_variances_without_noise():
    # A variance is outside its bar with probability .05: of 40, mean 2, and P(more than 7) < .001
    # for each of three components.
    exact = np.linalg.eigvalsh(np.cov(DIGITS.T))[::-1][:3]
    outside = np.zeros(3)
    for seed in range(40):
        pca = fitted(3, epsilon=4.0, random_state=seed)
        bars = _fitted.BAR_SDS * _fitted._standard_errors(pca)
        outside += np.abs(pca.explained_variance_ - exact) > bars
    assert outside.max() <= 7


def test_a_bar_doubles_where_the_alignment_is_a_quarter():
    pca = fitted(2, adjacency="replace-one")
    pca.privacy_.details["alignments"] = np.array([1.0, 0.25])
    errors = _fitted._standard_errors(pca)
    assert errors[1] == pytest.approx(2 * errors[0])


def test_drawing_goes_into_given_axes():
    ax = figure(4, 3).subplots()
    assert scree(fitted(), ax=ax) is ax


def test_pyplot_is_never_touched(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    scree(fitted()).figure.savefig(io.BytesIO(), format="png")


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"skdppca\[plot\]"):
        scree(fitted())


def test_components_are_images_on_one_symmetric_scale():
    pca = fitted(n_components=7)
    images = [ax.images[0] for ax in components_image(pca, (8, 8)).axes]
    largest = np.abs(pca.components_).max()
    assert len(images) == 7
    assert all(image.get_clim() == (-largest, largest) for image in images)
    assert np.array_equal(images[2].get_array(), pca.components_[2].reshape(8, 8))


def test_images_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="64 features; give the height and width"):
        components_image(fitted(), (8, 9))


@on_all_estimators
def test_the_variances_of_every_method_are_drawn(factory):
    pca = factory(3, epsilon=10.0).fit(DIGITS)
    ax = scree(pca)
    ax.figure.savefig(io.BytesIO())
    drawn = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.lines])
    assert set(pca.explained_variance_) <= set(drawn)
    assert ax.get_title(loc="left").startswith(factory.__name__)


def mapped(**parameters):
    pca = fitted(2)
    return maps.projection_map(pca, DIGITS, epsilon=2.0, delta=1e-6, bins=8, **parameters)


def test_a_map_shows_the_cells_above_the_noise_and_no_record():
    found = mapped()
    sheet = projection_map(found)
    ax, bar = sheet.axes
    sheet.savefig(io.BytesIO())
    (mesh,) = ax.collections
    shown = mesh.get_array().reshape(8, 8).T
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), found.counts < found.threshold)
    np.testing.assert_array_equal(shown.compressed(), found.counts[found.counts >= found.threshold])
    assert not ax.lines
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Component 1", "Component 2")
    assert ax.get_aspect() == 1
    assert bar.get_ylabel().startswith("Noisy number of records")


def test_the_title_of_a_map_is_its_cost_beside_that_of_the_axes():
    pca = DPGauss(2, epsilon=3.0).fit(DIGITS)
    found = maps.projection_map(pca, DIGITS, epsilon=2.0, delta=1e-6)
    assert projection_map(found).get_suptitle() == (
        "Projection map: $\\varepsilon$ = 2, $\\delta$ = 1e-06 for every row (add-remove)\n"
        "besides its axes (DPGauss, $\\varepsilon$ = 3, $\\delta$ = 1e-06)"
    )
    assert "NOT PRIVATE" in projection_map(mapped(random_state=0)).get_suptitle()


def test_the_title_of_a_map_tells_if_its_axes_protect_something_else():
    groups = np.arange(len(DIGITS)) // 2
    pca = DPGauss(2, epsilon=3.0).fit(DIGITS)
    found = maps.projection_map(pca, DIGITS, epsilon=2.0, delta=1e-6, unit="writer", groups=groups)
    first, second = projection_map(found).get_suptitle().split("\n")
    assert first.endswith("for every writer (add-remove)")
    assert second.endswith("1e-06 for every row, add-remove)")


@pytest.mark.parametrize("n_classes", [1, 3, 7])
def test_a_map_of_classes_has_a_panel_each_on_one_scale(n_classes):
    found = mapped(y=TARGETS, classes=range(n_classes))
    *panels, _ = projection_map(found).axes
    assert [ax.get_title() for ax in panels] == [str(i) for i in range(n_classes)]
    assert len({ax.collections[0].get_clim() for ax in panels}) == 1


def test_a_map_without_noise_is_drawn_whole():
    pca = DPGauss(2, epsilon=math.inf).fit(DIGITS)
    found = maps.projection_map(pca, DIGITS, epsilon=math.inf, delta=1e-6, bins=5)
    projection_map(found).savefig(io.BytesIO())


def test_a_map_goes_into_given_axes():
    ax = figure(4, 3).subplots()
    assert projection_map(mapped(), [ax]) is ax.figure
    assert "Projection map" in ax.get_title(loc="left")


def test_too_few_axes_are_refused():
    with pytest.raises(ValueError, match="axes has 1 axes for 2 classes"):
        projection_map(mapped(y=TARGETS, classes=[0, 1]), [figure(4, 3).subplots()])


def test_a_map_in_given_axes_that_is_not_private_is_called_so():
    axes = figure(4, 3).subplots(1, 2)
    *_, bar = projection_map(mapped(y=TARGETS, classes=[0, 1], random_state=0), axes).axes
    assert "NOT PRIVATE" in bar.get_ylabel()
    pca = DPGauss(2, epsilon=3.0).fit(DIGITS)
    found = maps.projection_map(pca, DIGITS, epsilon=2.0, delta=1e-6)
    assert "NOT PRIVATE" not in projection_map(found).axes[-1].get_ylabel()


def test_a_map_tells_how_many_lie_outside():
    found = mapped(extent=((100, 101), (100, 101)), y=TARGETS, classes=range(10))
    expected = round(float(found.outside.sum()))
    assert projection_map(found).axes[-1].get_ylabel().startswith("Noisy number of records")
    assert f"outside of all cells: {expected}" in projection_map(found).axes[-1].get_ylabel()


@pytest.mark.parametrize(("width", "height"), [(60, 1), (1, 60), (1e300, 1e-300)])
def test_of_unequal_extents_both_can_be_seen(width, height):
    sheet = projection_map(mapped(extent=((-width, width), (-height, height))))
    sheet.savefig(io.BytesIO())
    box = sheet.axes[0].get_window_extent()
    assert 0.2 < box.height / box.width < 5


def test_dollars_in_names_are_no_formulas():
    groups = np.arange(len(DIGITS))
    names = ["$\\foo$", "$"]
    found = mapped(y=TARGETS, classes=names, unit="$\\foo$", groups=groups)
    projection_map(found).savefig(io.BytesIO())
    pca = DPGauss(2, unit="$\\foo$").fit(DIGITS, groups=groups)
    scree(pca).figure.savefig(io.BytesIO())


def test_a_long_title_is_not_cut():
    unit = "participant of the second wave of the study of whom we know the age"
    groups = np.arange(len(DIGITS))
    pca = DPGauss(2, unit=unit).fit(DIGITS, groups=groups)
    found = maps.projection_map(pca, DIGITS, epsilon=1.0, delta=1e-6, groups=groups)
    sheet = projection_map(found)
    ax = scree(pca)
    for title in (sheet._suptitle, ax._left_title):
        title.figure.savefig(io.BytesIO())
        box = title.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= title.figure.bbox.x1


def test_images_of_what_is_not_private_are_called_so():
    assert components_image(fitted(2), (8, 8)).get_suptitle() == "NOT PRIVATE"
    assert not components_image(fitted(2, random_state=None), (8, 8)).get_suptitle()


def test_no_picture_shows_records():
    # a picture is drawn from released numbers: none takes rows, and none scatters
    for name in plotting.__all__:
        assert not {"X", "y"} & set(inspect.signature(getattr(plotting, name)).parameters)
    sources = Path(plotting.__file__).parent.glob("*.py")
    assert not any("scatter" in source.read_text(encoding="utf-8") for source in sources)


def test_a_plan_is_drawn_with_its_own_number_marked():
    found = plan(200, 3, 1, methods=["DPGauss"])
    ax = draw_plan(found, over="n_samples")
    ax.figure.savefig(io.BytesIO())
    (line, mark) = ax.lines
    assert line.get_xdata().tolist() == [20, 63, 200, 632, 2000]
    assert line.get_ydata()[2] == pytest.approx(1 - found["DPGauss"].captured)
    assert list(mark.get_xdata()) == [200, 200]
    assert labels(ax) == [f"DPGauss: {found['DPGauss'].percent}"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # nothing missed is at the top
