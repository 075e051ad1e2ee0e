"""Labels that a key decides."""

import numpy as np
import pytest
from scipy import stats

from skdppca.noise import KEY_WORDS, NoiseSource, keyed_labels
from skdppca.noise.keyed import BLOCK

KEY = NoiseSource(0).words(KEY_WORDS).tobytes()


@pytest.mark.parametrize(
    ("first", "n"), [(0, 1), (3, BLOCK), (BLOCK - 1, 2), (BLOCK, BLOCK), (5000, 9000), (7, 0)]
)
def test_labels_do_not_depend_on_which_others_are_drawn(first, n):
    every = keyed_labels(KEY, 0, 4 * BLOCK, 5)
    assert (keyed_labels(KEY, first, n, 5) == every[first : first + n]).all()


def test_another_key_gives_other_labels():
    other = NoiseSource(1).words(KEY_WORDS).tobytes()
    assert (keyed_labels(KEY, 0, 200, 2**40) != keyed_labels(other, 0, 200, 2**40)).all()


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_labels_are_uniform_and_successive_ones_independent(parts):
    # one seed; a correct sampler fails each of the two tests with probability 1e-6
    labels = keyed_labels(KEY, 0, 60_000, parts)
    assert stats.chisquare(np.bincount(labels, minlength=parts)).pvalue > 1e-6
    pairs = labels[::2] * parts + labels[1::2]
    assert stats.chisquare(np.bincount(pairs, minlength=parts**2)).pvalue > 1e-6


def test_words_beyond_the_last_whole_cycle_are_drawn_again():
    # a quarter of all words is beyond the last cycle of 3 * 2**61 labels
    labels = keyed_labels(KEY, 0, 4000, 3 * 2**61)
    assert labels.max() < 3 * 2**61
    assert (keyed_labels(KEY, 1000, 10, 3 * 2**61) == labels[1000:1010]).all()
