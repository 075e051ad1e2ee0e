"""A fit keeps SciPy's threads at one, and gives them back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg  # noqa: F401  its BLAS is to be loaded
from threadpoolctl import ThreadpoolController, threadpool_limits

from skdppca import DPGauss
from skdppca.records.machine import SCIPYS_POOL, WIDE, one_pool

SCIPYS = [
    library
    for library in ThreadpoolController().select(user_api="blas").lib_controllers
    if "scipy.libs" in library.filepath
]
own_pool = pytest.mark.skipif(not SCIPYS, reason="SciPy has no BLAS of its own here")


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def threads() -> list[int]:
    return [library.num_threads for library in SCIPYS]


@own_pool
def test_scipys_pool_is_at_one_and_comes_back():
    with one_pool(WIDE - 1):
        assert threads() == [1] * len(SCIPYS)
    assert threads() == [2] * len(SCIPYS)


@own_pool
def test_wide_data_are_not_limited():
    with one_pool(WIDE):
        assert threads() == [2] * len(SCIPYS)


@own_pool
def test_fits_that_overlap_give_the_threads_back_once():
    first, second = SCIPYS_POOL.at_one(), SCIPYS_POOL.at_one()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == [1] * len(SCIPYS)
    second.__exit__(None, None, None)
    assert threads() == [2] * len(SCIPYS)


@own_pool
def test_a_fit_runs_with_one_and_gives_the_threads_back_if_it_fails(monkeypatch):
    seen = []

    def fail(*given):
        seen.extend(threads())
        raise TypeError

    monkeypatch.setattr("skdppca.decomposition.dp_gauss.mechanism.rough_centre", fail)
    with pytest.raises(TypeError):
        DPGauss(2, random_state=0).fit(np.eye(40, 3))
    assert seen == [1] * len(SCIPYS)
    assert threads() == [2] * len(SCIPYS)
