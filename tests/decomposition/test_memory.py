import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from skdppca import KDPPCA, DPGauss, PrivacyAccountant, PrivatePCA
from skdppca.decomposition import METHODS
from skdppca.records import machine
from skdppca.records.machine import MATRICES, check_memory

from ..estimators import on_all_estimators

SQUARE = [name for name, method in METHODS.items() if method.memory.startswith("d x d")]


@pytest.mark.slow
@pytest.mark.parametrize("scale", [None, "private"])
@pytest.mark.parametrize("method", METHODS)
def test_the_estimate_is_what_a_fit_holds_up_to_a_factor_of_2(method, scale, monkeypatch):
    d, k = (600, 2) if method in SQUARE else (10_000, 10)
    rows = np.eye(8, d) if method in SQUARE else sparse.eye_array(64, d, format="csr")
    epsilon = 1.0 if scale is None else 1000.0  # below, few records are not worth a look
    pca = METHODS[method].estimator(k, epsilon=epsilon, delta=1e-6, scale=scale)
    asked = []
    monkeypatch.setattr(machine, "memory_limit", lambda: asked.append(1) or math.inf)
    monkeypatch.setattr(machine, "SMALL", math.inf)
    tracemalloc.start()
    try:
        pca.fit(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert asked
    numbers = pca._held.numbers(d, k) + (machine.SCALES * d if scale else 0)
    assert peak / 2 <= 8 * numbers <= 2 * peak


@on_all_estimators
def test_a_fit_that_the_machine_cannot_hold_is_refused_before_the_charge(factory, monkeypatch):
    accountant = PrivacyAccountant(epsilon=10.0, delta=1e-5)
    pca = factory(2, accountant=accountant)
    monkeypatch.setattr(machine, "memory_limit", lambda: 100.0)
    with pytest.raises(ValueError, match="nothing was charged; choose"):
        pca.fit(np.eye(50, 5))
    assert accountant.spent.epsilon == 0


@pytest.mark.parametrize(
    ("estimator", "grouped", "remedy"),
    [
        (DPGauss(2), False, r"at most \d+ columns, or DPPowerMethod.*--method power -k K"),
        (DPGauss(2, unit="patient"), True, "KDPPCA.*--method kdppca -k K"),
        (PrivatePCA(2, method="power"), False, "fewer components"),
    ],
)
def test_the_error_names_the_method_that_fits(estimator, grouped, remedy, monkeypatch):
    monkeypatch.setattr(machine, "memory_limit", lambda: 1000.0)
    groups = np.arange(50) if grouped else None
    with pytest.raises(ValueError, match=remedy):
        estimator.fit(np.eye(50, 9), groups=groups)


def test_scales_of_one_column_take_the_memory_of_one(monkeypatch):
    d, accountant = 5000, PrivacyAccountant(epsilon=10.0, delta=1e-5)
    monkeypatch.setattr(machine, "memory_limit", lambda: 8.0 * machine.SCALES * d)
    rows = sparse.eye_array(64, d, format="csr")
    with pytest.raises(ValueError, match="nothing was charged; choose"):
        KDPPCA(1, scale="private", accountant=accountant).fit(rows)
    KDPPCA(1, scale=["private"] + [1] * (d - 1), accountant=accountant).fit(rows)


def test_memory_that_is_not_free_is_found_by_asking_for_it(monkeypatch):
    monkeypatch.setattr(machine, "memory_limit", lambda: math.inf)
    with pytest.raises(ValueError, match="not free"):
        check_memory(MATRICES, 10**8, 2, scaled=0, grouped=False)


def test_the_limit_is_that_of_the_machine_the_process_and_its_container(monkeypatch, tmp_path):
    resource = pytest.importorskip("resource")
    (tmp_path / "max").write_text("12345\n")
    monkeypatch.setattr(machine, "CGROUP", tmp_path / "max")
    assert machine.memory_limit() == 12345
    (tmp_path / "max").write_text("max\n")
    assert 2**20 < machine.memory_limit() < math.inf
    monkeypatch.setattr(resource, "getrlimit", lambda _: (777, resource.RLIM_INFINITY))
    assert machine.memory_limit() == 777
