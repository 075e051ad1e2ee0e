"""A column that is by its name a label of rows or people."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skdppca import DPGauss, PrivacyAccountant
from skdppca.exceptions import LabelColumnWarning

ROWS = np.random.default_rng(0).normal(size=(300, 3))


@pytest.mark.parametrize("name", ["patient_id", "ID", "customerId", "Unnamed: 0"])
def test_a_label_among_the_features_is_warned_of_before_the_charge(name):
    accountant = PrivacyAccountant(1.0, 1e-6)
    frame = pd.DataFrame(ROWS, columns=["age", "weight", name])
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelColumnWarning)
        with pytest.raises(LabelColumnWarning, match=f"no features: '{name}'. Leave"):
            DPGauss(2, accountant=accountant).fit(frame)
    assert accountant.receipts == ()


@pytest.mark.parametrize(
    "names", [["age", "weight", "humid"], ["age", "weight", "idea"], [0, 1, 2]]
)
def test_columns_of_other_names_raise_no_label_warning(names):
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelColumnWarning)
        DPGauss(2).fit(pd.DataFrame(ROWS, columns=names))


def test_rows_without_names_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelColumnWarning)
        DPGauss(2).fit(ROWS)
