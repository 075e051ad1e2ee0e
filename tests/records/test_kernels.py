"""Per-record numbers have the same bits wherever the record lies, on every BLAS kernel."""

import json
import os
import subprocess
import sys

import pytest

# Rows of one record, moved to other places of X and to other addresses; the bits of every measure.
SCRIPT = """
import json
import numpy as np
from threadpoolctl import threadpool_info
from skdppca.records import Records
from skdppca.statistics import Distances, GramNorms, ResidualNorms, Spreads

rng = np.random.default_rng(0)
found = {}
for d in (4, 37):
    c = rng.normal(size=d)
    W = np.linalg.qr(rng.normal(size=(d, 3)))[0].T.copy()
    residual = ResidualNorms(c, None, W, W * 2.0, 2.0 * np.eye(3))
    measures = [Distances(c), Spreads(c), GramNorms(c), GramNorms(c, 0.25), residual]
    for draw, size in enumerate((*[0] * 5, *[1] * 20, 2, 2, 3, 3, 9, 40)):
        row = rng.normal(size=(max(size, 1), d))
        for before in range(4):
            X = np.vstack([rng.normal(size=(before, d)), row, rng.normal(size=(2, d))])
            groups = np.r_[np.arange(before), np.full(len(row), before), before + 1, before + 2]
            for offset in range(4):
                memory = np.empty(X.size + 4)
                moved = memory[offset : offset + X.size].reshape(X.shape)
                moved[:] = X
                records = Records(moved, groups if size else None)
                for i, measure in enumerate(measures):
                    bits = np.atleast_2d(records.measured(measure).T).T[before].tobytes().hex()
                    found.setdefault(f"{d} {draw} {size} {i}", set()).add(bits)
kernels = {info.get("architecture") for info in threadpool_info() if info["user_api"] == "blas"}
moved = [name for name, bits in found.items() if len(bits) > 1]
print(json.dumps({"kernels": sorted(map(str, kernels)), "moved": moved}))
"""


# What is asked for, and what threadpoolctl may call it.
KERNELS = {
    "Prescott": {"Prescott", "Katmai"},
    "Nehalem": {"Nehalem"},
    "Haswell": {"Haswell"},
    "SkylakeX": {"SkylakeX"},
}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_record_has_the_same_bits_at_every_place(kernel):
    environment = {**os.environ, "OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": "1"}
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    result = json.loads(told.stdout)
    if not KERNELS[kernel] & set(result["kernels"]):
        pytest.skip(f"this BLAS runs {result['kernels']} where {kernel} is asked for")
    assert result["moved"] == []
