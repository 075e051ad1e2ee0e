"""Releases of different people become one, at no cost and with both guarantees stated."""

import json
import shutil
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdppca import (
    KDPPCA,
    DPGauss,
    MergedPCA,
    PrivacyAccountant,
    PrivacyLedger,
    PrivatePCA,
    ResidualGauss,
    merge,
)
from skdppca._text.digits import up
from skdppca.datasets import make_spiked
from skdppca.exceptions import NotReleasedError, SeededNoiseWarning
from skdppca.metrics import captured_variance, zeta_squared
from skdppca.model_selection import PrivateSearchCV
from skdppca.privacy import (
    ApproximateEvent,
    GaussianEvent,
    NonPrivateEvent,
    PureEvent,
    Released,
    compose,
    epsilon_of_event,
    verify_report,
)
from skdppca.privacy.parts import bound
from skdppca.report import Context, ReleaseReport, load, verify
from skdppca.report._contents import as_json
from skdppca.report._context import DECISIVE

from .conftest import NAMES, document_of
from .test_forgeries import forge, hashed_again, named

COLUMNS = 6


def rows(n=1500, seed=0, d=COLUMNS):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * np.arange(d, 0, -1) + 3


@pytest.fixture(scope="module")
def two():
    """Fits of different people, each with its noisy matrix."""
    return DPGauss(2, epsilon=2.0).fit(rows()), DPGauss(3, epsilon=4.0).fit(rows(2000, 1))


LEDGERS = ("one", "two", "other")


def ledgers_in(folder):
    return [folder / name for name in LEDGERS]


@pytest.fixture(scope="module")
def charged(tmp_path_factory):
    """Fits of three cohorts, each charged to a ledger of its own, and the files."""
    folder = tmp_path_factory.mktemp("charged")
    ledgers = [PrivacyLedger.create(folder / name, 4.0, 1e-6) for name in LEDGERS]
    fits = [
        DPGauss(2, epsilon=epsilon, accountant=ledger).fit(_named(seed))
        for seed, (epsilon, ledger) in enumerate(zip((2.0, 2.0, 1.0), ledgers, strict=True))
    ]
    for number, fit in enumerate(fits):
        ReleaseReport(fit, pictures=False).write(folder / f"out{number}")
    return folder, fits


def _named(seed):
    return pd.DataFrame(rows(seed=seed, d=len(NAMES)), columns=NAMES)


# What comes out.


@pytest.mark.parametrize(
    "parameters",
    [{}, {"center": False}, {"scale": [1.0, 2, 1, 2, 1, 2]}, {"adjacency": "replace-one"}],
    ids=str,
)
def test_without_noise_the_merged_matrices_are_those_of_all_rows(parameters):
    parts = [rows(400, 0), rows(700, 1) + 2.0, rows(300, 2) - 1.0]
    fits = [DPGauss(3, epsilon=np.inf, **parameters).fit(X) for X in parts]
    pca, joint = merge(fits), DPGauss(3, epsilon=np.inf, **parameters).fit(np.concatenate(parts))
    assert pca.privacy_.details["merged"] == "matrices"
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(pca, name), getattr(joint, name), rtol=1e-9, atol=1e-12)
    assert pca.n_samples_ == joint.n_samples_ == 1400
    assert pca.noise_variance_ == pytest.approx(joint.noise_variance_)


def test_the_order_of_the_parts_does_not_matter(two):
    first, second = merge(two), merge(two[::-1])
    np.testing.assert_allclose(first.components_, second.components_, atol=1e-9)
    np.testing.assert_allclose(first.mean_, second.mean_)


@pytest.mark.filterwarnings("ignore::skdppca.exceptions.SeededNoiseWarning")
@pytest.mark.parametrize("seed", range(3))
def test_a_noisy_part_does_not_spoil_the_sum(seed):
    # Over 15 seeds, the plain sum captured .16 to .24 less than the merged PCA.
    X = np.random.default_rng(seed).standard_normal((4000, 20)) * np.arange(1, 21) ** -0.5
    common = {"clip": "spherical", "whiten": True, "random_state": seed}
    clear = DPGauss(5, epsilon=3.0, **common).fit(X[:2000])
    noisy = DPGauss(5, epsilon=0.05, **common).fit(X[2000:])
    plain = np.linalg.eigh(clear.matrix_scatter_ + noisy.matrix_scatter_)[1][:, :-6:-1].T
    merged = captured_variance(merge([clear, noisy]), X)
    assert merged > captured_variance(plain, X) + 0.05
    assert merged > captured_variance(noisy, X) + 0.2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skdppca.exceptions.SeededNoiseWarning")
@pytest.mark.parametrize("sigma", [0.025, 0.1])
def test_groups_that_share_their_signal_lose_little_by_being_apart(sigma):
    # The median of 9 was 1.2 to 1.4 times the joint fit's, with 3 and with 5 parts.
    ratios = []
    for seed in range(5):
        draw = make_spiked(6000, 50, 2, (10, 5), sigma, random_state=100 + seed)
        groups = np.asarray(draw.groups)
        part = np.unique(groups, return_inverse=True)[1] % 3
        method = ResidualGauss(2, unit="matrix", epsilon=1.0, delta=0.01, random_state=seed)
        joint = clone(method).fit(draw.X, groups=groups)
        fits = [clone(method).set_params(random_state=100 + 10 * seed + j) for j in range(3)]
        for j, fit in enumerate(fits):
            fit.fit(draw.X[part == j], groups=groups[part == j])
        pca = merge(fits, disjoint=True)
        assert pca.privacy_.details["merged"] == "projectors"
        zetas = [zeta_squared(one.components_, draw.covariance) for one in (pca, joint)]
        ratios.append(zetas[0] / zetas[1])
    assert np.median(ratios) < 5


def test_projectors_are_averaged_where_a_part_has_no_matrix(two):
    bare = DPGauss(2, epsilon=4.0, keep_matrix=False).fit(rows(1800, 2))
    pca = merge([two[0], bare])
    assert pca.privacy_.details["merged"] == "projectors"
    mean = sum(fit.components_[:2].T @ fit.components_[:2] for fit in (two[0], bare)) / 2
    top = np.linalg.eigh(mean)[1][:, -2:]
    np.testing.assert_allclose(pca.components_.T @ pca.components_, top @ top.T, atol=1e-12)
    shares = np.array([two[0].n_samples_, bare.n_samples_])
    model = (shares[0] * two[0].get_covariance() + shares[1] * bare.get_covariance()) / shares.sum()
    along = np.einsum("ij,jk,ik->i", pca.components_, model, pca.components_)
    np.testing.assert_allclose(pca.explained_variance_, along)
    left = np.trace(model) - along.sum()
    assert pca.noise_variance_ == pytest.approx(left / (COLUMNS - 2))
    assert (np.diff(pca.explained_variance_) <= 0).all()


def test_without_variances_in_a_part_there_are_none(two):
    bare = KDPPCA(2, epsilon=4.0, variance_share=0).fit(rows(1800, 2))
    pca = merge([two[0], bare])
    with pytest.raises(NotReleasedError, match="part 2 has none"):
        _ = pca.explained_variance_
    assert pca.transform(rows(5)).shape == (5, 2)


def test_private_scales_are_averaged():
    fits = [DPGauss(2, epsilon=4.0, scale="private").fit(rows(4000, seed)) for seed in range(2)]
    pca = merge(fits)
    assert pca.privacy_.details["merged"] == "matrices"
    low, high = np.sort([fit.scale_ for fit in fits], axis=0)
    assert ((pca.scale_ > 0.9 * low) & (pca.scale_ < 1.1 * high)).all()
    bare = [
        DPGauss(2, epsilon=4.0, scale="private", keep_matrix=False).fit(rows(4000, seed))
        for seed in range(2)
    ]
    low, high = np.sort([fit.scale_ for fit in bare], axis=0)
    scale = merge(bare).scale_
    assert ((scale >= low * (1 - 1e-12)) & (scale <= high * (1 + 1e-12))).all()


def test_absent_entries_are_filled_if_a_part_fills_them(two):
    X = rows(2500, 3)
    X[::7, 2] = np.nan
    holes = DPGauss(2, epsilon=4.0, missing="mean").fit(X)
    pca = merge([two[0], holes])
    assert pca.missing == "mean"
    assert np.isfinite(pca.transform(X)).all()
    assert 0.8 < pca.privacy_.details["present"][2] < 1


def test_single_precision_stays_if_all_parts_have_it(two):
    single = [DPGauss(2, epsilon=4.0).fit(rows(2000, s).astype(np.float32)) for s in range(2)]
    assert merge(single).components_.dtype == np.float32
    assert merge([single[0], two[1]]).components_.dtype == np.float64


@pytest.mark.parametrize("count", [1, 4, None])
def test_the_number_of_components_can_be_chosen_again(two, count):
    assert merge(two, n_components=count).n_components_ == (count or 2)


# What it is.


def test_it_does_what_other_fits_do_with_rows(two):
    pca, X = merge(two), rows(40, 9)
    scores = pca.transform(X)
    assert scores.shape == (40, 2)
    assert np.allclose(pca.transform(pca.inverse_transform(scores)), scores)
    assert np.isfinite(pca.score_samples(X)).all()
    assert pca.sample(3, random_state=0).shape == (3, COLUMNS)
    assert list(pca.get_feature_names_out()) == ["mergedpca0", "mergedpca1"]
    assert make_pipeline(pca).transform(X).shape == (40, 2)
    for array in (pca.components_, pca.mean_):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_rows_are_refused_by_name(two):
    with pytest.raises(TypeError, match=r"made of releases.*skdppca\.merge\(\[first, second\]\)"):
        merge(two).fit(rows())
    with pytest.raises(TypeError, match="made of releases"):
        clone(merge(two)).fit_transform(rows())
    assert not hasattr(clone(merge(two)), "components_")


def test_columns_keep_their_names(charged):
    pca = merge(charged[1])
    assert tuple(pca.feature_names_in_) == NAMES == pca.privacy_.feature_names


def test_nothing_is_charged_and_no_noise_is_drawn(charged, monkeypatch):
    folder, fits = charged
    before = [(folder / name).read_bytes() for name in LEDGERS]
    monkeypatch.setattr("os.urandom", lambda n: pytest.fail("noise"))
    pca = merge(fits)
    assert [(folder / name).read_bytes() for name in LEDGERS] == before
    assert not pca.privacy_.receipts and not pca.privacy_.spendings
    assert np.array_equal(pca.components_, merge(fits).components_)
    assert pca.privacy_.release_id == merge(fits).privacy_.release_id


# What it guarantees.


def test_disjoint_parts_cost_the_largest_of_them(two):
    report = merge(two, disjoint=True).privacy_
    assert report.event == two[1].privacy_.event and report.epsilon == 4.0
    other = merge(two).privacy_
    assert other.event == compose(fit.privacy_.event for fit in two)
    assert other.epsilon == epsilon_of_event(other.event, 1e-6) > 4.0
    for one in (report, other):
        told = one.details["guarantees"]
        assert told["disjoint"]["epsilon"] == report.epsilon
        assert told["composed"]["epsilon"] == other.epsilon
    assert list(report.details["guarantees"]) == ["disjoint", "composed"]
    assert list(other.details["guarantees"]) == ["composed", "disjoint"]
    assert "nobody has records in two" in str(report)
    assert "all of the releases add up" in str(other)


def reports(*events, delta=1e-6):
    report = DPGauss(2, epsilon=1.0).fit(rows(200)).privacy_
    epsilons = [epsilon_of_event(event, delta) for event in events]
    return [
        replace(report, event=event, epsilon=epsilon, delta=delta, spendings=())
        for event, epsilon in zip(events, epsilons, strict=True)
    ]


@pytest.mark.parametrize(
    ("events", "largest"),
    [
        ((GaussianEvent(0.3), GaussianEvent(0.2, 1e-9)), GaussianEvent(0.3, 1e-9)),
        ((PureEvent(0.3), PureEvent(0.5)), PureEvent(0.5)),
        ((ApproximateEvent(0.3, 1e-7),) * 2, ApproximateEvent(0.3, 1e-7)),
        ((GaussianEvent(0.3), NonPrivateEvent()), NonPrivateEvent()),
    ],
    ids=["gaussian", "pure", "alike", "none"],
)
def test_the_largest_of_several_events(events, largest):
    assert bound(reports(*events), True).event == largest


def test_events_of_unlike_kinds_have_no_largest():
    ones = reports(GaussianEvent(0.3), PureEvent(0.5))
    assert bound(ones, True) == bound(ones, False)
    assert bound(ones, False).epsilon > max(one.epsilon for one in ones)


@pytest.mark.parametrize("disjoint", [True, False])
@pytest.mark.parametrize(
    "events",
    [
        (GaussianEvent(0.3), GaussianEvent(0.2, 1e-9), GaussianEvent(0.25)),
        (PureEvent(0.3), PureEvent(0.5)),
        (GaussianEvent(0.4), PureEvent(0.5)),
        (ApproximateEvent(0.4, 1e-7), ApproximateEvent(0.2, 5e-7)),
    ],
    ids=["gaussian", "pure", "unlike", "approximate"],
)
def test_a_bound_covers_every_part_at_every_delta(events, disjoint):
    ones = reports(*events)
    total = bound(ones, disjoint)
    for delta in (1e-9, 1e-7, 1e-6, 1e-4, 1e-2):
        most = max(epsilon_of_event(event, delta) for event in events)
        assert epsilon_of_event(total.event, delta) >= most
    assert total.epsilon >= epsilon_of_event(total.event, total.delta)


def test_deltas_that_add_up_are_stated():
    ones = reports(ApproximateEvent(0.4, 1e-6), ApproximateEvent(0.4, 1e-6))
    total = bound(ones, False)
    assert total.delta == pytest.approx(2e-6) and np.isfinite(total.epsilon)


@pytest.mark.parametrize("parameters", [{"random_state": 0}, {"epsilon": np.inf}], ids=str)
def test_a_part_without_a_guarantee_takes_it_from_all(two, parameters):
    seeded = "random_state" in parameters
    with pytest.warns(SeededNoiseWarning) if seeded else nullcontext():
        broken = DPGauss(2, **parameters).fit(rows(1600, 3))
    pca = merge([two[0], broken], disjoint=True)
    assert not pca.privacy_.private
    assert pca.privacy_.not_private == (f"part 2: {broken.privacy_.not_private[0]}",)
    page = ReleaseReport(pca, pictures=False)
    assert page.dict()["fit"]["core"]["guarantee"]["private"] is False
    assert "NOT PRIVATE" in page.html()
    assert not verify_report(pca.privacy_)


# What is refused.

OTHERS = {
    "columns": (lambda: DPGauss(2).fit(rows(d=5)), "number of columns"),
    "names": (
        lambda: DPGauss(2).fit(pd.DataFrame(rows(), columns=list("abcdef"))),
        "names of columns",
    ),
    "unit": (
        lambda: DPGauss(2, unit="patient").fit(rows(), groups=np.arange(1500)),
        "unit of the one",
    ),
    "adjacency": (lambda: DPGauss(2, adjacency="replace-one").fit(rows()), "adjacency of the one"),
    "scale": (lambda: DPGauss(2, scale=np.ones(COLUMNS)).fit(rows()), "scale of the one"),
    "center": (lambda: DPGauss(2, center=False).fit(rows()), "center of the one"),
}


@pytest.mark.parametrize(("other", "said"), OTHERS.values(), ids=OTHERS)
def test_parts_that_do_not_go_together_are_refused(two, other, said):
    with pytest.raises(ValueError, match=said):
        merge([two[0], other()])


def test_moments_about_other_means_are_refused():
    means = (np.zeros(COLUMNS), np.ones(COLUMNS))
    fits = [DPGauss(2, center=False, mean=mean).fit(rows()) for mean in means]
    with pytest.raises(ValueError, match="mean of the one"):
        merge(fits)


def test_a_release_that_is_there_twice_is_refused(charged, tmp_path):
    folder, fits = charged
    with pytest.raises(ValueError, match="have the same release"):
        merge([fits[0], fits[1], folder / "out0"])
    # the report was made another by hand: its charge and its arrays are still the same
    renamed = DPGauss(2).fit(_named(0))
    vars(renamed).update(vars(fits[0]), privacy_=replace(fits[0].privacy_, details={"a": 1}))
    with pytest.raises(ValueError, match="have the same charge"):
        merge([fits[0], renamed])
    vars(renamed).update(privacy_=replace(renamed.privacy_, receipts=(), releases=()))
    with pytest.raises(ValueError, match="have the same array of components"):
        merge([fits[0], renamed])


@pytest.mark.parametrize("joint", [False, True])
def test_parts_that_charged_one_account_are_not_disjoint(joint, tmp_path):
    own = PrivacyLedger.create(tmp_path / "own", 8.0, 1e-6)
    shutil.copy(tmp_path / "own", tmp_path / "copy")
    own.charge_external("so that rows differ", mu=1e-3)
    for account, other in ((own, own), (own, PrivacyLedger(tmp_path / "copy"))):
        paying = [account, PrivacyAccountant(8.0, 1e-6)] if joint else account
        both = [
            DPGauss(2, epsilon=0.5, accountant=paying).fit(_named(4)),
            DPGauss(2, epsilon=0.5, accountant=other).fit(_named(5)),
        ]
        with pytest.raises(ValueError, match=rf"to the account {other.id[:8]}.*not disjoint"):
            merge(both, disjoint=True)
        assert merge(both).privacy_.private


def test_who_is_at_several_sites_of_a_part_pays_for_each(two):
    report = two[0].privacy_
    sites = replace(report, details=report.details | {"max_sites_per_person": 2})
    disjoint = bound([sites, replace(report, epsilon=9.0)], disjoint=True)
    assert disjoint.event.mu == 2 * report.event.mu
    assert bound([sites, report], disjoint=False).event.mu > disjoint.event.mu


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (lambda two: [two[0]], ValueError, "give at least two"),
        (lambda two: [], ValueError, "give at least two"),
        (lambda two: two[0], TypeError, "give a list"),
        (lambda two: "release", TypeError, "give a list"),
        (lambda two: [two[0], merge(two)], ValueError, "was merged itself"),
        (lambda two: [two[0], rows()], TypeError, r"releases\[1\] is a ndarray"),
        (lambda two: [two[0], "nowhere"], OSError, "nowhere is not a directory"),
        (lambda two: [two[0], DPGauss()], ValueError, "not fitted"),
        (lambda two: [*two] * 51, ValueError, "at most 100"),
    ],
)
def test_what_cannot_be_merged_is_refused(two, given, error, said):
    with pytest.raises(error, match=said):
        merge(given(two))


@pytest.mark.parametrize("count", [0, 7, 2.0, True, "2"])
def test_an_impossible_number_of_components_is_refused(two, count):
    with pytest.raises(ValueError, match="n_components"):
        merge(two, n_components=count)


def test_projectors_give_no_more_components_than_each_part_has(two):
    bare = DPGauss(2, keep_matrix=False).fit(rows(1800, 2))
    with pytest.raises(ValueError, match="more than the 2 that each part has"):
        merge([two[1], bare], n_components=3)


def test_a_part_of_a_search_is_refused(two):
    grid = {"clip": ["auto", "spherical"]}
    search = PrivateSearchCV(DPGauss(2), grid, epsilon=2.0, delta=1e-6).fit(rows(1800, 2))
    with pytest.raises((TypeError, ValueError), match=r"search|PrivateSearchCV"):
        merge([two[0], search])


# What the files say.


@pytest.fixture(scope="module")
def with_merged(charged, tmp_path_factory):
    """A copy of the folder, with a merged release in it."""
    folder = shutil.copytree(charged[0], tmp_path_factory.mktemp("merged") / "copy")
    pca = merge([folder / f"out{number}" for number in range(3)], disjoint=True)
    ReleaseReport(pca, context=Context(**DECISIVE)).write(folder / "merged")
    return folder


@pytest.fixture
def files(with_merged, tmp_path):
    """A copy of that, of which a test may change any file."""
    return shutil.copytree(with_merged, tmp_path / "copy")


def test_directories_give_the_same_as_the_fits(charged):
    folder, fits = charged
    pca, again = merge(fits), merge([folder / "out0", fits[1], str(folder / "out2")])
    for name, value in vars(pca).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert vars(again)[name].tobytes() == value.tobytes(), name
    assert again.privacy_.release_id == pca.privacy_.release_id


def test_a_merged_release_comes_back_bit_for_bit(files, charged):
    pca, again = merge(charged[1], disjoint=True), load(files / "merged")
    assert type(again) is MergedPCA
    assert again.components_.tobytes() == pca.components_.tobytes()
    assert again.privacy_.to_dict() == pca.privacy_.to_dict()
    with pytest.raises(ValueError, match="was merged itself"):
        merge([files / "merged", files / "out0"])


def test_each_part_is_listed_with_what_it_cost(files):
    text = (files / "merged" / "report.html").read_text()
    parts = document_of(files / "merged")["fit"]["core"]["details"]["parts"]
    assert len(parts) == 3
    for part in parts:
        report, (receipt,) = part["report"], part["report"]["core"]["receipts"]
        assert report["release_id"][:16] in text
        assert f"row {receipt['row']} of {receipt['accountant'][:8]}" in text
    assert "it is declared, and was not checked, that nobody has records in two" in text.lower()
    assert "computed from releases that were charged" in text


@pytest.mark.parametrize("disjoint", [True, False])
def test_the_box_and_verify_say_whom_the_figures_hold_for(charged, disjoint, tmp_path):
    pca = merge(charged[1][1:], disjoint=disjoint)
    ReleaseReport(pca, pictures=False).write(tmp_path / "out")
    two = pca.privacy_.details["guarantees"]
    other = f"epsilon {up(two['composed' if disjoint else 'disjoint']['epsilon'], 4)} at delta"
    told = (
        f"declared, and not verified. If that is wrong: {other}"
        if disjoint
        else f"For somebody in one of them alone: {other}"
    )
    box = (tmp_path / "out" / "report.html").read_text().partition("</section>")[0]
    assert told in box and told in str(verify(tmp_path / "out"))


def test_section_6_states_what_each_part_cost_as_epsilon(files, charged):
    text = (files / "merged" / "report.html").read_text()
    for fit in charged[1]:
        assert (
            f"epsilon {up(fit.privacy_.epsilon, 4)} at delta {up(fit.privacy_.delta)}, mu" in text
        )
    box = text.partition("</section>")[0]
    assert "Nothing was charged: it was computed from releases, each charged as" in box


@pytest.mark.parametrize(
    "context", [{"fitted_before": ("yes", "A scaler.")}, {"chosen_by_looking": "yes"}]
)
def test_a_part_whose_figures_do_not_hold_is_refused(two, context, tmp_path):
    ReleaseReport(two[0], context=Context(**context), pictures=False).write(tmp_path / "void")
    with pytest.raises(ValueError, match=r"void says of itself .* not hold as stated"):
        merge([tmp_path / "void", two[1]], disjoint=True)


def test_a_pipeline_with_a_fitted_step_is_no_part(two, tmp_path):
    pipeline = make_pipeline(StandardScaler(), DPGauss(2, epsilon=2.0)).fit(rows())
    ReleaseReport(pipeline, pictures=False).write(tmp_path / "scaled")
    with pytest.raises(ValueError, match="scaled says of itself"):
        merge([tmp_path / "scaled", two[1]], disjoint=True)


def test_each_part_is_checked_by_its_ledger(files):
    whole = verify(files / "merged")
    assert whole.agrees and whole.status == "unchecked"
    assert verify(files / "merged", ledger=ledgers_in(files)).status == "private"
    for given in ([files / "one"], ledgers_in(files)[1:]):
        found = verify(files / "merged", ledger=given)
        assert found.status == "unchecked" and named(found) == {"not given"}
        assert "2. Does the ledger agree? Not in full." in str(found)
        assert "give that one, too" in str(found) and "Nothing differs of what you gave" in str(
            found
        )
    head = PrivacyLedger(files / "one").statement().chain.head()
    assert verify(files / "merged", ledger=ledgers_in(files), head=head).agrees


def test_a_ledger_without_a_part_is_no_witness(files, tmp_path):
    stranger = PrivacyLedger.create(tmp_path / "stranger", 3.0, 1e-6)
    found = verify(files / "merged", ledger=stranger)
    assert found.status == "unchecked" and len(found.findings) == 3


def test_a_part_without_a_charge_excuses_no_other_difference(charged, tmp_path):
    folder, (first, second, _) = charged
    free = DPGauss(2, epsilon=1.0).fit(_named(9))
    ReleaseReport(merge([first, second, free]), pictures=False).write(tmp_path / "out")
    found = verify(tmp_path / "out", ledger=ledgers_in(folder)[:2])
    assert found.status == "uncharged"
    assert "To check the files alone, leave --ledger out" in str(found)
    statement = PrivacyLedger(folder / "one").statement()
    short = type(statement)(statement.chain.until(1))
    assert "Do not publish these files" in str(verify(tmp_path / "out", ledger=short))


def test_a_ledger_with_another_release_for_a_part_is_no_witness(files):
    short = PrivacyLedger(files / "one").statement()
    rows_of_one = short.chain.until(1)
    found = verify(files / "merged", ledger=type(short)(rows_of_one))
    assert not found.agrees
    assert any(f.says.startswith("part 1: ") for f in found.findings)


def test_the_totals_of_a_ledger_can_be_on_the_page(charged, tmp_path):
    folder, fits = charged
    report = ReleaseReport(merge(fits), ledger=PrivacyLedger(folder / "one"), pictures=False)
    report.write(tmp_path / "merged")
    marked = [one["this_release"] for one in report.dict()["ledger"]["charges"]]
    assert marked == [True]
    assert verify(tmp_path / "merged", ledger=ledgers_in(folder)).agrees


def change_part(details, number=0):
    return details["parts"][number]["report"]["core"]


def no_part(details):
    details["parts"][0] = {"n_records": 1.0}


def other_bound(details):
    details["guarantees"]["composed"]["epsilon"] = 0.5


def nested(details):
    own = {"merged": "matrices", "parts": details["parts"][1:]}
    change_part(details)["details"].update(own)


# What is done to the details of a merged release, and what is said of it.
FORGED = {
    "a part's epsilon": (
        lambda details: change_part(details)["guarantee"].update(epsilon=0.1),
        "part 1: release id",
    ),
    "a part's cost": (
        lambda details: change_part(details)["event"].update(mu=0.01),
        "part 1: release id",
    ),
    "a part's number of records": (
        lambda details: details["parts"][0].update(n_records=1.5),
        "part 1 released another number of records",
    ),
    "a part twice": (
        lambda details: details["parts"].insert(1, details["parts"][0]),
        "parts 1 and 2 have the same release",
    ),
    "a part that is missing": (
        lambda details: details.update(parts=details["parts"][:1]),
        "it has 1 parts",
    ),
    "what is no part": (no_part, "are not as skdppca writes them"),
    "the other guarantee": (other_bound, "guarantees/composed/epsilon is 0.5"),
    "a part that was merged": (nested, "merged itself"),
    "a part's unit": (
        lambda details: change_part(details)["guarantee"].update(unit="patient"),
        "part 1 protects something else",
    ),
}


@pytest.mark.parametrize(("tamper", "said"), FORGED.values(), ids=FORGED)
def test_a_forged_part_is_found(charged, tamper, said):
    report = json.loads(merge(charged[1], disjoint=True).privacy_.to_json())
    tamper(report["core"]["details"])
    found = [f for f in verify_report(report) if f.what == "parts"]
    assert any(said in one.says for one in found), found


def test_a_guarantee_that_its_parts_do_not_give_is_found(charged):
    report = merge(charged[1]).privacy_
    event = GaussianEvent(0.1)
    forged = replace(report, event=event, epsilon=epsilon_of_event(event, 1e-6))
    found = {f.says for f in verify_report(forged)}
    assert "its event is not the cost of its parts" in found
    declared = replace(report, parameters={**report.parameters, "disjoint": None})
    found = {f.says for f in verify_report(declared)}
    assert "it does not say whether its parts are declared disjoint" in found


def test_a_merged_release_that_hides_a_part_without_a_guarantee_is_found(two):
    broken = DPGauss(2, epsilon=np.inf).fit(rows(1600, 3))
    report = replace(merge([two[0], broken]).privacy_, not_private=(), epsilon=np.inf)
    found = {f.what for f in verify_report(report)}
    assert "reasons" in found


@pytest.mark.slow
def test_a_merged_release_whose_hashes_were_made_again_is_found(files):
    out = files / "merged"
    pca = load(out)
    details = json.loads(json.dumps(pca.privacy_.details))
    other_bound(details)
    forge(out, replace(pca.privacy_, details=details))
    assert named(verify(out)) == {"parts", "merge"}


def exact_components(arrays):
    arrays["components"] = np.linalg.eigh(np.cov(_named(0).to_numpy().T))[1][:, :-3:-1].T.copy()


def row_as_mean(arrays):
    arrays["mean"] = _named(0).to_numpy()[0].copy()


def other_order(arrays):
    arrays["components"] = arrays["components"][::-1].copy()


def small_mean(arrays):
    arrays["mean"][np.argmin(np.abs(arrays["mean"]))] *= 1.01


def infinite_mean(arrays):
    arrays["mean"][0] = np.inf


FALSE_MERGES = {
    "the smallest mean": small_mean,
    "an infinite mean": infinite_mean,
    "exact components": exact_components,
    "a record as mean": row_as_mean,
    "components in another order": other_order,
    "other variances": lambda arrays: arrays.update(
        explained_variance=arrays["explained_variance"] * 1.01
    ),
}


@pytest.mark.parametrize("change", FALSE_MERGES.values(), ids=FALSE_MERGES)
def test_a_merged_release_that_its_parts_do_not_give_is_found(files, change):
    pca = load(files / "merged")
    arrays = {one.name: np.array(getattr(pca, f"{one.name}_")) for one in pca.privacy_.released}
    change(arrays)
    released = tuple(Released.of(name, array) for name, array in arrays.items())
    vars(pca).update({f"{name}_": array for name, array in arrays.items()})
    pca.privacy_ = replace(pca.privacy_, released=released)
    ReleaseReport(pca, pictures=False).write(files / "forged")
    found = verify(files / "forged", ledger=ledgers_in(files))
    assert named(found) == {"merge"} and "parts.npz: they do not give the" in str(found)
    assert found.status == "differs"


@pytest.mark.parametrize(
    ("place", "more"),
    [
        ("details", {"records": [[1.0, 2.0]]}),
        ("parameters", {"records": [[1.0, 2.0]]}),
        ("software", {"records": "1 2"}),
        ("software", {"numpy": "1 2 " * 20}),
        ("software", {"numpy": [1, 2]}),
    ],
)
def test_a_merged_release_hides_no_records_in_its_report(files, place, more):
    pca = load(files / "merged")
    changed = {place: {**getattr(pca.privacy_, place), **more}}
    pca.privacy_ = replace(pca.privacy_, **changed)
    ReleaseReport(pca, pictures=False).write(files / "forged")
    assert named(verify(files / "forged", ledger=ledgers_in(files))) == {"merge"}


def test_a_merged_release_has_the_columns_of_its_parts(files):
    pca = load(files / "merged")
    pca.privacy_ = replace(pca.privacy_, feature_names=pca.privacy_.feature_names[::-1])
    ReleaseReport(pca, pictures=False).write(files / "forged")
    assert named(verify(files / "forged", ledger=ledgers_in(files))) == {"merge"}


def without_a_part(arrays):
    return {name: array for name, array in arrays.items() if not name.startswith("2.")}


FALSE_PARTS = {
    "names of a part": lambda arrays: arrays | {"1.feature_names": np.array(list("abcd"))},
    "a number": lambda arrays: arrays | {"1.mean": arrays["1.mean"] + 1e-9},
    "an array that is missing": lambda arrays: arrays | {"1.mean": None},
    "an array of records": lambda arrays: arrays | {"1.scores": np.ones((9, 2))},
    "a part that is missing": without_a_part,
    "a part too many": lambda arrays: arrays | {"4.mean": np.ones(2)},
    "a member of no part": lambda arrays: arrays | {"records": np.ones((9, 2))},
}


@pytest.mark.parametrize("change", FALSE_PARTS.values(), ids=FALSE_PARTS)
def test_parts_that_are_not_those_of_the_report_are_found(files, change):
    path = files / "merged" / "parts.npz"
    with np.load(path) as archive:
        arrays = change(dict(archive))
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    hashed_again(files / "merged")
    assert named(verify(files / "merged", ledger=ledgers_in(files))) == {"merge"}


def test_a_report_with_a_damaged_part_is_a_finding_and_no_error(files):
    document = document_of(files / "merged")
    no_part(document["fit"]["core"]["details"])
    (files / "merged" / "report.json").write_text(as_json(document))
    assert not verify(files / "merged", ledger=files / "one").agrees


def test_a_damaged_part_is_refused_by_name(files):
    (files / "out1" / "components.npz").write_bytes(b"mine")
    with pytest.raises(ValueError, match="out1 do not agree"):
        merge([files / "out0", files / "out1"])


def test_every_part_is_of_use_to_private_pca(two):
    auto = PrivatePCA(2, epsilon=2.0).fit(rows(1700, 5))
    assert merge([*two, auto]).n_components_ == 2


def test_the_hash_of_a_number_is_that_of_the_report(two):
    part = merge(two).privacy_.details["parts"][0]
    assert Released.of("n_samples", part["n_records"]) in two[0].privacy_.released


# Releases that grew.


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """Ledgers, and a release of one cohort, of two with it, and one of a third."""
    folder = tmp_path_factory.mktemp("grown")
    q1, q2, q3 = (PrivacyLedger.create(folder / f"q{n}", 6.0, 1e-6) for n in (1, 2, 3))
    first = DPGauss(2, epsilon=1.0).partial_fit(_named(0), accountant=q1)
    second = DPGauss(2, epsilon=2.0)
    vars(second).update({k: v for k, v in vars(first).items() if k.endswith("_")})
    second.partial_fit(_named(1), accountant=q2)
    third = DPGauss(2, epsilon=1.5, accountant=q3).fit(_named(2))
    return (q1, q2, q3), first, second, third


def test_a_part_that_grew_costs_what_its_largest_cohort_paid(grown, tmp_path):
    ledgers, _, second, third = grown
    pca = merge([second, third], disjoint=True)
    assert pca.privacy_.epsilon == pytest.approx(2.0)
    told = pca.privacy_.details["guarantees"]["composed"]
    costs = [fit.privacy_.cost for fit in (second, third)]
    assert told["epsilon"] == epsilon_of_event(compose(costs), 1e-6)
    ReleaseReport(pca, pictures=False).write(tmp_path / "out")
    assert verify(tmp_path / "out", ledger=ledgers).agrees


@pytest.mark.parametrize("disjoint", [True, False])
def test_who_is_in_all_fits_of_all_parts_is_told_what_that_costs(grown, disjoint, tmp_path):
    _, _, second, third = grown
    pca = merge([second, third], disjoint=disjoint)
    paid = [fit["mu"] for fit in second.privacy_.details["joined"]]
    events = [*map(GaussianEvent, paid), third.privacy_.cost]
    found = pca.privacy_.in_all()
    assert found["epsilon"] == pytest.approx(epsilon_of_event(compose(events), 1e-6), rel=1e-9)
    assert found["epsilon"] > pca.privacy_.details["guarantees"]["composed"]["epsilon"]
    told = f"epsilon {up(found['epsilon'], 4)} at delta 1e-06"
    assert told in str(pca.privacy_)
    ReleaseReport(pca, pictures=False).write(tmp_path / "out")
    for text in ((tmp_path / "out" / "report.html").read_text(), str(verify(tmp_path / "out"))):
        assert f"{told} for somebody with records in all fits of all of them" in text


def test_parts_of_one_cohort_each_rest_on_nothing_more(two, grown):
    assert merge(two).privacy_.in_all() is None
    assert grown[1].privacy_.in_all() is None


def test_a_cohort_that_is_in_two_parts_is_refused(grown):
    (q1, *_), first, second, third = grown
    with pytest.raises(ValueError, match="have the same release"):
        merge([first, second])
    with pytest.raises(ValueError, match="have the same release"):
        merge([second, third, first])
    again = DPGauss(2, epsilon=0.5, accountant=q1).fit(_named(3))
    with pytest.raises(ValueError, match=rf"both charged to the account {q1.id[:8]}"):
        merge([second, again], disjoint=True)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda part: part.update(receipts=[{"row": 1}]),
        lambda part: part.update(receipts=None),
        lambda part: part.pop("release_id"),
    ],
    ids=["broken receipt", "no receipt", "no release"],
)
def test_a_forged_cohort_of_a_part_is_a_finding_and_no_error(grown, tamper):
    _, _, second, third = grown
    report = json.loads(merge([second, third]).privacy_.to_json())
    tamper(change_part(report["core"]["details"])["details"]["joined"][0])
    assert verify_report(report)


def cheaper_before(part):
    part["mu"] = part["receipts"][0]["event"]["mu"] = 0.01


@pytest.mark.parametrize(
    "tamper",
    [
        cheaper_before,
        lambda part: part.update(release_id="0" * 64),
        lambda part: part.update(receipts=[]),
    ],
    ids=["cheaper", "another release", "not charged"],
)
def test_a_ledger_knows_what_each_cohort_before_paid(grown, tamper):
    ledgers, _, second, _ = grown
    ledger = ledgers[0]
    details = json.loads(second.privacy_.to_json())["core"]["details"]
    tamper(details["joined"][0])
    forged = replace(second.privacy_, details=details, read=True)
    differ = [f for f in verify_report(forged, ledger=ledger) if f.question == "ledger"]
    assert any(one.says.startswith("fit 1: ") for one in differ), differ
    assert not verify_report(second.privacy_, ledger=ledgers)
