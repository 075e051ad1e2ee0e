"""Labels that a key decides."""

import hashlib

import numpy as np
import pytest
from scipy import stats

from skdppca.noise import KEY_WORDS, KeyedWords, NoiseSource, keyed_labels
from skdppca.noise.source import BLOCK

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


@pytest.mark.parametrize("sizes", [[10_000], [1] * 9 + [9991], [4096, 4095, 1809], [0, 5000, 5000]])
def test_words_follow_from_the_key_and_their_places(sizes):
    words = KeyedWords(KEY)
    found = np.concatenate([words(n) for n in sizes])
    assert found.dtype == np.uint64
    np.testing.assert_array_equal(found, KeyedWords(KEY)(10_000))


def test_words_of_another_key_are_others():
    assert not (KeyedWords(KEY)(100) == KeyedWords(KEY[::-1])(100)).any()


def test_words_are_those_of_the_version_that_sites_have():
    # SHAKE-256 of the key and the number of the block, little endian
    block = hashlib.shake_256(KEY + (1).to_bytes(8, "little")).digest(8)
    assert KeyedWords(KEY)(4097)[-1] == int.from_bytes(block, "little")


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_a_key_of_another_length_is_refused(key):
    with pytest.raises(ValueError, match="has 32 bytes"):
        KeyedWords(key)


def test_noise_of_a_key_is_repeated_and_private():
    first, again = NoiseSource(key=KEY), NoiseSource(key=KEY)
    assert first.is_private
    drawn = first.discrete_gaussian(100.0, 1000)
    np.testing.assert_array_equal(drawn, again.discrete_gaussian(100.0, 1000))
    assert (drawn != first.discrete_gaussian(100.0, 1000)).any()  # further words of the key


def test_a_seed_and_a_key_are_not_both_given():
    with pytest.raises(ValueError, match="give one"):
        NoiseSource(0, key=KEY)
