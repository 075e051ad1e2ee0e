"""The declared rounding errors bound those that are made."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skdppca.records import MAX_ROWS, summation_error


@pytest.mark.parametrize("order", ["given", "sorted", "reversed", "shuffled"])
def test_summation_error_bounds_what_any_order_of_sums_makes(order):
    # Exact sums by fsum; the bound is for 2^30 records, so scale it to the number at hand.
    rng = np.random.default_rng(0)
    values = rng.choice([-1, 1], 2**16) * 10.0 ** rng.uniform(-12, 0, 2**16)
    values = {
        "given": values,
        "sorted": np.sort(values),
        "reversed": np.sort(values)[::-1],
        "shuffled": rng.permutation(values),
    }[order]
    error = abs(float(np.cumsum(values)[-1]) - math.fsum(values))
    assert error <= summation_error(1.0, len(values), 1) * len(values) / MAX_ROWS
