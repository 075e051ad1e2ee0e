"""What the tests of bad input share: data full of secrets, and the claim that none is told."""

import traceback
import warnings

import numpy as np
import pytest

from skdppca.exceptions import CentreNotSeenWarning, NoiseOnlyWarning, SeededNoiseWarning

# No error may show any of these: a value (nor as 1.23456789e+05), a text, the number of rows.
VALUE = 123456.789
TEXT = "swordfish"
N_ROWS = 31337
SECRETS = [TEXT, "23456", str(N_ROWS), str(N_ROWS - 1), str(N_ROWS + 1)]

D = 3


def rows():
    X = np.ones((N_ROWS, D))
    X[[0, 5, -1], 1] = VALUE  # numpy's text of a long array shows its ends
    return X


def labels(*last, dtype=object, n=N_ROWS):
    """As many labels as rows, the last ones given."""
    many = np.arange(n).astype(dtype)
    for place, label in zip(range(n - 1, -1, -1), last[::-1], strict=False):
        many[place] = label
    return many


def raising(method, error):
    """An object whose `method` raises such an error with a secret in its text."""

    def fail(self, *args, **more):
        raise error(f"{TEXT} {N_ROWS}")

    # a class that compares has no hash, and one without a hash is no label: keep that apart
    body = {"__hash__": lambda self: 7, method: fail}
    return type("Hostile", (), body)()


def with_property(name, error):
    """An object whose attribute raises such an error with a secret in its text."""

    def fail(self):
        raise error(f"{TEXT} {N_ROWS}")

    return type("Hostile", (), {name: property(fail)})()


def refused(estimator, X, message, groups=None, kinds=(ValueError, TypeError)):
    """Assert a clear error for nothing, of any text if `message` is empty; return all shown."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with pytest.raises(kinds, match=message or None) as caught:
            estimator.fit(X, groups=groups)
    assert estimator.accountant is None or estimator.accountant.receipts == ()
    assert not hasattr(estimator, "components_")
    assert caught.value.__context__ is None  # `from None` would only hide what it quotes
    error = "".join(traceback.format_exception(caught.value))
    return error + "".join(str(warning.message) for warning in shown)


def assert_tells_nothing(text):
    for secret in SECRETS:
        assert secret not in text


def assert_fits_in_silence(estimator, X, groups=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeededNoiseWarning)
        for of_answers in (CentreNotSeenWarning, NoiseOnlyWarning):  # which tell of these alone
            warnings.simplefilter("ignore", of_answers)
        estimator.fit(X, groups=groups)
