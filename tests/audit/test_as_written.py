"""The printed k-DP-Ojas does not keep its promise, by the audit that the package's methods pass."""

from __future__ import annotations

import numpy as np
import pytest

from skdppca.privacy import mu_of

from ..benchmark_modules import load
from .audit import collect, mu_lower_bound

N, DELTA, RUNS = 2000, 0.01, 100
FAR = 1e9


@pytest.fixture
def k_dp_ojas():
    module = load("as_written")
    # With long records every step takes the place of all before it: the last one tells most.
    model = module.Model((FAR, 1.0), 1.0, 0.0, 1.0, DELTA)
    return lambda factors, rng: module.METHODS["k-DP-Ojas"](factors, 1, model, rng)


def test_the_printed_k_dp_ojas_is_caught(k_dp_ojas):
    # error 1e-4, fixed seeds
    without = np.zeros((N, 1, 2))
    without[:, 0, 0] = FAR
    with_record = without.copy()
    with_record[-1, 0] = [0.0, FAR]

    def show(factors, offset):
        def once(seed):
            w = k_dp_ojas(factors, np.random.default_rng(2 * seed + offset))[0]
            return w[1] ** 2 - w[0] ** 2

        return once

    sides = collect(show(without, 0), RUNS), collect(show(with_record, 1), RUNS)
    # 0: whichever of the two directions is nearer
    bound = mu_lower_bound(*sides, 1e-4, threshold=0.0)
    assert bound > mu_of(1.0, DELTA)
