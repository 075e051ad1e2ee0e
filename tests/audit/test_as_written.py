"""The printed k-DP-Ojas does not keep its promise, by the audit that the package's methods pass."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from skdppca.privacy import mu_of

from .audit import collect, mu_lower_bound

N, DELTA = 2000, 0.01
FAR = 1e9


@pytest.fixture
def k_dp_ojas():
    benchmarks = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, benchmarks)
    try:
        module = importlib.import_module("as_written")
    finally:
        sys.path.remove(benchmarks)
    # Of long records every step takes the place of all before it: the last one tells most.
    model = module.Model((FAR, 1.0), 1.0, 0.0)
    return lambda factors, rng: module.METHODS["k-DP-Ojas"](factors, 1, 1.0, DELTA, model, rng)


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

    bound = mu_lower_bound(collect(show(without, 0), 250), collect(show(with_record, 1), 250), 1e-4)
    assert bound > mu_of(1.0, DELTA)
