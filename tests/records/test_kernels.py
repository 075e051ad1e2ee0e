"""Scale functions of one's own: what they return is bounded, and they never raise."""

from __future__ import annotations

import numpy as np
import pytest

from skdppca.records.pairs import Kernel, called

LENGTHS = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, np.inf])
RADIUS = 3.0


def lengths_of(xi, lengths=LENGTHS):
    """What the differences of these lengths are turned into, in units of the radius."""
    kernel = Kernel(RADIUS, xi)
    finite = lengths[np.isfinite(lengths)]
    differences = np.sqrt(2) * np.outer(finite, [0.6, -0.8])
    norms = np.linalg.norm(kernel.apply(differences), axis=1)
    squares = np.where(finite > 0, finite, np.inf) ** 2
    weights = kernel.weights(squares, 1.0, lambda: finite)
    np.testing.assert_allclose(norms, np.sqrt(weights) * finite, rtol=1e-12)
    return norms


@pytest.mark.parametrize(
    ("xi", "expected"),
    [
        (lambda t: t, [0, 1, 2, 3, 3, 3]),
        (lambda t: np.full_like(t, 2), [0, 2, 2, 2, 2, 2]),
        (lambda t: 1e300 * t * 1e300, [0, 3, 3, 3, 3, 3]),
        (lambda t: -t, [0, 0, 0, 0, 0, 0]),
        (lambda t: np.where(t < 3, np.nan, np.inf), [0, 0, 0, 3, 3, 3]),
        (lambda t: t > 2, [0, 0, 0, 1, 1, 1]),
        (lambda t: t.astype(int), [0, 1, 2, 3, 3, 3]),
    ],
    ids=["long", "alike", "overflow", "negative", "no numbers", "truth values", "whole numbers"],
)
def test_lengths_are_clipped_to_the_bound(xi, expected):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(lengths_of(xi) * RADIUS, expected, rtol=1e-12)


def wrong_at_three(error):
    def xi(t):
        if (t == 3).any():
            raise error
        return t

    return xi


def test_a_kernel_that_overwrites_its_argument_changes_no_length():
    def overwriting(t):
        t *= 2
        return t

    given = LENGTHS.copy()
    np.testing.assert_array_equal(called(overwriting, given), 2 * LENGTHS)
    np.testing.assert_array_equal(given, LENGTHS)


def test_an_interrupt_is_none_of_its_errors():
    with pytest.raises(KeyboardInterrupt):
        called(wrong_at_three(KeyboardInterrupt), LENGTHS)
