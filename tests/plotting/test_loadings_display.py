import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from skdppca import GDPPCA, KDPPCA, DPGauss
from skdppca.plotting import LoadingsDisplay

matplotlib = pytest.importorskip("matplotlib")

from matplotlib.figure import Figure  # noqa: E402

DIGITS = load_digits().data
TABLE = load_breast_cancer(as_frame=True).data
SCALE = TABLE.to_numpy().std(axis=0)


def draw(pca, **options):
    return LoadingsDisplay.from_estimator(pca, ax=Figure().subplots(), **options)


@pytest.fixture(scope="module")
def pca():
    return DPGauss(3, epsilon=3.0, scale=SCALE, random_state=0).fit(TABLE)


def test_the_largest_features_are_drawn_under_their_names(pca):
    display = draw(pca, max_features=5)
    sizes = np.abs(pca.components_).max(axis=0)
    largest = np.argsort(-sizes)[:5]
    assert display.feature_names == [str(name) for name in TABLE.columns[largest]]
    np.testing.assert_allclose(np.abs(display.loadings), np.abs(pca.components_[:, largest]))
    assert "25 more features, with smaller entries" in display.ax_.get_xlabel()


def test_without_names_features_are_numbered():
    pca = DPGauss(2, epsilon=3.0, random_state=0).fit(DIGITS)
    assert draw(pca, sort=None, max_features=None).feature_names == [f"x{i}" for i in range(64)]


@pytest.mark.parametrize("sort", ["component", None])
def test_features_can_be_sorted_otherwise(pca, sort):
    display = draw(pca, sort=sort, max_features=8)
    if sort is None:
        places = [list(TABLE.columns).index(name) for name in display.feature_names]
        assert places == sorted(places)
    else:
        owners = np.abs(display.loadings).argmax(axis=0)
        assert owners.tolist() == sorted(owners)


def test_components_are_counted_and_their_largest_entry_is_positive(pca):
    display = draw(pca, components=2)
    heads = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert heads == [f"{i + 1}\n{100 * pca.explained_variance_ratio_[i]:.0f} %" for i in (0, 1)]
    assert np.all(display.loadings.max(axis=1) > -display.loadings.min(axis=1))
    unknown = KDPPCA(2, epsilon=3.0, variance_share=0.0, random_state=0).fit(DIGITS)
    assert draw(unknown).explained_variance_ratio is None


def test_brackets_are_on_entries_within_the_noise(pca):
    display = draw(pca)
    noisy = np.abs(display.loadings) < 1.96 * display.noise_sd
    assert 0 < noisy.sum() < noisy.size
    written = [[text.get_text() for text in row] for row in display.text_]
    assert np.array_equal([[text.startswith("(") for text in row] for row in written], noisy.T)
    assert written[0][0].strip("()") == f"{display.loadings[0, 0]:+.2f}"
    assert "in brackets" in display.ax_.get_xlabel()


def test_many_cells_have_brackets_alone():
    pca = DPGauss(20, epsilon=3.0, random_state=0).fit(DIGITS)
    display = draw(pca, components=20)
    shown = {text.get_text() for text in display.text_.ravel() if text is not None}
    assert shown == {"(  )"}


@pytest.mark.parametrize(
    "fit",
    [
        lambda: KDPPCA(2, epsilon=3.0).fit(DIGITS),
        lambda: DPGauss(2, epsilon=3.0, scale="private").fit(TABLE),
        lambda: DPGauss(2, epsilon=0.1).fit(DIGITS),
    ],
    ids=["no spectrum", "private scales", "nested subspaces"],
)
def test_where_the_noise_of_entries_is_not_known_there_are_no_brackets(fit):
    display = draw(fit())
    assert display.noise_sd is None
    assert not display.bracketed.any()
    assert "no brackets: this fit does not\ngive the noise" in display.ax_.get_xlabel()


def test_without_noise_there_are_no_brackets():
    display = draw(DPGauss(2, epsilon=np.inf).fit(DIGITS))
    assert not display.noise_sd.any()
    assert "noise" not in display.ax_.get_xlabel()


def coverage(factory, X, k, parameters):
    """Share of the entries' means over 25 fits that are within 1.96 sd, for each component."""
    fits = [factory(k, random_state=seed, **parameters).fit(X) for seed in range(25)]
    mean = [
        np.linalg.eigh(sum(np.outer(f.components_[i], f.components_[i]) for f in fits))[1][:, -1]
        for i in range(k)
    ]
    inside = []
    for pca in fits:
        display = draw(pca, max_features=None, sort=None)
        signs = np.sign(np.sum(display.loadings * mean, axis=1))[:, None]
        inside.append(np.abs(signs * display.loadings - mean) < 1.96 * display.noise_sd)
    return np.mean(inside, axis=(0, 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "X", "parameters"),
    [
        (DPGauss, DIGITS, {"epsilon": 1.0}),
        (DPGauss, DIGITS, {"epsilon": 3.0}),
        (DPGauss, TABLE, {"epsilon": 1.0, "scale": SCALE}),
        (DPGauss, TABLE, {"epsilon": 3.0, "scale": SCALE}),
        (GDPPCA, DIGITS, {"epsilon": 1.0}),
    ],
)
def test_bars_hold_the_noise_of_an_entry_in_95_of_100_fits(factory, X, parameters):
    # 25 fits of 30 or 64 entries, which are not independent: the noise turns neighbours into each
    # other, so all entries of a component move together. The sd of a share was about .02.
    shares = coverage(factory, X, 3, parameters)
    assert np.all((shares > 0.88) & (shares <= 1.0))
    assert np.mean(shares) > 0.92


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sort": "name"}, "sort='name' is unknown"),
        ({"components": 0}, "components=0 shows nothing"),
        ({"feature_names": ["a"]}, "feature_names has 1 names for 30 features"),
    ],
)
def test_an_option_that_is_none_is_refused(pca, options, message):
    with pytest.raises(ValueError, match=message):
        draw(pca, **options)
