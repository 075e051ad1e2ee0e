"""A fit warns of steps before it that learned without privacy, and of columns that are labels."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from skdppca import DPGauss, PrivacyAccountant, PrivatePCA
from skdppca.exceptions import LabelColumnWarning, UnaccountedStepWarning
from skdppca.model_selection import PrivateSearchCV
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.privacy.charging import needs_no_accountant

X = np.random.default_rng(0).normal(size=(300, 4)) + 17
LABELS = np.arange(300) % 2


def said(fit):
    """What a fit warned of: the steps before it, and from which file."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit()
    return [one for one in told if one.category is UnaccountedStepWarning]


@pytest.mark.parametrize("fit", ["fit", "fit_transform"])
@pytest.mark.parametrize("pca", [PrivatePCA(1), DPGauss(2)], ids=lambda pca: type(pca).__name__)
def test_a_scaler_in_front_is_named_once_with_what_replaces_it(pca, fit):
    one, other = (
        said(lambda rows=rows: getattr(make_pipeline(StandardScaler(), pca), fit)(rows))[0]
        for rows in (X, 1e3 * X[:50] + 5)
    )
    text = str(one.message)
    assert text == str(other.message)
    assert "learned from the records without privacy: standardscaler (StandardScaler)." in text
    assert 'scale="private"' in text and "The stated epsilon is wrong" in text
    assert one.filename == __file__
    assert not re.search(r"\d", text)  # no number of the data, or of any


@pytest.mark.parametrize(
    "step",
    [
        FunctionTransformer(),
        Normalizer(),
        "passthrough",
        None,
        FrozenEstimator(StandardScaler().fit(X)),
    ],
    ids=["function", "rows", "passthrough", "None", "frozen"],
)
def test_a_step_that_learns_nothing_is_no_warning(step):
    assert not said(lambda: make_pipeline(step, DPGauss(1)).fit(X))


def test_no_step_is_no_warning():
    assert not said(lambda: make_pipeline(DPGauss(1)).fit(X))
    assert not said(lambda: make_pipeline(DPGauss(1), StandardScaler()).fit(X))
    assert not said(lambda: DPGauss(1).fit(StandardScaler().fit_transform(X)))  # cannot be seen
    assert not said(lambda: make_pipeline(StandardScaler(), DPGauss(1, epsilon=np.inf)).fit(X))


def test_a_step_of_an_outer_pipeline_is_before_the_inner_one():
    model = make_pipeline(StandardScaler(), make_pipeline(Normalizer(), DPGauss(1)), Normalizer())
    (one,) = said(lambda: model.fit(X))
    assert "privacy: standardscaler (StandardScaler)." in str(one.message)
    model = make_pipeline(make_pipeline(DPGauss(1), StandardScaler()), make_pipeline(Normalizer()))
    assert not said(lambda: model.fit(X))


def test_a_private_step_before_is_paid_for():
    classifier = PrivateNearestCentroid([0, 1], center=False)
    assert not said(lambda: make_pipeline(DPGauss(2), classifier).fit(X, LABELS))
    (one, other) = said(
        lambda: make_pipeline(StandardScaler(), DPGauss(2), classifier).fit(X, LABELS)
    )
    assert "before DPGauss" in str(one.message)
    assert "before PrivateNearestCentroid" in str(other.message)
    assert "DPGauss (" not in str(other.message)


def test_a_search_is_warned_of_too():
    model = make_pipeline(StandardScaler(), PrivateSearchCV(DPGauss(1), {"whiten": [False, True]}))
    (one,) = said(lambda: model.fit(X))
    assert "before PrivateSearchCV" in str(one.message)
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), DPGauss(1)), {"dpgauss__epsilon": [1.0]}, cv=2, refit=False
    )
    assert said(lambda: grid.fit(X))[0].filename == __file__


def test_what_is_charged_elsewhere_is_judged_there():
    def fit():
        with needs_no_accountant():
            make_pipeline(StandardScaler(), DPGauss(1)).fit(X)

    assert not said(fit)


@pytest.mark.filterwarnings("error::skdppca.exceptions.UnaccountedStepWarning")
def test_the_warning_as_an_error_comes_before_the_charge():
    accountant = PrivacyAccountant(epsilon=2.0, delta=1e-5)
    with pytest.raises(UnaccountedStepWarning):
        make_pipeline(StandardScaler(), DPGauss(1, accountant=accountant)).fit(X)
    assert not accountant.spent.epsilon


ROWS = np.random.default_rng(0).normal(size=(300, 3))


@pytest.mark.parametrize(
    "name",
    [
        "patient_id",
        "ID",
        "customerId",
        "Unnamed: 0",
        "#IID",
        "USUBJID",
        "MRN",
        " patno ",
        "level_0",
    ],
)
@pytest.mark.filterwarnings("error::skdppca.exceptions.LabelColumnWarning")
def test_a_label_among_the_features_is_warned_of_before_the_charge(name):
    accountant = PrivacyAccountant(1.0, 1e-6)
    frame = pd.DataFrame(ROWS, columns=["age", "weight", name])
    with pytest.raises(LabelColumnWarning, match=f"no features: '{name}'. Leave"):
        DPGauss(2, accountant=accountant).fit(frame)
    assert accountant.receipts == ()


@pytest.mark.parametrize("names", [["patient_id"], ["clinic", "subjid"]])
@pytest.mark.filterwarnings("error::skdppca.exceptions.LabelColumnWarning")
def test_an_index_that_may_name_people_is_warned_of_where_rows_are_protected_alone(names):
    people = pd.MultiIndex.from_arrays([np.arange(300) // 3] * len(names), names=names)
    frame = pd.DataFrame(ROWS, index=people)
    with pytest.raises(LabelColumnWarning, match=f"the index of X may say .*: '{names[-1]}'"):
        DPGauss(2).fit(frame)
    DPGauss(2, unit="patient").fit(frame, groups=people.get_level_values(0))


@pytest.mark.parametrize("name", [None, "level_0", "day"])
@pytest.mark.filterwarnings("error::skdppca.exceptions.LabelColumnWarning")
def test_an_index_of_row_numbers_raises_no_label_warning(name):
    DPGauss(2).fit(pd.DataFrame(ROWS, index=pd.Index(np.arange(300) * 2, name=name)))


@pytest.mark.parametrize(
    "names", [["age", "weight", "humid"], ["age", "weight", "idea"], [0, 1, 2], None]
)
@pytest.mark.filterwarnings("error::skdppca.exceptions.LabelColumnWarning")
def test_columns_of_other_names_and_of_none_raise_no_label_warning(names):
    DPGauss(2).fit(ROWS if names is None else pd.DataFrame(ROWS, columns=names))
