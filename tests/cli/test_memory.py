import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from skdppca.cli import _memory
from skdppca.cli._memory import check_memory, memory_of
from skdppca.decomposition import METHODS
from skdppca.records import machine

from .conftest import charges, is_one_line_error

SQUARE = [name for name, method in METHODS.items() if method.memory.startswith("d x d")]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_estimate_is_what_a_fit_holds_up_to_a_factor_of_2(method):
    d, k = (600, 2) if method in SQUARE else (10_000, 10)
    rows = np.eye(8, d) if method in SQUARE else sparse.eye_array(64, d, format="csr")
    pca = METHODS[method].estimator(k, epsilon=1.0, delta=1e-6)
    tracemalloc.start()
    try:
        pca.fit(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / 2 <= memory_of(method, d, k) <= 2 * peak


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (("--method", "gauss"), "--method power -k K"),
        (("--method", "power", "-k", 3), "fewer components"),
        (("-k", 2), "--method power -k K"),
    ],
)
def test_a_method_that_the_machine_cannot_hold_is_refused_before_the_charge(
    fit, ledger, monkeypatch, options, remedy
):
    monkeypatch.setattr(_memory, "memory_limit", lambda: 100.0)
    result = fit("--ledger", ledger, *options)
    assert is_one_line_error(result)
    assert remedy in result.err and "nothing was charged" in result.err
    assert charges(ledger) == 0


def test_groups_get_a_method_for_groups():
    with pytest.raises(ValueError, match="--method kdppca -k K"):
        check_memory("ResidualGauss", 10**7, 2, grouped=True)


def test_memory_that_is_not_free_is_found_by_asking_for_it(monkeypatch):
    monkeypatch.setattr(_memory, "memory_limit", lambda: math.inf)
    with pytest.raises(ValueError, match="not free"):
        check_memory("DPGauss", 10**8, 2, grouped=False)


def test_the_limit_is_that_of_the_machine_the_process_and_its_container(monkeypatch, tmp_path):
    resource = pytest.importorskip("resource")
    (tmp_path / "max").write_text("12345\n")
    monkeypatch.setattr(machine, "CGROUP", tmp_path / "max")
    assert machine.memory_limit() == 12345
    (tmp_path / "max").write_text("max\n")
    assert 2**20 < machine.memory_limit() < math.inf
    monkeypatch.setattr(resource, "getrlimit", lambda _: (777, resource.RLIM_INFINITY))
    assert machine.memory_limit() == 777
