"""In Python, ``print`` of a report says what was found, for whom and at what cost."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdppca import DPGauss, PrivacyAccountant, PrivacyLedger, maps
from skdppca.report import ReleaseReport, verify

from .conftest import text_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4000, 1)) * [4, 3, 2, 1] + RNG.standard_normal((4000, 4))
CUSTOMERS = np.arange(len(X)) // 2


def printed(releases):
    return str(ReleaseReport(releases, pictures=False))


@pytest.fixture(scope="module")
def said():
    accountant = PrivacyAccountant(epsilon=2.0, delta=1e-6, unit="customer")
    pca = DPGauss(2, epsilon=1.0, unit="customer", accountant=accountant)
    return printed(pca.fit(X, groups=CUSTOMERS))


def test_the_components_come_before_the_guarantee_and_that_before_the_budget(said):
    places = [said.index(text) for text in ("largest loadings", "\nGuarantee: ", "\nBudget: ")]
    assert places == sorted(places)


def test_the_guarantee_names_the_unit(said):
    assert "epsilon 1 at delta 1e-06 for all rows of every customer, under add-remove" in said


def test_the_budget_names_the_accountant_and_what_is_left(said):
    assert "epsilon 1.673 of 2 is left" in said and "charged as row 1 of accountant " in said


def test_remedies_are_written_as_in_python():
    said = printed(DPGauss(2, epsilon=0.01).fit(X[:100]))
    assert 'scale="private"' in said and "a larger epsilon" in said and "--" not in said


def test_a_fitted_scaler_in_front_is_said_before_the_components():
    said = printed(make_pipeline(StandardScaler(), DPGauss(2)).fit(X))
    assert said.index("NOT AS STATED") < said.index("largest loadings")


def test_a_map_begins_with_its_guarantee():
    pca = DPGauss(2).fit(X)
    assert printed(maps.projection_map(pca, X, epsilon=1.0, delta=1e-6, bins=4)).startswith(
        "Guarantee: "
    )


@pytest.mark.parametrize(("norm_bound", "clipped"), [(None, True), (30.0, False)])
def test_ranges_that_hold_what_clipping_took_say_so(norm_bound, clipped):
    said = printed(DPGauss(2, norm_bound=norm_bound).fit(X))
    assert ("The fit shortens extreme records" in said) is clipped
    assert "Other people would move it further" in said


def test_one_release_has_one_epsilon(frame, tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "l", 3.0, 1e-6)
    pca = DPGauss(2, epsilon=1.371, accountant=ledger).fit(frame)
    report = ReleaseReport(pca)
    for said in (str(report), report.html(), str(pca.privacy_), repr(report)):
        assert "1.371" in said and "1.38" not in said and "epsilon 1.37 " not in said


def test_scales_that_were_not_found_are_said_first(tmp_path):
    units = RNG.standard_normal((150, 12)) * 10.0 ** np.arange(12)
    pca = DPGauss(2, epsilon=0.1, scale="private").fit(units)
    assert (pca.scale_ == 1).all()
    report, wrong = ReleaseReport(pca, pictures=False), "The scales could not be found at this"
    assert str(report).startswith(wrong)
    assert wrong in str(pca.privacy_).splitlines()[1] and wrong in pca.privacy_._repr_html_()
    box, _, rest = text_of(report).partition("largest loadings")
    assert box.count(wrong) == 1 and wrong not in rest
    report.write(tmp_path / "out")
    assert verify(tmp_path / "out").agrees


def test_scales_that_were_found_are_not_said_to_lack():
    for scale in (None, np.ones(4), "private"):
        pca = DPGauss(2, epsilon=3.0, scale=scale).fit(X)
        assert "could not be found" not in printed(pca) + str(pca.privacy_)
