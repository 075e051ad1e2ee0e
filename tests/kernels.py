"""Kernels of OpenBLAS that the processor runs."""

import os
import subprocess
import sys
from functools import cache

import pytest

# A product of each kind, so that a kernel with instructions that are missing here ends the process.
TRIED = """
import numpy, scipy.linalg
for a in numpy.ones((70, 70)), numpy.ones((70, 70), dtype=numpy.float32):
    a @ a, a @ a[0], a.T @ a, scipy.linalg.eigh(a)
"""


@cache
def _runs(kernel: str) -> bool:
    environment = os.environ | {"OPENBLAS_CORETYPE": kernel}
    return (
        subprocess.run([sys.executable, "-c", TRIED], env=environment, check=False).returncode == 0
    )


def skip_if_missing(kernel: str) -> None:
    """Skip a test of a kernel whose instructions this processor lacks, such as AVX-512."""
    if not _runs(kernel):
        pytest.skip(f"this processor cannot run the kernel {kernel}")
