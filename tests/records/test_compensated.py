"""A compensated sum does not round what a plain one does."""

import numpy as np
import pytest

from skdppca.records._sums import CHUNK_ENTRIES, CompensatedSum

SHAPES = [(), (3,), (4, 3), (CHUNK_ENTRIES + 5,), (2 * CHUNK_ENTRIES, 2), (130, 131)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_small_terms_are_not_lost_among_large_ones(shape, order):
    total = CompensatedSum(shape)
    for term in (1.0, 1e100, 1.0, -1e100):
        total.add(np.full(shape, term, order=order))
    np.testing.assert_array_equal(total.result(), np.full(shape, 2.0))


def test_a_single_term_is_the_sum_and_has_no_negative_zero():
    total = CompensatedSum((2,))
    total.add(np.array([-0.0, 1.5]))
    assert total.result().tobytes() == np.array([0.0, 1.5]).tobytes()
