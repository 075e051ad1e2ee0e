import copy
import pickle

import numpy as np
import pytest

from skdppca.noise import NoiseSource


def draws(source):
    return source.rounded_gaussian(1e9, 64)


def test_secure_draws_differ():
    assert not np.array_equal(draws(NoiseSource()), draws(NoiseSource()))


def test_same_seed_gives_same_draws():
    np.testing.assert_array_equal(draws(NoiseSource(7)), draws(NoiseSource(7)))


def test_other_seed_gives_other_draws():
    assert not np.array_equal(draws(NoiseSource(7)), draws(NoiseSource(8)))


def test_only_an_unseeded_source_is_private():
    assert NoiseSource().is_private
    assert not NoiseSource(0).is_private


@pytest.mark.parametrize("seed", [0, 2**70, [1, 2, 3], np.random.SeedSequence(5)])
def test_any_seed_of_a_seed_sequence_is_accepted(seed):
    assert draws(NoiseSource(seed)).shape == (64,)


@pytest.mark.parametrize("seed", [-1, "seven", 0.5])
def test_a_bad_seed_is_named_with_its_remedy(seed):
    with pytest.raises(ValueError, match=r"^seed=.*non-negative integer, or None"):
        NoiseSource(seed)


@pytest.mark.parametrize("seed", [None, 3])
def test_words_are_distinct_64_bit_words(seed):
    words = NoiseSource(seed).words(1000)
    assert words.dtype == np.uint64
    assert words.shape == (1000,)
    assert np.unique(words).size == 1000  # a repeat has probability 3e-14


@pytest.mark.parametrize("seed", [None, 3])
def test_each_bit_of_the_words_is_fair(seed):
    # 64 counts of 40000 fair bits: beyond 7 sd with probability 64 * 2.6e-12.
    bits = np.unpackbits(NoiseSource(seed).words(40_000).view(np.uint8)).reshape(-1, 64)
    assert np.abs(bits.sum(axis=0, dtype=np.int64) - 20_000).max() < 7 * 100


DUPLICATES = [copy.copy, copy.deepcopy, lambda source: pickle.loads(pickle.dumps(source))]


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_a_duplicate_of_a_secure_source_shares_no_noise(duplicate):
    source = NoiseSource()
    other = duplicate(source)
    assert other.is_private
    assert not np.array_equal(draws(source), draws(other))


@pytest.mark.parametrize("duplicate", DUPLICATES[1:])
def test_a_duplicate_of_a_seeded_source_continues_where_it_stood(duplicate):
    source = NoiseSource(11)
    draws(source)
    other = duplicate(source)
    assert not other.is_private
    np.testing.assert_array_equal(draws(source), draws(other))


def test_numpys_global_state_is_not_touched():
    before = np.random.get_state()  # noqa: NPY002
    draws(NoiseSource())
    draws(NoiseSource(0))
    after = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]


@pytest.mark.parametrize("seed", [None, 0])
def test_numpys_global_state_does_not_influence_draws(seed):
    state = np.random.get_state()  # noqa: NPY002
    first = draws(source := NoiseSource(seed))
    np.random.set_state(state)  # noqa: NPY002
    assert not np.array_equal(first, draws(source))


def test_labels_are_uniform():
    # Chi-square with 6 degrees of freedom: above 50 with probability 5e-9.
    labels = NoiseSource(0).labels(70_000, 7)
    counts = np.bincount(labels, minlength=7)
    assert counts.size == 7
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 50


def test_labels_are_independent_of_their_position():
    # A correlation of 70000 pairs beyond 7 / sqrt(70000) has probability 3e-12.
    labels = NoiseSource(1).labels(70_000, 5)
    assert abs(np.corrcoef(labels[1:], labels[:-1])[0, 1]) < 7 / np.sqrt(70_000)


def test_secure_labels_differ():
    source = NoiseSource()
    assert not np.array_equal(source.labels(200, 4), source.labels(200, 4))
