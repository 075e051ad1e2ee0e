import io
import math

import numpy as np
import pytest
from sklearn.datasets import load_digits

from skdppca import KDPPCA, DPGauss, KDPOjas, SmoothSensitivityPCA, maps
from skdppca.exceptions import NotReleasedError
from skdppca.planner import plan
from skdppca.plotting import (
    ComponentsImageDisplay,
    PlanDisplay,
    ProjectionMapDisplay,
    ScreeDisplay,
    _noise_of_fits,
)
from skdppca.plotting._display import figure

from ..estimators import on_all_estimators

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


def axes():
    return figure(6.4, 4.0).subplots()


def scree(pca, **options):
    return ScreeDisplay.from_estimator(pca, ax=axes(), **options)


def images(pca, shape=(8, 8), **options):
    return ComponentsImageDisplay.from_estimator(pca, shape, ax=axes(), **options)


def draw(found, **options):
    return ProjectionMapDisplay.from_map(found, **{"ax": axes()} | options)


def title(display):
    """What stands above a picture or, of several panels, in the line above them."""
    found = [ax.get_title(loc="left") for ax in display.figure_.axes]
    return next(text for text in found if text)


@pytest.mark.parametrize("n_components", [1, 2, 30, 64])
def test_every_number_of_components_is_drawn(n_components):
    display = scree(fitted(n_components))
    display.figure_.savefig(io.BytesIO())
    assert display.ax_.get_xlim()[1] > n_components


@pytest.mark.parametrize("clip", ["auto", "spherical"])
def test_the_error_bars_have_the_size_of_the_privacy_noise(clip):
    # 40 seeds. The sd of 40 normal values is within (0.6, 1.5) of the true one with probability
    # .9999, for each of three components; the rest of the interval is for the approximation.
    fits = [fitted(3, epsilon=4.0, random_state=seed, clip=clip) for seed in range(40)]
    values = np.array([pca.explained_variance_ for pca in fits])
    errors = np.array([_noise_of_fits._clipped_errors(pca) for pca in fits])
    if clip == "spherical":  # the total is common to all components, and left out of the bars
        totals = np.array([[pca.privacy_.details["spectrum"].sum()] for pca in fits])
        values, errors = values / totals, errors / totals
    ratio = values.std(axis=0) / errors.mean(axis=0)
    assert np.all((ratio > 0.6) & (ratio < 1.5))


@pytest.mark.parametrize("unit", ["row", pytest.param("person", marks=pytest.mark.slow)])
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
    shares = [pca.explained_variance_ / _noise_of_fits._seen(pca).sum() for pca in fits]
    errors = [_noise_of_fits._clipped_errors(pca) / _noise_of_fits._seen(pca).sum() for pca in fits]
    ratio = np.std(shares, axis=0) / np.median(errors, axis=0)
    assert np.all((ratio > 0.5) & (ratio < 2.0))


def test_without_variances_there_is_no_scree_plot_and_images_have_no_shares():
    pca = DPGauss(2, epsilon=0.005, random_state=0).fit(DIGITS)
    with pytest.raises(NotReleasedError, match="the noise hides"):
        scree(pca)
    assert [ax.get_title() for ax in images(pca).axes_.ravel()] == ["1", "2"]


def test_a_bar_doubles_where_the_alignment_is_a_quarter():
    pca = fitted(2, adjacency="replace-one")
    pca.privacy_.details["alignments"] = np.array([1.0, 0.25])
    errors = _noise_of_fits._clipped_errors(pca)
    assert errors[1] == pytest.approx(2 * errors[0])


def test_components_are_images_on_one_symmetric_scale():
    pca = fitted(n_components=7)
    drawn = images(pca, max_components=6).images_
    largest = np.abs(pca.components_[:6]).max()
    assert len(drawn) == 6
    assert all(image.get_clim() == (-largest, largest) for image in drawn)
    assert np.array_equal(drawn[2].get_array(), pca.components_[2].reshape(8, 8))


def test_images_with_colours_are_grey_at_0():
    pca = DPGauss(2, epsilon=3.0).fit(DIGITS[:, :48])
    image = images(pca, (4, 4, 3)).images_[0].get_array()
    assert image.shape == (4, 4, 3)
    largest = np.abs(pca.components_).max()
    np.testing.assert_allclose(image.ravel(), (1 + pca.components_[0] / largest) / 2)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((8, 9), "64 features; give the height and width"),
        ((64,), "is no shape of an image"),
        ((4, 8, 2), "is no shape of an image"),
    ],
)
def test_images_of_another_shape_are_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        images(fitted(), shape)


@on_all_estimators
def test_the_variances_of_every_method_are_drawn(factory):
    pca = factory(3, epsilon=10.0).fit(DIGITS)
    display = scree(pca)
    display.figure_.savefig(io.BytesIO())
    drawn = np.concatenate([np.asarray(line.get_ydata(), float) for line in display.ax_.lines])
    assert set(pca.explained_variance_) <= set(drawn)
    assert title(display).startswith(factory.__name__)


def mapped(**parameters):
    pca = fitted(2)
    return maps.projection_map(pca, DIGITS, epsilon=2.0, delta=1e-6, bins=8, **parameters)


def label(display):
    return display.colorbar_.ax.get_ylabel()


def test_a_map_shows_the_cells_above_the_noise_and_no_record():
    found = mapped()
    display = draw(found)
    ((ax,),), (mesh,) = display.axes_, display.meshes_
    display.figure_.savefig(io.BytesIO())
    shown = mesh.get_array().reshape(8, 8).T
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), found.counts < found.threshold)
    np.testing.assert_array_equal(shown.compressed(), found.counts[found.counts >= found.threshold])
    assert not ax.lines
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Component 1", "Component 2")
    assert ax.get_aspect() == 1
    assert label(display).startswith("Noisy number of records")


def test_a_map_without_noise_is_drawn_whole():
    pca = DPGauss(2, epsilon=math.inf).fit(DIGITS)
    found = maps.projection_map(pca, DIGITS, epsilon=math.inf, delta=1e-6, bins=5)
    draw(found).figure_.savefig(io.BytesIO())


@pytest.mark.parametrize(("width", "height"), [(60, 1), (1, 60), (1e300, 1e-300)])
def test_of_unequal_extents_both_can_be_seen(width, height):
    display = draw(mapped(extent=((-width, width), (-height, height))))
    display.figure_.savefig(io.BytesIO())
    box = display.axes_[0, 0].get_window_extent()
    assert 0.2 < box.height / box.width < 5


@pytest.fixture
def found(quick_plans):
    return plan(200, 3, 1, methods=["DPGauss"])


def test_a_plan_is_drawn_with_its_own_number_marked(found):
    display = PlanDisplay.from_plan(found, over="n_samples", ax=axes())
    display.figure_.savefig(io.BytesIO())
    line = display.lines_["DPGauss"]
    assert line.get_xdata().tolist() == [20, 63, 200, 632, 2000]
    assert line.get_ydata()[2] == pytest.approx(1 - found["DPGauss"].captured)
    assert list(display.here_.get_xdata()) == [200, 200]
    assert labels(display.ax_)[0].startswith(f"{found.rows[0].method}: {found.rows[0].percent}")
    assert display.ax_.get_ylim()[0] > display.ax_.get_ylim()[1]  # nothing missed is at the top


def test_half_of_all_fits_lie_in_the_band(found):
    display = PlanDisplay.from_plan(found, plans=[found], ax=axes())
    for method, band in display.ranges_.items():
        ends = np.array([found[method].captured_low, found[method].captured_high])
        heights = band.get_paths()[0].vertices[:, 1]
        expected = np.maximum(1 - ends, 1e-5)
        assert (heights.min(), heights.max()) == (expected.min(), expected.max())


@pytest.mark.parametrize("over", ["n", ("n_samples", "epsilon")])
def test_a_plan_over_something_else_is_refused(found, over):
    with pytest.raises(ValueError, match="choose 'epsilon' or 'n_samples'"):
        PlanDisplay.from_plan(found, over=over, ax=axes())


@pytest.mark.parametrize(
    ("factory", "floor"),
    [(KDPPCA, True), (KDPOjas, True), (SmoothSensitivityPCA, False)],
)
def test_without_a_spectrum_the_mean_of_the_rest_is_a_line(factory, floor):
    pca = factory(3, epsilon=10.0, random_state=0).fit(DIGITS)
    display = scree(pca)
    assert set(display.rest_.get_ydata()) == {pca.noise_variance_}
    assert "mean of the other 61 directions" in labels(display.ax_)
    assert (display.floor_ is not None) == floor
    assert ("noise floor not known" in labels(display.ax_)) != floor


def test_a_variance_at_its_noise_is_hollow():
    pure = {"noise": "student", "delta": 0.0}  # no alignment says what else is lost
    pca = SmoothSensitivityPCA(3, epsilon=1.0, **pure, norm_bound=BOUND, mean=MEAN, random_state=0)
    pca.fit(DIGITS)
    at_noise = np.isclose(pca.explained_variance_, pca.privacy_.details["variance_errors"])
    assert at_noise.any()
    assert np.array_equal(scree(pca).lost, at_noise)


def test_shares_of_the_variance_are_drawn_and_other_kinds_refused():
    pca = fitted(64)
    display = scree(pca, kind="ratio")
    drawn = np.concatenate([line.get_ydata() for line in (display.errorbar_[0], display.lost_)])
    np.testing.assert_allclose(drawn, pca.explained_variance_ratio_)
    with pytest.raises(ValueError, match="kind='shares' is unknown; choose 'variance'"):
        scree(pca, kind="shares")


def test_the_axes_name_their_units_and_without_noise_there_are_no_bars_and_no_floor():
    display = scree(fitted(epsilon=math.inf))
    assert labels(display.ax_) == ["component", "left out"]
    assert display.ax_.get_ylabel() == "Variance (squared units of the features)"
    scaled = DPGauss(2, scale=np.full(64, 16.0), random_state=0, epsilon=3.0).fit(DIGITS)
    assert "scaled features" in scree(scaled).ax_.get_ylabel()


@pytest.mark.parametrize(
    "pca",
    [
        pytest.param(lambda: fitted(64), id="one matrix"),
        pytest.param(lambda: DPGauss(20, epsilon=0.3, random_state=0).fit(DIGITS), id="nested"),
    ],
)
def test_components_in_the_noise_are_hollow_and_below_the_floor(pca):
    pca = pca()
    lost = np.asarray(pca.privacy_.details["alignments"]) <= 0
    assert 0 < lost.sum() < len(lost)
    display = scree(pca)
    assert display.lost_.get_markerfacecolor() == "white"
    assert np.array_equal(display.lost_.get_ydata(), pca.explained_variance_[lost])
    assert np.array_equal(pca.explained_variance_ <= display.noise_floor, lost)


@pytest.mark.parametrize("classes", [[0], ["benign", "malignant", "none"], range(7)], ids=str)
def test_a_map_of_classes_has_a_panel_each_on_one_scale_and_counts_who_is_outside(classes):
    found = mapped(extent=((0, 101), (0, 101)), y=TARGETS, classes=classes)
    display = draw(found)
    panels = [ax for ax in display.axes_.ravel() if ax is not None]
    assert [ax.get_title() for ax in panels] == [f"class {name}" for name in classes]
    assert len({mesh.get_clim() for mesh in display.meshes_}) == 1
    expected = round(float(found.outside.sum()))
    assert f"outside of all cells: {expected} " in label(display)


@pytest.mark.parametrize("unit", ["row", "writer"])
def test_the_title_of_a_map_is_its_cost_beside_that_of_the_axes(unit):
    groups = None if unit == "row" else np.arange(len(DIGITS)) // 2
    pca = DPGauss(2, epsilon=3.0).fit(DIGITS)
    found = maps.projection_map(pca, DIGITS, epsilon=2.0, delta=1e-6, unit=unit, groups=groups)
    display = draw(found)
    axes_cost = "DPGauss, ε = 3, δ = 1e-06"
    axes_cost += "" if unit == "row" else " for every row, add-remove"
    assert title(display) == (
        f"Projection map: ε = 2, δ = 1e-06 for every {unit} (add-remove)\n"
        f"on top of what its axes cost ({axes_cost})"
    )
    assert "NOT PRIVATE" not in label(display)


def test_what_is_not_private_is_called_so_in_axes_of_ones_own():
    two = figure(4, 3).subplots(1, 2)
    assert "NOT PRIVATE" in label(draw(mapped(y=TARGETS, classes=[0, 1], random_state=0), ax=two))
    for seed, called in ((0, True), (None, False)):
        two = figure(4, 3).subplots(1, 2)
        ComponentsImageDisplay.from_estimator(fitted(2, random_state=seed), (8, 8), ax=two)
        assert ("NOT PRIVATE" in two[0].get_title()) == called
